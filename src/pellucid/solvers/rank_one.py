"""Leading rank-one pairs with non-negative coefficients: the atom steps of paper 1 (Eq. 6-12 and 19)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from pellucid._core.arrays import FloatMatrix
from pellucid._core.checks import as_matrix, as_vector, check_finite, check_iteration, warn_unconverged, working_dtype

# below this many entries on the short side a dense eigenproblem is cheaper than iterating
DENSE = 24
LEAN = 0.01


@dataclass(frozen=True)
class RankOne:
    """A matrix as the product of one atom and non-negative coefficients, E ≈ coefficients ⊗ atom.

    Attributes
    ----------
    atom : ndarray of shape (d,)
        Of unit length.
    coefficients : ndarray of shape (n,)
        The best non-negative ones for this atom: max(0, E·atom).
    residual : float
        Relative residual of the equation that defines the atom; each function says which.
    converged : bool
        Whether the residual is within the tolerance.
    """

    atom: NDArray[np.floating[Any]]
    coefficients: NDArray[np.floating[Any]]
    residual: float
    converged: bool


def leading_atom(E: ArrayLike, init: ArrayLike | None = None, *, tol: float = 1e-10, max_iter: int = 1000) -> RankOne:
    """Leading right singular vector, its sign such that the non-negative coefficients keep most.

    Of ±b the majority sign keeps ‖max(0, ±Eb)‖², and the other loses to it whatever E is (Eq. 11).

    Parameters
    ----------
    E : array-like of shape (n, d)
        The matrix.
    init : array-like of shape (d,) or None, default=None
        Where to start, for instance last sweep's atom; None is the longest row of E.
    tol : float, default=1e-10
        Largest residual accepted, no less than the precision of E allows.
    max_iter : int, default=1000
        Products with E at most.

    Returns
    -------
    RankOne
        The atom b, its coefficients, and the residual ‖EᵀEb − σ²b‖/σ².

    Examples
    --------
    >>> from pellucid.solvers import leading_atom
    >>> found = leading_atom([[3.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> found.atom.round(6).tolist(), found.coefficients.round(6).tolist()
    ([1.0, 0.0], [3.0, 2.0, 0.0])
    """
    matrix, unit = _as_rows(E)
    check_iteration(tol, max_iter)
    start = _as_start(init, matrix)
    dense = min(matrix.shape) <= DENSE
    if dense:
        atom, residual = _dense(matrix)
    else:
        square = lambda v: (matrix @ v.astype(matrix.dtype, copy=False)) @ matrix  # noqa: E731
        atom, residual = lanczos(square, start, _limit(tol, matrix), max_iter)
    return _signed(matrix, atom, residual, tol, unit)


def nonnegative_power(
    E: ArrayLike, init: ArrayLike | None = None, *, tol: float = 1e-10, max_iter: int = 1000
) -> RankOne:
    """Power iteration that keeps the coefficients non-negative (Eq. 19): β ← max(0, Eb), b ← Eᵀβ/‖Eᵀβ‖.

    ‖max(0, Eb)‖² never falls on the way. It stops where b no longer moves: a stationary point, not always the best
    one, since the problem is NP-hard.

    Parameters
    ----------
    E : array-like of shape (n, d)
        The matrix.
    init : array-like of shape (d,) or None, default=None
        Where to start; None is the longest row of E.
    tol : float, default=1e-10
        Largest residual accepted, no less than the precision of E allows.
    max_iter : int, default=1000
        Steps at most.

    Returns
    -------
    RankOne
        The atom b, its coefficients β, and as residual the length of the last move of b.

    Examples
    --------
    >>> from pellucid.solvers import nonnegative_power
    >>> found = nonnegative_power([[3.0, 0.0], [2.0, 0.0], [-4.0, 0.0]])
    >>> found.atom.round(6).tolist(), found.coefficients.round(6).tolist()
    ([-1.0, 0.0], [0.0, 0.0, 4.0])
    """
    matrix, unit = _as_rows(E)
    check_iteration(tol, max_iter)
    atom = _as_start(init, matrix)
    if not (matrix @ atom > 0).any():
        atom = -atom
    residual = np.inf
    for _ in range(max_iter):
        new = np.maximum(matrix @ atom, 0) @ matrix
        length = np.linalg.norm(new)
        if length == 0:
            residual = 0.0
            break
        new /= length
        residual = float(np.linalg.norm(new - atom))
        atom = new
        if residual <= _limit(tol, matrix):
            break
    coefficients = np.maximum(matrix @ atom, 0) * matrix.dtype.type(unit)
    return _certified("nonnegative_power", atom, coefficients, residual, _limit(tol, matrix))


def majority_sign(projections: NDArray[Any]) -> float:
    """p* of Algorithm 1: the sign under which the positive part of the projections holds more energy (Eq. 11)."""
    up = float(np.square(np.maximum(projections, 0)).sum())
    down = float(np.square(np.minimum(projections, 0)).sum())
    return 1.0 if up >= down else -1.0


def _signed(E: FloatMatrix, atom: NDArray[Any], residual: float, tol: float, unit: float) -> RankOne:
    projections = E @ atom
    sign = majority_sign(projections)
    atom = (sign * atom).astype(E.dtype, copy=False)
    coefficients = np.maximum(sign * projections, 0) * E.dtype.type(unit)
    return _certified("leading_atom", atom, coefficients, residual, _limit(tol, E))


def _certified(name: str, atom: NDArray[Any], coefficients: NDArray[Any], residual: float, limit: float) -> RankOne:
    converged = bool(residual <= limit)
    if not converged:
        warn_unconverged(name, "residual", residual, limit, 1, 1, "raise max_iter or tol")
    return RankOne(atom, coefficients, residual, converged)


def _dense(E: FloatMatrix) -> tuple[NDArray[Any], float]:
    """Through the eigenvectors of the smaller Gram matrix."""
    wide = E.astype(np.float64, copy=False)
    n, d = E.shape
    gram = wide.T @ wide if d <= n else wide @ wide.T
    _, vectors = eigh(gram, subset_by_index=(len(gram) - 1, len(gram) - 1))
    atom = vectors[:, 0] if d <= n else vectors[:, 0] @ wide
    length = float(np.linalg.norm(atom))
    if length == 0.0:  # E is zero: any direction will do
        return np.eye(1, d)[0], 0.0
    atom = atom / length
    return atom, _eigen_residual(wide, atom)


def _eigen_residual(E: FloatMatrix, atom: NDArray[Any]) -> float:
    image = (E @ atom) @ E
    value = float(image @ atom)
    return float(np.linalg.norm(image - value * atom)) / value if value > 0 else 0.0


def lanczos(
    apply: Callable[[NDArray[Any]], NDArray[Any]], start: NDArray[Any], limit: float, max_iter: int
) -> tuple[NDArray[np.float64], float]:
    """Leading eigenvector of the semidefinite matrix behind ``apply``, and the relative residual ‖Mb − λb‖/λ.

    Lanczos with full reorthogonalisation, restarted from the best vector; a start near the answer takes a handful of
    products.
    """
    # a start that is another eigenvector already would never leave it: lean a little towards everything
    start = start / np.linalg.norm(start) + LEAN * _everywhere(start.size)
    start /= np.linalg.norm(start)
    basis = np.empty((min(64, start.size), start.size), dtype=np.float64)
    residual, steps = np.inf, 0
    while steps < max_iter:
        basis[0] = start
        diagonal: list[float] = []
        off: list[float] = []
        for k in range(len(basis)):
            steps += 1
            image = np.asarray(apply(basis[k]), dtype=np.float64)
            diagonal.append(float(image @ basis[k]))
            for _ in range(2):  # twice is enough to keep the basis orthogonal to round-off
                image = image - (basis[: k + 1] @ image) @ basis[: k + 1]
            beta = float(np.linalg.norm(image))
            # so few entries that a dense solver is done before a special one has checked them
            values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, -1))
            value, weights = float(values[-1]), vectors[:, -1]
            residual = abs(beta * float(weights[-1])) / value if value > 0 else 0.0
            if residual <= limit or k + 1 == len(basis) or steps >= max_iter:
                break
            off.append(beta)
            basis[k + 1] = image / beta
        start = weights @ basis[: len(weights)]
        start /= np.linalg.norm(start)
        if residual <= limit:
            break
    return start, residual


@cache
def _everywhere(size: int) -> NDArray[np.float64]:
    """A direction with something of all others in it."""
    lean = np.random.default_rng(0).standard_normal(size)
    return np.asarray(lean / np.linalg.norm(lean))


def _limit(tol: float, E: FloatMatrix) -> float:
    return max(tol, 32 * float(np.finfo(E.dtype).eps))


def _as_rows(E: ArrayLike) -> tuple[FloatMatrix, float]:
    """E divided by its largest entry, so that squares neither over- nor underflow, and that entry."""
    given = as_matrix(E, "E")
    matrix: FloatMatrix = np.ascontiguousarray(given, dtype=working_dtype(given))
    check_finite(matrix, "E")
    largest = float(np.abs(matrix).max())
    return (matrix / matrix.dtype.type(largest) if largest > 0 else matrix), largest


def _as_start(init: ArrayLike | None, E: FloatMatrix) -> NDArray[Any]:
    """Where to begin: ``init``, or the longest row of E; never a vector that E maps to zero."""
    if init is not None:
        given = as_vector(init, "init", E.shape[1], "column of E")
        check_finite(given, "init")
        start = (given / max(float(np.abs(given).max()), np.finfo(np.float64).tiny)).astype(E.dtype)
        if (E @ start).any():
            return np.asarray(start / np.linalg.norm(start))
    lengths = np.einsum("ij,ij->i", E, E)
    longest = E[int(np.argmax(lengths))]
    length = np.linalg.norm(longest)
    return np.asarray(longest / length) if length > 0 else np.eye(1, E.shape[1], dtype=E.dtype)[0]
