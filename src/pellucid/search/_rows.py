"""Rows in blocks, and the kernels that every engine needs: exact cosines, and the best of many scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.jit import kernel
from pellucid._core.threads import run_rows

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]


class Rows:
    """Blocks of rows (n, d) that never change, as one array; a position counts through all of them."""

    def __init__(self, segments: Sequence[NDArray[Any]]) -> None:
        self.segments = [np.asarray(segment) for segment in segments]
        self.starts = np.cumsum([0, *(len(segment) for segment in self.segments)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, positions: Positions) -> NDArray[Any]:
        """Copies of the rows at these positions, in the widest precision that any of the blocks has."""
        segment = np.searchsorted(self.starts, positions, side="right") - 1
        out = np.empty((len(positions), self.segments[0].shape[1]), np.result_type(*self.segments))
        for s in np.unique(segment):
            mine = segment == s
            out[mine] = self.segments[s][positions[mine] - self.starts[s]]
        return out

    def blocks(self, start: int, stop: int, size: int) -> Iterator[tuple[int, Singles]]:
        """(position of the first row, rows) from start to stop, at most ``size`` at a time, ready for a kernel:
        float32, contiguous, copied only where they are not."""
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        for s in range(first, len(self.segments)):
            low, high = max(start, int(self.starts[s])), min(stop, int(self.starts[s + 1]))
            for begin in range(low, high, size):
                end = min(begin + size, high)
                yield begin, read_only(self.segments[s][begin - self.starts[s] : end - self.starts[s]])


def read_only(rows: NDArray[Any]) -> Singles:
    """Contiguous float32 that may not be written to: a kernel is compiled anew for every other kind of array."""
    view: Singles = np.ascontiguousarray(rows, dtype=np.float32).view()
    view.flags.writeable = False
    return view


def inverse_lengths(rows: NDArray[Any]) -> Doubles:
    """One over the length of each row; zero for rows of zeros."""
    out = np.empty(len(rows))

    def part(start: int, stop: int) -> None:
        for begin, block in Rows([rows]).blocks(start, stop, 4096):
            _inverse_lengths(block, out[begin : begin + len(block)])

    run_rows(part, len(rows), min_rows=4096)
    return out


def inverse_distances(rows: NDArray[Any], center: Doubles) -> Doubles:
    """1/‖ĉ − μ‖ of each row c at unit length; zero where there is nothing left."""
    out = np.empty(len(rows))

    def part(start: int, stop: int) -> None:
        for begin, block in Rows([rows]).blocks(start, stop, 4096):
            _inverse_distances(block, center, out[begin : begin + len(block)])

    run_rows(part, len(rows), min_rows=4096)
    return out


def cosines(rows: NDArray[Any], query: Doubles, center: Doubles | None = None) -> Doubles:
    """Cosines (n,) of rows with one query of unit length, in float64: equal rows score the same to the last bit. With
    a ``center`` they are those of the rows at unit length with it taken out, ĉ − μ."""
    out = np.empty(len(rows))
    if center is None:
        _cosines(read_only(rows), query, out)
    else:
        _centred_cosines(read_only(rows), query, center, out)
    return out


@kernel
def _inverse_lengths(rows: Singles, out: Doubles) -> None:
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j]) * np.float64(rows[i, j])
        out[i] = 1.0 / np.sqrt(total) if total > 0.0 else 0.0


@kernel
def _cosines(rows: Singles, query: Doubles, out: Doubles) -> None:
    for i in range(rows.shape[0]):
        product, total = 0.0, 0.0
        for j in range(rows.shape[1]):
            product += np.float64(rows[i, j]) * query[j]
            total += np.float64(rows[i, j]) * np.float64(rows[i, j])
        out[i] = product / np.sqrt(total) if total > 0.0 else 0.0


@kernel
def _inverse_distances(rows: Singles, center: Doubles, out: Doubles) -> None:
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j]) * np.float64(rows[i, j])
        out[i] = 0.0
        if total > 0.0:
            inverse, left = 1.0 / np.sqrt(total), 0.0
            for j in range(rows.shape[1]):
                z = np.float64(rows[i, j]) * inverse - center[j]
                left += z * z
            if left > 0.0:
                out[i] = 1.0 / np.sqrt(left)


@kernel
def _centred_cosines(rows: Singles, query: Doubles, center: Doubles, out: Doubles) -> None:
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j]) * np.float64(rows[i, j])
        out[i] = 0.0
        if total > 0.0:
            inverse, product, left = 1.0 / np.sqrt(total), 0.0, 0.0
            for j in range(rows.shape[1]):
                z = np.float64(rows[i, j]) * inverse - center[j]
                product += z * query[j]
                left += z * z
            if left > 0.0:
                out[i] = product / np.sqrt(left)


@kernel
def products(queries: Singles, rows: Singles, out: Singles) -> None:
    """queries · rowsᵀ; for a few queries faster than BLAS, since every row is read once and nothing else is moved."""
    for i in range(rows.shape[0]):
        for q in range(queries.shape[0]):
            total = np.float32(0.0)
            for j in range(rows.shape[1]):
                total += rows[i, j] * queries[q, j]
            out[q, i] = total


@kernel
def keep_best(
    scores: Singles, weight: Singles, offset: Singles, shift: Singles, first: int, best: Singles, places: Positions
) -> None:
    """Put scores (q, m)·weight (m,) − offset (q,)·shift (m,) into heaps of the best (q, K), smallest first; NaN never
    gets in."""
    for i in range(scores.shape[0]):
        heap, place = best[i], places[i]
        for j in range(scores.shape[1]):
            score = scores[i, j] * weight[j] - offset[i] * shift[j]
            if score > heap[0]:
                hole = 0
                while True:
                    child = 2 * hole + 1
                    if child >= heap.size:
                        break
                    if child + 1 < heap.size and heap[child + 1] < heap[child]:
                        child += 1
                    if heap[child] >= score:
                        break
                    heap[hole], place[hole] = heap[child], place[child]
                    hole = child
                heap[hole], place[hole] = score, first + j
