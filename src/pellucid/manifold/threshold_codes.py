"""Patches by all atoms above a threshold: codes, their second moments, and the embedding by sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.arrays import Floats
from pellucid._core.jit import kernel
from pellucid._core.threads import run_rows
from pellucid.manifold.nearest import Floats32, Integers
from pellucid.manifold.statistics import PairStatistics

# rows whose products with all atoms are made at once
ROWS = 128
# how often an atom of a row may be counted in 16 bits
LIMIT = 60_000
# columns of a product of image sums that one thread makes at a time
STRIPE = 256
# numbers in a dense block of codes
DENSE = 1 << 24


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
        room = np.empty(ROWS * K + 1, dtype=narrow)  # what is not counted is written one further
        for first in range(start, stop, ROWS):
            own = slice(first, min(first + ROWS, stop))
            products = rows[own] @ atoms.T
            used = above(products, np.float32(threshold), present[own], room, counts[own])
            found.append(room[:used].copy())
        parts[start] = np.concatenate(found)

    run_rows(part, len(rows), min_rows=ROWS, max_rows=32 * ROWS)
    joined = np.concatenate([parts[start] for start in sorted(parts)])
    return ActiveAtoms(joined, np.concatenate([[0], np.cumsum(counts)]))


@kernel
def above(
    products: Floats32, threshold: Any, present: NDArray[np.bool_], active: NDArray[Any], counts: Integers
) -> int:
    used = 0
    for i in range(products.shape[0]):
        before = used
        if present[i]:
            row = products[i]
            for k in range(products.shape[1]):
                active[used] = k
                used += row[k] >= threshold
        counts[i] = used - before
    return used


def add_whole_images(codes: ActiveAtoms, n: int, statistics: PairStatistics) -> None:
    """All patches of an image are neighbours, those without an active atom included: to second comes m Σ ααᵀ and to
    together Σ (Σα)(Σα)ᵀ, m being the number of patches of an image."""
    second, together = statistics.second, statistics.together
    K, each = len(second), len(codes) // n
    rows, places, starts = inverted(codes.active, codes.begin, K)

    def count(start: int, stop: int) -> None:
        row = np.zeros(K, dtype=np.uint16)
        count_pairs(codes.active, codes.begin, rows, places, starts, start, stop, each, row, second)

    run_rows(count, K, min_rows=16)
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


@kernel
def inverted(active: NDArray[Any], begin: Integers, K: int) -> tuple[NDArray[np.int32], NDArray[np.int32], Integers]:
    """For every atom the rows in which it is active, and where in their lists it stands."""
    starts = np.zeros(K + 1, dtype=np.int64)
    for k in range(len(active)):
        starts[active[k] + 1] += 1
    for a in range(K):
        starts[a + 1] += starts[a]
    free = starts.copy()
    rows = np.empty(len(active), dtype=np.int32)
    places = np.empty(len(active), dtype=np.int32)
    for i in range(len(begin) - 1):
        for k in range(begin[i], begin[i + 1]):
            a = active[k]
            rows[free[a]] = i
            places[free[a]] = k
            free[a] += 1
    return rows, places, starts


@kernel
def count_pairs(
    active: NDArray[Any],
    begin: Integers,
    rows: NDArray[np.int32],
    places: NDArray[np.int32],
    starts: Integers,
    first: int,
    last: int,
    weight: int,
    row: NDArray[np.uint16],
    second: Floats,
) -> None:
    """Row a counts in how many codes a and b ≥ a are active, in 16 bits so that it stays in cache."""
    K = len(row)
    for a in range(first, last):
        waiting = 0
        for k in range(starts[a], starts[a + 1]):
            for other in active[places[k] : begin[rows[k] + 1]]:
                row[other] += 1
            waiting += 1
            if waiting == LIMIT or k == starts[a + 1] - 1:
                for b in range(a, K):
                    if row[b]:
                        second[a, b] += weight * row[b]
                        second[b, a] = second[a, b]
                        row[b] = 0
                waiting = 0


@kernel
def image_sums(active: NDArray[Any], begin: Integers, each: int, first: int, last: int, sums: Floats32) -> None:
    for image in range(first, last):
        total = sums[image]
        for k in range(begin[image * each], begin[(image + 1) * each]):
            total[active[k]] += 1


def sum_of_atoms(codes: ActiveAtoms, table: Floats32, first: int, last: int) -> Floats32:
    """Unit vectors Σ table[a] over the active atoms of rows first to last; zeros where there are none."""
    out = np.empty((last - first, table.shape[1]), dtype=np.float32)
    add_atoms(codes.active, codes.begin, table, first, last, out)
    return out


@kernel
def add_atoms(active: NDArray[Any], begin: Integers, table: Floats32, first: int, last: int, out: Floats32) -> None:
    d = table.shape[1]
    for i in range(first, last):
        total = out[i - first]
        total[:] = 0
        for k in range(begin[i], begin[i + 1]):
            row = table[active[k]]
            for j in range(d):
                total[j] += row[j]
        square = 0.0
        for j in range(d):
            square += total[j] * total[j]
        if square > 0:
            factor = np.float32(1 / np.sqrt(square))
            for j in range(d):
                total[j] *= factor
