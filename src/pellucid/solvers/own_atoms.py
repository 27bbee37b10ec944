"""Non-negative least squares for rows that use few of many atoms, each its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import FloatMatrix
from pellucid._core.checks import attainable
from pellucid._core.kernels import solve_few
from pellucid._core.threads import run_rows
from pellucid.solvers.batch import KERNEL_TOL
from pellucid.solvers.nonnegative import nnls

# as for nnls
TOL, MAX_ITER = 1e-8, 10_000


def nnls_of_own(
    X: FloatMatrix,
    atoms: FloatMatrix,
    starts: NDArray[np.int64],
    index: NDArray[np.int64],
    codes: NDArray[Any],
    *,
    ridge: float = 0.0,
    sparsity: float = 0.0,
) -> None:
    """For every row x of X minimise ½‖x − aB‖² + ½ρ‖a‖² + α‖a‖₁ over a ≥ 0, where B are the row's own atoms.

    No product with other atoms is made, so that time and memory do not grow with their number.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows.
    atoms : ndarray of shape (m, d)
        All atoms, in the precision of X.
    starts : ndarray of int64 of shape (n + 1,)
        Where in ``index`` the atoms of each row begin, and those of the last end.
    index : ndarray of int64 of shape (count,)
        Numbers of atoms, row after row.
    codes : ndarray of shape (count,)
        Where to start; overwritten by the answer, a coefficient for each entry of ``index``.
    ridge : float, default=0.0
        The ρ of the formula.
    sparsity : float, default=0.0
        The α of the formula.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.solvers.own_atoms import nnls_of_own
    >>> X, atoms, codes = np.array([[3.0, -1.0], [2.0, 5.0]]), np.eye(2), np.zeros(3)
    >>> nnls_of_own(X, atoms, np.array([0, 2, 3]), np.array([0, 1, 1]), codes)
    >>> codes.tolist()
    [3.0, 0.0, 5.0]
    """
    kkt = np.empty(len(X))

    def part(start: int, stop: int) -> None:
        mine = starts[start : stop + 1]
        solve_few(X[start:stop], atoms, mine, index, ridge, sparsity, codes, kkt[start:stop], KERNEL_TOL, MAX_ITER)

    run_rows(part, len(X), min_rows=16)
    for row in np.flatnonzero(~(kkt <= attainable(TOL, codes.dtype))):  # it says what is wrong, if anything is
        mine = slice(starts[row], starts[row + 1])
        again = nnls(X[row : row + 1], atoms[index[mine]], ridge=ridge, sparsity=sparsity, tol=TOL, max_iter=MAX_ITER)
        codes[mine] = again.codes[0]
