"""The central path of the dual in :mod:`design`, followed by Newton steps on the D(D+1)/2 entries of V.

Only columns that have once been in the way take part in a step; all of them limit its length, so V is feasible, and its
value a bound, throughout.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError

from pellucid._core.arrays import Floats, Ints
from pellucid._core.jit import kernel
from pellucid.solvers.design import (
    SMALL,
    TOGETHER,
    Columns,
    Design,
    dual_value,
    lengths_under,
    mmap_zeros,
    moment,
    primal_value,
)
from pellucid.solvers.design_newton import directions, small_directions, symmetric_matrices

# a step ends where the nearest constraint keeps this share of its slack
KEPT_SLACK = 0.02
# and this share of the way to a column that has not taken part
RETREAT = 0.7
# columns that would keep less than this share of the usual slack are let in together with those in the way
NEAR = 0.1
# every product of weight and slack stays above this share of their mean
CENTRED = 1e-3
# a step shorter than this leads nowhere
SHORTEST = 1e-8
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
    z = 1.0 - lengths_under(V, W)
    best = start
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
        dV, change, length = _step(V, W, weights, z, towards, away)
        V_new = V + length * dV
        s = columns.lengths(V_new)
        fresh = np.empty(0, dtype=np.int64)
        while s.max() >= 1.0 and length > SHORTEST:  # columns that do not take part are in the way: let them in
            worst = _largest(np.flatnonzero(s >= 1.0 - NEAR * max(0.0, float(np.median(1.0 - s[index])))), s, most)
            length = RETREAT * _first_reached(V, dV, columns.take(worst[s[worst] >= 1.0]))
            V_new = V + length * dV
            s = columns.lengths(V_new)
            fresh = np.union1d(fresh, worst)
        if length <= SHORTEST:  # at the boundary to within round-off
            break
        V, weights = V_new, weights + length * change
        if index.size < columns.count:
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
        if gap <= tol or z.min() <= 1e-15:
            break
    return best


def _start(columns: Columns, ridge: float, most: int, everyone: bool) -> Design:
    """A feasible V: that power of the columns' second moment whose value is the best, as close to the constraints as
    still allows a good step; the columns nearest to theirs take part, all if they are few."""
    values, vectors = np.linalg.eigh(columns.moment() / columns.count)
    best = -np.inf
    for power in (0.0, -0.5, -1.0):
        trial = (vectors * np.maximum(values, 1e-3 * values[-1]) ** power) @ vectors.T
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
        inside, weights = _inside(V, W, ridge, slack)
        start = Design(inside, index, weights, np.inf, np.inf, ())
        if slack >= 0.5:
            return start
        z = 1.0 - lengths_under(inside, W)
        part = Columns(W)
        if columns.dimension > SMALL:
            del W
            part = columns.subset(index)
        towards, away = directions(inside, part, weights, 2 * weights / z, 1 / z, ridge, INEXACT)
        W = columns.take(index)
        if _step(inside, W, weights, z, towards, away)[2] >= TIMID:
            return start
        slack = min(0.5, BACK * slack)


@kernel
def _inside(V: Floats, W: Floats, ridge: float, slack: float) -> tuple[Floats, Floats]:
    """V shrunk until no column has less slack than this, and the weights that go with it on the central path."""
    V = V * np.sqrt(1.0 - slack)
    if ridge:  # past 1/λ the dual falls again
        V = V * min(1.0, 0.5 / (ridge * np.linalg.norm(V, 2)))
    weights = 1.0 / (1.0 - lengths_under(V, W))
    total = (V * moment(W, weights, 0.0)).sum()
    return V, weights * ((len(V) - ridge * np.trace(V)) / total)


def _follow_few(W: Floats, ridge: float, tol: float, max_iter: int, start: Design | None) -> Design:
    """The path where all columns take part from the start, in compiled pieces: the steps cost less than the calls that
    make them up."""
    V, weights = _start_of_few(W, ridge) if start is None else (start.V, start.weights)
    V, weights, least, gap, history = _path_of_few(
        V, W, weights, ridge, tol, max_iter, *symmetric_matrices(len(W)).basis
    )
    if start is not None:
        if gap >= start.gap:
            return start
        history = np.concatenate([start.history, history])
    return Design(V, np.arange(W.shape[1]), weights, least, gap, tuple(history.tolist()))


@kernel
def _start_of_few(W: Floats, ridge: float) -> tuple[Floats, Floats]:
    """As :func:`_start`."""
    values, vectors = np.linalg.eigh(W @ W.T / W.shape[1])
    V = np.eye(len(W))
    best = -np.inf
    for power in (0.0, -0.5, -1.0):
        trial = (vectors * np.maximum(values, 1e-3 * values[-1]) ** power) @ vectors.T
        trial /= np.sqrt(lengths_under(trial, W).max())
        if np.trace(trial) > best:
            best, V = np.trace(trial), trial
    return _inside(V, W, ridge, 0.5)


@kernel
def _path_of_few(
    V: Floats,
    W: Floats,
    weights: Floats,
    ridge: float,
    tol: float,
    max_iter: int,
    first: Ints,
    second: Ints,
    factor: Floats,
) -> tuple[Floats, Floats, float, float, Floats]:
    """The point of the least gap, its objective and gap, and the objective after each step."""
    history = np.empty(max_iter)
    z = 1.0 - lengths_under(V, W)
    best_V, best_weights, least, best, taken = V, weights, np.inf, np.inf, 0
    while taken < max_iter:
        towards, away, solved = small_directions(V, W, weights, 2 * weights / z, 1 / z, ridge, first, second, factor)
        if not solved:  # in this precision: the last point is as good as it gets
            break
        dV, change, length = _step(V, W, weights, z, towards, away)
        V, weights = V + length * dV, weights + length * change
        z = 1.0 - lengths_under(V, W)
        if length <= SHORTEST or z.min() <= 0:  # at the boundary to within round-off
            break
        objective = primal_value(W, weights, ridge)
        history[taken] = objective
        taken += 1
        gap = max(0.0, 1.0 - dual_value(V, ridge) / objective)
        if gap < best:
            best_V, best_weights, least, best = V, weights, objective, gap
        if gap <= tol or z.min() <= 1e-15:
            break
    return best_V, best_weights, least, best, history[:taken]


@kernel
def _step(
    V: Floats, W: Floats, weights: Floats, z: Floats, towards: Floats, away: Floats
) -> tuple[Floats, Floats, float]:
    """Direction of V and of the weights for a μ that a trial step towards μ = 0 suggests, and how far to go: inside
    all constraints of these columns, and not too far from the central path."""
    n = len(z)
    mu = 0.0
    for p in range(n):
        mu += weights[p] * z[p] / n
    dV = towards
    target = 0.0
    change = np.empty(n)
    for attempt in range(2):
        if attempt:
            dV = towards - target * away
        square, cross = _ahead(V, dV, W)
        length = 1.0
        for p in range(n):
            change[p] = (target - weights[p] * z[p] + 2 * weights[p] * cross[p]) / z[p]
            length = min(length, (1 - KEPT_SLACK) * reach(square[p], cross[p], z[p]))
            if change[p] < 0:
                length = min(length, -0.995 * weights[p] / change[p])
        if attempt == 0:
            reached = 0.0
            for p in range(n):
                reached += (weights[p] + length * change[p]) * (z[p] - length * (2 * cross[p] + length * square[p])) / n
            target = mu * max(min(1.0, abs(reached) / mu) ** 3, 1e-6)
    for _ in range(30):
        least, mean = np.inf, 0.0
        for p in range(n):
            product = (weights[p] + length * change[p]) * (z[p] - length * (2 * cross[p] + length * square[p]))
            least = min(least, product)
            mean += product / n
        if least >= CENTRED * mean:
            break
        length *= 0.8
    return dV, change, length


@kernel
def _ahead(V: Floats, dV: Floats, W: Floats) -> tuple[Floats, Floats]:
    """‖dV w_p‖² and ⟨V w_p, dV w_p⟩ of every column, few columns at a time."""
    n = W.shape[1]
    square, cross = np.zeros(n), np.zeros(n)
    for start in range(0, n, TOGETHER):
        part = np.ascontiguousarray(W[:, start : start + TOGETHER])
        now, ahead = V @ part, dV @ part
        for k in range(len(V)):
            for p in range(part.shape[1]):
                square[start + p] += ahead[k, p] * ahead[k, p]
                cross[start + p] += now[k, p] * ahead[k, p]
    return square, cross


@kernel
def reach(square: float, cross: float, slack: float) -> float:
    """The t > 0 at which slack − 2t·cross − t²·square = 0."""
    root = np.sqrt(max(cross * cross + square * slack, 0.0))
    if cross > 0:
        return float(slack / (cross + root))
    return float((root - cross) / square) if square > 0 else np.inf


def _first_reached(V: Floats, dV: Floats, W: Floats) -> float:
    """The t at which the first of these columns meets ‖(V + t dV)w‖ = 1."""
    return min(map(reach, *_ahead(V, dV, W), 1.0 - lengths_under(V, W)))


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
