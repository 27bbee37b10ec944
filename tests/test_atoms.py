"""The atom steps: leading rank-one pairs (paper 1) and quadratics on the sphere (paper 3)."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pellucid.solvers import leading_atom, nonnegative_power, sphere_quadratic


def kept(E, atom):
    """What the non-negative coefficients keep: ‖max(0, Eb)‖² (Eq. 11)."""
    return np.square(np.maximum(E @ atom, 0)).sum()


@settings(max_examples=80)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32 - 1), st.booleans())
def test_leading_atom_is_the_leading_singular_vector(n, d, seed, warm):
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((n, d)) + rng.standard_normal(d)
    result = leading_atom(E, rng.standard_normal(d) if warm else None)
    values, right = np.linalg.svd(E, full_matrices=False)[1:]
    assert result.converged
    assert np.linalg.norm(result.atom) == pytest.approx(1)
    assert np.linalg.norm(E @ result.atom) == pytest.approx(values[0], rel=1e-9)
    if values.size == 1 or values[1] < 0.99 * values[0]:
        assert abs(right[0] @ result.atom) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(result.coefficients, np.maximum(E @ result.atom, 0), atol=1e-12 * values[0])
    assert kept(E, result.atom) >= kept(E, -result.atom) - 1e-9 * values[0] ** 2


def test_majority_sign_is_the_better_of_both_by_brute_force(rng):
    for _ in range(50):
        E = rng.standard_normal((rng.integers(1, 9), 5))
        result = leading_atom(E)
        errors = [np.linalg.norm(E - np.outer(np.maximum(E @ b, 0), b)) for b in (result.atom, -result.atom)]
        assert errors[0] <= errors[1] + 1e-12


def test_leading_atom_converges_where_singular_values_are_close(rng):
    left = np.linalg.qr(rng.standard_normal((300, 80)))[0]
    right = np.linalg.qr(rng.standard_normal((100, 80)))[0]
    E = left @ np.diag(np.linspace(1, 0.999, 80)) @ right.T
    result = leading_atom(E)
    assert result.converged
    assert np.linalg.norm(E @ result.atom) == pytest.approx(1, abs=1e-9)


def test_leading_atom_leaves_another_singular_vector(rng):
    """Started exactly at the second singular vector, where the residual is zero, it still finds the first."""
    left = np.linalg.qr(rng.standard_normal((60, 40)))[0]
    right = np.linalg.qr(rng.standard_normal((50, 40)))[0]
    E = left @ np.diag(np.linspace(2, 1, 40)) @ right.T
    for start in (right[:, 1], right[:, -1]):
        assert abs(leading_atom(E, start).atom @ right[:, 0]) == pytest.approx(1, abs=1e-9)
    blocks = np.zeros((201, 40))
    blocks[0, 0], blocks[1:, 1] = 10, 1  # the longest row points along the smaller singular vector
    assert np.linalg.norm(blocks @ leading_atom(blocks).atom) == pytest.approx(np.sqrt(200))
    axes = np.diag(np.arange(1.0, 41))
    assert np.linalg.norm(axes @ leading_atom(axes, init=np.eye(40)[3]).atom) == pytest.approx(40)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e200])
def test_atoms_do_not_depend_on_scale(rng, scale):
    E, b = rng.standard_normal((40, 50)), rng.standard_normal(50)
    for solver in (leading_atom, nonnegative_power):
        one, other = solver(E, b), solver(scale * E, b / scale)
        np.testing.assert_allclose(other.atom, one.atom, atol=1e-7)
        np.testing.assert_allclose(other.coefficients / scale, one.coefficients, atol=1e-6)
    H = E @ E.T
    one, other = sphere_quadratic(H, E[:, 0]), sphere_quadratic(scale * H, scale * E[:, 0])
    np.testing.assert_allclose(other.point, one.point, atol=1e-9)
    assert other.multiplier / scale == pytest.approx(one.multiplier)


def test_nonnegative_power_reaches_the_best_of_many_random_starts_in_the_plane(rng):
    """In two dimensions the global optimum can be had by trying all angles."""
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(10):
        E = rng.standard_normal((12, 2))
        best = np.square(np.maximum(E @ circle.T, 0)).sum(axis=0).max()
        found = max(kept(E, nonnegative_power(E, b).atom) for b in rng.standard_normal((8, 2)))
        assert found == pytest.approx(best, rel=1e-6)


def test_leading_atom_of_degenerate_matrices(rng):
    b = rng.standard_normal(50)
    rank_one = leading_atom(np.outer(rng.random(40), b), init=np.zeros(50))
    assert abs(rank_one.atom @ b) == pytest.approx(np.linalg.norm(b))
    for shape in [(40, 50), (3, 5)]:
        nothing = leading_atom(np.zeros(shape))
        assert nothing.converged
        assert np.linalg.norm(nothing.atom) == pytest.approx(1)
        assert not nothing.coefficients.any()


def test_leading_atom_in_float32(rng):
    E = (rng.standard_normal((200, 60)) + 1).astype(np.float32)
    result = leading_atom(E)
    assert result.atom.dtype == np.float32
    assert result.converged
    assert abs(np.linalg.svd(E.astype(float))[2][0] @ result.atom) == pytest.approx(1, abs=1e-6)


def test_max_iter_is_honoured_and_reported(rng):
    with pytest.warns(ConvergenceWarning, match="leading_atom did not converge: largest residual"):
        result = leading_atom(rng.standard_normal((300, 200)), max_iter=2)
    assert not result.converged
    assert result.residual > 1e-6


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_nonnegative_power_never_loses_what_it_keeps(n, d, seed):
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((n, d))
    start = leading_atom(E).atom
    history = [kept(E, start)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for steps in (1, 2, 5, 2000):
            history.append(kept(E, nonnegative_power(E, start, max_iter=steps).atom))
    assert (np.diff(history) >= -1e-10 * history[0]).all()


def test_nonnegative_power_beats_the_thresholded_singular_vector(rng):
    """Where the leading direction has both signs, keeping the signs in mind from the start explains more."""
    E = rng.standard_normal((100, 20))
    svd, power = leading_atom(E), nonnegative_power(E, leading_atom(E).atom)
    assert power.converged
    assert kept(E, power.atom) > 1.01 * kept(E, svd.atom)


def test_nonnegative_power_of_one_sided_data_is_the_singular_vector(rng):
    E = np.outer(rng.random(30) + 1, rng.standard_normal(10)) + 0.01 * rng.standard_normal((30, 10))
    np.testing.assert_allclose(nonnegative_power(E).atom, leading_atom(E).atom, atol=1e-8)
    assert not nonnegative_power(np.zeros((3, 4))).coefficients.any()


@pytest.mark.parametrize("solver", [leading_atom, nonnegative_power])
@pytest.mark.parametrize(
    ("E", "init", "sentence"),
    [
        ([[1.0, np.nan]], None, "E has nan at row 0, column 1"),
        (np.ones(3), None, "E must be two-dimensional"),
        (np.ones((2, 3)), np.ones(2), "init must hold 3 numbers, one per column of E"),
        (np.ones((30, 30)), np.full(30, np.nan), "init has nan at position 0"),
    ],
)
def test_bad_input_gets_a_sentence(solver, E, init, sentence):
    with pytest.raises(ValueError, match=sentence):
        solver(E, init)


def sphere_objective(H, b, d):
    return d @ H @ d - 2 * b @ d


@settings(max_examples=200)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from(["definite", "indefinite", "low rank", "zero b"]))
def test_sphere_minimum_is_global(n, seed, kind):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n if kind != "low rank" else max(1, n // 3)))
    H = root @ root.T if kind != "indefinite" else root + root.T
    b = np.zeros(n) if kind == "zero b" else rng.standard_normal(n) * 10.0 ** rng.integers(-8, 4)
    result = sphere_quadratic(H, b)
    assert result.converged
    assert np.linalg.norm(result.point) == pytest.approx(1)
    scale = np.linalg.norm(H) + np.linalg.norm(b)
    # the certificate: stationary, and the shifted matrix is semidefinite
    assert np.linalg.norm((H + result.multiplier * np.eye(n)) @ result.point - b) <= 1e-8 * scale
    assert np.linalg.eigvalsh(H + result.multiplier * np.eye(n))[0] >= -1e-8 * scale
    others = rng.standard_normal((1000, n))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert (np.einsum("ij,jk,ik->i", others, H, others) - 2 * others @ b >= result.objective - 1e-9 * scale).all()


def test_sphere_agrees_with_a_trusted_optimiser(rng):
    for _ in range(10):
        root, b = rng.standard_normal((6, 6)), rng.standard_normal(6)
        H = root + root.T
        on_sphere = lambda d, H=H, b=b: sphere_objective(H, b, d / np.linalg.norm(d))  # noqa: E731
        best = min(scipy.optimize.minimize(on_sphere, start).fun for start in rng.standard_normal((20, 6)))
        assert sphere_quadratic(H, b).objective == pytest.approx(best, abs=1e-6)


def test_sphere_hard_case():
    """b has no part in the lowest eigenvector: the multiplier sits at the pole and that eigenvector fills up."""
    H, b = np.diag([1.0, 2.0, 5.0]), np.array([0.0, 0.5, 0.0])
    result = sphere_quadratic(H, b)
    assert result.multiplier == pytest.approx(-1)
    np.testing.assert_allclose(np.abs(result.point), [np.sqrt(0.75), 0.5, 0.0], atol=1e-12)
    for tiny in (1e-14, 1e-30, 1e-200):
        almost = sphere_quadratic(H, np.array([tiny, 0.5, 0.0]))
        assert almost.objective == pytest.approx(result.objective, abs=1e-12)
    assert sphere_quadratic(H, np.array([1e-200, 1e-200, 0])).objective == pytest.approx(1)


def test_sphere_closed_forms(rng):
    b = rng.standard_normal(5)
    np.testing.assert_allclose(sphere_quadratic(np.zeros((5, 5)), b).point, b / np.linalg.norm(b), atol=1e-12)
    np.testing.assert_allclose(sphere_quadratic(3 * np.eye(5), b).point, b / np.linalg.norm(b), atol=1e-12)
    assert sphere_quadratic([[2.0]], [-1.0]).point == pytest.approx([-1.0])
    assert sphere_quadratic(np.zeros((2, 2)), np.zeros(2)).objective == 0


def test_sphere_rotation_equivariance(rng):
    root, b = rng.standard_normal((7, 7)), rng.standard_normal(7)
    H = root @ root.T
    Q = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    np.testing.assert_allclose(sphere_quadratic(Q @ H @ Q.T, Q @ b).point, Q @ sphere_quadratic(H, b).point, atol=1e-8)


@pytest.mark.parametrize(
    ("H", "b", "sentence"),
    [
        (np.ones((2, 3)), np.ones(2), "H must be square"),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), np.ones(2), "H must be symmetric"),
        (np.eye(2), np.ones(3), "b must hold 2 numbers, one per row of H"),
        (np.eye(2), [1.0, np.nan], "b has nan at position 1"),
    ],
)
def test_bad_sphere_input_gets_a_sentence(H, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        sphere_quadratic(H, b)
