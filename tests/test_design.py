"""Multitask basis pursuit: against cone solvers, its certificate, and the whole of its optimal set."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskLasso

from pellucid._core import kernels
from pellucid.solvers import basis_pursuit, design_newton, design_path, design_polish
from pellucid.solvers.basis_pursuit import least_norm
from pellucid.solvers.design import Columns
from pellucid.solvers.design_newton import packed_diagonal, symmetric_matrices
from pellucid.solvers.design_path import follow_path


def random_columns(D, P, seed=0, unit=False):
    W = np.random.default_rng(seed).standard_normal((D, P))
    lengths = np.linalg.norm(W, axis=0)
    return W / lengths if unit else W * (2 * np.e / (np.exp(lengths) + np.exp(1 / lengths)) / lengths)


def coefficients(W, found):
    beta = np.zeros(W.T.shape)
    beta[found.candidates] = found.weights[:, None] * (found.V @ W[:, found.candidates]).T
    return beta


def cone_solver(W):
    cp = pytest.importorskip("cvxpy")
    beta = cp.Variable(W.T.shape)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(beta, 2, axis=1))), [W @ beta == np.eye(len(W))])
    return problem.solve(solver="CLARABEL"), beta.value


@pytest.mark.parametrize(("D", "P"), [(1, 5), (2, 3), (4, 75), (6, 89)])
def test_a_cone_solver_finds_the_same(D, P):
    W = random_columns(D, P, seed=P)
    found = basis_pursuit(W)
    value, beta = cone_solver(W)
    assert found.objective[-1] == pytest.approx(value, rel=1e-6)
    assert found.duality_gap < 1e-12
    np.testing.assert_allclose(coefficients(W, found), beta, atol=1e-4)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(("D", "P"), [(3, 40), (6, 5_000), (12, 3_000)])
def test_certificate_feasibility_and_strong_duality(D, P, unit):
    W = random_columns(D, P, unit=unit)
    found = basis_pursuit(W)
    beta = coefficients(W, found)
    np.testing.assert_allclose(W @ beta, np.eye(D), atol=1e-11)
    assert np.linalg.norm(found.V @ W, axis=0).max() <= 1 + 1e-12
    assert np.linalg.norm(beta, axis=1).sum() == pytest.approx(np.trace(found.V), rel=1e-11)
    if unit:  # of enough columns of equal length each has weight in some solution, whether it took part or not
        assert len(found.candidates) == P


def test_columns_that_first_stand_aside_are_let_in():
    W = random_columns(6, 20_000, seed=3)
    found, design = basis_pursuit(W), follow_path(Columns(W, np.ones(20_000)))
    assert len(design.index) < 2_000
    direct = follow_path(Columns(W[:, found.candidates], np.ones(len(found.candidates))))
    assert found.objective[-1] == pytest.approx(direct.objective, rel=1e-8)


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 0.5, 0.9])
def test_the_penalised_form_is_the_multitask_lasso(ridge):
    W = random_columns(5, 60, seed=1)
    W /= np.linalg.norm(W, axis=0).max()
    found = basis_pursuit(W, ridge=ridge)
    lasso = MultiTaskLasso(alpha=ridge / 5, fit_intercept=False, tol=1e-13, max_iter=300_000).fit(W, np.eye(5))
    np.testing.assert_allclose(coefficients(W, found), lasso.coef_.T, atol=1e-7)
    np.testing.assert_allclose(np.eye(5) - W @ coefficients(W, found), ridge * found.V, atol=1e-10)


def test_the_penalised_form_needs_no_full_rank():
    W = random_columns(5, 30)
    W[4] = 0
    assert basis_pursuit(W, ridge=0.1).duality_gap < 1e-9
    with pytest.raises(ValueError, match="do not span all 5 dimensions"):
        basis_pursuit(W)


def counter_example():
    """Unit columns at 0°, 90°, six near +20° and six near −20° (the first two are orthonormal)."""
    angles = np.deg2rad(np.concatenate([[0, 90], 20 + np.linspace(-1, 1, 6), -20 + np.linspace(-1, 1, 6)]))
    return np.array([np.cos(angles), np.sin(angles)])


def test_propositions_4_and_8_fail_for_the_least_norm_and_hold_for_the_union():
    W = counter_example()
    found = basis_pursuit(W)
    assert found.objective[-1] == pytest.approx(2.0, abs=1e-12)  # what the orthonormal pair attains
    assert found.weights[found.candidates == 0] == 0  # Eq. 22 gives the column at 0° no weight
    assert set(found.candidates) == set(range(14))


def test_the_least_norm_is_a_projection_that_a_general_solver_confirms():
    cp = pytest.importorskip("cvxpy")
    for seed in range(4):
        W = random_columns(4, 30, seed=seed, unit=True)
        M = np.eye(4) if seed else W @ W.T
        eta = cp.Variable(30, nonneg=True)
        constraint = sum(eta[p] * np.outer(W[:, p], W[:, p]) for p in range(30)) == M
        cp.Problem(cp.Minimize(cp.sum_squares(eta)), [constraint]).solve(solver="CLARABEL")
        np.testing.assert_allclose(least_norm(Columns(W), M), eta.value, atol=1e-5)


def usable(W, p):
    """Whether some optimal solution gives column p weight, where M = V = I."""
    A = symmetric_matrices(len(W)).products(W, W)
    M = symmetric_matrices(len(W)).vector(np.eye(len(W)))
    share = 1e-4 * A[:, p]  # if p can have weight at all, then (for these sizes) at least this much
    return scipy.optimize.nnls(A, M - share)[1] < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_the_union_is_what_trying_every_column_finds(seed):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((3, 14))
    W /= np.linalg.norm(W, axis=0)
    W[:, :3] = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    W[:, 10:] *= 0.9
    if seed % 2:
        W[:, 8] = W[:, 1]  # a duplicate of an orthonormal column
    if seed % 3 == 0:
        W[:, 7] = (W[:, 0] + W[:, 1]) / np.sqrt(2)  # of use only beside its mirror image
    if seed % 6 == 0:
        W[:, 6] = (W[:, 0] - W[:, 1]) / np.sqrt(2)
    found = basis_pursuit(W)
    assert set(found.candidates) == {p for p in range(10) if usable(W[:, :10], p)}
    assert {0, 1, 2} <= set(found.candidates)


@settings(max_examples=40)
@given(st.integers(1, 7), st.integers(0, 60), st.integers(0, 10_000))
def test_an_orthonormal_subset_is_always_contained(D, others, seed):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((D, D + others))
    W /= np.maximum(np.linalg.norm(W, axis=0), rng.choice([1e-9, 2.0], D + others))  # some shorter than 1
    planted = rng.permutation(D + others)[:D]
    W[:, planted] = np.linalg.qr(rng.standard_normal((D, D)))[0]
    found = basis_pursuit(W)
    assert found.objective[-1] == pytest.approx(D, rel=1e-9)
    assert set(planted) <= set(found.candidates)


@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_rotation_changes_no_support(D, seed):
    rng = np.random.default_rng(seed)
    W = random_columns(D, 30, seed)
    U = np.linalg.qr(rng.standard_normal((D, D)))[0]
    one, other = basis_pursuit(W), basis_pursuit(U @ W)
    np.testing.assert_array_equal(one.candidates, other.candidates)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(U @ one.V @ U.T, other.V, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_scale_of_the_columns_does_not_matter(factor):
    W = random_columns(4, 50)
    one, other = basis_pursuit(W), basis_pursuit(W, np.full(50, factor))
    np.testing.assert_array_equal(one.candidates, other.candidates)
    assert other.objective[-1] * factor == pytest.approx(one.objective[-1], rel=1e-9)


@pytest.mark.parametrize(("D", "P"), [(1, 3), (5, 40), (6, 129), (9, 300)])
def test_both_ways_to_the_newton_directions_agree(D, P, monkeypatch):
    W = random_columns(D, P)
    V, (weights, curvature, pull) = np.eye(D) / 2, np.random.default_rng(0).uniform(0.5, 2, (3, P))
    V += 0.01 * (W @ W.T) / P
    small = design_newton.directions(V, Columns(W), weights, curvature, pull, 0.1)
    monkeypatch.setattr(design_newton, "SMALL", 0)
    large = design_newton.directions(V, Columns(W), weights, curvature, pull, 0.1)
    np.testing.assert_allclose(small, large, rtol=1e-9, atol=1e-12)


def test_newton_directions_that_do_not_exist_are_refused():
    W, few = np.zeros((2, 3)), np.zeros(3)
    with pytest.raises(scipy.linalg.LinAlgError, match="not positive definite"):
        design_newton.directions(np.eye(2), Columns(W), few, few, few, 0.0)


# the compiled pieces, each against the formula that it stands for


def inside_point(D, P, seed=0):
    """Columns, a V with slack everywhere, and weights."""
    rng = np.random.default_rng(seed)
    W, A = rng.standard_normal((D, P)), rng.standard_normal((D, D))
    W /= np.linalg.norm(W, axis=0).max()
    V = np.eye(D) + 0.05 * (A + A.T)
    V *= 0.9 / np.linalg.norm(V @ W, axis=0).max()
    return W, V, rng.uniform(0.1, 2, P)


SHAPES = [(1, 1), (1, 200), (2, 3), (4, 75), (5, 128), (6, 129), (13, 270), (30, 141)]


@pytest.mark.parametrize(("D", "P"), SHAPES)
def test_the_value_of_weights(D, P):
    W, _, weights = inside_point(D, P)
    inverse = np.linalg.inv((W * weights) @ W.T + 0.1 * np.eye(D))
    beta = weights * (inverse @ W)
    expected = np.linalg.norm(beta, axis=0).sum() + np.square(np.eye(D) - W @ beta.T).sum() / 0.2
    assert kernels.primal_value(W, weights, 0.1) == pytest.approx(expected, rel=1e-10)
    if D > 1:
        assert kernels.primal_value(np.ones((D, P)), weights, 0.0) == np.inf


@pytest.mark.parametrize(("D", "P"), SHAPES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_of_columns_have_the_inner_products_of_their_matrices(D, P, kind):
    rng = np.random.default_rng(D)
    A, B, C = rng.standard_normal((3, P, D))
    sizes = D * (D + 1) // 2
    first, second = np.empty((P, sizes), dtype=kind), np.empty((P, sizes), dtype=kind)
    kernels.symmetric_products(A, B, first)
    kernels.symmetric_products(C, C, second)
    S = 0.5 * (np.einsum("pi,pj->pij", A, B) + np.einsum("pj,pi->pij", A, B))
    np.testing.assert_allclose(first, [symmetric_matrices(D).vector(each) for each in S], rtol=1e-6, atol=1e-6)
    expected = np.einsum("pi,pij,pj->p", C, S, C)
    np.testing.assert_allclose(np.einsum("pk,pk->p", first, second), expected, rtol=1e-4, atol=1e-4)


def plain_step(V, W, weights, z, towards, away):
    """How far along which direction, one column after the other."""

    def look(dV, target):
        now, ahead = V @ W, dV @ W
        square, cross = (ahead**2).sum(axis=0), (now * ahead).sum(axis=0)
        change = (target - weights * z + 2 * weights * cross) / z
        length = 1.0
        for p in range(len(z)):
            roots = np.roots([-square[p], -2 * cross[p], z[p]])
            length = min([length, *(0.98 * t.real for t in roots if t.real > 0)])
            if change[p] < 0:
                length = min(length, -0.995 * weights[p] / change[p])
        return square, cross, change, length

    def products(square, cross, change, length):
        return (weights + length * change) * (z - length * (2 * cross + length * square))

    mu = (weights * z).mean()
    target = mu * max(min(1.0, abs(products(*look(towards, 0.0)).mean()) / mu) ** 3, 1e-6)
    dV = towards - target * away
    square, cross, change, length = look(dV, target)
    while (found := products(square, cross, change, length)).min() < 1e-3 * found.mean():
        length *= 0.8
    return dV, change, length


@pytest.mark.parametrize(("D", "P"), SHAPES)
@pytest.mark.parametrize("lopsided", [False, True])
def test_a_step_goes_as_far_as_the_constraints_allow(D, P, lopsided):
    W, V, weights = inside_point(D, P, 1)
    if lopsided:  # so far from the central path that a step is shortened
        weights *= np.geomspace(1, 1e-3, P)
    z = 1 - np.square(V @ W).sum(axis=0)
    towards, away = design_newton.directions(V, Columns(W), weights, 2 * weights / z, 1 / z, 0.0)
    dV, change = np.empty_like(V), np.empty(P)
    length = kernels.step_along(V, W, weights, z, towards, away, dV, change)
    expected = plain_step(V, W, weights, z, towards, away)
    np.testing.assert_allclose(dV, expected[0], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(change, expected[1], rtol=1e-7, atol=1e-10)
    assert length == pytest.approx(expected[2], rel=1e-7)


@pytest.mark.parametrize(("D", "P"), SHAPES)
def test_the_first_constraint_that_is_reached(D, P):
    W, V, _ = inside_point(D, P)
    dV = np.diag(np.random.default_rng(1).standard_normal(D))
    t = kernels.first_reached(V, dV, W)
    assert np.linalg.norm((V + t * dV) @ W, axis=0).max() == pytest.approx(1)
    for earlier in t * np.linspace(0, 0.99, 50):
        assert np.linalg.norm((V + earlier * dV) @ W, axis=0).max() < 1
    assert kernels.first_reached(V, np.zeros((D, D)), W) == np.inf


@pytest.mark.parametrize(("D", "P"), SHAPES)
def test_powers_of_a_moment_that_a_start_is_chosen_from(D, P):
    W, _, _ = inside_point(D, P)
    M, found = W @ W.T, np.empty((3, D, D))
    kernels.powers_of_moment(M, found)
    values, vectors = np.linalg.eigh(M)
    for power, trial in zip((0.0, -0.5, -1.0), found):
        expected = (vectors * np.maximum(values, 1e-3 * values[-1]) ** power) @ vectors.T
        np.testing.assert_allclose(trial, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    kernels.powers_of_moment(np.full((D, D), np.nan), found)
    np.testing.assert_array_equal(found, [np.eye(D)] * 3)


@pytest.mark.parametrize(("D", "P"), SHAPES)
@pytest.mark.parametrize("ridge", [0.0, 0.9])
def test_a_point_inside_is_as_far_inside_as_asked_and_on_the_path(D, P, ridge):
    W, V, _ = inside_point(D, P)
    V /= np.linalg.norm(V @ W, axis=0).max()
    found, weights = V.copy(), np.empty(P)
    kernels.shrink_inside(W, ridge, 0.3, found, weights)
    shrunk = V * np.sqrt(0.7)
    expected = shrunk * min(1.0, 0.5 / (ridge * np.linalg.norm(shrunk, 2))) if ridge else shrunk
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    z = 1 - np.square(found @ W).sum(axis=0)
    assert z.min() >= 0.3 - 1e-12
    np.testing.assert_allclose(weights * z, (weights * z)[0])
    assert np.trace(found @ ((W * weights) @ W.T)) == pytest.approx(D - ridge * np.trace(found))


@pytest.mark.parametrize(("D", "P"), SHAPES)
def test_weights_beside_slacks_and_the_cost_of_a_change(D, P):
    W, V, weights = inside_point(D, P)
    ratio, used = np.empty(P), np.empty(P, dtype=bool)
    kernels.weight_over_slack(V, W, weights, ratio, used)
    expected = np.log10(weights / (1 - np.square(V @ W).sum(axis=0)))
    np.testing.assert_allclose(ratio, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(used, ratio > np.log10(weights.sum() / D))
    largest = np.linalg.eigvalsh((W * weights) @ W.T + 0.2 * np.eye(D))[-1]
    assert kernels.proximal_weight(W, weights, 0.2) == pytest.approx(1e-8 * np.square(W).sum() / largest / D)


@pytest.mark.parametrize(("D", "P"), SHAPES)
def test_a_step_of_the_polish(D, P):
    W, V, weights = inside_point(D, P)
    dV, found, changed = np.diag(np.linspace(0.01, 0.02, D)), V.copy(), weights.copy()
    missing = 0.5 * (1 - np.square(V @ W).sum(axis=0))
    after = weights + (np.einsum("ip,ij,jp->p", W, V @ dV, W) - missing) / 10
    left = missing.copy()
    gap = kernels.polish_step(W, dV, 10.0, 0.1, 1e-7, found, changed, left)
    np.testing.assert_allclose(found, V + dV, rtol=1e-12)
    np.testing.assert_allclose(changed, after, rtol=1e-9)
    np.testing.assert_allclose(left, 0.5 * (1 - np.square(found @ W).sum(axis=0)), rtol=1e-9, atol=1e-12)
    shrunk = found / max(1.0, np.linalg.norm(found @ W, axis=0).max())
    value = np.trace(shrunk) - 0.05 * np.square(shrunk).sum()
    assert gap == pytest.approx(abs(1 - value / kernels.primal_value(W, changed, 0.1)), rel=1e-9)
    assert kernels.polish_step(W, dV, 1e-9, 0.1, 1e-7, found, changed, left) < 0  # a weight vanishes


@pytest.mark.parametrize(("D", "P"), [(1, 5), (4, 75), (6, 300), (13, 178)])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_the_path_in_one_kernel_is_the_path_step_by_step(D, P, ridge, monkeypatch):
    W = random_columns(D, P)
    W /= np.linalg.norm(W, axis=0).max()
    whole = follow_path(Columns(W), ridge, 1e-6)
    more = follow_path(Columns(W), ridge, 1e-9, start=whole)
    monkeypatch.setattr(design_path, "SMALL", 0)
    steps = follow_path(Columns(W), ridge, 1e-6)
    np.testing.assert_allclose(whole.history, steps.history, rtol=1e-8)
    np.testing.assert_allclose(whole.V, steps.V, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(whole.weights, steps.weights, rtol=1e-5, atol=1e-8)
    assert whole.gap == pytest.approx(steps.gap, rel=1e-3, abs=1e-12)
    assert whole.gap <= 1e-6
    assert more.history[: len(whole.history)] == whole.history
    assert more.gap <= 1e-9
    assert more.history == pytest.approx(follow_path(Columns(W), ridge, 1e-9, start=steps).history, rel=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("start", [1e-2, 1e-5])
def test_the_polish_in_one_kernel_is_the_polish_step_by_step(ridge, start):
    W = random_columns(6, 89)
    W /= np.linalg.norm(W, axis=0).max()
    path = follow_path(Columns(W), ridge, start)
    used = design_polish._with_weight(Columns(W), path)[0]
    some, V, weights = np.ascontiguousarray(W[:, used]), path.V.copy(), path.weights[used]
    kernels.polish_few(some, ridge, 1e-7, 1e-14, 8, V, weights)
    expected = design_polish._newton_steps(path.V.copy(), some, path.weights[used], ridge)
    np.testing.assert_allclose(V, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-5, atol=1e-7)


def test_it_says_when_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        found = basis_pursuit(random_columns(8, 300), max_iter=2)
    assert found.duality_gap > 1e-9
    assert 1 - np.trace(found.V) / found.objective[2] == pytest.approx(found.duality_gap, abs=0.05)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], "nan at row 0, column 1"),
        ([[0.0, 0.0]], "do not span"),
        ([["a"]], "real numbers"),
        (np.ones((2, 0)), "empty"),
        (np.ones(3), "two-dimensional"),
    ],
)
def test_bad_input_is_named(W, message):
    with pytest.raises(ValueError, match=message):
        basis_pursuit(W)


def test_a_ridge_as_long_as_the_longest_column_is_refused():
    with pytest.raises(ValueError, match="the solution is zero"):
        basis_pursuit(np.eye(2), ridge=1.0)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 21])
def test_the_diagonal_of_the_packed_format_is_where_lapack_puts_it(size):
    packed, info = scipy.linalg.lapack.dtrttf(np.diag(np.arange(1.0, size + 1)))
    assert info == 0
    np.testing.assert_array_equal(packed[packed_diagonal(size)], np.arange(1, size + 1))


def test_a_system_in_single_precision_is_solved_to_double(monkeypatch):
    monkeypatch.setattr(design_newton, "DOUBLE", 0)
    W = random_columns(7, 60)
    V, (weights, curvature) = np.eye(7) / 2, np.random.default_rng(0).uniform(0.5, 2, (2, 60))
    system = design_newton.System((W * weights) @ W.T, V, Columns(W), 1e4 * curvature)
    right = V + np.diag(np.arange(7.0))
    assert system.factor.dtype == np.float32
    np.testing.assert_allclose(system.apply(system.solve(right)), right, atol=1e-10)


@pytest.mark.parametrize("kind", ["clusters", "tails", "turned"])
def test_the_start_suits_columns_of_any_kind(kind):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 4_000))
    if kind == "clusters":
        X = 3 * rng.standard_normal((12, 20))[:, rng.integers(0, 20, 4_000)] + X
    elif kind == "tails":
        X *= rng.lognormal(0, 1, 4_000)
    else:
        X = rng.standard_normal((12, 12)) @ X
    X /= np.median(np.linalg.norm(X, axis=0))
    lengths = np.linalg.norm(X, axis=0)
    W = X * (2 * np.e / (np.exp(lengths) + np.exp(1 / lengths)) / lengths)
    found = basis_pursuit(W)
    assert found.duality_gap < 1e-9
    assert len(found.objective) < 80
    np.testing.assert_allclose(W @ coefficients(W, found), np.eye(12), atol=1e-9)


def test_columns_beyond_the_small_kernel_with_and_without_a_planted_basis():
    W = random_columns(30, 3_000, seed=2)
    found = basis_pursuit(W, tol=1e-6)
    assert found.duality_gap < 1e-6
    np.testing.assert_allclose(W @ coefficients(W, found), np.eye(30), atol=1e-7)
    assert np.linalg.norm(found.V @ W, axis=0).max() <= 1 + 1e-12
    planted = np.arange(100, 3_000, 97)[:30]
    W[:, planted] = np.linalg.qr(np.random.default_rng(3).standard_normal((30, 30)))[0]
    found = basis_pursuit(W)
    assert found.objective[-1] == pytest.approx(30, rel=1e-12)
    assert set(planted) <= set(found.candidates)


def test_beyond_24_dimensions_a_loose_tolerance_is_kept_and_the_solution_is_feasible(monkeypatch):
    W = random_columns(26, 1_500, seed=2)
    fine = basis_pursuit(W, tol=1e-9)
    found = design_polish._with_weight
    monkeypatch.setattr(design_polish, "_with_weight", lambda *given: (found(*given)[0], False))  # never polished
    loose = basis_pursuit(W, tol=1e-4)
    assert loose.duality_gap > 1e-9
    beta = coefficients(W, loose)
    np.testing.assert_allclose(W @ beta, np.eye(26), atol=1e-11)
    value = np.linalg.norm(beta, axis=1).sum()
    assert value == pytest.approx(loose.objective[-1], rel=1e-12)
    assert 0 <= value / fine.objective[-1] - 1 <= loose.duality_gap <= 1e-4
    assert set(fine.candidates[fine.weights > 1e-3]) <= set(loose.candidates)


def test_columns_of_all_directions_need_no_factor():
    W = random_columns(16, 20_000, seed=5, unit=True)
    R = W @ W.T
    plain, factored = (
        design_newton.System(1e-13 * np.eye(16), np.eye(16), Columns(W), factorise=way) for way in (False, True)
    )
    np.testing.assert_allclose(plain.solve(R), factored.solve(R), rtol=1e-9, atol=1e-12)
    assert plain.factor is None
    lopsided = W * np.geomspace(1, 1e-3, 16)[:, None]  # far from all directions: the try fails, and it factorises
    system = design_newton.System(1e-13 * np.eye(16), np.eye(16), Columns(lopsided), factorise=False)
    np.testing.assert_allclose(system.apply(system.solve(R)), R, atol=1e-6)
    assert system.factor is not None
