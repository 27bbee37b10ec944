"""From a point on the central path to the last digits: which columns have weight, and Newton's method on those."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from pellucid._core.arrays import Floats, Ints
from pellucid._core.cholesky import EPS
from pellucid._core.jit import kernel
from pellucid.solvers.design import SMALL, Columns, Design, dual_value, lengths_under, moment, primal_value
from pellucid.solvers.design_newton import directions, half_sum, small_directions, symmetric_matrices
from pellucid.solvers.design_path import follow_path

# a weight below this share of the largest is zero
UNUSED = 1e-7
# a column with this share of an orthonormal one's weight has weight, whatever one step says
OBVIOUS = 1e-2
# a ratio of weights and slacks this many times (as a power of ten) that of the next column parts them
JUMP = 1.0
# if those below have at most this share of the usual weight
IDLE = 1e-3
# how little a step of the polish costs a weight, against how much it costs to miss a constraint
PROXIMAL = 1e-8
# a gap at which it is settled which columns have weight, and one that is round-off
POLISHED = 1e-12
# a gap at which few columns may already be told apart, where trying costs less than steps along the path
EARLY = 1e-4
EXACT = 1e-14


def solve_design(columns: Columns, ridge: float, tol: float, max_iter: int) -> Design:
    """Along the central path as far as it takes to see which columns have weight, and a polish; where steps are
    expensive, no further than the tolerance."""
    path = None
    if columns.copied is not None and columns.dimension <= SMALL and tol < EARLY:
        path = follow_path(columns, ridge, EARLY, max_iter)
        used = _with_weight(columns, path)[0]
        early = _newton(columns, path, used, ridge)[0] if used.any() else None
        if early is not None and early.gap <= POLISHED:
            return early
        max_iter -= len(path.history)
    design = path = follow_path(columns, ridge, tol, max_iter, path)
    if columns.dimension > SMALL:
        if _with_weight(columns, path)[1]:
            design = _polish(columns, path, ridge)
        return design if design.gap <= POLISHED else _within(columns, path, ridge, tol)
    for finer in (tol, 1e-9, 1e-11, 1e-13):
        if finer < tol:
            path = follow_path(columns, ridge, finer, max_iter, path)
        design = _polish(columns, path, ridge)
        if design.gap <= POLISHED or path.gap > tol:
            break
    return design


def _within(columns: Columns, path: Design, ridge: float, tol: float) -> Design:
    """A point on the path without the columns that have no weight as far as it tells, if the tolerance allows that."""
    used = _with_weight(columns, path)[0]
    some = certified(columns, replace(path, index=path.index[used], weights=path.weights[used]), ridge)
    return some if some.gap <= tol else path


def _polish(columns: Columns, design: Design, ridge: float) -> Design:
    """Newton's method on the optimality conditions of the columns with weight, to the last digits.

    Where it takes a weight to zero, the column was only near its constraint, or on it without being of use: it is
    left out, and the rest starts again.
    """
    share = design.weights / design.weights.sum() * columns.dimension  # of one orthonormal column
    used = _with_weight(columns, design)[0]
    while used.any():
        polished, weights = _newton(columns, design, used, ridge)
        if polished is not None:
            return polished
        place = np.flatnonzero(used)
        idle = np.flatnonzero((weights <= UNUSED * weights.max()) & (share[place] <= OBVIOUS))
        if not idle.size:
            break
        worst = np.argsort(weights[idle])[: (idle.size + 1) // 2]  # without them the others may turn out to be of use
        used[place[idle[worst]]] = False
    certain = used & (share > np.sqrt(design.gap))
    return replace(design, index=design.index[certain], weights=design.weights[certain]) if certain.any() else design


def _with_weight(columns: Columns, design: Design) -> tuple[NDArray[np.bool_], bool]:
    """Which of the columns that took part have weight at the optimum, and whether that is clear.

    Along the path the ratio of weight and slack goes to infinity for those and to zero for the others, so in the end
    there is a jump between them.
    """
    W = columns.copied if design.index.size == columns.count else None
    lengths = lengths_under(design.V, columns.take(design.index) if W is None else W)
    used, ratio = _heavier_than_slack(lengths, design.weights, columns.dimension)
    if used.sum() <= columns.dimension * (columns.dimension + 1) // 2:
        return used, True
    order = np.sort(ratio)
    at = int(np.argmax(np.diff(order)))  # more than could be independent: look for the jump
    above = ratio > order[at]
    clear = order[at + 1] - order[at] > JUMP and design.weights[~above].max() < IDLE * design.weights[above].mean()
    return (above, True) if clear else (used, False)


@kernel
def _heavier_than_slack(lengths: Floats, weights: Floats, dimension: int) -> tuple[NDArray[np.bool_], Floats]:
    ratio = np.log10(weights / np.maximum(1.0 - lengths, 1e-300))
    return ratio > np.log10(weights.sum() / dimension), ratio


def _newton(columns: Columns, design: Design, used: NDArray[np.bool_], ridge: float) -> tuple[Design | None, Floats]:
    """The optimum with weight on ``used`` columns only, if there the gap closes, and where the weights went.

    A proximal term keeps the weights where they are as far as the conditions leave them free, so a point inside of the
    optimal polytope stays inside.
    """
    index, weights = design.index[used], design.weights[used]
    W = columns.take(index)
    if len(W) <= SMALL:
        V, weights = _newton_steps_of_few(design.V, W, weights, ridge, *symmetric_matrices(len(W)).basis)
    else:
        V, weights = _newton_steps(design.V, W, weights, ridge)
    if weights.min() <= UNUSED * weights.max():
        return None, weights
    found = certified(columns, Design(V, index, weights, np.inf, np.inf, design.history), ridge)
    return (found if found.gap < design.gap else None), weights


@kernel
def _proximal_weight(W: Floats, weights: Floats, ridge: float) -> float:
    M = moment(W, weights, ridge)
    return float(PROXIMAL * (W**2).sum() / np.linalg.eigvalsh(M)[-1] / len(W))


def _newton_steps(V: Floats, W: Floats, weights: Floats, ridge: float) -> tuple[Floats, Floats]:
    """V and weights after Newton steps, as many as lessen the gap; or once a weight is zero."""
    proximal = _proximal_weight(W, weights, ridge)
    curvature = np.full(len(weights), 1 / proximal)
    best, best_V, best_weights = np.inf, V, weights
    for _ in range(8):
        missing = 0.5 * (1.0 - lengths_under(V, W))
        try:
            towards, away = directions(V, Columns(W), weights, curvature, weights - missing / proximal, ridge)
        except LinAlgError:
            break
        dV = towards - away
        V, weights = V + dV, weights + (Columns(W).forms(half_sum(V, dV)) - missing) / proximal
        if weights.min() <= UNUSED * weights.max():
            return V, weights
        gap = _gap_of_few(V, W, weights, ridge)
        if gap >= best:
            break
        best, best_V, best_weights = gap, V, weights
        if gap <= EXACT:
            break
    return best_V, best_weights


@kernel
def _newton_steps_of_few(
    V: Floats, W: Floats, weights: Floats, ridge: float, first: Ints, second: Ints, factor: Floats
) -> tuple[Floats, Floats]:
    """The same in one compiled piece, for short columns."""
    proximal = _proximal_weight(W, weights, ridge)
    curvature = np.full(len(weights), 1 / proximal)
    best, best_V, best_weights = np.inf, V, weights
    for _ in range(8):
        missing = 0.5 * (1.0 - lengths_under(V, W))
        pull = weights - missing / proximal
        towards, away, solved = small_directions(V, W, weights, curvature, pull, ridge, first, second, factor)
        if not solved:
            break
        dV = towards - away
        forms = ((V @ W) * (dV @ W)).sum(axis=0)  # wᵀ½(V dV + dV V)w
        V, weights = V + dV, weights + (forms - missing) / proximal
        if weights.min() <= UNUSED * weights.max():
            return V, weights
        gap = _gap_of_few(V, W, weights, ridge)
        if gap >= best:
            break
        best, best_V, best_weights = gap, V, weights
        if gap <= EXACT:
            break
    return best_V, best_weights


@kernel
def _gap_of_few(V: Floats, W: Floats, weights: Floats, ridge: float) -> float:
    """The relative gap as far as these columns know."""
    shrunk = V / max(1.0, np.sqrt(lengths_under(V, W).max()))
    return abs(1.0 - dual_value(shrunk, ridge) / primal_value(W, weights, ridge))


def certified(columns: Columns, design: Design, ridge: float) -> Design:
    """The same point, V shrunk until it is feasible, with its gap."""
    objective = primal_value(columns.take(design.index), design.weights, ridge)
    V = design.V / max(1.0, math.sqrt(columns.lengths(design.V).max()))
    gap = max(abs(1.0 - dual_value(V, ridge) / objective), EPS)
    return Design(V, design.index, design.weights, objective, gap, design.history)
