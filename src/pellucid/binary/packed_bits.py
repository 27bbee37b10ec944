"""Sums over the items of concepts, on packed bits: far less to read and to do than products of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.jit import kernel
from pellucid._core.threads import run_rows

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]

# columns of the items whose sums are made at a time: their tables must fit into a core's cache
WIDE = 64
# concepts that share the tables, at least, or making those would take longest
CONCEPTS = 512
FOUR_BITS = np.uint64(15)


def packed(S: Bits) -> Words:
    """Concepts (b, words) of which bit i of word k says whether they have item 64k + i."""
    p, b = S.shape
    octets = np.zeros((b, -(-p // 64) * 8), dtype=np.uint8)

    def pack(begin: int, end: int) -> None:
        concepts = np.ascontiguousarray(S[:, begin:end].T)  # packing across rows takes three times as long
        octets[begin:end, : -(-p // 8)] = np.packbits(concepts, axis=1, bitorder="little")

    run_rows(pack, b)
    return octets.view(np.uint64)


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """How many bits of a 64-bit word are set."""
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@kernel
def count_shared(words: Words, shared: Floats, begin: int, end: int) -> None:
    """shared[i, j] = shared[j, i] = items that concepts i and j both have, for i from begin to end and j ≤ i; four
    others at a time, so that a word of concept i is read once for all of them."""
    n_words = words.shape[1]
    for i in range(begin, end):
        for j in range(0, i + 1, 4):
            # beyond i the count is made in vain, and left to the row it belongs to
            second, third, fourth = min(j + 1, i), min(j + 2, i), min(j + 3, i)
            a = b = c = d = np.uint64(0)
            for k in range(n_words):
                word = words[i, k]
                a += ones(word & words[j, k])  # type: ignore[call-arg]
                b += ones(word & words[second, k])
                c += ones(word & words[third, k])
                d += ones(word & words[fourth, k])
            shared[i, j], shared[i, second], shared[i, third], shared[i, fourth] = a, b, c, d
        for j in range(i):
            shared[j, i] = shared[i, j]


def shared_items(words: Words) -> Floats:
    """SᵀS (b, b) of packed concepts, exact."""
    shared = np.empty((len(words), len(words)))
    run_rows(lambda begin, end: count_shared(words, shared, begin, end), len(words))
    return shared


@kernel
def add_squared_sums(X: Floats, words: Words, squares: Floats) -> None:
    """squares[c] += |sum of the rows of X that concept c has|²; four items at a time, whose 16 sums are in a table."""
    p, wide = X.shape
    sums = np.zeros((len(words), wide))
    table = np.zeros((16, 16, wide))
    for k in range(words.shape[1]):
        for four in range(16):
            for bit in range(4):
                item, size = 64 * k + 4 * four + bit, 1 << bit
                for known in range(size):
                    for j in range(wide):
                        table[four, size + known, j] = table[four, known, j] + (X[item, j] if item < p else 0.0)
        for c in range(len(words)):
            word = words[c, k]
            for four in range(0, 16, 4):
                first = table[four, word & FOUR_BITS]
                second = table[four + 1, (word >> np.uint64(4)) & FOUR_BITS]
                third = table[four + 2, (word >> np.uint64(8)) & FOUR_BITS]
                fourth = table[four + 3, (word >> np.uint64(12)) & FOUR_BITS]
                for j in range(wide):
                    sums[c, j] += (first[j] + second[j]) + (third[j] + fourth[j])
                word >>= np.uint64(16)
    for c in range(len(words)):
        for j in range(wide):
            squares[c] += sums[c, j] * sums[c, j]


def squared_sums(X: Floats, words: Words) -> Floats:
    """|Xᵀs|² of every packed concept."""
    squares = np.zeros(len(words))
    parts = [np.ascontiguousarray(X[:, start : start + WIDE]) for start in range(0, X.shape[1], WIDE)]

    def add(begin: int, end: int) -> None:
        for part in parts:
            add_squared_sums(part, words[begin:end], squares[begin:end])

    run_rows(add, len(words), min_rows=CONCEPTS)
    return squares
