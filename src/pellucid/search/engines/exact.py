"""Exact search: a rough pass in float32 at the speed of memory, and a second look in float64 at what came close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.kernels import keep_best, keep_nearest
from pellucid._core.threads import run_rows
from pellucid.search._rows import (
    Doubles,
    Positions,
    Rows,
    Singles,
    cosines,
    inverse_distances,
    inverse_lengths,
)
from pellucid.search.engines import Engine
from pellucid.search.engines._filters import matching

# queries, rows and scores that are held at a time
QUERIES = 1024
BLOCK = 4096
SCORES = 1 << 20
# up to so many queries at once, BLAS takes longer than a plain loop
FEW_QUERIES = 24
# lists are made that much longer than asked for, so that a few near ties need no second pass
SPARE = 12
# an index that knows nothing of a centre is asked for that many times as many rows, and at least for so many
CENTRED, CENTRED_LEAST = 10, 200
# inverse lengths for which a float32 product has all its digits
ORDINARY = (1e-25, 1e25)
# all but this share of the rows are ranked by float32 first; the others, next to the centre, by float64 alone
NEAR_CENTRE = 1e-3
# centres whose distances are remembered
CENTRES = 4


@dataclass(frozen=True)
class _Loaded:
    """What a search reads: replaced as a whole, so that a search under way never sees half of a change.

    inverse : one over the length of each row
    weight, shift : a row c scores weight·(c·q) − shift·(μ·q): 1/‖c‖ and 0, or with a centre μ both over ‖ĉ − μ‖; weight
        is NaN where a row takes no part in the rough pass
    extreme : positions of rows that only float64 can rank: very long, very short, or next to the centre
    largest : the largest factor by which the rough pass may magnify round-off
    """

    rows: Rows
    inverse: Doubles
    weight: Singles
    shift: Singles
    extreme: Positions
    largest: float
    alive: NDArray[np.bool_]
    count: int
    items: Sequence[Any]
    keys: tuple[str, ...] = ()
    centred: dict[bytes, _Loaded] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: Rows, inverse: Doubles, alive: NDArray[np.bool_], items: Sequence[Any], keys: Any) -> _Loaded:
        odd = (inverse != 0) & ~((inverse > ORDINARY[0]) & (inverse < ORDINARY[1]))
        weight = np.where(alive & ~odd, inverse, np.nan).astype(np.float32)
        shift = np.zeros(len(rows), dtype=np.float32)
        extreme = np.flatnonzero(odd & alive)
        return cls(rows, inverse, weight, shift, extreme, 1.0, alive, int(np.count_nonzero(alive)), items, tuple(keys))

    def around(self, distances: Doubles) -> _Loaded:
        """The same rows seen from a centre, given 1/‖ĉ − μ‖ of each."""
        ordinary = ~np.isnan(self.weight)
        usual = distances[ordinary]
        limit = 2 * float(np.quantile(usual, 1 - NEAR_CENTRE)) if len(usual) else 1.0
        near = ordinary & (distances > limit)
        weight = np.where(ordinary & ~near, self.inverse * distances, np.nan).astype(np.float32)
        extreme = np.union1d(self.extreme, np.flatnonzero(near))
        return replace(
            self, weight=weight, shift=distances.astype(np.float32), extreme=extreme, largest=max(1.0, limit),
            centred={},
        )  # fmt: skip

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
    """Look at every row; the ids are those of a ranking in float64.

    ``where`` is a condition as pyarrow takes it for Parquet files, such as ``[("year", ">", 1999)]``, or one on a
    column of lists: ``[("labels", "has", "animal")]``, ``[("labels", "has not", "animal")]``.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.search.engines.exact import ExactEngine
    >>> engine = ExactEngine()
    >>> engine.load([np.eye(3)], np.ones(3, dtype=bool))
    >>> engine.search(np.array([[1.0, 2.0, 0.0]]), k=2)[0].tolist()
    [[1, 0]]
    """

    def __init__(self) -> None:
        self._inverse: dict[str, Doubles] = {}
        self._distances: dict[tuple[bytes, str], Doubles] = {}

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
        self._loaded = _Loaded.of(rows, np.concatenate(parts), alive, items, keys)

    def search(
        self, queries: NDArray[Any], k: int, where: Any = None, center: Doubles | None = None
    ) -> tuple[Positions, NDArray[np.float64]]:
        loaded = self._loaded if center is None else self._around(self._loaded, center)
        if where is not None:
            loaded = loaded.only(matching(where, loaded.items, len(loaded.rows)))
        wanted = unit_rows(np.asarray(queries, dtype=np.float64))
        k = min(k, loaded.count)
        positions, scores = np.empty((len(wanted), k), dtype=np.int64), np.empty((len(wanted), k))
        if k:
            for start in range(0, len(wanted), QUERIES):
                part = wanted[start : start + QUERIES]
                offset = (np.zeros(len(part)) if center is None else part @ center).astype(np.float32)
                for i, candidates in enumerate(_candidates(loaded, part.astype(np.float32), offset, k), start):
                    positions[i], scores[i] = rank(loaded.rows, candidates, wanted[i], k, center)
        return positions, scores

    def shortlist(self, queries: NDArray[Any], k: int, where: Any = None, center: Doubles | None = None) -> Positions:
        return self.search(queries, k, where, center)[0]  # it sees rows from a centre as fast as from none

    def _around(self, loaded: _Loaded, center: Doubles) -> _Loaded:
        """The rows seen from a centre: one pass over those that it has not met yet."""
        mark = center.tobytes()
        if mark not in loaded.centred:
            parts = []
            for i, segment in enumerate(loaded.rows.segments):
                key = (mark, loaded.keys[i] if loaded.keys else "")
                found = self._distances.get(key) if loaded.keys else None
                parts.append(inverse_distances(segment, center) if found is None else found)
                if loaded.keys:
                    self._distances[key] = parts[-1]
            marks = list(dict.fromkeys(m for m, _ in self._distances))
            for old in [key for key in list(self._distances) if key[0] in marks[:-CENTRES]]:
                self._distances.pop(old, None)
            loaded.centred[mark] = loaded.around(np.concatenate(parts))
        return loaded.centred[mark]


def rank(
    rows: Rows, candidates: Positions, query: NDArray[np.float64], k: int, center: Doubles | None = None
) -> tuple[Any, Any]:
    """The best k of the candidates by their cosines in float64, ties by position."""
    scores = np.empty(len(candidates))
    for start in range(0, len(candidates), 4096):
        part = slice(start, start + 4096)
        scores[part] = cosines(rows.take(candidates[part]), query, center)
    order = np.lexsort((candidates, -scores))[:k]
    return candidates[order], scores[order]


def shortlist_length(k: int, center: Doubles | None) -> int:
    """How many rows an index that knows no centre is asked for, so that the best k are among them."""
    return k + SPARE if center is None else max(CENTRED * k, CENTRED_LEAST)


def _candidates(loaded: _Loaded, queries: Singles, offset: Singles, k: int) -> list[Positions]:
    """For each query the positions of all rows that may be among its best k."""
    # a product of unit vectors in float32 is off by less than this: whoever may be among the best is looked at again
    margin = (queries.shape[1] + 32) * 2.0**-24 * loaded.largest
    heaps: list[tuple[Singles, Positions, bool]] = []
    few = len(queries) <= FEW_QUERIES
    size = BLOCK if few else max(256, min(BLOCK, SCORES // len(queries)))

    def part(start: int, stop: int) -> None:
        length = min(k + SPARE, stop - start)
        best = np.full((len(queries), length), -np.inf, dtype=np.float32)
        places = np.zeros(best.shape, dtype=np.int64)
        for first, block, weight, shift in _blocks(loaded, start, stop, size):
            if few:
                keep_nearest(queries, block, weight, offset, shift, first, best, places)
            else:
                keep_best(queries @ block.T, weight, offset, shift, first, best, places)
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
            near = _all_above(loaded, queries[i], offset[i], floor)
        else:
            near = places[i][(scores >= floor) & (scores > -np.inf)]
        found.append(np.union1d(near, loaded.extreme))
    return found


def _all_above(loaded: _Loaded, query: Singles, offset: np.float32, floor: float) -> Positions:
    found: list[Positions] = []

    def part(start: int, stop: int) -> None:
        for first, block, weight, shift in _blocks(loaded, start, stop, BLOCK):
            found.append(first + np.flatnonzero((block @ query) * weight - offset * shift >= floor))

    run_rows(part, len(loaded.rows), min_rows=4096)
    return np.concatenate(found)


def _blocks(loaded: _Loaded, start: int, stop: int, size: int) -> Iterator[tuple[int, Singles, Singles, Singles]]:
    """Blocks of rows, each with its first position and what turns its products into cosines."""
    for first, block in loaded.rows.blocks(start, stop, size):
        last = first + len(block)
        yield first, block, loaded.weight[first:last], loaded.shift[first:last]
