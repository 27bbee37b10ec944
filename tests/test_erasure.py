import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import null_space, pinv, sqrtm
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import ConceptErasure, ConceptSubspaces
from pellucid.concepts.moments import moments_of
from pellucid.concepts.probes import concordance, ridge_scores
from pellucid.datasets import load_scenes
from pellucid.rows import Blocks
from pellucid.solvers.erasing import oracle_shrinkage

GOLDEN = Path(__file__).parent / "golden"


@parametrize_with_checks([ConceptErasure(), ConceptErasure(shrinkage=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def problem(n=400, d=8, S=2, rank=None, seed=0):
    """Correlated rows far from the origin, and concepts that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank or d)) @ rng.normal(size=(rank or d, d))
    Z = (X @ rng.normal(size=(d, S)) / np.sqrt(d) + rng.normal(size=(n, S))) > 0.3
    return X + 5 * rng.normal(size=d), Z


# slow oracles


def formula(X, Z):
    """x − Σ^½ P Σ^−½ (x − μ), term by term."""
    A, C = X - X.mean(axis=0), Z - Z.mean(axis=0)
    covariance, cross = A.T @ A / len(X), A.T @ C / len(X)
    root = np.real(sqrtm(covariance))
    white = pinv(root, rtol=1e-6)
    W = white @ cross
    return X - A @ (root @ W @ pinv(W, rtol=1e-8) @ white).T


def least_change(X, Z):
    """Maps that leave no cross-covariance are B Nᵀ with N orthogonal to it; B by least squares on the rows."""
    A, C = X - X.mean(axis=0), Z - Z.mean(axis=0)
    N = null_space((A.T @ C).T)
    B, *_ = np.linalg.lstsq(A @ N, A, rcond=1e-10)
    return X.mean(axis=0) + A @ N @ B


@pytest.mark.parametrize(("n", "d", "S", "rank"), [(400, 8, 1, 8), (400, 8, 3, 8), (300, 12, 2, 5), (10, 20, 2, None)])
def test_it_is_the_formula_and_the_least_change(n, d, S, rank):
    X, Z = problem(n, d, S, rank)
    eraser = ConceptErasure(shrinkage=0).fit(X, Z)
    erased = eraser.transform(X)
    np.testing.assert_allclose(erased, formula(X, Z), atol=1e-7)
    np.testing.assert_allclose(erased, least_change(X, Z), atol=1e-7)
    assert eraser.squared_change_ == pytest.approx(np.square(X - erased).sum(axis=1).mean())
    assert eraser.rank_ == min(rank or d, n - 1)


def test_an_optimiser_finds_no_smaller_change():
    X, Z = problem(200, 4, 1)
    A, C = X - X.mean(axis=0), Z - Z.mean(axis=0)
    cross = A.T @ C / len(X)
    done = minimize(
        lambda m: np.square(A @ m.reshape(4, 4).T - A).sum() / len(X),
        np.zeros(16),
        constraints={"type": "eq", "fun": lambda m: (m.reshape(4, 4) @ cross).ravel()},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    found = ConceptErasure(shrinkage=0).fit(X, Z)
    assert found.squared_change_ == pytest.approx(done.fun, rel=1e-5)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(2, 9), st.integers(1, 3), st.integers(5, 60))
def test_conditions_of_optimality(seed, d, S, n):
    """Stationary: (A − I) Σ = −Λ Cᵀ for some Λ, so it is zero on what is orthogonal to C; feasible: A C = 0."""
    X, Z = problem(n, d, S, seed=seed)
    varies = Z.any(axis=0) & ~Z.all(axis=0)
    if not varies.any():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant concepts, and of as many concepts as dimensions
        eraser = ConceptErasure(shrinkage=0).fit(X, Z)
    D = -eraser.left_ @ eraser.right_
    cross, covariance = eraser.cross_covariance_before_, eraser.covariance_
    scale = np.abs(covariance).max()
    assert np.abs(cross + D @ cross).max() <= 1e-9 * np.abs(cross).max()
    away = null_space(cross.T, rcond=1e-9)
    assert np.abs(D @ covariance @ away).max(initial=0) <= 1e-6 * scale
    assert eraser.residual_ < 1e-9


# what it promises


@pytest.mark.parametrize("shrinkage", ["auto", 0, 0.5, 1])
@pytest.mark.parametrize("n", [30, 300])
def test_no_linear_predictor_does_better_than_a_constant(n, shrinkage):
    X, Z = problem(n, 20, 2)
    eraser = ConceptErasure(shrinkage=shrinkage).fit(X, Z)
    erased = eraser.transform(X)
    assert np.abs(eraser.cross_covariance_).max() < 1e-9
    A = np.c_[np.ones(n), erased]
    for z in Z.T.astype(float):
        left = z - A @ np.linalg.lstsq(A, z, rcond=1e-9)[0]
        assert np.square(left).sum() == pytest.approx(np.square(z - z.mean()).sum())
        probe = LogisticRegression(tol=1e-9, max_iter=1000).fit(erased, z)
        assert np.abs(probe.coef_).max() < 1e-3
    np.testing.assert_allclose(erased.mean(axis=0), X.mean(axis=0), atol=1e-9)


def test_without_shrinkage_the_change_is_no_larger_on_the_rows_of_the_fit():
    X, Z = problem(100, 30, 2)
    plain, shrunk = (ConceptErasure(shrinkage=s).fit(X, Z) for s in (0, "auto"))
    assert plain.squared_change_ < shrunk.squared_change_
    assert 0 < shrunk.shrinkage_ < 1


def test_with_few_rows_shrinkage_changes_less_of_other_rows():
    scenes = load_scenes()
    X, Y, order = scenes.vectors, scenes.coarse, np.random.default_rng(0).permutation(len(scenes.vectors))
    few, others = order[:500], order[1000:]
    changes = [
        np.square(ConceptErasure(shrinkage=s).fit(X[few], Y[few, :1]).transform(X[others]) - X[others]).sum()
        for s in ("auto", 0)
    ]
    assert changes[0] < 0.9 * changes[1]


def test_the_shrinkage_is_that_of_scikit_learn_up_to_a_small_term(rng):
    from sklearn.covariance import oas

    X = rng.normal(size=(60, 20)) * np.arange(1, 21)
    assert oracle_shrinkage(np.cov(X.T, bias=True), 60) == pytest.approx(oas(X)[1], rel=0.1)
    assert oracle_shrinkage(np.eye(3), 10) == 1.0
    assert oracle_shrinkage(np.ones((1, 1)), 10) == 0.0


# invariances


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([1e-8, 1.0, 1e5]), st.sampled_from(["auto", 0]))
def test_shift_rotation_and_scale_go_through(seed, scale, shrinkage):
    X, Z = problem(80, 6, 2, seed=seed)
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    shift = 100 * rng.normal(size=6)
    once = ConceptErasure(shrinkage=shrinkage).fit_transform(X, Z)
    moved = ConceptErasure(shrinkage=shrinkage).fit_transform(scale * (X @ turn + shift), Z)
    np.testing.assert_allclose(moved / scale, once @ turn + shift, atol=1e-7)


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_without_shrinkage_any_linear_change_goes_through(seed):
    """The least change is the least in every inner product."""
    X, Z = problem(80, 6, 2, seed=seed)
    A = np.random.default_rng(seed).normal(size=(6, 6)) + 3 * np.eye(6)
    once = ConceptErasure(shrinkage=0).fit_transform(X, Z)
    np.testing.assert_allclose(ConceptErasure(shrinkage=0).fit_transform(X @ A, Z), once @ A, atol=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_neither_the_order_of_rows_nor_the_unit_of_a_concept_matters(seed):
    X, Z = problem(60, 5, 2, seed=seed)
    order = np.random.default_rng(seed).permutation(60)
    once = ConceptErasure().fit(X, Z).transform(X)
    np.testing.assert_allclose(ConceptErasure().fit(X[order], Z[order]).transform(X), once, atol=1e-9)
    units = ConceptErasure().fit(X, Z * [1e6, -1e-6] + 7.5)
    assert units.target_ == "numbers"
    np.testing.assert_allclose(units.transform(X), once, atol=1e-7)


def test_erasing_twice_changes_nothing_more():
    X, Z = problem()
    eraser = ConceptErasure().fit(X, Z)
    once = eraser.transform(X)
    np.testing.assert_allclose(eraser.transform(once), once, atol=1e-10)


def test_same_bits_and_float32_stays():
    X, Z = problem()
    narrow = X.astype(np.float32)
    first, second = (ConceptErasure().fit(narrow, Z).transform(narrow) for _ in range(2))
    assert first.dtype == np.float32
    assert (first == second).all()
    np.testing.assert_allclose(first, ConceptErasure().fit_transform(X, Z), rtol=1e-4, atol=1e-4)
    before = pellucid.solvers.get_threads()
    try:
        pellucid.set_threads(1)
        wide = np.repeat(X, 40, axis=0)
        one = ConceptErasure().fit(wide, np.repeat(Z, 40, axis=0))
        pellucid.set_threads(2)
        two = ConceptErasure().fit(wide, np.repeat(Z, 40, axis=0))
    finally:
        pellucid.set_threads(before)
    assert (one.left_ == two.left_).all()
    assert (one.right_ == two.right_).all()


# streaming


@settings(max_examples=30)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 2**31))
def test_sums_of_blocks_are_the_sums_of_all(sizes, seed):
    n = sum(sizes)
    rng = np.random.default_rng(seed)
    X, Z = 1e6 + rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    cuts = np.cumsum([0, *sizes])
    total = moments_of((X[: cuts[1]], Z[: cuts[1]]))
    for start, stop in pairwise(cuts[1:]):
        total += moments_of((X[start:stop], Z[start:stop]))
    assert total.count == n
    np.testing.assert_allclose(total.scatter / n, np.cov(X.T, bias=True), atol=1e-8)
    np.testing.assert_allclose(total.cross / n, (X - X.mean(axis=0)).T @ (Z - Z.mean(axis=0)) / n, atol=1e-8)
    np.testing.assert_allclose(total.targets_scatter / n, Z.var(axis=0), atol=1e-12)


def test_blocks_partial_fits_and_all_rows_at_once_agree(tmp_path):
    X, Z = problem(500, 6, 2)
    whole = ConceptErasure().fit(X, Z)
    by_parts = ConceptErasure()
    for start in range(0, 500, 130):
        by_parts.partial_fit(X[start : start + 130], Z[start : start + 130])
    np.save(tmp_path / "x.npy", X)
    for other in (
        by_parts,
        ConceptErasure().fit(Blocks(X, rows=70), Z),
        ConceptErasure().fit(Blocks(tmp_path / "x.npy", rows=70), Z),
        ConceptErasure().fit(Blocks(X, rows=70), Blocks(Z.astype(float), rows=70)),
    ):
        np.testing.assert_allclose(other.transform(X), whole.transform(X), atol=1e-9)
        assert other.n_samples_seen_ == 500
        assert other.squared_change_ == pytest.approx(whole.squared_change_)
    lazy = whole.transform(Blocks(X, rows=70))
    np.testing.assert_allclose(np.concatenate(list(lazy)), whole.transform(X), atol=1e-12)
    with pytest.raises(ValueError, match="X has 5 columns, but the eraser was fitted on 6"):
        whole.transform(Blocks(X[:, :5]))


def test_dask_arrays():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    X, Z = problem(300, 6, 2)
    whole = ConceptErasure().fit(Blocks(X, rows=100), Z)
    far = ConceptErasure().fit(da.from_array(X, chunks=(100, -1)), Z)
    assert (far.left_ == whole.left_).all()
    np.testing.assert_allclose(far.transform(da.from_array(X, chunks=(100, 3))).compute(), whole.transform(X))


def test_a_failed_fit_leaves_the_eraser_as_it_was():
    X, Z = problem()
    eraser = ConceptErasure().fit(X, Z)
    before = eraser.transform(X)
    for broken in (lambda: eraser.fit(X, Z[:-1]), lambda: eraser.partial_fit(X * np.nan, Z)):
        with pytest.raises(ValueError):
            broken()
        assert (eraser.transform(X) == before).all()


def test_saved_and_loaded_it_goes_on(tmp_path):
    X, Z = problem()
    eraser = ConceptErasure().fit(X[:200], Z[:200], ["red", "日本"])
    pellucid.save(eraser, tmp_path / "e.safetensors")
    again = pellucid.load(tmp_path / "e.safetensors")
    assert (again.transform(X) == eraser.transform(X)).all()
    assert list(again.concept_names_) == ["red", "日本"]
    for each in (again, eraser):
        each.partial_fit(X[200:], Z[200:])
    assert (again.transform(X) == eraser.transform(X)).all()


def test_a_file_of_an_early_version_still_erases():
    eraser = pellucid.load(GOLDEN / "concept_erasure.safetensors")
    assert list(eraser.concept_names_) == ["red", "日本"]
    assert (
        eraser.partial_fit(pd.DataFrame([[1.0, 2.0, 3.0]], columns=eraser.feature_names_in_), [[1, 0]]).n_samples_seen_
        == 13
    )


# what y may be


def test_labels_in_any_form_are_the_same_concepts():
    X, Z = problem(200, 6, 2)
    names = ["a", "b"]
    whole = ConceptErasure().fit(X, Z, names)
    for y, given_names in (
        (Z.astype(int), names),
        (Z.astype(float), names),
        (pd.DataFrame(Z, columns=names), None),
        (sparse.csr_matrix(Z.astype(int)), names),
        ([{n for n, on in zip(names, row) if on} for row in Z], None),
    ):
        other = ConceptErasure().fit(X, y, given_names)
        assert list(other.concept_names_) == names
        assert other.target_ == "labels"
        np.testing.assert_allclose(other.transform(X), whole.transform(X), atol=1e-10)


def test_one_concept_classes_and_quantities():
    X, Z = problem(200, 6, 3)
    yes = Z[:, 0]
    one = ConceptErasure().fit(X, yes)
    assert one.left_.shape == (6, 1)
    for y in (yes.astype(int), yes.astype(float), yes[:, None], np.where(yes, "in", "out"), pd.Series(yes, name="in")):
        np.testing.assert_allclose(ConceptErasure().fit_transform(X, y), one.transform(X), atol=1e-9)
    assert list(ConceptErasure().fit(X, pd.Series(yes, name="in")).concept_names_) == ["in"]
    classes = Z.sum(axis=1)
    several = ConceptErasure().fit(X, classes)
    assert several.left_.shape == (6, 3)  # the classes of a row add up to one
    assert list(several.concept_names_) == ["0", "1", "2", "3"]
    amount = ConceptErasure(target="numbers").fit(X, classes)
    assert amount.left_.shape == (6, 1)
    assert abs(np.corrcoef(amount.transform(X).T, classes)[-1, :-1]).max() < 1e-9
    assert ConceptErasure().fit(X, classes + 0.5).target_ == "numbers"
    assert ConceptErasure().fit(X, np.c_[classes, classes**2]).target_ == "numbers"


def test_whole_numbers_that_look_like_a_quantity_are_asked_about():
    X, _ = problem(200, 40)
    with pytest.warns(UserWarning, match="30 different whole numbers, each taken for a class of its own; with"):
        ConceptErasure().fit(X, np.arange(200) % 30)
    assert ConceptErasure(target="numbers").fit(X, np.arange(200) % 30).left_.shape == (40, 1)


def test_later_labels_are_matched_by_name():
    X, _ = problem(90, 8)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    whole = ConceptErasure().fit(X, y)
    parts = ConceptErasure().partial_fit(X[:2], y[:2], ["a", "b", "c"])
    for start, stop in ((2, 50), (50, 51), (51, 90)):
        parts.partial_fit(X[start:stop], y[start:stop])
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="no concept 'd' among the 3"):
        parts.partial_fit(X[:1], ["d"])


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0, 1, np.nan, 1], r"y has no value \(nan\) at row 2: drop the rows that have none"),
        (["a", "b", None, "b"], r"y has no value \(nan\) at row 2"),
        (pd.Series([True, pd.NA, False, True], dtype="boolean"), r"y has no value \(nan\) at row 1"),
        (pd.DataFrame({"a": [1, 0, 1, np.nan], "b": [1, 0, 1, 1]}), r"y has no value \(nan\) at row 3"),
        ([0.5, 1.0, np.inf, 1.0], "y has inf at row 2"),
        ([[0, 1]], "X has 4 rows, but y has 1"),
        (np.zeros((4, 1, 1)), "y must have one or two dimensions"),
    ],
)
def test_bad_labels_get_a_sentence(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        ConceptErasure().fit(np.eye(4), y)


def test_names_are_no_numbers():
    with pytest.raises(ValueError, match="y must hold numbers where target='numbers', but it holds names"):
        ConceptErasure(target="numbers").fit(np.eye(4), list("abab"))
    with pytest.raises(ValueError, match="There are 3 concept names for 2 concepts"):
        ConceptErasure().fit(np.eye(4), np.eye(4)[:, :2], list("abc"))
    with pytest.raises(ValueError, match="The 'shrinkage' parameter of ConceptErasure must be"):
        ConceptErasure(shrinkage=2).fit(np.eye(4), [0, 1, 0, 1])


# degenerate rows


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        ([[1.0, 2.0]], [1], "One row has no covariance, so nothing is erased"),
        ([[0.1, 0.2]] * 5, [0, 1, 0, 1, 1], "All rows are alike, so nothing is erased"),
        (np.eye(5)[:, :3], [1] * 5, "The concept 'concept 0' is the same in all rows, so nothing is erased"),
        ([[0.0, 1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 3.0]], [0, 0, 1, 1], "No concept is correlated with the rows"),
    ],
)
def test_nothing_to_erase_is_said_and_nothing_is_changed(X, y, sentence):
    with pytest.warns(UserWarning, match=sentence):
        eraser = ConceptErasure().fit(X, y)
    np.testing.assert_array_equal(eraser.transform(X), X)
    assert (eraser.residual_, eraser.squared_change_) == (0.0, 0.0)


def test_one_constant_concept_among_others_is_said():
    X, Z = problem(100, 6, 1)
    alone = ConceptErasure().fit_transform(X, Z)
    with pytest.warns(UserWarning, match="'b' is the same in all rows: there is nothing of it to erase"):
        eraser = ConceptErasure().fit(X, np.c_[Z, np.ones(100)], ["a", "b"])
    np.testing.assert_allclose(eraser.transform(X), alone, atol=1e-10)
    assert np.isnan(eraser.certify(X, np.c_[Z, np.ones(100)]).after).tolist() == [False, True]


def test_as_many_concepts_as_dimensions_leave_the_mean():
    X, _ = problem(100, 3)
    with pytest.warns(UserWarning, match="take up all 3 dimensions in which the rows vary"):
        erased = ConceptErasure().fit_transform(X, X + 0.1)
    np.testing.assert_allclose(erased, np.broadcast_to(X.mean(axis=0), X.shape), atol=1e-9)


def test_columns_that_never_change_stay_as_they_are():
    X, Z = problem(100, 6, 1)
    X[:, 2] = 0.1
    erased = ConceptErasure().fit_transform(X, Z)
    np.testing.assert_allclose(erased[:, 2], 0.1, atol=1e-12)


def test_numbers_too_large_to_be_squared_are_said():
    X, Z = problem(100, 6, 1)
    with pytest.raises(ValueError, match="too large to be squared"):
        ConceptErasure().fit(1e200 * X, Z)


# other rows


def test_the_certificate_is_of_rows_that_were_not_seen():
    scenes = load_scenes()
    X, Y = scenes.vectors, scenes.coarse[:, :3]
    rest = np.concatenate(scenes.split[1:])
    eraser = ConceptErasure().fit(X[scenes.split.train], Y[scenes.split.train], scenes.coarse_names[:3])
    found = eraser.certify(X[rest], Y[rest])
    assert (found.before > 0.98).all()
    assert (found.after < found.before - 0.25).all()
    assert (found.n_rows, found.n_fitted) == (1200, 1800)
    assert 0.005 < found.relative_change < 0.2
    assert found.residual < 0.4
    assert "something is left: 4.7 rows a dimension" in str(found)
    assert "These look like rows of the fit" in str(eraser.certify(X[scenes.split.train], Y[scenes.split.train]))
    same = eraser.certify(X[rest], Y[rest])
    np.testing.assert_array_equal(same.after, found.after)
    halves = ConceptErasure().fit(X[rest], Y[rest]).certify(X[rest], Y[rest], refit=True)
    assert (halves.n_rows, halves.n_fitted) == (1200, 600)
    assert (halves.after > found.after).all()  # 600 rows tell less exactly where a concept lies


def test_more_rows_leave_less():
    rng = np.random.default_rng(0)
    y = rng.random(9000) < 0.5
    X = rng.normal(size=(9000, 100)) + 2 * y[:, None] * (np.arange(100) == 0)
    after = [ConceptErasure().fit(X[:n], y[:n]).certify(X[6000:], y[6000:]).after[0] for n in (150, 600, 6000)]
    assert after[0] > after[1] > after[2]
    assert after[2] < 0.55


def test_taking_a_cone_out_is_not_erasure():
    scenes = load_scenes()
    X, y, train, rest = scenes.vectors, scenes.coarse, scenes.split.train, np.concatenate(scenes.split[1:])
    cones = ConceptSubspaces(4, max_iter=1).fit(X[train], y[train], scenes.coarse_names)
    j = scenes.coarse_names.index("animal")
    probe = LogisticRegression(C=10, max_iter=1000)
    left = []
    for change in (lambda rows: cones.remove(rows, "animal"), ConceptErasure().fit(X[train], y[train, j]).transform):
        probe.fit(change(X[train]), y[train, j])
        left.append(roc_auc_score(y[rest, j], probe.decision_function(change(X[rest]))))
    assert left[0] > 0.9
    assert abs(left[1] - 0.5) < 0.1


def test_misuse_of_certify():
    X, Z = problem(100, 6, 1)
    eraser = ConceptErasure().fit(X, Z)
    for arguments, options, sentence in (
        ((X[:3], Z[:3]), {}, "A certificate needs at least 4 rows, but X has 3"),
        ((X[:7], Z[:7]), {"refit": True}, "at least 8 rows, but X has 7"),
        ((X, Z[:4]), {}, "X has 100 rows, but y has 4"),
        ((X, Z), {"n_splits": 1}, "n_splits must be at least 2, got 1"),
    ):
        with pytest.raises(ValueError, match=sentence):
            eraser.certify(*arguments, **options)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(3, 40), st.sampled_from([0, 1]))
def test_concordance_counts_pairs(seed, n, decimals):
    rng = np.random.default_rng(seed)
    z, score = rng.normal(size=n).round(decimals), rng.normal(size=n).round(decimals)
    signs = np.sign(z[:, None] - z) * np.sign(score[:, None] - score)
    different = z[:, None] != z
    if different.any():
        assert concordance(z, score) == pytest.approx((1 + signs[different].mean()) / 2)


def test_a_probe_is_as_good_as_a_logistic_regression():
    scenes = load_scenes()
    X, Y, order = scenes.vectors, scenes.coarse, np.random.default_rng(0).permutation(3000)
    some, others = order[:900], order[900:1800]
    scores = ridge_scores(X[some], Y[some].astype(float), X[others])
    for j in (0, 5):
        plain = LogisticRegression(C=10, max_iter=1000).fit(X[some], Y[some, j]).decision_function(X[others])
        assert concordance(Y[others, j], scores[:, j]) > roc_auc_score(Y[others, j], plain) - 0.01
    few = ridge_scores(X[:20], Y[:20].astype(float), X[20:30])
    assert np.isfinite(few).all()
    assert not ridge_scores(np.ones((5, 2)), np.arange(5.0)[:, None], np.ones((2, 2))).any()


# in company


def test_pipelines_frames_and_clones():
    X, Z = problem(100, 3, 1)
    frame = pd.DataFrame(X, columns=list("abc"))
    eraser = clone(ConceptErasure(shrinkage=0.1)).set_output(transform="pandas").fit(frame, Z[:, 0])
    assert list(eraser.transform(frame).columns) == ["a", "b", "c"]
    piped = make_pipeline(ConceptErasure(), LogisticRegression(tol=1e-9, max_iter=1000)).fit(X, Z[:, 0])
    assert np.abs(piped[-1].coef_).max() < 1e-3
