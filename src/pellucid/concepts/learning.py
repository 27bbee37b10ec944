"""Algorithm 1 of paper 1: a positive cone per concept, by codes and atoms in turn.

Throughout, X is (n, d), atoms B are (M, d) with unit rows, groups (M,) say whose atom is whose, codes A are (n, M) and
the residual R = X − AB is kept up to date while atoms change one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from sklearn.cluster import kmeans_plusplus

from pellucid._core.arrays import normalised_or, unit_rows
from pellucid._core.kernels import gather_rows, project_rows, replace_rows, square_rows
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.concepts.coding import solve_codes
from pellucid.concepts.labels import Indicator
from pellucid.rows.batches import batches
from pellucid.solvers.rank_one import lanczos, majority_sign

Floats = NDArray[Any]

# an atom step needs no more digits than the next sweep keeps
ATOM_TOL = 1e-4
POWER_STEPS = 20
# rows that a thread takes at a time in a pass over the residual
PASS_ROWS = 512
# rows of a concept that its first atoms are chosen among
CANDIDATES = 64
# digits of them that count for how far apart they lie
DIGITS = 6
# rows whose error is computed at a time
BLOCK_ROWS = 16_384


def initial_atoms(
    X: Floats, Y: Indicator, n_atoms: Sequence[int] | float, init: str, rng: np.random.RandomState
) -> tuple[Floats, NDArray[np.int64]]:
    """Atoms to start from, concept by concept; a concept never gets more atoms than it has rows."""
    blocks, taken = [], np.zeros(len(X), dtype=bool)
    for j in range(Y.shape[1]):
        members = np.flatnonzero(Y[:, j])
        size = n_atoms if isinstance(n_atoms, float) else min(n_atoms[j], len(members))
        blocks.append(svd_atoms(X, members, size) if init == "svd" else sample_atoms(X, members, size, rng, taken))
    groups = np.repeat(np.arange(Y.shape[1]), [len(block) for block in blocks])
    return np.vstack(blocks).astype(X.dtype), groups


def svd_atoms(X: Floats, members: NDArray[np.int64], size: int | float) -> Floats:
    """Leading right singular vectors of a concept's rows, each with its majority sign (Algorithm 1, first loop).

    A float asks for as many as keep that share of the energy.
    """
    # at this size a second thread only waits, and where cores are busy it waits long
    if len(members) <= X.shape[1]:
        with one_blas_thread():
            _, values, vectors = np.linalg.svd(X[members].astype(np.float64, copy=False), full_matrices=False)
        energy = values**2
    else:
        gram = np.zeros((X.shape[1], X.shape[1]))
        for rows in _blocks(X, members):
            gram += rows.T @ rows
        energy, vectors = eigenvectors(gram, size)
    atoms = as_many(energy, vectors, size)
    projections = np.concatenate([rows @ atoms.T.astype(rows.dtype) for rows in _blocks(X, members)])
    return np.asarray(atoms * np.array([majority_sign(column) for column in projections.T])[:, None])


def eigenvectors(gram: Floats, size: int | float) -> tuple[Floats, Floats]:
    """Eigenvalues, largest first, and eigenvectors in rows, all if ``size`` is a share."""
    last = None if isinstance(size, float) else (max(0, len(gram) - size), len(gram) - 1)
    with one_blas_thread():
        energy, columns = eigh(gram, subset_by_index=last)
    return np.maximum(energy[::-1], 0.0), columns[:, ::-1].T


def as_many(energy: Floats, vectors: Floats, size: int | float) -> Floats:
    """The leading vectors, so many or as keep that share of the energy, and none that holds nothing."""
    if isinstance(size, float):
        share = np.cumsum(energy) / max(float(energy.sum()), np.finfo(np.float64).tiny)
        size = int(np.searchsorted(share, size - 1e-12)) + 1
    rank = max(1, int(np.count_nonzero(energy > 1e-12 * energy[0])))
    return vectors[: min(size, rank)]


def sample_atoms(
    X: Floats,
    members: NDArray[np.int64],
    size: int | float,
    rng: np.random.RandomState,
    taken: NDArray[np.bool_],
) -> Floats:
    """Rows of the concept that lie apart, drawn as k-means++ does; those that another concept has ``taken`` come last,
    since of two equal atoms none has a reason to be used."""
    if isinstance(size, float):
        size = len(svd_atoms(X, members, size))
    order = rng.permutation(members)
    order = order[np.argsort(taken[order], kind="stable")]
    most = max(size, CANDIDATES)
    rows = X[order[:most]].astype(np.float64)
    if not rows.any(axis=1).all():  # rows of zeros are no directions
        there = np.concatenate([block.any(axis=1) for block in _blocks(X, order)])
        if not there.any():
            return svd_atoms(X, members, 1)
        order = order[there]
        rows = X[order[:most]].astype(np.float64)
    free = int(np.count_nonzero(~taken[order[: len(rows)]]))
    chosen = rows_apart(unit_rows(rows[: max(size, free)]), size, rng)
    taken[order[chosen]] = True
    return unit_rows(rows[chosen])


def rows_apart(rows: Floats, size: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Numbers of rows of unit length that lie apart, as k-means++ draws them."""
    if len(rows) <= size:
        return np.arange(len(rows))
    # two rows that are each other's nearest save the same: without their round-off the first that was drawn is taken
    rows = np.round(rows, DIGITS)
    with one_blas_thread():
        return np.asarray(kmeans_plusplus(rows, size, random_state=rng)[1], dtype=np.int64)


def _blocks(X: Floats, members: NDArray[np.int64]) -> Iterator[Floats]:
    """A concept's rows, so many at a time that a memory map is never read as a whole."""
    for start in range(0, len(members), BLOCK_ROWS):
        yield np.asarray(X[members[start : start + BLOCK_ROWS]])


@dataclass
class Sweep:
    """What one pass over atoms did."""

    squared_error: float
    penalty: float
    reseeded: int
    largest_change: float

    def add(self, other: Sweep) -> None:
        """Take in a pass over atoms with other rows."""
        self.squared_error += other.squared_error
        self.penalty += other.penalty
        self.reseeded += other.reseeded
        self.largest_change = max(self.largest_change, other.largest_change)


def update_atoms(
    X: Floats,
    Y: Indicator,
    atoms: Floats,
    groups: NDArray[np.int64],
    codes: Floats,
    update: str,
    monotone: bool,
    ridge: float,
    *,
    reseed: bool = True,
) -> Sweep:
    """Change every atom in turn, with its coefficients, all others fixed (Eq. 6); ``atoms`` and ``codes`` are
    overwritten. Atoms that no row uses are re-seeded, or left alone in a mini-batch that need not know them."""
    R = residual(X, codes, atoms)
    used = sparse.csc_matrix(codes)
    scratch = np.empty((int(np.diff(used.indptr).max(initial=0)), X.shape[1]), dtype=np.float32)
    reseeded, largest = 0, 0.0
    for m in range(len(atoms)):
        part = slice(used.indptr[m], used.indptr[m + 1])
        support, old = used.indices[part], used.data[part]
        if not support.size:
            reseeded += _reseed(R, Y[:, groups[m]], atoms, m, codes, ridge) if reseed else 0
            continue
        rest = Remainder(R, support, old, atoms[m])
        atom = atom_step(rest, update, scratch)
        projections = rest.project(atom)
        sign = majority_sign(projections)
        atom, best = sign * atom, np.maximum(sign * projections, 0)  # best non-negative coefficients (Eq. 10)
        if monotone:
            # Eq. 13, both sides without ‖E‖²: what the new pair explains against what the old one did
            gained = float(best @ best) / (1 + ridge)
            had = 2 * float(old @ rest.project(atoms[m])) - (1 + ridge) * float(old @ old)
            if gained < had:
                continue
        coefficients = best / (1 + ridge)
        rest.replace(coefficients, atom)
        largest = max(largest, float(np.linalg.norm(atom - atoms[m])))
        atoms[m], codes[support, m] = atom, coefficients
    error = float(sum(np.vdot(r, r) for r in np.array_split(R.ravel(), 64)))
    return Sweep(error, ridge * float(np.vdot(codes, codes)), reseeded, largest)


def residual(X: Floats, codes: Any, atoms: Floats) -> Floats:
    """R = X − AB, in the widest precision of the three."""
    R = np.empty(X.shape, dtype=np.result_type(X, codes, atoms))

    def part(start: int, stop: int) -> None:
        np.subtract(X[start:stop], codes[start:stop] @ atoms, out=R[start:stop])

    run_rows(part, len(X))
    return R


def atom_step(rest: Remainder, update: str, scratch: NDArray[np.float32]) -> Floats:
    """The new atom for the rows that use it, what the others explain taken out; its sign is still open. ``scratch`` has
    room for those rows: fresh memory for every atom would cost as much as a pass."""
    if update == "svd":
        narrow = rest if rest.R.dtype == np.float32 else rest.narrow(scratch)
        return np.asarray(lanczos(narrow.square, rest.atom, ATOM_TOL, 100)[0], dtype=rest.atom.dtype)
    if update == "power":  # Eq. 19
        atom: Floats = rest.atom
        for _ in range(POWER_STEPS):
            new: Floats = normalised_or(rest.positive_square(atom), atom)
            moved = float(np.linalg.norm(new - atom))
            atom = new
            if moved <= ATOM_TOL:
                break
        return atom
    return normalised_or(rest.combine(rest.old), rest.atom)  # Eq. 15: least squares for the old coefficients


class Remainder:
    """E = R[support] + old ⊗ atom, what is left for one atom to explain, never formed: each product is one pass over
    the residual's rows, in their precision."""

    def __init__(self, R: Floats, support: NDArray[np.int32], old: Floats, atom: Floats) -> None:
        self.R, self.support, self.atom = R, support.astype(np.int32, copy=False), atom.copy()
        self.old, self.direction = self._like_rows(old), self._like_rows(self.atom)

    def _like_rows(self, vector: Floats) -> Floats:
        return np.ascontiguousarray(vector, dtype=self.R.dtype)

    def narrow(self, out: NDArray[np.float32]) -> Remainder:
        """E up to a factor, in float32: an atom step needs no more digits, and its passes read half as much memory."""
        E = out[: self.support.size]
        unit = 1 / float(self.old.max())  # so that no scale of the data over- or underflows

        def part(start: int, stop: int) -> None:
            gather_rows(self.R, self.support[start:stop], self.old[start:stop], self.direction, unit, E[start:stop])

        run_rows(part, self.support.size, min_rows=PASS_ROWS)
        whole = np.arange(self.support.size, dtype=np.int32)
        return Remainder(E, whole, np.zeros(whole.size, dtype=np.float32), self.atom.astype(np.float32))

    def square(self, v: Floats) -> Floats:
        """EᵀEv."""
        return self._square(v, False)

    def positive_square(self, v: Floats) -> Floats:
        """Eᵀmax(0, Ev)."""
        return self._square(v, True)

    def _square(self, v: Floats, positive: bool) -> Floats:
        v = self._like_rows(v)
        inner, n = float(self.direction @ v), self.support.size
        parts: dict[int, Floats] = {}

        def part(start: int, stop: int) -> None:
            out = np.zeros(v.size, dtype=self.R.dtype)
            rows, old = self.support[start:stop], self.old[start:stop]
            square_rows(self.R, rows, old, self.direction, v, inner, positive, out)
            parts[start] = out.astype(np.float64)

        if n <= PASS_ROWS:  # called so often that even to share nothing out would take its time
            part(0, n)
            return parts[0]
        run_rows(part, n, min_rows=PASS_ROWS)
        return np.asarray(sum(parts[start] for start in sorted(parts)))

    def project(self, v: Floats) -> Floats:
        """Ev."""
        v = self._like_rows(v)
        inner = float(self.direction @ v)
        out = np.empty(self.support.size, dtype=self.R.dtype)

        def part(start: int, stop: int) -> None:
            project_rows(self.R, self.support[start:stop], self.old[start:stop], v, inner, out[start:stop])

        run_rows(part, self.support.size, min_rows=PASS_ROWS)
        return out

    def combine(self, weights: Floats) -> Floats:
        """Eᵀ·weights."""
        return np.asarray(weights @ self.R[self.support] + (weights @ self.old) * self.atom)

    def replace(self, new: Floats, atom: Floats) -> None:
        """Put E − new ⊗ atom back into the residual."""
        new, atom = self._like_rows(new), self._like_rows(atom)

        def part(start: int, stop: int) -> None:
            rows, old = self.support[start:stop], self.old[start:stop]
            replace_rows(self.R, rows, old, self.direction, new[start:stop], atom)

        run_rows(part, self.support.size, min_rows=PASS_ROWS)


def _reseed(R: Floats, members: Indicator, atoms: Floats, m: int, codes: Floats, ridge: float) -> int:
    """Give an atom that nobody uses the direction of what its concept's worst-explained row is missing, and that row
    the best coefficient for it: the whole length would cost more than it explains where the ridge exceeds 1."""
    rows = np.flatnonzero(members)
    if not rows.size:
        return 0
    errors = np.einsum("ij,ij->i", R[rows], R[rows])
    worst = rows[int(np.argmax(errors))]
    length = np.linalg.norm(R[worst])
    if length == 0:
        return 0
    atoms[m], codes[worst, m] = R[worst] / length, length / (1 + ridge)
    R[worst] *= ridge / (1 + ridge)
    return 1


@dataclass
class Learner:
    """Atoms (M, d) of concepts ``groups`` (M,), and how they are improved on rows that are at hand."""

    atoms: Floats
    groups: NDArray[np.int64]
    update: str = "online"
    monotone: bool = False
    ridge: float = 0.0
    sparsity: float = 0.0

    def codes(self, X: Floats, Y: Indicator, init: Floats | None = None, thin: bool = False) -> Any:
        """Codes of rows over the atoms of their concepts (Eq. 5); with ``thin`` as a sparse array, if they are few."""
        return solve_codes(X, Y, self.atoms, self.groups, self.ridge, init, self.sparsity, thin)

    def price(self, X: Floats, codes: Any) -> float:
        """Σ 2α‖x‖·Σa, what sparsity adds to the squared error."""
        if self.sparsity == 0:
            return 0.0
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        return 2 * self.sparsity * float(lengths @ codes.sum(axis=1, dtype=np.float64))

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
        """Squared error of rows under the cones of their concepts, plus ridge term and price, block by block; ``codes``
        are solved for if they are not known."""
        total = 0.0
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            x = np.asarray(X[rows])
            A = self.codes(x, Y[rows]) if codes is None else codes[rows]
            R = residual(x, A, self.atoms)
            total += float(np.square(R, dtype=np.float64).sum() + self.ridge * np.square(A, dtype=np.float64).sum())
            total += self.price(x, A)
        return total
