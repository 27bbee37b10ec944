"""The rows that a fit of concepts goes through: in memory, all at once or as mini-batches; or block by block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid.concepts.labels import Indicator
from pellucid.concepts.learner import Learner
from pellucid.concepts.learning import Floats, Sweep, as_many, eigenvectors, initial_atoms
from pellucid.concepts.sums import (
    KNOWN_ROWS,
    CodeSums,
    block_error,
    code_sums,
    concept_grams,
    count_members,
    drawn_rows,
    first_rows,
    improved_atoms,
    part_steps,
    sign_energies,
)
from pellucid.rows import Blocks

# bytes of Gram matrices that one pass adds up; more concepts than fit take another pass
GRAM_BYTES = 1 << 28


class HeldRows:
    """Rows in memory or in a memory map. All at once their ``codes`` are kept from sweep to sweep."""

    def __init__(self, X: Floats, Y: Indicator, batch_size: int | None) -> None:
        self.X, self.Y, self.batch_size = X, Y, batch_size
        self.codes: Floats | None = None
        self.settles = batch_size is None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def members(self) -> NDArray[np.int64]:
        return np.asarray(np.count_nonzero(self.Y, axis=0))

    def known(self) -> list[Any]:
        some = np.linspace(0, len(self.X) - 1, KNOWN_ROWS).astype(np.int64)
        return [self.X.shape, str(self.X.dtype), np.asarray(self.X[some]), self.Y[some], self.members]

    def initial(
        self, size: Sequence[int] | float, init: str, rng: np.random.RandomState
    ) -> tuple[Floats, NDArray[np.int64]]:
        return initial_atoms(self.X, self.Y, size, init, rng)

    def error(self, learner: Learner) -> float:
        if self.settles:
            self.codes = learner.codes(self.X, self.Y)
        return learner.error(self.X, self.Y, self.codes)

    def sweep(self, learner: Learner, rng: np.random.RandomState) -> Sweep:
        if self.batch_size is not None:
            return learner.batch_steps(self.X, self.Y, self.batch_size, rng)
        self.codes = learner.codes(self.X, self.Y, self.codes)
        return learner.step(self.X, self.Y, self.codes)


class BlockRows:
    """Rows in blocks, of which a few are held at a time.

    With ``update="bcd"`` a sweep is one pass for AᵀA and AᵀX, after which every atom is improved for these codes; with
    another update, or a ``batch_size``, it goes through mini-batches block after block, in an order of its own.
    """

    codes: Floats | None = None

    def __init__(self, X: Blocks, Y: Any, batch_size: int | None, update: str) -> None:
        self.X, self.Y, self.batch_size = X, Y, batch_size
        self.both = X.beside(Y)
        self.sums = update == "bcd" and batch_size is None
        self.settles = self.sums
        self.ready: CodeSums | None = None  # what a pass for the error has found already
        self.members = np.asarray(
            Y.total(count_members) if isinstance(Y, Blocks) else np.count_nonzero(Y, axis=0), dtype=np.int64
        )

    def __len__(self) -> int:
        return len(self.X)

    def known(self) -> list[Any]:
        sizes = np.array([part.rows for part in self.X.parts])
        first = next(iter(self.both.like(self.both.parts[:1]).each(first_rows)))
        return [self.X.shape, str(self.X.dtype), sizes, *first, self.members]

    def initial(
        self, size: Sequence[int] | float, init: str, rng: np.random.RandomState
    ) -> tuple[Floats, NDArray[np.int64]]:
        """As for rows in memory: a pass for the Gram matrices of all concepts, and one for the signs."""
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
        """Rows with the smallest of random numbers, which every part draws by itself."""
        seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=len(self.both.parts))]
        candidates = list(self.both.each(partial(drawn_rows, sizes), seeds))
        blocks = []
        for j, size in enumerate(sizes):
            keys = np.concatenate([part[j][0] for part in candidates])
            rows = np.concatenate([part[j][1] for part in candidates])[np.argsort(keys, kind="stable")[:size]]
            blocks.append(unit_rows(rows))
        return np.vstack(blocks), np.repeat(np.arange(len(sizes)), [len(block) for block in blocks])

    def error(self, learner: Learner) -> float:
        if not self.sums:
            return float(self.both.total(partial(block_error, learner))) / len(self)
        self.ready = self.both.total(partial(code_sums, learner))
        return (self.ready.error + learner.ridge * float(np.trace(self.ready.grams))) / len(self)

    def sweep(self, learner: Learner, rng: np.random.RandomState) -> Sweep:
        if not self.sums:
            order = rng.permutation(len(self.both.parts))
            seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=len(order))]
            step = partial(part_steps, self.batch_size)
            done: Sweep
            new, done = self.both.fold(step, (learner, Sweep(0.0, 0.0, 0, 0.0)), order.tolist(), seeds)
            learner.atoms = new.atoms
            return done
        found = self.both.total(partial(code_sums, learner)) if self.ready is None else self.ready
        self.ready = None
        learner.atoms, done = improved_atoms(found, learner.atoms, learner.groups, learner.ridge)
        return done
