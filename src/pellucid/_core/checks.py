"""Checks that every solver makes on what it is given, each with one sentence that names the place."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import FloatMatrix

ADVICE = "raise max_iter or tol, or add a ridge"


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """``values`` as a plain array; NumPy's own complaints come out as one sentence."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; fill its missing values first.")
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a rectangular array of numbers, but its rows differ in length.") from None


def as_vector(values: ArrayLike, name: str, length: int, of: str) -> NDArray[np.float64]:
    """A float64 copy of ``length`` real numbers; a single number stands for all. Infinities are allowed, NaN is not."""
    array = as_array(values, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype} values.")
    vector = np.full(length, array, dtype=np.float64) if array.ndim == 0 else np.array(array, dtype=np.float64)
    if vector.shape != (length,):
        raise ValueError(f"{name} must hold {length} numbers, one per {of}, but has shape {vector.shape}.")
    if np.isnan(vector).any():
        raise ValueError(f"{name} has nan at position {int(np.argmax(np.isnan(vector)))}.")
    return vector


def as_matrix(values: ArrayLike, name: str) -> FloatMatrix:
    """``values`` as a two-dimensional array of numbers, not copied where it is one already (a memory map stays one)."""
    array = as_array(values, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype} values.")
    if array.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (rows are items), but its shape is {array.shape}.")
    if 0 in array.shape:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    return array


def working_dtype(*arrays: NDArray[Any]) -> type[np.float32] | type[np.float64]:
    """float32 if every array is float32 or float16, float64 otherwise."""
    narrow = all(a.dtype in (np.dtype(np.float16), np.dtype(np.float32)) for a in arrays)
    return np.float32 if narrow else np.float64


def for_kernel(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Contiguous and writable, copied only where it is not: a kernel is compiled anew for every other kind."""
    return np.require(array, dtype, ["C", "W"])


def check_finite(array: NDArray[Any], name: str, first_row: int = 0) -> None:
    """Name the first entry that is NaN or infinite."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = np.unravel_index(int(np.argmax(bad)), array.shape)
        place = f"row {first_row + int(where[0])}"
        if array.ndim == 2:
            place += f", column {int(where[1])}"
        raise ValueError(f"{name} has {array[where]} at {place}; remove or fill missing and infinite values first.")


def check_squares(rows: NDArray[Any], name: str, least: float = 0.0) -> None:
    """Refuse numbers so large, or all of them so much smaller than ``least``, that sums of their squares are not what
    their type can hold."""
    largest = float(max(rows.max(), -rows.min())) if rows.size else 0.0
    if largest > 1e-3 * float(np.finfo(rows.dtype).max) ** 0.5 or 0 < largest < least:
        raise ValueError(
            f"{name} reaches up to {largest:.1e}, whose squares {rows.dtype} cannot hold: divide or multiply all of "
            f"{name} by one number first."
        )


def first_not_finite(rows: NDArray[Any]) -> int | None:
    """The first row with a number that is NaN or infinite, if there is one; a sum over all tells most of the time."""
    with np.errstate(over="ignore", invalid="ignore"):  # finite numbers may have an infinite sum
        if np.isfinite(rows.sum(dtype=np.float64)):
            return None
    bad = ~np.isfinite(rows).reshape(len(rows), -1).all(axis=1)
    return int(np.argmax(bad)) if bad.any() else None


def check_width(array: NDArray[Any], width: int, name: str, other: str) -> None:
    if array.shape[1] != width:
        raise ValueError(f"{name} has {array.shape[1]} columns, but {other} has {width}.")


def as_atoms(values: ArrayLike, beside: NDArray[Any]) -> FloatMatrix:
    """A finite (m, d) array of atoms, none of zero length, in the precision they and ``beside`` allow."""
    given = as_matrix(values, "atoms")
    atoms: FloatMatrix = np.ascontiguousarray(given, dtype=working_dtype(given, beside))
    squares = np.einsum("ij,ij->i", atoms, atoms)
    if not 0 < squares.min() <= squares.max() < np.inf:  # something is wrong, or only too long or short to be squared
        check_finite(atoms, "atoms")
        zero = np.flatnonzero(~atoms.any(axis=1))
        if zero.size:
            raise ValueError(f"atoms has zero length at row {zero[0]}; drop that atom first.")
    return atoms


def as_gram(values: ArrayLike) -> NDArray[np.float64]:
    """A finite symmetric float64 matrix with a positive diagonal."""
    square = as_matrix(values, "G")
    if square.shape[0] != square.shape[1]:
        raise ValueError(f"G must be square, but its shape is {square.shape}.")
    G: NDArray[np.float64] = np.ascontiguousarray(square, dtype=np.float64)
    check_finite(G, "G")
    diagonal = G.diagonal()
    if (diagonal <= 0.0).any():
        worst = int(np.argmax(diagonal <= 0.0))
        raise ValueError(
            f"G has {diagonal[worst]:g} on its diagonal at row {worst}: an atom of zero length, or not a Gram matrix."
        )
    skew = np.abs(G - G.T)
    if skew.max() > 1e-6 * diagonal.max():
        i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
        raise ValueError(f"G must be symmetric, but G[{i}, {j}] and G[{j}, {i}] differ by {skew.max():.3g}.")
    check_convex(G, "G")
    return G


def as_mask(values: ArrayLike | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """A (n, m) array of who may be used where; ``None`` allows all (and is one row that serves for every row)."""
    if values is None:
        return np.ones((1, shape[1]), dtype=np.bool_)
    mask = np.asarray(values)
    if mask.shape != shape:
        raise ValueError(f"mask must have one row per item and one column per atom, {shape}, but has {mask.shape}.")
    if mask.dtype != np.bool_ and not np.isin(mask, (0, 1)).all():
        raise ValueError("mask must hold only True and False (or 1 and 0).")
    mask = for_kernel(mask, np.bool_)
    if not mask.any():
        raise ValueError("mask allows no atom for any row, so there is nothing to solve.")
    return mask


def as_nonnegative(value: float, name: str) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return float(value)


def check_iteration(tol: float, max_iter: int) -> None:
    as_nonnegative(tol, "tol")
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive whole number, got {max_iter!r}.")


def attainable(tol: float, dtype: Any) -> float:
    """The tolerance that answers stored as ``dtype`` can meet."""
    return max(tol, 64 * float(np.finfo(dtype).eps))


def warn_unconverged(
    solver: str, what: str, residual: float, tol: float, count: int, total: int, advice: str = ADVICE
) -> None:
    from sklearn.exceptions import ConvergenceWarning

    # point at the line outside this package that called the solver
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").startswith("pellucid."):
        depth += 1
    rows = f" for {count} of {total} rows" if total > 1 else ""
    warnings.warn(
        f"{solver} did not converge{rows}: largest {what} {residual:.3g}, asked for {tol:.3g}; {advice}.",
        ConvergenceWarning,
        stacklevel=depth + 1,
    )


def check_convex(matrix: NDArray[np.float64], name: str) -> None:
    """A Cholesky factorisation with the diagonal lifted by round-off succeeds exactly for semidefinite matrices."""
    from scipy.linalg import LinAlgError, cholesky

    lift = 1e-14 * len(matrix) * max(float(np.abs(matrix).max()), np.finfo(np.float64).tiny)
    try:
        cholesky(matrix + lift * np.eye(len(matrix)), lower=True, check_finite=False)
    except LinAlgError:
        raise ValueError(f"{name} is not positive semidefinite, so the problem is not convex.") from None
