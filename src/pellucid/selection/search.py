"""The best k of n columns under a loss that never falls when a column is added: greedy, by swaps, and proven.

Adding a column moves every singular value above 1 up or leaves it, every one below 1 down or leaves it (interlacing),
and the one it brings costs at least g(1) = 1. So the loss of some columns, plus 1 for each still to come, bounds the
loss of every choice that contains them. The rows of a pseudo-inverse grow in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from math import comb

import numpy as np

from pellucid._core.arrays import Floats, Ints
from pellucid._core.jit import kernel
from pellucid._core.threads import run_rows
from pellucid.selection.losses import log_loss

# losses (as logarithms) closer than this are equal: round-off must not decide between ties
EQUAL = 1e-12
# random starts where the best choice could not be proven
RESTARTS = 8


@dataclass(frozen=True)
class Choice:
    """Columns, the logarithm of their loss, losses computed on the way, and whether none is better."""

    columns: Ints
    log_loss: float
    evaluated: int
    proven: bool


@dataclass(frozen=True)
class Objective:
    """What is minimised: the loss of ``size`` of the columns, which stand in the rows (n, D); ``floor`` is the least
    that one more column adds."""

    columns: Floats
    size: int
    kind: int
    power: float
    floor: float

    def of(self, chosen: Ints) -> float:
        return float(log_loss(self.columns, chosen, len(chosen), self.kind, self.power))


def greedy(objective: Objective) -> Choice:
    """Paper 5's GreedySearch: the column that makes the loss of all so far the smallest, the first of equal ones."""
    n, size = len(objective.columns), objective.size
    chosen = np.zeros(size, dtype=np.int64)
    for count in range(size):
        losses = np.empty(n)
        run_rows(partial(_children, losses, objective.columns, chosen, count, objective.kind, objective.power), n)
        losses[chosen[:count]] = np.inf
        if np.isinf(losses.min()):  # all are as bad as can be: the first new one
            losses[np.setdiff1d(np.arange(n), chosen[:count])[0]] = 0.0
        chosen[count] = int(np.argmax(losses <= losses.min() + EQUAL))
    return Choice(chosen, objective.of(chosen), n * size, size <= 1)


def exhaustive(objective: Objective, max_evaluations: int, chunk: int = 4096) -> Choice:
    """Paper 5's BruteSearch: every subset, many at a time."""
    total = comb(len(objective.columns), objective.size)
    if total > max_evaluations:
        raise ValueError(
            f"There are {total} subsets of {objective.size} of {len(objective.columns)} columns, more than "
            f"max_subsets={max_evaluations}; use branch and bound or swaps."
        )
    best, best_loss, seen = np.arange(objective.size), np.inf, 0
    subsets = combinations(range(len(objective.columns)), objective.size)
    while block := list(islice(subsets, chunk)):
        index = np.array(block, dtype=np.int64)
        losses = _every(objective.columns, index, objective.kind, objective.power)
        at = int(np.argmin(losses))
        if losses[at] < best_loss - EQUAL:
            best, best_loss = index[at], float(losses[at])
        seen += len(index)
    return Choice(best, best_loss, seen, True)


def swap(objective: Objective, start: Ints, max_evaluations: int) -> Choice:
    """Exchange one column for another while that helps; the best exchange each time."""
    chosen = np.array(start, dtype=np.int64)
    now, seen = objective.of(chosen), 1
    while seen < max_evaluations:
        found, out, into = _best_swap(objective.columns, chosen, objective.kind, objective.power)
        seen += objective.size * (len(objective.columns) - objective.size)
        if not found < now - EQUAL:
            break
        chosen[out], now = into, found
    return Choice(np.sort(chosen), now, seen, False)


def branch_and_bound(objective: Objective, start: Choice, max_evaluations: int) -> Choice:
    """Better than ``start``, or the proof that there is nothing better, within so many losses."""
    best = start.columns.copy()
    if objective.size == len(objective.columns):
        return Choice(np.arange(objective.size), objective.of(np.arange(objective.size)), 1, True)
    value, seen, done = _branch(
        objective.columns,
        objective.size,
        objective.kind,
        objective.power,
        objective.floor,
        best,
        start.log_loss,
        max_evaluations,
    )
    return Choice(np.sort(best), float(value), int(seen) + start.evaluated, bool(done))


def best_choice(
    objective: Objective, max_evaluations: int, rng: np.random.RandomState, starts: tuple[Ints, ...] = ()
) -> Choice:
    """Greedy and swaps for a good start, then branch and bound as far as it is allowed; if that does not finish, swaps
    from there and from random starts."""
    first = [greedy(objective).columns, *starts]
    tried = [swap(objective, start, max_evaluations) for start in first]
    incumbent = min(tried, key=lambda choice: choice.log_loss)
    proven = branch_and_bound(objective, incumbent, max_evaluations)
    if proven.proven:
        return proven
    restarts = [rng.permutation(len(objective.columns))[: objective.size] for _ in range(RESTARTS)]
    tried = [proven, *(swap(objective, start, max_evaluations) for start in (proven.columns, *restarts))]
    found = min(tried, key=lambda choice: choice.log_loss)
    return Choice(found.columns, found.log_loss, sum(choice.evaluated for choice in tried), False)


@kernel
def _children(
    losses: Floats, columns: Floats, chosen: Ints, count: int, kind: int, power: float, start: int, stop: int
) -> None:
    """Loss of the chosen columns and each other one."""
    trial = np.empty(count + 1, dtype=np.int64)
    trial[:count] = chosen[:count]
    for p in range(start, stop):
        trial[count] = p
        losses[p] = log_loss(columns, trial, count + 1, kind, power)


@kernel
def _every(columns: Floats, subsets: Ints, kind: int, power: float) -> Floats:
    losses = np.empty(len(subsets))
    for i in range(len(subsets)):
        losses[i] = log_loss(columns, subsets[i], subsets.shape[1], kind, power)
    return losses


@kernel
def _best_swap(columns: Floats, chosen: Ints, kind: int, power: float) -> tuple[float, int, int]:
    size = len(chosen)
    inside = np.zeros(len(columns), dtype=np.bool_)
    inside[chosen] = True
    trial = chosen.copy()
    best, best_out, best_in = np.inf, 0, chosen[0]
    for out in range(size):
        for p in range(len(columns)):
            if inside[p]:
                continue
            trial[out] = p
            found = log_loss(columns, trial, size, kind, power)
            if found < best:
                best, best_out, best_in = found, out, p
        trial[out] = chosen[out]
    return best, best_out, best_in


@kernel
def _branch(
    columns: Floats,
    size: int,
    kind: int,
    power: float,
    floor: float,
    best: Ints,
    best_loss: float,
    max_evaluations: int,
) -> tuple[float, int, bool]:
    """Depth first, the most promising column first. At each node the columns still open are sorted by the loss they
    would make; one of the ``left`` columns to come is at least the left-th of them, which bounds the node."""
    n = len(columns)
    open_columns = np.empty((size, n), dtype=np.int64)
    open_losses = np.empty((size, n))
    open_count = np.zeros(size, dtype=np.int64)
    cursor = np.zeros(size, dtype=np.int64)
    chosen = np.zeros(size, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    seen = 0
    depth = 0
    for p in range(n):
        open_columns[0, p] = p
    open_count[0] = n
    fresh = True
    while depth >= 0:
        left = size - depth  # columns still to choose at this node
        if fresh:  # losses of the open columns, those beyond the bound dropped, sorted
            kept = 0
            for i in range(open_count[depth]):
                chosen[depth] = open_columns[depth, i]
                loss = log_loss(columns, chosen, depth + 1, kind, power)
                seen += 1
                if _bound(loss, left - 1, floor) < best_loss - EQUAL:
                    open_columns[depth, kept], open_losses[depth, kept] = chosen[depth], loss
                    kept += 1
            open_count[depth], cursor[depth] = kept, 0
            order[:kept] = np.argsort(open_losses[depth, :kept], kind="mergesort")
            open_losses[depth, :kept] = open_losses[depth, :kept][order[:kept]]
            open_columns[depth, :kept] = open_columns[depth, :kept][order[:kept]]
            if depth == size - 1:
                if kept:
                    chosen[depth] = open_columns[depth, 0]
                    best[:] = chosen
                    best_loss = open_losses[depth, 0]
                open_count[depth] = 0
            fresh = False
            if seen > max_evaluations:
                return best_loss, seen, False
        at = cursor[depth]
        # the columns to come are this one and left − 1 later ones, of which one is no better than the last of them
        if (
            at + left > open_count[depth]
            or _bound(open_losses[depth, at + left - 1], left - 1, floor) >= best_loss - EQUAL
        ):
            depth -= 1
            continue
        chosen[depth] = open_columns[depth, at]
        cursor[depth] += 1
        for i in range(at + 1, open_count[depth]):
            open_columns[depth + 1, i - at - 1] = open_columns[depth, i]
        open_count[depth + 1] = open_count[depth] - at - 1
        depth += 1
        fresh = True
    return best_loss, seen, True


@kernel
def _bound(loss: float, to_come: int, floor: float) -> float:
    """log(exp(loss) + to_come·floor)."""
    if to_come == 0 or floor == 0.0:
        return loss
    more = np.log(to_come * floor)
    return float(max(loss, more) + np.log1p(np.exp(-abs(loss - more))))
