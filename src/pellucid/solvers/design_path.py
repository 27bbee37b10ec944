"""The central path of the dual in :mod:`design`, followed by Newton steps on the D(D+1)/2 entries of V.

Only columns that have once been in the way take part in a step; all of them limit its length, so V is feasible, and its
value a bound, throughout.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import (
    first_reached,
    path_of_all,
    powers_of_moment,
    primal_value,
    shrink_inside,
    step_along,
)
from pellucid.solvers.design import SMALL, Columns, Design, dual_value, mmap_zeros, squares
from pellucid.solvers.design_newton import directions

# a step ends at this share of the way to a column that has not taken part
RETREAT = 0.7
# columns that would keep less than this share of the usual slack are let in together with those in the way
NEAR = 0.1
# a step shorter than this leads nowhere, and so little slack is round-off
SHORTEST = 1e-8
NO_SLACK = 1e-15
# a column with less than this share of the mean weight may be let go
IDLE = 1e-2
# share of the way to the constraints that a start leaves at least
LEAST_SLACK = 1e-6
# a first step shorter than this means that the start was too close to them; so many times further inside is tried
TIMID = 0.1
BACK = 30.0
# relative residual of a step's equations where they are solved by iteration
INEXACT = 1e-9


def follow_path(
    columns: Columns, ridge: float = 0.0, tol: float = 1e-9, max_iter: int = 200, start: Design | None = None
) -> Design:
    """Solve the dual to a relative gap of ``tol``; the columns must span the space unless ``ridge`` is positive.
    ``start`` is a point on the path from which to go on."""
    most = max(5 * columns.dimension * (columns.dimension + 1) // 8, 256)  # a vertex has four fifths of that
    everyone = columns.count <= max(2 * most, 1000)
    if everyone and columns.copied is not None and columns.dimension <= SMALL:
        return _follow_few(columns.copied, ridge, tol, max_iter, start)
    if start is None:
        start = _start(columns, ridge, most, everyone)
    V, index, weights, history = start.V, start.index, start.weights, start.history
    long = columns.dimension > SMALL
    W = columns.take(index)
    z = 1.0 - squares(V @ W)
    best, dV = start, np.empty_like(V)
    for _ in range(max_iter):
        part = columns.subset(index) if long else Columns(W)
        if long:
            del W  # beside the factor of such a system there is no room for a copy
        try:
            towards, away = directions(V, part, weights, 2 * weights / z, 1 / z, ridge, INEXACT)
        except LinAlgError:  # no longer solvable in this precision: the last point is as good as it gets
            break
        if long:
            W = columns.take(index)
        change = np.empty_like(weights)
        length = step_along(V, W, weights, z, towards, away, dV, change)
        V_new = V + length * dV
        s = columns.lengths(V_new)
        fresh = np.empty(0, dtype=np.int64)
        while s.max() >= 1.0 and length > SHORTEST:  # columns that do not take part are in the way: let them in
            worst = _largest(np.flatnonzero(s >= 1.0 - NEAR * max(0.0, float(np.median(1.0 - s[index])))), s, most)
            length = RETREAT * first_reached(V, dV, columns.take(worst[s[worst] >= 1.0]))
            V_new = V + length * dV
            s = columns.lengths(V_new)
            fresh = np.union1d(fresh, worst)
        if length <= SHORTEST:  # at the boundary to within round-off
            break
        V, weights = V_new, weights + length * change
        if index.size < columns.count and (fresh.size or index.size > most):  # or else the same columns take part
            index, weights = _update_active_columns(index, weights, np.setdiff1d(fresh, index), s, most)
            del W  # before there is another
            W = columns.take(index)
        z = 1.0 - s[index]
        del s
        objective = primal_value(W, weights, ridge)
        history += (objective,)
        gap = max(0.0, 1.0 - dual_value(V, ridge) / objective)
        if gap < best.gap:
            best = Design(V, index, weights, objective, gap, history)
        if gap <= tol or z.min() <= NO_SLACK:
            break
    return best


def _start(columns: Columns, ridge: float, most: int, everyone: bool) -> Design:
    """A feasible V: that power of the columns' second moment whose value is the best, as close to the constraints as
    still allows a good step; the columns nearest to theirs take part, all if they are few."""
    trials = np.empty((3, columns.dimension, columns.dimension))
    powers_of_moment(columns.moment() / columns.count, trials)
    best = -np.inf
    for trial in trials:
        lengths = columns.lengths(trial)
        trial /= np.sqrt(lengths.max())
        lengths /= lengths.max()
        if np.trace(trial) > best:
            best, V, s = float(np.trace(trial)), trial, lengths
        del lengths
    index = np.arange(columns.count) if everyone else _of_largest(s, most)
    W = columns.take(index)
    # at first no further inside than the columns that take part: all others then hardly matter
    slack = 0.5 if ridge or everyone else float(np.clip(1.0 - s[index].min(), LEAST_SLACK, 0.5))
    del s
    while True:
        inside, weights = V.copy(), np.empty(len(index))
        shrink_inside(W, ridge, slack, inside, weights)
        start = Design(inside, index, weights, np.inf, np.inf, ())
        if slack >= 0.5:
            return start
        z = 1.0 - squares(inside @ W)
        part = Columns(W)
        if columns.dimension > SMALL:
            del W
            part = columns.subset(index)
        towards, away = directions(inside, part, weights, 2 * weights / z, 1 / z, ridge, INEXACT)
        W = columns.take(index)
        if step_along(inside, W, weights, z, towards, away, np.empty_like(V), np.empty_like(weights)) >= TIMID:
            return start
        slack = min(0.5, BACK * slack)


def _follow_few(W: Floats, ridge: float, tol: float, max_iter: int, start: Design | None) -> Design:
    """The path where all columns take part from the start, in one kernel: the steps cost less than the calls that make
    them up."""
    dimension, count = W.shape
    if start is None:
        V, weights = np.empty((dimension, dimension)), np.empty(count)
    else:
        V, weights = start.V.copy(), start.weights.copy()
    history, certificate = np.empty(max_iter), np.empty(2)
    taken = path_of_all(W, ridge, tol, start is not None, SHORTEST, NO_SLACK, V, weights, history, certificate)
    objective, gap = certificate.tolist()
    steps = tuple(history[:taken].tolist())
    if start is None:
        return Design(V, np.arange(count), weights, objective, gap, steps)
    return start if gap >= start.gap else Design(V, start.index, weights, objective, gap, start.history + steps)


def _of_largest(s: Floats, most: int) -> Ints:
    """Where the ``most`` largest stand, ascending."""
    order = mmap_zeros(len(s))
    order[:] = s
    order.partition(len(s) - most)
    return np.sort(_largest(np.flatnonzero(s >= order[len(s) - most]), s, most))


def _largest(index: Ints, s: Floats, most: int) -> Ints:
    return index if index.size <= most else index[np.argpartition(-s[index], most)[:most]]


def _update_active_columns(index: Ints, weights: Floats, fresh: Ints, s: Floats, most: int) -> tuple[Ints, Floats]:
    """Let in the ``fresh`` columns with about the weights that the central path would give them, and let go of those
    that have next to none once there are more than ``most``; one that was let go wrongly will be in the way again."""
    mu = float(weights @ (1.0 - s[index])) / len(index)
    keep = weights > IDLE * weights.mean()
    keep[np.argsort(weights)[-most:]] = True
    start = np.minimum(mu / (1.0 - s[fresh]), 0.1 * weights.mean())  # more would upset the others
    joined = np.concatenate([index[keep], fresh])
    order = np.argsort(joined)
    return joined[order], np.concatenate([weights[keep], start])[order]
