import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pellucid.solvers import Cone, nnls, nnls_gram
from pellucid.solvers.own_atoms import nnls_of_own
from support.oracles import nonnegative_least_squares


def reference(X, atoms, mask=None):
    """One call of SciPy's solver a row, on the allowed atoms."""
    codes = np.zeros((len(X), len(atoms)))
    for i, x in enumerate(np.asarray(X, dtype=float)):
        allowed = np.arange(len(atoms)) if mask is None else np.flatnonzero(mask[i])
        if allowed.size:
            codes[i, allowed] = nonnegative_least_squares(np.asarray(atoms, dtype=float)[allowed], x)
    return codes


def objective(X, atoms, codes):
    return np.linalg.norm(np.asarray(X, dtype=float) - codes @ np.asarray(atoms, dtype=float), axis=1)


@st.composite
def problems(draw, collinear=False):
    n, d, m = draw(st.integers(1, 8)), draw(st.integers(1, 12)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if not collinear:
        d = m + draw(st.integers(0, 5))
    atoms = rng.standard_normal((m, d)) + draw(st.sampled_from([0.0, 0.5, 3.0])) * rng.standard_normal(d)
    if collinear and m > 1:
        copies = rng.integers(0, m, size=m // 2)
        atoms = np.vstack([atoms, atoms[copies] * rng.uniform(0.1, 10, size=(len(copies), 1))])
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    mask = rng.random((n, len(atoms))) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    mask[0, 0] = True
    return X, atoms, mask


@settings(max_examples=150)
@given(problems())
def test_equals_scipy_where_the_solution_is_unique(problem):
    X, atoms, mask = problem
    result = nnls(X, atoms, mask)
    expected = reference(X, atoms, mask)
    scale = np.abs(expected).max(axis=1, keepdims=True) + np.linalg.norm(X, axis=1, keepdims=True)
    assert (np.abs(result.codes - expected) <= 1e-8 * scale).all()
    assert result.converged
    assert (result.kkt <= 1e-8).all()
    assert (result.codes >= 0).all()
    assert (result.codes[~mask] == 0).all()


@settings(max_examples=150)
@given(problems(collinear=True))
def test_reaches_the_optimal_objective_where_atoms_are_collinear(problem):
    X, atoms, mask = problem
    result = nnls(X, atoms, mask)
    ours, best = objective(X, atoms, result.codes), objective(X, atoms, reference(X, atoms, mask))
    assert (ours <= best + 1e-7 * np.linalg.norm(X, axis=1)).all()
    assert result.converged


@settings(max_examples=40)
@given(problems(), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_invariances(problem, factor, seed):
    X, atoms, mask = problem
    rng = np.random.default_rng(seed)
    codes = nnls(X, atoms, mask).codes
    tolerance = {"rtol": 1e-6, "atol": 1e-7 * (np.abs(codes).max() + 1e-300)}
    np.testing.assert_allclose(
        nnls(factor * X, atoms, mask).codes, factor * codes, rtol=1e-6, atol=tolerance["atol"] * factor
    )
    np.testing.assert_allclose(nnls(X, factor * atoms, mask).codes * factor, codes, **tolerance)
    rotation = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
    np.testing.assert_allclose(nnls(X @ rotation, atoms @ rotation, mask).codes, codes, **tolerance)
    order = rng.permutation(len(atoms))
    np.testing.assert_allclose(nnls(X, atoms[order], mask[:, order]).codes, codes[:, order], **tolerance)


def test_a_row_does_not_depend_on_its_neighbours(rng):
    X, atoms = rng.standard_normal((700, 30)), rng.standard_normal((20, 30))
    together = nnls(X, atoms).codes
    for i in (0, 333, 699):
        np.testing.assert_allclose(nnls(X[i : i + 1], atoms).codes[0], together[i], rtol=1e-9, atol=1e-12)


def test_known_closed_forms():
    identity = np.eye(3)
    np.testing.assert_array_equal(nnls([[1.0, -2.0, 3.0]], identity).codes, [[1.0, 0.0, 3.0]])
    np.testing.assert_allclose(nnls([[1.0, -2.0, 3.0]], 2 * identity).codes, [[0.5, 0.0, 1.5]])
    np.testing.assert_allclose(nnls([[2.0, 4.0, -1.0]], identity, ridge=1.0).codes, [[1.0, 2.0, 0.0]])


def test_ridge_is_the_augmented_problem(rng):
    X, atoms = rng.standard_normal((20, 6)), rng.standard_normal((15, 6))
    augmented = np.hstack([atoms, np.sqrt(0.3) * np.eye(15)])
    expected = reference(np.hstack([X, np.zeros((20, 15))]), augmented)
    np.testing.assert_allclose(nnls(X, atoms, ridge=0.3).codes, expected, atol=1e-9)


def test_warm_start_does_not_change_the_answer(rng):
    X, atoms = rng.standard_normal((50, 30)), rng.standard_normal((20, 30))
    cold = nnls(X, atoms).codes
    np.testing.assert_allclose(nnls(X, atoms, init=cold).codes, cold, atol=1e-10)
    np.testing.assert_allclose(nnls(X, atoms, init=rng.standard_normal(cold.shape)).codes, cold, atol=1e-10)


def test_residual_is_honest(rng):
    """Stopped after one sweep the certificate is large, and so is the true distance from the optimum."""
    atoms = rng.standard_normal((30, 40)) + 3 * rng.standard_normal(40)
    X = rng.random((20, 30)) @ atoms
    with pytest.warns(ConvergenceWarning, match=r"nnls did not converge for \d+ of 20 rows: largest KKT residual"):
        early = nnls(X, atoms, max_iter=1)
    assert not early.converged
    assert early.kkt.max() > 1e-3
    late = nnls(X, atoms)
    assert (objective(X, atoms, early.codes) > objective(X, atoms, late.codes)).any()


def test_planted_codes_are_recovered_exactly(rng):
    atoms = rng.standard_normal((10, 50))
    codes = rng.exponential(size=(40, 10)) * (rng.random((40, 10)) < 0.4)
    np.testing.assert_allclose(nnls(codes @ atoms, atoms).codes, codes, atol=1e-10)


def test_more_atoms_than_dimensions_with_an_exact_fit(rng):
    atoms = rng.standard_normal((200, 5))
    X = rng.random((30, 200)) @ atoms
    result = nnls(X, atoms)
    assert (objective(X, atoms, result.codes) <= 1e-7 * np.linalg.norm(X, axis=1)).all()


def test_every_atom_the_same(rng):
    atom = rng.standard_normal(7)
    X = rng.standard_normal((10, 7))
    result = nnls(X, np.tile(atom, (9, 1)))
    np.testing.assert_allclose(result.codes.sum(axis=1), np.maximum(X @ atom, 0) / (atom @ atom), atol=1e-12)


def test_opposite_atoms_and_zero_rows(rng):
    atom = rng.standard_normal(7)
    X = np.vstack([np.zeros(7), atom, -atom])
    result = nnls(X, np.vstack([atom, -atom]))
    np.testing.assert_allclose(result.codes, [[0, 0], [1, 0], [0, 1]], atol=1e-12)
    assert result.kkt[0] == 0


@settings(max_examples=150)
@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_ties_of_whole_numbers(d, m, seed):
    """Small integers make exact ties, zero-length steps and exact cancellation, which random floats never hit."""
    rng = np.random.default_rng(seed)
    atoms = rng.integers(-1, 2, size=(m, d)).astype(float)
    atoms = atoms[atoms.any(axis=1)]
    if not len(atoms):
        return
    X = rng.integers(-2, 3, size=(20, d)).astype(float)
    init = rng.integers(0, 3, size=(20, len(atoms)))
    for start in (None, init):
        result = nnls(X, atoms, init=start)
        best = objective(X, atoms, reference(X, atoms))
        assert result.converged
        assert (objective(X, atoms, result.codes) <= best + 1e-8).all()
        assert result.codes.max() <= 1e3


def test_flat_directions_are_not_followed_to_infinity():
    atoms = np.array([[-1, 0, -1], [-1, 1, 0], [1, 1, 1], [-1, -1, -1.0]])
    result = nnls([[0, 1, -1.0]], atoms)
    assert objective([[0, 1, -1.0]], atoms, result.codes)[0] == pytest.approx(np.sqrt(0.5))
    assert result.codes.max() < 10


@pytest.mark.parametrize("offset", [100.0, 1000.0])
def test_codes_are_right_where_atoms_are_nearly_collinear(rng, offset):
    atoms = rng.standard_normal((5, 8)) + offset * rng.standard_normal(8)
    codes = rng.exponential(size=(100, 5))
    assert np.abs(nnls(codes @ atoms, atoms).codes - codes).max() < 1e-5


@pytest.mark.parametrize(("m", "d"), [(10, 3), (20, 8)])
@pytest.mark.parametrize("apart", [0.1, 0.01, 0.001])
def test_float32_is_solved_where_atoms_are_many_and_nearly_alike(m, d, apart):
    """Products rounded to float32 have no answer there: some rows need them in float64."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        half = rng.random((m // 2, d))
        atoms = np.vstack([half, half + apart * rng.standard_normal(half.shape)]).astype(np.float32)
        X = (rng.random((200, m)) * (rng.random((200, m)) < 0.3)).astype(np.float32) @ atoms
        found = nnls(X, atoms)  # a warning that it did not converge is an error here
        assert found.codes.dtype == np.float32
        np.testing.assert_allclose(found.codes @ atoms, X, atol=1e-2)


@pytest.mark.parametrize("scale", [1e-120, 1e-30, 1e30, 1e120])
def test_any_scale(rng, scale):
    X, atoms = rng.standard_normal((20, 10)), rng.standard_normal((6, 10))
    codes = nnls(X, atoms).codes
    np.testing.assert_allclose(nnls(scale * X, atoms).codes / scale, codes, atol=1e-10)
    np.testing.assert_allclose(nnls(X, scale * atoms).codes * scale, codes, atol=1e-10)


def test_codes_that_do_not_fit_into_float32_are_not_passed_off_as_solved():
    with pytest.warns(ConvergenceWarning), np.errstate(over="ignore"):
        assert not nnls_gram(np.full((1, 2), 1e20, dtype=np.float32), 1e-30 * np.eye(2)).converged


@pytest.mark.parametrize("size", [0.5, 1e8, 1e15])
def test_a_start_far_from_the_data_does_no_harm(rng, size):
    X, atoms = np.vstack([np.zeros(3), rng.standard_normal((5, 3))]), rng.standard_normal((4, 3))
    result = nnls(X, atoms, init=size * rng.random((6, 4)))
    assert result.converged
    assert not result.codes[0].any()
    np.testing.assert_allclose(objective(X, atoms, result.codes), objective(X, atoms, reference(X, atoms)), atol=1e-9)


@settings(max_examples=60)
@given(problems())
def test_gram_form_is_the_same_problem_for_all(problem):
    X, atoms, mask = problem
    direct, gram = nnls(X, atoms, mask), nnls_gram(X @ atoms.T, atoms @ atoms.T, mask)
    scale = np.abs(direct.codes).max(axis=1, keepdims=True) + 1e-12
    assert (np.abs(direct.codes - gram.codes) <= 1e-6 * scale).all()


def test_warnings_point_at_the_caller(rng):
    atoms = rng.standard_normal((30, 40)) + 3 * rng.standard_normal(40)
    with pytest.warns(ConvergenceWarning) as caught:
        nnls(rng.random((20, 30)) @ atoms, atoms, max_iter=1)
    assert caught[0].filename == __file__


def test_gram_form_is_the_same_problem(rng):
    X, atoms, mask = rng.standard_normal((30, 25)), rng.standard_normal((20, 25)), rng.random((30, 20)) < 0.5
    direct = nnls(X, atoms, mask).codes
    np.testing.assert_allclose(nnls_gram(X @ atoms.T, atoms @ atoms.T, mask).codes, direct, atol=1e-10)


def test_gram_form_with_many_variables(rng):
    """Paper 2's weights: a Gram matrix of squared inner products, against SciPy on its Cholesky factor."""
    S = (rng.random((60, 300)) < 0.3) - 0.3
    G = (S.T @ S) ** 2
    c = G @ (rng.random(300) * (rng.random(300) < 0.2))
    result = nnls_gram(c[None], G)
    root = np.linalg.cholesky(G + 1e-12 * np.trace(G) * np.eye(300)).T
    expected = nonnegative_least_squares(root.T, np.linalg.solve(root.T, c))
    value = lambda a: 0.5 * a @ G @ a - c @ a  # noqa: E731
    assert value(result.codes[0]) <= value(expected) + 1e-8 * abs(value(expected))
    assert result.kkt[0] < 1e-8


@pytest.mark.parametrize("alike", [0.0, 0.999])
def test_many_free_coordinates_are_exact_whether_sweeps_or_a_factor_finish(alike):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((200, 4000)) * np.sqrt(1 - alike**2)
    atoms[100:] += alike * atoms[:100] / np.sqrt(1 - alike**2)
    codes = rng.uniform(0.5, 1, 200)
    G = atoms @ atoms.T
    result = nnls_gram((G @ codes)[None], G)
    assert result.kkt[0] < 1e-11
    np.testing.assert_allclose(result.codes[0], codes, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_floats_are_kept_narrow_and_right(rng, dtype):
    X, atoms = rng.standard_normal((40, 16)).astype(dtype), rng.standard_normal((9, 16)).astype(dtype)
    result = nnls(X, atoms)
    assert result.codes.dtype == np.float32
    assert result.converged
    np.testing.assert_allclose(result.codes, reference(X, atoms), atol=2e-5)


def test_integers_views_and_memory_maps(rng, tmp_path):
    X = rng.integers(-9, 9, size=(40, 12))
    atoms = rng.integers(-9, 9, size=(8, 12))
    expected = reference(X, atoms)
    np.testing.assert_allclose(nnls(X, atoms).codes, expected, atol=1e-9)
    np.testing.assert_allclose(nnls(np.asfortranarray(X), atoms[::-1]).codes[:, ::-1], expected, atol=1e-9)
    np.testing.assert_allclose(nnls(np.repeat(X, 2, axis=0)[::2], atoms).codes, expected, atol=1e-9)
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_allclose(nnls(mapped, atoms).codes, expected, atol=1e-9)


def test_rows_without_allowed_atoms_get_zero(rng):
    X, atoms = rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
    mask = np.array([[True] * 4, [False] * 4, [True] * 4])
    result = nnls(X, atoms, mask)
    assert not result.codes[1].any()
    assert result.kkt[1] == 0
    np.testing.assert_allclose(result.codes[[0, 2]], reference(X[[0, 2]], atoms), atol=1e-10)


GOOD_X, GOOD_ATOMS = np.ones((3, 4)), np.eye(2, 4) + 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(X=[[1.0, np.nan, 0, 0]]), r"X has nan at row 0, column 1; remove or fill"),
        (dict(X=np.vstack([GOOD_X, [[1, 2, np.inf, 4]]])), r"X has inf at row 3, column 2"),
        (dict(X=np.ones((3, 5))), r"X has 5 columns, but atoms has 4"),
        (dict(X=np.ones(4)), r"X must be two-dimensional .* shape is \(4,\)"),
        (dict(X=np.ones((0, 4))), r"X is empty: its shape is \(0, 4\)"),
        (dict(X=np.array([["a"] * 4])), r"X must hold real numbers, not <U1 values"),
        (dict(X=np.array([[None] * 4])), r"X must hold real numbers, not object"),
        (dict(X=np.full((1, 4), 1e300), atoms=1e100 * GOOD_ATOMS), r"X is so large that its products with atoms ov"),
        (dict(atoms=1e300 * GOOD_ATOMS), r"atoms are so long that their products overflow"),
        (dict(atoms=1e-200 * GOOD_ATOMS), r"atoms are so short that their products vanish"),
        (dict(X=1e-30 * np.ones((1, 4), "f4"), atoms=1e-30 * GOOD_ATOMS.astype("f4")), r"X is so small that its prod"),
        (dict(X=[[1.0, 2.0, 3.0, 4.0], [1.0]]), r"X must be a rectangular array of numbers, but its rows differ"),
        (dict(X=np.ma.masked_array(GOOD_X, GOOD_X > 0)), r"X is a masked array; fill its missing values first"),
        (dict(atoms=None), r"atoms must hold real numbers, not object values"),
        (dict(init=np.full((3, 2), 1j)), r"init must hold real numbers, not complex128"),
        (dict(atoms=np.zeros((2, 4))), r"atoms has zero length at row 0; drop that atom"),
        (dict(atoms=[[1, 2, 3, 4], [np.nan] * 4]), r"atoms has nan at row 1, column 0"),
        (dict(mask=np.zeros((3, 2), bool)), r"mask allows no atom for any row"),
        (dict(mask=np.ones((2, 2), bool)), r"mask must have one row per item .* \(3, 2\), but has \(2, 2\)"),
        (dict(mask=np.full((3, 2), 0.5)), r"mask must hold only True and False"),
        (dict(init=np.ones((3, 3))), r"init must have one row per item"),
        (dict(init=np.full((3, 2), np.nan)), r"init has nan at row 0"),
        (dict(ridge=-1.0), r"ridge must be a finite number of at least 0, got -1.0"),
        (dict(tol=np.nan), r"tol must be a finite number"),
        (dict(max_iter=0), r"max_iter must be a positive whole number, got 0"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    call = {"X": GOOD_X, "atoms": GOOD_ATOMS} | arguments
    with pytest.raises(ValueError, match=sentence), np.errstate(all="ignore"):
        nnls(**call)


@pytest.mark.parametrize(
    ("G", "sentence"),
    [
        (np.ones((2, 3)), r"G must be square, but its shape is \(2, 3\)"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), r"G must be symmetric, but G\[0, 1\] and G\[1, 0\] differ by 2"),
        (np.diag([1.0, 0.0]), r"G has 0 on its diagonal at row 1"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), r"G has nan at row 0, column 1"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), r"G is not positive semidefinite, so the problem is not convex"),
    ],
)
def test_bad_gram_matrices_get_a_sentence(G, sentence):
    with pytest.raises(ValueError, match=sentence):
        nnls_gram(np.ones((1, 2)), G)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_cone_made_ready_projects_as_nnls_does(rng, dtype):
    X, atoms = rng.standard_normal((200, 12)).astype(dtype), rng.standard_normal((5, 12)).astype(dtype)
    cone = Cone(atoms, 0.1)
    expected = nnls(X, atoms, ridge=0.1).codes @ atoms
    np.testing.assert_array_equal(cone.project(X), expected)
    np.testing.assert_allclose(cone.project(X[:1]), expected[:1], rtol=1e-5, atol=1e-6)
    atoms[:] = 0
    np.testing.assert_array_equal(cone.project(X), expected, "the cone keeps its own atoms")


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 9), st.floats(0, 1), st.floats(0, 0.5),
    st.sampled_from([np.float32, np.float64]),
)  # fmt: skip
def test_rows_with_atoms_of_their_own_are_solved_as_each_alone(seed, n, d, ridge, sparsity, dtype):
    rng = np.random.default_rng(seed)
    X, atoms = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((15, d)).astype(dtype)
    own = [np.sort(rng.permutation(15)[: rng.integers(0, 6)]) for _ in range(n)]
    starts = np.concatenate([[0], np.cumsum([len(mine) for mine in own])]).astype(np.int64)
    index = np.concatenate([*own, []]).astype(np.int64)
    codes = rng.exponential(size=len(index)).astype(dtype)
    nnls_of_own(X, atoms, starts, index, codes, ridge=ridge, sparsity=sparsity)
    for row, mine, first, last in zip(X, own, starts, starts[1:]):
        if not len(mine):
            continue
        wanted = nnls(row[None], atoms[mine], ridge=ridge, sparsity=sparsity).codes[0]
        close = 1e-7 if dtype == np.float64 else 1e-3
        np.testing.assert_allclose(codes[first:last] @ atoms[mine], wanted @ atoms[mine], atol=close * (1 + d))
        assert (codes[first:last] >= 0).all()


def test_a_row_that_is_no_number_is_named_also_with_atoms_of_its_own():
    X, starts = np.array([[1.0, 2.0], [np.nan, 1.0]]), np.array([0, 2, 4])
    with pytest.raises(ValueError, match="X"):
        nnls_of_own(X, np.eye(2), starts, np.array([0, 1, 0, 1]), np.zeros(4))
