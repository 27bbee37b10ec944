"""Non-negative codes of rows over the atoms of the concepts that each of them has (Eq. 5 of paper 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.arrays import unit_rows
from pellucid.concepts.labels import Indicator
from pellucid.solvers import nnls
from pellucid.solvers.own_atoms import nnls_of_own

Floats = NDArray[Any]

# atoms from which on rows may be coded over their own alone; and how many products with those of its own, which are of
# float64 and one by one, take as long as one with all
MANY_ATOMS, DEARER = 512, 2
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
    thin: bool = False,
) -> Any:
    """Codes (n, M) of rows with concepts Y (n, S), least of ½‖x − aB‖² + ½ρ‖a‖² + α‖x‖·Σa over a ≥ 0.

    The price of a coefficient grows with its row, so that a row twice as long has codes twice as large. With ``thin``
    the codes of rows that use few of many atoms come as a sparse array.
    """
    codes: Any
    solve = _own_codes if few_of_many(Y, groups) else _codes
    if sparsity == 0:
        codes = solve(X, Y, atoms, groups, ridge, init, 0.0)
    else:
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
        if (np.abs(lengths - 1) <= UNIT).all():
            codes = solve(X, Y, atoms, groups, ridge, init, sparsity)
        else:
            start = None if init is None else init / np.where(lengths > 0, lengths, 1)[:, None]
            codes = solve(unit_rows(X), Y, atoms, groups, ridge, start, sparsity)
            codes = codes.multiply(lengths[:, None]).tocsr() if sparse.issparse(codes) else codes * lengths[:, None]
        if sparse.issparse(codes):  # else an atom may move for the sake of round-off
            codes.data[codes.data < NOTHING * np.repeat(lengths, np.diff(codes.indptr))] = 0
            codes.eliminate_zeros()
        else:
            codes[codes < NOTHING * lengths[:, None]] = 0
    return codes if thin or not sparse.issparse(codes) else codes.toarray()


def few_of_many(Y: Indicator, groups: NDArray[np.int64]) -> bool:
    """Whether it costs less to multiply the atoms of each row with each other than all atoms once, and all rows."""
    if len(groups) < MANY_ATOMS:
        return False
    sizes = np.bincount(groups, minlength=Y.shape[1])
    M = int(sizes[Y.any(axis=0)].sum())  # of concepts that some row has
    return bool(M >= MANY_ATOMS and DEARER * np.square(Y @ sizes, dtype=np.float64).sum() <= M * (M + len(Y)))


def _own_codes(
    X: Floats,
    Y: Indicator,
    atoms: Floats,
    groups: NDArray[np.int64],
    ridge: float,
    init: Floats | None,
    sparsity: float,
) -> Any:
    """Codes as a sparse array: every row over the atoms of its concepts, as if there were no others."""
    M = len(groups)
    member = sparse.csr_array((np.ones(M, dtype=np.int8), (groups, np.arange(M))), shape=(Y.shape[1], M))
    uses = sparse.csr_array(sparse.csr_array(Y, dtype=np.int8) @ member)
    uses.sort_indices()
    dtype = np.result_type(X, atoms)
    starts, index = uses.indptr.astype(np.int64), uses.indices.astype(np.int64)
    if init is None:
        codes = np.zeros(len(index), dtype=dtype)
    else:
        codes = np.asarray(init[np.repeat(np.arange(len(Y)), np.diff(starts)), index], dtype=dtype)
    rows, every = (np.ascontiguousarray(array, dtype=dtype) for array in (X, atoms))
    nnls_of_own(rows, every, starts, index, codes, ridge=ridge, sparsity=sparsity)
    return sparse.csr_array((codes, uses.indices, uses.indptr), shape=(len(X), M))


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
    return nnls(X, atoms, atom_mask(Y, groups), ridge=ridge, sparsity=sparsity, init=init).codes
