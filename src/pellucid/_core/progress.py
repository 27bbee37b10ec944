"""Progress of long work: a bar on stderr, on a terminal and nowhere else, and a number for who listens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class _Ear(NamedTuple):
    """Who listens, and from where to where the work begun now is of the whole."""

    tell: Callable[[float], None]
    low: float
    high: float


_ear: ContextVar[_Ear | None] = ContextVar("ear", default=None)


@contextmanager
def heard(tell: Callable[[float], None]) -> Iterator[None]:
    """Whatever is done within tells how far it is, from 0 to 1, also where no bar is shown: work within a step of other
    work fills that step."""
    before = _ear.set(_Ear(tell, 0.0, 1.0))
    try:
        yield
    finally:
        _ear.reset(before)


@contextmanager
def progress(what: str, total: int, enabled: bool = True) -> Iterator[Callable[[str], None]]:
    """A bar of ``total`` steps; call what this yields after each, with a few words on where things stand."""
    whole = _ear.get()
    done = 0

    def advance(status: str) -> None:
        nonlocal done
        done = min(done + 1, total)
        if whole is not None:
            within(done)
            whole.tell(whole.low + (whole.high - whole.low) * done / max(total, 1))

    def within(step: int) -> None:
        assert whole is not None
        size = (whole.high - whole.low) / max(total, 1)
        _ear.set(_Ear(whole.tell, whole.low + size * step, whole.low + size * min(step + 1, total)))

    if whole is not None:
        within(0)
    try:
        with _bar(what, total, enabled) as show:

            def both(status: str) -> None:
                advance(status)
                show(status)

            yield both
    finally:
        if whole is not None:
            _ear.set(whole)


@contextmanager
def _bar(what: str, total: int, enabled: bool) -> Iterator[Callable[[str], None]]:
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
