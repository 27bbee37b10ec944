"""How a fit of concepts goes through its rows: all at once, in mini-batches, or by sums that blocks bring back.

A block is a pair of rows X (n, d) and their concepts Y (n, S). With codes A fixed, ‖X − AB‖² depends on the rows only
through AᵀA, AᵀX and ‖X‖²; blocks, or machines, can add these up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checkpoint import TRANSIENT
from pellucid.concepts.labels import Indicator, binary
from pellucid.concepts.learning import (
    CANDIDATES,
    Floats,
    Learner,
    Sweep,
    as_many,
    eigenvectors,
    initial_atoms,
    rows_apart,
)
from pellucid.concepts.sums import (
    CodeSums,
    Pair,
    code_sums,
    concept_grams,
    count_members,
    drawn_rows,
    improved_atoms,
    sign_energies,
)
from pellucid.rows import Blocks
from pellucid.rows.fitting import fold

Sizes = Sequence[int] | float

# bytes of Gram matrices that one pass adds up; more concepts than fit take another pass
GRAM_BYTES = 1 << 28
# numbers in the rows that a part sends to choose first atoms among
CANDIDATE_NUMBERS = 1 << 24


@dataclass
class Learned:
    """A fit under way.

    history : mean error of a row at the start and after each sweep
    unseen : that of the validation rows, infinite if there are none
    reseeded : atoms that the last sweep gave a new direction
    codes : of all rows, where they are at hand: the next sweep starts from them
    sums : what a pass for the first error has found for the first sweep
    """

    atoms: Floats
    groups: NDArray[np.int64]
    history: list[float]
    unseen: float
    reseeded: int = 0
    done: bool = False
    codes: Floats | None = None
    sums: CodeSums | None = field(default=None, metadata=TRANSIENT)

    def take_codes(self) -> Floats | None:
        """The codes, which are held here no longer: two arrays of them at once are one too many."""
        codes, self.codes = self.codes, None
        return codes


class Sweeps:
    """One fit's way through rows X and their concepts Y, an array or blocks; ``make`` gives atoms and their concepts a
    :class:`Learner`.

    Rows in memory are taken all at once, if no ``batch_size`` is given. Of blocks, if updates need no more than sums
    (``by_sums``), a sweep is one pass for AᵀA and AᵀX, after which every atom is improved for these codes. All else
    goes through mini-batches: so many rows each, or a block. ``validation`` holds rows and concepts by whose error
    learning ends.
    """

    def __init__(
        self,
        X: Blocks,
        Y: Any,
        make: Callable[..., Learner],
        batch_size: int | None,
        by_sums: bool,
        tol: float,
    ) -> None:
        self.X, self.Y, self.make, self.batch_size, self.tol = X, Y, make, batch_size, tol
        self.both = X.beside(Y)
        self.whole = batch_size is None and X.array is not None
        self.sums = batch_size is None and not self.whole and by_sums
        self.members = np.asarray(
            Y.total(count_members) if isinstance(Y, Blocks) else np.count_nonzero(Y, axis=0), dtype=np.int64
        )
        self.validation: tuple[Floats, Indicator] | None = None

    def __len__(self) -> int:
        return len(self.X)

    def begin(self, size: Sizes, init: str, rng: np.random.RandomState) -> Learned:
        """Atoms to start from, and their error."""
        learner = self.make(*self.initial(size, init, rng))
        state = Learned(learner.atoms, learner.groups, [], self.unseen(learner))
        if self.whole:
            X: Any = self.X.array
            state.codes = learner.codes(X, self.Y)
            error = learner.error(X, self.Y, state.codes)
        elif self.sums:
            state.sums = found = self.both.total(partial(code_sums, learner))
            error = found.error + learner.ridge * float(found.grams.diagonal().sum())
        else:
            error = float(self.both.total(partial(block_error, learner)))
        state.history.append(error / len(self))
        return state

    def sweep(self, state: Learned, rng: np.random.RandomState) -> Learned:
        """The state after one more sweep, and whether it is the last."""
        learner, codes = self.make(state.atoms.copy(), state.groups), None
        if self.whole:
            X: Any = self.X.array
            codes = learner.codes(X, self.Y, state.take_codes())
            done = learner.step(X, self.Y, codes)
        elif self.sums:
            found = state.sums or self.both.total(partial(code_sums, learner))
            learner.atoms, done = improved_atoms(found, learner.atoms, learner.groups, learner.ridge)
        else:
            before = learner, Sweep(0.0, 0.0, 0, 0.0)
            learner, done = fold(self.both, partial(part_steps, self.batch_size), before, rng)
        history = [*state.history, (done.squared_error + done.penalty) / len(self)]
        new = Learned(learner.atoms, state.groups, history, self.unseen(learner), done.reseeded, codes=codes)
        if new.unseen > state.unseen:
            new.atoms, new.done = state.atoms, True
        if self.whole or self.sums:
            improved = abs(history[-2] - history[-1])
            new.done |= improved <= self.tol * history[-2] or done.largest_change <= self.tol
        return new

    def unseen(self, learner: Learner) -> float:
        """Mean error of a validation row, infinite if there is none."""
        return np.inf if self.validation is None else learner.error(*self.validation) / len(self.validation[0])

    def initial(self, size: Sizes, init: str, rng: np.random.RandomState) -> tuple[Floats, NDArray[np.int64]]:
        """Atoms to start from: of blocks by a pass for the Gram matrices of all concepts, and one for the signs."""
        if self.X.array is not None:
            return initial_atoms(self.X.array, self.Y, size, init, rng)
        S, d = len(self.members), self.X.shape[1]
        sizes = [size] * S if isinstance(size, float) else [min(n, int(m)) for n, m in zip(size, self.members)]
        if init == "sample" and not isinstance(size, float):
            return self._sampled([int(n) for n in sizes], rng)
        most = max(1, GRAM_BYTES // (8 * d * d))
        found: list[Floats] = []
        for first in range(0, S, most):
            grams = self.both.total(partial(concept_grams, first, min(S, first + most)))
            found += [as_many(*eigenvectors(gram, n), n) for gram, n in zip(grams, sizes[first:])]
        if init == "sample":  # a share of the energy says how many
            return self._sampled([len(atoms) for atoms in found], rng)
        groups = np.repeat(np.arange(S), [len(atoms) for atoms in found])
        atoms = np.vstack(found)
        up, down = self.both.total(partial(sign_energies, atoms.astype(self.X.dtype), groups))
        return (atoms * np.where(up >= down, 1.0, -1.0)[:, None]).astype(self.X.dtype), groups

    def _sampled(self, sizes: list[int], rng: np.random.RandomState) -> tuple[Floats, NDArray[np.int64]]:
        """Rows that lie apart, of those with the smallest of random numbers, which every part draws by itself."""
        seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=len(self.both.parts))]
        room = min(CANDIDATES, CANDIDATE_NUMBERS // (len(sizes) * self.X.shape[1]))
        counts = [max(size, room) for size in sizes]
        drawn = list(self.both.each(partial(drawn_rows, counts), seeds))
        blocks = []
        for j, size in enumerate(sizes):
            keys = np.concatenate([part[j][0] for part in drawn])
            rows = np.concatenate([part[j][1] for part in drawn])[np.argsort(keys, kind="stable")[: counts[j]]]
            rows = unit_rows(rows)
            blocks.append(rows[rows_apart(rows, size, rng)])
        return np.vstack(blocks), np.repeat(np.arange(len(sizes)), [len(block) for block in blocks])


# what is done to a block, wherever it is


def block_error(learner: Learner, block: Pair) -> float:
    """Squared error of a block plus the ridge term."""
    return learner.error(block[0], binary(block[1]))


def part_steps(
    batch_size: int | None, state: tuple[Learner, Sweep], blocks: Iterator[Pair], rng: np.random.RandomState
) -> tuple[Learner, Sweep]:
    """Mini-batches through the blocks of a part, each a batch if no size is given."""
    learner, total = state
    for X, given in blocks:
        Y = binary(given)
        if batch_size is None:
            total.add(learner.step(X, Y, learner.codes(X, Y), reseed=False))
        else:
            total.add(learner.batch_steps(X, Y, batch_size, rng))
    return learner, total
