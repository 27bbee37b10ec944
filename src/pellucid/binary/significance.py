"""Which concepts are more than noise: weights of Eq. 3 beside the errors that noise in the items gives them."""

from __future__ import annotations

import numpy as np

from pellucid._core.arrays import Floats, Ints
from pellucid.binary.packed_bits import Bits
from pellucid.binary.weights import concept_overlaps, fit_weights

# a concept must weigh this many of its standard errors
ERRORS = 3.0
# of those that do not, this share goes at a time, the least certain first: one that goes may leave others certain
AT_A_TIME = 0.25
# with more weights than this share of the numbers that a geometry has, noise cannot be told from what does not fit
SHARE = 0.5
# keeps the inverse finite where concepts depend on each other, of a diagonal of ones
RIDGE = 1e-10


def certain(features: Floats, S: Bits) -> Ints:
    """Which concepts (p, b) of centred items (p, d) stay once those that noise may have made are gone, one part after
    the other; all that have a weight where there is no noise, or where too little is left to tell it by."""
    left = np.arange(S.shape[1])
    weights = np.zeros(len(left))
    while left.size:
        weights = fit_weights(features, S[:, left], 0.0, weights)
        left, weights = left[weights > 0], weights[weights > 0]
        if left.size > SHARE * freedom(*features.shape):
            break
        ratio = weights / standard_errors(features, S[:, left], weights)
        doubtful = np.flatnonzero(ratio < ERRORS)
        if not doubtful.size:
            break
        count = int(np.ceil(AT_A_TIME * doubtful.size))
        worst = doubtful[np.argsort(ratio[doubtful], kind="stable")[:count]]
        left, weights = np.delete(left, worst), np.delete(weights, worst)
    return left


def freedom(p: int, d: int) -> int:
    """How many numbers the geometry of p centred items in d dimensions has: coordinates, less the rotations."""
    d = min(d, p - 1)
    return d * (p - 1) - d * (d - 1) // 2


def standard_errors(features: Floats, S: Bits, weights: Floats) -> Floats:
    """Of weights π = G⁻¹c, G = (S̄ᵀS̄)^∘2 and c = |Xᵀs̄|², if the items have Gaussian noise of variance σ² an entry.

    To first order c then varies by 4σ² S̄ᵀS̄ ∘ S̄ᵀKS̄, and the noise's own kernel adds 2σ⁴d G; both from G⁻¹ on either
    side are the covariance of π.
    """
    (p, d), b = features.shape, S.shape[1]
    overlaps = concept_overlaps(S)
    along = features.T @ (S - S.mean(axis=0))
    signal = overlaps * (along.T @ along)
    lengths = overlaps.diagonal().copy()
    scale = np.outer(lengths, lengths)
    inverse = np.linalg.inv(overlaps**2 / scale + RIDGE * np.eye(b)) / scale
    turned = inverse @ signal
    left = remaining(features, overlaps**2, np.einsum("ij,ij->j", along, along), weights)
    variance = noise_variance(left, float(np.sum(features**2)), float(np.trace(turned)), p, d, b)
    square = 4 * variance * np.einsum("ij,ij->i", turned, inverse) + 2 * variance**2 * d * inverse.diagonal()
    return np.asarray(np.sqrt(np.maximum(square, np.finfo(np.float64).tiny)))


def remaining(features: Floats, G: Floats, c: Floats, weights: Floats) -> float:
    """‖K̄ − S̄ΠS̄ᵀ‖²."""
    small = features.T @ features if features.shape[0] > features.shape[1] else features @ features.T
    return max(float(np.sum(small**2) + weights @ G @ weights - 2 * c @ weights), 0.0)


def noise_variance(left: float, spread: float, explained: float, p: int, d: int, b: int) -> float:
    """σ² that leaves ‖K̄ − S̄ΠS̄ᵀ‖² = ``left`` beside b fitted weights; 0 where those fit everything.

    Noise of variance σ² puts 2σ²p|X̄|² + σ⁴p(p − 1)d into a kernel, of which the fit takes 4σ² tr(G⁻¹(S̄ᵀS̄ ∘ S̄ᵀKS̄)) +
    2σ⁴bd.
    """
    second = d * (p * (p - 1) - 2 * b)
    first = max(2 * p * spread - 4 * explained, 0.0)
    if second <= 0:
        return 0.0
    return 2 * left / (first + np.sqrt(first**2 + 4 * second * left)) if left > 0 else 0.0
