"""The API reference: a page for each room, written from its ``__all__`` whenever the documentation is built."""

from __future__ import annotations

import importlib
import inspect
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType

import pellucid

MEMBERS = (FunctionType, property, cached_property)
ROOMS = [name for name, home in pellucid._PUBLIC.items() if home is None]


def write(folder: Path) -> None:
    """Write ``folder``/room.md for every room; what is the same already stays untouched, so nothing is built twice."""
    folder.mkdir(exist_ok=True)
    for room in ROOMS:
        path, text = folder / f"{room}.md", page(importlib.import_module(f"pellucid.{room}"))
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page(module: ModuleType) -> str:
    name = module.__name__
    lines = [f"# {name}", "", "```{eval-rst}", f".. automodule:: {name}", ""]
    for public in sorted(module.__all__, key=str.lower):
        lines += [*directive(f"{name}.{public}", getattr(module, public)), ""]
    return "\n".join([*lines, "```", ""])


def directive(path: str, thing: object) -> list[str]:
    if not callable(thing):  # a tuple or a table of names
        module, _, name = path.rpartition(".")
        return [
            f".. py:data:: {name}",
            f"   :module: {module}",
            "",
            "   " + ", ".join(f"``{entry}``" for entry in thing),
        ]
    if not inspect.isclass(thing):
        return [f".. autofunction:: {path}"]
    if issubclass(thing, BaseException):
        return [f".. autoexception:: {path}"]
    members = [] if issubclass(thing, tuple) else own_members(thing)
    return [f".. autoclass:: {path}", *([f"   :members: {', '.join(members)}"] if members else [])]


def own_members(cls: type) -> list[str]:
    """Methods and properties that classes of this package define; what scikit-learn adds is in its own manual."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pellucid"):
            found |= {
                name: value
                for name, value in vars(base).items()
                if isinstance(inspect.unwrap(getattr(value, "__func__", value)), MEMBERS)
            }
    return [name for name in found if not name.startswith("_")]
