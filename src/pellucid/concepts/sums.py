"""What a fit of concepts needs to know of a block of rows, as sums, and the atom step that needs no more than that.

A block is a pair of rows X (n, d) and their concepts Y (n, S). With codes A fixed, ‖X − AB‖² depends on the rows only
through AᵀA, AᵀX and ‖X‖²; blocks, or machines, can add these up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import normalised_or
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.concepts.labels import Indicator, binary
from pellucid.concepts.learner import Learner
from pellucid.concepts.learning import ATOM_TOL, Floats, Sweep, residual

Pair = tuple[Floats, Any]

# rows whose products are made at a time: short sums in the rows' precision, added up in float64
SUM_ROWS = 2048
# rounds over all atoms with the same codes: they cost nothing beside the pass, and spare some
ROUNDS = 20
# rows by which a checkpoint knows its data again
KNOWN_ROWS = 64


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
    return learner.error(block[0], binary(block[1])) * len(block[0])


def part_steps(
    batch_size: int | None, state: tuple[Learner, Sweep], blocks: Iterator[Pair], seed: int
) -> tuple[Learner, Sweep]:
    """Mini-batches through the blocks of a part, each a batch if no size is given."""
    learner, total = state
    rng = np.random.RandomState(seed)
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


def first_rows(blocks: Iterator[Pair]) -> tuple[Floats, Indicator]:
    X, Y = next(blocks)
    return X[:KNOWN_ROWS], binary(Y)[:KNOWN_ROWS]
