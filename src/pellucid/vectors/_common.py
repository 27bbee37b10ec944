"""What every reader shares: the result, the error, the choice of an array, and numbers as floats."""

import math
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

PREFERRED = ("vectors", "vector", "embedding", "embeddings", "x", "emb")
# the last three are what pandas writes for an index without a name: never a dimension of the vectors
ID_NAMES = ("id", "ids", "key", "index", "__index_level_0__", "unnamed: 0", "")
# what columns of labels are called
LABEL_NAMES = ("label", "labels", "target", "class", "y")

# a compressed array above this size may not be more than this many times bigger than its bytes in the file
EXPANSION_FREE = 64 * 2**20
EXPANSION_LIMIT = 200

# how good a candidate an array is: 2-D floats, other 2-D numbers, or nothing that could be vectors
Fitness = Literal["float", "number", "other"]


class VectorFileError(ValueError):
    """The file cannot be read as vectors; the message says why and what to do."""


@dataclass(frozen=True, eq=False)
class VectorFile:
    """Vectors read from a file, with what stood beside them.

    Attributes
    ----------
    vectors : ndarray of shape (n, d)
        float16, float32 or float64, in native byte order. A read-only ``numpy.memmap`` where the file allows it.
    name : str
        The array, column or ``obsm`` key that was taken; the name of the file where the format has no names.
    ids : list of str or None
        One for each row, from a column named id, ids, key or index (in any case), or ``obs_names``.
    columns : dict of str to pyarrow.Array or ndarray
        Texts and labels that came along, one for each row.
    taken : tuple of str
        The numeric columns that the vectors were made of, in order; empty where one array or column holds them.
    set_aside : dict of str to str
        Numeric columns that look like labels, and so came along instead of being taken; with the reason.
    """

    vectors: np.ndarray
    name: str
    ids: list[str] | None = None
    columns: dict[str, "pa.Array | np.ndarray"] = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    set_aside: dict[str, str] = field(default_factory=dict)


def fail(path: Path, what: str) -> NoReturn:
    raise VectorFileError(f"{path} {what}")


def fitness(kind: str, ndim: int) -> Fitness:
    """How well an array of this dtype kind and number of dimensions would do as vectors."""
    if ndim != 2 or kind not in "fiub":
        return "other"
    return "float" if kind == "f" else "number"


def choose(path: Path, column: str | None, found: Mapping[str, Fitness]) -> str:
    """The name to read: the one asked for, a usual name, or the only one that could be meant."""
    if column is not None:
        if column not in found:
            fail(path, f"has no array {column!r}: pass column= with one of {listed(found)}.")
        return column
    for wanted in PREFERRED:
        for name, fit in found.items():
            if name.lower() == wanted and fit != "other":
                return name
    for acceptable in ("float", "number"):
        candidates = [name for name, fit in found.items() if fit == acceptable]
        if len(candidates) > 1:
            fail(path, f"holds several arrays that could be vectors: pass column= with one of {listed(candidates)}.")
        if candidates:
            return candidates[0]
    if len(found) == 1:
        return next(iter(found))  # the reader says what is wrong with it
    if not found:
        fail(path, "holds no arrays: save a 2-D array of numbers in it, one row per item.")
    fail(path, f"has no 2-D array of numbers among {listed(found)}: save the vectors as one row per item.")


def listed(names: Iterable[str], most: int = 12) -> str:
    names = [repr(name) for name in names]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def id_column(names: Iterable[str]) -> str | None:
    """The name among `names` that says which item a row is."""
    # pandas puts its index first; an empty name further on is a trailing comma
    named = [name for place, name in enumerate(names) if name or place == 0]
    lowered = {name.lower(): name for name in reversed(named)}
    return next((lowered[wanted] for wanted in ID_NAMES if wanted in lowered), None)


def byte_count(path: Path, name: str, shape: Any, itemsize: int) -> int:
    """Bytes an array of that shape takes; refuses shapes that no array can have."""
    sizes_are_whole = isinstance(shape, tuple | list) and all(type(n) is int and n >= 0 for n in shape)
    if not sizes_are_whole or math.prod(max(n, 1) for n in shape) * itemsize > sys.maxsize:
        fail(path, f"claims an impossible shape for {name!r}: the file is damaged, so write or download it again.")
    count: int = math.prod(shape)
    return count * itemsize


def check_matrix(path: Path, name: str, shape: tuple[int, ...]) -> None:
    """Vectors are 2-D and have a width."""
    if len(shape) == 1:
        fail(
            path,
            f"holds a 1-D array {name!r} of shape {tuple(shape)} where 2-D is needed, one row per item: "
            "save array.reshape(1, -1) if it is one vector, array.reshape(-1, 1) if it is one number per item.",
        )
    if len(shape) != 2:
        fail(
            path,
            f"holds an array {name!r} of shape {tuple(shape)} where 2-D is needed, one row per item: "
            "save array.reshape(len(array), -1).",
        )
    if shape[1] == 0:
        fail(path, f"holds an array {name!r} of shape {tuple(shape)}, which has no columns: save vectors with a width.")


def check_kind(path: Path, name: str, dtype: np.dtype) -> None:
    """Vectors are real numbers."""
    if dtype.kind == "O":
        fail(
            path,
            f"holds Python objects in {name!r}, and unpacking those can run code, so Pellucid never does: "
            "save array.astype(numpy.float32) instead.",
        )
    if dtype.kind in "US":
        fail(path, f"holds text in {name!r}, not numbers: pass column= with an array of numbers.")
    if dtype.kind not in "fiub":
        word = {"V": "records", "c": "complex numbers"}.get(dtype.kind, f"{dtype.name} values")
        fail(path, f"holds {word} in {name!r}, not real numbers: save a 2-D array of float32 instead.")


def check_expansion(path: Path, name: str, stored: int, unpacked: int) -> None:
    """A compressed array unpacks to a believable size."""
    if unpacked > EXPANSION_FREE and unpacked > EXPANSION_LIMIT * stored:
        fail(
            path,
            f"claims that {name!r} unpacks from {stored:,} to {unpacked:,} bytes, over {EXPANSION_LIMIT} times more, "
            "as archives made to exhaust memory do: if you trust it, save it without compression.",
        )


def check_room(path: Path, name: str, needed: int, present: int) -> None:
    """The bytes that a header claims are exactly those that follow it."""
    if needed > present:
        fail(
            path,
            f"is truncated: {name!r} needs {needed:,} bytes and {present:,} are there, so write or download it again.",
        )
    if needed < present:
        fail(
            path,
            f"has {present - needed:,} bytes more than its array {name!r} needs: "
            "write it again, with each array in a file of its own or all in an .npz.",
        )


def map_or_load(path: Path, dtype: np.dtype, shape: tuple[int, ...], offset: int, order: Any = "C") -> np.ndarray:
    """Raw bytes of a file as an array: mapped, or loaded where the bytes are not aligned as compiled code needs."""
    if 0 in shape:
        return np.empty(shape, dtype)
    if offset % dtype.alignment:
        return np.fromfile(path, dtype, math.prod(shape), offset=offset).reshape(shape, order=order)
    return np.memmap(path, dtype, "r", offset, shape, order)


def as_floats(array: np.ndarray) -> np.ndarray:
    """The same numbers as floats in native byte order; whole numbers become float32 where that keeps them exact."""
    if array.dtype.kind == "f":
        size = min(array.dtype.itemsize, 8)
        # astype(copy=False) would turn a map into a plain view: keep it as it is
        return array if array.dtype == np.dtype(f"f{size}") else array.astype(f"f{size}")
    if array.dtype.itemsize <= 2 or array.size == 0:
        return array.astype(np.float32)
    fits = int(array.min()) >= -(2**24) and int(array.max()) <= 2**24
    return array.astype(np.float32 if fits else np.float64)


def as_ids(path: Path, values: Iterable[Any]) -> list[str]:
    """Ids are texts, and every row has one."""
    ids = []
    for row, value in enumerate(values):
        if value is None:
            fail(path, f"has no id in row {row} (counting from 0): give every row one.")
        ids.append(value.decode() if isinstance(value, bytes) else str(value))
    return ids


def beside(path: Path, arrays: Mapping[str, np.ndarray]) -> tuple[list[str] | None, dict[str, Any]]:
    """Split the arrays that came along into ids and columns."""
    columns = dict(arrays)
    name = id_column(columns)
    return (None if name is None else as_ids(path, columns.pop(name).tolist())), columns


def leave_out(path: Path, name: str, why: str) -> None:
    """Something beside the vectors cannot be read: the vectors still can."""
    warnings.warn(f"{path}: {name!r} {why} and was left out.", stacklevel=4)  # the caller of read()
