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

from pellucid._core.arrays import normalised_or, unit_rows
from pellucid._core.checkpoint import TRANSIENT
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.concepts.labels import Indicator, binary
from pellucid.concepts.learning import (
    ATOM_TOL,
    Floats,
    Sweep,
    as_many,
    eigenvectors,
    initial_atoms,
    residual,
    solve_codes,
    total_error,
    update_atoms,
)
from pellucid.rows import Blocks
from pellucid.rows.batches import batches
from pellucid.rows.fitting import fold

Pair = tuple[Floats, Any]
Sizes = Sequence[int] | float

# bytes of Gram matrices that one pass adds up; more concepts than fit take another pass
GRAM_BYTES = 1 << 28
# rows whose products are made at a time: short sums in the rows' precision, added up in float64
SUM_ROWS = 2048
# rounds over all atoms with the same codes: they cost nothing beside the pass, and spare some
ROUNDS = 20


@dataclass
class Learner:
    """Atoms (M, d) of concepts ``groups`` (M,), and how they are improved on rows that are at hand."""

    atoms: Floats
    groups: NDArray[np.int64]
    update: str
    monotone: bool
    ridge: float

    def codes(self, X: Floats, Y: Indicator, init: Floats | None = None) -> Floats:
        return solve_codes(X, Y, self.atoms, self.groups, self.ridge, init)

    def step(self, X: Floats, Y: Indicator, codes: Floats, reseed: bool = True) -> Sweep:
        """Every atom once, in place."""
        # one thread for the many small products; passes over rows run on all threads anyway
        with one_blas_thread():
            return update_atoms(
                X, Y, self.atoms, self.groups, codes, self.update, self.monotone, self.ridge, reseed=reseed
            )

    def batch_steps(self, X: Floats, Y: Indicator, batch_size: int, rng: np.random.RandomState) -> Sweep:
        """Mini-batches of Algorithm 1 that cover the rows."""
        total = Sweep(0.0, 0.0, 0, 0.0)
        for rows in batches(len(X), batch_size, rng):
            x, y = np.asarray(X[rows]), np.asarray(Y[rows])
            total.add(self.step(x, y, self.codes(x, y), reseed=False))
        return total

    def error(self, X: Floats, Y: Indicator, codes: Floats | None = None) -> float:
        """Squared error of rows, plus the ridge term."""
        return total_error(X, Y, self.atoms, self.groups, self.ridge, codes)


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
        self, X: Blocks, Y: Any, make: Callable[..., Learner], batch_size: int | None, by_sums: bool, tol: float
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
            error = found.error + learner.ridge * float(np.trace(found.grams))
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
        """Rows with the smallest of random numbers, which every part draws by itself."""
        seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=len(self.both.parts))]
        candidates = list(self.both.each(partial(drawn_rows, sizes), seeds))
        blocks = []
        for j, size in enumerate(sizes):
            keys = np.concatenate([part[j][0] for part in candidates])
            rows = np.concatenate([part[j][1] for part in candidates])[np.argsort(keys, kind="stable")[:size]]
            blocks.append(unit_rows(rows))
        return np.vstack(blocks), np.repeat(np.arange(len(sizes)), [len(block) for block in blocks])


# what is done to a block, wherever it is


@dataclass
class CodeSums:
    """Sums over rows under given atoms.

    grams : (M, M) AᵀA
    products : (M, d) AᵀX
    energy : ‖X‖²
    error : ‖X − AB‖²
    worst, rows : (S,) largest squared error of a row of each concept, and what is missing of that row (S, d)
    """

    grams: NDArray[np.float64]
    products: NDArray[np.float64]
    energy: float
    error: float
    worst: NDArray[np.float64]
    rows: Floats

    def __add__(self, other: CodeSums) -> CodeSums:
        worse = other.worst > self.worst
        return CodeSums(
            self.grams + other.grams,
            self.products + other.products,
            self.energy + other.energy,
            self.error + other.error,
            np.where(worse, other.worst, self.worst),
            np.where(worse[:, None], other.rows, self.rows),
        )


def code_sums(learner: Learner, block: Pair) -> CodeSums:
    """Codes of a block under the atoms as they are (Eq. 5), and their sums."""
    X, Y = block[0], binary(block[1])
    codes = learner.codes(X, Y)
    R = residual(X, codes, learner.atoms)
    errors = np.einsum("ij,ij->i", R, R, dtype=np.float64)
    energy = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    parts: dict[int, tuple[Floats, Floats]] = {}

    def part(start: int, stop: int) -> None:
        gram = np.zeros((codes.shape[1],) * 2)
        product = np.zeros((codes.shape[1], X.shape[1]))
        for first in range(start, stop, SUM_ROWS):
            rows = slice(first, min(first + SUM_ROWS, stop))
            gram += codes[rows].T @ codes[rows]
            product += codes[rows].T @ X[rows]
        parts[start] = gram, product

    with one_blas_thread():
        run_rows(part, len(X), min_rows=SUM_ROWS)
    grams, products = (sum(parts[start][k] for start in sorted(parts)) for k in (0, 1))
    worst, rows = np.zeros(Y.shape[1]), np.zeros((Y.shape[1], X.shape[1]), dtype=X.dtype)
    for j in range(Y.shape[1]):
        members = np.flatnonzero(Y[:, j])
        if members.size:
            row = members[int(np.argmax(errors[members]))]
            worst[j], rows[j] = errors[row], R[row]
    return CodeSums(np.asarray(grams), np.asarray(products), energy, float(errors.sum()), worst, rows)


def improved_atoms(sums: CodeSums, atoms: Floats, groups: NDArray[np.int64], ridge: float) -> tuple[Floats, Sweep]:
    """Every atom in turn to its optimum for the codes as they are (Eq. 15), round after round until none moves; the
    error cannot rise. An atom that no row uses takes what is missing of its concept's worst row, one a concept."""
    B, A = atoms.astype(np.float64), sums.grams
    used = np.flatnonzero(A.diagonal() > 0)
    for _ in range(ROUNDS):
        moved = 0.0
        for m in used:
            new = normalised_or(sums.products[m] - A[m] @ B + A[m, m] * B[m], B[m])
            moved = max(moved, float(np.linalg.norm(new - B[m])))
            B[m] = new
        if moved <= ATOM_TOL:
            break
    error = sums.energy - 2 * float(np.vdot(sums.products, B)) + float(np.vdot(A, B @ B.T))
    largest = float(np.linalg.norm(B - atoms, axis=1).max())
    free, reseeded = set(np.flatnonzero(sums.worst > 0)), 0
    for m in np.setdiff1d(np.arange(len(B)), used):
        if groups[m] in free:
            free.remove(groups[m])
            B[m] = sums.rows[groups[m]] / np.sqrt(sums.worst[groups[m]])
            reseeded += 1
    return B.astype(atoms.dtype), Sweep(max(error, 0.0), ridge * float(np.trace(A)), reseeded, largest)


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


def count_members(Y: Any) -> NDArray[np.int64]:
    return np.asarray(np.count_nonzero(binary(Y), axis=0))


def concept_grams(first: int, last: int, block: Pair) -> NDArray[np.float64]:
    """XᵀX over the rows of each of the concepts from ``first`` to ``last`` (exclusive)."""
    X, Y = block[0], binary(block[1])
    out = np.zeros((last - first, X.shape[1], X.shape[1]))

    def part(start: int, stop: int) -> None:
        for j in range(start, stop):
            members = np.flatnonzero(Y[:, first + j])
            for begin in range(0, len(members), SUM_ROWS):
                rows = X[members[begin : begin + SUM_ROWS]]
                out[j] += rows.T @ rows

    with one_blas_thread():
        run_rows(part, last - first, min_rows=1)
    return out


def sign_energies(atoms: Floats, groups: NDArray[np.int64], block: Pair) -> NDArray[np.float64]:
    """(2, M) energy of the positive and of the negative projections of concepts' rows onto their atoms (Eq. 11)."""
    X, Y = block[0], binary(block[1])
    out = np.zeros((2, len(atoms)))
    for j in range(Y.shape[1]):
        mine = groups == j
        projections = (X[Y[:, j]] @ atoms[mine].T).astype(np.float64)
        out[0, mine] = np.square(np.maximum(projections, 0)).sum(axis=0)
        out[1, mine] = np.square(np.minimum(projections, 0)).sum(axis=0)
    return out


def drawn_rows(sizes: Sequence[int], blocks: Iterator[Pair], seed: int) -> list[tuple[NDArray[np.float64], Floats]]:
    """For each concept random numbers and rows, those with the smallest numbers; rows of zeros are no directions."""
    rng = np.random.RandomState(seed)
    best: list[tuple[Any, Any]] = [([], [])] * len(sizes)
    for X, given in blocks:
        Y = binary(given)
        draw, there = rng.random_sample(len(X)), X.any(axis=1)
        for j, size in enumerate(sizes):
            members = np.flatnonzero(Y[:, j] & there)
            keys = np.concatenate([best[j][0], draw[members]])
            rows = np.concatenate([np.reshape(best[j][1], (-1, X.shape[1])), X[members]]).astype(X.dtype)
            chosen = np.argsort(keys, kind="stable")[:size]
            best[j] = keys[chosen], rows[chosen]
    return best
