"""Rows of a file too large for memory, prepared and laid down where a fit can read them in any order."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid._core.atomic import sweep
from pellucid.cli._common import Columns, check_finite, counted, status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pellucid.vectors import VectorFile


def checked_blocks(path: Path, column: Columns, labels: Any = (), what: str = "Reading") -> Iterator[VectorFile]:
    """The blocks of a vectors file, each finite, with a word on how far it is."""
    from pellucid import vectors

    rows = 0
    with status(f"{what} {path.name} …") as say:
        for block in vectors.blocks(path, labels=labels, **column.asked):
            column.say(path, block)
            check_finite(block.vectors, path, rows)
            rows += len(block.vectors)
            yield block
            say(f"{counted(rows)} rows")
    if not rows:
        raise ValueError(f"{path} has no rows.")


@contextmanager
def spooled(
    blocks: Iterator[VectorFile], rows: int, prepare: Callable[[NDArray[Any]], NDArray[Any]], beside: Path
) -> Iterator[NDArray[Any]]:
    """All rows, prepared, as a memory map of a temporary file in the folder of ``beside``."""
    import numpy as np

    sweep(beside.absolute().parent)
    with tempfile.TemporaryDirectory(prefix=f".pellucid-{os.getpid()}-", dir=beside.absolute().parent) as folder:
        file = Path(folder) / "rows.npy"
        filled, target = 0, None
        for block in blocks:
            part = prepare(block.vectors)
            if target is None:
                target = np.lib.format.open_memmap(file, "w+", part.dtype, (rows, part.shape[1]))
            target[filled : filled + len(part)] = part
            filled += len(part)
        del target
        yield np.load(file, mmap_mode="r", allow_pickle=False)
