"""Multitask basis pursuit as an optimal design (paper 5, Eq. 21): one D×D unknown instead of P×D.

The pursuit   min ‖β‖₁,₂ : Wβ = I   and its penalised form   min ‖β‖₁,₂ + ‖I − Wβ‖²/(2λ)   share one dual,

    max  tr V − λ/2 ‖V‖²   over symmetric V with ‖V w_p‖ ≤ 1 for every column,

whose multipliers η ≥ 0 are the weights of an A-optimal design: M = Σ η_p w_p w_pᵀ + λI, V = M⁻¹, β_p = η_p V w_p.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid._core.threads import one_blas_thread, run_rows

# numbers in a block of columns, and in columns that are copied as a whole: a block and its product stay in the cache
BLOCK = COPIED = 1 << 16
# bytes of an array that is worth memory of its own
LARGE = 1 << 16
# columns of this length lead to systems that one thread solves faster
SMALL = 24
# OpenBLAS shares out products of more multiplications
SHARED_OUT = 1 << 18


def mmap_zeros(count: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Zeros in memory that goes back to the system when they are let go, where they are many: malloc may keep what is
    freed, in pieces too small for the next array."""
    size = count * np.dtype(dtype).itemsize
    if size <= LARGE:
        return np.zeros(count, dtype=dtype)
    return np.frombuffer(mmap.mmap(-1, size, access=mmap.ACCESS_COPY), dtype=dtype)


def columns_in_a_block(dimension: int) -> int:
    """Long columns make work enough in small blocks, which take less memory."""
    return max(64, BLOCK // dimension // (1 if dimension <= SMALL else 8))


class Columns:
    """The columns w_p = scale_p·x_p of X (D, P), or those that ``index`` names, never copied as a whole unless they
    are few."""

    def __init__(self, X: NDArray[Any], scale: Floats | None = None, index: Ints | None = None) -> None:
        self.X, self.scale, self.index = X, scale, index
        self.dimension = X.shape[0]
        self.count = X.shape[1] if index is None else len(index)
        self.block = columns_in_a_block(self.dimension)
        self.copied: Floats | None = self.take(slice(None)) if self.count * self.dimension <= COPIED else None

    def take(self, part: Ints | slice) -> Floats:
        wanted = part if self.index is None else self.index[part]
        if self.scale is None:
            return np.ascontiguousarray(self.X[:, wanted], dtype=np.float64)
        if isinstance(wanted, slice):
            return np.asarray(np.multiply(self.X[:, wanted], self.scale[wanted], dtype=np.float64, order="C"))
        out = mmap_zeros(self.dimension * len(wanted)).reshape(self.dimension, -1)
        for start in range(0, len(wanted), self.block):  # the copy that picking makes stays small
            some = wanted[start : start + self.block]
            np.multiply(self.X[:, some], self.scale[some], out=out[:, start : start + self.block])
        return np.asarray(out)

    def scaled(self, scale: Floats) -> Columns:
        """The same x_p with other factors."""
        return Columns(self.X, scale, self.index)

    def rotated(self, basis: Floats) -> Columns:
        """The same in coordinates of a basis (D, k)."""
        return Columns(basis.T @ self.X, self.scale, self.index)

    def subset(self, index: Ints) -> Columns:
        return Columns(self.X, self.scale, index if self.index is None else self.index[index])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        if self.copied is not None:
            yield slice(0, self.count), self.copied
            return
        for start in range(0, self.count, self.block):
            part = slice(start, min(start + self.block, self.count))
            yield part, self.take(part)

    def lengths(self, V: Floats) -> Floats:
        """‖V w_p‖² of every column."""
        if self.copied is not None:
            return squares(V @ self.copied)
        out = mmap_zeros(self.count)

        def part(first: int, last: int) -> None:
            for start in range(first, last, self.block):
                some = slice(start, min(start + self.block, last))
                product = self._product(V, some)
                np.einsum("ij,ij->j", product, product, out=out[some])

        run_rows(part, self.count, min_rows=self.block)
        return out

    def _product(self, V: Floats, part: slice) -> Floats:
        """V w_p, without a scaled copy of the columns where they stand side by side."""
        if self.scale is None or self.index is not None:
            return np.asarray(V @ self.take(part))
        product = V @ np.asarray(self.X[:, part], dtype=np.float64)
        product *= self.scale[part]
        return np.asarray(product)

    def forms(self, S: Floats) -> Floats:
        """w_pᵀ S w_p of every column."""
        out = mmap_zeros(self.count)
        for part, block in self.blocks():
            np.einsum("ij,ij->j", block, S @ block, out=out[part])
        return out

    def moment(self, weights: Floats | None = None) -> Floats:
        """Σ weights_p w_p w_pᵀ."""
        total = np.zeros((self.dimension, self.dimension))
        for part, block in self.blocks():
            total += (block if weights is None else block * weights[part]) @ block.T
        return total


@dataclass(frozen=True)
class Design:
    """A solution of the dual with its certificate.

    V : (D, D) symmetric, ‖V w_p‖ ≤ 1 for all columns
    index, weights : the columns that took part and their η
    objective : value of the primal solution that the weights make, β_p = η_p M⁻¹w_p
    gap : how much of it, at most, is above the optimum (relative)
    history : the objective after each Newton step
    """

    V: Floats
    index: Ints
    weights: Floats
    objective: float
    gap: float
    history: tuple[float, ...]


def dual_value(V: Floats, ridge: float) -> float:
    """tr V − λ/2 ‖V‖²"""
    trace = float(V.trace())
    return trace - 0.5 * ridge * float(np.vdot(V, V)) if ridge else trace


def blas_threads(columns: Columns) -> AbstractContextManager[None]:
    """Small systems are solved faster by one thread, which BLAS itself takes for the smallest."""
    D = columns.dimension
    alone = (D * (D + 1) // 2) ** 2 * columns.count <= SHARED_OUT
    return one_blas_thread() if D <= SMALL and not alone else nullcontext()


def squares(W: Floats) -> Floats:
    """Squared lengths of columns."""
    return np.asarray(np.einsum("ij,ij->j", W, W))
