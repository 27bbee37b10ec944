"""The paper's own clusters: exact steps, an objective that never rises, the special cases, and odd data."""

from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import CommonalityClustering
from pellucid._core.arrays import unit_rows
from pellucid._core.kernels import add_pairs, expanding_solution
from pellucid.clusters.atoms import (
    STEP_TOL,
    diagonal_basis,
    free_atom,
    quick_atom,
    sphere_atom,
    update_atoms,
)
from pellucid.clusters.coding import Coder, code_pass, code_rows, sums_of
from pellucid.clusters.fits import penalties_of
from pellucid.clusters.learning import begin, refilled, sweep, with_new_atoms
from pellucid.clusters.objective import Dictionary, Penalties, incoherence, pair_weights
from pellucid.clusters.starts import ksvd
from pellucid.metrics import clustering_error
from pellucid.rows import Blocks
from pellucid.solvers import sphere_quadratic

PaperClustering = partial(CommonalityClustering, reading="paper")
GOLDEN = Path(__file__).parent / "golden" / "commonality_clustering.safetensors"
PAPER = Penalties(0.01, 0.1, 1.0, 1.0, "ridge", True)
KINDS = ("ridge", "lasso", "one")


@parametrize_with_checks([PaperClustering(3, 1, 1, random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def planted(n=300, d=30, n_clusters=3, k=2, n_common=4, strength=3.0, noise=0.02, seed=0):
    """Rows of one subspace each, and on top of it a few of the shared atoms, which are what is seen first."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0].T
    labels = np.arange(n) % n_clusters
    own = basis[: n_clusters * k].reshape(n_clusters, k, d)
    codes = rng.standard_normal((n, k)) + 1.5
    shared = strength * rng.standard_normal((n, n_common)) * (rng.random((n, n_common)) < 0.5)
    X = np.einsum("nk,nkd->nd", codes, own[labels]) + shared @ basis[-n_common:]
    return X + noise * rng.standard_normal(X.shape), labels


def random_dictionary(C, k, K0, d, seed=0, codes="ridge"):
    rng = np.random.default_rng(seed)
    atoms = unit_rows(rng.standard_normal((C, k, d)))
    if codes == "one":
        atoms *= rng.uniform(0.5, 2, (C, 1, 1))
    return Dictionary(atoms, unit_rows(rng.standard_normal((K0, d))))


def full_cost(x, a, a0, D, D0, p):
    penalty = {"ridge": p.ridge * a @ a, "lasso": p.sparsity * np.abs(a).sum(), "one": 0.0}[p.codes]
    return ((x - a @ D - a0 @ D0) ** 2).sum() + penalty + p.sparsity * np.abs(a0).sum()


def oracle_cost(x, D, D0, p):
    """One row in one cluster by scikit-learn's lasso, the ridge code eliminated by P = I − Dᵀ(DDᵀ + λ₁I)⁻¹D."""
    if p.codes == "one":
        x, stacked = x - D[0], D0.T
    elif p.codes == "lasso":
        stacked = np.vstack([D, D0]).T
    else:
        P = np.eye(len(x)) - D.T @ np.linalg.inv(D @ D.T + p.ridge * np.eye(len(D))) @ D
        values, vectors = np.linalg.eigh(P)
        half = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        x, stacked = half @ x, half @ D0.T
    if stacked.shape[1] == 0:
        return x @ x
    z = Lasso(p.sparsity / 2 / len(x), fit_intercept=False, tol=1e-14, max_iter=100_000).fit(stacked, x).coef_
    return ((x - stacked @ z) ** 2).sum() + p.sparsity * np.abs(z).sum()


# exact steps


@pytest.mark.parametrize("codes", KINDS)
@pytest.mark.parametrize("n_common", [0, 4])
def test_costs_and_assignment_equal_brute_force(codes, n_common):
    X = np.random.default_rng(1).standard_normal((25, 8))
    k = 1 if codes == "one" else 3
    D = random_dictionary(4, k, n_common, 8, codes=codes)
    p = Penalties(0.05, 0.4, 1.0, 1.0, codes, True)
    slow = np.array([[oracle_cost(x, D.atoms[c], D.common, p) for c in range(4)] for x in X])
    coder = Coder(D, p, X.dtype)
    np.testing.assert_allclose(coder.costs(X), slow, rtol=1e-6, atol=1e-9)
    for guess in (None, np.arange(25) % 4):
        coded = code_rows(X, coder, guess)
        assert np.array_equal(coded.labels, slow.argmin(axis=1))
        np.testing.assert_allclose(coded.costs, slow.min(axis=1), rtol=1e-6, atol=1e-9)
        by_hand = [
            full_cost(x, a, a0, D.atoms[c], D.common, p)
            for x, a, a0, c in zip(X, coded.own, coded.common, coded.labels)
        ]
        np.testing.assert_allclose(coded.costs, by_hand, rtol=1e-9)


@settings(max_examples=40)
@given(
    k=st.integers(1, 8),
    K0=st.integers(0, 8),
    codes=st.sampled_from(["ridge", "lasso"]),
    sparsity=st.sampled_from([1e-3, 0.1, 2.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_code_costs_less_than_the_bound(k, K0, codes, sparsity, seed):
    """From any code, with more atoms than dimensions too; from the best one the bound is its cost."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 5))
    coder = Coder(random_dictionary(1, k, K0, 5, seed), Penalties(0.01, sparsity, 1.0, 1.0, codes, True), X.dtype)
    cluster = coder.clusters[0]
    R, kept = cluster.reduce(*coder.products(X))
    best = cluster.start(np.zeros((10, K0)))
    costs = cluster.solve(best, R, kept)
    for z in (best, np.zeros_like(best), best + rng.standard_normal(best.shape)):
        assert (cluster.bound(z, R, kept) <= costs + 1e-9 * kept).all()
    np.testing.assert_allclose(cluster.bound(best, R, kept), costs, atol=1e-6)


def test_atoms_that_are_nearly_equal_explain_a_common_one_wholly():
    """Without a ridge the Gram matrix that is left of the common atom is nothing but round-off, of either sign."""
    rng = np.random.default_rng(0)
    p = Penalties(0.0, 1e-3, 0.0, 30.0, "ridge", True)
    X = rng.standard_normal((6, 2))
    for size in 20 * (1e-2, 1e-3):
        atoms = unit_rows(np.array([1.0, 1.0]) + size * rng.standard_normal((4, 2)))
        coder = Coder(Dictionary(atoms[None], unit_rows(rng.standard_normal((1, 2)))), p, X.dtype)
        np.testing.assert_allclose(coder.costs(X), 0, atol=1e-6)


@settings(max_examples=60)
@given(st.integers(1, 25), st.integers(1, 25), st.integers(0, 2**32 - 1), st.integers(-8, 4))
def test_the_atom_step_is_the_best_on_the_sphere(r, d, seed, size):
    rng = np.random.default_rng(seed)
    B = unit_rows(rng.standard_normal((r, d)))
    weights = rng.exponential(size=r) * (rng.random(r) < 0.8)
    b = 10.0**size * rng.standard_normal(d) * (rng.random() < 0.95)
    old = unit_rows(rng.standard_normal((1, d)))[0]
    H = (B.T * weights) @ B

    def value(u):
        return np.einsum("...i,ij,...j->...", u, H, u) - 2 * u @ b

    found = sphere_atom(H, b, old)
    scale = np.linalg.norm(H) + np.linalg.norm(b)
    assert np.linalg.norm(found) == pytest.approx(1)
    assert value(found) <= value(old)
    others = unit_rows(rng.standard_normal((1000, d)))
    assert value(found) <= value(others).min() + 1e-9 * scale


def test_the_atom_step_matches_a_trusted_optimiser():
    rng = np.random.default_rng(0)
    for _ in range(10):
        B, weights, b = unit_rows(rng.standard_normal((9, 6))), rng.exponential(size=9), 3 * rng.standard_normal(6)
        H = (B.T * weights) @ B

        def on_sphere(u, H=H, b=b):
            u = u / np.linalg.norm(u)
            return u @ H @ u - 2 * b @ u

        best = min(scipy.optimize.minimize(on_sphere, start).fun for start in rng.standard_normal((10, 6)))
        assert on_sphere(sphere_atom(H, b, np.eye(6)[0])) == pytest.approx(best, abs=1e-7)
        count = 2.5
        free = free_atom(H, b, count)
        np.testing.assert_allclose(free, np.linalg.solve(H + count * np.eye(6), b), atol=1e-10)


@settings(max_examples=60)
@given(
    n=st.integers(2, 150),
    r=st.integers(1, 200),
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(-8, 4),
    turned=st.sampled_from([0.0, 0.01, 0.3]),
    hard=st.booleans(),
    floor=st.sampled_from([0.0, 3.0]),
)
def test_a_growing_span_that_says_so_has_the_global_minimum(n, r, seed, size, turned, hard, floor):
    """Beside the dense solver, from a nearly diagonal H to a rather full one, semidefinite and definite (where the
    multiplier may be negative); ``hard``: b has no part where H is 0; at times it is 0."""
    rng = np.random.default_rng(seed)
    values = (floor + rng.exponential(size=n)) * (np.arange(n) < r)
    turn = np.linalg.qr(np.eye(n) + turned * rng.standard_normal((n, n)) / np.sqrt(n))[0]
    H = (turn * values) @ turn.T
    b = 10.0**size * turn @ (rng.standard_normal(n) * (np.arange(n) < r if hard else 1.0)) * (seed % 8 > 0)
    atom, _ = quick_atom(np.triu(H), b, unit_rows(rng.standard_normal((1, n)))[0])  # only what is above is read
    if atom is not None:
        best = sphere_quadratic(H, b).objective
        assert np.linalg.norm(atom) == pytest.approx(1)
        assert atom @ H @ atom - 2 * b @ atom <= best + 2e-10 * (np.linalg.norm(H) + np.linalg.norm(b))
    else:
        assert n <= 60 or turned > 0


@settings(max_examples=60)
@given(
    n=st.integers(2, 60),
    more=st.integers(1, 100),
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(-8, 2),
    known=st.sampled_from([0.0, 0.5, 1.0]),
    coherent=st.booleans(),
)
def test_steps_of_more_atoms_than_dimensions_are_proven_by_a_floor(n, more, seed, size, known, coherent):
    """Whatever is known of the eigenvalues with the old atom, the step is the best there is, also where b has no part
    in the lowest eigenvector; and what is then said of those with the new atom holds."""
    rng = np.random.default_rng(seed)
    B = unit_rows(rng.standard_normal((n + more, n)) + 2 * coherent)
    turn = np.linalg.eigh(B.T @ B)[1]
    B = B @ turn
    old, H = B[0], 2 * B[1:].T @ B[1:]
    b = 10.0**size * rng.standard_normal(n)
    lowest = np.linalg.eigh(H)[1][:, 0]
    b -= rng.choice([0.0, 1.0]) * (b @ lowest) * lowest
    floor = known * np.linalg.eigvalsh(H + 2 * np.outer(old, old))[0] * (1 - 1e-9)
    atom, after = quick_atom(np.triu(H), b, old, 2.0, floor)
    if atom is not None:
        scale = np.linalg.norm(H) + np.linalg.norm(b)
        assert atom @ H @ atom - 2 * b @ atom <= sphere_quadratic(H, b).objective + 2e-10 * scale
        assert np.linalg.eigvalsh(H + 2 * np.outer(atom, atom))[0] >= after - 1e-10 * scale


@pytest.mark.parametrize("n", [2, 5, 30, 100])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.1])
def test_a_floor_proves_a_step_whose_multiplier_is_negative(n, share):
    """Where H alone proves nothing; and the floor moves as far as the angle between both atoms says, or as a matrix of
    two rows does, H_old and the rest at the floor."""
    rng = np.random.default_rng(n)
    B = unit_rows(rng.standard_normal((3 * n, n)))
    B = B @ np.linalg.eigh(B.T @ B)[1]
    old, H = B[0].copy(), 2 * B[1:].T @ B[1:]
    b = share * rng.standard_normal(n)
    best, least = sphere_quadratic(H, b), np.linalg.eigvalsh(H + 2 * np.outer(old, old))[0]
    assert best.multiplier < 0
    for floor in (0.0, least * (1 - 1e-9)):
        atom, found = np.empty(n), np.empty(2)
        assert expanding_solution(np.triu(H), b, old, 2.0, floor, STEP_TOL, atom, found) == (floor > 0)
        assert found[0] == pytest.approx(best.multiplier, abs=1e-6)
        assert atom @ H @ atom - 2 * b @ atom == pytest.approx(best.objective, abs=1e-8)
        image = (H + 2 * np.outer(atom, atom)) @ old
        along = old @ image
        across = np.linalg.norm(image - along * old)
        two_rows = np.linalg.eigvalsh([[along, across], [across, floor]])[0]
        turned = floor - 2 * np.sqrt(1 - (old @ atom) ** 2)
        assert found[1] == pytest.approx(max(0, two_rows, turned), abs=1e-9)


@pytest.mark.parametrize(("n", "pairs"), [(1, 1), (7, 0), (7, 1), (50, 2), (33, 20)])
def test_pairs_are_added_above_the_diagonal(n, pairs):
    rng = np.random.default_rng(n)
    H, rows, weights = rng.standard_normal((n, n)), rng.standard_normal((pairs, n)), rng.standard_normal(pairs)
    slow = H + np.triu((rows.T * weights) @ rows)
    add_pairs(H, rows, weights)
    np.testing.assert_allclose(H, slow, atol=1e-12)


def test_an_atom_with_nothing_but_its_linear_term_follows_it():
    b, old = np.array([3.0, 0.0, 4.0]), np.array([0.0, 1.0, 0.0])
    assert quick_atom(np.zeros((3, 3)), b, old)[0] == pytest.approx(b / 5)
    assert quick_atom(np.zeros((3, 3)), 0 * b, old)[0] == pytest.approx(old)


def test_an_atom_without_work_is_found_in_a_growing_span():
    """With b = 0, where the other atoms are least, and without the dense solver."""
    rng = np.random.default_rng(0)
    B = unit_rows(rng.standard_normal((200, 100)))
    values, turn = np.linalg.eigh(B.T @ B)
    B = B @ turn
    H = np.diag(values) - np.outer(B[0], B[0])
    atom, _ = quick_atom(np.triu(H), np.zeros(100), B[0], 1.0, values[0] * (1 - 1e-9))
    least, vectors = np.linalg.eigh(H)
    assert atom is not None
    assert atom @ H @ atom == pytest.approx(least[0], abs=1e-9)
    assert abs(atom @ vectors[:, 0]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("r", "d"), [(3, 40), (30, 40), (60, 40)])
def test_the_coordinates_of_atom_steps_lose_nothing(r, d):
    rng = np.random.default_rng(r)
    B, products, weights = rng.standard_normal((r, d)), rng.standard_normal((r, d)), rng.exponential(size=r)
    basis, H = diagonal_basis(B, products, weights)
    assert basis.shape == (min(d, 2 * r), d)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
    for rows in (B, products):
        np.testing.assert_allclose(rows @ basis.T @ basis, rows, atol=1e-10)
    np.testing.assert_allclose(basis.T @ H @ basis, (B.T * weights) @ B, atol=1e-10)


@pytest.mark.parametrize("within", [True, False])
def test_pair_weights_are_those_of_the_penalty(within):
    """What the penalty says an atom's pairs cost is what the atom step takes them to cost."""
    p = Penalties(0.01, 0.1, 0.7, 0.3, "ridge", within)
    D = random_dictionary(3, 2, 2, 7)
    B = D.stacked
    rng = np.random.default_rng(1)
    for j in range(len(B)):
        weights = pair_weights(D.atoms.shape, 2, p, j)
        new = B.copy()
        new[j] = unit_rows(rng.standard_normal((1, 7)))[0]
        change = incoherence(Dictionary.unstacked(new, D.atoms.shape), p) - incoherence(D, p)
        assert change == pytest.approx(weights @ (B @ new[j]) ** 2 - weights @ (B @ B[j]) ** 2)


@pytest.mark.parametrize("codes", KINDS)
@pytest.mark.parametrize("within", [True, False])
def test_atoms_never_raise_the_objective_for_fixed_codes(codes, within):
    X = np.random.default_rng(2).standard_normal((60, 9))
    p = Penalties(0.05, 0.2, 2.0, 3.0, codes, within)
    D = random_dictionary(3, 1 if codes == "one" else 4, 3, 9, codes=codes)
    coded = code_rows(X, Coder(D, p, X.dtype), None)

    def objective(D):
        rows = zip(X, coded.own, coded.common, coded.labels)
        return sum(full_cost(x, a, a0, D.atoms[c], D.common, p) for x, a, a0, c in rows) + incoherence(D, p)

    sums = sums_of(X, coded, 3)
    values = [objective(D)]
    for _ in range(4):
        D = update_atoms(sums, D, p)
        values.append(objective(D))
    assert (np.diff(values) <= 1e-10 * values[0]).all()
    assert values[-1] < 0.999 * values[0]
    lengths = np.linalg.norm(D.stacked, axis=1)[(3 if codes == "one" else 0) :]
    np.testing.assert_allclose(lengths, 1)


@settings(max_examples=40)
@given(
    n=st.integers(4, 40),
    d=st.integers(1, 12),
    C=st.integers(1, 4),
    k=st.integers(1, 6),
    K0=st.integers(0, 5),
    codes=st.sampled_from(KINDS),
    between=st.sampled_from(["all", "clusters"]),
    weights=st.tuples(*[st.sampled_from([0.0, 0.01, 1.0, 30.0])] * 3),
    sparsity=st.sampled_from([1e-3, 0.1, 2.0]),
    init=st.sampled_from(["auto", "kmeans", "random"]),
    seed=st.integers(0, 2**31 - 1),
)
@example(4, 2, 1, 3, 0, "ridge", "all", (0.0, 0.0, 0.0), 1e-3, "auto", 1)  # atoms that depend on each other, no ridge
def test_the_objective_never_rises(n, d, C, k, K0, codes, between, weights, sparsity, init, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    ridge, incoherent, common = weights
    model = PaperClustering(
        C, 1 if codes == "one" else k, K0, ridge=ridge, sparsity=sparsity, incoherence=incoherent,
        common_incoherence=common, codes=codes, incoherence_between=between, init=init, n_init=1, max_iter=6, tol=0,
        random_state=seed,
    ).fit(X)  # fmt: skip
    assert 2 <= len(model.objective_) <= 7
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0] + 1e-12).all()
    final = -model.score(X) + incoherence(Dictionary(model.atoms_, model.common_atoms_), penalties_of(model))
    assert model.inertia_ == pytest.approx(final, rel=1e-7, abs=1e-10)
    assert set(model.labels_) <= set(range(C))


def test_float32_stays_float32_and_close():
    X = planted()[0].astype(np.float32)
    narrow = PaperClustering(3, 2, 4, random_state=0).fit(X)
    wide = PaperClustering(3, 2, 4, random_state=0).fit(X.astype(np.float64))
    assert narrow.atoms_.dtype == narrow.transform(X).dtype == narrow.reconstruct(X).dtype == np.float32
    assert narrow.inertia_ == pytest.approx(wide.inertia_, rel=1e-3)
    assert adjusted_rand_score(narrow.labels_, wide.labels_) > 0.99


# what it is for


@pytest.mark.parametrize("seed", range(3))
def test_planted_clusters_are_recovered_where_k_means_fails(seed):
    """Circles in planes of their own around one point, and on top of them a part that all share."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((30, 30)))[0].T
    labels = np.arange(600) % 3
    own = np.einsum("nk,nkd->nd", unit_rows(rng.standard_normal((600, 2))), basis[:6].reshape(3, 2, 30)[labels])
    X = own + 0.5 * rng.standard_normal((600, 2)) @ basis[-2:] + 0.02 * rng.standard_normal((600, 30))
    by_k_means = adjusted_rand_score(KMeans(3, n_init=10, random_state=0).fit(X).labels_, labels)
    model = PaperClustering(3, 2, 2, random_state=0).fit(X)
    assert by_k_means < 0.1
    assert adjusted_rand_score(model.labels_, labels) > 0.98
    # and the parts are the planted ones: what is common to all is not what the clusters are made of
    assert ((model.reconstruct(X, "common") @ basis[:6].T) ** 2).sum() < 0.01 * (own**2).sum()


def test_the_order_of_rows_and_of_labels_does_not_matter():
    X, labels = planted(n=90)
    options = dict(n_init=1, max_iter=5, tol=0)
    first = PaperClustering(3, 2, 3, init=labels, **options).fit(X)
    order = np.random.default_rng(0).permutation(90)
    shuffled = PaperClustering(3, 2, 3, init=labels[order], **options).fit(X[order])
    assert np.array_equal(shuffled.labels_, first.labels_[order])
    np.testing.assert_allclose(shuffled.objective_, first.objective_, rtol=1e-6)
    # every atom meets the others in another order then, so only the first value is the same to round-off
    for renaming in permutations(range(3)):
        renamed = PaperClustering(3, 2, 3, init=np.array(renaming)[labels], **options).fit(X)
        assert renamed.objective_[0] == pytest.approx(first.objective_[0])
        assert adjusted_rand_score(renamed.labels_, first.labels_) > 0.99


def test_rotated_and_rescaled_rows_give_the_same_clusters():
    X, labels = planted(n=120)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((30, 30)))[0]
    options = dict(init=labels, n_init=1, max_iter=4, tol=0)
    first = PaperClustering(3, 2, 3, **options).fit(X)
    other = PaperClustering(3, 2, 3, sparsity=0.1 * 7, incoherence=49.0, **options).fit(7 * X @ Q)
    assert np.array_equal(first.labels_, other.labels_)
    np.testing.assert_allclose(other.objective_, 49 * first.objective_, rtol=1e-6)


def test_the_parts_add_up():
    X, _ = planted()
    model = PaperClustering(3, 2, 4, random_state=0).fit(X)
    mean, own, common, both = (model.reconstruct(X, parts) for parts in ("mean", "own", "common", "all"))
    np.testing.assert_allclose(own + common, both, atol=1e-12)
    assert not mean.any()
    found = model.encode(X)
    error = ((X - both) ** 2).sum(axis=1) + 0.01 * (found.codes**2).sum(axis=1) + 0.1 * np.abs(found.common).sum(axis=1)
    np.testing.assert_allclose(model.transform(X).min(axis=1), error, rtol=1e-8)
    assert np.array_equal(model.transform(X).argmin(axis=1), model.predict(X))
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-error.sum())
    with pytest.raises(ValueError, match="parts must be"):
        model.reconstruct(X, "both")


# special cases


def test_one_atom_of_free_length_is_k_means():
    X = np.random.default_rng(0).standard_normal((200, 5)) + np.repeat(3 * np.eye(4, 5), 50, axis=0)
    start = np.arange(200) % 4
    centres = np.array([X[start == c].mean(axis=0) for c in range(4)])
    theirs = KMeans(4, init=centres, n_init=1, tol=0, max_iter=300).fit(X)
    ours = PaperClustering(4, 1, 0, codes="one", incoherence=0, init=start, max_iter=300, tol=1e-14).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert np.array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.atoms_[:, 0], theirs.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X) ** 2, atol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X))


def test_sprechmann_and_sapiro_code_like_a_lasso():
    X = unit_rows(np.random.default_rng(0).standard_normal((80, 10)))
    model = PaperClustering(2, 6, 0, codes="lasso", incoherence=0, sparsity=0.2, random_state=0).fit(X)
    found = model.encode(X)
    for x, c, code in zip(X[:10], found.labels, found.codes):
        theirs = Lasso(0.2 / 2 / 10, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(model.atoms_[c].T, x)
        np.testing.assert_allclose(code, theirs.coef_, atol=1e-7)
    assert found.common.shape == (80, 0)


def test_dlsi_pushes_clusters_apart_and_leaves_atoms_of_one_cluster_alone():
    X, labels = planted(n=150, strength=0.5)
    options = dict(codes="lasso", init=labels, max_iter=8, tol=0)

    def coherences(model):
        flat = model.atoms_.reshape(-1, X.shape[1])
        squares = (flat @ flat.T) ** 2
        same = np.kron(np.eye(3), np.ones((5, 5))) == 1
        return squares[~same].sum(), squares[same].sum()

    free = PaperClustering(3, 5, 0, incoherence=0, **options).fit(X)
    dlsi = PaperClustering(3, 5, 0, incoherence=5.0, incoherence_between="clusters", **options).fit(X)
    everywhere = PaperClustering(3, 5, 0, incoherence=5.0, **options).fit(X)
    assert coherences(dlsi)[0] < 0.5 * coherences(free)[0]
    assert coherences(everywhere)[1] < coherences(dlsi)[1]


def test_the_separate_weight_of_the_commonality():
    X, labels = planted(n=150)
    options = dict(init=labels, max_iter=5, tol=0)

    def across(model):
        return ((model.atoms_.reshape(-1, X.shape[1]) @ model.common_atoms_.T) ** 2).sum()

    same = PaperClustering(3, 3, 4, incoherence=2.0, **options).fit(X)
    named = PaperClustering(3, 3, 4, incoherence=2.0, common_incoherence=2.0, **options).fit(X)
    assert np.array_equal(same.atoms_, named.atoms_)
    strict = PaperClustering(3, 3, 4, incoherence=2.0, common_incoherence=200.0, **options).fit(X)
    assert across(strict) < across(same)


# many rows


def test_mini_batches_come_close_to_the_whole():
    X, labels = planted(n=2000, strength=0.5)
    whole = PaperClustering(3, 2, 4, random_state=0).fit(X)
    parts = PaperClustering(3, 2, 4, batch_size=200, max_iter=10, random_state=0).fit(X)
    assert adjusted_rand_score(parts.labels_, labels) > 0.95
    assert parts.inertia_ < 1.1 * whole.inertia_
    assert len(parts.objective_) == parts.n_iter_ <= 10


def test_partial_fit_learns_and_survives_a_file(tmp_path):
    X, labels = planted(n=1200, strength=0.5)
    model = PaperClustering(3, 2, 4, random_state=0)
    for start in range(0, 1200, 200):
        model.partial_fit(X[start : start + 200])
    assert model.n_iter_ == 6
    assert adjusted_rand_score(model.predict(X), labels) > 0.9
    pellucid.save(model, tmp_path / "m.safetensors")
    loaded = pellucid.load(tmp_path / "m.safetensors")
    for one in (model, loaded):
        one.partial_fit(X[:100])
    assert np.array_equal(model.atoms_, loaded.atoms_)


def test_blocks_of_rows_add_up(monkeypatch):
    X, _ = planted(n=500)
    D = random_dictionary(3, 2, 4, 30)
    coder = Coder(D, PAPER, X.dtype)
    once = code_pass(X, coder, None)
    monkeypatch.setattr("pellucid.clusters.coding.BLOCK_ROWS", 96)
    again = code_pass(X, coder, None)
    assert np.array_equal(once[1], again[1])
    np.testing.assert_allclose(again[0].products, once[0].products, atol=1e-10)
    np.testing.assert_allclose(again[0].grams, once[0].grams, atol=1e-10)
    assert again[0].cost == pytest.approx(once[0].cost)


def test_a_memory_map_and_rows_in_any_layout_give_the_same(tmp_path):
    X, _ = planted(n=150)
    np.save(tmp_path / "X.npy", X)
    plain = PaperClustering(3, 2, 2, random_state=0).fit(X)
    for other in (np.load(tmp_path / "X.npy", mmap_mode="r"), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert np.array_equal(PaperClustering(3, 2, 2, random_state=0).fit(other).labels_, plain.labels_)


def test_warm_start_goes_on(recwarn):
    X, labels = planted(n=150)
    whole = PaperClustering(3, 2, 3, init=labels, max_iter=6, tol=0).fit(X)
    model = PaperClustering(3, 2, 3, init=labels, max_iter=3, tol=0, warm_start=True).fit(X)
    model.fit(X)
    np.testing.assert_allclose(model.objective_[-1], whole.objective_[-1], rtol=1e-9)
    with pytest.raises(ValueError, match="warm_start needs"):
        model.set_params(n_atoms=5).fit(X)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    X, _ = planted(n=400)
    found = []
    try:
        for threads in (1, 2):
            pellucid.set_threads(threads)
            found.append(PaperClustering(3, 2, 4, random_state=1, max_iter=3, tol=0).fit(X))
    finally:
        pellucid.set_threads(None)
    assert np.array_equal(found[0].atoms_, found[1].atoms_)
    assert np.array_equal(found[0].objective_, found[1].objective_)


# odd data


@pytest.mark.parametrize("init", ["auto", "kmeans", "random"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 4)),
        np.ones((7, 3)),
        np.repeat(np.eye(2), 5, axis=0),
        np.c_[np.arange(9.0), np.ones(9)],
        np.arange(12.0).reshape(12, 1),
        np.outer(np.arange(8.0), np.arange(5.0)),
        np.random.default_rng(0).standard_normal((5, 40)).astype(np.float16),
        1e-6 * np.random.default_rng(0).standard_normal((20, 3)),
        1e6 * np.random.default_rng(0).standard_normal((20, 3)),
    ],
    ids=["zeros", "constant", "duplicates", "constant column", "one column", "collinear", "wide", "small", "large"],
)
def test_degenerate_rows(X, init):
    model = PaperClustering(3, 4, 3, init=init, max_iter=4, tol=0, random_state=0).fit(X)
    assert model.labels_.shape == (len(X),)
    assert np.isfinite(model.atoms_).all()
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0] + 1e-12).all()
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=2), 1, rtol=1e-5)
    assert np.isfinite(model.transform(X)).all()


def test_one_cluster_and_as_many_clusters_as_rows():
    X = np.random.default_rng(0).standard_normal((6, 5))
    assert not PaperClustering(1, 2, 2, random_state=0).fit(X).labels_.any()
    alone = PaperClustering(6, 1, 0, incoherence=0, random_state=0).fit(X)
    assert sorted(alone.labels_) == list(range(6))
    with pytest.raises(ValueError, match="n_samples=6 should be >= n_clusters=7"):
        PaperClustering(7).fit(X)


def test_an_empty_cluster_gets_new_atoms():
    """Nobody goes to a cluster whose atoms are orthogonal to all rows, and nothing would ever change them."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((100, 6)), np.zeros((100, 2))]
    atoms = np.concatenate([random_dictionary(3, 2, 0, 6).atoms, np.zeros((1, 2, 6))])
    atoms = np.concatenate([atoms, np.zeros((4, 2, 2))], axis=2)
    atoms[3, :, 6:] = np.eye(2)
    state = begin(Blocks.held(X), Dictionary(atoms, np.empty((0, 8))), None, PAPER)
    assert state.sums.counts[3] == 0
    after = sweep(Blocks.held(X), state, PAPER, np.random.RandomState(0))
    assert (after.sums.counts > 0).all()
    assert after.objective[1] < after.objective[0]


def test_a_refill_equals_a_pass_over_all_clusters():
    rng = np.random.default_rng(0)
    X = np.c_[unit_rows(rng.standard_normal((200, 6))), np.zeros((200, 2))]
    drawn = random_dictionary(4, 2, 3, 6)
    atoms = np.concatenate([drawn.atoms, np.zeros((4, 2, 2))], axis=2)
    atoms[3] = np.eye(8)[6:]
    X = Blocks.held(X)
    before = begin(X, Dictionary(atoms, np.c_[drawn.common, np.zeros((3, 2))]), None, PAPER)
    assert before.sums.counts[3] == 0
    new = with_new_atoms(X, before, 3, PAPER, np.random.RandomState(0))
    found, whole = refilled(X, before, 3, new, PAPER), begin(X, new, None, PAPER)
    assert whole.sums.counts[3] > 0
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_allclose(found.costs, whole.costs, rtol=1e-10)
    for name in ("counts", "products", "grams"):
        np.testing.assert_allclose(getattr(found.sums, name), getattr(whole.sums, name), atol=1e-9)
    assert found.objective[-1] == pytest.approx(whole.objective[-1])


def test_a_cluster_that_a_refill_leaves_without_rows_has_no_sums():
    rng = np.random.default_rng(0)
    X = unit_rows(np.eye(4)[[0] * 50] + 0.1 * rng.standard_normal((50, 4)) * [1, 1, 1, 0])
    atoms = unit_rows(np.array([[0.0, 0, 0, 1], [1, 0.5, 0, 0]]))[:, None]
    X = Blocks.held(X)
    before = begin(X, Dictionary(atoms, np.empty((0, 4))), None, PAPER)
    assert before.sums.counts.tolist() == [0, 50]
    after = refilled(X, before, 0, Dictionary(np.r_[np.eye(4)[None, :1], atoms[1:]], np.empty((0, 4))), PAPER)
    assert after.sums.counts.tolist() == [50, 0]
    assert not after.sums.grams[1].any()
    assert not after.sums.products[1].any()


@pytest.mark.parametrize(
    ("options", "X", "sentence"),
    [
        (dict(codes="one", n_atoms=2), np.eye(9), "n_atoms is 2; set it to 1"),
        (dict(init=[0, 1, 2]), np.eye(9), "init must hold a whole number for each of 9 rows"),
        (dict(init=[0, 1, 1] * 3), np.eye(9), "init must use every label from 0 to 2"),
        (dict(sparsity=0), np.eye(9), "'sparsity' parameter"),
        (dict(init="modularity"), np.eye(9), "'init' parameter"),
        ({}, np.full((9, 2), np.nan), "NaN"),
    ],
)
def test_bad_input_gets_a_sentence(options, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        PaperClustering(3, **options).fit(X)


def test_pictures_of_parts_and_objective():
    digits = load_digits(n_class=2)
    X = unit_rows(digits.data)
    model = PaperClustering(2, 3, 3, random_state=0).fit(X)
    ax = model.plot_parts(X[:3], (8, 8))
    assert len(ax.images) == 12
    assert [text.get_text() for text in ax.texts][:4] == ["image", "= its cluster", "+ common to all", "+ rest"]
    cluster, rest = ax.images[1], ax.images[3]
    assert cluster.get_clim() == rest.get_clim() == ax.images[0].get_clim()  # one scale, so that parts can be compared
    np.testing.assert_allclose(
        sum(np.asarray(image.get_array()) for image in ax.images[1:4]), ax.images[0].get_array(), atol=1e-12
    )
    assert model.plot_objective().get_ylabel() == "objective"


def test_too_few_sweeps_are_said_so():
    X, _ = planted(n=300)
    with pytest.warns(ConvergenceWarning, match="made 1 sweeps and still moved"):
        PaperClustering(3, 2, 3, init="random", n_init=1, max_iter=1, random_state=0).fit(X)


def test_stopping_by_hand_keeps_what_was_learned(monkeypatch):
    from pellucid.clusters import learning

    calls = []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return sweep(*args)

    monkeypatch.setattr(learning, "sweep", interrupted)
    X, labels = planted(n=120)
    with pytest.warns(UserWarning, match="Stopped after 2 sweeps"):
        model = PaperClustering(3, 2, 2, init=labels, tol=0).fit(X)
    assert model.n_iter_ == 2
    assert model.predict(X).shape == (120,)


def test_saved_models_come_back(tmp_path):
    X, _ = planted(n=120)
    for n_common in (0, 3):
        model = PaperClustering(3, 2, n_common, random_state=0).fit(X)
        pellucid.save(model, tmp_path / "m.safetensors")
        loaded = pellucid.load(tmp_path / "m.safetensors")
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert np.array_equal(loaded.transform(X), model.transform(X))
        assert loaded.inertia_ == model.inertia_


def test_the_golden_file_still_loads():
    model = pellucid.load(GOLDEN)
    rng = np.random.RandomState(0)
    X = np.kron(np.eye(3), np.ones((4, 2))) + np.kron(np.ones((3, 1)), rng.uniform(0, 0.2, (4, 6)))
    assert np.array_equal(model.predict(X), np.repeat([0, 1, 2], 4))
    assert np.array_equal(model.labels_, model.predict(X))


def test_digits_are_clustered_better_than_by_k_means():
    digits = load_digits(n_class=6)
    X = unit_rows(digits.data)
    model = PaperClustering(6, 8, 8, random_state=0).fit(X)
    by_k_means = KMeans(6, n_init=10, random_state=0).fit(X).labels_
    ours, theirs = (adjusted_rand_score(found, digits.target) for found in (model.labels_, by_k_means))
    assert ours > 0.97 > theirs


def test_the_papers_start_is_k_means_and_k_svd():
    """K-SVD of rows that are sparse combinations of few atoms finds these, and the start is not that of SVD."""
    rng = np.random.default_rng(0)
    atoms = unit_rows(rng.standard_normal((8, 20)))
    codes = np.zeros((400, 8))
    for row in codes:
        row[rng.choice(8, 2, replace=False)] = rng.uniform(1, 2, 2) * rng.choice([-1, 1], 2)
    X = codes @ atoms
    found, left = ksvd(X, 8, np.random.RandomState(0))
    assert np.mean(np.abs(found @ atoms.T).max(axis=0) > 0.99) >= 0.75
    assert (left**2).sum() < 0.1 * (X**2).sum()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    Y, labels = planted()
    model = PaperClustering(3, 2, 4, init="paper", n_init=2, random_state=0).fit(Y)
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0]).all()
    assert clustering_error(model.labels_, labels) <= 1
    few = PaperClustering(2, 3, 0, init="paper", random_state=0).fit(np.eye(4))
    assert few.atoms_.shape == (2, 3, 4)
