"""Rows of a file or a table too large for memory, prepared and laid down where a fit can read them in any order."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid._core.atomic import sweep
from pellucid.cli._common import Columns, check_finite, counted, status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pellucid.search import AttachedCollection
    from pellucid.vectors import VectorFile


def checked_blocks(
    source: Path | AttachedCollection, column: Columns, labels: Any = (), what: str = "Reading"
) -> Iterator[VectorFile]:
    """The blocks of a vectors file or of an attached table, each finite, with a word on how far it is."""
    from pellucid import vectors

    if not isinstance(source, Path):
        yield from attached_blocks(source, what)
        return
    rows = 0
    with status(f"{what} {source.name} …") as say:
        for block in vectors.blocks(source, labels=labels, **column.asked):
            column.say(source, block)
            check_finite(block.vectors, source, rows)
            rows += len(block.vectors)
            yield block
            say(f"{counted(rows)} rows")
    if not rows:
        raise ValueError(f"{source} has no rows.")


def attached_blocks(table: AttachedCollection, what: str) -> Iterator[VectorFile]:
    """All rows of a table, with a word on how many there are and how long it takes; those without a vector are left
    out, which is said at the end."""
    from pellucid._core.checks import first_not_finite

    rows, begun = 0, time.monotonic()
    with status(f"{what} {table.name} …") as say:
        total = len(table)
        for block in table.blocks():
            odd = first_not_finite(block.vectors)
            if odd is not None:
                assert block.ids is not None
                raise ValueError(
                    f"The row {block.ids[odd]!r} of {table.name} has a value that is not finite: fix or drop it."
                )
            rows += len(block.vectors)
            yield block
            left = (time.monotonic() - begun) * max(0, total - rows) / rows
            say(f"{counted(rows)} of {counted(total)} rows, {in_words(left)} left")
    if not rows:
        raise ValueError(f"{table.name} has no rows with a vector.")
    gaps = table.source.missing()
    if gaps:
        were = "row has" if gaps == 1 else "rows have"
        click.echo(f"Note: {counted(gaps)} {were} no vector or no id (NULL) in {table.name}: left out.", err=True)


def in_words(seconds: float) -> str:
    """A time as a person would say it."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@contextmanager
def spooled(
    blocks: Iterator[VectorFile], prepare: Callable[[NDArray[Any]], NDArray[Any]], beside: Path
) -> Iterator[NDArray[Any]]:
    """All rows, prepared, as a memory map of a temporary file in the folder of ``beside``."""
    import numpy as np

    sweep(beside.absolute().parent)
    with tempfile.TemporaryDirectory(prefix=f".pellucid-{os.getpid()}-", dir=beside.absolute().parent) as folder:
        file = Path(folder) / "rows"
        rows, width = 0, 0
        dtype: Any = None
        with file.open("wb") as target:
            for block in blocks:
                part = np.ascontiguousarray(prepare(block.vectors), dtype)
                dtype, width = part.dtype, part.shape[1]
                part.tofile(target)
                rows += len(part)
        yield np.memmap(file, dtype, "r", shape=(rows, width))
