"""Patches by all atoms above a threshold: codes, their second moments, and the embedding by sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.kernels import above, add_atoms, count_pairs, image_sums, inverted
from pellucid._core.threads import run_rows
from pellucid.manifold.nearest import Floats32, Integers
from pellucid.manifold.statistics import PairStatistics

# rows whose products with all atoms are made at once
ROWS = 128
# columns of a product of image sums that one thread makes at a time
STRIPE = 256
# active atoms that are counted at once: their places are kept in 32 bits
MOST = 2**31 - 1
# numbers in a dense block of codes
DENSE = 1 << 24
FOREIGN = "These codes are not over the atoms that they are used with."


@dataclass(frozen=True)
class ActiveAtoms:
    """Which atoms are active, row after row: those of row i are active[begin[i]:begin[i + 1]], in rising order."""

    active: NDArray[np.uint16] | NDArray[np.int32]
    begin: Integers

    def __len__(self) -> int:
        return len(self.begin) - 1

    def sparse(self, K: int) -> Any:
        ones = np.ones(len(self.active))
        return sparse.csr_array((ones, self.active.astype(np.int64), self.begin), shape=(len(self), K))


def active_atoms(rows: Floats32, present: NDArray[np.bool_], atoms: Floats32, threshold: float) -> ActiveAtoms:
    """Atoms with a product of at least the threshold; none for rows that are not there."""
    K = len(atoms)
    narrow: Any = np.uint16 if K <= 1 << 16 else np.int32
    parts: dict[int, NDArray[Any]] = {}
    counts = np.empty(len(rows), dtype=np.int64)

    def part(start: int, stop: int) -> None:
        found = []
        room = np.empty((ROWS, K), dtype=narrow)
        for first in range(start, stop, ROWS):
            own = slice(first, min(first + ROWS, stop))
            products = rows[own] @ atoms.T
            used = above(products, np.float32(threshold), present[own], room[: len(products)], counts[own])
            found.append(room.ravel()[:used].copy())
        parts[start] = np.concatenate(found)

    run_rows(part, len(rows), min_rows=ROWS, max_rows=32 * ROWS)
    joined = np.concatenate([parts[start] for start in sorted(parts)])
    return ActiveAtoms(joined, np.concatenate([[0], np.cumsum(counts)]))


def add_whole_images(codes: ActiveAtoms, n: int, statistics: PairStatistics) -> None:
    """All patches of an image are neighbours, those without an active atom included: to second comes m Σ ααᵀ and to
    together Σ (Σα)(Σα)ᵀ, m being the number of patches of an image."""
    if len(codes.active) > MOST:
        raise ValueError(f"{len(codes.active)} active atoms are too many to count at once: use less memory.")
    second, together = statistics.second, statistics.together
    K, each = len(second), len(codes) // n
    rows, places = (np.empty(len(codes.active), dtype=np.int32) for _ in range(2))
    starts = np.empty(K + 1, dtype=np.int64)
    if not inverted(codes.active, codes.begin, rows, places, starts):
        raise ValueError(FOREIGN)

    def count(start: int, stop: int) -> None:
        count_pairs(codes.active, codes.begin, rows, places, starts, start, stop, each, second)

    run_rows(count, K, min_rows=32)
    sums = np.zeros((n, K), dtype=np.float32)
    run_rows(lambda start, stop: image_sums(codes.active, codes.begin, each, start, stop, sums), n, min_rows=1)

    def product(start: int, stop: int) -> None:
        together[start:stop] += sums[:, start:stop].T @ sums

    run_rows(product, K, min_rows=STRIPE, max_rows=STRIPE)


def add_near_patches(
    codes: ActiveAtoms, n: int, shape: tuple[int, int], context: int, statistics: PairStatistics
) -> None:
    """Neighbours are patches at most ``context`` apart in both directions: sums over rectangles, then products."""
    K, each = len(statistics.second), shape[0] * shape[1]
    ends = [(np.maximum(np.arange(m) - context, 0), np.minimum(np.arange(m) + context, m - 1) + 1) for m in shape]
    degree = np.outer(*(high - low for low, high in ends)).ravel()
    at_once = int(np.clip(DENSE // (each * K), 1, 16))
    for first in range(0, n, at_once):
        images = min(at_once, n - first)
        begin = codes.begin[first * each : (first + images) * each + 1]
        own = ActiveAtoms(codes.active[begin[0] : begin[-1]], begin - begin[0])
        A = own.sparse(K).astype(np.float32).toarray()
        near = A.reshape(images, *shape, K)
        for axis, (low, high) in enumerate(ends, start=1):
            edge = np.zeros_like(near.take([0], axis=axis))
            sums = np.concatenate([edge, near.cumsum(axis=axis)], axis=axis)
            near = sums.take(high, axis=axis) - sums.take(low, axis=axis)
        near = near.reshape(len(A), K)
        weighted = A * np.tile(degree, images).astype(np.float32)[:, None]

        def product(start: int, stop: int, A: Floats32 = A, near: Floats32 = near, all_of: Floats32 = weighted) -> None:
            statistics.together[start:stop] += A[:, start:stop].T @ near
            statistics.second[start:stop] += A[:, start:stop].T @ all_of

        run_rows(product, K, min_rows=STRIPE, max_rows=STRIPE)


def sum_of_atoms(codes: ActiveAtoms, table: Floats32, first: int, last: int) -> Floats32:
    """Unit vectors Σ table[a] over the active atoms of rows first to last; zeros where there are none."""
    out = np.empty((last - first, table.shape[1]), dtype=np.float32)
    if not add_atoms(codes.active, codes.begin, table, first, out):
        raise ValueError(FOREIGN)
    return out
