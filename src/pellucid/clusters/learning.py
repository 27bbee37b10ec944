"""Codes, clusters and atoms in turn, until nothing changes: no step raises the objective.

A sweep is one pass over the rows, wherever they are: it leaves the sums that all atoms are improved by, and of each row
its cluster and its cost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from pellucid._core.checkpoint import TRANSIENT, Checkpoint
from pellucid.clusters.atoms import update_atoms
from pellucid.clusters.coding import Coder, Floats, Sums, code_pass, code_rows, row_blocks, sums_of
from pellucid.clusters.objective import Dictionary, Penalties, incoherence
from pellucid.clusters.starts import Start, first_atoms, moments
from pellucid.rows import Blocks
from pellucid.rows.batches import batches
from pellucid.rows.blocks import parts_with
from pellucid.rows.fitting import first_state, fold, run
from pellucid.rows.parts import within

# a sweep that moves fewer rows than this share to another cluster is the last
SETTLED = 2e-3
# how much of the earlier rows a mini-batch step forgets
FORGET = 0.1
NO_LABELS = np.empty(0, dtype=np.uint8)


@dataclass
class Learned:
    """How far one start has come.

    objective : at the start and after each sweep; of mini-batches the mean cost of a row as it was met, NaN at first
    sums : of all rows; of mini-batches those so far
    labels, costs : (n,) of each row; empty with mini-batches. Costs serve within a sweep
    moved : share of the rows that the last sweep brought to another cluster
    done : whether it is settled
    """

    dictionary: Dictionary
    sums: Sums
    labels: NDArray[Any]
    objective: list[float]
    moved: float = 1.0
    done: bool = False
    costs: Floats = field(default_factory=lambda: np.empty(0), metadata=TRANSIENT)

    def said(self) -> str:
        if not len(self.labels):
            return f"cost of a row {self.objective[-1]:.5g}"
        return f"objective {self.objective[-1]:.5g}, {self.moved:.2%} of the rows moved"


@dataclass
class Fit:
    """A fit under way: the start that is being refined, the best of those before, and those that wait; with the
    modularity of the partitions that all were chosen from."""

    now: Learned
    best: Learned | None
    waiting: list[Start]
    modularity: Floats | None

    def better(self) -> Learned:
        return self.now if self.best is None or self.now.objective[-1] < self.best.objective[-1] else self.best


# the dataclasses that a checkpoint of a fit is made of
KINDS = (Fit, Learned, Dictionary, Sums, Start)


@dataclass(frozen=True)
class Schedule:
    """How rows are gone through, and how long: sweeps at most, and the least fall of the objective."""

    max_iter: int
    tol: float
    batch_size: int | None
    verbose: int


def learn(
    X: Blocks,
    starts: Callable[[], tuple[list[Start], Floats | None]],
    penalties: Penalties,
    schedule: Schedule,
    rng: np.random.RandomState,
    kept: Checkpoint | None = None,
) -> tuple[Learned, Floats | None]:
    """Every start refined, one after the other, and the one of the lowest objective; of mini-batches the first. Then
    the modularity of the partitions that were found to start from."""

    def begin_fit() -> Fit:
        found, modularity = starts()
        first, *others = found if schedule.batch_size is None else found[:1]
        return Fit(begun(first), None, others, modularity)

    def begun(start: Start) -> Learned:
        dictionary = start.dictionary.astype(X.dtype)
        if schedule.batch_size is not None:
            return Learned(dictionary, Sums.zero(dictionary), NO_LABELS, [np.nan])
        return begin(X, dictionary, start.labels, penalties)

    def ended(fit: Fit) -> bool:
        return fit.now.done or len(fit.now.objective) > schedule.max_iter

    def step(fit: Fit) -> Fit:
        if ended(fit):
            return Fit(begun(fit.waiting[0]), fit.better(), fit.waiting[1:], fit.modularity)
        if schedule.batch_size is None:
            return replace(fit, now=settling(fit.now, sweep(X, fit.now, penalties, rng), schedule.tol))
        return replace(fit, now=batch_sweep(X, fit.now, penalties, schedule.batch_size, schedule.tol, rng))

    first = first_state(begin_fit, kept)
    fit, stopped = run(
        first,
        step,
        lambda fit: ended(fit) and not fit.waiting,
        kept=kept,
        bar=("clustering", schedule.max_iter * (1 + len(first.waiting)), schedule.verbose),
        say=lambda fit: fit.now.said(),
        stopped=lambda fit: f"Stopped after {len(fit.now.objective) - 1} sweeps; what was learned is usable.",
        stacklevel=5,
    )
    best = fit.better()
    if not (best.done or stopped) and schedule.tol > 0 and schedule.batch_size is None:
        fell = (best.objective[-2] - best.objective[-1]) / max(best.objective[-2], 1e-300)
        warnings.warn(
            f"CommonalityClustering made {schedule.max_iter} sweeps and still moved {best.moved:.2%} of the rows, the "
            f"objective falling by {fell:.1e} of itself in the last; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return best, fit.modularity


# sweeps


def begin(X: Blocks, dictionary: Dictionary, labels: NDArray[Any] | None, penalties: Penalties) -> Learned:
    """Codes and clusters of all rows under a dictionary: one pass. ``labels`` are where rows are looked for first."""
    sums, found, costs = Sums.zero(dictionary), [], []
    guesses = None if labels is None else X.split(labels)
    for part, mine, spent in X.each(partial(part_codes, dictionary, penalties), guesses):
        sums.add(part)
        found.append(mine)
        costs.append(spent)
    value = sums.cost + incoherence(dictionary, penalties)
    return Learned(dictionary, sums, np.concatenate(found), [value], costs=np.concatenate(costs))


def part_codes(
    dictionary: Dictionary,
    penalties: Penalties,
    blocks: Iterator[NDArray[Any]],
    guesses: tuple[NDArray[Any]] | None = None,
) -> tuple[Sums, NDArray[Any], Floats]:
    """Sums of a part, and the clusters of its rows, a byte each if there are few, with their costs."""
    sums, labels, costs = Sums.zero(dictionary), [], []
    coder, start = None, 0
    for block in blocks:
        coder = coder or Coder(dictionary, penalties, block.dtype)
        guess = None if guesses is None else guesses[0][start : start + len(block)].astype(np.int64)
        part, found, spent = code_pass(block, coder, guess)
        sums.add(part)
        labels.append(found.astype(np.min_scalar_type(coder.C - 1)))
        costs.append(spent)
        start += len(block)
    return sums, np.concatenate(labels), np.concatenate(costs)


def sweep(X: Blocks, state: Learned, penalties: Penalties, rng: np.random.RandomState) -> Learned:
    """Every atom, then the codes and cluster of every row."""
    new = begin(X, update_atoms(state.sums, state.dictionary, penalties), state.labels, penalties)
    for c in np.flatnonzero(new.sums.counts == 0):
        filled = refilled(X, new, int(c), with_new_atoms(X, new, int(c), penalties, rng), penalties)
        if filled.objective[-1] < new.objective[-1]:
            new = filled
    new.objective = state.objective + new.objective
    return new


def settling(before: Learned, after: Learned, tol: float) -> Learned:
    """The state after a sweep, with whether it was the last that is needed."""
    fell = (before.objective[-1] - after.objective[-1]) / max(before.objective[-1], 1e-300)
    moved = float(np.mean(before.labels != after.labels))
    return replace(after, moved=moved, done=bool(fell <= tol or moved < SETTLED * (tol > 0)))


# a cluster that ran empty


def with_new_atoms(X: Blocks, state: Learned, c: int, penalties: Penalties, rng: np.random.RandomState) -> Dictionary:
    """An empty cluster gets the atoms of the worse explained half of the cluster that costs most."""
    costliest = int(np.argmax(np.bincount(state.labels, state.costs, minlength=len(state.dictionary.atoms))))
    members = np.flatnonzero(state.labels == costliest)
    worst = members[np.argsort(-state.costs[members], kind="stable")][: (len(members) + 1) // 2]
    some, wanted = parts_with(X, np.sort(worst))
    second, first = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for found in some.each(part_moments, wanted):
        second += found[0]
        first += found[1]
    atoms = state.dictionary.atoms.copy()
    atoms[c] = first_atoms(second, first, len(worst), atoms.shape[1], penalties.codes, rng)[0]
    return Dictionary(atoms, state.dictionary.common)


def part_moments(blocks: Iterator[NDArray[Any]], wanted: NDArray[np.int64]) -> tuple[Floats, Floats]:
    found = [moments(block, rows) for block, rows in within(blocks, wanted)]
    return sum(second for second, _ in found), sum(first for _, first in found)  # type: ignore[return-value]


def refilled(X: Blocks, state: Learned, c: int, dictionary: Dictionary, penalties: Penalties) -> Learned:
    """As :func:`begin` where only the atoms of the empty cluster c are others: rows stay, or go there."""
    labels, costs, sums = state.labels.copy(), state.costs.copy(), state.sums.copy()
    passed = X.each(partial(part_refill, state.dictionary, dictionary, c, penalties), X.split(labels, costs))
    for part, (left, came, rows, spent) in zip(X.parts, passed):
        sums.add(left, -1.0)
        sums.add(came)
        labels[part.start + rows], costs[part.start + rows] = c, spent
    sums.clear(sums.counts == 0)
    value = sums.cost + incoherence(dictionary, penalties)
    return Learned(dictionary, sums, labels, [value], costs=costs)


def part_refill(
    before: Dictionary,
    after: Dictionary,
    c: int,
    penalties: Penalties,
    blocks: Iterator[NDArray[Any]],
    known: tuple[NDArray[Any], Floats],
) -> tuple[Sums, Sums, NDArray[np.int64], Floats]:
    """Of the rows that go to cluster c: their sums where they were and where they are, numbers and costs."""
    labels, costs = known
    left, came, numbers, spent = Sums.zero(before), Sums.zero(before), [], []
    alone = Dictionary(after.atoms[c : c + 1], after.common)
    start, old = 0, None
    for block in blocks:
        if old is None:
            old, new = (Coder(atoms, penalties, block.dtype) for atoms in (before, alone))
        for rows in row_blocks(len(block)):
            X = np.asarray(block[rows])
            coded = code_rows(X, new, np.zeros(len(X), dtype=np.int64))
            moved = np.flatnonzero(coded.costs < costs[start : start + len(X)])
            X, coded = X[moved], coded.take(moved)
            coded.labels[:] = c
            left.add(sums_of(X, old.stay(X, labels[start + moved]), old.C))
            came.add(sums_of(X, coded, old.C))
            numbers.append(start + moved)
            spent.append(coded.costs)
            start += rows.stop - rows.start
    return left, came, np.concatenate(numbers), np.concatenate(spent)


# mini-batches


def batch_sweep(
    X: Blocks, state: Learned, penalties: Penalties, size: int, tol: float, rng: np.random.RandomState
) -> Learned:
    """Mini-batches that cover all rows, part after part, and the mean cost of a row as it was met."""
    before = state.dictionary, state.sums, 0.0
    dictionary, sums, spent = fold(X, partial(part_batches, penalties, size), before, rng)
    cost = spent / len(X)
    done = abs(state.objective[-1] - cost) <= max(tol, 1e-3 * (tol > 0)) * cost
    return Learned(dictionary, sums, NO_LABELS, [*state.objective, cost], done=bool(done))


def part_batches(
    penalties: Penalties,
    size: int,
    state: tuple[Dictionary, Sums, float],
    blocks: Iterator[NDArray[Any]],
    rng: np.random.RandomState,
) -> tuple[Dictionary, Sums, float]:
    dictionary, sums, spent = state
    for block in blocks:
        for rows in batches(len(block), size, rng):
            dictionary, sums, cost = batch_step(np.asarray(block[rows]), dictionary, sums, penalties)
            spent += cost * len(rows)
    return dictionary, sums, spent


def batch_step(
    X: NDArray[Any], dictionary: Dictionary, sums: Sums, penalties: Penalties
) -> tuple[Dictionary, Sums, float]:
    """One mini-batch: its codes, then every atom by the sums so far, in which earlier rows count ``1 − FORGET``.

    Also returns the batch's cost per row, under the dictionary that it met.
    """
    coded = code_rows(X, Coder(dictionary, penalties, X.dtype), None)
    new = sums_of(X, coded, len(dictionary.atoms))
    cost = new.cost / len(X)
    new.add(sums, 1.0 - FORGET)
    # in the precision in which a model keeps its atoms, so that what is learned is what is kept
    return update_atoms(new, dictionary, penalties).astype(X.dtype), new, cost
