"""Items with known binary concepts (paper 2, Figures 2 to 4): small structures, independent ones, trees, hybrids."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import erfc, sqrt

import numpy as np


@dataclass(frozen=True)
class PlantedConcepts:
    """Noisy items X (p, d), their concepts S (p, b), the scores by which a least-squares decoder that knows the
    components reads each bit (above ½ it is 1), and the mean number of bits per concept that it gets wrong (the floor
    for everybody)."""

    X: np.ndarray
    S: np.ndarray
    scores: np.ndarray
    oracle: float


def embedded(S: np.ndarray, d: int, decibel: float, rng: np.random.Generator, spread: float = 0.3) -> PlantedConcepts:
    """S √π Wᵀ with W orthonormal, π within ``spread`` of 1, and Gaussian noise, |signal|/|noise| = 10^(dB/20)."""
    p, b = S.shape
    W = np.linalg.qr(rng.standard_normal((d, b)))[0] * np.sqrt(rng.uniform(1 - spread, 1 + spread, b))
    signal = S @ W.T
    noise = rng.standard_normal((p, d))
    noise *= np.linalg.norm(signal - signal.mean(axis=0)) / np.linalg.norm(noise) / 10 ** (decibel / 20)
    X = signal + noise
    scores = X @ (W / np.sum(W**2, axis=0))
    return PlantedConcepts(X, S, scores, float(np.mean(np.sum((scores > 0.5) != S, axis=0))))


def n_independent(p: int) -> int:
    return int(sqrt(2 * p)) - 1


def independent(p: int, ratio: float, decibel: float, seed: int, spread: float = 0.3) -> PlantedConcepts:
    """⌊√(2p)⌋ − 1 random concepts in ``ratio`` times as many dimensions (Schur-independent almost surely)."""
    rng = np.random.default_rng(seed)
    b = n_independent(p)
    return embedded(rng.integers(0, 2, (p, b)), round(ratio * b), decibel, rng, spread)


def floor(p: int, ratio: float, decibel: float) -> float:
    """Bits wrong per concept for equal weights: p Q(10^(dB/20) √(d/b))."""
    return p * 0.5 * erfc(10 ** (decibel / 20) * sqrt(ratio) / sqrt(2))


def tree_concepts(p: int, rng: np.random.Generator) -> np.ndarray:
    """A concept per branch of a random hierarchy of 2 to 4 branches, each once, up to complement."""
    found: dict[bytes, np.ndarray] = {}

    def divide(items: np.ndarray) -> None:
        if len(items) < 2:
            return
        count = min(int(rng.integers(2, 5)), len(items))
        for part in np.split(items, np.sort(rng.choice(np.arange(1, len(items)), count - 1, replace=False))):
            concept = np.isin(np.arange(p), part)
            found.setdefault((concept ^ concept[0]).tobytes(), concept)
            divide(part)

    divide(np.arange(p))
    return np.array(list(found.values())).T.astype(int)[rng.permutation(p)]


def tree(p: int, decibel: float, seed: int, hybrid: bool = False) -> PlantedConcepts:
    """A tree in at least 200 dimensions; a hybrid has as many independent concepts beside it as p allows."""
    rng = np.random.default_rng(seed)
    S = tree_concepts(p, rng)
    if hybrid:
        S = np.hstack([S, rng.integers(0, 2, (p, n_independent(p)))])
    return embedded(S, max(200, S.shape[1]), decibel, rng)


def small_structures() -> dict[str, np.ndarray]:
    """Items (p, d) of Figures 2 and 3 and of A.3."""
    corners = np.array(list(product([0.0, 1.0], repeat=2)))
    angle = np.arange(6) * np.pi / 3
    branches = np.array([[1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]], dtype=float)
    stretched = np.column_stack([np.eye(4), [0.0, 0.0, 1.0, 1.0]])
    return {
        "square": corners,
        "simplex": np.eye(4),
        "stretched simplex": stretched,
        "tree": branches,
        "grid": np.array(list(product([0.0, 1.0, 2.0], repeat=2))),
        "hexagon": np.column_stack([np.cos(angle), np.sin(angle)]),
        "ordinal line": np.arange(5.0)[:, None],
    }
