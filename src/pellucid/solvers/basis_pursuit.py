"""All solutions of multitask basis pursuit at once (paper 5, Eq. 22 and Propositions 4 and 8).

V is the same at every optimum, so the optimal weights are a polytope: {η ≥ 0 : Σ η_p w_p w_pᵀ = M − λI} over the
columns with ‖V w_p‖ = 1. Its point of least norm is the paper's minimum-norm solution; the columns that are positive
somewhere in it are the union of the supports of all solutions, which holds every orthonormal subset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError

from pellucid._core.arrays import Floats, Ints
from pellucid._core.checks import as_matrix, as_nonnegative, check_finite, check_iteration, warn_unconverged
from pellucid.solvers.design import SMALL, Columns, Design, blas_threads, dual_value
from pellucid.solvers.design_newton import System, symmetric_matrices
from pellucid.solvers.design_polish import POLISHED, solve_design

# how far below 1 a computed ‖V w_p‖² may be for the column to count as being on the boundary
TIGHT = 1e-8
# squared lengths closer than this (relative) are equal
EQUAL = 1e-12
# a weight of least norm below this share of the largest may be round-off
ROUND_OFF = 1e-6
# smallest eigenvalue of WWᵀ, as a share of the largest, at which W has full rank
FULL_RANK = 1e-14
# least eigenvalue of (WᵀW)² (entry by entry, unit columns) at which the w wᵀ are independent, looked at for so many
INDEPENDENT = 1e-6
MOST_CHECKED = 300
# a singular value below this share of the largest is zero
RANK = 1e-9


@dataclass(frozen=True)
class Pursuit:
    """The optimal set of a multitask basis pursuit.

    For D > 24 it is known as well as the tolerance asks: where the gap is above 1e-12, candidates and weights are a
    solution within it from the middle of that set, which uses every column that could not be ruled out.

    Attributes
    ----------
    V : ndarray of shape (D, D)
        The dual solution, with β_p = η_p V w_p.
    candidates : ndarray of shape (n_candidates,)
        Columns that some optimal solution uses, ascending.
    weights : ndarray of shape (n_candidates,)
        Their η in the solution of least norm; zero where it does not use them.
    duality_gap : float
        How much of the objective, at most, is above the optimum (relative).
    objective : ndarray of shape (n_steps,)
        After each Newton step, and at the end.
    """

    V: Floats
    candidates: Ints
    weights: Floats
    duality_gap: float
    objective: Floats


def basis_pursuit(
    W: ArrayLike | Columns,
    scale: ArrayLike | None = None,
    *,
    ridge: float = 0.0,
    tol: float = 1e-9,
    max_iter: int = 200,
) -> Pursuit:
    """Solve min ‖β‖₁,₂ : Wβ = I and describe every solution.

    Parameters
    ----------
    W : array-like of shape (D, P)
        Its columns span R^D, unless there is a ridge.
    scale : array-like of shape (P,) or None, default=None
        Numbers by which the columns are multiplied, so that W need not be copied for it.
    ridge : float, default=0.0
        The λ of the penalised problem min ‖β‖₁,₂ + ‖I − Wβ‖²/(2λ), below the length of the longest column.
    tol : float, default=1e-9
        Largest relative duality gap accepted.
    max_iter : int, default=200
        Newton steps at most.

    Returns
    -------
    Pursuit
        The dual solution, the columns that some solution uses, and the weights of the one of least norm.

    Raises
    ------
    ValueError
        Without a ridge, the columns do not span all dimensions; or the ridge is so large that the solution is zero.

    Examples
    --------
    >>> from pellucid.solvers import basis_pursuit
    >>> found = basis_pursuit([[1.0, 0.0, 0.6], [0.0, 1.0, 0.6]])
    >>> found.candidates.tolist(), found.weights.round(6).tolist()
    ([0, 1], [1.0, 1.0])
    """
    check_iteration(tol, max_iter)
    ridge = as_nonnegative(ridge, "ridge")
    if isinstance(W, Columns):  # blocks of columns, for instance
        columns = W
    else:
        matrix = as_matrix(W, "W")
        if not np.isfinite(matrix.sum()):  # looking at every entry takes a quarter of the memory of W
            check_finite(matrix, "W")
        columns = Columns(matrix, np.ones(matrix.shape[1]) if scale is None else np.asarray(scale, dtype=np.float64))
    dimension = columns.dimension
    identity = np.eye(dimension)
    values, length = np.linalg.eigvalsh(columns.moment()), columns.lengths(identity)
    if values[-1] <= 0 or (ridge == 0 and values[0] <= FULL_RANK * values[-1]):
        raise ValueError(
            f"The columns of W do not span all {dimension} dimensions, so Wβ = I has no solution; rotate W into the "
            f"space that its columns span, or set a ridge."
        )
    if ridge and ridge**2 >= length.max():
        raise ValueError(f"With a ridge of {ridge:g}, no less than the longest column, the solution is zero.")
    longest, tight = float(np.sqrt(length.max())), np.flatnonzero(length >= (1.0 - EQUAL) * length.max())
    del length
    with blas_threads(columns):
        equal = _of_equal_length(columns, tight, longest, ridge)
        design = equal or solve_design(columns, ridge, tol, max_iter)
        V, weights = design.V, design.weights
        if design.gap > POLISHED and dimension > SMALL:  # which columns have weight is known as well as the gap says
            face = design.index
            V = np.asarray(np.linalg.inv(columns.subset(face).moment(weights) + ridge * identity), dtype=np.float64)
        else:
            face = _face(columns, design)
            unique = face.size == design.index.size and face.size <= MOST_CHECKED and _independent(columns.take(face))
            if not (unique or (equal and face.size == design.index.size)):
                weights = least_norm(columns.subset(face), columns.subset(design.index).moment(weights))
    if design.gap > tol:
        warn_unconverged("basis_pursuit", "relative duality gap", design.gap, tol, 1, 1, "raise max_iter or tol")
    return Pursuit(V, face, weights, design.gap, np.array((*design.history, design.objective)))


def _of_equal_length(columns: Columns, tight: Ints, longest: float, ridge: float) -> Design | None:
    """Where the longest columns alone can make a multiple of the identity, as orthonormal ones do and many columns of
    equal length, V = I/longest is the solution; the weights are those of least norm."""
    if tight.size < columns.dimension:
        return None
    part = columns if tight.size == columns.count else columns.subset(tight)
    identity = np.eye(columns.dimension)
    try:
        weights = least_norm(part, (longest - ridge) * identity, max_iter=20)
    except LinAlgError:
        return None
    made = part.moment(weights)
    if np.abs(made - (longest - ridge) * identity).max() > POLISHED * longest:
        return None
    V = identity / longest
    objective = float(np.trace(made)) / longest**2 + 0.5 * ridge * float(np.square(V).sum())  # all ‖V w_p‖ = 1
    gap = max(abs(1.0 - dual_value(V, ridge) / objective), np.finfo(float).eps)
    used = weights > ROUND_OFF * weights.max()
    if not used.all():
        tight, weights = tight[used], weights[used]
    return Design(V, tight, weights, objective, gap, ())


def _independent(W: Floats) -> bool:
    """Whether these columns make M in one way only, since their w wᵀ are linearly independent."""
    G = W.T @ W
    squared = G.diagonal()
    return bool(np.linalg.eigvalsh(G**2 / squared / squared[:, None])[0] > INDEPENDENT)


def _face(columns: Columns, design: Design) -> Ints:
    """The union of the supports of all optimal solutions.

    A tight column q without weight belongs to it if and only if weight can be moved to it: Σ δ_p w_p w_pᵀ = 0 with
    δ_q > 0, δ ≥ 0 on the columns without weight and any δ on those with weight. One linear programme finds all q.
    """
    certain = design.index
    if certain.size == columns.count:
        return certain
    tight = columns.lengths(design.V) >= 1.0 - max(TIGHT, 100 * design.gap)
    tight[certain] = False
    doubtful = np.flatnonzero(tight)
    if not doubtful.size:
        return np.asarray(certain)
    symmetric = symmetric_matrices(columns.dimension)
    triangle = np.empty((0, symmetric.size))
    for _, W in columns.subset(certain).blocks():
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, symmetric.products(W, W).T]), mode="r"))
    left, values, _ = np.linalg.svd(triangle.T)
    normal = left[:, np.count_nonzero(values > RANK * values[0]) :]  # directions that columns with weight cannot undo
    if normal.shape[1]:
        W = columns.take(doubtful)
        apart = normal.T @ symmetric.products(W, W)
        inside = np.linalg.norm(apart, axis=0) <= RANK * np.einsum("ij,ij->j", W, W)
        if not inside.all():
            inside[~inside] = _movable(apart[:, ~inside])
        doubtful = doubtful[inside]
    return np.union1d(certain, doubtful)


def _movable(apart: Floats) -> NDArray[np.bool_]:
    """Which δ_q can be positive under apart·δ = 0, δ ≥ 0: maximise Σ t_q with t ≤ δ, t ≤ 1, where δ may be large."""
    from scipy.optimize import linprog

    n = apart.shape[1]
    scaled = apart / np.linalg.norm(apart, axis=0)
    found = linprog(
        np.concatenate([np.zeros(n), -np.ones(n)]),
        A_ub=np.hstack([-np.eye(n), np.eye(n)]),
        b_ub=np.zeros(n),
        A_eq=np.hstack([scaled, np.zeros_like(scaled)]),
        b_eq=np.zeros(len(scaled)),
        bounds=[(0, None)] * n + [(0, 1)] * n,
        method="highs",
    )
    return np.asarray(found.x[n:] > 0.5) if found.status == 0 else np.zeros(n, dtype=bool)


def least_norm(columns: Columns, M: Floats, max_iter: int = 100) -> Floats:
    """The η ≥ 0 of least norm with Σ η_p w_p w_pᵀ = M (Eq. 22), if there is one.

    η_p = max(0, w_pᵀ Y w_p) for the symmetric Y that maximises ⟨Y, M⟩ − ½‖η‖²: Newton's method on a piecewise
    quadratic, which ends after finitely many steps.
    """
    identity = np.eye(columns.dimension)
    Y, value, left = np.zeros_like(M), 0.0, M
    on = np.ones(columns.count, dtype=bool)
    for _ in range(max_iter):
        positive = columns if on.all() else columns.subset(np.flatnonzero(on))
        dY = System(1e-13 * identity, identity, positive, factorise=False).solve(left, tol=1e-14)
        step = 1.0
        while True:
            made, square, now = _positive_part(columns, Y + step * dY)
            better = float(np.vdot(M, Y + step * dY)) - 0.5 * square
            if better >= value - 1e-14 * abs(value) or step < 1e-6:
                break
            step *= 0.5
        Y, value, left = Y + step * dY, better, M - made
        if np.abs(left).max() <= 1e-13 * np.abs(M).max() or (step == 1.0 and bool((now == on).all())):
            break
        on = now
    eta = columns.forms(Y)
    eta[eta <= 1e-12 * eta.max()] = 0.0
    return eta


def _positive_part(columns: Columns, Y: Floats) -> tuple[Floats, float, NDArray[np.bool_]]:
    """Σ η_p w_p w_pᵀ, ‖η‖² and η > 0 of η_p = max(0, w_pᵀ Y w_p), in one pass that keeps no number a column."""
    made, square, positive = np.zeros_like(Y), 0.0, np.empty(columns.count, dtype=bool)
    for part, block in columns.blocks():
        eta = np.maximum(np.einsum("ij,ij->j", block, Y @ block), 0.0)
        made += (block * eta) @ block.T
        square += float(eta @ eta)
        positive[part] = eta > 0
    return made, square, positive
