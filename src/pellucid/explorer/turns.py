"""Who may work now: a few at a time, dear requests apart from plain ones, and nobody waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from typing import Any

from pellucid._core import deadline
from pellucid._core.threads import aside

LOOK = 0.2  # seconds after which one who waits looks at the deadline again


class Busy(Exception):
    """Too many wait already."""


class Turns:
    """So many may work at a time and so many more wait, each until its deadline."""

    def __init__(self, places: int, waiting: int) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._room = threading.BoundedSemaphore(places + waiting)

    @contextmanager
    def one(self) -> Iterator[None]:
        if not self._room.acquire(blocking=False):
            raise Busy("The explorer is busy with requests like this one; try again in a moment.")
        try:
            while not self._places.acquire(timeout=LOOK):
                deadline.check()
            try:
                deadline.check()
                yield
            finally:
                self._places.release()
        finally:
            self._room.release()


class Kept:
    """What is computed once, when it is first asked for, by a thread of its own: who asked may give up, the work goes
    on until ``ends`` says otherwise, and the next one to ask finds it done."""

    def __init__(self, ends: deadline.Deadline) -> None:
        self._ends = ends
        self._made: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        with self._lock:
            made = self._made.get(name)
            if made is None:
                made = self._made[name] = Future()
                threading.Thread(
                    target=self._run, args=(name, made, compute), name=f"pellucid-{name}", daemon=True
                ).start()
        while True:
            try:
                return made.result(LOOK)
            except NotYet:
                if made.done():
                    raise
                deadline.check()

    def _run(self, name: str, made: Future[Any], compute: Callable[[], Any]) -> None:
        try:
            with aside(), self._ends.held():
                made.set_result(compute())
        except BaseException as error:
            with self._lock:
                self._made.pop(name, None)  # the next one to ask tries again
            made.set_exception(error)
