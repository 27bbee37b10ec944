import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pellucid.solvers import box_qp


def reference(H, q, lower, upper):
    import cvxpy as cp

    x = cp.Variable(len(q))
    box = [x[np.isfinite(lower)] >= lower[np.isfinite(lower)], x[np.isfinite(upper)] <= upper[np.isfinite(upper)]]
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(H)) + q @ x), box)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value


def kkt_holds(H, q, lower, upper, x, tol):
    gradient = H @ x + q
    inside = (x > lower) & (x < upper)
    fixed = lower == upper
    return (
        (np.abs(gradient[inside]) <= tol).all()
        and (gradient[(x == lower) & ~fixed] >= -tol).all()
        and (gradient[(x == upper) & ~fixed] <= tol).all()
    )


@settings(max_examples=200)
@given(st.integers(1, 25), st.integers(1, 30), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 1.0]))
def test_optimality_conditions_hold_also_for_singular_matrices(m, rank, seed, open_share):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, rank))
    H = root @ root.T
    q = rng.standard_normal(m) * 3
    lower, upper = -rng.random(m), rng.random(m)
    opened = rng.random(m) < open_share
    if rank >= m:
        upper[opened] = np.inf
    fixed = rng.random(m) < 0.1
    upper[fixed] = lower[fixed]
    result = box_qp(H, q, lower, upper)
    assert result.converged
    assert ((result.x >= lower) & (result.x <= upper)).all()
    scale = np.abs(H).max() + np.abs(q).max()
    assert kkt_holds(H, q, lower, upper, result.x, 1e-7 * scale)


@settings(max_examples=150)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_ties_of_whole_numbers(m, seed):
    rng = np.random.default_rng(seed)
    root = rng.integers(0, 2, size=(m, 3)).astype(float)
    H, q = root @ root.T, rng.integers(-2, 3, size=m).astype(float)
    lower = rng.integers(-2, 1, size=m).astype(float)
    upper = lower + rng.integers(0, 3, size=m)
    result = box_qp(H, q, lower, upper, init=rng.integers(-2, 3, size=m))
    assert result.converged
    assert kkt_holds(H, q, lower, upper, result.x, 1e-9)


def test_an_objective_of_zero_is_recognised():
    """Everything cancels at the optimum, so only the forced coordinate says what round-off is to be measured by."""
    B = np.array([[-1, -1], [-1, 0], [-1, -1], [-1, 1], [1, 1.0]])
    result = box_qp(B @ B.T, np.zeros(5), [-1, -2, 0, 0, -1], [1, -2, 1, 1, 1])
    assert result.converged
    assert result.objective == pytest.approx(0, abs=1e-12)


def test_small_curvature_counts():
    np.testing.assert_allclose(box_qp(np.diag([1.0, 1e-17]), [0, -1e-17], 0, 10).x, [0, 1])
    np.testing.assert_allclose(box_qp(np.diag([1.0, 1e-20]), [1.0, 1e-20], -np.inf, np.inf).x, [-1, -1])


@pytest.mark.parametrize("rank", [5, 40])
def test_equals_a_cone_solver(rng, rank):
    root = rng.standard_normal((30, rank))
    H, q = root @ root.T, rng.standard_normal(30)
    lower, upper = np.full(30, -0.5), rng.random(30)
    result = box_qp(H, q, lower, upper)
    assert result.objective == pytest.approx(reference(H, q, lower, upper), abs=1e-8)


def test_exact_at_the_bounds(rng):
    H, q = np.eye(4), np.array([-10.0, 10.0, -0.1, 0.0])
    lower, upper = np.array([-1 / 3, -1 / 7, -1.0, -1.0]), np.array([1 / 3, 1 / 7, 1.0, 1.0])
    x = box_qp(3.7 * H, 3.7 * q, lower, upper).x
    assert x[0] == upper[0]
    assert x[1] == lower[1]
    np.testing.assert_allclose(x[2:], [0.1, 0.0], atol=1e-15)


def test_warm_start_gives_the_same_answer(rng):
    root = rng.standard_normal((20, 25))
    H, q = root @ root.T, rng.standard_normal(20)
    cold = box_qp(H, q, -0.1, 0.1).x
    for init in (cold, rng.standard_normal(20), np.full(20, 99.0)):
        np.testing.assert_allclose(box_qp(H, q, -0.1, 0.1, init=init).x, cold, atol=1e-12)


def test_no_bounds_is_a_linear_system(rng):
    root = rng.standard_normal((10, 15))
    H, q = root @ root.T, rng.standard_normal(10)
    np.testing.assert_allclose(box_qp(H, q, -np.inf, np.inf).x, -np.linalg.solve(H, q), rtol=1e-9)


def test_coordinates_without_curvature_go_to_their_bound():
    H = np.diag([1.0, 0.0, 0.0, 0.0])
    x = box_qp(H, [1.0, 1.0, -1.0, 0.0], -2.0, 3.0, init=[0, 0, 0, 0.5]).x
    np.testing.assert_allclose(x, [-1.0, -2.0, 3.0, 0.5])


def test_stopping_early_is_reported(rng):
    root = rng.standard_normal((30, 30))
    with pytest.warns(ConvergenceWarning, match="box_qp did not converge"):
        result = box_qp(root @ root.T, rng.standard_normal(30), -1, 1, max_iter=1)
    assert not result.converged
    assert result.kkt > 1e-6


def test_unbounded_objective_is_not_passed_off_as_solved():
    with pytest.raises(ValueError, match="unbounded below"):
        box_qp(np.diag([1.0, 0.0]), [0.0, 1.0], -np.inf, 1.0)
    with pytest.warns(ConvergenceWarning, match="box_qp did not converge"):
        assert not box_qp(np.ones((2, 2)), [1.0, -1.0], -np.inf, np.inf).converged


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(H=-np.eye(2)), "H is not positive semidefinite"),
        (dict(H=np.array([[1.0, 2.0], [2.0, 1.0]])), "H is not positive semidefinite"),
        (dict(H=np.array([[1.0, 1.0], [0.0, 1.0]])), "H must be symmetric"),
        (dict(H=np.ones((2, 3))), "H must be square"),
        (dict(q=[1.0]), r"q must hold 2 numbers, one per row of H, but has shape \(1,\)"),
        (dict(q=[1.0, np.nan]), "q has nan at position 1"),
        (dict(lower=2.0), "lower exceeds upper at position 0: 2 > 1"),
        (dict(lower=[0.0, np.inf], upper=np.inf), "lower must be below infinity"),
        (dict(init=[np.inf, 0.0]), "init has inf at row 0"),
        (dict(q=["a", "b"]), "q must hold real numbers, not <U1 values"),
        (dict(q=[1j, 1j]), "q must hold real numbers, not complex128 values"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        box_qp(**({"H": np.eye(2), "q": np.ones(2), "lower": 0.0, "upper": 1.0} | arguments))
