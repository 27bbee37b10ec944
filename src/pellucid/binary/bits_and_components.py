"""From states to concepts: components W, bits that fit them, and concepts made of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import FloatMatrix, Floats
from pellucid._core.kernels import turn_bits, turn_components
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import polar
from pellucid.binary.weights import alignment, concept_overlaps, strongest

ROUNDS = 30
# a larger set of concepts must gain this much CKA, or this share of what is missing
GAIN, GAIN_SHARE = 0.005, 0.1
# concepts made of others may be this many times the rank, and must lie this close to the space
MADE, CLOSE = 8, 0.05
# so close must the product of two concepts be: CLOSE of the largest intersection, and room for their own energy
CLOSE_PRODUCT = 0.3


def oriented(S: NDArray[Any]) -> Bits:
    """The same concepts with 1 on the smaller side (without the first item where both are equal)."""
    bits = S.astype(np.uint8)
    sizes = bits.sum(axis=0, dtype=np.int64)
    flip = (2 * sizes > len(bits)) | ((2 * sizes == len(bits)) & (bits[0] == 1))
    return np.ascontiguousarray(bits ^ flip)


def to_bits(states: FloatMatrix) -> Bits:
    """0 and 1 for ±1, with 1 on the smaller side."""
    return oriented(states > 0)


def unique_columns(S: Bits) -> Bits:
    """Each column once, in the order in which they first come."""
    _, first = np.unique(np.packbits(S.T, axis=1), axis=0, return_index=True)
    return np.ascontiguousarray(S[:, np.sort(first)])


def distinct_concepts(S: Bits) -> Bits:
    """Each concept once, with 1 on the smaller side: a concept and its complement are the same."""
    return unique_columns(oriented(S))


def orthogonal_components(features: Floats, S: Bits) -> tuple[Floats, Floats]:
    """W (b, d) with orthogonal rows and their lengths: orthogonal Procrustes of S̄√π onto the centred items, π by
    alternation; b ≤ d."""
    centred = S - S.mean(axis=0)
    along = centred.T @ features  # (b, d)
    squares = np.einsum("ij,ij->j", centred, centred)
    lengths = np.linalg.norm(along, axis=1) / squares
    for _ in range(ROUNDS):
        rotation = polar(along * lengths[:, None])
        fresh = np.maximum(np.einsum("ij,ij->i", along, rotation) / squares, 0.0)
        done = np.allclose(fresh, lengths, rtol=1e-8, atol=0.0)
        lengths = fresh
        if done:
            break
    return rotation * lengths[:, None], lengths


def refine_bits(features: Floats, S: Bits) -> Bits:
    """Concepts after alternating components and bits, each bit judged without its own part in the components.

    All features belong here, not only those of the space: what an item has outside it turns W towards the item, too.
    The products are so large that BLAS makes them; the kernel ``alternate_each`` takes the same turns by itself.
    """
    p, b = S.shape
    squares, mean, bits = np.einsum("ij,ij->i", features, features), S.mean(axis=0), S.T.copy()
    before, centred = bits.copy(), bits - mean[:, None]
    lengths, rotation = np.empty(b), np.empty((b, features.shape[1]))
    for turn in range(ROUNDS):
        if not turn_components(centred @ features, mean, p, turn == 0, lengths, rotation):
            break
        if not turn_bits(rotation @ features.T, squares, lengths, turn == 0, mean, centred, bits, before):
            break
    return distinct_concepts(bits.T)


def with_made_of_others(features: Floats, U: Floats, S: Bits, sparsity: float) -> Bits:
    """S with the intersections of its concepts (and their complements) that lie in the space too, if Eq. 3 gains
    enough by them: hierarchies and exclusive classes have more concepts than dimensions."""
    kept, weights = strongest(features, S, sparsity)
    before = alignment(features, kept, weights)
    wanted = max(GAIN, GAIN_SHARE * (1 - before))
    if 1 - before < wanted or S.shape[1] < 2:
        return S
    pool = S
    limit = MADE * max(2, U.shape[1])
    for _ in range(2):
        more = close_intersections(U, pool, limit)
        if not more.shape[1]:
            break
        pool = unique_columns(np.hstack([pool, more]))[:, :limit]
    if pool.shape[1] == S.shape[1]:
        return S
    found, weights = strongest(features, pool, sparsity)
    return found if alignment(features, found, weights) - before >= wanted else S


def close_intersections(U: Floats, S: Bits, limit: int) -> Bits:
    """Intersections of two concepts or complements whose energy is low, lowest first."""
    found, cost = [], []
    basis = np.ascontiguousarray(U.T, dtype=np.float32)
    for a, b in close_pairs(basis, S):
        first, second = S[:, a], S[:, b]
        part = np.stack(
            [first & second, first & (1 - second), (1 - first) & second, (1 - first) & (1 - second)], axis=1
        )
        sizes = part.sum(axis=0, dtype=np.float64)
        varied = np.flatnonzero((sizes > 0) & (sizes < len(S)))
        part, sizes = part[:, varied], sizes[varied]
        inside = basis @ part.astype(np.float32)
        energy = 1 - np.sum(inside * inside, axis=0) / (sizes * (1 - sizes / len(S)))  # share of s̄ outside span(U)
        keep = np.flatnonzero(energy <= CLOSE)
        found.append(oriented(part[:, keep]))
        cost.append(energy[keep])
    if not found:
        return S[:, :0]
    pool = np.hstack(found)
    return unique_columns(pool[:, np.argsort(np.concatenate(cost), kind="stable")[:limit]])


def close_pairs(basis: FloatMatrix, S: Bits) -> list[tuple[int, int]]:
    """Pairs whose intersections may lie close to the space; basis is Uᵀ.

    For signs s and t an intersection is (1 ± s ± t ± st)/4, and s and t lie in the space, so the product st must, up to
    what the least intersection allows."""
    states = 2 * S.astype(np.float32) - 1
    p = len(S)
    pairs = []
    for a in range(S.shape[1] - 1):
        product = states[:, a + 1 :] * states[:, a : a + 1]
        inside = np.sum((basis @ product) ** 2, axis=0) + product.sum(axis=0) ** 2 / p
        pairs += [(a, a + 1 + int(b)) for b in np.flatnonzero(1 - inside / p <= CLOSE_PRODUCT)]
    return pairs


def components(features: Floats, S: Bits) -> Floats:
    """W (b, d): orthogonal rows where there can be such; otherwise, with more concepts than dimensions, those of least
    length that reconstruct the centred items best."""
    b = S.shape[1]
    centred = S - S.mean(axis=0)
    along = centred.T @ features
    if b and b <= features.shape[1] and np.linalg.matrix_rank(along) == b:
        return orthogonal_components(features, S)[0]
    return np.asarray(np.linalg.pinv(concept_overlaps(S), hermitian=True, rcond=1e-10) @ along)
