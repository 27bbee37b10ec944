"""All concepts together, judged by how much better they fit than those of noise with the same spectrum.

One state tells little among 16 or 32 items, since noise has states as close to the space. What all of them leave
unexplained tells more: ‖X̄ − S̄W‖² for W with orthogonal rows, beside the same for random items that have the same
singular values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.kernels import alternate_each
from pellucid.binary.adaptive_search import random_basis
from pellucid.binary.bits_and_components import ROUNDS
from pellucid.binary.packed_bits import Bits

# starts of a search, and how often some concepts of the best are drawn anew
STARTS, AGAIN = 32, 2
# a search makes so many multiplications a turn at most: larger problems get fewer starts, the largest none
WORK, FEWEST_STARTS = 2_000_000, 2
# with so many items concepts that can be found make some dimension stand out
TOLD_ITEMS = 48
# share of the concepts that are drawn anew, and at least so many
ANEW, ANEW_LEAST = 0.35, 1.5
# random items that are searched, at most, and by how many of their standard deviations the items must fit better
DRAWS, STANDS_OUT = 9, 3.2
# once there are concepts, the search goes on for so many rounds: nothing is judged by it any more
FURTHER = 20
TINY = 1e-9


def joint_concepts(X: Floats, known: Bits, rank: int, rng: np.random.RandomState) -> Bits:
    """More concepts of centred items (p, d) with orthogonal columns than are ``known``; the known ones if there are
    none, or if there are too many items to look for them.

    ``rank`` dimensions stand out from noise. Where some of as many concepts are known, the others are searched beside
    them; where none is, or more may be, as many as stand out most from noise, if they do.
    """
    p, d = X.shape
    if not d:  # all items are the same
        return known
    most = min(int(np.sqrt(2 * p)) + 1, d)
    starts = min(STARTS, WORK // (p * d * most))
    if starts < FEWEST_STARTS or (rank == 0 and p >= TOLD_ITEMS):
        return known
    if 0 < known.shape[1] < min(rank, most):
        return completed(X, known, min(rank, most), starts, rng)
    return standing_out(X, known, min(rank, most), most, starts, rng)


def completed(X: Floats, S: Bits, count: int, starts: int, rng: np.random.RandomState) -> Bits:
    """S with more concepts, ``count`` in all, every one of them searched further."""
    return search_further(X, *grown(X, S, count, starts, starts, rng), FURTHER, starts, rng)[0]


def standing_out(X: Floats, known: Bits, least: int, most: int, starts: int, rng: np.random.RandomState) -> Bits:
    """As many concepts, up to ``most``, as stand out most from those of noise, and ``least`` if any do."""
    p, d = X.shape
    found, left = growing(X, most, starts, rng)
    values = np.linalg.norm(X, axis=0)
    noise: list[Floats] = []
    for _ in range(DRAWS):
        noise.append(growing(random_basis(p, d, rng) * values, most, starts, rng)[1])
        if (left >= np.min(noise, axis=0)).all():
            return known
    spread = np.sqrt(np.mean(np.var(noise, axis=0, ddof=1)))
    gain = np.mean(noise, axis=0) - left
    best = int(np.argmax(gain))
    if gain[best] < STANDS_OUT * max(spread, TINY):
        return known
    best = max(best, least - 1)
    return search_further(X, found[best], left[best], FURTHER, starts, rng)[0]


def growing(X: Floats, most: int, starts: int, rng: np.random.RandomState) -> tuple[list[Bits], Floats]:
    """The best sets of 1, 2, … concepts that were found, each started from the one before and from
    nothing, and the share of the items that they leave."""
    S, found, left = np.zeros((len(X), 0), dtype=np.uint8), [], []
    for b in range(1, most + 1):
        S, rest = search_further(X, *grown(X, S, b, starts, starts // 2, rng), AGAIN, starts, rng)
        found.append(S)
        left.append(rest)
    return found, np.array(left)


def grown(X: Floats, S: Bits, count: int, starts: int, keeping: int, rng: np.random.RandomState) -> tuple[Bits, float]:
    """The best ``count`` concepts that were found, and the share of the items that they leave; as many starts as
    ``keeping`` begin with the concepts S, the others from nothing."""
    kept = np.zeros((starts, count), dtype=np.bool_)
    kept[:keeping, : S.shape[1]] = True
    more = np.zeros((len(S), count - S.shape[1]), dtype=np.uint8)
    return best_start(X, np.column_stack([S, more]), kept, rng)


def search_further(
    X: Floats, S: Bits, left: float, rounds: int, starts: int, rng: np.random.RandomState
) -> tuple[Bits, float]:
    """Concepts that leave less than S does, by drawing some of them anew, again and again."""
    b = S.shape[1]
    for _ in range(rounds):
        after, less = best_start(X, S, rng.random_sample((starts, b)) >= max(ANEW, ANEW_LEAST / b), rng)
        if less < left:
            S, left = after, less
    return S, left


def best_start(X: Floats, S: Bits, kept: NDArray[np.bool_], rng: np.random.RandomState) -> tuple[Bits, float]:
    """The best of as many starts as ``kept`` has rows; each keeps some concepts of S, the others are drawn anew, as
    signs in the leading directions."""
    b = S.shape[1]
    leading = X[:, : b + 2] / np.linalg.norm(X[:, : b + 2], axis=0)
    fresh = leading @ rng.standard_normal((len(kept), leading.shape[1], b)) > 0
    starts = np.where(kept[:, None], S, fresh).astype(np.uint8, order="C")
    losses = np.empty(len(starts))
    alternate_each(np.ascontiguousarray(X), starts, ROUNDS, losses)
    best = int(np.argmin(losses))
    return starts[best], float(losses[best])
