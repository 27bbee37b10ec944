"""How strong each binary concept is (paper 2, Eq. 3): non-negative least squares between two centred kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import Floats
from pellucid._core.checks import as_matrix, as_nonnegative, check_finite
from pellucid.binary.packed_bits import Bits, Words, packed, shared_items, squared_sums
from pellucid.solvers.batch import BoundedQuadratic, certified

# the shortest beginning of the concepts, strongest first, whose loss is within this share of the best is enough
ENOUGH = 1e-4
TOLERANCE, MAX_ITER = 1e-8, 10_000


def as_bits(values: ArrayLike, name: str, rows: int | None = None) -> Bits:
    """``values`` as a (p, b) array of 0 and 1."""
    array = np.asarray(values)
    if array.ndim != 2 or not len(array):
        raise ValueError(
            f"{name} must have one row per item and one column per concept, but its shape is {array.shape}."
        )
    if rows is not None and len(array) != rows:
        raise ValueError(f"{name} has {len(array)} rows for {rows} items.")
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(f"{name} must hold 0 and 1 only, but has {array[i, j]} in row {i}, column {j}.")
    return np.ascontiguousarray(array, dtype=np.uint8)


def centred(X: NDArray[Any]) -> Floats:
    """X in float64 without its mean row, scaled so that no square overflows."""
    data = np.asarray(X, dtype=np.float64)
    largest = float(np.abs(data).max(initial=0.0))
    data = data / (largest if largest > 0 else 1.0)
    return np.asarray(data - data.mean(axis=0))


def kernel_norm(features: Floats) -> float:
    """‖K̄‖_F of the kernel of centred features, from the smaller of the two Gram matrices."""
    small = features.T @ features if features.shape[0] > features.shape[1] else features @ features.T
    return float(np.linalg.norm(small))


def unit_kernel(features: Floats) -> Floats:
    """Centred features scaled so that ‖K̄‖_F = 1, as all functions below want them; zeros stay zeros."""
    norm = kernel_norm(features)
    return features / np.sqrt(norm) if norm > 0 else features


def concept_overlaps(S: Bits, words: Words | None = None) -> Floats:
    """S̄ᵀS̄."""
    shared = shared_items(packed(S) if words is None else words)
    sizes = shared.diagonal().copy()
    shared -= np.outer(sizes, sizes / len(S))
    return shared


def concept_lengths(features: Floats, S: Bits) -> Floats:
    """c of Eq. 3, |Xᵀs̄|² of every concept: the features are centred, so s̄ and s give the same."""
    return squared_sums(features, packed(S))


def quadratic(features: Floats, S: Bits) -> tuple[Floats, Floats]:
    """G = (S̄ᵀS̄)² and c of Eq. 3, whose fit is πᵀGπ − 2cᵀπ."""
    words = packed(S)
    G = concept_overlaps(S, words)
    G *= G
    return G, squared_sums(features, words)


def imbalance(S: Bits) -> Floats:
    """r of section 2.2.1: the size of the smaller side of each concept."""
    sizes = S.sum(axis=0, dtype=np.float64)
    return np.asarray(np.minimum(sizes, len(S) - sizes))


def fit_weights(features: Floats, S: Bits, sparsity: float, start: Floats | None = None) -> Floats:
    """π of Eq. 3 for a kernel of unit norm, with its sparsity term."""
    sides = imbalance(S)
    varied = np.flatnonzero(sides > 0)
    weights = np.zeros(S.shape[1])
    if not varied.size:
        return weights
    part = S if varied.size == S.shape[1] else S[:, varied]
    G, c = quadratic(features, part)
    c -= 0.5 * sparsity * sides[varied]
    scale = float(G.diagonal().max())
    G /= scale
    weights[varied] = nonnegative(G, c / scale, np.zeros(varied.size) if start is None else start[varied])
    return weights


def nonnegative(G: Floats, c: Floats, start: Floats) -> Floats:
    """The minimum of ½πᵀGπ − cᵀπ over π ≥ 0, as by :func:`pellucid.solvers.nnls_gram`; but that G is a Gram matrix is
    known, and to check it would take longer than to solve."""
    codes, kkt = start[None].copy(), np.empty(1)
    everything = np.ones((1, len(c)), dtype=np.bool_)
    BoundedQuadratic(G, 0.0, 0.0, 0.0, np.inf, TOLERANCE, MAX_ITER).solve(c[None], everything, codes, kkt)
    return np.asarray(certified("concept_weights", codes, kkt, TOLERANCE).codes[0])


def alignment(features: Floats, S: Bits, weights: Floats) -> float:
    """CKA of the model SΠSᵀ with a kernel of unit norm (Eq. 2); 0 where either has no structure at all."""
    if not S.shape[1]:
        return 0.0
    G, c = quadratic(features, S)
    own = float(np.sqrt(max(0.0, float(weights @ G @ weights))))
    return min(1.0, float(c @ weights) / own) if own > 0 else 0.0  # round-off may lead beyond 1


def strongest(features: Floats, S: Bits, sparsity: float, limit: int | None = None) -> tuple[Bits, Floats]:
    """Concepts that the fit of Eq. 3 uses, strongest first, no more than its loss needs (and at most ``limit``)."""
    weights = fit_weights(features, S, sparsity)
    order = np.argsort(-weights, kind="stable")[: int((weights > 0).sum())]
    if not order.size:
        return S[:, :0], weights[:0]
    kept, pi = S[:, order], weights[order]
    G, c = quadratic(features, kept)
    pairs = G * np.outer(pi, pi)
    square = np.cumsum(2 * np.tril(pairs).sum(axis=1) - pairs.diagonal())  # πᵀGπ of every beginning
    linear = np.cumsum(c * pi)
    loss = square - 2 * linear + sparsity * np.cumsum(imbalance(kept) * pi)
    enough = int(np.argmax(loss <= loss[-1] + ENOUGH * abs(loss[-1]))) + 1
    count = enough if limit is None else min(enough, limit)
    if count == len(order):
        return kept, pi
    weights = fit_weights(features, kept[:, :count], sparsity, pi[:count])
    order = np.argsort(-weights, kind="stable")[: int((weights > 0).sum())]
    return kept[:, order], weights[order]


def strongest_first(features: Floats, S: Bits, sparsity: float = 0.0) -> Bits:
    """The same concepts, by weight."""
    return np.ascontiguousarray(S[:, np.argsort(-fit_weights(features, S, sparsity), kind="stable")])


def concept_weights(X: ArrayLike, S: ArrayLike, sparsity: float = 1e-5) -> Floats:
    """Weights π ≥ 0 of concepts that make SΠSᵀ most like the kernel of X (paper 2, Eq. 3, with its sparsity term).

    Both kernels are centred. The fit is made for K̄ / ‖K̄‖_F, so that ``sparsity`` means the same on any scale; π comes
    back on the scale of X.

    Parameters
    ----------
    X : array-like of shape (p, d)
        Items.
    S : array-like of shape (p, b)
        Concepts, 0 or 1; a constant one gets the weight 0.
    sparsity : float, default=1e-5
        The λ of Eq. 3: what an item on the smaller side of a concept costs.

    Returns
    -------
    ndarray of shape (b,)
        The weights.

    Raises
    ------
    ValueError
        If X is not finite, S holds anything but 0 and 1 or has another number of rows, or ``sparsity`` is negative.

    See Also
    --------
    improve_concepts : Change the concepts, too, where that fits better.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import concept_weights
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> concept_weights(X, X > 0).round(2)
    array([9., 4., 1.])
    """
    data = as_matrix(X, "X")
    check_finite(data, "X")
    bits = as_bits(S, "S", len(data))
    features = centred(data)
    largest = float(np.abs(data).max())
    weights = fit_weights(unit_kernel(features), bits, as_nonnegative(sparsity, "sparsity"))
    return weights * kernel_norm(features) * largest**2
