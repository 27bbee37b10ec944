"""The space in which binary concepts are searched: leading directions of the centred items, down to the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid._core.arrays import Floats

# singular values below this share of the largest are round-off
ROUND_OFF = 1e-10
# Tracy-Widom quantile: noise alone passes as signal in one of a thousand cases
QUANTILE = 3.27


@dataclass(frozen=True)
class Spectrum:
    """Centred items X̄ = basis · diag(values) · directions.

    basis : (p, k) orthonormal columns, orthogonal to the constant
    values : (k,) singular values, descending
    directions : (k, d)
    """

    basis: Floats
    values: Floats
    directions: Floats

    def normalised(self) -> tuple[Spectrum, float]:
        """With values divided so that the kernel of the features has unit norm, and by what."""
        unit = float(np.sum(self.values**4) ** 0.25)
        unit = unit if unit > 0 else 1.0
        return Spectrum(self.basis, self.values / unit, self.directions), unit

    @property
    def features(self) -> Floats:
        return np.asarray(self.basis * self.values)


def spectrum_of_items(features: Floats) -> Spectrum:
    """From centred items (p, d), through the smaller of the two Gram matrices."""
    p, d = features.shape
    if d <= p:
        squares, vectors = np.linalg.eigh(features.T @ features)
        kept = squares[::-1] > ROUND_OFF**2 * max(squares[-1], 0.0)
        # the eigenvalues are only good to round-off of the largest: the product says what is there
        rotated = features @ vectors[:, ::-1][:, kept]
        values = np.linalg.norm(rotated, axis=0)
        real = values > ROUND_OFF * values.max(initial=0.0) * np.sqrt(p)
        return Spectrum(rotated[:, real] / values[real], values[real], vectors[:, ::-1][:, kept][:, real].T)
    kernel = spectrum_of_kernel(features @ features.T)
    return Spectrum(kernel.basis, kernel.values, (kernel.basis / kernel.values).T @ features)


def spectrum_of_kernel(K: Floats) -> Spectrum:
    """From a positive semidefinite kernel (p, p), which is centred here; the directions are those of the features
    ``basis * values``, so the identity."""
    rows = K - K.mean(axis=0)
    squares, vectors = np.linalg.eigh(rows - rows.mean(axis=1, keepdims=True))
    squares, vectors = squares[::-1], vectors[:, ::-1]
    kept = squares > 1e-12 * max(squares[0], 0.0)
    values = np.sqrt(squares[kept])
    return Spectrum(np.ascontiguousarray(vectors[:, kept]), values, np.eye(int(kept.sum())))


def signal_rank(values: Floats, p: int, d: int) -> int:
    """How many singular values of (p, d) centred items stand out from noise.

    One after the other, each squared value is compared with the largest that Gaussian noise of the remaining size
    has, σ²((√a + √b)² + q (√a + √b)(1/√a + 1/√b)^⅓), σ² being what the values behind it leave per entry. Without
    noise (the last values are zero, or there is none to estimate it from), all values are signal.
    """
    squares = values**2
    behind = np.concatenate([np.cumsum(squares[::-1])[::-1][1:], [0.0]])
    for k in range(len(values)):
        a, b = p - 1 - k, d - k
        if a <= 1 or b <= 1:
            return len(values)
        variance = behind[k] / ((a - 1) * (b - 1))
        edges = np.sqrt(a) + np.sqrt(b)
        limit = variance * (edges**2 + QUANTILE * edges * (1 / np.sqrt(a) + 1 / np.sqrt(b)) ** (1 / 3))
        if squares[k] <= limit:
            return k
    return len(values)
