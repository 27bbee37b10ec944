"""The one way a numeric loop is compiled, and when what was compiled is compiled again."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile when first called. Without the interpreter's lock, since rows are shared out to threads; sums may be
    reordered, but infinities and NaN keep their meaning.

    What was compiled is kept on disk until a source that it was made from changes.
    """
    return _compiled(function, {"reassoc", "contract", "nsz"})


def ordered_kernel(function: Function) -> Function:
    """A kernel whose sums are not reordered."""
    return _compiled(function, {"contract", "nsz"})


def _compiled(function: Function, fastmath: set[str]) -> Function:
    compiled = njit(cache=True, nogil=True, fastmath=fastmath)(function)
    if hasattr(compiled, "_cache"):  # NUMBA_DISABLE_JIT hands back the function itself
        # numba looks only at the function's own file, and would go on using old code of kernels in others
        compiled._cache._cache_file._source_stamp = source_stamp(function)
    return cast(Function, compiled)


def source_stamp(function: Callable[..., Any]) -> str:
    """Changes with the content of the function's file and of all that it imports from its package: kernels that it
    calls and constants that it reads come from nowhere else."""
    package = function.__module__.partition(".")[0]
    home = getattr(sys.modules.get(package), "__file__", None)
    found = {Path(function.__code__.co_filename)}
    waiting = list(found)
    while waiting:
        new = _imported(waiting.pop(), package, Path(home).parent if home else Path()) - found
        found |= new
        waiting += new
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(hashlib.sha256(_content(path)).digest())
    return digest.hexdigest()


@cache
def _imported(path: Path, package: str, home: Path) -> frozenset[Path]:
    """The files of the package that a file names at the top of its lines."""
    lines = rf"^(?:from|import) {package}\b([\w.]*)(?: import (\([^)]*\)|.*))?"
    files: set[Path] = set()
    for module, names in re.findall(lines, _content(path).decode(), re.MULTILINE):
        folder = home.joinpath(*module.split("."))
        places = [folder, *(folder / name for name in re.findall(r"\w+", names))]
        files.update(file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return frozenset(file for file in files if file.is_file())


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()
