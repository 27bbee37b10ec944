"""Exact search: blocked products, a partial sort, and a second look in float64 at what came close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._base import unit_rows
from pellucid.search.engines import Engine

# scores held at a time
BLOCK_SCORES = 1 << 22


class ExactEngine(Engine):
    def load(self, segments: Sequence[NDArray[Any]], alive: NDArray[np.bool_]) -> None:
        self.segments, self.alive = list(segments), alive
        self.starts = np.cumsum([0, *(len(s) for s in self.segments)])
        # one over the length of each row, so that stored vectors need not be of unit length; zero rows score 0
        self.inverse = [_inverse_lengths(segment) for segment in self.segments]

    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        wanted = unit_rows(np.asarray(queries, dtype=np.float64))
        k = min(k, int(np.count_nonzero(self.alive)))
        if k == 0:
            return np.empty((len(wanted), 0), dtype=np.int64), np.empty((len(wanted), 0))
        narrow = wanted.astype(np.float32)
        # a float32 product of unit vectors is off by less than this: whoever may be among the best is scored again
        margin = 4 * np.finfo(np.float32).eps * np.sqrt(wanted.shape[1])
        found: list[list[NDArray[np.int64]]] = [[] for _ in wanted]
        scored: list[list[NDArray[Any]]] = [[] for _ in wanted]
        floor = np.full(len(wanted), -np.inf)
        for start, block, inverse in self._blocks(len(wanted)):
            scores = (block @ narrow.T).T * inverse
            scores[:, ~self.alive[start : start + len(block)]] = -np.inf
            if block.shape[0] > k:
                kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1]
                floor = np.maximum(floor, kth)
            for i, row in enumerate(scores):
                near = np.flatnonzero(row >= floor[i] - 2 * margin)
                near = near[np.isfinite(row[near])]
                found[i].append(near + start)
                scored[i].append(row[near])
        positions = np.empty((len(wanted), k), dtype=np.int64)
        cosines = np.empty((len(wanted), k))
        for i, query in enumerate(wanted):
            candidates, rough = np.concatenate(found[i]), np.concatenate(scored[i])
            if len(candidates) > k:
                kth = -np.partition(-rough, k - 1)[k - 1]
                candidates = candidates[rough >= kth - 2 * margin]
            exact = unit_rows(self.rows(candidates).astype(np.float64)) @ query
            order = np.lexsort((candidates, -exact))[:k]
            positions[i], cosines[i] = candidates[order], exact[order]
        return positions, cosines

    def rows(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The stored rows at these positions."""
        segment = np.searchsorted(self.starts, positions, side="right") - 1
        out = np.empty((len(positions), self.segments[0].shape[1]), dtype=self.segments[0].dtype)
        for s in np.unique(segment):
            mine = segment == s
            out[mine] = self.segments[s][positions[mine] - self.starts[s]]
        return out

    def _blocks(self, n_queries: int) -> Any:
        size = max(1024, BLOCK_SCORES // max(1, n_queries))
        for first, segment, inverse in zip(self.starts, self.segments, self.inverse):
            for start in range(0, len(segment), size):
                rows = slice(start, start + size)
                block = np.asarray(segment[rows])
                block = block if block.dtype == np.float32 else block.astype(np.float32)
                yield int(first) + start, block, inverse[rows]


def _inverse_lengths(rows: NDArray[Any]) -> NDArray[np.float32]:
    out = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), 16_384):
        block = np.asarray(rows[start : start + 16_384], dtype=np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        out[start : start + 16_384] = np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1), 0)
    return out
