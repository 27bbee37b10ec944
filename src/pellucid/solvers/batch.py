"""Many small quadratics with one Gram matrix: products by BLAS in blocks of rows, then the kernel on every row."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import FloatMatrix
from pellucid._core.checks import ADVICE, as_matrix, attainable, check_finite, warn_unconverged
from pellucid._core.kernels import solve_rows, to_unit_diagonal
from pellucid._core.threads import one_blas_thread, run_rows

# entries of C that one thread holds at a time
BLOCK_ENTRIES = 1 << 20
KERNEL_TOL = 1e-12

_local = threading.local()


@dataclass(frozen=True)
class Codes:
    """Codes with their certificate.

    Attributes
    ----------
    codes : ndarray of shape (n, m)
        The coefficients of each row over the atoms.
    kkt : ndarray of shape (n,)
        How far the worst coefficient of a row is from its own optimum, as a share of the row's largest correlation with
        an atom: zero exactly at a minimiser, and the same if X or an atom is rescaled.
    converged : bool
        Whether every row's residual is within the tolerance.
    """

    codes: FloatMatrix
    kkt: NDArray[np.float64]
    converged: bool


class BoundedQuadratic:
    """min ½aᵀ(G+ρI)a − cᵀa + α‖a‖₁ within bounds, for every row c; G is scaled to unit diagonal for the kernel."""

    def __init__(
        self,
        G: NDArray[np.float64],
        ridge: float,
        alpha: float,
        lower: float | NDArray[np.float64],
        upper: float | NDArray[np.float64],
        tol: float,
        max_iter: int,
    ) -> None:
        self.scaled, self.lengths, bounds = np.empty(G.shape), np.empty(len(G)), np.empty(2)
        to_unit_diagonal(G, ridge, self.scaled, self.lengths, bounds)
        shortest, longest = bounds
        if not longest < np.inf:
            raise ValueError("atoms are so long that their products overflow; rescale them.")
        if shortest < 1e-290:
            raise ValueError("atoms are so short that their products vanish; rescale them.")
        # an answer is certified to ``tol``, but the kernel goes on to round-off: where atoms are alike, a small
        # residual still allows codes that are far off
        self.tol, self.max_iter = min(tol, KERNEL_TOL), min(int(max_iter), 1 << 40)
        self.alpha = alpha / self.lengths
        self.lower, self.upper = lower * self.lengths, upper * self.lengths

    def solve(self, C: FloatMatrix, mask: NDArray[np.bool_], codes: FloatMatrix, kkt: NDArray[np.float64]) -> None:
        """Overwrite ``codes`` (the starting point) by the answer and ``kkt`` by its residual, row by row."""
        if codes.dtype == C.dtype:
            self._solve(C, mask, codes, kkt, self.max_iter)
            return
        for limit in (self.max_iter, 0):  # the answer in the precision of C, then the residual of it as it is stored
            wide = codes.astype(C.dtype)
            self._solve(C, mask, wide, kkt, limit)
            codes[:] = wide

    def _solve(
        self, C: FloatMatrix, mask: NDArray[np.bool_], codes: FloatMatrix, kkt: NDArray[np.float64], max_iter: int
    ) -> None:
        solve_rows(
            C, self.scaled, self.lengths, mask, self.alpha, self.lower, self.upper, codes, kkt, self.tol, max_iter
        )


def gram(atoms: FloatMatrix) -> NDArray[np.float64]:
    """Inner products of the atoms, in float64 whatever they are."""
    wide = atoms.astype(np.float64, copy=False)
    work = len(wide) ** 2 * wide.shape[1]  # little is done on one thread anyway, much is worth a spin afterwards
    with one_blas_thread() if 1 << 18 < work < 1 << 28 else nullcontext():
        return np.asarray(wide @ wide.T)


def run_blocks(part: Callable[[slice], None], n: int, m: int) -> None:
    """Call ``part`` on slices that cover n rows, in parallel, with at most ``BLOCK_ENTRIES`` codes in each."""
    run_rows(lambda start, stop: part(slice(start, stop)), n, max_rows=max(64, BLOCK_ENTRIES // m))


def correlations(X: NDArray[Any], atoms: FloatMatrix, rows: slice) -> tuple[FloatMatrix, FloatMatrix]:
    """The block of X and C = X·atomsᵀ in the atoms' precision; a value that is not finite is named."""
    block = np.ascontiguousarray(X[rows], dtype=atoms.dtype)
    C = np.matmul(block, atoms.T, out=_scratch(len(block), len(atoms), atoms.dtype))
    if not np.isfinite(C.sum()) and not np.isfinite(C).all():
        check_finite(X[rows], "X", rows.start)
        raise ValueError(f"X is so large that its products with atoms overflow {atoms.dtype}; rescale it.")
    suspects = (C[:, 0] == 0).nonzero()[0]
    if suspects.size:
        blank = suspects[~C[suspects].any(axis=1) & block[suspects].any(axis=1)]
        if (np.abs(block[blank]).max(axis=1) * float(np.abs(atoms).max()) < np.finfo(C.dtype).tiny).any():
            raise ValueError(f"X is so small that its products with atoms vanish in {atoms.dtype}; rescale it.")
    return block, C


def _scratch(n: int, m: int, dtype: np.dtype[Any]) -> FloatMatrix:
    """This thread's own buffer, overwritten by its next block: fresh memory for every block costs threads dearly."""
    buffer = getattr(_local, "buffer", None)
    if buffer is None or buffer.nbytes < n * m * dtype.itemsize:
        buffer = _local.buffer = np.empty(n * m * dtype.itemsize, dtype=np.uint8)
    return np.asarray(buffer[: n * m * dtype.itemsize].view(dtype).reshape(n, m))


def starting_codes(init: ArrayLike | None, shape: tuple[int, int], dtype: Any) -> FloatMatrix:
    if init is None:
        return np.zeros(shape, dtype=dtype)
    given = as_matrix(init, "init")
    codes: FloatMatrix = np.array(given, dtype=dtype, order="C")
    if codes.shape != shape:
        raise ValueError(f"init must have one row per item and one column per atom, {shape}, but has {codes.shape}.")
    check_finite(codes, "init")
    return codes


def mask_block(mask: NDArray[np.bool_], rows: slice) -> NDArray[np.bool_]:
    return mask if len(mask) == 1 else mask[rows]


def certified(
    name: str,
    codes: FloatMatrix,
    kkt: NDArray[np.float64],
    tol: float,
    advice: str = ADVICE,
    *,
    rounding: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None,
) -> Codes:
    """Codes with their certificate; ``rounding`` tells of some rows what residual their precision alone may leave."""
    limit = attainable(tol, codes.dtype)
    late = np.flatnonzero(~(kkt <= limit))  # NaN is late
    if late.size and rounding is not None:
        late = late[~(kkt[late] <= rounding(late))]
    if late.size:
        warn_unconverged(name, "KKT residual", float(np.max(kkt[late])), limit, len(late), len(kkt), advice)
    return Codes(codes, kkt, late.size == 0)


def rounding_residual(
    codes: FloatMatrix, C: NDArray[Any], lengths: NDArray[np.float64], mask: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The KKT residual (n,) that rounding codes to their own precision may leave: where atoms nearly cancel, codes are
    large beside the row, and so is what is lost of them."""
    eps = float(np.finfo(codes.dtype).eps)
    largest = np.where(mask, np.abs(C) / lengths, 0.0).max(axis=1)
    lost = eps * (np.abs(codes) @ lengths) / np.maximum(largest, np.finfo(np.float64).tiny)
    return np.where(np.isfinite(lost), lost, 0.0)  # codes that overflow are no answer at all
