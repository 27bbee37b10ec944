"""From a point on the central path to the last digits: which columns have weight, and Newton's method on those."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from pellucid._core.arrays import Floats
from pellucid._core.kernels import polish_few, polish_step, primal_value, proximal_weight, weight_over_slack
from pellucid.solvers.design import SMALL, Columns, Design, dual_value, squares
from pellucid.solvers.design_newton import directions
from pellucid.solvers.design_path import follow_path

# a weight below this share of the largest is zero
UNUSED = 1e-7
# a column with this share of an orthonormal one's weight has weight, whatever one step says
OBVIOUS = 1e-2
# a ratio of weights and slacks this many times (as a power of ten) that of the next column parts them
JUMP = 1.0
# if those below have at most this share of the usual weight
IDLE = 1e-3
# steps of the polish at most
STEPS = 8
# a gap at which it is settled which columns have weight, and one that is round-off
POLISHED = 1e-12
# a gap at which few columns may already be told apart, where trying costs less than steps along the path
EARLY = 1e-4
EXACT = 1e-14
EPS = 2.2e-16


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
    ratio, used = np.empty(len(design.index)), np.empty(len(design.index), dtype=bool)
    weight_over_slack(design.V, columns.take(design.index) if W is None else W, design.weights, ratio, used)
    if used.sum() <= columns.dimension * (columns.dimension + 1) // 2:
        return used, True
    order = np.sort(ratio)
    at = int(np.argmax(np.diff(order)))  # more than could be independent: look for the jump
    above = ratio > order[at]
    clear = order[at + 1] - order[at] > JUMP and design.weights[~above].max() < IDLE * design.weights[above].mean()
    return (above, True) if clear else (used, False)


def _newton(columns: Columns, design: Design, used: NDArray[np.bool_], ridge: float) -> tuple[Design | None, Floats]:
    """The optimum with weight on ``used`` columns only, if there the gap closes, and where the weights went.

    A proximal term keeps the weights where they are as far as the conditions leave them free, so a point inside of the
    optimal polytope stays inside.
    """
    index, V, weights = design.index[used], design.V.copy(), design.weights[used]
    W = columns.take(index)
    if len(W) <= SMALL:
        polish_few(W, ridge, UNUSED, EXACT, STEPS, V, weights)
    else:
        V, weights = _newton_steps(V, W, weights, ridge)
    if weights.min() <= UNUSED * weights.max():
        return None, weights
    found = certified(columns, Design(V, index, weights, np.inf, np.inf, design.history), ridge)
    return (found if found.gap < design.gap else None), weights


def _newton_steps(V: Floats, W: Floats, weights: Floats, ridge: float) -> tuple[Floats, Floats]:
    """What ``polish_few`` does, where the equations are solved by iteration: V and weights after Newton steps, as many
    as lessen the gap; or once a weight is zero."""
    cost = proximal_weight(W, weights, ridge)
    curvature, missing = np.full(len(weights), 1 / cost), 0.5 * (1.0 - squares(V @ W))
    best, best_V, best_weights = np.inf, V.copy(), weights.copy()
    for _ in range(STEPS):
        try:
            towards, away = directions(V, Columns(W), weights, curvature, weights - missing / cost, ridge)
        except LinAlgError:
            break
        gap = polish_step(W, towards - away, cost, ridge, UNUSED, V, weights, missing)
        if gap < 0:  # a weight is zero
            return V, weights
        if not gap < best:
            break
        best, best_V, best_weights = gap, V.copy(), weights.copy()
        if gap <= EXACT:
            break
    return best_V, best_weights


def certified(columns: Columns, design: Design, ridge: float) -> Design:
    """The same point, V shrunk until it is feasible, with its gap."""
    objective = primal_value(columns.take(design.index), design.weights, ridge)
    V = design.V / max(1.0, math.sqrt(columns.lengths(design.V).max()))
    gap = max(abs(1.0 - dual_value(V, ridge) / objective), EPS)
    return Design(V, design.index, design.weights, objective, gap, design.history)
