"""Codes, clusters and atoms in turn, until nothing changes: no step raises the objective."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from pellucid._core.progress import progress
from pellucid.clusters.atoms import update_atoms
from pellucid.clusters.coding import Coder, Floats, Labels, Sums, code_pass, code_rows, row_blocks, sums_of
from pellucid.clusters.objective import Dictionary, Penalties, incoherence
from pellucid.clusters.starts import first_atoms
from pellucid.rows.batches import batches

# a sweep that moves fewer rows than this share to another cluster is the last
SETTLED = 2e-3
# how much of the earlier rows a mini-batch step forgets
FORGET = 0.1


@dataclass(frozen=True)
class Schedule:
    """How long to go on: sweeps at most, the least fall of the objective, and whether to show a bar."""

    max_iter: int
    tol: float
    verbose: bool


@dataclass
class Learned:
    """A dictionary, the rows' clusters and costs under it, and the objective after each sweep so far."""

    dictionary: Dictionary
    labels: Labels
    costs: Floats
    sums: Sums
    objective: list[float]

    @property
    def n_iter(self) -> int:
        return len(self.objective) - 1


def begin(X: NDArray[Any], dictionary: Dictionary, labels: Labels | None, penalties: Penalties) -> Learned:
    """Codes and clusters of all rows under a first dictionary."""
    sums, found, costs = code_pass(X, Coder(dictionary, penalties, X.dtype), labels)
    return Learned(dictionary, found, costs, sums, [sums.cost + incoherence(dictionary, penalties)])


def descend(
    X: NDArray[Any], state: Learned, penalties: Penalties, schedule: Schedule, rng: np.random.RandomState
) -> tuple[Learned, bool]:
    """Sweeps until the rows have settled; the second value says that the user stopped them."""
    fell = moved = np.inf
    try:
        with progress("clustering", schedule.max_iter, schedule.verbose) as advance:
            for _ in range(schedule.max_iter):
                before, state = state, sweep(X, state, penalties, rng)
                fell = (before.objective[-1] - state.objective[-1]) / max(before.objective[-1], 1e-300)
                moved = float(np.mean(before.labels != state.labels))
                advance(f"objective {state.objective[-1]:.5g}, {moved:.2%} of the rows moved")
                if fell <= schedule.tol or moved < SETTLED * (schedule.tol > 0):
                    return state, False
    except KeyboardInterrupt:
        warnings.warn(f"Stopped after {state.n_iter} sweeps; what was learned is usable.", stacklevel=4)
        return state, True
    if schedule.tol > 0:
        warnings.warn(
            f"CommonalityClustering made {schedule.max_iter} sweeps and still moved {moved:.2%} of the rows, the "
            f"objective falling by {fell:.1e} of itself in the last; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return state, False


def sweep(X: NDArray[Any], state: Learned, penalties: Penalties, rng: np.random.RandomState) -> Learned:
    """Every atom, then the codes and cluster of every row."""
    new = begin(X, update_atoms(state.sums, state.dictionary, penalties), state.labels, penalties)
    for c in np.flatnonzero(new.sums.counts == 0):
        filled = refilled(X, new, int(c), with_new_atoms(X, new, int(c), penalties, rng), penalties)
        if filled.objective[-1] < new.objective[-1]:
            new = filled
    new.objective = state.objective + new.objective
    return new


def refilled(X: NDArray[Any], state: Learned, c: int, dictionary: Dictionary, penalties: Penalties) -> Learned:
    """As :func:`begin` where only the atoms of the empty cluster c are others: rows stay, or go there."""
    before = Coder(state.dictionary, penalties, X.dtype)
    alone = Coder(Dictionary(dictionary.atoms[c : c + 1], dictionary.common), penalties, X.dtype)
    labels, costs, sums = state.labels.copy(), state.costs.copy(), state.sums.copy()
    for rows in row_blocks(len(X)):
        block = np.asarray(X[rows])
        there = code_rows(block, alone, np.zeros(len(block), dtype=np.int64))
        moved = np.flatnonzero(there.costs < costs[rows])
        block, there = block[moved], there.take(moved)
        there.labels[:] = c
        moved += rows.start
        sums.add(sums_of(block, before.stay(block, labels[moved]), before.C), -1.0)
        sums.add(sums_of(block, there, before.C))
        labels[moved], costs[moved] = c, there.costs
    sums.clear(sums.counts == 0)
    return Learned(dictionary, labels, costs, sums, [sums.cost + incoherence(dictionary, penalties)])


def with_new_atoms(
    X: NDArray[Any], state: Learned, c: int, penalties: Penalties, rng: np.random.RandomState
) -> Dictionary:
    """An empty cluster gets the atoms of the worse explained half of the cluster that costs most."""
    largest = int(np.argmax(np.bincount(state.labels, state.costs, minlength=len(state.dictionary.atoms))))
    members = np.flatnonzero(state.labels == largest)
    worst = members[np.argsort(-state.costs[members], kind="stable")][: (len(members) + 1) // 2]
    atoms = state.dictionary.atoms.copy()
    atoms[c] = first_atoms(X, np.sort(worst), atoms.shape[1], penalties.codes, rng)[0]
    return Dictionary(atoms, state.dictionary.common)


def descend_by_batches(
    X: NDArray[Any],
    dictionary: Dictionary,
    batch_size: int,
    penalties: Penalties,
    schedule: Schedule,
    rng: np.random.RandomState,
) -> tuple[Dictionary, Sums | None, list[float]]:
    """Mini-batch steps until the cost hardly changes from sweep to sweep; that cost per row comes last."""
    sums: Sums | None = None
    history: list[float] = []
    try:
        with progress("clustering", schedule.max_iter, schedule.verbose) as advance:
            for _ in range(schedule.max_iter):
                spent = 0.0
                for rows in batches(len(X), min(batch_size, len(X)), rng):
                    dictionary, sums, cost = batch_step(np.asarray(X[rows]), dictionary, sums, penalties)
                    spent += cost * len(rows)
                history.append(spent / len(X))
                advance(f"cost of a row {history[-1]:.5g}")
                least = max(schedule.tol, 1e-3 * (schedule.tol > 0)) * history[-1]
                if len(history) > 1 and abs(history[-2] - history[-1]) <= least:
                    break
    except KeyboardInterrupt:
        warnings.warn(f"Stopped after {len(history)} sweeps; what was learned is usable.", stacklevel=5)
    return dictionary, sums, history


def batch_step(
    X: NDArray[Any], dictionary: Dictionary, sums: Sums | None, penalties: Penalties
) -> tuple[Dictionary, Sums, float]:
    """One mini-batch: its codes, then every atom by the sums so far, in which earlier rows count ``1 − FORGET``.

    Also returns the batch's cost per row, under the dictionary that it met.
    """
    coded = code_rows(X, Coder(dictionary, penalties, X.dtype), None)
    new = sums_of(X, coded, len(dictionary.atoms))
    cost = new.cost / len(X)
    if sums is not None:
        new.add(sums, 1.0 - FORGET)
    # in the precision in which a model keeps its atoms, so that what is learned is what is kept
    return update_atoms(new, dictionary, penalties).astype(X.dtype), new, cost
