"""The sparse manifold transform: a literal A, D, V construction and a dense eigensolver are the oracle."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import pellucid
from pellucid._core import kernels
from pellucid.manifold import (
    GraphStatistics,
    LassoCode,
    NearestCode,
    SparseManifoldTransform,
    SphericalKMeans,
    Statistics,
    ThresholdCode,
    spectral,
)
from pellucid.manifold.nearest import build_cells, mean_directions, nearest_atoms, nearest_by_product
from pellucid.manifold.neighbour_operators import (
    first_differences,
    local_weights,
    mean_weights,
    metric_pairs,
    second_differences,
    temporal_pairs,
)
from pellucid.manifold.spectral import solve, solve_diagonal, solve_graph
from pellucid.manifold.statistics import code_statistics

GOLDEN = Path(__file__).parent / "golden"


@parametrize_with_checks(
    [
        SparseManifoldTransform(3, n_atoms=20, random_state=0),
        NearestCode(5, random_state=0),
        ThresholdCode(5, random_state=0),
        LassoCode(5, random_state=0),
        SphericalKMeans(3, random_state=0),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def points(n=60, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def literal(A, D, n, keep=None):
    """Paper 4, Eq. 3, to the letter: columns of A are codes; P = U V^−½ with the trailing eigenvectors of Q."""
    V = A @ A.T / A.shape[1]
    keep = np.flatnonzero(V.diagonal() > 0) if keep is None else keep
    V = V[np.ix_(keep, keep)]
    root = linalg.inv(linalg.sqrtm(V).real)
    Q = root @ (A @ D @ D.T @ A.T)[np.ix_(keep, keep)] @ root / A.shape[1]
    values, U = np.linalg.eigh(Q)
    P = np.zeros((n, len(A)))
    P[:, keep] = (U.T @ root)[:n]
    return values[:n], P


def operators(order, n, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(n) for j in rng.permutation(n)[:3] if i != j])
    if order == 1:
        D = np.zeros((n, len(pairs)))
        for column, (i, j) in enumerate(pairs):
            D[i, column], D[j, column] = 1, -1
        return D, first_differences(pairs, n)
    weights = mean_weights(pairs, n)
    D = np.eye(n)
    for (i, j), w in zip(pairs, weights):
        D[j, i] -= w
    return D, second_differences(pairs, weights, n)


@pytest.mark.parametrize("order", [1, 2])
def test_the_transform_is_the_literal_construction(order):
    n, K = 40, 7
    D, ours = operators(order, n)
    assert np.array_equal(ours.toarray(), D)
    A = np.random.default_rng(1).random((n, K))  # any codes will do
    values, P = literal(A.T, D, 4)
    found, values_found = solve(code_statistics(A, ours, "frequency"), 4, 0)
    assert values_found == pytest.approx(values, abs=1e-10)
    assert np.abs(found) == pytest.approx(np.abs(P), abs=1e-8)
    V = A.T @ A / n
    assert found @ V @ found.T == pytest.approx(np.eye(4), abs=1e-9)


@pytest.mark.parametrize("constraint", ["frequency", "degree"])
@pytest.mark.parametrize("size", [30, 1600])  # dense, and Lanczos
def test_one_hot_codes_give_the_laplacian_of_their_graph(constraint, size):
    rng = np.random.default_rng(0)
    n = 10 * size
    labels = rng.integers(0, size, n)
    labels[np.isin(labels, [3, 5])] = 4  # atom 5 is never active
    labels[-1] = 3  # and this one never anybody's neighbour
    pairs = np.stack([np.arange(n - 2), np.arange(1, n - 1)], axis=1)
    A = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, size))
    given_codes = code_statistics(A, first_differences(pairs, n), constraint)
    C = sparse.coo_array((np.ones(n - 2), (labels[pairs[:, 0]], labels[pairs[:, 1]])), shape=(size, size)).tocsr()
    C = sparse.csr_array(C + C.T)
    degree = np.asarray(C.sum(axis=1)).ravel()
    assert (given_codes.cost - (sparse.diags_array(degree) - C)).nnz == 0  # the Laplacian, exactly
    graph = GraphStatistics(C.astype(np.float32), np.bincount(labels, minlength=size).astype(float))
    P, values = solve(given_codes, 5, "constant")
    Q, other = solve_graph(graph, 5, "constant", constraint)
    assert values == pytest.approx(other, abs=1e-5)
    assert not P[:, [3, 5]].any()
    mass = given_codes.second.diagonal() / given_codes.weight
    assert P * mass @ P.T == pytest.approx(np.eye(5), abs=1e-6)
    assert P @ mass == pytest.approx(np.zeros(5), abs=1e-6)  # nothing of the constant is left
    overlap = np.linalg.svd(P * mass @ Q.T, compute_uv=False)
    assert overlap == pytest.approx(np.ones(5), abs=1e-3)


def test_lanczos_finds_what_the_dense_solver_finds():
    rng = np.random.default_rng(0)
    C = np.triu(rng.random((200, 200)) < 0.05, 1).astype(float)
    C += C.T
    C[0, 1:3] = C[1:3, 0] = 1
    degree, mass = C.sum(axis=1), rng.random(200) + 0.5
    mass /= mass.sum()
    values, P = solve_diagonal(degree, sparse.csr_array(C), mass, mass, 6, True)
    exact = linalg.eigh(np.diag(degree) - C, np.diag(mass), eigvals_only=True)[1:7]
    assert values == pytest.approx(exact, rel=1e-4)
    assert P * mass @ P.T == pytest.approx(np.eye(6), abs=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_sparse_matrix(dtype):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((30, 30)) * (np.arange(30) > rng.integers(0, 31, 30)[:, None])
    dense[7] = 0
    A = sparse.csr_array(dense, dtype=dtype)
    indices, pointers = A.indices.astype(np.int32), A.indptr.astype(np.int64)
    root, x, data, sums, y = rng.random(30), rng.random(30), np.empty_like(A.data), np.full(30, 5.0), np.full(30, 5.0)
    for start, stop in ((0, 11), (11, 28)):
        spectral.scale_rows(A.data, indices, pointers, root, 0.5, data, sums, start, stop)
        spectral.sparse_rows(A.data, indices, pointers, x, y, start, stop)
    scaled = 0.5 * root[:, None] * A.toarray().astype(np.float64) * root
    assert data[: pointers[28]] == pytest.approx(scaled[:28][A.toarray()[:28] != 0], rel=1e-6)
    assert sums == pytest.approx(np.append(np.abs(scaled).sum(axis=1)[:28], [5, 5]), rel=1e-12)
    assert y == pytest.approx(np.append((A.toarray().astype(np.float64) @ x)[:28], [5, 5]), rel=1e-12)


def test_any_indices_and_numbers_of_a_graph_will_do_unless_they_point_outside():
    rng = np.random.default_rng(2)
    C = np.triu(rng.random((80, 80)) < 0.2, 1).astype(int)
    C += C.T
    graph, mass = sparse.csr_array(C), np.full(80, 1 / 80)
    values, P = solve_diagonal(C.sum(axis=1).astype(float), graph.astype(float), mass, mass, 4, True)
    graph.indices, graph.indptr = graph.indices.astype(np.int64), graph.indptr.astype(np.int64)
    again = solve_diagonal(C.sum(axis=1).astype(float), graph, mass, mass, 4, True)
    assert np.array_equal(again[0], values)
    assert np.array_equal(again[1], P)
    graph.indices[3] = 80
    with pytest.raises(ValueError, match="ind"):
        solve_diagonal(C.sum(axis=1).astype(float), graph, mass, mass, 4, True)


@pytest.mark.parametrize("constraint", ["frequency", "degree"])
@pytest.mark.parametrize("mass", [0, 7])
def test_atoms_without_neighbours_are_left_out_and_so_is_the_constant(constraint, mass, monkeypatch):
    rng = np.random.default_rng(1)
    C = np.triu(rng.random((60, 60)) < 0.2, 1).astype(float)
    C += C.T
    C[[3, 17, 40]] = C[:, [3, 17, 40]] = 0
    counts = rng.integers(1, 9, 60).astype(float)
    counts[[3, 17, 40]] = mass
    statistics = GraphStatistics(sparse.csr_array(C), counts)
    P, values = solve_graph(statistics, 4, "constant", constraint)
    assert values[0] > 0.1
    assert P @ (counts if constraint == "frequency" else C.sum(axis=1)) == pytest.approx(np.zeros(4), abs=1e-6)
    monkeypatch.setattr(spectral, "DENSE", 10)
    Q, found = solve_graph(statistics, 4, "constant", constraint)
    assert found == pytest.approx(values, rel=1e-4)
    assert pytest.approx(P, abs=1e-3) == Q
    assert not Q[:, [3, 17, 40]].any()


def test_statistics_of_parts_add_up():
    X = points(90)
    groups = np.repeat([0, 1, 2], 30)
    whole = SparseManifoldTransform(3, n_atoms=12, neighbors="temporal", random_state=0).fit(X, groups=groups)
    parts = SparseManifoldTransform(3, n_atoms=12, neighbors="temporal", random_state=0)
    parts.code_ = whole.code_
    parts.n_features_in_ = 3
    parts.atoms_ = whole.atoms_
    parts.statistics_ = Statistics(sparse.csr_array((12, 12)), sparse.csr_array((12, 12)), np.zeros(12), 0.0)
    for start in (60, 0, 30):
        parts.partial_fit(X[start : start + 30])
    assert parts.solve().components_ == pytest.approx(whole.components_, abs=1e-9)
    with pytest.raises(ValueError, match="same dictionary"):
        whole.statistics_ + Statistics(sparse.csr_array((2, 2)), sparse.csr_array((2, 2)), np.zeros(2), 0.0)


def test_partial_fit_needs_solve_before_transform():
    X = points()
    model = SparseManifoldTransform(2, n_atoms=10, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="not fitted"):
        model.transform(X)
    assert model.solve().transform(X).shape == (60, 2)


def test_quadratic_expansion_is_slow_feature_analysis():
    """Wiskott and Sejnowski's example: the slow part of a mixture of a slow and a fast oscillation."""
    t = np.linspace(0, 2 * np.pi, 2000)
    x = np.c_[np.sin(t) + np.cos(11 * t) ** 2, np.cos(11 * t)]
    model = SparseManifoldTransform(1, code=PolynomialFeatures(2), neighbors="temporal").fit(x)
    slow = model.transform(x)[:, 0]
    assert abs(np.corrcoef(slow, np.sin(t))[0, 1]) > 0.9999
    assert slow.mean() == pytest.approx(0, abs=1e-8)  # the constant is left out
    assert slow.var() == pytest.approx(1)
    # and it is what slow feature analysis finds by its own definition
    Z = PolynomialFeatures(2, include_bias=False).fit_transform(x)
    Z = Z - Z.mean(axis=0)
    w = linalg.eigh(np.diff(Z, axis=0).T @ np.diff(Z, axis=0), Z.T @ Z)[1][:, 0]
    assert abs(np.corrcoef(Z @ w, slow)[0, 1]) == pytest.approx(1, abs=1e-9)


def two_spirals(n=1500, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    t = 3 * np.pi * np.sqrt(rng.uniform(0.04, 1, n))
    side = rng.integers(0, 2, n)
    X = np.c_[t * np.cos(t + np.pi * side), t * np.sin(t + np.pi * side)] / 3
    return X + noise * rng.standard_normal(X.shape), side


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"constraint": "degree"},
        {"neighbors": "noise", "noise": 0.12},
        {"order": 2, "interpolation": "mean"},
        {"code": NearestCode(300, dictionary="sample", random_state=1)},
    ],
)
def test_two_spirals_come_apart(settings):
    X, side = two_spirals()
    model = SparseManifoldTransform(**{"n_components": 4, "n_atoms": 200, "random_state": 0, **settings}).fit(X)
    new, which = two_spirals(300, seed=1)
    Z, R = unit(model.transform(new)), unit(model.transform(X))
    near = np.argsort(-(Z @ R.T), axis=1)[:, :20]
    assert (side[near] == which[:, None]).mean() >= 0.99


def test_second_differences_of_a_line_cost_nothing():
    """Interpolation rebuilds a straight line, so a linear function of it costs nothing, with either kind of weights."""
    t = np.arange(30.0)
    X = np.c_[t, 2 * t]
    pairs = temporal_pairs(30, None, 2)
    assert len(pairs) == 56
    assert local_weights(X, pairs) == pytest.approx(mean_weights(pairs, 30))
    D = second_differences(pairs, mean_weights(pairs, 30), 30)
    assert np.abs(D.T @ X).max() < 1e-12


def test_local_weights_are_those_of_locally_linear_embedding():
    from sklearn.manifold._locally_linear import barycenter_weights

    X = points(40, 3)
    pairs = metric_pairs(X, 5)
    ours = local_weights(X, pairs).reshape(40, 5)
    assert ours == pytest.approx(barycenter_weights(X, X, pairs[:, 1].reshape(40, 5), reg=1e-3), abs=1e-8)


def test_sequences_end_where_their_names_change():
    assert temporal_pairs(5, list("aabbb"), 1).tolist() == [[0, 1], [2, 3], [3, 4]]
    assert temporal_pairs(5, list("aabbb"), 2).tolist() == [[3, 2], [3, 4]]


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({"neighbors": "pairs"}, {}, "pairs belong"),
        ({}, {"pairs": [[0, 1]]}, "pairs belong"),
        ({"neighbors": "pairs"}, {"pairs": [[0, 60]]}, r"\[0, 60\] at row 0"),
        ({"neighbors": "pairs"}, {"pairs": [0, 1]}, "two columns"),
        ({"neighbors": "pairs"}, {"pairs": [[1, 1]]}, "nothing to embed"),
        ({"neighbors": "temporal"}, {"groups": [0]}, "each of the 60 rows"),
        ({}, {"groups": np.zeros(60)}, "groups belong"),
        ({"n_atoms": 1}, {}, "nothing to embed"),
    ],
)
def test_what_cannot_be_is_said(settings, arguments, message):
    with pytest.raises(ValueError, match=message):
        SparseManifoldTransform(2, **settings).fit(points(), **arguments)


def test_explicit_pairs_are_the_neighbours():
    X = points(6, 2)
    model = SparseManifoldTransform(1, n_atoms=6, neighbors="pairs").fit(X, pairs=[[0, 1], [1, 2], [3, 4], [4, 5]])
    z = model.transform(X)[:, 0]
    assert np.ptp(z[:3]) < 1e-9  # two components of the graph, a number for each
    assert np.ptp(z[3:]) < 1e-9
    assert z[0] == pytest.approx(-z[3])


@pytest.mark.parametrize("d", [2, 7, 36])
@pytest.mark.parametrize("K", [3, 700, 2100])
def test_the_nearest_atom_is_the_nearest(K, d):
    rng = np.random.default_rng(K + d)
    atoms = unit(rng.standard_normal((K, d)) * np.arange(1, d + 1) ** -1.5)  # most lie near a few directions
    X = unit(rng.standard_normal((900, d)) * np.arange(1, d + 1) ** -1.5)
    cells = build_cells(atoms)
    assert (cells is None) == (K < 2048)
    which, cosines = nearest_atoms(X, atoms, cells)
    exact = X.astype(np.float64) @ atoms.T.astype(np.float64)
    assert cosines == pytest.approx(exact.max(axis=1), abs=2e-6)
    assert exact[np.arange(len(X)), which] == pytest.approx(exact.max(axis=1), abs=1e-6)
    assert np.mean(nearest_by_product(X, atoms)[0] == which) > 0.97  # but for ties in float32
    found = nearest_atoms(X, atoms, build_cells(atoms, exact=False))[0]
    assert np.mean(exact[np.arange(len(X)), found] >= exact.max(axis=1) - 1e-6) > 0.95


def clumped(seed, d, spread):
    """Rows, and atoms in clumps of directions, some repeated: rows equal to atoms or opposite to all of them too."""
    rng = np.random.default_rng(seed)
    clumps = rng.standard_normal((9, d))
    atoms = unit(clumps[rng.integers(0, 9, 2100)] + spread * rng.standard_normal((2100, d)))
    return np.concatenate([atoms[:100], -atoms[:50], unit(rng.standard_normal((100, d)))]), atoms


def searched(name, X, cells, near, level=None):
    """Which atom is nearest to each row, and its product, as a kernel finds it."""
    which, best = np.empty(len(X), np.int64), np.empty(len(X), np.float32)
    bounds = [cells.reach]
    if cells.exact:
        bounds = [function(cells.angle).astype(np.float32) for function in (np.cos, np.sin)]
    kernels.Kernel(name, level)(X, np.ascontiguousarray(near), *bounds, cells.tiles, cells.begin, which, best)
    return cells.names[which], best


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1e-3, 0.1, 1.0]))
def test_cells_never_hide_the_nearest(seed, d, spread):
    X, atoms = clumped(seed, d, spread)
    cells = build_cells(atoms)
    which, _ = searched("search_cells", X, cells, cells.centres @ X.T)
    exact = X.astype(np.float64) @ atoms.T
    assert exact[np.arange(len(X)), which] == pytest.approx(exact.max(axis=1), abs=2e-6)
    # the approximate search may miss, but what it names has the cosine it says
    found, cosines = nearest_atoms(X, atoms, build_cells(atoms, exact=False))
    assert cosines == pytest.approx(exact[np.arange(len(X)), found], abs=2e-6)
    assert np.mean(cosines[:100] > 1 - 1e-5) > 0.9


@pytest.mark.parametrize("d", [3, 12, 31])
def test_the_approximate_search_looks_where_it_should(d):
    """Into the nearest cell and those not farther than the middle of what is nearest, and nowhere else."""
    X, atoms = clumped(d, d, 0.3)
    cells = build_cells(atoms, exact=False)
    near = cells.centres @ X.T
    found, best = searched("search_near_cells", X, cells, near)
    cell = np.empty(len(atoms), np.int64)
    cell[cells.names] = np.repeat(np.arange(len(cells.centres)), 16 * np.diff(cells.begin))
    products = X.astype(np.float64) @ atoms.T
    angles = np.arccos(np.clip(near.T.astype(np.float64), -1, 1))
    home = near.argmax(axis=0)
    own = np.where(cell == home[:, None], products, -2).max(axis=1)
    limit = (angles.min(axis=1) + np.arccos(np.minimum(own, 1))) / 2 + cells.reach
    allowed = angles <= limit[:, None]
    allowed[np.arange(len(X)), home] = True
    assert 0 < allowed.mean() < 1
    expected = np.where(allowed[:, cell], products, -2).max(axis=1)
    assert best == pytest.approx(expected, abs=2e-6)
    assert products[np.arange(len(X)), found] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("exact", [True, False])
def test_rows_are_searched_as_if_they_were_alone_on_any_machine(exact):
    X, atoms = clumped(5, 17, 0.3)
    cells = build_cells(atoms, exact)
    name, near = "search_cells" if exact else "search_near_cells", cells.centres @ X.T
    which, best = searched(name, X, cells, near)
    for rows in (slice(0, 1), slice(7, 9), slice(60, 63), slice(1, 130), slice(0, 0)):
        some = searched(name, X[rows], cells, near[:, rows])
        assert np.array_equal(some[0], which[rows])
        assert np.array_equal(some[1], best[rows])
    other = searched(name, X, cells, near, "_baseline")
    assert np.array_equal(other[0], which)
    assert np.array_equal(other[1], best)


def test_means_are_those_of_the_rows_with_a_label():
    rng = np.random.default_rng(0)
    X, labels, before = unit(rng.standard_normal((90, 5))), rng.integers(0, 8, 90), unit(rng.standard_normal((9, 5)))
    centres, counts = mean_directions(X, labels, before)
    assert np.array_equal(counts, np.bincount(labels, minlength=9))
    for label in range(8):
        mean = X[labels == label].astype(np.float64).sum(axis=0)
        assert centres[label] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert np.array_equal(centres[8], before[8])


def test_spherical_kmeans_finds_bundles_and_never_gets_worse():
    rng = np.random.default_rng(0)
    true = unit(rng.standard_normal((12, 5)))
    X = np.repeat(true, 60, axis=0) + 0.05 * rng.standard_normal((720, 5))
    X *= rng.uniform(0.1, 9, (720, 1))  # lengths do not matter
    model = SphericalKMeans(12, random_state=1, max_iter=50).fit(X)
    assert (np.diff(model.objective_) >= 0).all()
    assert np.linalg.norm(model.cluster_centers_, axis=1) == pytest.approx(np.ones(12), abs=1e-6)
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.objective_[-1] == pytest.approx(model.transform(X).max(axis=1).mean(), abs=1e-6)
    assert len(np.unique(model.labels_)) == 12


def test_empty_centroids_are_seeded_again():
    X = np.repeat(np.eye(4), 25, axis=0)  # most starts take several of the same direction
    for seed in range(5):
        assert SphericalKMeans(4, random_state=seed).fit(X).objective_[-1] == pytest.approx(1)


def test_spherical_kmeans_on_hardly_anything():
    assert SphericalKMeans(8).fit([[3.0, 4.0]]).cluster_centers_.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    model = SphericalKMeans(2, random_state=0).fit([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    assert model.labels_[1] != model.labels_[2]
    with pytest.raises(ValueError, match="zero"):
        SphericalKMeans(2).fit(np.zeros((3, 2)))


def test_codes_are_what_they_say():
    X = points(200, 5)
    nearest = NearestCode(20, random_state=0).fit(X)
    distances = ((X[:, None] - nearest.atoms_) ** 2).sum(axis=2)
    codes = nearest.transform(X).toarray()
    assert np.array_equal(codes.argmax(axis=1), distances.argmin(axis=1))
    assert (codes.sum(axis=1) == 1).all()
    threshold = ThresholdCode(20, threshold=0.5, random_state=0).fit(X)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert np.array_equal(threshold.transform(X).toarray(), (U @ threshold.atoms_.T >= 0.5).astype(float))
    assert (threshold.transform(np.zeros((1, 5))).toarray() == 0).all()
    lasso = LassoCode(20, alpha=0.2, random_state=0).fit(X)
    found = lasso.transform(X).toarray()
    assert (found >= 0).all()
    gradient = (found @ lasso.atoms_ - U) @ lasso.atoms_.T + 0.2
    assert gradient.min() > -1e-6
    assert np.abs(gradient[found > 0]).max() < 1e-6
    cosine = NearestCode(20, metric="cosine", random_state=0).fit(X)
    assert np.array_equal(cosine.predict(X), (unit(X) @ cosine.atoms_.T).argmax(axis=1))
    assert cosine.transform(np.r_[X[:1], np.zeros((1, 5))]).sum(axis=1).tolist() == [1, 0]


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    X = two_spirals(800)[0]
    found = []
    for threads in (1, 2):
        pellucid.set_threads(threads)
        with threadpool_limits(threads):
            found.append(SparseManifoldTransform(4, n_atoms=60, random_state=3).fit(X).components_)
    pellucid.set_threads(None)
    assert np.array_equal(*found)


@pytest.mark.parametrize("code", ["nearest", "threshold", "lasso"])
def test_saved_models_come_back(code, tmp_path):
    X = points(80, 4)
    model = SparseManifoldTransform(3, code=code, n_atoms=12, random_state=0).fit(X)
    pellucid.save(model, tmp_path / "model.safetensors")
    loaded = pellucid.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.transform(X), model.transform(X))
    with pytest.raises(ValueError, match="call fit"):
        loaded.partial_fit(X)
    loaded.fit(X)


def test_a_code_of_ones_own_cannot_be_saved(tmp_path):
    model = SparseManifoldTransform(2, code=NearestCode(9)).fit(points())
    with pytest.raises(ValueError, match="code is a NearestCode"):
        pellucid.save(model, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["sparse_manifold_transform", "nearest_code", "threshold_code", "lasso_code", "spherical_k_means"]
)
def test_golden_files_still_load(name):
    path = next(p for p in GOLDEN.iterdir() if p.stem.replace("_", "") == name.replace("_", ""))
    model = pellucid.load(path)
    codes = model.transform(np.eye(3))
    assert codes.shape[0] == 3
    assert np.isfinite(codes.toarray() if sparse.issparse(codes) else codes).all()
