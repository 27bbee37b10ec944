"""A linear reader of each bit: how items are told their concepts, also where these are more than the dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import nearest_bits
from pellucid.binary.bits_and_components import components, oriented
from pellucid.binary.packed_bits import Bits
from pellucid.binary.spectrum import Spectrum
from pellucid.binary.weights import fit_weights

# ridges that are tried, as shares of the mean squared singular value
RIDGES = (1e-9, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0)
# rows by which ridge, thresholds and odds are chosen, at most
ROWS = 8192
# and by which it is seen whether nearest reconstructions have the bits
CHECKED = 512
# an item that fits itself to this degree says nothing of others
OWN = 1 - 1e-9
# turns of the mixture that tells how sure a bit is
TURNS = 50
# log-odds beyond this are as good as certain, and a difference of means below this many standard deviations is none
CERTAIN, APART = 40.0, 0.5


@dataclass(frozen=True)
class Readers:
    """Linear readers of concepts, in the coordinates of the features.

    readers : (b, k), what is measured of an item;  covariances : (b, k), of the features and the concept
    thresholds : (b,), above which the bit is 1;  odds : (b, 2), slope and level of the log-odds by the reading
    """

    readers: Floats
    covariances: Floats
    thresholds: Floats
    odds: Floats

    def bits(self, features: Floats) -> Bits:
        return np.asarray(features @ self.readers.T > self.thresholds, dtype=np.uint8)

    def of(self, columns: Ints) -> Readers:
        return Readers(*(part[columns] for part in (self.readers, self.covariances, self.thresholds, self.odds)))


def linear_readers(spectrum: Spectrum, S: Bits) -> Readers:
    """Ridge regressions of all bits on the features; ridge and thresholds by how each item is read without itself."""
    p, b = S.shape
    U, values = spectrum.basis, spectrum.values
    if not (b and len(values)):
        return Readers(np.zeros((b, len(values))), np.zeros((b, len(values))), np.zeros(b), np.zeros((b, 2)))
    middle = S.mean(axis=0)
    along = U.T @ S  # the basis is orthogonal to the constant
    rows = np.unique(np.linspace(0, p - 1, min(p, ROWS)).astype(np.int64))
    part, bits = U[rows], S[rows]
    least, best, shrink = np.inf, np.zeros(0), np.ones(len(values))
    for ridge in RIDGES:
        kept = values**2 / (values**2 + ridge * float(np.mean(values**2)))
        own = part**2 @ kept + 1 / p  # what a bit weighs in its own reading
        if own.max() > OWN and ridge < RIDGES[-1]:
            continue
        own = np.minimum(own, OWN)[:, None]
        read = (part @ (kept[:, None] * along) - own * (bits - middle)) / (1 - own)
        error = float(np.sum((read - bits + middle) ** 2))
        if error < least:
            least, best, shrink = error, read, kept
    readers = ((shrink / values)[:, None] * along).T
    covariances = (values[:, None] * along).T / p
    return Readers(readers, covariances, best_thresholds(best, bits), log_odds(best, bits))


def best_thresholds(readings: Floats, S: Bits) -> Floats:
    """For every column the cut between two readings that gets fewest bits wrong."""
    p, b = S.shape
    if p < 2:
        return np.zeros(b)
    order = np.argsort(readings, axis=0, kind="stable")
    ascending = np.take_along_axis(readings, order, 0)
    wrong = np.cumsum(2 * np.take_along_axis(S, order, 0).astype(np.int64) - 1, axis=0)  # with the first k + 1 at 0
    cut, columns = wrong[:-1].argmin(axis=0), np.arange(b)
    return np.asarray(0.5 * (ascending[cut, columns] + ascending[cut + 1, columns]))


def log_odds(readings: Floats, S: Bits) -> Floats:
    """Slope and level (b, 2) of the log-odds of a bit by its reading: readings are two Gaussians of one variance,
    fitted by expectation and maximisation from the bits, which alone would be too sure where the two overlap."""
    hard = two_gaussians(readings, S.astype(np.float64))
    odds, sure = hard, S.astype(np.float64)
    for _ in range(TURNS):
        sure = 1 / (1 + np.exp(-np.clip(odds[:, 0] * readings + odds[:, 1], -CERTAIN, CERTAIN)))
        odds = two_gaussians(readings, sure)
    # where no two groups stand out the bits are all there is to go by
    alike = np.corrcoef(np.hstack([sure, S]).T)[: S.shape[1], S.shape[1] :].diagonal() if S.shape[1] else np.zeros(0)
    lost = ~(np.nan_to_num(alike) > APART)
    odds[lost] = hard[lost]
    return odds


def two_gaussians(readings: Floats, shares: Floats) -> Floats:
    """Slope and level of the log-odds if each reading is of the second group by its share."""
    n = len(readings)
    size = np.clip(shares.sum(axis=0), 0.5, max(n - 0.5, 0.5))
    high = np.einsum("ij,ij->j", shares, readings) / size
    low = np.einsum("ij,ij->j", 1 - shares, readings) / np.maximum(n - size, 0.5)
    spread = np.einsum("ij,ij->j", readings, readings) / n - (size * high**2 + (n - size) * low**2) / n
    apart = high - low
    spread = np.maximum(spread, 1e-9 * apart**2 + np.finfo(np.float64).tiny)
    slope = apart / spread
    return np.column_stack([slope, -0.5 * slope * (high + low) + np.log(size / np.maximum(n - size, 0.5))])


def nearest_wrong(features: Floats, S: Bits) -> float:
    """Share of the bits of some items that their nearest reconstruction has otherwise."""
    rows = np.unique(np.linspace(0, len(S) - 1, min(len(S), CHECKED)).astype(np.int64))
    W = components(features, S)
    bits = np.zeros((len(rows), S.shape[1]), dtype=np.uint8)
    scores = features[rows] @ W.T + S.mean(axis=0) @ W @ W.T
    nearest_bits(np.ascontiguousarray(W @ W.T), np.ascontiguousarray(scores), bits)
    return float(np.mean(bits != S[rows]))


def disagreement(readers: Readers, features: Floats, S: Bits) -> float:
    """Share of the bits that the readers have otherwise."""
    return float(np.mean(readers.bits(features) != S))


def followed(readers: Readers, features: Floats, sparsity: float) -> tuple[Readers, Bits]:
    """Concepts that are what the readers say, each once and strongest first, with 1 on the smaller side, and their
    readers."""
    S = readers.bits(features)
    first = np.unique(np.packbits((S ^ S[:1]).T, axis=1), axis=0, return_index=True)[1]
    weights = fit_weights(features, S[:, first], sparsity)
    kept = first[np.argsort(-weights, kind="stable")[: int((weights > 0).sum())]]
    S, readers = S[:, kept], readers.of(kept)
    turned = oriented(S)
    sign = np.where((turned != S).any(axis=0), -1.0, 1.0)
    return Readers(
        sign[:, None] * readers.readers,
        turned.T @ features / len(turned),  # which are centred
        sign * readers.thresholds,
        np.column_stack([readers.odds[:, 0], sign * readers.odds[:, 1]]),
    ), turned
