"""Files in the folder of a collection, none of which may lead out of it: strangers send folders, too."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Outside(ValueError):
    """A name in a collection that leads elsewhere, or to what is neither a file nor a folder."""


def inside(folder: Path, name: str) -> Path:
    """The path of something in the folder, whether it is there or not; refused if it goes through a link, up and out,
    or to a pipe or a device. The folder itself may be reached by a link."""
    path = folder / name
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), *name.split("/")):
        raise Outside(f"{path} is a link or leads out of the folder, and nothing in a collection may.")
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return path
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise Outside(f"{path} is neither a file nor a folder.")
    return path


def all_inside(folder: Path, name: str) -> Path:
    """The path of a folder in the folder, of which nothing leads elsewhere, at any depth."""
    whole = inside(folder, name)
    for place, folders, files in os.walk(whole):
        for found in (*folders, *files):
            inside(Path(place), found)
    return whole


def open_inside(folder: Path, name: str, flags: int) -> int:
    """Open a file of the folder, which stays unopened if it has become a link meanwhile."""
    return os.open(inside(folder, name), flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
