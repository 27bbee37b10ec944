"""Concepts whose two groups overlap: told by the kurtosis that is left once the noise, which is known, is taken out."""

from __future__ import annotations

import numpy as np

from pellucid._core.arrays import Floats
from pellucid.binary.adaptive_search import random_basis
from pellucid.binary.bits_and_components import oriented, refine_bits
from pellucid.binary.encoders import log_odds
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import joint_turn
from pellucid.binary.spectrum import Spectrum

# excess kurtosis less squared skewness, plus 2, is 0 for two values and for nothing else; 0.8 for a uniform quantity
# and 2 for a Gaussian one
BINARY = 0.7
# starts of the joint search, and bases without structure in which it looks, of at most so many numbers in all
STARTS, DRAWS, NUMBERS = 4, 19, 2_000_000
# noise that holds more of a direction than this leaves nothing to be told
MOST_NOISE = 0.8


def overlapping_concepts(spectrum: Spectrum, rank: int, d: int, rng: np.random.RandomState) -> Bits:
    """Concepts along independent directions of the leading space that are flatter than any that the same search finds
    in Gaussian noise, and two-valued once the noise of the other dimensions is taken out of them."""
    p, nothing = len(spectrum.basis), np.zeros((len(spectrum.basis), 0), dtype=np.uint8)
    U, values = spectrum.basis[:, :rank], spectrum.values
    if not 0 < rank < d or len(values) <= rank or p - 1 - rank < 2:
        return nothing
    variance = float(np.sum(values[rank:] ** 2)) / ((p - 1 - rank) * (d - rank))
    noise = variance * (p - 1) / values[:rank] ** 2
    M = flattest(U, rng)
    Y = np.sqrt(p) * U @ M
    share = noise @ M**2
    draws = max(1, min(DRAWS, NUMBERS // max(U.size, 1)))
    bases: list[Floats] = [np.asarray(random_basis(p, rank, rng), dtype=np.float64) for _ in range(draws)]
    lowest = min(kurtosis(np.sqrt(p) * V @ flattest(V, rng)).min() for V in bases)
    flat, clear = kurtosis(Y), 1 - np.minimum(share, MOST_NOISE)
    skew = np.mean(Y**3, axis=0)
    binary = flat / clear**2 - skew**2 / clear**3 + 2
    kept = (flat < lowest) & (binary < BINARY) & (share < MOST_NOISE)
    if not kept.any():
        return nothing
    odds = log_odds(Y[:, kept], (Y[:, kept] > 0).astype(np.uint8))
    bits = oriented(Y[:, kept] * odds[:, 0] + odds[:, 1] > 0)
    varied = bits.any(axis=0)
    return refine_bits(spectrum.features, bits[:, varied]) if varied.any() else nothing


def flattest(U: Floats, rng: np.random.RandomState) -> Floats:
    """The turn of the basis whose directions are flattest, of several starts."""
    turns = [joint_turn(U, rng) for _ in range(STARTS)]
    return np.asarray(turns[int(np.argmin([kurtosis(np.sqrt(len(U)) * U @ M).sum() for M in turns]))], dtype=np.float64)


def kurtosis(Y: Floats) -> Floats:
    """Excess kurtosis of columns of unit variance and mean zero."""
    return np.asarray(np.mean(Y**4, axis=0) - 3)
