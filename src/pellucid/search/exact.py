"""Exact search: a rough pass in float32 at the speed of memory, and a second look in float64 at what came close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.threads import run_rows
from pellucid.search._filters import matching
from pellucid.search._rows import Positions, Rows, Singles, cosines, inverse_lengths, keep_best, products
from pellucid.search.engines import Engine

# queries and scores that are held at a time
QUERIES = 1024
SCORES = 1 << 20
# up to so many queries at once, BLAS takes longer than a plain loop
FEW = 16
# lists are made that much longer than asked for, so that a few near ties need no second pass
SPARE = 12
# inverse lengths for which a float32 product has all its digits
ORDINARY = (1e-25, 1e25)


@dataclass(frozen=True)
class _Loaded:
    """What a search reads: replaced as a whole, so that a search under way never sees half of a change.

    weight : one over the length of each row, NaN where a row takes no part in the rough pass
    extreme : positions of rows so long or short that only float64 can rank them
    """

    rows: Rows
    weight: Singles
    extreme: Positions
    alive: NDArray[np.bool_]
    count: int
    items: Sequence[Any]

    def only(self, passed: NDArray[np.bool_]) -> _Loaded:
        """The same with fewer rows alive."""
        alive = self.alive & passed
        return replace(
            self,
            weight=np.where(passed, self.weight, np.float32(np.nan)),
            extreme=self.extreme[passed[self.extreme]],
            alive=alive,
            count=int(np.count_nonzero(alive)),
        )


class ExactEngine(Engine):
    """Every row is looked at; the ids are those of a ranking in float64."""

    def __init__(self) -> None:
        self._inverse: dict[str, NDArray[np.float64]] = {}

    def load(
        self,
        segments: Sequence[NDArray[Any]],
        alive: NDArray[np.bool_],
        keys: Sequence[str] = (),
        folder: Path | None = None,
        items: Sequence[Any] = (),
    ) -> None:
        rows = Rows(segments)
        known = [self._inverse.get(key) for key in keys] or [None] * len(rows.segments)
        parts = [inverse_lengths(s) if old is None else old for s, old in zip(rows.segments, known)]
        self._inverse = dict(zip(keys, parts))
        inverse = np.concatenate(parts)
        odd = (inverse != 0) & ~((inverse > ORDINARY[0]) & (inverse < ORDINARY[1]))
        weight = np.where(alive & ~odd, inverse, np.nan).astype(np.float32)
        self._loaded = _Loaded(rows, weight, np.flatnonzero(odd & alive), alive, int(np.count_nonzero(alive)), items)

    def search(self, queries: NDArray[Any], k: int, where: Any = None) -> tuple[Positions, NDArray[np.float64]]:
        loaded = self._loaded
        if where is not None:
            loaded = loaded.only(matching(where, loaded.items, len(loaded.rows)))
        wanted = unit_rows(np.asarray(queries, dtype=np.float64))
        k = min(k, loaded.count)
        positions, scores = np.empty((len(wanted), k), dtype=np.int64), np.empty((len(wanted), k))
        if k:
            for start in range(0, len(wanted), QUERIES):
                part = slice(start, start + QUERIES)
                for i, candidates in enumerate(_candidates(loaded, wanted[part].astype(np.float32), k), start):
                    positions[i], scores[i] = rank(loaded.rows, candidates, wanted[i], k)
        return positions, scores


def rank(rows: Rows, candidates: Positions, query: NDArray[np.float64], k: int) -> tuple[Any, Any]:
    """The best k of the candidates by their cosines in float64, ties by position."""
    scores = np.empty(len(candidates))
    for start in range(0, len(candidates), 4096):
        part = slice(start, start + 4096)
        scores[part] = cosines(rows.take(candidates[part]), query)
    order = np.lexsort((candidates, -scores))[:k]
    return candidates[order], scores[order]


def _candidates(loaded: _Loaded, queries: Singles, k: int) -> list[Positions]:
    """For each query the positions of all rows that may be among its best k."""
    # a product of unit vectors in float32 is off by less than this: whoever may be among the best is looked at again
    margin = (queries.shape[1] + 16) * 2.0**-24
    heaps: list[tuple[Singles, Positions, bool]] = []

    def part(start: int, stop: int) -> None:
        length = min(k + SPARE, stop - start)
        best = np.full((len(queries), length), -np.inf, dtype=np.float32)
        places = np.zeros(best.shape, dtype=np.int64)
        for first, scores, weight in _scores(loaded, queries, start, stop):
            keep_best(scores, weight, first, best, places)
        heaps.append((best, places, length < stop - start))

    run_rows(part, len(loaded.rows), min_rows=4096)
    best, places = (np.concatenate([heap[i] for heap in heaps], axis=1) for i in (0, 1))
    # the best that a chunk may have dropped
    dropped = np.stack([scores[:, 0] if full else np.full(len(scores), -np.inf) for scores, _, full in heaps]).max(
        axis=0
    )
    found = []
    for i, scores in enumerate(best):
        if not queries[i].any():  # all rows are equally far from nothing
            found.append(np.flatnonzero(loaded.alive)[:k])
            continue
        floor = np.partition(scores, -k)[-k] - 2 * margin if len(scores) >= k else -np.inf
        if dropped[i] >= floor and dropped[i] > -np.inf:
            near = _all_above(loaded, queries[i : i + 1], floor)
        else:
            near = places[i][(scores >= floor) & (scores > -np.inf)]
        found.append(np.union1d(near, loaded.extreme))
    return found


def _all_above(loaded: _Loaded, query: Singles, floor: float) -> Positions:
    found: list[Positions] = []

    def part(start: int, stop: int) -> None:
        for first, scores, weight in _scores(loaded, query, start, stop):
            found.append(first + np.flatnonzero(scores[0] * weight >= floor))

    run_rows(part, len(loaded.rows), min_rows=4096)
    return np.concatenate(found)


def _scores(loaded: _Loaded, queries: Singles, start: int, stop: int) -> Iterator[tuple[int, Singles, Singles]]:
    """Products (q, m) with blocks of rows, each with its first position and what turns them into cosines."""
    size = max(256, min(4096, SCORES // len(queries)))
    for first, block in loaded.rows.blocks(start, stop, size):
        if len(queries) <= FEW:
            scores = np.empty((len(queries), len(block)), dtype=np.float32)
            products(queries, block, scores)
        else:
            scores = queries @ block.T
        yield first, scores, loaded.weight[first : first + len(block)]
