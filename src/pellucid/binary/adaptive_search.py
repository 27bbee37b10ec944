"""Which states are concepts, judged by what the same search finds in noise: no tolerance to be told, few false ones."""

from __future__ import annotations

import numpy as np

from pellucid._core.arrays import FloatMatrix
from pellucid.binary.bits_and_components import refine_bits, to_bits
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import chain_states, descend, distinct, energies, exhaustive_states, joint_states
from pellucid.binary.spectrum import Spectrum

# a state is a concept if its energy is below this share of the lowest that noise has; of few items noise makes one
# more often, so the share grows between these numbers of items
CONFIDENT, ITEMS = (0.45, 0.6), (32, 96)
# beside concepts that are certain, the rest of the rank is filled with what is below this share
RELAXED = 0.97
# where noise has states of an energy below this, energies tell nothing
TELLING = 1e-3
# least share of a state that the ones before it may not explain
INDEPENDENT = 0.3
# rounds without a new concept before the search ends
PATIENCE = 3
# chains beside the joint search: as many look in noise, so more of them would only make the rule stricter
CHAINS, CHAIN_STEPS = 64, 200
# where a search takes no time, noise is looked at this often, since its lowest energy varies
DRAWS, CHEAP = 9, 10_000
# and by chains, which take longer, so often
CHAIN_DRAWS = 3
# up to so many directions all states there are can be looked at
EXHAUSTIVE_DIRECTIONS = 8


def refined_concepts(spectrum: Spectrum, rank: int, rng: np.random.RandomState) -> tuple[Bits, int]:
    """What the search finds in the leading dimensions, bit for bit as the items say, and the rounds that it took."""
    U = np.ascontiguousarray(spectrum.basis[:, :rank], dtype=np.float32)
    states, rounds = adaptive_states(U, rng)
    S = to_bits(states)
    return refine_bits(spectrum.features, S) if S.shape[1] else S, rounds


def adaptive_states(U: FloatMatrix, rng: np.random.RandomState) -> tuple[FloatMatrix, int]:
    """Independent states of low energy, at most as many as U has columns, and the rounds that it took."""
    r = U.shape[1]
    noise = Noise(U, rng)
    confident = float(np.interp(len(U), ITEMS, CONFIDENT))
    if noise.lowest(r, False) < TELLING:  # full rank: every state lies in the space
        return np.zeros((len(U), 0), dtype=U.dtype), 1
    found = independent(U, candidates(U, U, False, rng), confident * noise.lowest(r, False))
    idle, rounds = 0, 1
    while found.shape[1] < r and idle < PATIENCE:
        left = complement(U, found)
        chains = idle > 0
        share = RELAXED if chains and found.shape[1] else confident
        limit = max(share * noise.lowest(left.shape[1], chains), float(energies(U, found).max(initial=0.0)))
        more = independent(U, np.hstack([found, candidates(U, left, chains, rng)]), limit)
        idle = 0 if more.shape[1] > found.shape[1] else idle + 1
        if more.shape[1] >= found.shape[1]:  # fewer would let the search go round in circles for ever
            found = more
        rounds += 1
    return found, rounds


class Noise:
    """The lowest energy that a search finds in bases without structure, of the shape of U."""

    def __init__(self, U: FloatMatrix, rng: np.random.RandomState) -> None:
        draws = DRAWS if U.size <= CHEAP else 1
        self.bases = [random_basis(len(U), U.shape[1], rng).astype(U.dtype) for _ in range(draws)]
        self.rng = rng
        self.known: dict[tuple[int, bool], float] = {}

    def lowest(self, width: int, chains: bool) -> float:
        """For a search in that many directions, with chains or without: the median over the bases."""
        if (width, chains) not in self.known:
            energy = [
                energies(basis, candidates(basis, basis[:, :width], chains, self.rng)).min(initial=1.0)
                for basis in (self.bases[:CHAIN_DRAWS] if chains else self.bases)
            ]
            self.known[width, chains] = float(np.median(energy))
        return self.known[width, chains]


def candidates(U: FloatMatrix, part: FloatMatrix, chains: bool, rng: np.random.RandomState) -> FloatMatrix:
    """States found in a part of span(U), jointly and, if wanted, by chains, come to rest in all of it. In few
    directions all there are take no longer."""
    pool = [joint_states(part, rng)]
    if U.shape[1] <= EXHAUSTIVE_DIRECTIONS:
        pool.append(exhaustive_states(part))
    if chains:
        pool.append(chain_states(part, CHAINS, CHAIN_STEPS, rng))
    return distinct(descend(U, np.hstack(pool)))


def random_basis(p: int, r: int, rng: np.random.RandomState) -> FloatMatrix:
    """An orthonormal basis orthogonal to the constant that holds no structure."""
    noise = rng.standard_normal((p, r))
    return np.asarray(np.linalg.qr(noise - noise.mean(axis=0))[0])


def complement(U: FloatMatrix, states: FloatMatrix) -> FloatMatrix:
    """Basis of the part of span(U) that is orthogonal to the states."""
    if not states.shape[1]:
        return U
    inside = U.T @ states
    left, values, _ = np.linalg.svd(inside, full_matrices=True)
    rank = int((values > 1e-6 * values[0]).sum())
    return np.asarray(U @ left[:, rank:])


def independent(U: FloatMatrix, states: FloatMatrix, limit: float) -> FloatMatrix:
    """States of energy up to the limit, lowest first, each with a share of its own beside those before it."""
    pool = distinct(states)
    cost = energies(U, pool)
    order = np.argsort(cost, kind="stable")
    order = order[cost[order] <= limit]
    inside = U.T @ pool[:, order]
    chosen: list[int] = []
    length = np.maximum(np.sum(inside * inside, axis=0), np.finfo(np.float32).tiny)
    left = inside.copy()
    for j in range(len(order)):
        if len(chosen) == U.shape[1]:
            break
        own = float(left[:, j] @ left[:, j])
        if own < INDEPENDENT * length[j]:
            continue
        chosen.append(int(order[j]))
        direction = left[:, j] / np.sqrt(own)
        left[:, j + 1 :] -= np.outer(direction, direction @ left[:, j + 1 :])
    return np.asarray(pool[:, chosen])
