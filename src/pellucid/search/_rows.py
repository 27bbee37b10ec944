"""Rows in blocks, their lengths, and exact cosines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core import kernels
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
                yield begin, _singles(self.segments[s][begin - self.starts[s] : end - self.starts[s]])


def _singles(rows: NDArray[Any]) -> Singles:
    return np.ascontiguousarray(rows, dtype=np.float32)


def inverse_lengths(rows: NDArray[Any]) -> Doubles:
    """One over the length of each row; zero for rows of zeros."""
    out = np.empty(len(rows))

    def part(start: int, stop: int) -> None:
        for begin, block in Rows([rows]).blocks(start, stop, 4096):
            kernels.inverse_lengths(block, out[begin : begin + len(block)])

    run_rows(part, len(rows), min_rows=4096)
    return out


def inverse_distances(rows: NDArray[Any], center: Doubles) -> Doubles:
    """1/‖ĉ − μ‖ of each row c at unit length; zero where there is nothing left."""
    out = np.empty(len(rows))

    def part(start: int, stop: int) -> None:
        for begin, block in Rows([rows]).blocks(start, stop, 4096):
            kernels.inverse_distances(block, center, out[begin : begin + len(block)])

    run_rows(part, len(rows), min_rows=4096)
    return out


def cosines(rows: NDArray[Any], query: Doubles, center: Doubles | None = None) -> Doubles:
    """Cosines (n,) of rows with one query of unit length, in float64: equal rows score the same to the last bit. With
    a ``center`` they are those of the rows at unit length with it taken out, ĉ − μ."""
    out = np.empty(len(rows))
    if center is None:
        kernels.cosines(_singles(rows), query, out)
    else:
        kernels.centred_cosines(_singles(rows), query, center, out)
    return out
