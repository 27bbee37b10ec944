"""Progress of long work: a bar on stderr, on a terminal and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total: int, enabled: bool = True) -> Iterator[Callable[[str], None]]:
    """A bar of ``total`` steps; call what this yields after each, with a few words on where things stand."""
    if not (enabled and sys.stderr.isatty()):
        yield lambda status: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, status="")
        yield lambda status: bar.update(task, advance=1, status=status)
