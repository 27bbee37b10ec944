"""Sums over the items of concepts, on packed bits: far less to read and to do than products of floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.kernels import add_squared_sums, count_shared
from pellucid._core.threads import run_rows

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]

# columns of the items whose sums are made at a time: their tables must fit into a core's cache
WIDE = 64
# concepts that share the tables, at least, or making those would take longest
CONCEPTS = 512


def packed(S: Bits) -> Words:
    """Concepts (b, words) of which bit i of word k says whether they have item 64k + i."""
    p, b = S.shape
    octets = np.zeros((b, -(-p // 64) * 8), dtype=np.uint8)

    def pack(begin: int, end: int) -> None:
        concepts = np.ascontiguousarray(S[:, begin:end].T)  # packing across rows takes three times as long
        octets[begin:end, : -(-p // 8)] = np.packbits(concepts, axis=1, bitorder="little")

    run_rows(pack, b)
    return octets.view(np.uint64)


def shared_items(words: Words) -> Floats:
    """SᵀS (b, b) of packed concepts, exact."""
    shared = np.empty((len(words), len(words)))
    run_rows(lambda begin, end: count_shared(words, shared, begin, end), len(words))
    return shared


def squared_sums(X: Floats, words: Words) -> Floats:
    """|Xᵀs|² of every packed concept."""
    squares = np.zeros(len(words))
    parts = [np.ascontiguousarray(X[:, start : start + WIDE]) for start in range(0, X.shape[1], WIDE)]

    def add(begin: int, end: int) -> None:
        for part in parts:
            add_squared_sums(part, words[begin:end], squares[begin:end])

    run_rows(add, len(words), min_rows=CONCEPTS)
    return squares
