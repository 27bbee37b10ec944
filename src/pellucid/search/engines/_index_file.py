"""An index on disk: one line of JSON that says what it was made from, what faiss writes, and a checksum of both.

The file appears whole or not at all, and whoever cannot read it, or finds that it belongs to other rows, builds the
index again.
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from pellucid._core.atomic import atomic_path
from pellucid._core.extras import require

CHUNK = 1 << 20
CHECKSUM = 4


def write_index(path: Path, header: dict[str, Any], index: Any, flags: int) -> None:
    """Write, or say why it cannot be: a folder that must not be written to can still be searched."""
    faiss = require("faiss", "search")
    try:
        path.parent.mkdir(exist_ok=True)
        for left in path.parent.glob(".pellucid-*"):  # by a crash
            left.unlink(missing_ok=True)
        with atomic_path(path, follow=False) as temporary, open(temporary, "wb") as file:
            total = 0

            def write(data: Any) -> int:
                nonlocal total
                total = zlib.crc32(data, total)
                return file.write(data)

            write(json.dumps(header).encode() + b"\n")
            faiss.write_index(index, faiss.PyCallbackIOWriter(write, CHUNK), flags)
            file.write(total.to_bytes(CHECKSUM, "little"))
    except OSError as error:
        warnings.warn(f"The index cannot be kept in {path.parent}, it will be built again: {error}", stacklevel=2)


def read_index(path: Path, fits: Callable[[dict[str, Any]], bool]) -> tuple[dict[str, Any], Any] | None:
    """Header and index, or None if there is none, it is damaged, or its header does not fit."""
    faiss = require("faiss", "search")
    try:
        with open(path, "rb") as file:
            header = json.loads(file.readline(CHUNK))
            if not fits(header) or not _whole(file):
                return None
            file.seek(0)
            file.readline(CHUNK)
            return header, faiss.read_index(faiss.PyCallbackIOReader(file.read, CHUNK))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):  # RuntimeError is what faiss raises
        return None


def index_bytes(index: Any) -> int:
    """How much an index takes, as it is written."""
    faiss = require("faiss", "search")
    total = 0

    def count(data: Any) -> int:
        nonlocal total
        total += len(data)
        return len(data)

    faiss.write_index(index, faiss.PyCallbackIOWriter(count, CHUNK))
    return total


def _whole(file: BinaryIO) -> bool:
    left = file.seek(0, 2) - CHECKSUM
    file.seek(0)
    total = 0
    while left > 0:
        data = file.read(min(CHUNK, left))
        total = zlib.crc32(data, total)
        left -= len(data)
    return left == 0 and file.read() == total.to_bytes(CHECKSUM, "little")
