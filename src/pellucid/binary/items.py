"""One item after the other (paper 2, Algorithm 2 and A.2); all that grows with them is kept up to date."""

from __future__ import annotations

import numpy as np

from pellucid.binary.weights import Bits, kernel_norm
from pellucid.solvers._cholesky import Floats, Ints, kernel

# all cuts of that many first items are weighed at once
FIRST = 6
# weights are fitted afresh after every so many items
REFIT = 2
# an item that has nearly all of a concept, or nearly nothing, has all or nothing
SNAP = 0.02
SWEEPS = 500
TOLERANCE = 1e-7


def all_cuts(n: int) -> Bits:
    """Every way to split n items in two, once; the first item is on the side of zeros."""
    codes = np.arange(1, 1 << (n - 1))
    cuts = ((codes[None] >> np.arange(n - 1)[:, None]) & 1).astype(np.uint8)
    return np.vstack([np.zeros((1, len(codes)), dtype=np.uint8), cuts])


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
        sparsity: float,
        min_weight: float,
        noise: np.random.RandomState | None = None,
    ) -> None:
        self.items, self.sparsity, self.min_weight, self.noise = items, sparsity, min_weight, noise
        self.S, self.weights = S, weights.copy()
        first = items[: len(S)]
        self.counts = S.T.astype(np.float64) @ S
        self.along = S.T @ first
        self.total = first.sum(axis=0)
        self.square = kernel_norm(first - first.mean(axis=0)) ** 2
        self.refit()

    def run(self) -> Bits:
        """Add all items that are left; concepts (p, b)."""
        for n in range(len(self.S), len(self.items)):
            self.add(self.items[n])
            if (n + 1) % REFIT == 0 or n + 1 == len(self.items):
                self.refit()
        return self.S

    def overlaps(self) -> Floats:
        """S̄ᵀS̄."""
        sizes = self.counts.diagonal()
        return np.asarray(self.counts - np.outer(sizes, sizes / len(self.S)))

    def penalty(self) -> float:
        """λ for a kernel of this norm: the weights of n items are of the order of its n-th part."""
        return self.sparsity * float(np.sqrt(self.square)) / len(self.S)

    def refit(self) -> None:
        """Weights by Eq. 3, from those there are, and without the concepts that are too weak."""
        n, sizes = len(self.S), self.counts.diagonal()
        along = self.along - np.outer(sizes, self.total / n)
        linear = 0.5 * self.penalty() * np.minimum(sizes, n - sizes) - np.einsum("ij,ij->i", along, along)
        box_descent(self.overlaps() ** 2, linear, np.full(len(sizes), np.inf), self.weights)
        self.keep(np.flatnonzero(self.weights > self.min_weight * self.weights.max(initial=0.0)))

    def keep(self, columns: Ints) -> None:
        self.S = np.ascontiguousarray(self.S[:, columns])
        self.weights = self.weights[columns]
        self.counts = self.counts[np.ix_(columns, columns)]
        self.along = self.along[columns]

    def add(self, item: Floats) -> None:
        """Give an item to the concepts (Eq. 4), split those that it has in part, and give it one of its own."""
        n, b = self.S.shape
        sizes = self.counts.diagonal()
        mean, t = sizes / n, n / (n + 1)
        x = item - self.total / n
        similar = self.along @ x - sizes * (self.total @ x / n)  # S̄ᵀk̄
        k0 = float(x @ x)
        before = self.items[:n] @ x - self.total @ x / n  # k̄
        overlaps = self.overlaps()
        # Eq. 5 over z = (Πp, π₀): 2t‖S̄(z − Π⟨s⟩) − k̄‖² + t²(Σ(1 − 2⟨s⟩)z + π₀ + ⟨s⟩ᵀΠ⟨s⟩ − k₀)²
        slope = np.append(1 - 2 * mean, 1.0)
        H = 2 * t**2 * np.outer(slope, slope)
        H[:b, :b] += 4 * t * overlaps
        level = k0 - float(mean**2 @ self.weights)
        linear = np.append(-4 * t * (similar + overlaps @ (self.weights * mean)), 0.0) - 2 * t**2 * level * slope
        # the sparsity term made convex: joining the smaller side costs, joining the larger one pays
        rule = np.append(np.where(mean < 0.5, 1.0, -1.0), -1.0)
        if self.noise is not None:
            rule = rule + self.noise.standard_normal(b + 1)
        z = np.append(np.where(mean < 0.5, 0.0, self.weights), 0.0)
        box_descent(H, linear + self.penalty() * rule, np.append(self.weights, np.inf), z)
        self.square += 2 * t * float(before @ before) + t**2 * k0**2
        self._split(item, z)

    def _split(self, item: Floats, z: Floats) -> None:
        """(S S 0; 1 0 1) with weights (Πp, Π(1 − p), π₀), without the empty ones (Algorithm 2, line 8)."""
        has = np.where(z[:-1] < SNAP * self.weights, 0.0, z[:-1])
        has = np.where(has > (1 - SNAP) * self.weights, self.weights, has)
        lacks = self.weights - has
        with_item, without = np.flatnonzero(has > 0), np.flatnonzero(lacks > 0)
        weights = np.concatenate([has[with_item], lacks[without], z[-1:]])
        self.keep(np.concatenate([with_item, without]))
        bit = np.zeros(len(weights), dtype=np.uint8)
        bit[: len(with_item)] = bit[-1] = 1
        self.weights = weights
        self.S = np.vstack([np.pad(self.S, ((0, 0), (0, 1))), bit])
        self.counts = np.pad(self.counts, (0, 1)) + np.outer(bit, bit.astype(np.float64))
        self.along = np.pad(self.along, ((0, 1), (0, 0))) + np.outer(bit, item)
        self.total = self.total + item


@kernel
def box_descent(H: Floats, q: Floats, upper: Floats, z: Floats) -> int:
    """Minimise ½zᵀHz + qᵀz over 0 ≤ z ≤ upper by coordinate descent from z, in place; returns the sweeps.

    The start is the solution without the new item, so few coordinates move; the next fit corrects what is left.
    """
    m = z.size
    slope = q.copy()
    for j in range(m):
        if z[j] != 0.0:
            for i in range(m):
                slope[i] += H[j, i] * z[j]
    for sweep in range(SWEEPS):
        largest, top = 0.0, 0.0
        for j in range(m):
            if H[j, j] <= 0.0:
                continue
            value = min(max(z[j] - slope[j] / H[j, j], 0.0), upper[j])
            step = value - z[j]
            if step != 0.0:
                z[j] = value
                for i in range(m):
                    slope[i] += H[j, i] * step
                largest = max(largest, abs(step))
            top = max(top, value)
        if largest <= TOLERANCE * top:
            return sweep + 1
    return SWEEPS
