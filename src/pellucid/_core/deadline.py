"""Until when work may go on: whoever asks for it sets a deadline, and whatever is done for them looks at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Expired(Exception):
    """The time for some work is over, or nobody waits for it any more."""


class Deadline:
    """Some seconds from now, or no end but by :meth:`cancel`.

    It is carried by the context, so that no function between who asks and who works has to hand it on:
    ``with deadline.held(): …``, and :func:`check` wherever a loop comes round.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def over(self) -> bool:
        return self._cancelled.is_set() or (self._end is not None and time.monotonic() >= self._end)

    def check(self) -> None:
        if self.over:
            limit = "" if self.seconds is None else f" longer than {self.seconds:g} seconds"
            raise Expired(f"This took{limit} and was given up." if limit else "This was given up.")

    @contextmanager
    def held(self) -> Iterator[None]:
        """All that is done within, in this thread and in those that it hands rows to, ends when the time is over."""
        before = _current.set(self)
        try:
            yield
        finally:
            _current.reset(before)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current() -> Deadline | None:
    """The deadline of what is done here, if it has any."""
    return _current.get()


def check() -> None:
    """Raise `Expired` when the time is over; costs nothing worth speaking of."""
    deadline = _current.get()
    if deadline is not None:
        deadline.check()
