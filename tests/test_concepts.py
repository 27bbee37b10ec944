import numpy as np
import pandas as pd
import pytest
from benchmarks.concepts import plain_algorithm_1
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import ConceptSubspaces
from pellucid.concepts.coding import solve_codes
from pellucid.concepts.labels import align, as_indicator
from pellucid.concepts.learning import Learner, Remainder, svd_atoms, update_atoms
from pellucid.datasets import load_scenes
from pellucid.preparation import CenteredNormalizer
from support.levels import at_each_level
from support.oracles import nonnegative_least_squares, planted_cones


@parametrize_with_checks([ConceptSubspaces(n_atoms=2, max_iter=2, center=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def scenes():
    scenes = load_scenes()
    return scenes, CenteredNormalizer().fit_transform(scenes.vectors)


def test_two_sweeps_equal_a_plain_transcription_of_algorithm_1():
    X, Y, _, _ = planted_cones(150, 12, noise=0.3)
    model = ConceptSubspaces(3, max_iter=2, tol=0, update="svd", center=False).fit(X, Y)
    for sweeps in (1, 2):
        atoms, error, _ = plain_algorithm_1(X, Y, 3, sweeps, nonnegative_least_squares)
        assert model.objective_[sweeps] == pytest.approx(error, rel=1e-5)
    assert np.abs(np.einsum("ij,ij->i", model.atoms_, atoms)).min() > 0.9999


@settings(max_examples=60)
@given(
    st.sampled_from(["svd", "bcd", "power"]),
    st.sampled_from(["svd", "sample"]),
    st.sampled_from([0.0, 0.2, 3.0]),
    st.integers(1, 10),
    st.sampled_from([3, 8]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([np.float64, np.float32]),
    st.integers(0, 2**31),
)
def test_objective_never_rises_when_monotone(update, init, ridge, n_atoms, d, noise, dtype, seed):
    """By no more than the round-off of what is squared, also where atoms that no row uses get new directions."""
    X, Y, _, _ = planted_cones(60, d, noise=noise, seed=seed)
    model = ConceptSubspaces(
        n_atoms,
        max_iter=6,
        update=update,
        init=init,
        ridge=ridge,
        monotone=True,
        tol=0,
        random_state=seed,
        center=False,
    ).fit(X.astype(dtype), Y)
    rises = np.diff(model.objective_)
    assert (rises <= 8 * np.finfo(dtype).eps * np.square(X).sum(axis=1).mean()).all(), rises


@pytest.mark.parametrize("ridge", [0.0, 0.2, 3.0])
@pytest.mark.parametrize("monotone", [False, True])
def test_an_atom_that_nobody_uses_gets_a_direction_at_a_gain(ridge, monotone):
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    atoms, groups, Y = np.array([[1.0, 0.0], [0.0, -1.0]]), np.zeros(2, dtype=int), np.ones((2, 1), dtype=bool)
    codes = solve_codes(X, Y, atoms, groups, ridge)
    before = Learner(atoms, groups, ridge=ridge).error(X, Y, codes)
    sweep = update_atoms(X, Y, atoms, groups, codes, "svd", monotone, ridge)
    assert sweep.reseeded == 1
    np.testing.assert_allclose(atoms, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(codes, np.diag([1, 2]) / (1 + ridge), atol=1e-6)
    after = sweep.squared_error + sweep.penalty
    assert after < before
    assert after == pytest.approx(Learner(atoms, groups, ridge=ridge).error(X, Y, codes), abs=1e-9)


@pytest.mark.parametrize("init", ["svd", "sample"])
def test_rows_of_zeros_are_no_atoms(init):
    X, Y, _, _ = planted_cones(60, 8)
    X[::2] = 0
    for nothing in (Y[:, 0] & (np.arange(60) % 2 == 0), Y[:, 0]):  # then a concept all of whose rows are zero
        X[nothing] = 0
        model = ConceptSubspaces(4, init=init, max_iter=3, random_state=0, center=False).fit(X, Y)
        np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1, rtol=1e-6)
        assert set(model.groups_) == {0, 1, 2, 3}


def test_the_check_keeps_a_better_atom():
    """All rows share v; u has more energy, but of both signs, and half of it is lost when negatives are cut off."""
    signs = np.where(np.arange(20) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(20), 1.1 * signs])
    Y, groups = np.ones((20, 1), dtype=bool), np.zeros(1, dtype=int)
    results = {}
    for monotone in (False, True):
        atoms, codes = np.array([[1.0, 0.0]]), np.ones((20, 1))
        results[monotone] = update_atoms(X, Y, atoms, groups, codes, "svd", monotone, 0.0).squared_error
    before = np.square(X[:, 1]).sum()
    assert results[False] > 1.3 * before
    assert results[True] == pytest.approx(before)


@pytest.mark.parametrize("update", ["svd", "bcd", "power"])
def test_planted_cones_are_recovered_under_noise(update):
    X, Y, atoms, groups = planted_cones(600, 40, noise=0.01)
    model = ConceptSubspaces(3, max_iter=60, update=update, tol=1e-7, center=False).fit(X, Y)
    # a cone is found up to being wider than planted: the planted atoms lie in it and it spans no more than they do
    for j in range(4):
        learned, true = model.atoms_[model.groups_ == j], atoms[groups == j]
        assert np.linalg.norm(true - model.project(true, f"concept {j}"), axis=1).max() < 0.1
        assert np.cos(subspace_angles(learned.T, true.T).max()) > 0.99
    assert model.objective_[-1] < 0.02 * np.square(X).sum(axis=1).mean()


def test_codes_respect_labels_exactly():
    X, Y, _, _ = planted_cones(noise=0.3)
    model = ConceptSubspaces(3, max_iter=2, center=False).fit(X, Y)
    codes = model.encode(X, active=Y)
    assert (codes[~Y[:, model.groups_]] == 0).all()
    parts = model.components(X, active=Y)
    assert (parts[~Y] == 0).all()
    np.testing.assert_allclose(parts.sum(axis=1), codes @ model.atoms_, atol=1e-10)


def test_projection_is_the_nearest_point_of_the_cone(rng):
    X, Y, _, _ = planted_cones(noise=0.3)
    model = ConceptSubspaces(3, max_iter=2, center=False).fit(X, Y, ["a", "b", "c", "d"])
    mine = model.atoms_[model.groups_ == 1]
    expected = np.array([nonnegative_least_squares(mine, x) @ mine for x in X[:30]])
    np.testing.assert_allclose(model.project(X[:30], "b"), expected, atol=1e-9)
    both = np.isin(model.groups_, [1, 3])
    expected = np.array([nonnegative_least_squares(model.atoms_[both], x) @ model.atoms_[both] for x in X[:30]])
    np.testing.assert_allclose(model.project(X[:30], ["b", "d"]), expected, atol=1e-9)
    # a projection projects to itself, and what is removed leaves nothing that points along the concept
    np.testing.assert_allclose(model.project(model.project(X, "b"), "b"), model.project(X, "b"), atol=1e-9)
    assert (model.remove(X, "b") @ mine.T).max() < 1e-9


def test_rows_do_not_depend_on_each_other():
    X, Y, _, _ = planted_cones(noise=0.3)
    model = ConceptSubspaces(3, max_iter=2, center=False).fit(X, Y)
    np.testing.assert_allclose(model.transform(X)[[5, 77]], model.transform(X[[5, 77]]), atol=1e-10)
    np.testing.assert_allclose(model.project(X, "concept 0")[9:10], model.project(X[9:10], "concept 0"), atol=1e-10)


def test_scale_and_rotation(rng):
    X, Y, _, _ = planted_cones(noise=0.2)
    Q = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    one, scaled, turned = (
        ConceptSubspaces(3, max_iter=3, tol=0, center=False).fit(data, Y) for data in (X, 100 * X, X @ Q)
    )
    np.testing.assert_allclose(scaled.project(100 * X, "concept 1"), 100 * one.project(X, "concept 1"), atol=1e-2)
    np.testing.assert_allclose(turned.project(X @ Q, "concept 1"), one.project(X, "concept 1") @ Q, atol=1e-3)
    np.testing.assert_allclose(scaled.objective_, 1e4 * one.objective_, rtol=1e-4)


def test_unlabelled_rows_small_concepts_and_duplicates():
    X, Y, _, _ = planted_cones(60, 10, noise=0.1)
    Y[:5] = False
    Y[:, 3] = False
    Y[10:12, 3] = True  # two rows, fewer than the atoms asked for
    X = np.vstack([X, X[:20]])
    Y = np.vstack([Y, Y[:20]])
    model = ConceptSubspaces(5, max_iter=3, center=False).fit(X, Y)
    assert np.bincount(model.groups_)[3] <= 4
    assert np.isfinite(model.atoms_).all()
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1, atol=1e-6)


def test_dead_atoms_are_revived(rng):
    """A concept whose rows all point one way leaves further atoms idle until they are re-seeded."""
    X, Y, _, _ = planted_cones(200, 20, noise=0.05)
    model = ConceptSubspaces(3, max_iter=0, init="sample", random_state=0, center=False).fit(X, Y)
    model.atoms_[1] = -X.mean(axis=0) / np.linalg.norm(X.mean(axis=0))
    codes = solve_codes(X, Y, model.atoms_, model.groups_, 0.0)
    codes[:, 1] = 0
    sweep = update_atoms(X, Y, model.atoms_, model.groups_, codes, "svd", False, 0.0)
    assert sweep.reseeded == 1
    assert (solve_codes(X, Y, model.atoms_, model.groups_, 0.0)[:, 1] > 0).any()


def test_number_of_atoms_by_energy(rng):
    X, Y, _, _ = planted_cones(300, 30, noise=0.2)
    model = ConceptSubspaces(0.8, max_iter=0, center=False).fit(X, Y)
    for j in range(4):
        rows = X[Y[:, j]]
        values = np.linalg.svd(rows, compute_uv=False) ** 2
        count = int(np.bincount(model.groups_)[j])
        assert values[:count].sum() >= 0.8 * values.sum() > values[: count - 1].sum()
    np.testing.assert_array_equal(
        np.bincount(ConceptSubspaces([1, 2, 3, 4], max_iter=0, center=False).fit(X, Y).groups_), [1, 2, 3, 4]
    )


def test_start_is_the_supervised_svd(rng):
    rows = rng.standard_normal((50, 8)) + 1
    for data in (rows, rows[:6]):
        atoms = svd_atoms(data, np.arange(len(data)), 3)
        right = np.linalg.svd(data)[2][:3]
        np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", atoms, right)), 1, atol=1e-9)
        up = np.square(np.maximum(data @ atoms.T, 0)).sum(axis=0)
        assert (up >= np.square(np.minimum(data @ atoms.T, 0)).sum(axis=0)).all()


@settings(max_examples=60)
@given(
    st.integers(1, 30),
    st.integers(1, 70),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_passes_over_the_residual_are_products_with_the_matrix(n, d, dtype, positive, seed):
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((n + 5, d)).astype(dtype)
    support = rng.permutation(n + 5)[:n].astype(np.int32)
    old, new = rng.random((2, n)).astype(dtype)
    atom, v, other = rng.standard_normal((3, d)).astype(dtype)
    E = R[support].astype(np.float64) + np.outer(old, atom)
    close = {"rtol": 0, "atol": 20 * np.finfo(dtype).eps * (1 + np.abs(E).max()) ** 2 * n * d}
    inner = float(atom @ v)

    out = np.empty(n, dtype)
    at_each_level("project_rows", R, support, old, v, inner, out)
    np.testing.assert_allclose(out, E @ v, **close)
    square = np.ones(d, dtype)
    at_each_level("square_rows", R, support, old, atom, v, inner, positive, square)
    np.testing.assert_allclose(square, 1 + E.T @ (np.maximum(E @ v, 0) if positive else E @ v), **close)
    gathered = np.empty((n, d), np.float32)
    at_each_level("gather_rows", R, support, old, atom, 0.3, gathered)
    np.testing.assert_allclose(gathered, 0.3 * E, rtol=1e-6, atol=1e-6)
    rest, before = R.copy(), R.copy()
    at_each_level("replace_rows", rest, support, old, atom, new, other)
    before[support] = E - np.outer(new, other)
    np.testing.assert_allclose(rest, before, **close)
    np.testing.assert_array_equal(np.delete(rest, support, axis=0), np.delete(R, support, axis=0))


def test_rows_that_are_alike_get_the_same_coefficient(rng):
    """Rows are taken four at a time; where among them a row stands must not show."""
    R = np.tile(rng.standard_normal(21).astype(np.float32), (11, 1))
    rest = Remainder(R, np.arange(11, dtype=np.int32), np.full(11, 0.7, np.float32), R[0])
    assert len(set(rest.project(rng.standard_normal(21)))) == 1


@pytest.mark.parametrize("wrong", [-1, 3, 2**31 - 1, -(2**31)])
def test_rows_that_are_not_there_are_left_alone(wrong):
    R, support = np.ones((3, 8), np.float32), np.array([0, wrong], np.int32)
    two, eight, out = np.ones(2, np.float32), np.ones(8, np.float32), np.full(2, 7, np.float32)
    at_each_level("project_rows", R, support, two, eight, 0.0, out)
    at_each_level("square_rows", R, support, two, eight, eight, 0.0, False, eight)
    at_each_level("gather_rows", R, support, two, eight, 1.0, np.ones((2, 8), np.float32))
    at_each_level("replace_rows", R, support, two, eight, two, eight)
    assert (out == 7).all()
    assert (eight == 1).all()
    assert (R == 1).all()


@pytest.mark.parametrize("update", ["svd", "bcd", "power"])
def test_partial_fit_takes_rows_of_another_precision(update):
    X, Y, _, _ = planted_cones(200, 12, noise=0.1)
    for first, then in ((np.float64, np.float32), (np.float32, np.float64)):
        mixed, plain = (
            ConceptSubspaces(3, update=update, center=False),
            ConceptSubspaces(3, update=update, center=False),
        )
        mixed.partial_fit(X.astype(first), Y).partial_fit(X.astype(then), Y)
        plain.partial_fit(X, Y).partial_fit(X, Y)
        assert mixed.atoms_.dtype == first
        np.testing.assert_allclose(mixed.atoms_, plain.atoms_, atol=2e-3)


def test_mini_batches_and_partial_fit_learn_too():
    X, Y, _, _ = planted_cones(600, 40, noise=0.01)
    for model in (
        ConceptSubspaces(3, max_iter=40, batch_size=100, random_state=0, center=False).fit(X, Y),
        ConceptSubspaces(3, random_state=0, center=False),
    ):
        if not hasattr(model, "atoms_"):
            for _ in range(40):
                for start in range(0, 600, 150):
                    model.partial_fit(X[start : start + 150], Y[start : start + 150])
        error = np.square(X - model.inverse_transform(model.encode(X, active=Y))).sum() / np.square(X).sum()
        assert error < 0.05


def test_same_seed_same_bits_and_interrupts_are_harmless(monkeypatch):
    X, Y, _, _ = planted_cones(noise=0.2)
    one, two = (
        ConceptSubspaces(3, init="sample", batch_size=64, random_state=7, center=False).fit(X, Y) for _ in range(2)
    )
    np.testing.assert_array_equal(one.atoms_, two.atoms_)
    import pellucid.concepts.learning as learner

    calls = []

    def interrupted(*arguments, **settings):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    real = learner.update_atoms
    monkeypatch.setattr(learner, "update_atoms", interrupted)
    with pytest.warns(UserWarning, match="Stopped after 2 sweeps; what was learned is usable"):
        model = ConceptSubspaces(3, tol=0, update="svd", center=False).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.transform(X).shape == (400, 12)


def test_validation_rows_stop_the_learning(rng):
    X, Y, _, _ = planted_cones(40, 30, noise=0.5)
    Xv, Yv, _, _ = planted_cones(400, 30, noise=0.5)
    model = ConceptSubspaces(8, max_iter=50, tol=0, update="svd", center=False).fit(X, Y, validation=(Xv, Yv))
    assert model.n_iter_ < 50
    longer = ConceptSubspaces(8, max_iter=50, tol=0, update="svd", center=False).fit(X, Y)
    held = lambda m: np.square(Xv - m.inverse_transform(m.encode(Xv, active=Yv))).sum()  # noqa: E731
    assert held(model) <= held(longer)


LABELS = [{"cat"}, {"dog", "cat"}, set(), {"dog"}]
INDICATOR = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("Y", "names"),
    [
        (LABELS, None),
        ([["cat"], ["dog", "cat"], [], ["dog"]], None),
        (INDICATOR, ["cat", "dog"]),
        (INDICATOR.astype(float), ["cat", "dog"]),
        (sparse.csr_matrix(INDICATOR), ["cat", "dog"]),
        (pd.DataFrame(INDICATOR, columns=["cat", "dog"]), None),
    ],
)
def test_labels_in_any_form(Y, names):
    indicator, found = as_indicator(Y, names)
    np.testing.assert_array_equal(indicator, INDICATOR)
    assert found == ["cat", "dog"]


@pytest.mark.parametrize(
    "later",
    [
        [["dog"], ["cat", "dog"], []],
        [{"dog"}, {"cat", "dog"}, set()],
        pd.DataFrame({"dog": [1, 1, 0], "cat": [0, 1, 0]}),
        np.array([[0, 1], [1, 1], [0, 0]]),
        sparse.csr_matrix([[0, 1], [1, 1], [0, 0]]),
    ],
)
def test_later_labels_are_matched_by_name(later):
    np.testing.assert_array_equal(align(later, ["cat", "dog"]), [[0, 1], [1, 1], [0, 0]])


def test_later_classes_are_matched_by_name():
    np.testing.assert_array_equal(align(["dog", "dog"], ["cat", "dog"]), [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="There is no concept 'cow' among the 2 that are known"):
        align(["dog", "cow"], ["cat", "dog"])
    with pytest.raises(ValueError, match="There is no concept 'cow' among the 2"):
        align(pd.DataFrame({"cow": [1]}), ["cat", "dog"])


def test_partial_fit_matches_columns_by_name(rng):
    X = np.abs(rng.standard_normal((40, 5)))
    Y = pd.DataFrame({"a": np.arange(40) % 2, "b": (np.arange(40) // 2) % 2})
    one, two = ConceptSubspaces(2, center=False).partial_fit(X, Y), ConceptSubspaces(2, center=False).partial_fit(X, Y)
    np.testing.assert_array_equal(one.partial_fit(X, Y).atoms_, two.partial_fit(X, Y[["b", "a"]]).atoms_)
    np.testing.assert_array_equal(one.encode(X, active=Y), one.encode(X, active=Y[["b", "a"]]))


def test_class_labels_are_concepts():
    indicator, names = as_indicator(["ß", "a", "ß"])
    assert names == ["a", "ß"]
    np.testing.assert_array_equal(indicator, [[0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("Y", "names", "sentence"),
    [
        (np.full((3, 2), 2), None, "y must hold only 0 and 1, but has 2 at row 0, column 0"),
        (np.array([["a", "b"]]), None, "y must hold 0 and 1 in a row per item"),
        (INDICATOR, ["cat"], "There are 1 concept names for 2 concepts"),
        (INDICATOR, ["cat", "cat"], "The concept name 'cat' occurs twice"),
        (LABELS, ["cat"], "Row 1 has the concept 'dog', which is not among the concept names"),
        (np.zeros((2, 2, 2)), None, "y must have one or two dimensions"),
        (np.array([1.0, np.nan]), None, "y has nan at row 1"),
    ],
)
def test_bad_labels_get_a_sentence(Y, names, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_indicator(Y, names)


@pytest.mark.parametrize(
    ("settings_", "arguments", "sentence"),
    [
        ({}, {"y": np.array([[1, 0]] * 10)}, "No row has the concept 'concept 1'; leave it out or add rows"),
        ({}, {"y": np.ones((9, 2))}, "X has 10 rows, but y has 9"),
        ({"init": "x"}, {}, "The 'init' parameter of ConceptSubspaces must be a str among .* Got 'x' instead"),
        ({"update": "x"}, {}, "The 'update' parameter of ConceptSubspaces must be a str among"),
        ({"n_atoms": 0}, {}, "The 'n_atoms' parameter of ConceptSubspaces must be"),
        ({"n_atoms": [1, 0]}, {}, "n_atoms must be a positive whole number"),
        ({"n_atoms": [1]}, {}, "n_atoms must be a positive whole number, or one for each of 2 concepts"),
        ({"n_atoms": 1.5}, {}, "The 'n_atoms' parameter .* a float in the range"),
    ],
)
def test_bad_settings_get_a_sentence(rng, settings_, arguments, sentence):
    call = {"X": rng.standard_normal((10, 4)), "y": np.array([[1, 0], [0, 1]] * 5)} | arguments
    with pytest.raises(ValueError, match=sentence):
        ConceptSubspaces(**settings_, center=False).fit(**call)


def test_a_wrong_concept_name_suggests_the_nearest(scenes):
    data, X = scenes
    model = ConceptSubspaces(2, max_iter=0, center=False).fit(X[:500], data.coarse[:500], data.coarse_names)
    with pytest.raises(ValueError, match=r"There is no concept 'animals': did you mean 'animal'?"):
        model.project(X[:1], "animals")
    with pytest.raises(ValueError, match="There is no concept 'zzz': there are 'person'"):
        model.project(X[:1], ["animal", "zzz"])
    with pytest.raises(ValueError, match="Name at least one concept"):
        model.project(X[:1], [])
    with pytest.raises(ValueError, match='method must be "nnls", "omp" or "group_omp"'):
        model.encode(X[:1], method="magic")
    with pytest.raises(ValueError, match="X must have 24 columns, one per atom"):
        model.inverse_transform(np.ones((1, 3)))


def test_scenes_end_to_end(scenes, tmp_path):
    """Supervised cones on the data set that ships: shares tell labels, captions name the concept, files load."""
    data, X = scenes
    train, test = data.split.train, data.split.candidates
    model = ConceptSubspaces(6, center=False).fit(X[train], data.coarse[train], data.coarse_names)
    shares = model.shares(X[test])
    explained = 1 - np.square(X[test] - model.inverse_transform(model.encode(X[test]))).sum(axis=1)
    np.testing.assert_allclose(shares.sum(axis=1), explained, atol=1e-4)  # at the optimum codes·gradient = 0
    best = np.array(data.coarse[test])[np.arange(len(test)), shares.argmax(axis=1)]
    assert best.mean() > 0.98
    captions = model.captions(data.words, data.word_vectors)
    assert set(captions) == set(data.coarse_names)
    words = {w for w, _ in captions["animal"]}
    assert words & {"cat", "dog", "animal", "kitten", "puppy", "horse", "animals", "bird", "pet"}, captions["animal"]
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.project(X[:9], "food"), model.project(X[:9], "food"))
    assert list(again.concept_names_) == list(model.concept_names_)


def test_cooccurrence_and_coherence(scenes):
    data, X = scenes
    model = ConceptSubspaces(4, max_iter=3, center=False).fit(X, data.coarse, data.coarse_names)
    together, cosines = model.cooccurrence(X), model.coherence()
    same = model.groups_[:, None] == model.groups_[None]
    off = ~np.eye(len(same), dtype=bool)
    assert together[same & off].mean() > together[~same].mean()
    np.testing.assert_allclose(cosines.diagonal(), 1, atol=1e-6)
    used = model.encode(X[:50], method="group_omp", n_concepts=2) > 0
    assert all(len(set(model.groups_[row])) <= 2 for row in used)


def test_pipeline_float16_and_names(scenes):
    data, _ = scenes
    half = data.vectors[:800].astype(np.float16)
    model = make_pipeline(CenteredNormalizer(), ConceptSubspaces(3, max_iter=1, center=False)).fit(
        half, data.coarse[:800]
    )
    codes = model.transform(half)
    assert codes.shape == (800, 36)
    assert model[-1].get_feature_names_out()[:4].tolist() == [
        "concept 0_0", "concept 0_1", "concept 0_2", "concept 1_0"
    ]  # fmt: skip


@pytest.mark.parametrize("scale", [3.0, 1e20, 1e-20])
def test_atoms_do_not_depend_on_the_scale_of_few_rows(scale):
    """Where two rows would do as well as each other, round-off must not choose the start."""
    X, y = np.random.default_rng(0).standard_normal((40, 6)), list("ab") * 20
    first, other = (ConceptSubspaces(random_state=0, presence=False).fit(rows, y) for rows in (X, scale * X))
    np.testing.assert_allclose(other.atoms_, first.atoms_, atol=1e-8)
