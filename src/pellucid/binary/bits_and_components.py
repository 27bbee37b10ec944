"""From states to concepts: components W, bits that fit them, and concepts made of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import FloatMatrix, Floats, Ints
from pellucid._core.jit import kernel
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import polar
from pellucid.binary.weights import alignment, concept_overlaps, strongest

ROUNDS = 30
# sizes, lengths and eigenvalues (as a share of the largest) below this are round-off
TINY = 1e-9
SWEEPS = 50
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
    """
    bits = np.ascontiguousarray(S).copy()
    alternate(np.ascontiguousarray(features), bits, True)
    return distinct_concepts(bits)


@kernel
def alternate(X: Floats, S: Bits, leave_one_out: bool) -> float:
    """Components W with orthogonal rows (a polar factor and lengths) and the bits that they give, in turns, in place;
    the share of |X|² that W leaves.

    W has orthogonal rows, so every bit is decided alone: ⟨x̄, w⟩/|w|² + ⟨s⟩ against ½. A concept that would end up
    with all items or none stays as it was.
    """
    p, b = S.shape
    total, squares = 0.0, np.empty(p)
    for i in range(p):
        squares[i] = np.sum(X[i] * X[i])
        total += squares[i]
    mean, sizes, lengths, centred = np.empty(b), np.empty(b), np.empty(b), np.empty((p, b))
    before, after, counts = S.copy(), S.copy(), np.empty(b, dtype=np.int64)
    left = 1.0
    for turn in range(ROUNDS):
        count_ones(S, counts)
        for j in range(b):
            mean[j] = counts[j] / p
            sizes[j] = max(p * mean[j] * (1 - mean[j]), TINY)
        for i in range(p):
            for j in range(b):
                centred[i, j] = S[i, j] - mean[j]
        along = centred.T @ X
        if turn == 0:
            for j in range(b):
                lengths[j] = np.sqrt(np.sum(along[j] * along[j])) / sizes[j]
        rotation = polar_rows(along * lengths.reshape(b, 1))
        for j in range(b):
            lengths[j] = max(np.sum(along[j] * rotation[j]) / sizes[j], TINY)
        left = 1 - np.sum(lengths * lengths * sizes) / total
        scores = X @ rotation.T
        if leave_one_out:
            scores -= own_part(scores, squares, centred, lengths)
        for i in range(p):
            for j in range(b):
                after[i, j] = 1 if scores[i, j] > (0.5 - mean[j]) * lengths[j] else 0
        count_ones(after, counts)
        for j in range(b):
            if counts[j] == 0 or counts[j] == p:
                after[:, j] = S[:, j]
        changed, returned = False, turn > 0
        for i in range(p):
            for j in range(b):
                changed |= after[i, j] != S[i, j]
                returned &= after[i, j] == before[i, j]
        if not changed or returned:  # at rest, or there and back
            break
        before[:], S[:] = S, after
    return float(left)


@kernel
def count_ones(S: Bits, counts: Ints) -> None:
    """How many items have each concept."""
    counts[:] = 0
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            counts[j] += S[i, j]


@kernel
def polar_rows(A: Floats) -> Floats:
    """The orthonormal rows nearest to those of A, by the eigenvectors of AAᵀ: for few long rows far cheaper than its
    singular values, and as exact as bits need."""
    values, vectors = np.linalg.eigh(A @ A.T)
    return np.ascontiguousarray(((vectors / np.sqrt(np.maximum(values, TINY * values[-1]))) @ vectors.T) @ A)


@kernel
def own_part(along: Floats, squares: Floats, centred: Floats, lengths: Floats) -> Floats:
    """How much of ⟨x̄ᵢ, q⟩ is there because item i took part in finding the unit directions q, to first order.

    The directions are the polar factor of A = Σ |w| s̄ x̄ᵀ, nearly D q with D = |w|² |s̄|². Item i adds |w| s̄ᵢ x̄ᵢᵀ to A,
    which moves q by D⁻¹ of it outside the span of the directions, and inside by its antisymmetric part over Dⱼ + Dₖ.
    """
    pull = centred * lengths
    stiffness = lengths**2 * (centred * centred).sum(axis=0)
    outside = squares - (along * along).sum(axis=1)
    both = 1 / (stiffness.reshape(-1, 1) + stiffness)
    inside = along**2 @ both
    own: Floats = pull * (outside.reshape(-1, 1) / stiffness + inside) - along * ((pull * along) @ both)
    return own


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


@kernel
def nearest_bits(G: Floats, scores: Floats, bits: Bits) -> None:
    """For every row, bits that minimise ‖x − sW‖², by flipping one at a time; G = WWᵀ, scores = xWᵀ.

    Starts at ``bits`` and overwrites them. For orthogonal W one sweep is exact.
    """
    n, b = scores.shape
    slope = np.empty(b)
    for i in range(n):
        for j in range(b):
            slope[j] = scores[i, j]
        for k in range(b):
            if bits[i, k]:
                for j in range(b):
                    slope[j] -= G[k, j]
        for _ in range(SWEEPS):
            flips = 0
            for j in range(b):
                # setting bit j adds G_jj/2 − slope_j to half the loss; clearing it, G_jj/2 + slope_j
                step = -1.0 if bits[i, j] else 1.0
                if 0.5 * G[j, j] - step * slope[j] < 0.0:
                    bits[i, j] = 1 - bits[i, j]
                    for k in range(b):
                        slope[k] -= step * G[j, k]
                    flips += 1
            if flips == 0:
                break
