"""The one eigenproblem behind every transform: min tr(P L Pᵀ), P V Pᵀ = I (paper 4, Eq. 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import scale_rows, sparse_rows
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.manifold.statistics import GraphStatistics, PairStatistics, Statistics

# up to so many atoms a dense solver is as fast, and exact
DENSE = 1500
# directions in which codes vary by less than this share of the most are no directions
RANK = 1e-9
# a function that costs less than this share of the most is constant among neighbours: float32 counts round
FREE = 1e-7
NOTHING = (
    "No two neighbours have different codes, or no item has a neighbour, so there is nothing to embed: use more atoms, "
    "more varied data, or other neighbours."
)


def solve(statistics: Statistics, n_components: int, skip: str | int) -> tuple[Floats, Floats]:
    """Rows P (n_components, K) and eigenvalues, smallest first.

    Atoms that are never active, or that nothing is a neighbour of, get zeros. ``skip="constant"`` leaves out exactly
    the constant function, wherever codes can express one; a number leaves out that many of the first.
    """
    if statistics.weight <= 0:
        raise ValueError(NOTHING)
    V = sparse.csr_array(statistics.second) / statistics.weight
    L = sparse.csr_array(statistics.cost) / statistics.weight
    mean = statistics.total / statistics.weight
    active = np.flatnonzero((V.diagonal() > 0) & (L.diagonal() > 0))
    if not active.size:
        raise ValueError(NOTHING)
    L, V = L[active][:, active], V[active][:, active]
    first, drop = (0, True) if skip == "constant" else (int(skip), False)
    with one_blas_thread():  # sums in one order: the same bits on any number of threads
        if V.nnz == np.count_nonzero(V.diagonal()) and len(active) > DENSE:
            diagonal = L.diagonal()
            off = sparse.csr_array(sparse.diags_array(diagonal) - L)
            values, rows = solve_diagonal(diagonal, off, V.diagonal(), mean[active], first + n_components, drop)
        else:
            values, rows = solve_dense(L.toarray(), V.toarray(), mean[active], first + n_components, drop)
    return scattered(rows[first:], active, len(mean)), values[first:]


def solve_graph(
    statistics: GraphStatistics, n_components: int, skip: str | int, constraint: str
) -> tuple[Floats, Floats]:
    """The same for one-hot codes, without a copy of the graph besides the scaled one."""
    C = statistics.together
    degree = np.asarray(C.sum(axis=1, dtype=np.float64)).ravel()
    mass = statistics.counts if constraint == "frequency" else degree
    own = C.diagonal()
    active = np.flatnonzero((mass > 0) & (degree > own))
    if not active.size:
        raise ValueError(NOTHING)
    weight = float(mass.sum())
    first, drop = (0, True) if skip == "constant" else (int(skip), False)
    diagonal, part = degree / weight, np.zeros(len(mass))
    part[active] = mass[active] / weight
    with one_blas_thread():
        if len(active) > DENSE:
            values, rows = solve_diagonal(diagonal, C, part, part, first + n_components, drop, 1 / weight)
            return scattered(rows[first:], np.arange(len(mass)), len(mass)), values[first:]
        # an atom that is left out had no other neighbours, so the others' degrees stay theirs
        L = np.diag(diagonal[active]) - C[active][:, active].toarray() / weight
        values, rows = solve_dense(L, np.diag(part[active]), part[active], first + n_components, drop)
    return scattered(rows[first:], active, len(mass)), values[first:]


def solve_pairs(statistics: PairStatistics, n_components: int, skip: str | int, mirror: bool) -> tuple[Floats, Floats]:
    """The same for dense codes: cost = second − together, so the largest eigenvectors of (together, second) are wanted.

    With ``mirror`` the second half of the atoms mirrors the first, and the items' mirror images are counted too: the
    problem splits into one for maps that are equal on both halves and one for maps that are opposite.
    """
    C, V = statistics.together, statistics.second
    K = len(V)
    # codes of this kind have no exact constant; what is nearly constant comes first
    first = 1 if skip == "constant" else int(skip)
    if not mirror:
        active = np.flatnonzero(V.diagonal() > 0)
        values, rows = largest(C[np.ix_(active, active)], V[np.ix_(active, active)], first + n_components)
        return scattered(rows[first:], active, K), (1 - values)[first:]
    half = K // 2
    active = np.flatnonzero(V.diagonal()[:half] + V.diagonal()[half:] > 0)
    parts = []
    for sign in (1.0, -1.0):
        own = np.ix_(active, active)
        values, rows = largest(fold(C, sign, half)[own], fold(V, sign, half)[own], first + n_components)
        # of P V Pᵀ each half has its share
        whole = np.zeros((len(rows), K))
        whole[:, active], whole[:, active + half] = rows / np.sqrt(2), sign * rows / np.sqrt(2)
        parts.append((values, whole))
    values = np.concatenate([part[0] for part in parts])
    order = np.argsort(-values, kind="stable")[first : first + n_components]
    rows = np.concatenate([part[1] for part in parts])[order]
    return scattered(rows, np.arange(K), K), 1 - values[order]


def fold(matrix: Floats, sign: float, half: int) -> Floats:
    """The matrix and its mirror image added up, on vectors (x, ±x) / √2."""
    direct = matrix[:half, :half] + matrix[half:, half:]
    crossed = matrix[:half, half:] + matrix[half:, :half]
    return np.asarray(direct + sign * crossed)


def largest(C: Floats, V: Floats, n: int) -> tuple[Floats, Floats]:
    """The n largest eigenvalues of C x = μ V x, and the vectors in rows, by a Cholesky factor of V."""
    if not len(V):
        raise ValueError(NOTHING)
    n = min(n, len(V))
    lifted = V + RANK * float(np.trace(V)) / len(V) * np.eye(len(V))
    values, W = linalg.eigh(C, lifted, subset_by_index=(len(V) - n, len(V) - 1), overwrite_b=True, check_finite=False)
    return values[::-1], W[:, ::-1].T


def scattered(rows: Floats, active: Ints, K: int) -> Floats:
    """Rows over the active atoms as rows over all, each with its largest entry positive, since a sign means nothing."""
    if not len(rows):
        raise ValueError("Codes have no more dimensions than skip leaves out: use a smaller skip, or more atoms.")
    P = np.zeros((len(rows), K))
    P[:, active] = rows
    largest = np.take_along_axis(P, np.abs(P).argmax(axis=1)[:, None], axis=1)
    P *= np.where(largest < 0, -1, 1)
    return P


def solve_dense(L: Floats, V: Floats, mean: Floats, n: int, drop_constant: bool) -> tuple[Floats, Floats]:
    """By two dense eigenproblems; directions in which codes do not vary are left out."""
    spread, U = linalg.eigh(V)
    kept = spread > RANK * spread[-1]
    T = U[:, kept] / np.sqrt(spread[kept])
    Q = T.T @ L @ T
    Q = (Q + Q.T) / 2
    constant = constant_direction(T.T @ mean, Q.dot, Q.diagonal().max()) if drop_constant else None
    if constant is not None:  # it moves behind all others
        Q += (np.trace(Q) + 1) * np.outer(constant, constant)
    n = min(n, len(Q) - (constant is not None))
    if n < 1:
        raise ValueError(NOTHING)
    values, W = linalg.eigh(Q, subset_by_index=(0, n - 1))
    return np.maximum(values, 0), (T @ W).T


def constant_direction(mean: Floats, cost: Callable[[Floats], Floats], most: float) -> Floats | None:
    """The function closest to 1 for every item, in whitened coordinates, V^−½E[α], if neighbours have the same value:
    items whose only atoms were left out, having no neighbours, may have another."""
    length = float(np.linalg.norm(mean))
    direction = mean / (length or 1)
    return direction if length and direction @ cost(direction) <= FREE * most else None


def solve_diagonal(
    diagonal: Floats, off: Any, mass: Floats, mean: Floats, n: int, drop_constant: bool, scale: float = 1.0
) -> tuple[Floats, Floats]:
    """L = diagonal − scale · off and V = mass, as for one-hot codes: Lanczos on M^−½ L M^−½, turned around so that the
    wanted end is the top. Atoms without mass get zeros; to leave them out would take a copy of the graph."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    present = mass > 0
    root = np.zeros(len(mass))
    root[present] = 1 / np.sqrt(mass[present])
    off.check_format(full_check=True)  # the kernels look up what stands in the columns that it names
    given = off.data if off.dtype == np.float32 else off.data.astype(np.float64, copy=False)
    size, data = len(mass), np.empty_like(given)
    indices, pointers = off.indices.astype(np.int32, copy=False), off.indptr.astype(np.int64)
    sums = np.empty(size)

    def scaled(start: int, stop: int) -> None:
        scale_rows(given, indices, pointers, root, scale, data, sums, start, stop)

    run_rows(scaled, size)
    own = diagonal * root**2
    bound = float((own + sums).max())  # no eigenvalue is larger (Gershgorin)
    own[~present] = bound  # at the other end

    def cost(x: Floats) -> Floats:
        y = np.empty(size)
        run_rows(lambda start, stop: sparse_rows(data, indices, pointers, x, y, start, stop), size)
        return own * x - y

    constant = constant_direction(mean * root, cost, bound) if drop_constant else None

    def turned(x: Floats) -> Floats:
        x = np.ravel(x)
        y = bound * x - cost(x)
        if constant is not None:
            y -= 2 * bound * constant * (constant @ x)
        return y

    n = min(n, int(present.sum()) - 2)
    operator = LinearOperator((size, size), matvec=turned, dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(size)
    values, W = eigsh(operator, n, which="LA", v0=start, tol=1e-5, ncv=min(size, 2 * n + 24))
    order = np.argsort(-values, kind="stable")
    return np.maximum(bound - values[order], 0), (W[:, order] * root[:, None]).T
