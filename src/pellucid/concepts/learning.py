"""Algorithm 1 of paper 1: a positive cone per concept, by codes and atoms in turn.

Throughout, X is (n, d), atoms B are (M, d) with unit rows, groups (M,) say whose atom is whose, codes A are (n, M) and
the residual R = X − AB is kept up to date while atoms change one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from pellucid.concepts.labels import Indicator
from pellucid.solvers import leading_atom, nnls, nonnegative_power
from pellucid.solvers.rank_one import majority_sign

Floats = NDArray[Any]

# an atom step needs no more digits than the next sweep keeps
ATOM_TOL = 1e-4
POWER_STEPS = 20


def initial_atoms(
    X: Floats, Y: Indicator, n_atoms: Sequence[int] | float, init: str, rng: np.random.RandomState
) -> tuple[Floats, NDArray[np.int64]]:
    """Atoms to start from, concept by concept; a concept never gets more atoms than it has rows."""
    blocks = []
    for j in range(Y.shape[1]):
        rows = X[np.flatnonzero(Y[:, j])]
        size = n_atoms if isinstance(n_atoms, float) else min(n_atoms[j], len(rows))
        blocks.append(svd_atoms(rows, size) if init == "svd" else sample_atoms(rows, size, rng))
    groups = np.repeat(np.arange(Y.shape[1]), [len(block) for block in blocks])
    return np.vstack(blocks).astype(X.dtype), groups


def svd_atoms(rows: Floats, size: int | float) -> Floats:
    """Leading right singular vectors of a concept's rows, each with its majority sign (Algorithm 1, first loop).

    A float asks for as many as keep that share of the energy.
    """
    wide = rows.astype(np.float64, copy=False)
    if len(rows) <= rows.shape[1]:
        _, values, vectors = np.linalg.svd(wide, full_matrices=False)
        energy = values**2
    else:
        energy, columns = eigh(wide.T @ wide)
        energy, vectors = np.maximum(energy[::-1], 0.0), columns[:, ::-1].T
    if isinstance(size, float):
        share = np.cumsum(energy) / max(energy.sum(), np.finfo(np.float64).tiny)
        size = int(np.searchsorted(share, size - 1e-12) + 1)
    atoms = vectors[: min(size, int(max(1, np.count_nonzero(energy > 1e-12 * energy[0]))))]
    signs = np.array([majority_sign(column) for column in (wide @ atoms.T).T])
    return np.asarray(atoms * signs[:, None])


def sample_atoms(rows: Floats, size: int | float, rng: np.random.RandomState) -> Floats:
    """Rows of the concept drawn at random, as k-means starts."""
    if isinstance(size, float):
        size = len(svd_atoms(rows, size))
    chosen = rows[rng.permutation(len(rows))[:size]].astype(np.float64)
    lengths = np.linalg.norm(chosen, axis=1, keepdims=True)
    return np.asarray(chosen / np.where(lengths > 0, lengths, 1))


def atom_mask(Y: Indicator, groups: NDArray[np.int64]) -> Indicator:
    """Which atoms each row may use: those of its concepts (the constraint of Eq. 5)."""
    return np.ascontiguousarray(Y[:, groups])


@dataclass
class Sweep:
    """What one pass over atoms did."""

    squared_error: float
    penalty: float
    reseeded: int
    largest_change: float


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
    R = X - codes @ atoms
    used = sparse.csc_matrix(codes)
    reseeded, largest, penalty = 0, 0.0, 0.0
    for m in range(len(atoms)):
        part = slice(used.indptr[m], used.indptr[m + 1])
        support, old = used.indices[part], used.data[part]
        if not support.size:
            reseeded += _reseed(R, Y[:, groups[m]], atoms, m, codes) if reseed else 0
            continue
        E = R[support]
        before = float(np.einsum("ij,ij->", E, E, dtype=np.float64)) + ridge * float(old @ old)
        E += np.multiply.outer(old, atoms[m])
        atom = atom_step(E, atoms[m], old, update)
        coefficients = np.maximum(E @ atom, 0)  # the best non-negative ones for this atom (Eq. 10)
        coefficients /= 1 + ridge
        E -= np.multiply.outer(coefficients, atom)
        after = float(np.einsum("ij,ij->", E, E, dtype=np.float64)) + ridge * float(coefficients @ coefficients)
        if monotone and after > before:  # Eq. 13
            penalty += ridge * float(old @ old)
            continue
        R[support] = E
        largest = max(largest, float(np.linalg.norm(atom - atoms[m])))
        atoms[m] = atom
        codes[support, m] = coefficients
        penalty += ridge * float(coefficients @ coefficients)
    return Sweep(float(np.einsum("ij,ij->", R, R, dtype=np.float64)), penalty, reseeded, largest)


def atom_step(E: Floats, atom: Floats, coefficients: Floats, update: str) -> Floats:
    """The new atom for the rows E that use it, what the others explain taken out."""
    if update == "svd":
        return leading_atom(E, atom, tol=ATOM_TOL).atom
    if update == "bcd":  # Eq. 15: least squares for the old coefficients
        new = coefficients @ E
        length = np.linalg.norm(new)
        return np.asarray(new / length) if length > 0 else atom
    return nonnegative_power(E, atom, tol=ATOM_TOL, max_iter=POWER_STEPS).atom  # Eq. 19


def _reseed(R: Floats, members: Indicator, atoms: Floats, m: int, codes: Floats) -> int:
    """Give an atom that nobody uses the direction of what its concept's worst-explained row is missing."""
    rows = np.flatnonzero(members)
    if not rows.size:
        return 0
    errors = np.einsum("ij,ij->i", R[rows], R[rows])
    worst = rows[int(np.argmax(errors))]
    length = np.linalg.norm(R[worst])
    if length == 0:
        return 0
    atoms[m], codes[worst, m] = R[worst] / length, length
    R[worst] = 0
    return 1


def solve_codes(
    X: Floats, Y: Indicator, atoms: Floats, groups: NDArray[np.int64], ridge: float, init: Floats | None = None
) -> Floats:
    """Eq. 5: non-negative codes over the atoms of each row's concepts."""
    return nnls(X, atoms, atom_mask(Y, groups), ridge=ridge, init=init).codes
