"""Sums that tell whether bytes are those that were written: against failing disks and memory, not against forgers."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core import deadline

BLOCK = 1 << 24


def array_sum(array: NDArray[Any]) -> int:
    """CRC-32 of an array's bytes in C order, a block at a time, so that a map is never held whole."""
    rows = array.reshape(-1) if array.ndim < 2 or array.flags.c_contiguous else array
    total, step = 0, max(1, BLOCK * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        deadline.check()
        total = zlib.crc32(np.ascontiguousarray(rows[start : start + step]).reshape(-1).view(np.uint8).data, total)
    return total


def described_sum(array: NDArray[Any]) -> int:
    """The same, of what kind and shape it is, too."""
    return zlib.crc32(f"{array.dtype.str}{array.shape}".encode(), array_sum(array))


def text_sum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def file_sum(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            total = zlib.crc32(data, total)
    return total
