import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from pellucid.concepts import zero_shot_labels, zero_shot_scores
from pellucid.concepts.zero_shot import stands_out
from pellucid.preparation import CenteredNormalizer, procrustes


@parametrize_with_checks([CenteredNormalizer(), CenteredNormalizer(center=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def plain(X, mean):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) - mean
    return unit / np.linalg.norm(unit, axis=1, keepdims=True)


def test_normalise_centre_normalise(rng):
    X, new = rng.standard_normal((50, 8)) + 2, rng.standard_normal((5, 8))
    mean = (X / np.linalg.norm(X, axis=1, keepdims=True)).mean(axis=0)
    model = CenteredNormalizer().fit(X)
    np.testing.assert_allclose(model.mean_, mean)
    np.testing.assert_allclose(model.transform(new), plain(new, mean))
    np.testing.assert_allclose(CenteredNormalizer(center=False).fit(X).transform(new), plain(new, 0))


def test_scale_of_a_row_does_not_matter(rng):
    X = rng.standard_normal((20, 5))
    model = CenteredNormalizer().fit(X)
    for factor in (1e-200, 1e-3, 1e200):
        np.testing.assert_allclose(model.transform(factor * X), model.transform(X), atol=1e-12)
        np.testing.assert_allclose(CenteredNormalizer().fit(factor * X).mean_, model.mean_, atol=1e-12)


def test_tokens_are_normalised_each_on_its_own(rng):
    X = rng.standard_normal((10, 12))
    tokens = X.reshape(10, 3, 4)
    expected = (tokens / np.linalg.norm(tokens, axis=2, keepdims=True)).reshape(10, 12) / np.sqrt(3)
    np.testing.assert_allclose(CenteredNormalizer(center=False, n_tokens=3).fit_transform(X), expected)
    with pytest.raises(ValueError, match="A row of 12 numbers cannot be split into n_tokens=5 tokens"):
        CenteredNormalizer(n_tokens=5).fit(X)
    with pytest.raises(ValueError, match="The 'n_tokens' parameter of CenteredNormalizer must be an int"):
        CenteredNormalizer(n_tokens=0).fit(X)
    broken = CenteredNormalizer(n_tokens=5)
    with pytest.raises(ValueError, match="cannot be split"):
        broken.fit(X)
    assert not hasattr(broken, "mean_")


def test_partial_fit_in_any_blocks_gives_the_mean_of_all(rng):
    X = rng.standard_normal((100, 6))
    whole = CenteredNormalizer().fit(X)
    parts = CenteredNormalizer()
    for start, stop in ((0, 1), (1, 40), (40, 100)):
        parts.partial_fit(X[start:stop])
    np.testing.assert_allclose(parts.mean_, whole.mean_, atol=1e-14)
    assert parts.n_samples_seen_ == 100
    parts.fit(X[:10])
    assert parts.n_samples_seen_ == 10


def test_float32_is_kept_and_pipelines_work(rng):
    X = rng.standard_normal((30, 7)).astype(np.float32)
    out = make_pipeline(CenteredNormalizer(), CenteredNormalizer(center=False)).fit_transform(X)
    assert out.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6)


def test_memory_maps_float16_and_zero_rows(rng, tmp_path):
    X = rng.standard_normal((30, 7)).astype(np.float16)
    X[3] = 0
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    out = CenteredNormalizer(center=False).fit_transform(mapped)
    assert not out[3].any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(out, 3, axis=0), axis=1), 1, atol=1e-3)


def test_zero_shot_labels_are_the_nearest_words():
    words = np.eye(3)
    X = np.array([[3.0, 2.0, 0.0], [0.0, 0.1, 5.0]])
    np.testing.assert_array_equal(zero_shot_labels(X, words, 1), [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(zero_shot_labels(X, 9 * words, 2), [[1, 1, 0], [0, 1, 1]])
    for arguments, sentence in (
        ((X, words, 4), "n_active must be between 1 and the number of concepts, 3, got 4"),
        ((X[:, :2], words, 1), "X has 2 columns, but concept_vectors has 3"),
        (([[np.nan, 1, 1]], words, 1), "X has nan at row 0, column 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            zero_shot_labels(*arguments)


def test_scores_are_cosines_less_the_mean_of_their_row():
    X, words = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 5.0], [1.0, 1.0]])
    unit = words / np.linalg.norm(words, axis=1, keepdims=True)
    cosines = X / np.linalg.norm(X, axis=1, keepdims=True) @ unit.T
    np.testing.assert_allclose(zero_shot_scores(X, words), cosines - cosines.mean(axis=1, keepdims=True))
    templates = np.stack([words, 3 * words, words])
    np.testing.assert_allclose(zero_shot_scores(X, templates), zero_shot_scores(X, words), atol=1e-12)
    np.testing.assert_array_equal(zero_shot_labels(X, templates, 2), zero_shot_labels(X, words, 2))


def test_rows_that_stand_out_for_nothing_have_no_concept():
    rng = np.random.default_rng(0)
    words = np.eye(4, 40)
    X = 0.05 * rng.standard_normal((600, 40))
    has = rng.random((600, 4)) < [0.1, 0.2, 0.3, 0.4]
    X += has @ words
    X[:50, :4], has[:50] = 0.05 * rng.standard_normal((50, 4)), False
    found = zero_shot_labels(X[has.any(axis=1)], words)
    assert (found == has[has.any(axis=1)]).mean() > 0.9
    assert not stands_out(np.ones(100)).any()
    assert stands_out(np.array([0.0, 0, 1])).tolist() == [False, False, True]
    scores = np.concatenate([rng.normal(0, 1, 900), rng.normal(8, 0.5, 100)])
    np.testing.assert_array_equal(stands_out(scores), stands_out(1e6 * scores - 3))
    assert stands_out(scores)[900:].mean() > 0.99
    assert stands_out(scores)[:900].mean() < 0.01
    with pytest.raises(ValueError, match='whole number or "auto"'):
        zero_shot_labels(X, words, "many")


def test_rows_that_are_judged_again_are_labelled_better():
    from pellucid.datasets import load_scenes

    scenes = load_scenes()
    train = scenes.split.train
    X, Y = scenes.vectors[train], scenes.coarse[train]

    def f1(labels):
        return np.mean(2 * (Y & labels).sum(axis=0) / (Y.sum(axis=0) + labels.sum(axis=0)))

    two, auto = (zero_shot_labels(X, scenes.concept_vectors, n) for n in (2, "auto"))
    again = zero_shot_labels(X, scenes.concept_vectors, n_rounds=2)
    assert f1(two) < f1(auto) < f1(again)
    assert 0 < (~auto.any(axis=1)).mean() < 0.1
    few = zero_shot_labels(X[:15], scenes.concept_vectors, n_rounds=1)  # too few to learn from
    np.testing.assert_array_equal(few, zero_shot_labels(X[:15], scenes.concept_vectors))


def test_zero_shot_labels_find_the_concepts_of_scenes():
    from pellucid.datasets import load_scenes

    scenes = load_scenes()
    labels = zero_shot_labels(scenes.vectors, scenes.concept_vectors, 2)
    assert (labels.sum(axis=1) == 2).all()
    assert scenes.coarse[labels].mean() > 2 * scenes.coarse.mean()


def test_procrustes_finds_the_rotation(rng):
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = rng.standard_normal((50, 6))
    np.testing.assert_allclose(procrustes(X, X @ Q), Q, atol=1e-10)
    np.testing.assert_allclose(procrustes(X, X @ Q + 0.01 * rng.standard_normal(X.shape)), Q, atol=0.02)
    wide = procrustes(X, rng.standard_normal((50, 9)))
    np.testing.assert_allclose(wide @ wide.T, np.eye(6), atol=1e-10)
    with pytest.raises(ValueError, match="Rows must be paired, but source has 50 and target has 49"):
        procrustes(X, X[:-1])
