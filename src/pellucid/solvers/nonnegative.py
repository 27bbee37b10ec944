"""Non-negative least squares for many rows that share their atoms (paper 1, Eq. 2, 3 and 5; paper 2, Eq. 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import FloatMatrix
from pellucid._core.checks import (
    as_atoms,
    as_gram,
    as_mask,
    as_matrix,
    as_nonnegative,
    check_finite,
    check_iteration,
    check_width,
    for_kernel,
    working_dtype,
)
from pellucid.solvers.batch import (
    BoundedQuadratic,
    Codes,
    certified,
    correlations,
    gram,
    mask_block,
    rounding_residual,
    run_blocks,
    starting_codes,
)


def nnls(
    X: ArrayLike,
    atoms: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    ridge: float = 0.0,
    init: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> Codes:
    """For every row x of X minimise ½‖x − aB‖² + ½ρ‖a‖² over a ≥ 0, where B are the atoms.

    Parameters
    ----------
    X : (n, d) array, may be memory-mapped; float32 and float16 are solved for in float32
    atoms : (m, d) array, collinear atoms and m > d allowed
    mask : (n, m) array of bool, which atoms a row may use; all if None
    ridge : ρ
    init : (n, m) array, where to start; zero if None
    tol : largest KKT residual accepted
    max_iter : sweeps and active-set steps a row may take
    """
    data = as_matrix(X, "X")
    B = as_atoms(atoms, data)
    check_width(data, B.shape[1], "X", "atoms")
    check_iteration(tol, max_iter)
    shape = (len(data), len(B))
    cone = Cone(B, as_nonnegative(ridge, "ridge"), tol, max_iter)
    return cone.codes(data, as_mask(mask, shape), starting_codes(init, shape, B.dtype))


class Cone:
    """The non-negative combinations of some atoms, made ready once for one batch of rows after another.

    Parameters
    ----------
    atoms : (m, d) float32 or float64; a copy is kept
    ridge, tol, max_iter : as for :func:`nnls`
    """

    def __init__(self, atoms: ArrayLike, ridge: float = 0.0, tol: float = 1e-8, max_iter: int = 10_000) -> None:
        given = as_matrix(atoms, "atoms")
        self.atoms = as_atoms(given, given).copy()
        self.ridge, self.tol = ridge, tol
        self._problem = BoundedQuadratic(gram(self.atoms), ridge, 0.0, 0.0, np.inf, tol, max_iter)
        self._all = as_mask(None, (1, len(self.atoms)))

    def codes(self, X: FloatMatrix, mask: NDArray[np.bool_], start: FloatMatrix) -> Codes:
        """As :func:`nnls`, from codes that are overwritten."""
        kkt = np.empty(len(X))

        def solve_block(rows: slice) -> None:
            _, C = correlations(X, self.atoms, rows)
            self._problem.solve(C, mask_block(mask, rows), start[rows], kkt[rows])

        run_blocks(solve_block, *start.shape)

        def rounding(late: NDArray[np.int64]) -> NDArray[np.float64]:
            C = np.asarray(X[late], dtype=np.float64) @ self.atoms.T.astype(np.float64)
            return rounding_residual(start[late], C, self._problem.lengths, mask if len(mask) == 1 else mask[late])

        return certified("nnls", start, kkt, self.tol, rounding=rounding)

    def project(self, X: FloatMatrix) -> FloatMatrix:
        """The nearest point of the cone to each row of X (n, d), which has the atoms' precision."""
        start = np.zeros((len(X), len(self.atoms)), dtype=self.atoms.dtype)
        nearest: FloatMatrix = self.codes(X, self._all, start).codes @ self.atoms
        return nearest


def nnls_gram(
    C: ArrayLike,
    G: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    ridge: float = 0.0,
    init: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> Codes:
    """As :func:`nnls` where only C = XBᵀ (n, m) and G = BBᵀ (m, m) are known: minimise ½aGaᵀ − ca + ½ρ‖a‖², a ≥ 0.

    G must be positive semidefinite and C in its range, as they are when they come from data.
    """
    matrix = as_gram(G)
    right = as_matrix(C, "C")
    check_width(right, len(matrix), "C", "G")
    check_finite(right, "C")
    check_iteration(tol, max_iter)
    right = for_kernel(right, working_dtype(right))
    shape = (len(right), len(matrix))
    codes = starting_codes(init, shape, right.dtype)
    kkt = np.empty(shape[0])
    problem = BoundedQuadratic(matrix, as_nonnegative(ridge, "ridge"), 0.0, 0.0, np.inf, tol, max_iter)
    allowed = as_mask(mask, shape)

    def solve_block(rows: slice) -> None:
        problem.solve(right[rows], mask_block(allowed, rows), codes[rows], kkt[rows])

    run_blocks(solve_block, *shape)

    def rounding(late: NDArray[np.int64]) -> NDArray[np.float64]:
        masked = allowed if len(allowed) == 1 else allowed[late]
        return rounding_residual(codes[late], right[late], problem.lengths, masked)

    return certified("nnls_gram", codes, kkt, tol, rounding=rounding)
