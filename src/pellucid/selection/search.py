"""The best k of n columns under a loss that never falls when a column is added: greedy, by swaps, and proven.

Adding a column moves every singular value above 1 up or leaves it, every one below 1 down or leaves it (interlacing),
and the one it brings costs at least g(1) = 1. So the loss of some columns, plus 1 for each still to come, bounds the
loss of every choice that contains them. The rows of a pseudo-inverse grow in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import best_exchange, losses_of_one_more, search_branches
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
        return float(log_loss(self.columns, chosen[None], self.kind, self.power)[0])


def greedy(objective: Objective) -> Choice:
    """Paper 5's GreedySearch: the column that makes the loss of all so far the smallest, the first of equal ones."""
    n, size = len(objective.columns), objective.size
    chosen = np.zeros(size, dtype=np.int64)
    for count in range(size):
        losses = _losses_of_one_more(objective, chosen[:count])
        losses[chosen[:count]] = np.inf
        if np.isinf(losses.min()):  # all are as bad as can be: the first new one
            losses[np.setdiff1d(np.arange(n), chosen[:count])[0]] = 0.0
        chosen[count] = int(np.argmax(losses <= losses.min() + EQUAL))
    return Choice(chosen, objective.of(chosen), n * size, size <= 1)


def _losses_of_one_more(objective: Objective, chosen: Ints) -> Floats:
    """Logarithms of the losses of the chosen columns and each one."""
    losses = np.empty(len(objective.columns))

    def part(start: int, stop: int) -> None:
        losses_of_one_more(objective.columns, chosen, objective.kind, objective.power, start, stop, losses)

    run_rows(part, len(losses))
    return losses


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
        losses = log_loss(objective.columns, index, objective.kind, objective.power)
        at = int(np.argmin(losses))
        if losses[at] < best_loss - EQUAL:
            best, best_loss = index[at], float(losses[at])
        seen += len(index)
    return Choice(best, best_loss, seen, True)


def swap(objective: Objective, start: Ints, max_evaluations: int) -> Choice:
    """Exchange one column for another while that helps; the best exchange each time."""
    chosen = np.array(start, dtype=np.int64)
    now, seen, places = objective.of(chosen), 1, np.zeros(2, dtype=np.int64)
    while seen < max_evaluations:
        found = best_exchange(objective.columns, chosen, objective.kind, objective.power, places)
        seen += objective.size * (len(objective.columns) - objective.size)
        if not found < now - EQUAL:
            break
        chosen[places[0]], now = places[1], found
    return Choice(np.sort(chosen), now, seen, False)


def branch_and_bound(objective: Objective, start: Choice, max_evaluations: int) -> Choice:
    """Better than ``start``, or the proof that there is nothing better, within so many losses."""
    if objective.size == len(objective.columns):
        return Choice(np.arange(objective.size), objective.of(np.arange(objective.size)), 1, True)
    best, value = start.columns.copy(), np.array([start.log_loss])
    seen = search_branches(
        objective.columns,
        objective.kind,
        objective.power,
        objective.floor,
        EQUAL,
        max_evaluations,
        best,
        value,
    )
    return Choice(np.sort(best), float(value[0]), seen + start.evaluated, seen <= max_evaluations)


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
