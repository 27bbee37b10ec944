"""What Ctrl-C and errors leave behind: sums that are whole, models that are as they were."""

from __future__ import annotations

import functools
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class SecondInterrupt(KeyboardInterrupt):
    """A second Ctrl-C, which does not wait: what was under way is not whole."""


# set from Ctrl-C until somebody deals with it
_asked = threading.Event()
_heard = 0
# seconds after which a command that is deep in a call of a library is ended from outside
PATIENCE = 1.5


def listen() -> None:
    """Make Ctrl-C of a command arrive: `check` raises it again where it was lost in code that lets nothing through,
    such as a destructor, and where one long call of a library lets no signal in, the process ends all the same."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGINT, _ask)
    if os.name != "posix":
        return
    here, there = socket.socketpair()
    there.setblocking(False)
    signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(here, there), name="pellucid-interrupts", daemon=True).start()


def _ask(number: int, frame: Any) -> None:
    global _heard
    _heard += 1
    _asked.set()
    raise KeyboardInterrupt


def _watch(here: socket.socket, there: socket.socket) -> None:
    """The system tells of a signal at once, Python's handler only comes between two instructions of Python."""
    seen = 0
    while numbers := here.recv(64):
        if signal.SIGINT not in numbers:
            continue
        wait = threading.Event()
        before = seen
        wait.wait(PATIENCE)
        seen = _heard
        if seen == before and signal.getsignal(signal.SIGINT) is _ask:
            os.write(2, b"Stopped.\n")
            os._exit(1)


def deafen() -> None:
    """All is said and done: Ctrl-C comes too late to change anything."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def check() -> None:
    """Raise a Ctrl-C that has been lost."""
    if _asked.is_set() and threading.current_thread() is threading.main_thread():
        _asked.clear()
        raise KeyboardInterrupt


def pending() -> bool:
    """Whether a Ctrl-C has come that nobody has dealt with: an error that comes up then is what it has become, such as
    the failed start of a module that was being imported."""
    return _asked.is_set()


def dealt_with() -> None:
    """Who has caught a Ctrl-C goes on to an orderly end."""
    _asked.clear()


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
