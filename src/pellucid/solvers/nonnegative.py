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
    attainable,
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
    sparsity: float = 0.0,
    init: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> Codes:
    """For every row x of X minimise ½‖x − aB‖² + ½ρ‖a‖² + α‖a‖₁ over a ≥ 0, where B are the atoms.

    Parameters
    ----------
    X : array-like of shape (n, d)
        May be memory-mapped; float32 and float16 are solved for in float32.
    atoms : array-like of shape (m, d)
        B; collinear atoms and m > d are allowed.
    mask : array-like of bool of shape (n, m) or None, default=None
        Which atoms a row may use; None is all.
    ridge : float, default=0.0
        The ρ of the formula.
    sparsity : float, default=0.0
        The α of the formula: what a coefficient costs.
    init : array-like of shape (n, m) or None, default=None
        Where to start; None is zero.
    tol : float, default=1e-8
        Largest KKT residual accepted.
    max_iter : int, default=10_000
        Sweeps and active-set steps that a row may take.

    Returns
    -------
    Codes
        The codes and the KKT residual of each row. Rows that did not converge come with a warning.

    See Also
    --------
    Cone : The same atoms for one batch of rows after another.
    nnls_gram : Where only products with the atoms are known.

    Examples
    --------
    >>> from pellucid.solvers import nnls
    >>> found = nnls([[3.0, -1.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
    >>> found.codes.round(6).tolist(), found.converged
    ([[3.0, 0.0], [0.0, 1.0]], True)
    """
    data = as_matrix(X, "X")
    B = as_atoms(atoms, data)
    check_width(data, B.shape[1], "X", "atoms")
    check_iteration(tol, max_iter)
    shape = (len(data), len(B))
    cone = Cone(B, as_nonnegative(ridge, "ridge"), tol, max_iter, as_nonnegative(sparsity, "sparsity"))
    return cone.codes(data, as_mask(mask, shape), starting_codes(init, shape, B.dtype))


class Cone:
    """The non-negative combinations of some atoms, made ready once for one batch of rows after another.

    Parameters
    ----------
    atoms : array-like of shape (m, d)
        A copy is kept, in float32 or float64.
    ridge : float, default=0.0
        As for :func:`nnls`.
    tol : float, default=1e-8
        Largest KKT residual accepted.
    max_iter : int, default=10_000
        Sweeps and active-set steps that a row may take.
    sparsity : float, default=0.0
        As for :func:`nnls`.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.solvers import Cone
    >>> Cone([[1.0, 0.0], [1.0, 1.0]]).project(np.array([[3.0, -1.0], [2.0, 1.0]])).round(6).tolist()
    [[3.0, 0.0], [2.0, 1.0]]
    """

    def __init__(
        self, atoms: ArrayLike, ridge: float = 0.0, tol: float = 1e-8, max_iter: int = 10_000, sparsity: float = 0.0
    ) -> None:
        given = as_matrix(atoms, "atoms")
        self.atoms = as_atoms(given, given).copy()
        self.ridge, self.tol = ridge, tol
        self._problem = BoundedQuadratic(gram(self.atoms), ridge, sparsity, 0.0, np.inf, tol, max_iter)
        self._all = as_mask(None, (1, len(self.atoms)))

    def codes(self, X: FloatMatrix, mask: NDArray[np.bool_], start: FloatMatrix) -> Codes:
        """Codes as :func:`nnls` finds them.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows to code.
        mask : ndarray of bool of shape (n, m) or (1, m)
            Which atoms a row may use.
        start : ndarray of shape (n, m)
            Where to start; overwritten by the answer.

        Returns
        -------
        Codes
            The codes, in ``start``, and the KKT residual of each row.
        """
        kkt = np.empty(len(X))

        def solve_block(rows: slice) -> None:
            _, C = correlations(X, self.atoms, rows)
            self._problem.solve(C, mask_block(mask, rows), start[rows], kkt[rows])

        run_blocks(solve_block, *start.shape)
        if (kkt <= attainable(self.tol, start.dtype)).all():
            return Codes(start, kkt, True)
        late = np.flatnonzero(~(kkt <= attainable(self.tol, start.dtype)))
        wide, lost = self.atoms.T.astype(np.float64), np.zeros(len(X))

        def look_again(part: slice) -> None:
            rows = late[part]
            C, allowed = np.asarray(X[rows], dtype=np.float64) @ wide, mask if len(mask) == 1 else mask[rows]
            codes, residual = start[rows], kkt[rows]
            if codes.dtype != C.dtype:  # where atoms nearly cancel, the digits that C lost hide the way to the answer
                self._problem.solve(C, allowed, codes, residual)
            start[rows], kkt[rows] = codes, residual
            lost[rows] = rounding_residual(codes, C, self._problem.lengths, allowed)

        run_blocks(look_again, len(late), len(self.atoms))
        return certified("nnls", start, kkt, self.tol, rounding=lambda rows: lost[rows])

    def project(self, X: FloatMatrix) -> FloatMatrix:
        """The nearest point of the cone to each row.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows to project.

        Returns
        -------
        ndarray of shape (n, d)
            Non-negative combinations of the atoms, in their precision.
        """
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
    """As :func:`nnls`, from products with the atoms alone: minimise ½aGaᵀ − ca + ½ρ‖a‖² over a ≥ 0.

    Parameters
    ----------
    C : array-like of shape (n, m)
        XBᵀ, whose rows are the c of the formula. They must be in the range of G, as they are when they come from data.
    G : array-like of shape (m, m)
        BBᵀ, positive semidefinite.
    mask : array-like of bool of shape (n, m) or None, default=None
        Which atoms a row may use; None is all.
    ridge : float, default=0.0
        The ρ of the formula.
    init : array-like of shape (n, m) or None, default=None
        Where to start; None is zero.
    tol : float, default=1e-8
        Largest KKT residual accepted.
    max_iter : int, default=10_000
        Sweeps and active-set steps that a row may take.

    Returns
    -------
    Codes
        As for :func:`nnls`.

    Examples
    --------
    >>> from pellucid.solvers import nnls_gram
    >>> nnls_gram([[3.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]]).codes.round(6).tolist()
    [[3.0, 0.0]]
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
