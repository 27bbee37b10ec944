"""The compiled kernels, as Python functions: ``from pellucid._core.kernels import solve_rows``.

``kernels.h`` declares each of them once. What stands there is checked here, once a call: the type of every array, that
its numbers lie side by side, and that dimensions of the same name agree; dimensions are not passed, for arrays have
them. A call lets go of the interpreter's lock. A kernel that gets no memory raises ``MemoryError``.
"""

from __future__ import annotations

import ctypes
import keyword
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

# what a kernel returns if it gets no memory, and if sizes or indices do not belong together
NO_MEMORY, NO_FIT = -(2**63), 1 - 2**63
DTYPES = {
    "double": ("float64",), "float": ("float32",), "int64_t": ("int64",), "int32_t": ("int32",),
    "uint64_t": ("uint64",), "uint16_t": ("uint16",), "uint8_t": ("uint8", "bool"),
}  # fmt: skip
TYPES = {kind: tuple(map(np.dtype, names)) for kind, names in DTYPES.items()}
NUMBERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "double": (ctypes.c_double, float), "float": (ctypes.c_float, float), "int64_t": (ctypes.c_int64, operator.index),
}  # fmt: skip
RETURNED = {"void": None, "int64_t": ctypes.c_int64, "double": ctypes.c_double}
# families of kernels: the word that stands for their type in the header, and what it may be
FAMILIES = {"KERNEL": ("", {"": ""}), "TYPED": build.TYPES["real"], "INDEXED": build.TYPES["index"]}


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


class Buffer:
    """How ctypes takes an array that may be written to: it hands over where the numbers begin."""

    from_param = (ctypes.c_char * 0).from_buffer


def _readable(array: Any) -> Any:
    """What ctypes takes in place of an array, which may be one that is only read."""
    return array if array.flags.writeable else (ctypes.c_char * 0).from_address(array.__array_interface__["data"][0])


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

    Attributes
    ----------
    call : function
        The kernel as a function of its arrays and numbers, in the header's order.
    """

    def __init__(self, name: str, level: str | None = None) -> None:
        declaration = declarations()[name]
        self.name, self._parameters = name, declaration.parameters
        dimensions = {size for p in self._parameters for size, _ in p.shape or ()}
        self._known = {size: int(size) for size in dimensions if size.isdigit()}
        self._asked = [p for p in self._parameters if p.shape or p.name not in dimensions]
        # of a family: the word for its type, and which argument says what that is
        self._word, kinds = FAMILIES[declaration.family]
        self._decides = next((i for i, p in enumerate(self._asked) if p.shape and p.kind == self._word), -1)
        self._functions: dict[Any, Any] = {}
        for kind, suffix in kinds.items():
            function: Any = _library()[name + suffix + (level or _level())]
            function.restype = RETURNED[declaration.returns]
            function.argtypes = [
                Buffer if p.shape else NUMBERS[kind if p.kind == self._word else p.kind][0] for p in self._parameters
            ]
            self._functions[np.dtype(DTYPES[kind][0]) if kind else None] = function
        space: dict[str, Any] = {f"_{kind}": types for kind, types in TYPES.items()}
        space |= {"__name__": __name__, "_readable": _readable, "_index": operator.index}
        space |= {"_FAILED": (NO_MEMORY, NO_FIT)}
        space["_failure"] = self._failure
        space["_refused"] = (ctypes.ArgumentError, AttributeError, KeyError, TypeError, ValueError)
        space["_members"] = {kind: (function, (kind,)) for kind, function in self._functions.items()}
        self.call: Callable[..., Any] = self._explain
        for reading in (True, False):
            own = {**space, "_otherwise": self.call}
            exec(self._text(reading), own)
            self.call = own[name]

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)

    def _text(self, reading: bool) -> str:
        """The kernel as a function in Python, written out for its parameters, since a loop over them would take longer
        than many a kernel. One for ``reading`` also takes arrays that may only be read, where they are only read; that
        takes time, so it is the second to be asked. What a function does not take goes to ``_otherwise``. Such as::

            def scale(x, y, factor):
             _result = None
             try:
              _function, _own = _members[x.dtype]
              x_0, = x.shape
              y_0, = y.shape
              if x.flags.carray and y.dtype in _double and y.flags.carray and y_0 == x_0:
               _result = _function(x_0, x, y, factor)
               if _result not in _FAILED:
                return _result
             except _refused:
              pass
             if _result is not None:
              raise _failure(_result)
             return _otherwise(x, y, factor)
        """
        names = {p.name: p.name + "_" * keyword.iskeyword(p.name) for p in self._asked}
        given = ", ".join(names.values())
        decides = self._asked[self._decides] if self._decides >= 0 else None
        lines = [f"_function, _own = _members[{decides and names[decides.name] + '.dtype'}]"]
        tests, sizes = [], {size: size for size in self._known}
        for p in self._asked:
            if not p.shape:
                continue
            array, lengths = names[p.name], [f"{p.name}_{axis}" for axis in range(len(p.shape))]
            lines.append(f"{', '.join(lengths)}, = {array}.shape")
            if p is not decides:
                tests.append(f"{array}.dtype in _{'own' if p.kind == self._word else p.kind}")
            if reading and not p.written:
                tests.append(f"{array}.flags.c_contiguous and {array}.flags.aligned")
                names[p.name] = f"_readable({array})"
            else:
                tests.append(f"{array}.flags.carray")  # side by side, aligned, and may be written to
            for length, (size, more) in zip(lengths, p.shape):
                if size in sizes:
                    tests.append(f"{length} == {sizes[size]}" + (f" + {more}" if more else ""))
                else:
                    sizes[size] = f"{length} - {more}" if more else length
                    tests += [f"{length} >= {more}"] if more else []
        names |= {p.name: f"_index({names[p.name]})" for p in self._asked if p.kind == "int64_t" and not p.shape}
        return "\n".join([
            f"def {self.name}({given}):",
            " _result = None",
            " try:",
            *(f"  {line}" for line in lines),
            f"  if {' and '.join(tests) or True}:",
            f"   _result = _function({', '.join(names.get(p.name) or sizes[p.name] for p in self._parameters)})",
            "   if _result not in _FAILED:",
            "    return _result",
            " except _refused:",
            "  pass",
            " if _result is not None:",
            "  raise _failure(_result)",
            f" return _otherwise({given})",
        ])  # fmt: skip

    def _failure(self, result: int) -> Exception:
        if result == NO_MEMORY:
            return MemoryError(f"There is no memory for {self.name}.")
        return ValueError(f"{self.name}: the arrays do not belong together, or an index names nothing.")

    def _explain(self, *arguments: Any) -> Any:
        """Say what is wrong with the first argument that a kernel does not take."""
        key = getattr(arguments[self._decides], "dtype", None) if self._decides >= 0 else None
        if key not in self._functions:
            raise self._wrong(self._decides, arguments[self._decides], tuple(self._functions))
        sizes = dict(self._known)
        for at, (argument, p) in enumerate(zip(arguments, self._asked)):
            if not p.shape:
                NUMBERS[p.kind][1](argument)
                continue
            accepted = (key,) if p.kind == self._word else TYPES[p.kind]
            if not isinstance(argument, np.ndarray) or argument.dtype not in accepted or argument.ndim != len(p.shape):
                raise self._wrong(at, argument, accepted)
            if not argument.flags.c_contiguous or not argument.flags.aligned:
                where = "side by side, row after row, and aligned"
                raise ValueError(f"{self.name}: the numbers of {p.name} must lie {where}.")
            if p.written and not argument.flags.writeable:
                raise ValueError(f"{self.name}: {p.name} is read-only.")
            for (size, more), length in zip(p.shape, argument.shape):
                if length < more or sizes.setdefault(size, length - more) + more != length:
                    shape = f"{p.name} has the shape {argument.shape}"
                    raise ValueError(f"{self.name}: {shape}, which does not fit the arrays before it.")
        raise TypeError(f"{self.name} does not take these arguments.")

    def _wrong(self, at: int, argument: Any, accepted: tuple[Any, ...]) -> TypeError:
        name, shape = self._asked[at].name, self._asked[at].shape
        wanted = f"{' or '.join(map(str, accepted))} of {len(shape or ())} dimensions"
        got = f"{argument.dtype} of {argument.ndim}" if isinstance(argument, np.ndarray) else type(argument).__name__
        return TypeError(f"{self.name}: {name} must be {wanted}, not {got}.")


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


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in declarations():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = Kernel(name).call
    return found
