"""Sparse codes for many rows that share their atoms, with the duality gap of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import FloatMatrix
from pellucid._core.checks import (
    as_atoms,
    as_gram,
    as_mask,
    as_matrix,
    as_nonnegative,
    as_vector,
    attainable,
    check_finite,
    check_iteration,
    check_width,
    for_kernel,
    warn_unconverged,
    working_dtype,
)
from pellucid.solvers.batch import BoundedQuadratic, correlations, gram, run_blocks, starting_codes


@dataclass(frozen=True)
class SparseCodes:
    """Sparse codes with their certificate.

    Attributes
    ----------
    codes : ndarray of shape (n, m)
        The coefficients of each row over the atoms.
    duality_gap : ndarray of shape (n,)
        No code of that row has an objective lower by more than this.
    converged : bool
        Whether every gap is at most ``tol`` times ½‖x‖².
    """

    codes: FloatMatrix
    duality_gap: NDArray[np.float64]
    converged: bool


def lasso(
    X: ArrayLike,
    atoms: ArrayLike,
    alpha: float,
    *,
    positive: bool = False,
    ridge: float = 0.0,
    init: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> SparseCodes:
    """For every row x of X minimise ½‖x − aB‖² + α‖a‖₁ + ½ρ‖a‖², where B are the atoms.

    Note the halves: a paper that writes ‖x − aB‖² + λ‖a‖₁ means α = λ/2.

    Parameters
    ----------
    X : array-like of shape (n, d)
        May be memory-mapped; float32 and float16 are solved for in float32.
    atoms : array-like of shape (m, d)
        B; collinear atoms and m > d are allowed.
    alpha : float
        Weight of the ℓ1 term, positive.
    positive : bool, default=False
        Allow only a ≥ 0.
    ridge : float, default=0.0
        The ρ of the formula.
    init : array-like of shape (n, m) or None, default=None
        Where to start; None is zero.
    tol : float, default=1e-8
        Largest duality gap accepted, as a share of ½‖x‖².
    max_iter : int, default=10_000
        Sweeps and active-set steps that a row may take.

    Returns
    -------
    SparseCodes
        The codes and the duality gap of each row. Rows that did not converge come with a warning.

    Examples
    --------
    >>> from pellucid.solvers import lasso
    >>> found = lasso([[3.0, -1.0, 0.2]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], alpha=0.5)
    >>> found.codes.round(6).tolist(), found.converged
    ([[2.5, -0.5, 0.0]], True)
    """
    data = as_matrix(X, "X")
    B = as_atoms(atoms, data)
    check_width(data, B.shape[1], "X", "atoms")
    solver = _Lasso(gram(B), alpha, positive, ridge, tol, max_iter)
    codes = starting_codes(init, (len(data), len(B)), B.dtype)
    gap, norms = np.empty(len(data)), np.empty(len(data))

    def solve_block(rows: slice) -> None:
        block, C = correlations(data, B, rows)
        norms[rows] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        gap[rows] = solver.solve(C, norms[rows], codes[rows])

    run_blocks(solve_block, *codes.shape)
    return _certified("lasso", codes, gap, norms, tol)


def lasso_gram(
    C: ArrayLike,
    G: ArrayLike,
    alpha: float,
    *,
    squared_norms: ArrayLike | None = None,
    positive: bool = False,
    ridge: float = 0.0,
    init: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> SparseCodes:
    """As :func:`lasso`, from products with the atoms alone: C = XBᵀ and G = BBᵀ.

    Parameters
    ----------
    C : array-like of shape (n, m)
        Correlations of the rows with the atoms.
    G : array-like of shape (m, m)
        Gram matrix of the atoms.
    alpha : float
        Weight of the ℓ1 term, positive.
    squared_norms : array-like of shape (n,) or None, default=None
        Squared lengths of the rows of X, for the duality gap. None takes the rows to be the shortest ones that have
        these correlations.
    positive : bool, default=False
        Allow only codes of at least zero.
    ridge : float, default=0.0
        Weight of the squared codes.
    init : array-like of shape (n, m) or None, default=None
        Where to start; None is zero.
    tol : float, default=1e-8
        Largest duality gap accepted, as a share of ½‖x‖².
    max_iter : int, default=10_000
        Sweeps and active-set steps that a row may take.

    Returns
    -------
    SparseCodes
        As for :func:`lasso`.

    Examples
    --------
    >>> from pellucid.solvers import lasso_gram
    >>> lasso_gram([[3.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]], alpha=0.5).codes.round(6).tolist()
    [[2.5, -0.5]]
    """
    matrix = as_gram(G)
    right = as_matrix(C, "C")
    check_width(right, len(matrix), "C", "G")
    check_finite(right, "C")
    right = for_kernel(right, working_dtype(right))
    solver = _Lasso(matrix, alpha, positive, ridge, tol, max_iter)
    codes = starting_codes(init, right.shape, right.dtype)
    if squared_norms is None:
        norms = _shortest_squared_norms(right, matrix)
    else:
        norms = as_vector(squared_norms, "squared_norms", len(right), "row of C")
        check_finite(norms, "squared_norms")
        if (norms < 0).any():
            raise ValueError(f"squared_norms has {norms.min():g} at row {int(norms.argmin())}, below zero.")
    gap = np.empty(len(right))

    def solve_block(rows: slice) -> None:
        gap[rows] = solver.solve(right[rows], norms[rows], codes[rows])

    run_blocks(solve_block, *codes.shape)
    return _certified("lasso_gram", codes, gap, norms, tol)


class _Lasso:
    """The problem of one Gram matrix: solves rows in place and bounds how far they are from the optimum."""

    def __init__(
        self, G: NDArray[np.float64], alpha: float, positive: bool, ridge: float, tol: float, max_iter: int
    ) -> None:
        self.alpha, self.positive = as_nonnegative(alpha, "alpha"), positive
        if self.alpha == 0.0:
            raise ValueError("alpha must be positive; for alpha = 0 use nnls, or numpy.linalg.lstsq without the sign.")
        check_iteration(tol, max_iter)
        rho = as_nonnegative(ridge, "ridge")
        self.problem = BoundedQuadratic(G, rho, self.alpha, 0.0 if positive else -np.inf, np.inf, tol, max_iter)
        self.G = G + rho * np.eye(len(G))
        self.mask = as_mask(None, G.shape)

    def solve(self, C: FloatMatrix, norms: NDArray[np.float64], codes: FloatMatrix) -> NDArray[np.float64]:
        self.problem.solve(C, self.mask, codes, np.empty(len(codes)))
        return duality_gap(codes, C, self.G, norms, self.alpha, self.positive)


def duality_gap(
    codes: NDArray[Any], C: NDArray[Any], G: NDArray[np.float64], norms: NDArray[Any], alpha: float, positive: bool
) -> NDArray[np.float64]:
    """Gap between each row's objective and the dual value of its rescaled residual (G includes the ridge).

    With r = x − aB and w = Br, the dual point is s·r with the largest s ≤ 1 that keeps |s·w| ≤ α, and the gap is
    ½(1 − s)²‖r‖² + α‖a‖₁ − s·aᵀw.
    """
    a, c = codes.astype(np.float64, copy=False), C.astype(np.float64, copy=False)
    w = c - a @ G
    residual = np.maximum(norms - np.einsum("ij,ij->i", a, c + w), 0.0)  # ‖x‖² − 2aᵀc + aᵀGa
    steepest = np.maximum((w if positive else np.abs(w)).max(axis=1), 0.0)
    s = alpha / np.maximum(steepest, alpha)
    gap = 0.5 * (1.0 - s) ** 2 * residual + alpha * np.abs(a).sum(axis=1) - s * np.einsum("ij,ij->i", a, w)
    return np.asarray(np.maximum(gap, 0.0))


def _shortest_squared_norms(C: NDArray[Any], G: NDArray[np.float64]) -> NDArray[np.float64]:
    """cᵀG⁺c: the squared norm of the shortest x whose correlations with the atoms are c."""
    values, vectors = np.linalg.eigh(G)
    kept = values > len(G) * np.finfo(np.float64).eps * values[-1]
    return np.asarray(((C @ vectors[:, kept]) ** 2 / values[kept]).sum(axis=1), dtype=np.float64)


def _certified(
    name: str, codes: FloatMatrix, gap: NDArray[np.float64], norms: NDArray[np.float64], tol: float
) -> SparseCodes:
    limit = attainable(tol, codes.dtype)
    relative = gap / np.maximum(0.5 * norms, np.finfo(np.float64).tiny)
    late = int(np.count_nonzero(~(relative <= limit)))
    if late:
        warn_unconverged(name, "duality gap (as a share of ½‖x‖²)", float(relative.max()), limit, late, len(gap))
    return SparseCodes(codes, gap, late == 0)
