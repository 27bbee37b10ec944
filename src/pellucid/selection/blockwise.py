"""Columns that are never held as a whole: the passes over all of them run block by block, wherever the blocks are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid.rows import Blocks
from pellucid.selection.losses import column_lengths
from pellucid.solvers.design import Columns, squares

# numbers in columns that are kept once they were read: those that a solution may use come up again and again
KEPT = 1 << 24


class BlockColumns(Columns):
    """The columns w_p = scale_p·x_p, or those that ``index`` (ascending) names, where x_p are the rows of X (P, D)."""

    def __init__(self, X: Blocks, scale: Floats | None = None, index: Ints | None = None) -> None:
        self.rows, self.scale, self.index = X, scale, index
        self.dimension = X.shape[1]
        self.count = len(X) if index is None else len(index)
        self.copied = None
        self._known: dict[int, Floats] = {}

    def scaled(self, scale: Floats) -> BlockColumns:
        return BlockColumns(self.rows, scale, self.index)

    def rotated(self, basis: Floats) -> BlockColumns:
        return BlockColumns(self.rows.map(partial(_rotate, basis), basis.shape[1]), self.scale, self.index)

    def take(self, part: Ints | slice) -> Floats:
        wanted = np.arange(self.count)[part] if self.index is None else self.index[part]
        new = np.setdiff1d(wanted, np.fromiter(self._known, np.int64, len(self._known)))
        if new.size:
            if (len(self._known) + new.size) * self.dimension > KEPT:
                self._known.clear()
                new = np.unique(wanted)
            self._known.update(zip(new.tolist(), self.rows.take(new).astype(np.float64)))
        found: Floats = np.array([self._known[p] for p in wanted.tolist()]).reshape(-1, self.dimension).T
        return np.ascontiguousarray(found if self.scale is None else found * self.scale[wanted])

    def subset(self, index: Ints) -> Columns:
        wanted = index if self.index is None else self.index[index]
        if len(wanted) * self.dimension <= KEPT:
            few = np.ascontiguousarray(self.take(index))
            return Columns(few, np.ones(len(wanted)))
        return BlockColumns(self.rows, self.scale, wanted)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        start = 0
        for found in self._each(part_columns):
            for block in found:
                yield slice(start, start + block.shape[1]), block
                start += block.shape[1]

    def raw_lengths(self) -> Floats:
        """‖x_p‖, without overflow."""
        return np.concatenate(list(self._each(part_lengths)))

    def lengths(self, V: Floats) -> Floats:
        return np.concatenate(list(self._each(partial(part_squares, V))))

    def forms(self, S: Floats) -> Floats:
        return np.concatenate(list(self._each(partial(part_forms, S))))

    def moment(self, weights: Floats | None = None) -> Floats:
        total = np.zeros((self.dimension, self.dimension))
        for found in self._each(part_moment, weights):
            total += found
        return total

    def _each(self, function: Any, weights: Floats | None = None) -> Iterator[Any]:
        """``function`` of the columns of every part that has any of them, in order."""
        ends = [part.start + part.rows for part in self.rows.parts]
        everyone = np.arange(len(self.rows)) if self.index is None else self.index
        bounds = [0, *np.searchsorted(everyone, ends).tolist()]
        there = [i for i in range(len(ends)) if bounds[i + 1] > bounds[i]]
        given = []
        for i in there:
            place = slice(bounds[i], bounds[i + 1])
            rows = None if self.index is None else everyone[place] - self.rows.parts[i].start
            scale = None if self.scale is None else self.scale[everyone[place]]
            given.append((rows, scale, None if weights is None else weights[place]))
        some = self.rows.like([self.rows.parts[i] for i in there])
        return some.each(partial(_on_columns, function), given)


Given = tuple["NDArray[np.int64] | None", "Floats | None", "Floats | None"]


def _on_columns(function: Any, blocks: Iterable[NDArray[Any]], given: Given) -> Any:
    return function(_columns(blocks, given))


def _columns(blocks: Iterable[NDArray[Any]], given: Given) -> Iterator[tuple[Floats, Floats | None]]:
    """Blocks of the columns that are wanted, scaled, with their weights."""
    rows, scale, weights = given
    start = done = 0
    for block in blocks:
        stop = start + len(block)
        chosen = block if rows is None else block[rows[(rows >= start) & (rows < stop)] - start]
        place = slice(done, done + len(chosen))
        W = chosen.T.astype(np.float64)
        yield W if scale is None else W * scale[place], None if weights is None else weights[place]
        start, done = stop, place.stop


def _rotate(basis: Floats, block: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(block @ basis.astype(block.dtype))


Pairs = Iterable[tuple[Floats, "Floats | None"]]


def part_lengths(columns: Pairs) -> Floats:
    return np.concatenate([column_lengths(W) for W, _ in columns])


def part_squares(V: Floats, columns: Pairs) -> Floats:
    return np.concatenate([squares(V @ W) for W, _ in columns])


def part_forms(S: Floats, columns: Pairs) -> Floats:
    return np.concatenate([np.einsum("ij,ij->j", W, S @ W) for W, _ in columns])


def part_moment(columns: Pairs) -> Floats:
    return np.asarray(sum((W if weights is None else W * weights) @ W.T for W, weights in columns))


def part_columns(columns: Pairs) -> list[Floats]:
    return [W for W, _ in columns]
