import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from pellucid.preprocessing import CenteredNormalizer


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
