"""How short a description of the geometry concepts are: what they leave unexplained, and what it takes to name them.

The loss of Eq. 3 alone always falls with more concepts, and soon below that of the true ones. A concept pays here only
if it explains more than noise would for as many bits as it takes to say which items have it.
"""

from __future__ import annotations

import numpy as np

from pellucid._core.arrays import Floats
from pellucid.binary.assignment import assigned
from pellucid.binary.bit_flips import kernel_loss
from pellucid.binary.bits_and_components import unique_columns
from pellucid.binary.packed_bits import Bits
from pellucid.binary.significance import certain
from pellucid.binary.spectrum import spectrum_of_kernel
from pellucid.binary.weights import fit_weights, imbalance

# what is left of a kernel of unit norm below this is round-off
EXACT = 1e-12
# an attempt must save this much, in twice nats, or the search would go on for the sake of round-off
LEAST = 1.0
# attempts in a row that may be in vain
PATIENCE = 12


def description_length(features: Floats, S: Bits, weights: Floats) -> float:
    """n log‖K̄ − S̄ΠS̄ᵀ‖² for the n pairs of items, and for each concept log n for its weight and 2 log (p over r) for
    which r items it has; for a kernel of unit norm."""
    from scipy.special import gammaln

    p, sizes = len(S), imbalance(S)
    pairs = 0.5 * p * (p - 1)
    named = gammaln(p + 1) - gammaln(sizes + 1) - gammaln(p - sizes + 1)
    left = max(kernel_loss(features, S, weights, 0.0), EXACT)
    return float(pairs * np.log(left) + S.shape[1] * np.log(max(pairs, 1.0)) + 2 * named.sum())


Described = tuple[Bits, Floats, float]


def described(features: Floats, S: Bits, penalty: float = 0.0) -> Described:
    """The concepts that a fit with λ = ``penalty`` uses, their weights without it, and the length of that."""
    used = S[:, fit_weights(features, S, penalty) > 0] if penalty > 0 else S
    weights = fit_weights(features, used, 0.0)
    used, weights = np.ascontiguousarray(used[:, weights > 0]), weights[weights > 0]
    return used, weights, description_length(features, used, weights)


def search(
    features: Floats, S: Bits, simplicity: float, min_weight: float, attempts: int, rng: np.random.RandomState
) -> tuple[Bits, list[float]]:
    """Shorter and shorter descriptions: some of the concepts stay, those that explain most, and what they leave of the
    kernel is assigned anew in another order. In the end without those that are not certain, if that is shorter. Also
    the lengths."""
    penalty = simplicity / len(S)
    S, weights, length = described(features, S, penalty)
    lengths, idle = [length], 0
    for _ in range(attempts):
        if idle == PATIENCE or S.shape[1] < 2:
            break
        sizes = S.sum(axis=0, dtype=np.float64)
        explains = weights * sizes * (1 - sizes / len(S))
        # from half as many as items can tell apart to all, any order of magnitude as likely
        few = min(0.5 * np.sqrt(2 * len(S)), 0.5 * S.shape[1])
        count = max(1, int(np.exp(rng.uniform(np.log(few), np.log(S.shape[1])))))
        kept = np.argsort(-explains, kind="stable")[:count]
        left = remainder(features, S[:, kept], weights[kept])
        fresh = assigned(left, rng.permutation(len(S)), simplicity, min_weight)
        attempt, its_weights, length = described(features, unique_columns(np.hstack([S[:, kept], fresh])), penalty)
        idle += 1
        if length < lengths[-1] - LEAST:
            S, weights, idle = attempt, its_weights, 0
            lengths.append(length)
    attempt, _, length = described(features, S[:, certain(features, S)])
    return (attempt, [*lengths, length]) if length < lengths[-1] else (S, lengths)


def remainder(features: Floats, S: Bits, weights: Floats) -> Floats:
    """Features, of unit norm, of what concepts leave of the kernel: the positive part of K̄ − S̄ΠS̄ᵀ."""
    centred = S - S.mean(axis=0)
    kernel = features @ features.T - (centred * weights) @ centred.T
    return spectrum_of_kernel(kernel).normalised()[0].features
