import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet

from pellucid.solvers import lasso, lasso_gram, nnls


def objective(X, atoms, codes, alpha, ridge=0.0):
    fit = 0.5 * np.square(X - codes @ atoms).sum(axis=1)
    return fit + alpha * np.abs(codes).sum(axis=1) + 0.5 * ridge * np.square(codes).sum(axis=1)


def reference(X, atoms, alpha, positive=False, ridge=0.0):
    """A generic cone solver, row by row."""
    import cvxpy as cp

    codes = []
    for x in X:
        a = cp.Variable(len(atoms), nonneg=positive)
        loss = 0.5 * cp.sum_squares(x - atoms.T @ a) + alpha * cp.norm1(a) + 0.5 * ridge * cp.sum_squares(a)
        cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        codes.append(a.value)
    return np.array(codes)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("m", [6, 25])
def test_equals_a_cone_solver(rng, positive, ridge, m):
    X, atoms = rng.standard_normal((8, 12)), rng.standard_normal((m, 12))
    result = lasso(X, atoms, 0.7, positive=positive, ridge=ridge)
    expected = reference(X, atoms, 0.7, positive, ridge)
    best = objective(X, atoms, expected, 0.7, ridge)
    ours = objective(X, atoms, result.codes, 0.7, ridge)
    np.testing.assert_allclose(ours, best, rtol=1e-8)
    if m <= 12 or ridge:
        np.testing.assert_allclose(result.codes, expected, atol=1e-6)
    assert (result.duality_gap >= ours - best - 1e-9).all()
    assert result.converged


@settings(max_examples=150)
@given(
    st.integers(1, 6), st.integers(1, 10), st.integers(1, 25), st.floats(1e-4, 3.0), st.booleans(), st.booleans(),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_gap_is_tiny_also_with_collinear_atoms(n, d, m, alpha, positive, doubled, seed):
    rng = np.random.default_rng(seed)
    X, atoms = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    if doubled:
        atoms = np.vstack([atoms, atoms, -atoms, 1.5 * atoms[:1]])
    result = lasso(X, atoms, alpha, positive=positive)
    assert (result.duality_gap <= 1e-8 * np.square(X).sum(axis=1) / 2 + 1e-300).all()
    assert (result.duality_gap >= 0).all()
    # no random neighbour does better than the certificate allows
    ours = objective(X, atoms, result.codes, alpha)
    for scale in (1e-3, 1e-1):
        other = result.codes + scale * rng.standard_normal(result.codes.shape)
        other = np.maximum(other, 0) if positive else other
        assert (objective(X, atoms, other, alpha) >= ours - result.duality_gap - 1e-12).all()


@settings(max_examples=150)
@given(
    st.integers(1, 4), st.integers(1, 8), st.sampled_from([0.25, 0.5, 1.0]), st.booleans(), st.integers(0, 2**32 - 1)
)
def test_ties_of_whole_numbers(d, m, alpha, positive, seed):
    rng = np.random.default_rng(seed)
    atoms = rng.integers(-1, 2, size=(m, d)).astype(float)
    atoms = atoms[atoms.any(axis=1)]
    if not len(atoms):
        return
    X = rng.integers(-2, 3, size=(20, d)).astype(float)
    for start in (None, rng.integers(-2, 3, size=(20, len(atoms)))):
        result = lasso(X, atoms, alpha, positive=positive, init=start)
        assert result.converged
        assert np.isfinite(result.codes).all()


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 10), st.integers(1, 15), st.floats(0.01, 2.0), st.integers(0, 2**32 - 1))
def test_gram_form_reaches_the_same_objective(n, d, m, alpha, seed):
    rng = np.random.default_rng(seed)
    X, atoms = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    direct, gram = lasso(X, atoms, alpha), lasso_gram(X @ atoms.T, atoms @ atoms.T, alpha)
    np.testing.assert_allclose(
        objective(X, atoms, gram.codes, alpha), objective(X, atoms, direct.codes, alpha), rtol=1e-8
    )


def test_equals_scikit_learn(rng):
    X, atoms = rng.standard_normal((5, 40)), rng.standard_normal((20, 40))
    codes = lasso(X, atoms, 2.0, ridge=0.5).codes
    # scikit-learn divides the loss by the number of features here
    peer = ElasticNet(alpha=2.5 / 40, l1_ratio=0.8, fit_intercept=False, tol=1e-12, max_iter=100_000)
    for x, a in zip(X, codes):
        np.testing.assert_allclose(a, peer.fit(atoms.T, x).coef_, atol=1e-8)


def test_orthonormal_atoms_are_soft_thresholded(rng):
    atoms = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    X = rng.standard_normal((30, 9))
    c = X @ atoms.T
    np.testing.assert_allclose(lasso(X, atoms, 0.4).codes, np.sign(c) * np.maximum(np.abs(c) - 0.4, 0), atol=1e-12)
    np.testing.assert_allclose(lasso(X, atoms, 0.4, positive=True).codes, np.maximum(c - 0.4, 0), atol=1e-12)


def test_large_alpha_gives_zero_and_small_alpha_gives_nnls(rng):
    X, atoms = rng.standard_normal((10, 8)), rng.standard_normal((5, 8))
    top = np.abs(X @ atoms.T).max()
    assert not lasso(X, atoms, top * 1.0001).codes.any()
    assert lasso(X, atoms, top * 0.999).codes.any()
    np.testing.assert_allclose(lasso(X, atoms, 1e-8, positive=True).codes, nnls(X, atoms).codes, atol=1e-7)


def test_sign_symmetry(rng):
    X, atoms = rng.standard_normal((10, 8)), rng.standard_normal((12, 8))
    codes = lasso(X, atoms, 0.3).codes
    np.testing.assert_allclose(lasso(-X, atoms, 0.3).codes, -codes, atol=1e-9)
    np.testing.assert_allclose(lasso(X, -atoms, 0.3).codes, -codes, atol=1e-9)


def test_gram_form_with_and_without_norms(rng):
    X, atoms = rng.standard_normal((10, 30)), rng.standard_normal((12, 30))
    direct = lasso(X, atoms, 0.5)
    norms = np.square(X).sum(axis=1)
    for extra in ({}, {"squared_norms": norms}):
        other = lasso_gram(X @ atoms.T, atoms @ atoms.T, 0.5, **extra)
        np.testing.assert_allclose(other.codes, direct.codes, atol=1e-9)
        assert other.converged


def test_float32_and_warm_start(rng):
    X, atoms = rng.standard_normal((50, 20)), rng.standard_normal((30, 20))
    cold = lasso(X, atoms, 0.5)
    narrow = lasso(X.astype(np.float32), atoms.astype(np.float32), 0.5)
    assert narrow.codes.dtype == np.float32
    assert narrow.converged
    best = objective(X, atoms, cold.codes, 0.5)
    np.testing.assert_allclose(objective(X, atoms, narrow.codes, 0.5), best, rtol=1e-5)
    warm = lasso(X, atoms, 0.5, init=cold.codes + 0.1)
    np.testing.assert_allclose(objective(X, atoms, warm.codes, 0.5), best, rtol=1e-9)


def test_stopping_early_is_reported(rng):
    atoms = rng.standard_normal((40, 30)) + 2 * rng.standard_normal(30)
    with pytest.warns(ConvergenceWarning, match="lasso did not converge for .* duality gap"):
        early = lasso(rng.standard_normal((5, 30)) @ np.diag(np.arange(30.0)), atoms, 0.1, max_iter=1)
    assert not early.converged
    assert early.duality_gap.max() > 1e-3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(alpha=0.0), r"alpha must be positive; for alpha = 0 use nnls"),
        (dict(alpha=-1.0), r"alpha must be a finite number of at least 0, got -1.0"),
        (dict(alpha="x"), r"alpha must be a finite number"),
        (dict(X=[[np.nan, 0.0]]), r"X has nan at row 0, column 0"),
        (dict(X=np.ones((2, 3))), r"X has 3 columns, but atoms has 2"),
        (dict(atoms=np.zeros((1, 2))), r"atoms has zero length at row 0"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        lasso(**({"X": np.ones((2, 2)), "atoms": np.eye(2), "alpha": 0.1} | arguments))


def test_bad_norms_get_a_sentence():
    for norms, sentence in (
        ([1.0], r"squared_norms must hold 2 numbers, one per row of C, but has shape \(1,\)"),
        ([1.0, np.nan], "squared_norms has nan at position 1"),
        ([1.0, np.inf], "squared_norms has inf at row 1"),
        ([1.0, -1.0], "squared_norms has -1 at row 1, below zero"),
    ):
        with pytest.raises(ValueError, match=sentence):
            lasso_gram(np.ones((2, 2)), np.eye(2), 0.1, squared_norms=norms)
