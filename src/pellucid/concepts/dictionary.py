"""A dictionary of all rows: atoms of which each row uses a few, learned as cones are, with one concept for all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus

from pellucid._core.arrays import Floats, Ints, unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.coding import solve_codes
from pellucid.concepts.discriminant import used
from pellucid.concepts.learning import Learner
from pellucid.concepts.online import COSINE_ROWS, OnlineSweeps, Streamed
from pellucid.concepts.presence import cosine_spread
from pellucid.concepts.sweeps import Sizes
from pellucid.rows import Blocks

# α, in standard deviations of the cosine of two rows, and at most: an atom takes part where it is nearer than by chance
SPARSITY_SHARE, MOST_SPARSITY = 0.85, 0.3
# atoms, where it is not said how many: so many times the root of the number of rows, and at most, also for each column
# and each row: too many are marked, too few are not found
ROOTS, MOST_ATOMS, COLUMN_ATOMS, ROW_ATOMS = 3.0, 256, 4, 0.25
# rows that a start is drawn from, and rows that passes look at in all: more would hardly move an atom
START_ROWS, ENOUGH_ROWS = 10_000, 500_000
# after t batches the sums remember about t / MEMORY of them
MEMORY = 10.0
# rows that are coded at a time
CHUNK_ROWS = 8192


class Dictionary(OnlineSweeps):
    """Passes over all rows, every one of which may use every atom; atoms start from rows far from each other."""

    memory = MEMORY

    def __init__(self, X: Blocks, sparsity: float, tol: float, batch_size: int | None = None) -> None:
        super().__init__(X, np.ones((len(X), 1), bool), partial(Learner, sparsity=sparsity), batch_size, False, tol)

    def initial(self, size: Sizes, init: str, rng: np.random.RandomState) -> tuple[Floats, Ints]:
        """Rows drawn as k-means++ does."""
        assert not isinstance(size, float)
        rows = self.X.take(np.sort(rng.permutation(len(self.X))[:START_ROWS]))
        rows = unit_rows(rows[rows.any(axis=1)])
        if not len(rows):
            raise ValueError("All rows are equal: nothing tells them apart, so there is no concept to be found.")
        with one_blas_thread():
            atoms = kmeans_plusplus(rows, min(int(size[0]), len(rows)), random_state=rng)[0]
        return np.asarray(atoms), np.zeros(len(atoms), dtype=np.int64)

    def over(self, state: Streamed, passes: int) -> bool:
        """Whether the error has settled, or enough rows were looked at."""
        made = len(state.history) - 1
        return state.done or made >= passes or (made > 0 and made * len(self) >= ENOUGH_ROWS)

    def learn(self, count: int, passes: int, rng: np.random.RandomState) -> NDArray[Any]:
        """Atoms (count, d) after pass upon pass."""
        state = self.begin([count], "", rng)
        while not self.over(state, passes):
            state = self.sweep(state, rng)
        return np.asarray(state.atoms)


def chosen_price(X: NDArray[Any]) -> float:
    """α for a dictionary of rows of unit length."""
    return float(min(MOST_SPARSITY, SPARSITY_SHARE * cosine_spread(unit_rows(np.asarray(X[:COSINE_ROWS])))))


def chosen_number(n: int, d: int) -> int:
    """How many atoms rows (n, d) are given: rather too many."""
    return int(max(2, min(MOST_ATOMS, ROOTS * np.sqrt(n), COLUMN_ATOMS * d, ROW_ATOMS * n)))


def codes_of(X: NDArray[Any], atoms: NDArray[Any], sparsity: float) -> NDArray[Any]:
    """Sparse codes (n, M) of prepared rows over all atoms."""
    every = np.ones((len(X), 1), dtype=bool)
    atoms = np.asarray(atoms, dtype=X.dtype)
    codes: NDArray[Any] = solve_codes(X, every, atoms, np.zeros(len(atoms), dtype=np.int64), 0.0, None, sparsity)
    return codes


@dataclass
class Uses:
    """What rows use of the atoms.

    rows : how many there are
    members : (M,) rows that use each atom
    energy, left : ‖X‖², and what the codes leave of it
    strength, examples : (M, E) largest codes, and numbers of the rows that have them; −1 where there are fewer
    """

    rows: int
    members: Ints
    energy: float
    left: float
    strength: Floats
    examples: Ints

    def __add__(self, other: Uses) -> Uses:
        strength = np.hstack([self.strength, other.strength])
        examples = np.hstack([self.examples, other.examples])
        best = np.argsort(-strength, axis=1, kind="stable")[:, : self.strength.shape[1]]
        return Uses(
            self.rows + other.rows,
            self.members + other.members,
            self.energy + other.energy,
            self.left + other.left,
            np.take_along_axis(strength, best, axis=1),
            np.take_along_axis(examples, best, axis=1),
        )


def uses_of(X: Blocks, atoms: NDArray[Any], sparsity: float, n_examples: int) -> Uses:
    """A pass over all rows, wherever they are."""
    each = X.each(partial(part_uses, atoms, sparsity, n_examples), [part.start for part in X.parts])
    total: Uses = next(each)
    for more in each:
        total = total + more
    return total


def part_uses(atoms: NDArray[Any], sparsity: float, n_examples: int, blocks: Iterator[Any], start: int) -> Uses:
    """The uses of the rows of a part, the first of which has the number ``start``."""
    total: Uses | None = None
    for block in blocks:
        for first in range(0, len(block), CHUNK_ROWS):
            rows = np.asarray(block[first : first + CHUNK_ROWS])
            found = _chunk_uses(rows, codes_of(rows, atoms, sparsity), atoms, n_examples, start + first)
            total = found if total is None else total + found
        start += len(block)
    assert total is not None
    return total


def _chunk_uses(X: NDArray[Any], codes: NDArray[Any], atoms: NDArray[Any], most: int, start: int) -> Uses:
    rest = X - codes @ atoms.astype(codes.dtype)
    k = min(most, len(X))
    order = np.argsort(-codes, axis=0, kind="stable")[:k].T
    strength = np.zeros((codes.shape[1], most))
    examples = np.full((codes.shape[1], most), -1, dtype=np.int64)
    strength[:, :k] = np.take_along_axis(codes.T, order, axis=1)
    examples[:, :k] = np.where(strength[:, :k] > 0, start + order, -1)
    energy, left = (float(np.einsum("ij,ij->", Z, Z, dtype=np.float64)) for Z in (X, rest))
    return Uses(len(X), used(codes).sum(axis=0), energy, left, strength, examples)


def comes_again(rows: NDArray[Any], atoms: NDArray[Any], sparsity: float, tol: float, passes: int,
                rng: np.random.RandomState) -> Floats:  # fmt: skip
    """For each atom the cosine (M,) with its partner among as many learned from one half of the rows, and from the
    other: the mean of both."""
    if len(rows) < 4:
        return np.zeros(len(atoms))
    found = []
    for half in np.array_split(rng.permutation(len(rows)), 2):
        other = Dictionary(Blocks.held(rows[np.sort(half)]), sparsity, tol).learn(len(atoms), passes, rng)
        found.append(partners(atoms, other))
    return np.asarray(np.mean(found, axis=0))


def partners(atoms: NDArray[Any], other: NDArray[Any]) -> Floats:
    """The cosine (M,) of each atom with its partner, the pairing with the largest sum; 0 for one without."""
    with one_blas_thread():
        cosines = np.asarray(atoms, dtype=np.float64) @ np.asarray(other, dtype=np.float64).T
    pairs = linear_sum_assignment(cosines, maximize=True)
    out = np.zeros(len(atoms))
    out[pairs[0]] = np.maximum(cosines[pairs], 0.0)
    return out
