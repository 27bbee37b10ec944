"""Few items: all concepts together, judged by how much better they fit than those of noise with the same spectrum.

One state tells little among 16 or 32 items, since noise has states as close to the space. What all of them leave
unexplained tells more: ‖X̄ − S̄W‖² for W with orthogonal rows, beside the same for random items that have the same
singular values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.kernels import kernel
from pellucid.binary.adaptive import random_basis
from pellucid.binary.packed_bits import Bits

# starts for each number of concepts, and how often some concepts of the best are drawn anew
STARTS, AGAIN = 32, 2
# share of the concepts that are drawn anew, and at least so many
ANEW, ANEW_LEAST = 0.35, 1.5
ROUNDS = 30
# random items that are searched, at most, and by how many of their standard deviations the items must fit better
DRAWS, STANDS_OUT = 9, 3.2
# once there are concepts, the search goes on for so many rounds: nothing is judged by it any more
FURTHER = 20
TINY = 1e-9


def few_concepts(X: Floats, rank: int, rng: np.random.RandomState) -> Bits:
    """Concepts of centred items (p, d) with orthogonal columns: as many as stand out most from noise, or as many as
    dimensions that do (``rank``); none if no number of them does."""
    p, d = X.shape
    most = min(int(np.sqrt(2 * p)) + 1, d)
    found, left = growing(X, most, rng)
    values = np.linalg.norm(X, axis=0)
    noise: list[Floats] = []
    for _ in range(DRAWS):
        noise.append(growing(random_basis(p, d, rng) * values, most, rng)[1])
        if (left >= np.min(noise, axis=0)).all():
            return found[0][:, :0]
    spread = np.sqrt(np.mean(np.var(noise, axis=0, ddof=1)))
    gain = np.mean(noise, axis=0) - left
    best = int(np.argmax(gain))
    if gain[best] < STANDS_OUT * max(spread, TINY):
        return found[0][:, :0]
    best = max(best, min(rank, most) - 1)
    return searched(X, found[best], left[best], FURTHER, rng)[0]


def filled(X: Floats, S: Bits, rank: int, rng: np.random.RandomState) -> Bits:
    """S with as many more concepts as it has fewer than the rank, all of them searched further."""
    more = rank - S.shape[1]
    kept = np.repeat([np.arange(rank) < S.shape[1]], STARTS, axis=0)
    S = np.column_stack([S, np.zeros((len(S), more), dtype=np.uint8)])
    return searched(X, *started(X, S, kept, rng), FURTHER, rng)[0]


def growing(X: Floats, most: int, rng: np.random.RandomState) -> tuple[list[Bits], Floats]:
    """The best 1, 2, … concepts that were found, each set started from the one before and from nothing, and the share
    of the items that they leave."""
    found, left = [np.zeros((len(X), 0), dtype=np.uint8)], np.empty(most)
    for b in range(1, most + 1):
        grown = np.zeros((STARTS, b), dtype=np.bool_)
        grown[: STARTS // 2, : b - 1] = True
        best = np.column_stack([found[-1], np.zeros(len(X), dtype=np.uint8)])
        best, left[b - 1] = searched(X, *started(X, best, grown, rng), AGAIN, rng)
        found.append(best)
    return found[1:], left


def searched(X: Floats, S: Bits, left: float, rounds: int, rng: np.random.RandomState) -> tuple[Bits, float]:
    """Concepts that leave less than S does, by drawing some of them anew, again and again."""
    b = S.shape[1]
    for _ in range(rounds):
        after, less = started(X, S, rng.random_sample((STARTS, b)) >= max(ANEW, ANEW_LEAST / b), rng)
        if less < left:
            S, left = after, less
    return S, left


def started(X: Floats, S: Bits, kept: NDArray[np.bool_], rng: np.random.RandomState) -> tuple[Bits, float]:
    """The best of as many starts as ``kept`` has rows; each keeps some concepts of S, the others are drawn anew, as
    signs in the leading directions."""
    b = S.shape[1]
    leading = X[:, : b + 2] / np.linalg.norm(X[:, : b + 2], axis=0)
    fresh = leading @ rng.standard_normal((len(kept), leading.shape[1], b)) > 0
    starts = np.where(kept[:, None], S, fresh).astype(np.uint8)
    losses = settle_starts(X, starts)
    best = int(np.argmin(losses))
    return starts[best], float(losses[best])


@kernel
def settle_starts(X: Floats, starts: NDArray[np.uint8]) -> Floats:
    """Alternate components and bits of each start, in place; the share of |X|² that each leaves."""
    losses = np.empty(len(starts))
    for i in range(len(starts)):
        losses[i] = settle_bits(X, starts[i])
    return losses


@kernel
def settle_bits(X: Floats, S: Bits) -> float:
    """Components with orthogonal rows (polar factor and lengths), and the bits nearest to them, in turns."""
    p, b = S.shape
    total = np.sum(X * X)
    mean, squares, lengths, centred = np.empty(b), np.empty(b), np.empty(b), np.empty((p, b))
    left = 1.0
    for turn in range(ROUNDS):
        for j in range(b):
            mean[j] = S[:, j].sum() / p
            squares[j] = max(p * mean[j] * (1 - mean[j]), TINY)
            for i in range(p):
                centred[i, j] = S[i, j] - mean[j]
        along = centred.T @ X
        if turn == 0:
            for j in range(b):
                lengths[j] = np.sqrt(np.sum(along[j] * along[j])) / squares[j]
        pulled = along * lengths.reshape(b, 1)
        values, vectors = np.linalg.eigh(pulled @ pulled.T)
        rotation = ((vectors / np.sqrt(np.maximum(values, TINY * values[-1]))) @ vectors.T) @ pulled
        explained = 0.0
        for j in range(b):
            lengths[j] = max(np.sum(along[j] * rotation[j]) / squares[j], TINY)
            explained += lengths[j] ** 2 * squares[j]
        left = 1 - explained / total
        scores = X @ rotation.T
        flips = 0
        for i in range(p):
            for j in range(b):
                bit = 1 if scores[i, j] > (0.5 - mean[j]) * lengths[j] else 0
                flips += bit != S[i, j]
                S[i, j] = bit
        if flips == 0:
            break
    return float(left)
