"""Codes, clusters and atoms in turn, until nothing changes: no step raises the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.clusters.atoms import update_atoms
from pellucid.clusters.coding import Coder, Floats, Labels, Sums, code_pass, code_rows, sums_of
from pellucid.clusters.model import Dictionary, Penalties, incoherence
from pellucid.clusters.starts import first_atoms

# a sweep that moves fewer rows than this share to another cluster is the last
SETTLED = 5e-4
# how much of the earlier rows a mini-batch step forgets
FORGET = 0.1


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


def sweep(X: NDArray[Any], state: Learned, penalties: Penalties, rng: np.random.RandomState) -> Learned:
    """Every atom, then the codes and cluster of every row."""
    new = begin(X, update_atoms(state.sums, state.dictionary, penalties), state.labels, penalties)
    for c in np.flatnonzero(new.sums.counts == 0):
        filled = begin(X, with_new_atoms(X, new, int(c), penalties, rng), new.labels, penalties)
        if filled.objective[-1] < new.objective[-1]:
            new = filled
    new.objective = state.objective + new.objective
    return new


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


def batch_step(
    X: NDArray[Any], dictionary: Dictionary, sums: Sums | None, penalties: Penalties, forget: float
) -> tuple[Dictionary, Sums, float]:
    """One mini-batch: its codes, then every atom by the sums so far, in which the earlier rows count ``1 − forget``.

    Also returns the batch's cost per row, under the dictionary that it met.
    """
    coded = code_rows(X, Coder(dictionary, penalties, X.dtype), None)
    new = sums_of(X, coded, len(dictionary.atoms))
    cost = new.cost / len(X)
    if sums is not None:
        new.add(sums, 1.0 - forget)
    return update_atoms(new, dictionary, penalties), new, cost
