"""What Ctrl-C and errors leave behind: sums that are whole, models that are as they were."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class SecondInterrupt(KeyboardInterrupt):
    """A second Ctrl-C, which does not wait: what was under way is not whole."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until this ends, since what is done here must be done as a whole."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no signal comes here
        return
    held: list[tuple[Any, Any]] = []

    def hold(number: int, frame: Any) -> None:
        if held:
            raise SecondInterrupt
        held.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        before(*held[0])


def unchanged_by_failure(method: Method) -> Method:
    """Of a fit that fails nothing stays: neither new atoms beside an old map, nor parts of a first fit."""

    @functools.wraps(method)
    def fitted(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Method, fitted)
