"""The best k of n columns under a loss that never falls when a column is added: greedy, by swaps, and proven.

Adding a column moves every singular value above 1 up or leaves it, every one below 1 down or leaves it (interlacing),
and the one it brings costs at least g(1) = 1. So the loss of some columns, plus 1 for each still to come, bounds the
loss of every choice that contains them. The rows of a pseudo-inverse grow in the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from math import comb

import numpy as np
from scipy.linalg import qr

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import best_exchange, losses_of_one_more, search_branches
from pellucid._core.threads import run_rows
from pellucid.selection.losses import BASIS_PURSUIT, column_lengths, log_loss, log_symmetric_length

# losses (as logarithms) closer than this are equal: round-off must not decide between ties
EQUAL = 1e-12
# random starts where the best choice could not be proven
RESTARTS = 8


@contextmanager
def time_limit(seconds: float | None) -> Iterator[Ints]:
    """A flag that is set when so many seconds are over; the kernels look at it."""
    halt = np.zeros(1, dtype=np.int64)
    if seconds is None:
        yield halt
        return
    timer = threading.Timer(max(seconds, 0.0), halt.__setitem__, (0, 1))
    timer.daemon = True
    timer.start()
    try:
        yield halt
    finally:
        timer.cancel()


@dataclass(frozen=True)
class Choice:
    """Columns, the logarithm of their loss, losses computed on the way, and what no choice has less than (a
    logarithm)."""

    columns: Ints
    log_loss: float
    evaluated: int
    log_bound: float = -np.inf

    @property
    def proven(self) -> bool:
        """Whether no choice is better."""
        return self.log_bound >= self.log_loss - EQUAL


@dataclass(frozen=True)
class Objective:
    """What is minimised: the loss of ``size`` of the columns, which stand in the rows (n, D); ``floor`` is the least
    that one more column adds, and a search ends with what it has once ``halt`` is set."""

    columns: Floats
    size: int
    kind: int
    power: float
    floor: float
    halt: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    def of(self, chosen: Ints) -> float:
        return float(log_loss(self.columns, chosen[None], self.kind, self.power)[0])


def greedy(objective: Objective) -> Choice:
    """Paper 5's GreedySearch: the column that makes the loss of all so far the smallest, the first of equal ones."""
    n, size = len(objective.columns), objective.size
    chosen = np.zeros(size, dtype=np.int64)
    for count in range(size):
        losses = _losses_of_one_more(objective, chosen[:count])
        if objective.halt[0]:
            rest = pivots(objective)
            chosen[count:] = rest[~np.isin(rest, chosen[:count])][: size - count]
            break
        losses[chosen[:count]] = np.inf
        if np.isinf(losses.min()):  # all are as bad as can be: the first new one
            losses[np.setdiff1d(np.arange(n), chosen[:count])[0]] = 0.0
        chosen[count] = int(np.argmax(losses <= losses.min() + EQUAL))
    loss = objective.of(chosen)
    return Choice(chosen, loss, n * size, loss if size <= 1 and not objective.halt[0] else -np.inf)


def pivots(objective: Objective) -> Ints:
    """All columns in the order in which a QR factorisation takes them, the one first that sticks out most from those
    before it: what there is time for where there is time for nothing."""
    columns = objective.columns.T
    if objective.kind != BASIS_PURSUIT:  # whose columns come normalised
        lengths = column_lengths(columns)
        logs = log_symmetric_length(lengths, objective.power)
        columns = columns * np.divide(np.exp(logs.min() - logs), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(qr(columns, mode="r", pivoting=True)[1], dtype=np.int64)


def _losses_of_one_more(objective: Objective, chosen: Ints) -> Floats:
    """Logarithms of the losses of the chosen columns and each one."""
    losses = np.empty(len(objective.columns))

    def part(start: int, stop: int) -> None:
        losses_of_one_more(
            objective.columns, chosen, objective.kind, objective.power, start, stop, objective.halt, losses
        )

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
    return Choice(best, best_loss, seen, best_loss)


def swap(objective: Objective, start: Ints, max_evaluations: int) -> Choice:
    """Exchange one column for another while that helps; the best exchange each time."""
    chosen = np.array(start, dtype=np.int64)
    now, seen, places = objective.of(chosen), 1, np.zeros(2, dtype=np.int64)
    while seen < max_evaluations and not objective.halt[0]:
        found = best_exchange(objective.columns, chosen, objective.kind, objective.power, objective.halt, places)
        seen += objective.size * (len(objective.columns) - objective.size)
        if not found < now - EQUAL:
            break
        chosen[places[0]], now = places[1], found
    return Choice(np.sort(chosen), now, seen)


def branch_and_bound(objective: Objective, start: Choice, max_evaluations: int) -> Choice:
    """Better than ``start``, or the proof that there is nothing better, within so many losses."""
    if objective.size == len(objective.columns):
        everything = np.arange(objective.size)
        loss = objective.of(everything)
        return Choice(everything, loss, 1, loss)
    best, value = start.columns.copy(), np.array([start.log_loss, -np.inf])
    seen = search_branches(
        objective.columns,
        objective.kind,
        objective.power,
        objective.floor,
        EQUAL,
        max_evaluations,
        objective.halt,
        best,
        value,
    )
    return Choice(np.sort(best), float(value[0]), seen + start.evaluated, float(value[1]))


def best_choice(
    objective: Objective,
    max_evaluations: int,
    rng: np.random.RandomState,
    starts: tuple[Ints, ...] = (),
    halt_proof: Ints | None = None,
) -> Choice:
    """Greedy and swaps for a good start, then branch and bound as far as it is allowed (``halt_proof`` ends that
    alone); if it does not finish, swaps from there and from random starts."""
    first = [greedy(objective).columns, *starts]
    tried = [swap(objective, start, max_evaluations) for start in first]
    incumbent = min(tried, key=lambda choice: choice.log_loss)
    proving = objective if halt_proof is None else replace(objective, halt=halt_proof)
    proven = branch_and_bound(proving, incumbent, max_evaluations)
    if proven.proven:
        return proven
    restarts = [rng.permutation(len(objective.columns))[: objective.size] for _ in range(RESTARTS)]
    tried = [proven, *(swap(objective, start, max_evaluations) for start in (proven.columns, *restarts))]
    found = min(tried, key=lambda choice: choice.log_loss)
    evaluated = sum(choice.evaluated for choice in tried)
    return Choice(found.columns, found.log_loss, evaluated, min(proven.log_bound, found.log_loss))
