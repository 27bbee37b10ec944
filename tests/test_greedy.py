import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import orthogonal_mp

from pellucid.solvers import group_omp, nnls, nonnegative_omp
from support.oracles import nonnegative_least_squares


def reference_omp(x, atoms, steps):
    """Non-negative orthogonal matching pursuit as it is told, one row at a time."""
    chosen, codes = [], np.zeros(len(atoms))
    lengths = np.linalg.norm(atoms, axis=1)
    for _ in range(steps):
        score = (x - codes @ atoms) @ atoms.T / lengths
        score[chosen] = -np.inf
        if score.max() <= 1e-12 * np.linalg.norm(x):
            break
        chosen.append(int(np.argmax(score)))
        codes[:] = 0
        codes[chosen] = nonnegative_least_squares(atoms[chosen], x)
    return codes


@settings(max_examples=100)
@given(st.integers(1, 6), st.integers(2, 12), st.integers(1, 20), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_equals_the_plain_algorithm(n, d, m, steps, seed):
    rng = np.random.default_rng(seed)
    X, atoms = rng.standard_normal((n, d)), rng.standard_normal((m, d)) * rng.uniform(0.1, 10, size=(m, 1))
    result = nonnegative_omp(X, atoms, min(steps, d))
    expected = np.array([reference_omp(x, atoms, min(steps, d)) for x in X])
    np.testing.assert_allclose(result.codes, expected, atol=1e-8 * np.abs(expected).max() + 1e-12)
    assert (result.codes >= 0).all()
    assert ((result.codes > 0).sum(axis=1) <= steps).all()
    assert result.converged


def test_without_signs_and_groups_it_is_scikit_learns_omp(rng):
    atoms = rng.standard_normal((60, 25))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    X = rng.standard_normal((40, 25))
    expected = orthogonal_mp(atoms.T, X.T, n_nonzero_coefs=6).T
    np.testing.assert_allclose(group_omp(X, atoms, np.arange(60), 6, positive=False).codes, expected, atol=1e-10)


def test_planted_groups_are_found(rng):
    groups = np.repeat(np.arange(8), 5)
    atoms = rng.standard_normal((40, 200))
    planted = np.array([[0, 3], [2, 7], [5, 6]])
    codes = np.zeros((3, 40))
    for row, pair in zip(codes, planted):
        row[np.isin(groups, pair)] = rng.uniform(0.5, 2, size=10)
    result = group_omp(codes @ atoms, atoms, groups, 2)
    np.testing.assert_allclose(result.codes, codes, atol=1e-9)


@pytest.mark.parametrize("positive", [True, False])
def test_a_group_step_takes_the_group_that_explains_most(rng, positive):
    atoms, X = rng.standard_normal((12, 9)), rng.standard_normal((30, 9))
    groups = np.array(list("aaabbbcccddd"))
    result = group_omp(X, atoms, groups, 1, positive=positive)
    for x, code in zip(X, result.codes):
        errors = {}
        for g in "abcd":
            B = atoms[groups == g]
            fit = nonnegative_least_squares(B, x) if positive else np.linalg.lstsq(B.T, x, rcond=None)[0]
            errors[g] = np.linalg.norm(x - fit @ B)
        assert np.linalg.norm(x - code @ atoms) == pytest.approx(min(errors.values()), abs=1e-9)


def test_all_groups_give_nnls(rng):
    atoms, X = rng.standard_normal((12, 20)), rng.standard_normal((30, 20))
    expected = nnls(X, atoms).codes
    np.testing.assert_allclose(group_omp(X, atoms, np.arange(12) // 3, 4).codes, expected, atol=1e-9)
    np.testing.assert_allclose(group_omp(X, atoms, np.arange(12) // 3, 99).codes, expected, atol=1e-9)


def test_stops_when_nothing_points_the_right_way():
    result = nonnegative_omp(-np.eye(3), np.eye(3), 3)
    assert not result.codes.any()
    assert not nonnegative_omp(np.zeros((2, 3)), np.eye(3), 3).codes.any()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_any_scale_of_a_row(rng, scale):
    X, atoms = rng.standard_normal((20, 10)), rng.standard_normal((6, 10))
    expected = nonnegative_omp(X, atoms, 3).codes
    np.testing.assert_allclose(nonnegative_omp(scale * X, atoms, 3).codes / scale, expected, atol=1e-10)


def test_duplicate_atoms_and_float32(rng):
    atoms = rng.standard_normal((6, 10)).astype(np.float32)
    X = rng.random((20, 6)).astype(np.float32) @ atoms
    result = nonnegative_omp(X, np.vstack([atoms, atoms]), 8)
    assert result.codes.dtype == np.float32
    np.testing.assert_allclose(result.codes @ np.vstack([atoms, atoms]), X, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: nonnegative_omp(np.ones((2, 3)), np.eye(3), 0),
            "n_nonzero_coefs must be a positive whole number, got 0",
        ),
        (lambda: nonnegative_omp(np.ones((2, 4)), np.eye(3), 1), "X has 4 columns, but atoms has 3"),
        (lambda: group_omp(np.ones((2, 3)), np.eye(3), [0, 1], 1), "groups must name one group per atom, 3"),
        (lambda: group_omp(np.ones((2, 3)), np.eye(3), [0, 1, 1], 1.5), "n_groups must be a positive whole number"),
        (lambda: nonnegative_omp([[np.nan] * 3], np.eye(3), 1), "X has nan at row 0, column 0"),
        (lambda: nonnegative_omp(np.ones((2, 3)), None, 1), "atoms must hold real numbers, not object"),
        (lambda: group_omp(np.ones((2, 3)), np.eye(3), [0, 1, None], 1), "groups must hold whole numbers or names"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
