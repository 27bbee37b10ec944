"""Newton's systems of the dual in :mod:`design`: linear equations for a symmetric D×D matrix."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, get_lapack_funcs

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import newton_directions, symmetric_products
from pellucid.solvers.design import SMALL, Columns, mmap_zeros

# numbers in a block of gradients
PANEL = 1 << 15
# systems of more unknowns are factorised in single precision, which is enough for a preconditioner
DOUBLE = 600
# so many columns an unknown are many; and the relative residual at which a try without a factor has succeeded
MANY = 4
EASY = 1e-12
# steps without progress after which precision is exhausted
STALLED = 5
# what is added to the diagonal, as a share of it, so that round-off leaves the matrix definite
SHIFT = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 3e-6}


class Symmetric:
    """Symmetric D×D matrices as vectors of their D(D+1)/2 entries, with the same inner product."""

    def __init__(self, dimension: int) -> None:
        self.i, self.j = np.triu_indices(dimension)
        self.factor = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        self.size = len(self.i)

    def vector(self, matrix: Floats) -> Floats:
        return np.asarray(matrix[self.i, self.j] * self.factor)

    def matrix(self, vector: Floats, dimension: int) -> Floats:
        out = np.empty((dimension, dimension))
        out[self.i, self.j] = out[self.j, self.i] = vector / self.factor
        return out

    def products(self, A: Floats, B: Floats) -> Floats:
        """½(a bᵀ + b aᵀ) of the columns of A and B, one vector a column: (size, n)."""
        out = np.empty((A.shape[1], self.size))
        symmetric_products(np.ascontiguousarray(A.T), np.ascontiguousarray(B.T), out)
        return np.asarray(out.T)


@functools.cache
def symmetric_matrices(dimension: int) -> Symmetric:
    return Symmetric(dimension)


def half_sum(A: Floats, B: Floats) -> Floats:
    """½(AB + BA)."""
    product = A @ B
    return np.asarray(0.5 * (product + product.T))


class System:
    """The operator X ↦ ½(MX + XM) + Σ curvature_p ⟨B_p, X⟩ B_p on symmetric matrices, 2B_p = V w_p w_pᵀ + w_p w_pᵀ V.

    Solved by conjugate gradients. The preconditioner is a Cholesky factor of the whole, in the eigenbasis of M where
    the first term is diagonal; it is stored in half the places (LAPACK's rectangular full packed format), and where it
    is large in single precision, so that it takes a quarter of the memory that a square array would. Without M, V and
    curvature many columns are first tried with what columns of all directions would need, which takes no factor.
    """

    def __init__(
        self, M: Floats, V: Floats, columns: Columns, curvature: Floats | None = None, factorise: bool = True
    ) -> None:
        self.M, self.V, self.columns, self.curvature = M, V, columns, curvature
        self.symmetric = symmetric_matrices(len(V))
        self.factor: NDArray[np.floating] | None = None
        if factorise or columns.count < MANY * self.symmetric.size:
            self._factorise()

    def _factorise(self) -> None:
        self.values, self.Q = np.linalg.eigh(self.M)
        kind = np.dtype(np.float64 if self.symmetric.size <= DOUBLE else np.float32)
        pftrf, self.pftrs, self.sfrk = get_lapack_funcs(("pftrf", "pftrs", "sfrk"), dtype=kind)
        shift = SHIFT[kind]
        while True:  # round-off may leave it indefinite: then a larger shift
            factor = self._gram(kind)
            diagonal = packed_diagonal(self.symmetric.size)
            factor[diagonal] += 0.5 * (self.values[self.symmetric.i] + self.values[self.symmetric.j])
            factor[diagonal] += shift * factor[diagonal].max()
            self.factor, info = pftrf(self.symmetric.size, factor, overwrite_a=True)
            if info == 0:
                return
            del factor
            self.factor = None  # before there is another
            if shift > 1e-3:
                raise LinAlgError("The system is not positive definite.")
            shift *= 10

    def _gram(self, kind: np.dtype) -> NDArray[np.floating]:
        """Σ curvature_p B_p B_pᵀ, packed."""
        size = self.symmetric.size
        total = mmap_zeros(size * (size + 1) // 2, kind)
        rows = max(16, PANEL // size)
        panel = mmap_zeros(rows * size, kind).reshape(rows, size)
        turned = self.Q.T @ self.V
        for part, block in self.columns.blocks():
            roots = np.sqrt(np.broadcast_to(self._curvature(part), block.shape[1]))
            for start in range(0, block.shape[1], rows):
                some = slice(start, start + rows)
                w, v = (np.ascontiguousarray((A @ block[:, some]).T) for A in (self.Q.T, turned))
                v *= roots[some, None]
                symmetric_products(v, w, panel[: len(w)])
                total = self.sfrk(size, len(w), 1.0, panel[: len(w)].T, 1.0, total, overwrite_c=True)
        return total

    def apply(self, X: Floats) -> Floats:
        S, total = half_sum(self.V, X), np.zeros_like(X)
        for part, block in self.columns.blocks():
            total += (block * (self._curvature(part) * np.einsum("ij,ij->j", block, S @ block))) @ block.T
        return half_sum(self.M, X) + half_sum(self.V, total)

    def _curvature(self, part: slice) -> Floats | float:
        return 1.0 if self.curvature is None else self.curvature[part]

    def precondition(self, R: Floats) -> Floats:
        if (
            self.factor is None
        ):  # the inverse of X ↦ 2X + tr(X)·I, the mean of (wᵀXw)wwᵀ over directions, up to a factor
            return np.asarray(R - np.trace(R) / (len(R) + 2) * np.eye(len(R)))
        right = self.symmetric.vector(self.Q.T @ R @ self.Q).astype(self.factor.dtype)
        found = self.pftrs(self.symmetric.size, self.factor, right[:, None], overwrite_b=True)[0][:, 0]
        return np.asarray(self.Q @ self.symmetric.matrix(found, len(R)) @ self.Q.T)

    def solve(self, R: Floats, tol: float = 1e-13, max_iter: int = 200) -> Floats:
        """X with image R, to a relative residual of ``tol`` or as far as precision goes."""
        if self.factor is None:
            found, residual = self._iterate(R, tol, max_iter=min(max_iter, self.symmetric.size // 4))
            if residual <= EASY:
                return found
            self._factorise()
        return self._iterate(R, tol, max_iter)[0]

    def _iterate(self, R: Floats, tol: float, max_iter: int) -> tuple[Floats, float]:
        """Conjugate gradients: the best X and its relative residual."""
        X, left, towards = np.zeros_like(R), R, np.zeros_like(R)
        goal = tol * float(np.linalg.norm(R))
        best, best_norm, since, before = X, np.inf, 0, np.inf
        for _ in range(max_iter):
            norm = float(np.linalg.norm(left))
            best, best_norm, since = (X, norm, 0) if norm < best_norm else (best, best_norm, since + 1)
            if norm <= goal or since > STALLED:
                break
            step = self.precondition(left)
            now = float(np.vdot(left, step))
            towards = step + now / before * towards
            image = self.apply(towards)
            curved = float(np.vdot(towards, image))
            if not (now > 0 and curved > 0):
                break
            X = X + now / curved * towards
            left = left - now / curved * image
            before = now
        return best, best_norm / max(float(np.linalg.norm(R)), np.finfo(float).tiny)


def packed_diagonal(size: int) -> Ints:
    """Where the diagonal stands in LAPACK's rectangular full packed format (upper triangle, not transposed)."""
    half, height = size // 2, size + (size + 1) % 2
    i = np.arange(size)
    return np.where(i < half, i * height + half + 1 + i, (i - half) * height + i)


def directions(
    V: Floats, columns: Columns, weights: Floats, curvature: Floats, pull: Floats, ridge: float, tol: float = 1e-13
) -> tuple[Floats, Floats]:
    """Two solutions X of ½(MX + XM) + Σ curvature_p ⟨B_p, X⟩ B_p = R, with 2B_p the gradient of ‖V w_p‖²: for
    R = I − λV and for R = Σ pull_p B_p.

    With curvature 2η/z and pull 1/z the Newton direction towards ½(MV + VM) = I, η_p z_p = μ is the first minus μ times
    the second. In the eigenbasis of M the first term is diagonal.
    """
    if len(V) <= SMALL:
        W = columns.take(slice(None)) if columns.copied is None else columns.copied
        towards, away = np.empty_like(V), np.empty_like(V)
        if not newton_directions(V, W, weights, curvature, pull, ridge, towards, away):
            raise LinAlgError("The system is not positive definite.")
        return towards, away
    system = System(columns.moment(weights) + ridge * np.eye(len(V)), V, columns, curvature)
    return system.solve(np.eye(len(V)) - ridge * V, tol), system.solve(half_sum(V, columns.moment(pull)), tol)
