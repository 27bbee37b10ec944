"""Beyond the paper: flip single bits against the loss of Eq. 3, so that a fit only gets better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pellucid._core.arrays import Floats
from pellucid._core.checks import as_matrix, as_nonnegative, check_finite
from pellucid._core.threads import one_blas_thread
from pellucid.binary.packed_bits import Bits
from pellucid.binary.weights import (
    alignment,
    as_bits,
    centred,
    fit_weights,
    imbalance,
    kernel_norm,
    quadratic,
)

# a flip must lower the loss by this share of ‖K̄‖² = 1, or it is round-off
LEAST_GAIN = 1e-12


@dataclass(frozen=True)
class LocalSearchResult:
    """Concepts after a local search, as :func:`improve_concepts` returns them.

    Attributes
    ----------
    concepts : ndarray of shape (p, b), dtype uint8
        Bits of the items, of the concepts that still have a weight.
    weights : ndarray of shape (b,)
        Their weights, on the scale of the items.
    losses : ndarray of shape (sweeps + 1,)
        Loss of Eq. 3, on kernels of unit norm, at the start and after each sweep; it never rises.
    flips : int
        Bits flipped.
    cka : float
        Centred kernel alignment at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import improve_concepts
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> result = improve_concepts(X, X > 0)  # the true concepts already
    >>> print(result.flips, round(result.cka, 2))
    0 1.0
    """

    concepts: Bits
    weights: Floats
    losses: Floats
    flips: int
    cka: float


def improve_concepts(X: ArrayLike, S: ArrayLike, sparsity: float = 1e-5, max_sweeps: int = 10) -> LocalSearchResult:
    """Flip single bits of concepts as long as that lowers the loss of Eq. 3.

    A local search: each sweep flips, concept after concept, the bits that lower the loss most, one at a time, and fits
    the weights again; until no flip helps.

    Parameters
    ----------
    X : array-like of shape (p, d)
        Items.
    S : array-like of shape (p, b)
        Concepts to start from, 0 or 1.
    sparsity : float, default=1e-5
        The λ of Eq. 3, on kernels of unit norm.
    max_sweeps : int, default=10
        Sweeps at most.

    Returns
    -------
    LocalSearchResult
        Concepts that fit at least as well, their weights, and the losses on the way.

    Raises
    ------
    ValueError
        If X is not finite, S holds anything but 0 and 1 or has another number of rows, or ``sparsity`` is negative.

    See Also
    --------
    concept_weights : Only the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import improve_concepts
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> S = X > 0
    >>> S[3, 0] = True  # a wrong bit
    >>> result = improve_concepts(X, S)
    >>> result.flips, np.array_equal(result.concepts, X > 0)
    (1, True)
    """
    data = as_matrix(X, "X")
    check_finite(data, "X")
    bits = as_bits(S, "S", len(data))
    penalty = as_nonnegative(sparsity, "sparsity")
    features = centred(data)
    norm = kernel_norm(features)
    if norm == 0:
        return LocalSearchResult(bits[:, :0], np.zeros(0), np.zeros(1), 0, 0.0)
    features = features / np.sqrt(norm)
    with one_blas_thread():
        bits, weights, losses, flips = flip_bits(features, bits, penalty, max_sweeps)
    largest = float(np.abs(data).max())
    return LocalSearchResult(
        bits, weights * norm * largest**2, np.array(losses), flips, alignment(features, bits, weights)
    )


def flip_bits(features: Floats, S: Bits, sparsity: float, max_sweeps: int) -> tuple[Bits, Floats, list[float], int]:
    """Concepts and weights after the local search, for a kernel of unit norm, the losses on the way, and the flips."""
    weights = fit_weights(features, S, sparsity)
    bits, weights = S[:, weights > 0], weights[weights > 0]
    losses, flips = [kernel_loss(features, bits, weights, sparsity)], 0
    for _ in range(max_sweeps):
        after = bits.copy()
        flipped = sum(flip_concept(features, after, weights, j, sparsity) for j in range(bits.shape[1]))
        if not flipped:
            break
        fresh = fit_weights(features, after, sparsity, weights)
        # the old weights fit the new bits better already; should the solver stop short, they stay
        if kernel_loss(features, after, fresh, sparsity) > kernel_loss(features, after, weights, sparsity):
            fresh = weights
        bits, weights = after[:, fresh > 0], fresh[fresh > 0]
        losses.append(kernel_loss(features, bits, weights, sparsity))
        flips += flipped
    return np.ascontiguousarray(bits), weights, losses, flips


def kernel_loss(features: Floats, S: Bits, weights: Floats, sparsity: float) -> float:
    """‖K̄ − S̄ΠS̄ᵀ‖² + λ rᵀπ for a kernel of unit norm."""
    G, c = quadratic(features, S)
    return float(1.0 + weights @ G @ weights - 2 * c @ weights + sparsity * imbalance(S) @ weights)


def flip_gains(features: Floats, S: Bits, weights: Floats, j: int, sparsity: float) -> Floats:
    """How much the loss changes when one bit of concept j is flipped, for every item.

    A flip of bit i adds δ = ±(eᵢ − 1/p) to s̄, so Q̄ changes by π(δs̄ᵀ + s̄δᵀ + δδᵀ), and with R = K̄ − Q̄ the loss by
    −2π(2⟨R s̄, δ⟩ + δᵀRδ) + π²‖δs̄ᵀ + s̄δᵀ + δδᵀ‖².
    """
    p = len(S)
    mean = S.mean(axis=0)
    s = S[:, j] - mean[j]
    sign = 1.0 - 2.0 * S[:, j]
    rest = S - mean
    residual = features @ (features.T @ s) - rest @ (weights * (rest.T @ s))
    diagonal = np.einsum("ij,ij->i", features, features) - rest**2 @ weights
    own, length = 1 - 1 / p, float(s @ s)
    along = sign * s  # ⟨δ, s̄⟩: s̄ sums to zero
    change = 2 * own * length + 2 * along**2 + own**2 + 4 * own * along
    size = float(S[:, j].sum())
    smaller = np.minimum(size + sign, p - size - sign) - min(size, p - size)
    pi = weights[j]
    return np.asarray(-2 * pi * (2 * sign * residual + diagonal) + pi**2 * change + sparsity * pi * smaller)


def flip_concept(features: Floats, S: Bits, weights: Floats, j: int, sparsity: float) -> int:
    """Flip bits of concept j in place, the best one each time, until none lowers the loss; how many."""
    for flips in range(len(S)):
        gains = flip_gains(features, S, weights, j, sparsity)
        best = int(np.argmin(gains))
        if gains[best] > -LEAST_GAIN:
            return flips
        S[best, j] ^= 1
    return len(S)
