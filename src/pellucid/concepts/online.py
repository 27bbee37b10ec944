"""Cones by online dictionary learning: codes of a batch, sums that forget slowly, every atom to its optimum for them.

For each batch the codes A, least of ½‖x − aB‖² + α‖x‖·Σa over a ≥ 0, go into P ← βP + AᵀA and R ← βR + AᵀX, and every
atom moves once to b_m + (R_m − P_m B)/P_mm, up to length (Mairal et al. 2010, with the cones of paper 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.arrays import Floats, unit_rows
from pellucid.concepts.learning import Learner
from pellucid.concepts.presence import cosine_spread
from pellucid.concepts.sums import SPARSE_ATOMS, CodeSums, code_sums, reseed, turn_atoms
from pellucid.concepts.sweeps import Learned, Sizes, Sweeps
from pellucid.rows import Blocks

# rows that a concept has in a batch, about, and rows of a batch at least
MEMBERS, LEAST_ROWS = 32, 128
# batches of a pass, at most: of more rows a batch holds more
BATCHES = 20
# parts that go into a batch together, if there are several times as many: so many workers are busy at a time
PARTS = 4
# after t batches the sums remember about t / MEMORY of them
MEMORY = 20.0
# α, as a share of the standard deviation of the cosines of two rows, and at most
SPARSITY_SHARE, MOST_SPARSITY = 0.5, 0.1
# rows whose cosines are looked at
COSINE_ROWS = 1000
# a fit ends when the error improves by less than this share
TOL = 2e-3
# where the number of atoms is to be found: so many are learned, and those stay that hold this share of what a concept's
# codes hold
ATOMS, LEAST_SHARE = 10, 0.05


@dataclass
class Streamed(Learned):
    """A fit by batches under way: P, R, the batches seen, and what α is."""

    grams: Any = None
    products: Any = None
    seen: int = 0
    sparsity: float = 0.0


class OnlineSweeps(Sweeps):
    """A sweep is a pass over all rows in batches, drawn anew each time: rows in memory at random, of blocks whole
    parts."""

    # the concept whose atoms may move, if not all may
    only: int | None = None
    memory = MEMORY

    def begin(self, size: Sizes, init: str, rng: np.random.RandomState) -> Streamed:
        """Atoms to start from, and the error of the first batch."""
        atoms, groups = self.initial(size, init, rng)
        M, d = atoms.shape
        nothing = np.zeros((M, M)) if M < SPARSE_ATOMS else sparse.csr_array((M, M))
        state = Streamed(atoms, groups, [], np.inf, grams=nothing, products=np.zeros((M, d)))
        learner = self.make(atoms, groups)
        state.sparsity, state.unseen = learner.sparsity, self.unseen(learner)
        first = self._batches(rng)[0]
        sums = self._sums(learner, first)
        rows = len(first) if self.X.array is not None else sum(self.both.parts[i].rows for i in first)
        state.history.append((sums.error + sums.price + learner.ridge * float(sums.grams.diagonal().sum())) / rows)
        return state

    def sweep(self, state: Learned, rng: np.random.RandomState) -> Streamed:
        """The state after one more pass. Its error is that of every batch before the atoms learned from it."""
        assert isinstance(state, Streamed)
        learner = self.make(state.atoms.copy(), state.groups)
        grams, products, seen = state.grams, state.products, state.seen
        error, used = 0.0, np.zeros(len(state.atoms))
        for rows in self._batches(rng):
            sums = self._sums(learner, rows)
            seen += 1
            keep = 1 - 1 / (1 + seen / self.memory)
            grams, products = keep * grams + sums.grams, keep * products + sums.products
            B = learner.atoms.astype(np.float64)
            turn_atoms(grams, products, B, learner.groups, self.only)
            learner.atoms = B.astype(learner.atoms.dtype)
            use = sums.grams.diagonal()
            used += use
            error += sums.error + sums.price + learner.ridge * float(use.sum())
        idle, given = used == 0, []
        if self.only is not None:
            idle &= learner.groups == self.only
        if idle.any():
            B = learner.atoms.astype(np.float64)
            given = reseed(B, idle, learner.groups, self._sums(learner, rows, worst=True))
            learner.atoms = B.astype(learner.atoms.dtype)
            grams, products = forgotten(grams, given), np.where(np.isin(np.arange(len(B)), given)[:, None], 0, products)
        history = [*state.history, error / len(self)]
        new = Streamed(learner.atoms, state.groups, history, self.unseen(learner), len(given),
                       grams=grams, products=products, seen=seen, sparsity=state.sparsity)  # fmt: skip
        if new.unseen > state.unseen:
            new.atoms, new.done = state.atoms, True
        new.done |= settled(history, self.tol)
        return new

    def _batches(self, rng: np.random.RandomState) -> list[NDArray[np.int64]]:
        """Numbers of the rows of each batch, or of its parts."""
        if self.X.array is None:
            count, groups = len(self.both.parts), self._groups_of_parts()
        else:
            count = len(self)
            groups = -(-count // self._batch_rows())
        return [np.sort(numbers) for numbers in np.array_split(rng.permutation(count), groups)]

    def _sums(self, learner: Learner, numbers: NDArray[np.int64], worst: bool = False) -> CodeSums:
        """The sums of a batch under the atoms that the learner has by now."""
        if self.X.array is None:
            batch = self.both.like([self.both.parts[i] for i in numbers])
            found: CodeSums = batch.total(partial(code_sums, learner, worst=worst))
            return found
        return code_sums(learner, (np.asarray(self.X.array[numbers]), np.asarray(self.Y[numbers])), worst)

    def _batch_rows(self) -> int:
        """So many rows that each concept has some of them, and that a fit is a few hundred batches."""
        if self.batch_size is not None:
            return self.batch_size
        n, members = len(self), max(1.0, float(np.mean(self.members)))
        return int(max(LEAST_ROWS, MEMBERS * n / members, n / BATCHES))

    def _groups_of_parts(self) -> int:
        count = len(self.X.parts)
        together = max(1, -(-count // BATCHES), min(PARTS, count // (2 * PARTS)))
        return -(-count // together)


class OneConcept(OnlineSweeps):
    """A fit of one concept's atoms, from those given, beside atoms of others that stay."""

    def __init__(self, X: Blocks, Y: Any, start: Learner, only: int, tol: float = TOL) -> None:
        super().__init__(X, Y, lambda atoms, groups: replace(start, atoms=atoms, groups=groups), None, False, tol)
        self.start, self.only = start, only
        self.members = self.members[[only]]  # a batch is to have rows of this one

    def initial(self, size: Sizes, init: str, rng: np.random.RandomState) -> tuple[Any, NDArray[np.int64]]:
        """The atoms given."""
        return self.start.atoms, self.start.groups

    def learn(self, passes: int, rng: np.random.RandomState) -> Streamed:
        """Pass after pass, until the error has settled."""
        state = self.begin([], "", rng)
        while not state.done and len(state.history) <= passes:
            state = self.sweep(state, rng)
        return state


def atoms_that_hold(energy: Floats, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which atoms hold ``LEAST_SHARE`` of the energy of their concept's codes: all of a concept that has no codes."""
    total = np.bincount(groups, energy)[groups]
    return np.asarray(energy >= LEAST_SHARE * total)


def settled(history: list[float], tol: float) -> bool:
    """Whether the error hardly changed twice in a row: once may be chance, since every pass has other batches."""
    last = np.array(history[-3:])
    return len(history) > 3 and bool((np.abs(np.diff(last)) <= tol * last[:-1]).all())


def forgotten(grams: Any, atoms: list[int]) -> Any:
    """AᵀA without what it knows of some atoms."""
    if not atoms:
        return grams
    keep = np.ones(grams.shape[0])
    keep[atoms] = 0
    return grams * keep * keep[:, None] if isinstance(grams, np.ndarray) else grams.multiply(keep).multiply(
        keep[:, None]
    ).tocsr()  # fmt: skip


def chosen_sparsity(X: NDArray[Any]) -> float:
    """α for rows of unit length: half of the standard deviation of their cosines, so that an atom takes part in a row
    only if it is nearer to it than rows are by chance."""
    return float(min(MOST_SPARSITY, SPARSITY_SHARE * cosine_spread(unit_rows(np.asarray(X, dtype=np.float64)))))


def taken_step(learner: Learner, X: Floats, Y: NDArray[np.bool_], usage: Floats, seen: int) -> tuple[Floats, CodeSums]:
    """One batch for atoms whose past is known by how much each was used (M,) alone: they are taken to be where that
    past wants them. Overwrites the atoms; gives the new usage."""
    found = code_sums(learner, (X, Y), worst=False)
    keep = 1 - 1 / (1 + (seen + 1) / MEMORY)
    B = learner.atoms.astype(np.float64)
    past = np.diag(keep * usage)
    turn_atoms(past + found.grams, past @ B + found.products, B, learner.groups)
    learner.atoms[:] = B
    return keep * usage + found.grams.diagonal(), found
