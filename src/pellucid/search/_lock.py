"""One writer at a time, by a lock on a file that the system takes back when the process that holds it dies."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pellucid.search._inside import Outside, open_inside

LOCK = "writer.lock"
OURS = re.compile(r"(process \d+ on .*)?", re.DOTALL)


class Locked(Exception):
    """Somebody else holds the lock; says who."""


@contextmanager
def locked(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the folder's lock, or raise `Locked` when another holds it after ``wait`` seconds.

    The file stays where it is, and says who had it last: only the lock on it counts, and the system drops that with the
    process, however it ends. A lock of a process that is gone therefore never has to be broken.
    """
    until = time.monotonic() + wait
    # never through a link, and never over what is no lock of ours: it may be another name of a precious file
    with open(open_inside(folder, LOCK, os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8") as file:
        if not OURS.fullmatch(_text(file)):
            raise Outside(f"{folder / LOCK} is no lock of a collection: look at what it is, and remove it.")
        while not _take(file):
            if time.monotonic() >= until:
                raise Locked(_text(file).strip() or "another process")
            time.sleep(0.02)
        try:
            file.seek(0)
            file.truncate()
            file.write(f"process {os.getpid()} on {socket.gethostname()}")
            file.flush()
            yield
        finally:
            _give_back(file)


def _text(file: IO[str]) -> str:
    file.seek(0)
    try:
        return file.read(400)
    except UnicodeDecodeError:
        return "no text"


if os.name == "nt":
    import msvcrt

    def _take(file: IO[str]) -> bool:
        file.seek(1 << 30)  # beyond the text, which others may read meanwhile
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _give_back(file: IO[str]) -> None:
        file.seek(1 << 30)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _take(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _give_back(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
