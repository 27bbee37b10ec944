"""Non-negative codes of rows over the atoms of the concepts that each of them has (Eq. 5 of paper 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid.concepts.labels import Indicator
from pellucid.solvers import nnls

Floats = NDArray[Any]

# atoms from which on rows with few active concepts are coded over theirs alone, in groups that have about so many
MANY_ATOMS, GROUP_ATOMS = 1024, 128
# rows that are that close to unit length need not be brought to it
UNIT = 1e-5
# codes of rows of unit length that count as none
NOTHING = 1e-6


def atom_mask(Y: Indicator, groups: NDArray[np.int64]) -> Indicator:
    """Which atoms each row may use: those of its concepts (the constraint of Eq. 5)."""
    return np.ascontiguousarray(Y[:, groups])


def solve_codes(
    X: Floats,
    Y: Indicator,
    atoms: Floats,
    groups: NDArray[np.int64],
    ridge: float = 0.0,
    init: Floats | None = None,
    sparsity: float = 0.0,
) -> Floats:
    """Codes (n, M) of rows with concepts Y (n, S), least of ½‖x − aB‖² + ½ρ‖a‖² + α‖x‖·Σa over a ≥ 0.

    The price of a coefficient grows with its row, so that a row twice as long has codes twice as large. Where there are
    many atoms, rows that use the same ones go together, so that no product with all of them is made.
    """
    if sparsity == 0:
        return _codes(X, Y, atoms, groups, ridge, init, 0.0)
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    if (np.abs(lengths - 1) <= UNIT).all():
        codes = _codes(X, Y, atoms, groups, ridge, init, sparsity)
    else:
        start = None if init is None else init / np.where(lengths > 0, lengths, 1)
        codes = lengths * _codes(unit_rows(X), Y, atoms, groups, ridge, start, sparsity)
    codes[codes < NOTHING * lengths] = 0  # else an atom may move for the sake of round-off
    return np.asarray(codes)


def _codes(
    X: Floats,
    Y: Indicator,
    atoms: Floats,
    groups: NDArray[np.int64],
    ridge: float,
    init: Floats | None,
    sparsity: float,
) -> Floats:
    M = len(groups)
    mine = np.flatnonzero(np.asarray(Y.any(axis=0))[groups])
    if 2 * len(mine) <= M and init is None:  # a few rows use few atoms, and products of the others would be in vain
        codes = np.zeros((len(X), M), dtype=np.result_type(X, atoms))
        if len(mine):
            some, names = np.unique(groups[mine], return_inverse=True)
            codes[:, mine] = _codes(X, Y[:, some], atoms[mine], names, ridge, None, sparsity)
        return codes
    if M <= MANY_ATOMS or init is not None:
        return nnls(X, atoms, atom_mask(Y, groups), ridge=ridge, sparsity=sparsity, init=init).codes
    codes = np.zeros((len(X), len(groups)), dtype=X.dtype)
    for rows in together(Y, max(1, GROUP_ATOMS * Y.shape[1] // len(groups))):
        mine = np.flatnonzero(np.asarray(Y[rows].any(axis=0))[groups])
        if len(mine):
            mask = Y[rows][:, groups[mine]]
            codes[np.ix_(rows, mine)] = nnls(X[rows], atoms[mine], mask, ridge=ridge, sparsity=sparsity).codes
    return codes


def together(active: Indicator, most: int) -> list[NDArray[np.int64]]:
    """Rows that share concepts, in groups that have at most so many concepts (or one row)."""
    order = np.lexsort(np.packbits(active, axis=1).T[::-1])
    groups, first = [], 0
    seen = np.zeros(active.shape[1], dtype=bool)
    for place, row in enumerate(order):
        both = seen | active[row]
        if place > first and both.sum() > most:
            groups.append(np.sort(order[first:place]))
            first, both = place, active[row].copy()
        seen = both
    return [*groups, np.sort(order[first:])] if len(order) else groups
