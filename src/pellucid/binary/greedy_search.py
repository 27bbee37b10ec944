"""More concepts than dimensions: one batch after the other, those that take most off the loss of Eq. 3."""

from __future__ import annotations

import numpy as np

from pellucid._core.arrays import FloatMatrix, Floats
from pellucid.binary.bits_and_components import to_bits, unique_columns
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import distinct, signs
from pellucid.binary.weights import concept_lengths, fit_weights

# batches until the number asked for is reached, where all that is found is kept
BATCHES = 25
# two states of a batch may have at most this cosine, or they would take the same thing off
ALIKE = 0.3
STEPS = 12
# states that climb for each that is wanted, and at least
CHAINS_EACH, CHAINS = 4, 64
# a batch that takes less than this share off the loss is the last
LEAST = 1e-4


def greedy_concepts(
    features: Floats, limit: int, sparsity: float, n_chains: int, rng: np.random.RandomState
) -> tuple[Bits, Floats]:
    """Concepts (p, b ≤ limit) and their weights, for a kernel K̄ of unit norm, by column generation.

    What is not explained yet is R = K̄ − S̄ΠS̄ᵀ, and a concept of weight π changes the loss by π²|s̄|⁴ − 2π s̄ᵀRs̄: at
    best by −(s̄ᵀRs̄ / |s̄|²)². So states climb s̄ᵀRs̄, the best that differ join, and all weights are fitted again.
    """
    X = np.ascontiguousarray(features, dtype=np.float32)
    S, weights = np.zeros((len(features), 0), dtype=np.uint8), np.zeros(0)
    batch = max(1, -(-limit // BATCHES))
    chains = min(n_chains, max(CHAINS, CHAINS_EACH * batch))
    explained = 0.0
    while S.shape[1] < limit:
        left = Residual(X, S, weights)
        states = left.climb(chains, rng)
        chosen = different(states, left.gains(states), min(batch, limit - S.shape[1]))
        pool = unique_columns(np.hstack([S, to_bits(chosen)]))
        if pool.shape[1] == S.shape[1]:
            break
        fitted = fit_weights(features, pool, sparsity, np.append(weights, np.zeros(pool.shape[1] - S.shape[1])))
        S, weights = pool[:, fitted > 0], fitted[fitted > 0]
        # at the minimum of Eq. 3 the loss is 1 − ⟨K̄, S̄ΠS̄ᵀ⟩, but for its sparsity term
        before, explained = explained, float(concept_lengths(features, S) @ weights)
        if explained - before < LEAST * (1 - before):
            break
    return S, weights


class Residual:
    """R = K̄ − S̄ΠS̄ᵀ, never made: its products with states, in float32."""

    def __init__(self, X: FloatMatrix, S: Bits, weights: Floats) -> None:
        self.X, self.S = X, S.astype(np.float32)
        self.weights = weights.astype(np.float32)[:, None]
        self.mean = self.S.mean(axis=0)

    def times(self, states: FloatMatrix) -> FloatMatrix:
        """R s̄ for every column."""
        inside = self.weights * (self.S.T @ states - np.outer(self.mean, states.sum(axis=0)))
        return np.asarray(self.X @ (self.X.T @ states) - (self.S @ inside - self.mean @ inside))

    def gains(self, states: FloatMatrix) -> Floats:
        """s̄ᵀRs̄ / |s̄|² of every column."""
        shifted = states - states.mean(axis=0)
        form = np.einsum("ij,ij->j", shifted, self.times(states))
        return np.asarray(form / np.einsum("ij,ij->j", shifted, shifted), dtype=np.float64)

    def climb(self, n_chains: int, rng: np.random.RandomState) -> FloatMatrix:
        """States at which steps s ← sign(Rs̄ + κs) end; κ, the trace of Π, keeps them climbing."""
        states = signs(self.X @ rng.standard_normal((self.X.shape[1], n_chains)).astype(np.float32))
        kappa = self.weights.sum()
        for _ in range(STEPS):
            after = signs(self.times(states) + kappa * states)
            if np.array_equal(after, states):
                break
            states = after
        return distinct(states)


def different(states: FloatMatrix, gains: Floats, count: int) -> FloatMatrix:
    """The states of largest gain, none much like another."""
    order = np.argsort(-gains, kind="stable")
    order = order[gains[order] > 0]
    shifted = states - states.mean(axis=0)
    shifted /= np.maximum(np.linalg.norm(shifted, axis=0), np.finfo(np.float32).tiny)
    chosen: list[int] = []
    for j in order:
        if len(chosen) == count:
            break
        if not chosen or np.abs(shifted[:, chosen].T @ shifted[:, j]).max() <= ALIKE:
            chosen.append(int(j))
    return np.asarray(states[:, chosen])
