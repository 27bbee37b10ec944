"""One item after the other (paper 2, Algorithm 2 and A.2); all that grows with them is kept up to date."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid._core import deadline
from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import box_descent
from pellucid.binary.packed_bits import Bits, packed, shared_items
from pellucid.binary.weights import kernel_norm

# all cuts of that many first items are weighed at once
FIRST = 6
# weights are fitted afresh after every so many items
REFIT = 2
# an item that has nearly all of a concept, or nearly nothing, has all or nothing
SNAP = 0.02


def all_cuts(n: int) -> Bits:
    """Every way to split n items in two, once; the first item is on the side of zeros."""
    codes = np.arange(1, 1 << (n - 1))
    cuts = ((codes[None] >> np.arange(n - 1)[:, None]) & 1).astype(np.uint8)
    return np.vstack([np.zeros((1, len(codes)), dtype=np.uint8), cuts])


class Noise(NamedTuple):
    """Gaussian noise in the rule of a branch, on the scale of ``simplicity``."""

    rng: np.random.RandomState
    size: float


class Assignment:
    """Concepts of the items so far, with what Eq. 3 and Eq. 4 need of them.

    S : (n, b) bits;  weights : (b,) π, on the scale of the items
    counts : (b, b) SᵀS;  along : (b, d) SᵀX;  total : (d,) sum of the items;  square : ‖K̄‖²_F
    """

    def __init__(
        self,
        items: Floats,
        S: Bits,
        weights: Floats,
        simplicity: float,
        min_weight: float,
        noise: Noise | None = None,
    ) -> None:
        self.items, self.simplicity, self.min_weight, self.noise = items, simplicity, min_weight, noise
        self.S, self.weights = S, weights.astype(np.float64)
        first = items[: len(S)]
        self.counts = shared_items(packed(S))
        self.along = S.T @ first
        self.total = first.sum(axis=0)
        self.square = kernel_norm(first - first.mean(axis=0)) ** 2
        self.refit()

    def run(self) -> Bits:
        """Add all items that are left; concepts (p, b)."""
        for n in range(len(self.S), len(self.items)):
            deadline.check()
            self.add(self.items[n])
            if (n + 1) % REFIT == 0 or n + 1 == len(self.items):
                self.refit()
        return self.S

    def unit(self) -> float:
        """λ = 1 for a kernel of this norm: the weights of n items are of the order of its n-th part."""
        return float(np.sqrt(self.square)) / len(self.S)

    def penalty(self) -> float:
        return self.simplicity * self.unit()

    def refit(self) -> None:
        """Weights by Eq. 3, from those there are, and without the concepts that are too weak."""
        n, sizes = len(self.S), self.counts.diagonal().copy()
        along = self.along - np.outer(sizes, self.total / n)
        linear = 0.5 * self.penalty() * np.minimum(sizes, n - sizes) - np.einsum("ij,ij->i", along, along)
        none = np.zeros(len(sizes))
        box_descent(self.counts, sizes, n, True, 1.0, 0.0, none, linear, np.full(len(sizes), np.inf), self.weights)
        self.keep(self.weights > self.min_weight * self.weights.max(initial=0.0))

    def keep(self, which: NDArray[np.bool_]) -> None:
        if which.all():
            return
        columns = np.flatnonzero(which)
        self.S = self.S[:, columns]
        self.weights = self.weights[columns]
        self.counts = self.counts[np.ix_(columns, columns)]
        self.along = self.along[columns]

    def add(self, item: Floats) -> None:
        """Give an item to the concepts (Eq. 4), split those that it has in part, and give it one of its own."""
        n = len(self.S)
        self._grow(np.zeros(1, dtype=np.int64) - 1)  # the item's own concept, which nobody else has
        self.weights[-1] = np.inf
        sizes = self.counts.diagonal().copy()
        mean, t = sizes / n, n / (n + 1)
        fixed = np.where(mean > 0, self.weights, 0.0)
        x = item - self.total / n
        similar = self.along @ x - sizes * (self.total @ x / n)  # S̄ᵀk̄
        k0 = float(x @ x)
        before = self.items[:n] @ x - self.total @ x / n  # k̄
        # Eq. 5 over z = (Πp, π₀): 2t‖S̄(z − Π⟨s⟩) − k̄‖² + t²(Σ(1 − 2⟨s⟩)z + π₀ + ⟨s⟩ᵀΠ⟨s⟩ − k₀)²
        slope = 1 - 2 * mean
        level = k0 - float(mean**2 @ fixed)
        pulled = self.counts @ (fixed * mean) - sizes * float(mean @ (fixed * mean))  # S̄ᵀS̄Π⟨s⟩
        linear = -4 * t * (similar + pulled) - 2 * t**2 * level * slope
        # the sparsity term made convex: joining the smaller side costs, joining the larger one pays
        rule = np.where(mean < 0.5, 1.0, -1.0)
        rule[-1] = -1.0
        z = np.where(mean < 0.5, 0.0, fixed)
        linear += self.penalty() * rule
        if self.noise is not None:
            linear += self.unit() * self.noise.size * self.noise.rng.standard_normal(len(rule))
        box_descent(self.counts, sizes, n, False, 4 * t, 2 * t**2, slope, linear, self.weights, z)
        self.square += 2 * t * float(before @ before) + t**2 * k0**2
        self._split(item, z)

    def _split(self, item: Floats, z: Floats) -> None:
        """(S S 0; 1 0 1) with weights (Πp, Π(1 − p), π₀), without the empty ones (Algorithm 2, line 8)."""
        has = np.where(z < SNAP * self.weights, 0.0, z)
        has[-1] = self.weights[-1] = z[-1]
        has = np.where(has > (1 - SNAP) * self.weights, self.weights, has)
        lacks = self.weights - has
        partly = np.flatnonzero((has > 0) & (lacks > 0))
        self.weights = np.where(has > 0, has, lacks)
        bit = np.append(has > 0, np.zeros(len(partly), dtype=bool))
        self._grow(partly)
        self.weights[len(has) :] = lacks[partly]
        self.S = np.vstack([self.S, bit.astype(np.uint8)])
        joined = np.flatnonzero(bit)
        self.counts[np.ix_(joined, joined)] += 1.0
        self.along[joined] += item
        self.total = self.total + item

    def _grow(self, columns: Ints) -> None:
        """Append copies of concepts; −1 stands for one that no item has. Their weights are to be filled in."""
        b, more = len(self.weights), len(columns)
        counts = np.zeros((b + more, b + more))
        counts[:b, :b] = self.counts
        known = columns >= 0
        copied, places = columns[known], b + np.flatnonzero(known)
        counts[places, :b] = self.counts[copied]
        counts[:b, places] = counts[places, :b].T
        counts[np.ix_(places, places)] = self.counts[np.ix_(copied, copied)]
        along = np.zeros((b + more, self.along.shape[1]))
        along[:b], along[places] = self.along, self.along[copied]
        S = np.zeros((len(self.S), b + more), dtype=np.uint8)
        S[:, :b], S[:, places] = self.S, self.S[:, copied]
        self.counts, self.along, self.S = counts, along, S
        self.weights = np.append(self.weights, np.zeros(more))
