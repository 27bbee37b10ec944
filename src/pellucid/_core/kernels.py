"""The compiled kernels, as Python functions: ``from pellucid._core.kernels import solve_rows``.

``kernels.h`` declares each of them once. What stands there is checked here, once a call: the type of every array, that
its numbers lie side by side, and that dimensions of the same name agree; dimensions are not passed, for arrays have
them. A call lets go of the interpreter's lock. A kernel that gets no memory raises ``MemoryError``.
"""

from __future__ import annotations

import ctypes
import operator
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pellucid._core import build

NO_MEMORY = -(2**63)
DTYPES = {
    "double": ("float64",), "float": ("float32",), "int64_t": ("int64",), "int32_t": ("int32",),
    "uint64_t": ("uint64",), "uint16_t": ("uint16",), "uint8_t": ("uint8", "bool"),
}  # fmt: skip
NUMBERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "double": (ctypes.c_double, float), "float": (ctypes.c_float, float), "int64_t": (ctypes.c_int64, operator.index),
}  # fmt: skip
RETURNED = {"void": None, "int64_t": ctypes.c_int64, "double": ctypes.c_double}
# families of kernels: the word that stands for their type in the header, and what it may be
FAMILIES = {"KERNEL": ("", {"": ""}), "TYPED": build.TYPES["real"], "INDEXED": build.TYPES["index"]}

_address, _buffer = ctypes.addressof, (ctypes.c_char * 0).from_buffer


class Parameter(NamedTuple):
    """One parameter: C's type of it, whether it is written to, and the dimensions of an array (None for a number), each
    as a name and a number to add."""

    name: str
    kind: str
    written: bool
    shape: tuple[tuple[str, int], ...] | None


class Declaration(NamedTuple):
    """A kernel as the header declares it, its parameters in C's order."""

    returns: str
    family: str
    parameters: tuple[Parameter, ...]


class Member(NamedTuple):
    """A kernel for one type: the function, and the parameters with the types that arrays may have or the conversion of
    a number."""

    function: Any
    plan: tuple[tuple[Any, bool, tuple[tuple[str, int], ...] | None], ...]


@cache
def declarations() -> dict[str, Declaration]:
    """What the header declares, by name."""
    text = Path(__file__).with_name("kernels.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = {}
    for returns, family, name, given in re.findall(r"EXPORTED\s+(\w+)\s+(\w+)\((\w+)\)\(([^;]*)\);", text):
        found[name] = Declaration(returns, family, tuple(map(_parameter, given.split(","))))
    return found


def _parameter(text: str) -> Parameter:
    match = re.fullmatch(r"\s*(const\s+)?(\w+)\s+(\w+)(?:\[(.*)\])?\s*", text, re.DOTALL)
    assert match is not None, text
    const, kind, name, size = match.groups()
    return Parameter(name, kind, not const, tuple(map(_dimension, size.split("*"))) if size else None)


def _dimension(text: str) -> tuple[str, int]:
    name, _, more = text.partition("+")
    return name.strip(), int(more or 0)


class Kernel:
    """A compiled kernel.

    Parameters
    ----------
    name : str
        As the header declares it.
    level : str or None, default=None
        Which of the compiled levels to take, ``"_baseline"`` or ``"_v3"``; None is the best for this processor.
    """

    def __init__(self, name: str, level: str | None = None) -> None:
        self.__name__, declaration = name, declarations()[name]
        dimensions = {size for p in declaration.parameters for size, _ in p.shape or ()}
        self._known = {size: int(size) for size in dimensions if size.isdigit()}
        # in C's order: where a dimension or an argument stands that is handed over
        self._asked = [p for p in declaration.parameters if p.shape is not None or p.name not in dimensions]
        places = {p.name: i for i, p in enumerate(self._asked)}
        self._order: list[Any] = [places.get(p.name, p.name) for p in declaration.parameters]
        word, kinds = FAMILIES[declaration.family]
        self._decides = next((i for i, p in enumerate(self._asked) if p.shape is not None and p.kind == word), -1)
        self._members: dict[Any, Member] = {}
        for kind, suffix in kinds.items():
            function = getattr(_library(), name + suffix + (level or _level()))
            function.restype = RETURNED[declaration.returns]
            function.argtypes = [
                NUMBERS[kind if p.kind == word else p.kind][0] if p.shape is None else ctypes.c_void_p
                for p in declaration.parameters
            ]
            plan = []
            for p in self._asked:
                own = kind if p.kind == word else p.kind
                takes = NUMBERS[own][1] if p.shape is None else tuple(map(np.dtype, DTYPES[own]))
                plan.append((takes, p.written, p.shape))
            self._members[np.dtype(DTYPES[kind][0]) if kind else None] = Member(function, tuple(plan))

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != len(self._asked):
            names = ", ".join(p.name for p in self._asked)
            raise TypeError(f"{self.__name__} takes {len(self._asked)} arguments ({names}), not {len(arguments)}.")
        decides = self._decides
        member = self._members.get(getattr(arguments[decides], "dtype", None) if decides >= 0 else None)
        if member is None:
            raise self._wrong(decides, arguments[decides], tuple(self._members))
        sizes = dict(self._known)
        values: list[Any] = []
        for argument, (takes, written, shape) in zip(arguments, member.plan):
            if shape is None:
                values.append(takes(argument))
                continue
            try:  # a writeable buffer tells its address in a third of the time
                address, lengths, fits = _address(_buffer(argument)), argument.shape, argument.dtype in takes
            except (AttributeError, TypeError, ValueError):
                address, lengths, fits = self._read_only(len(values), argument, takes, written)
            if not fits or len(lengths) != len(shape) or address % argument.itemsize:
                raise self._wrong(len(values), argument, takes)
            for (size, more), length in zip(shape, lengths):
                if sizes.setdefault(size, length - more) + more != length:
                    raise ValueError(
                        f"{self.__name__}: {self._asked[len(values)].name} has the shape {lengths}, which does not fit "
                        f"the arrays before it."
                    )
            values.append(address)
        result = member.function(*[values[at] if type(at) is int else sizes[at] for at in self._order])
        if result == NO_MEMORY:
            raise MemoryError(f"There is no memory for {self.__name__}.")
        return result

    def _read_only(
        self, at: int, argument: Any, takes: tuple[Any, ...], written: bool
    ) -> tuple[int, tuple[int, ...], bool]:
        """Address and shape of an array that cannot be written to, and whether its type is right."""
        if not isinstance(argument, np.ndarray):
            raise self._wrong(at, argument, takes)
        if not argument.flags.c_contiguous:
            name = self._asked[at].name
            raise ValueError(f"{self.__name__}: the numbers of {name} must lie side by side, row after row.")
        if written:
            raise ValueError(f"{self.__name__}: {self._asked[at].name} is read-only.")
        return argument.__array_interface__["data"][0], argument.shape, argument.dtype in takes

    def _wrong(self, at: int, argument: Any, accepted: tuple[Any, ...]) -> TypeError:
        name, shape = self._asked[at].name, self._asked[at].shape
        wanted = f"{' or '.join(map(str, accepted))} of {len(shape or ())} dimensions"
        got = f"{argument.dtype} of {argument.ndim}" if isinstance(argument, np.ndarray) else type(argument).__name__
        return TypeError(f"{self.__name__}: {name} must be {wanted}, not {got}.")


@cache
def _library() -> ctypes.CDLL:
    other = os.environ.get("PELLUCID_KERNELS")  # one with sanitisers, for instance
    path = Path(other) if other else build.library()
    if not other and not build.is_current(path):
        if not build.texts():
            raise ImportError(f"Pellucid was installed without its compiled kernels ({path.name}); install it again.")
        print("pellucid: the text of a kernel has changed; compiling the kernels again", file=sys.stderr)
        build.build()
    return ctypes.CDLL(str(path))


@cache
def _level() -> str:
    """Which of the compiled levels this processor can run."""
    asked = _library().level
    asked.restype = ctypes.c_int64
    return "_v3" if asked() == 3 else "_baseline"


def __getattr__(name: str) -> Kernel:
    if name not in declarations():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = Kernel(name)
    return found
