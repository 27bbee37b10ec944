"""Reading bits of new items, how sure they are, and taking concepts out of items."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pellucid import BinaryAutoencoder, CombinedConcepts, IterativeAssignment, persistence
from pellucid.binary import concept_projection
from pellucid.binary.encoders import best_thresholds, linear_readers
from pellucid.binary.spectrum import spectrum_of_items
from pellucid.solvers.erasing import eraser, eraser_of_readers


def planted(n, k, d, noise, seed):
    rng = np.random.default_rng(seed)
    S = rng.integers(0, 2, (n, k))
    return S @ rng.standard_normal((k, d)) + noise * rng.standard_normal((n, d)), S


def mixture(n=1200, d=12, seed=0):
    """Items that need more concepts than dimensions."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((30, d))
    return centres[rng.integers(0, 30, n)] + 0.5 * rng.standard_normal((n, d))


@pytest.fixture(scope="module")
def many():
    X = mixture()
    return BinaryAutoencoder(acceptance="greedy", max_concepts=60, random_state=0).fit(X[:600]), X[:600], X[600:]


def test_more_concepts_than_dimensions_are_read_as_they_were_fitted(many):
    model, X, new = many
    assert model.concepts_.shape[1] > 2 * X.shape[1]
    np.testing.assert_array_equal(model.transform(X), model.concepts_)
    assert model.score(X) == pytest.approx(model.cka_, abs=1e-9)
    assert abs(model.score(new) - model.cka_) < 0.03
    sizes = model.concepts_.sum(axis=0)
    assert (sizes > 0).all()
    assert (2 * sizes <= len(X)).all()
    assert (np.diff(model.weights_) <= 1e-12 * model.weights_[0]).all()


@pytest.mark.parametrize("concept", [3, [0], [0, 5, 17]])
def test_nothing_linear_of_a_removed_concept_is_left(many, concept):
    model, X, new = many
    after = model.remove(X, concept)
    for j in np.atleast_1d(concept):
        bits = model.concepts_[:, j]
        assert np.abs((bits - bits.mean()) @ after).max() < 1e-9 * np.abs((bits - bits.mean()) @ X).max()
        probe = LogisticRegression(max_iter=1000).fit(after, bits)
        assert roc_auc_score(bits, probe.decision_function(after)) < 0.55
        assert not model.transform(after)[:, j].any()
        assert not model.transform(model.remove(new, concept))[:, j].any()


def test_few_concepts_keep_their_other_bits():
    X = planted(300, 6, 40, 0.5, 1)[0]
    model = BinaryAutoencoder(random_state=0).fit(X)
    assert not hasattr(model, "thresholds_")
    after = model.remove(X, [1, 4])
    bits = model.transform(after)
    assert not bits[:, [1, 4]].any()
    assert np.mean(np.delete(bits, [1, 4], 1) != np.delete(model.concepts_, [1, 4], 1)) < 0.01
    centred = model.concepts_ - model.concepts_.mean(axis=0)
    assert np.abs(centred[:, [1, 4]].T @ after).max() < 1e-8 * np.abs(centred.T @ X).max()


def test_a_sub_concept_is_taken_out(many):
    model, X, _ = many
    found = concept_projection(model, [0, 1, 2, 3])
    made = model.concepts_ @ found.coefficients.T
    np.testing.assert_allclose(made - made[0], found.scores - found.scores[0], atol=1e-12)
    after = model.remove(X, found.coefficients[:1])
    score = found.scores[:, 0] - found.scores[:, 0].mean()
    assert np.abs(score @ after).max() < 1e-9 * np.abs(score @ X).max()
    assert np.abs(score @ after).max() < np.abs(score @ model.remove(X, found.coefficients[1])).max()


@pytest.mark.parametrize("concept", [-1, 99, 1.5, [], [0, 99], [[0, 1]], "a", [np.nan] * 60])
def test_what_is_no_concept_is_refused(many, concept):
    with pytest.raises(ValueError, match="There is no concept"):
        many[0].remove(many[1], concept)


def test_readers_do_not_depend_on_where_and_how_large_items_are(many):
    model, X, _ = many
    other = BinaryAutoencoder(acceptance="greedy", max_concepts=60, random_state=0).fit(X * 64 + 0)
    np.testing.assert_array_equal(other.transform(X * 64), model.transform(X))
    np.testing.assert_allclose(other.remove(X * 64, 2), 64 * model.remove(X, 2), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.predict_proba(X * 64), model.predict_proba(X), atol=1e-6)


def test_eraser_of_regressions_is_the_least_change():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6))
    X -= X.mean(axis=0)
    Z = (X[:, :2] + rng.standard_normal((200, 2)) > 0).astype(float)
    covariance, cross = X.T @ X / 200, X.T @ (Z - Z.mean(axis=0)) / 200
    least, _ = eraser(covariance, cross, Z.std(axis=0), 0.0)
    found = eraser_of_readers(np.linalg.solve(covariance, cross).T, cross.T, np.zeros(2))
    np.testing.assert_allclose(found.left @ found.right, least.left @ least.right, atol=1e-9)


def test_readings_without_an_item_are_those_of_a_fit_without_it():
    X, S = planted(40, 3, 5, 0.5, 2)
    S = S.astype(np.uint8)
    spectrum = spectrum_of_items(X - X.mean(axis=0))
    readers = linear_readers(spectrum, S)
    assert np.mean(readers.bits(spectrum.features) != S) < 0.05
    np.testing.assert_allclose(readers.covariances, (S - S.mean(axis=0)).T @ spectrum.features / 40, atol=1e-12)


def test_thresholds_get_fewest_bits_wrong():
    rng = np.random.default_rng(3)
    readings, S = rng.standard_normal((30, 8)), rng.integers(0, 2, (30, 8)).astype(np.uint8)
    found = best_thresholds(readings, S)
    for j in range(8):
        ordered = np.sort(readings[:, j])
        least = min(np.sum((readings[:, j] > t) != S[:, j]) for t in 0.5 * (ordered[1:] + ordered[:-1]))
        assert np.sum((readings[:, j] > found[j]) != S[:, j]) == least


def test_bits_that_are_said_to_be_sure_to_a_degree_are_right_to_that_degree():
    X, S = planted(4000, 4, 60, 2.5, 4)
    model = BinaryAutoencoder(random_state=0).fit(X[:1000])
    sure, right = [], []
    for j, q in enumerate(model.predict_proba(X[1000:]).T):
        alike = [np.corrcoef(model.concepts_[:, j], s)[0, 1] for s in S[:1000].T]
        true = S[1000:, int(np.argmax(np.abs(alike)))]
        true = true if max(alike, key=abs) > 0 else 1 - true
        sure.append(np.maximum(q, 1 - q))
        right.append((q > 0.5) == true)
    sure, right = np.concatenate(sure), np.concatenate(right)
    said = (sure > 0.87) & (sure < 0.93)
    assert said.sum() > 300
    assert right[said].mean() == pytest.approx(sure[said].mean(), abs=0.04)


def test_overlapping_groups_are_found_and_gaussian_ones_are_not():
    X, S = planted(1000, 3, 60, 3.0, 0)
    model = BinaryAutoencoder(random_state=0).fit(X)
    alike = np.abs(np.corrcoef(model.concepts_.T, S.T)[: model.concepts_.shape[1], model.concepts_.shape[1] :])
    assert alike.shape == (3, 3)
    assert (alike.max(axis=0) > 0.6).all()
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((1000, 3)) @ rng.standard_normal((3, 60)) + rng.standard_normal((1000, 60))
    with pytest.warns(UserWarning, match=r"acceptance='greedy'"):
        assert not BinaryAutoencoder(random_state=0).fit(factors).concepts_.shape[1]


@pytest.mark.parametrize("model", [BinaryAutoencoder(random_state=0), IterativeAssignment()])
def test_nothing_found_is_a_sentence(model):
    with pytest.warns(UserWarning, match="All items are alike"):
        model.fit(np.ones((9, 4)))
    assert model.predict_proba(np.ones((2, 4))).shape == (2, 0)
    assert model.score(np.ones((2, 4))) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0])


def test_branches_differ_without_simplicity_too():
    X = planted(24, 4, 30, 0.3, 5)[0]
    one, four = (IterativeAssignment(n, simplicity=0.0, random_state=0).fit(X).concepts_ for n in (1, 4))
    assert {row.tobytes() for row in one.T} != {row.tobytes() for row in four.T}
    quiet = IterativeAssignment(4, branch_noise=0.0, random_state=0).fit(X)
    np.testing.assert_array_equal(quiet.concepts_, IterativeAssignment().fit(X).concepts_)


def test_a_tree_is_found_from_any_number_of_first_items():
    X = np.array([[1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]], dtype=float)
    for count in (2, 3, 4, 14):
        assert IterativeAssignment(n_first=count).fit(X).cka_ > 0.999


def test_a_loaded_model_reads_the_same(many, tmp_path):
    model, _, new = many
    persistence.save(model, tmp_path / "many.safetensors")
    again = persistence.load(tmp_path / "many.safetensors")
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.remove(new, [1, 2]), model.remove(new, [1, 2]))
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_kernel_readers_are_those_of_the_items(many):
    X = many[1]
    X = X[:200] - X[:200].mean(axis=0)
    model = BinaryAutoencoder(acceptance="greedy", max_concepts=30, kernel="precomputed", random_state=0).fit(X @ X.T)
    np.testing.assert_array_equal(model.transform(X @ X.T), model.concepts_)
    with pytest.raises(ValueError, match="needs items"):
        model.score(X @ X.T)


@pytest.mark.parametrize("make", [BinaryAutoencoder, CombinedConcepts, IterativeAssignment])
def test_the_warning_points_at_the_line_that_called(make):
    with pytest.warns(UserWarning, match="All items are alike") as told:
        make().fit(np.ones((5, 3)))
    assert [each.filename for each in told] == [__file__]


def test_the_alignment_is_a_number_of_python_and_at_most_1():
    model = CombinedConcepts(random_state=0).fit([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert type(model.cka_) is float
    assert 0.999 < model.cka_ <= 1
