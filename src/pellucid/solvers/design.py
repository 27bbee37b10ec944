"""Multitask basis pursuit as an optimal design (paper 5, Eq. 21): one D×D unknown instead of P×D.

The pursuit   min ‖β‖₁,₂ : Wβ = I   and its penalised form   min ‖β‖₁,₂ + ‖I − Wβ‖²/(2λ)   share one dual,

    max  tr V − λ/2 ‖V‖²   over symmetric V with ‖V w_p‖ ≤ 1 for every column,

whose multipliers η ≥ 0 are the weights of an A-optimal design: M = Σ η_p w_p w_pᵀ + λI, V = M⁻¹, β_p = η_p V w_p.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.solvers._cholesky import Floats, Ints, kernel
from pellucid.solvers._threads import one_blas_thread, run_rows

# numbers in a block of columns: the block and its product stay in the cache
BLOCK = 1 << 16
# columns of this length lead to systems that one thread solves faster
SMALL = 24


class Columns:
    """The columns w_p = scale_p·x_p of X (D, P), or those that ``index`` names, never copied as a whole unless they
    are few."""

    def __init__(self, X: NDArray[Any], scale: Floats | None = None, index: Ints | None = None) -> None:
        self.X, self.scale, self.index = X, scale, index
        self.dimension = X.shape[0]
        self.count = X.shape[1] if index is None else len(index)
        self.block = max(64, BLOCK // self.dimension)
        self.few: Floats | None = self.take(slice(None)) if self.count <= self.block else None

    def take(self, part: Ints | slice) -> Floats:
        wanted = part if self.index is None else self.index[part]
        if self.scale is None:
            return np.asarray(self.X[:, wanted], dtype=np.float64)
        if isinstance(wanted, slice):
            return np.asarray(np.multiply(self.X[:, wanted], self.scale[wanted], dtype=np.float64))
        out = np.asarray(self.X[:, wanted], dtype=np.float64)  # a copy already
        out *= self.scale[wanted]
        return out

    def scaled(self, scale: Floats) -> Columns:
        """The same x_p with other factors."""
        return Columns(self.X, scale, self.index)

    def rotated(self, basis: Floats) -> Columns:
        """The same in coordinates of a basis (D, k)."""
        return Columns(basis.T @ self.X, self.scale, self.index)

    def subset(self, index: Ints) -> Columns:
        return Columns(self.X, self.scale, index if self.index is None else self.index[index])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        if self.few is not None:
            yield slice(0, self.count), self.few
            return
        for start in range(0, self.count, self.block):
            part = slice(start, min(start + self.block, self.count))
            yield part, self.take(part)

    def lengths(self, V: Floats) -> Floats:
        """‖V w_p‖² of every column."""
        if self.few is not None:
            return squares(V @ self.few)
        out = np.empty(self.count)

        def part(start: int, stop: int) -> None:
            product = V @ self.take(slice(start, stop))
            np.einsum("ij,ij->j", product, product, out=out[start:stop])

        run_rows(part, self.count, min_rows=self.block, max_rows=self.block)
        return out

    def forms(self, S: Floats) -> Floats:
        """w_pᵀ S w_p of every column."""
        out = np.empty(self.count)
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


@kernel
def moment(W: Floats, weights: Floats, ridge: float) -> Floats:
    """M = Σ η_p w_p w_pᵀ + λI."""
    M: Floats = (W * weights) @ W.T
    for i in range(len(M)):
        M[i, i] += ridge
    return M


@kernel
def primal_value(W: Floats, weights: Floats, ridge: float) -> float:
    """‖β‖₁,₂ (+ ‖I − Wβ‖²/2λ) of β_p = η_p M⁻¹w_p, for which I − Wβ = λM⁻¹."""
    values, vectors = np.linalg.eigh(moment(W, weights, ridge))
    if values[0] <= 1e-15 * values[-1]:
        return np.inf
    inverse = (vectors / values) @ vectors.T
    rows = inverse @ W
    total = 0.0
    for p in range(len(weights)):
        total += weights[p] * np.sqrt((rows[:, p] ** 2).sum())
    return float(total + 0.5 * ridge * (inverse**2).sum())


def dual_value(V: Floats, ridge: float) -> float:
    return float(np.trace(V) - 0.5 * ridge * np.square(V).sum())


def blas_threads(dimension: int) -> AbstractContextManager[None]:
    """Small systems are solved faster by one thread."""
    return one_blas_thread() if dimension <= SMALL else nullcontext()


def squares(W: Floats) -> Floats:
    """Squared lengths of columns."""
    return np.asarray(np.einsum("ij,ij->j", W, W))
