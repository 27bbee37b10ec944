"""The objective of paper 3 (Eq. 2), term by term.

Rows x of X (n, d) belong to one of C clusters. A dictionary is D_c (k, d) for cluster c and D₀ (K₀, d) for what all
share; a row's code over its cluster's atoms is a (k,), over the common ones a₀ (K₀,). All atoms one below the other
are called ``stacked`` (Ck + K₀, d).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Penalties:
    """Weights of the terms beside the squared error, and how codes look.

    ridge : λ₁ on ‖a‖²
    sparsity : λ₂ on ‖a₀‖₁ (with ``codes="lasso"`` on ‖a‖₁ too, in place of the ridge)
    incoherence : λ₃ on the squared inner products of cluster atoms
    common : λ₄ on those of cluster atoms with common ones
    codes : "ridge", "lasso" or "one" (a is 1 and the single atom of a cluster has any length)
    within : whether λ₃ counts pairs of one cluster
    """

    ridge: float
    sparsity: float
    incoherence: float
    common: float
    codes: str
    within: bool


@dataclass(frozen=True)
class Dictionary:
    """Atoms of the clusters (C, k, d) and common ones (K₀, d)."""

    atoms: NDArray[Any]
    common: NDArray[Any]

    @property
    def stacked(self) -> NDArray[Any]:
        return np.concatenate([self.atoms.reshape(-1, self.atoms.shape[2]), self.common])

    def astype(self, dtype: Any) -> Dictionary:
        """In the precision in which a model keeps its atoms, so that what is learned is what is kept."""
        return Dictionary(self.atoms.astype(dtype), self.common.astype(dtype))

    @staticmethod
    def unstacked(stacked: NDArray[Any], shape: tuple[int, ...]) -> Dictionary:
        """The reverse of ``stacked``, where ``shape`` is (C, k, d)."""
        size = shape[0] * shape[1]
        return Dictionary(stacked[:size].reshape(shape), stacked[size:])


def pair_weights(shape: tuple[int, ...], n_common: int, penalties: Penalties, j: int) -> Floats:
    """Weight of (d_iᵀd_j)² for every atom i, where atom j alone changes: each pair of cluster atoms stands in ‖DDᵀ‖²
    twice, a pair with a common atom in ‖DD₀ᵀ‖² once, and a pair of common atoms nowhere."""
    C, k = shape[:2]
    weights = np.zeros(C * k + n_common)
    if j >= C * k:
        weights[: C * k] = penalties.common
        return weights
    weights[: C * k] = 2 * penalties.incoherence
    weights[C * k :] = penalties.common
    if not penalties.within:
        weights[j // k * k : (j // k + 1) * k] = 0
    weights[j] = 0
    return weights


def incoherence(dictionary: Dictionary, penalties: Penalties) -> float:
    """λ₃‖DDᵀ‖² + λ₄‖DD₀ᵀ‖² over pairs of different atoms (the paper's diagonal is constant for unit atoms)."""
    C, k, d = dictionary.atoms.shape
    D = dictionary.atoms.reshape(-1, d).astype(np.float64)
    total = (shorter_gram(D) ** 2).sum()
    if penalties.within:
        total -= (np.einsum("ij,ij->i", D, D) ** 2).sum()
    else:
        total -= sum((shorter_gram(D[c * k : (c + 1) * k]) ** 2).sum() for c in range(C))
    across = ((D @ dictionary.common.T) ** 2).sum()
    return float(penalties.incoherence * total + penalties.common * across)


def shorter_gram(D: Floats) -> Floats:
    """DDᵀ or DᵀD, which have the same norm, whichever is smaller."""
    return np.asarray(D @ D.T if len(D) <= D.shape[1] else D.T @ D)
