"""Patches by their nearest atom: codes, the graph of who is next to whom, and the embedding by look-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.kernels import graph_rows, pool_windows, positions_by_code
from pellucid._core.threads import run_rows
from pellucid.manifold.nearest import Cells, Floats32, nearest_atoms
from pellucid.manifold.statistics import GraphStatistics

Codes = NDArray[np.int32]
BLANK = -1
# what 32 bits can count; longer counts are added up elsewhere
MOST = 2**32 - 1


def nearest_codes(rows: Floats32, present: NDArray[np.bool_], atoms: Floats32, cells: Cells | None) -> Codes:
    """Number of the nearest atom of each row, BLANK for those that are not there."""
    codes = np.full(len(rows), BLANK, dtype=np.int32)
    if present.any():
        codes[present] = nearest_atoms(rows[present], atoms, cells)[0]
    return codes


def graph_of_codes(codes: Codes, K: int, context: int) -> GraphStatistics:
    """How often atoms are neighbours, for codes (n, rows, columns): in the same image, and in both directions at most
    ``context`` apart; a patch is not its own neighbour.

    Positions are sorted by their code, so that one row of counts at a time is filled, in cache.
    """
    _, height, width = codes.shape
    flat = codes.ravel()
    counts = np.bincount(flat[flat >= 0], minlength=K)
    starts = np.concatenate([[0], np.cumsum(counts)])
    order = np.empty(starts[-1], dtype=np.int64)
    positions_by_code(flat, starts, order)
    window = (min(2 * context + 1, height)) * (min(2 * context + 1, width))
    parts: dict[int, tuple[Any, Any, Any]] = {}

    def part(start: int, stop: int) -> None:
        room = int(np.minimum(K, counts[start:stop] * window).sum())
        indices, values = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
        lengths = np.empty(stop - start, dtype=np.int64)
        used = graph_rows(codes, order, starts, start, context, MOST, indices, values, lengths)
        parts[start] = indices[:used].copy(), values[:used].copy(), lengths

    run_rows(part, K, max_rows=256)
    made = [parts[start] for start in sorted(parts)]
    pointers = np.concatenate([[0], np.cumsum(np.concatenate([m[2] for m in made]))])
    together = sparse.csr_array(
        (np.concatenate([m[1] for m in made]), np.concatenate([m[0] for m in made]), pointers), shape=(K, K)
    )
    return GraphStatistics(together, counts.astype(np.float64))


def with_mirror_images(statistics: GraphStatistics) -> GraphStatistics:
    """Statistics of the items and their mirror images, for atoms of which the second half mirrors the first."""
    K = len(statistics.counts)
    partner = (np.arange(K) + K // 2) % K
    C = statistics.together
    return GraphStatistics(sparse.csr_array(C + C[partner][:, partner]), statistics.counts + statistics.counts[partner])


def look_up(codes: Codes, table: Floats32) -> Floats32:
    """Rows of the table (K, n) for codes of any shape; zeros for BLANK."""
    out = np.zeros((*codes.shape, table.shape[1]), dtype=np.float32)
    present = codes >= 0
    out[present] = table[codes[present]]
    return out


def pooled(
    embed: Callable[[int], list[Floats32]], n: int, shape: tuple[int, int], pool: int, stride: int, outs: list[Any]
) -> None:
    """Image vectors from unit patch vectors (rows, columns, d), of which ``embed`` gives as many for each image as
    there are outs: sums over windows, unit length at each place, all places after each other, unit length."""

    windows = [out.reshape(len(out), *shape, -1) for out in outs]

    def part(start: int, stop: int) -> None:
        sums = np.empty(windows[0].shape[1:], dtype=np.float32)
        for i in range(start, stop):
            for patches, out in zip(embed(i), windows):
                if out.dtype == np.float32:
                    pool_windows(patches, pool, stride, out[i])
                else:
                    pool_windows(patches, pool, stride, sums)
                    out[i] = sums

    run_rows(part, n, min_rows=1)
