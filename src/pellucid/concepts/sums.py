"""What a fit of concepts adds up of a block of rows, wherever it is, and the atoms that are best for such sums.

A block is a pair of rows X (n, d) and their concepts Y (n, S). With codes A fixed, ‖X − AB‖² depends on the rows only
through AᵀA, AᵀX and ‖X‖²; blocks, or machines, can add these up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.kernels import turn_group
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.concepts.labels import binary
from pellucid.concepts.learning import ATOM_TOL, Floats, Learner, Sweep, residual

Pair = tuple[Floats, Any]

# rows whose products are made at a time (short sums in their precision, added up in float64), and by a thread at least
SUM_ROWS, LEAST_ROWS = 2048, 256
# atoms from which on AᵀA is sparse: few of so many are ever used together
SPARSE_ATOMS = 2048
# atoms that turn after one product with all others, and of a large one how many are a thread's
RUN_ATOMS, PRODUCT_ROWS, MANY_NUMBERS = 32, 16, 1 << 18
# numbers in the codes that are held at a time
CODE_NUMBERS = 1 << 23
# rounds over all atoms with the same codes: they cost nothing beside the pass, and spare some
ROUNDS = 20


@dataclass
class CodeSums:
    """Sums over rows under given atoms.

    grams : (M, M) AᵀA, an array or a sparse one
    products : (M, d) AᵀX
    energy : ‖X‖²
    error : ‖X − AB‖²
    price : Σ α‖x‖·Σa over the rows, what sparsity costs
    worst, rows : (S,) largest squared error of a row of each concept, and what is missing of that row (S, d); None
        where nobody asked
    """

    grams: Any
    products: NDArray[np.float64]
    energy: float
    error: float
    price: float
    worst: NDArray[np.float64] | None = None
    rows: Floats | None = None

    def __add__(self, other: CodeSums) -> CodeSums:
        if self.worst is None or other.worst is None or self.rows is None or other.rows is None:
            worst = rows = None
        else:
            worse = other.worst > self.worst
            worst, rows = np.where(worse, other.worst, self.worst), np.where(worse[:, None], other.rows, self.rows)
        return CodeSums(
            self.grams + other.grams,
            self.products + other.products,
            self.energy + other.energy,
            self.error + other.error,
            self.price + other.price,
            worst,
            rows,
        )


def code_sums(learner: Learner, block: Pair, worst: bool = True) -> CodeSums:
    """Codes of a block under the atoms as they are (Eq. 5), and their sums, with the worst rows if asked for."""
    X, given = block
    size = max(SUM_ROWS, CODE_NUMBERS // len(learner.atoms))
    total: CodeSums | None = None
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        found = _chunk_sums(learner, np.asarray(X[rows]), binary(given[rows]), worst)
        total = found if total is None else total + found
    assert total is not None
    return total


def _chunk_sums(learner: Learner, X: Floats, Y: NDArray[np.bool_], worst: bool) -> CodeSums:
    codes = learner.codes(X, Y, thin=True)
    energy = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    thin = sparse.issparse(codes)
    grams, products = _sparse_sums(codes, X) if thin else _dense_sums(codes, X)
    price = learner.price(X, codes)
    if not worst and not thin:
        return CodeSums(grams, products, energy, squared_error(grams, products, energy, learner.atoms), price)
    R = residual(X, codes, learner.atoms)
    errors = np.einsum("ij,ij->i", R, R, dtype=np.float64)
    if not worst:
        return CodeSums(grams, products, energy, float(errors.sum()), price)
    most, rows = np.zeros(Y.shape[1]), np.zeros((Y.shape[1], X.shape[1]), dtype=X.dtype)
    for j in np.flatnonzero(Y.any(axis=0)):
        members = np.flatnonzero(Y[:, j])
        row = members[int(np.argmax(errors[members]))]
        most[j], rows[j] = errors[row], R[row]
    return CodeSums(grams, products, energy, float(errors.sum()), price, most, rows)


def squared_error(grams: Any, products: Floats, energy: float, B: Floats) -> float:
    """‖X − AB‖² from sums."""
    with one_blas_thread():
        return max(0.0, energy - 2 * float(np.vdot(products, B)) + float(np.vdot(grams @ B, B)))


def _dense_sums(codes: Floats, X: Floats) -> tuple[Any, NDArray[np.float64]]:
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
        run_rows(part, len(X), min_rows=LEAST_ROWS)
    grams, products = (sum(parts[start][k] for start in sorted(parts)) for k in (0, 1))
    return np.asarray(grams), np.asarray(products)


def _sparse_sums(codes: Any, X: Floats) -> tuple[Any, NDArray[np.float64]]:
    used = codes.astype(np.float64)
    return sparse.csr_array(used.T @ used), np.asarray(used.T @ X.astype(np.float64))


def improved_atoms(sums: CodeSums, atoms: Floats, groups: NDArray[np.int64], ridge: float) -> tuple[Floats, Sweep]:
    """Every atom in turn to its optimum for the codes as they are (Eq. 15), round after round until none moves; the
    error cannot rise. An atom that no row uses takes what is missing of its concept's worst row, one a concept."""
    B, A = atoms.astype(np.float64), sums.grams
    for _ in range(ROUNDS):
        if turn_atoms(A, sums.products, B, groups) <= ATOM_TOL:
            break
    error = squared_error(A, sums.products, sums.energy, B)
    largest = float(np.linalg.norm(B - atoms, axis=1).max())
    reseeded = reseed(B, A.diagonal() == 0, groups, sums)
    return B.astype(atoms.dtype), Sweep(error, ridge * float(A.diagonal().sum()), len(reseeded), largest)


def turn_atoms(grams: Any, products: Floats, B: Floats, groups: NDArray[np.int64], only: int | None = None) -> float:
    """Every atom that is used to its optimum, or those of ``only`` one concept, one after the other and in place; the
    longest way that one moved.

    With all others fixed ‖X − AB‖² is least at b_m + (AᵀX − AᵀA·B)_m / (AᵀA)_mm, up to length. What atoms outside of
    a run take away is one product for the whole run.
    """
    longest = 0.0
    mine = np.arange(len(B)) if only is None else np.flatnonzero(groups == only)
    cuts = np.flatnonzero(np.diff(mine) > 1) + 1
    with one_blas_thread():
        for beside in np.split(mine, cuts):
            for first in range(0, len(beside), RUN_ATOMS):
                run = slice(beside[first], beside[min(first + RUN_ATOMS, len(beside)) - 1] + 1)
                rows = grams[run]
                rest = products[run] - _product(rows, B)
                own = rows[:, run]
                own = np.ascontiguousarray(own.toarray() if sparse.issparse(own) else own)
                longest = max(longest, turn_group(own, rest, B[run]))
    return longest


def _product(rows: Any, B: Floats) -> Floats:
    """Rows of AᵀA times B; where that is much, some rows on a thread each."""
    out = np.empty((rows.shape[0], B.shape[1]))

    def part(start: int, stop: int) -> None:
        out[start:stop] = rows[start:stop] @ B

    size = PRODUCT_ROWS if B.size >= MANY_NUMBERS else len(out)
    run_rows(part, len(out), min_rows=size, max_rows=size)
    return out


def reseed(B: Floats, idle: NDArray[np.bool_], groups: NDArray[np.int64], sums: CodeSums) -> list[int]:
    """Give idle atoms, one a concept, what is missing of its worst row, in place; which they were."""
    assert sums.worst is not None
    assert sums.rows is not None
    free, given = set(np.flatnonzero(sums.worst > 0).tolist()), []
    for m in np.flatnonzero(idle):
        j = int(groups[m])
        if j in free:
            free.remove(j)
            B[m] = sums.rows[j] / np.sqrt(sums.worst[j])
            given.append(int(m))
    return given


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
        there = X.any(axis=1)
        for j, size in enumerate(sizes):
            members = np.flatnonzero(Y[:, j] & there)
            keys = np.concatenate([best[j][0], rng.random_sample(len(members))])
            rows = np.concatenate([np.reshape(best[j][1], (-1, X.shape[1])), X[members]]).astype(X.dtype)
            chosen = np.argsort(keys, kind="stable")[:size]
            best[j] = keys[chosen], rows[chosen]
    return best
