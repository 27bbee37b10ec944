"""Mini-batches of rows in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def batches(n: int, size: int, rng: np.random.RandomState) -> Iterator[NDArray[np.int64]]:
    """Disjoint random batches that cover all rows; sorted within a batch, so that a memory map is read forwards."""
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield np.sort(order[start : start + size])
