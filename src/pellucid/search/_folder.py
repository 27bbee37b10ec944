"""The folder of a collection: a manifest that is replaced atomically, last, and the files that it names.

    manifest.json          which segments there are, and which list of deleted rows
    vectors-000001.npy     rows of a segment, memory-mapped
    items-000001.parquet   their ids and whatever else belongs to the items
    deleted-000002.npy     positions of deleted rows
    index/                 what the engine keeps; it can be removed at any time

The manifest has a checksum of each of these files, and of itself; collections of 0.1.0.dev0 have those of rows alone.

What is not named in the manifest does not exist: an addition or deletion counts from the moment the new manifest has
its name, and files that a crash left behind are removed by the next one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.atomic import atomic_path, save_array
from pellucid._core.checks import first_not_finite
from pellucid._core.checksums import array_sum, file_sum, text_sum
from pellucid._core.tables import as_rows
from pellucid.search._inside import Outside, inside, open_inside
from pellucid.search._lock import Locked, locked
from pellucid.search._rows import Rows
from pellucid.vectors import VectorFile, read_npy

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
MANIFEST = "manifest.json"
INDEX = "index"
# in the folder of a collection that an earlier version filled with prepared vectors
PREPARED = "preprocessing.safetensors"
# numbers of additions and deletions; more digits than six only from the millionth on
NUMBER = re.compile(r"\d{6}|[1-9]\d{6,14}")
MOST_CHANGES = 10**15 - 1
OURS = re.compile(rf"(vectors|items|deleted)-({NUMBER.pattern})\.(npy|parquet)|\.pellucid-[^/\\]*")


class CollectionError(ValueError):
    """A folder that is not a whole collection, or a change that cannot be made to it."""


@dataclass(frozen=True)
class Segment:
    """What one addition wrote; ``key`` differs where the rows do."""

    key: str
    file: Path
    checksum: int
    rows: NDArray[Any]
    items: Any
    ids: list[str]


@dataclass(frozen=True)
class Snapshot:
    """A collection as one manifest tells it; never changed, so that threads can read it while another adds."""

    manifest: dict[str, Any]
    segments: list[Segment]
    rows: Rows
    alive: NDArray[np.bool_]
    positions: dict[str, int]


def read_snapshot(folder: Path, known: Snapshot | None = None) -> Snapshot:
    """What the manifest names now; segments of ``known`` are not read again."""
    while True:
        manifest = read_manifest(folder)
        try:
            return _snapshot(folder, manifest, {s.key: s for s in known.segments} if known else {})
        except FileNotFoundError as error:  # a list of deleted rows goes when another replaces it
            if read_manifest(folder)["generation"] == manifest["generation"]:
                raise CollectionError(f"{folder} is damaged: {error}") from error
        except PermissionError as error:
            raise CollectionError(f"{folder} cannot be read: {error}") from error
        except ImportError:  # of which the folder is not to blame
            raise
        except Exception as error:  # what parsers of damaged files raise has no common type
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise CollectionError(f"{folder} is damaged: {reason}") from error


def _snapshot(folder: Path, manifest: dict[str, Any], known: Mapping[str, Segment]) -> Snapshot:
    segments = [known.get(_key(s)) or _segment(folder, s, manifest["dimension"]) for s in manifest["segments"]]
    rows = Rows([segment.rows for segment in segments])
    alive = np.ones(len(rows), dtype=bool)
    if manifest["deleted"]:
        # mapped, since a header may claim more than there is
        file = inside(folder, manifest["deleted"])
        deleted = np.load(file, mmap_mode="r", allow_pickle=False)
        _check_file(file, manifest.get("deleted_checksum"))
        if deleted.dtype.kind != "i" or not ((deleted >= 0) & (deleted < len(rows))).all():
            raise ValueError(f"{manifest['deleted']} names rows that are not there.")
        alive[deleted] = False
    names = (name for segment in segments for name in segment.ids)
    positions = {name: i for i, (name, here) in enumerate(zip(names, alive)) if here}
    return Snapshot(manifest, segments, rows, alive, positions)


def alive_blocks(now: Snapshot, rows: int = 65_536) -> Iterator[VectorFile]:
    """The items that are there, in order, at most so many at a time."""
    for segment, start in zip(now.segments, now.rows.starts):
        for first in range(0, len(segment.rows), rows):
            part = slice(first, first + rows)
            here = now.alive[start + first : start + min(first + rows, len(segment.rows))]
            items = segment.items.slice(first, rows).filter(here)
            columns = {name: items.column(name) for name in items.column_names if name != "id"}
            yield VectorFile(segment.rows[part][here], "vectors", items.column("id").to_pylist(), columns)


def _segment(folder: Path, entry: dict[str, Any], dimension: int) -> Segment:
    import pyarrow.parquet as pq

    vectors, beside = inside(folder, f"vectors-{entry['name']}.npy"), inside(folder, f"items-{entry['name']}.parquet")
    rows = read_npy(vectors, None).vectors
    _check_file(beside, entry.get("items_checksum"))
    with pq.ParquetFile(beside, memory_map=True) as file:
        # what the file claims before anything is read, and then what is in it
        items = file.read() if file.metadata.num_rows == entry["rows"] else None
    if rows.shape != (entry["rows"], dimension) or items is None or items.num_rows != len(rows):
        raise ValueError(f"segment {entry['name']} has the wrong size.")
    return Segment(_key(entry), vectors, entry["checksum"], rows, items, items.column("id").to_pylist())


def _check_file(file: Path, checksum: int | None) -> None:
    if checksum is not None and file_sum(file) != checksum:
        raise ValueError(f"{file.name} does not have its checksum, so it was changed since it was written.")


def check_rows(segment: Segment) -> None:
    """Refuse rows that are not those that were written."""
    if array_sum(segment.rows) != segment.checksum:
        raise CollectionError(
            f"{segment.file} does not have its checksum, so it was damaged since it was written: take a copy of the "
            "collection, or make it again."
        )


def _key(entry: dict[str, Any]) -> str:
    return f"{entry['name']}-{entry['rows']}-{entry['checksum']:08x}"


def item_table(ids: list[str], columns: Mapping[str, Any], rows: int) -> pa.Table:
    """Ids and columns as they are written; what a file cannot hold is said before anything is."""
    import pyarrow as pa

    arrays: dict[str, Any] = {}
    for name, values in (("id", ids), *columns.items()):
        what, verb = ("The ids", "have") if name == "id" else (f"The column {name!r}", "has")
        if not isinstance(name, str):
            raise CollectionError(f"Names of columns must be text, but one is {name!r}.")
        try:
            name.encode("utf-8")
            if len(values) != rows:
                raise CollectionError(f"There are {len(values)} {name if name != 'id' else 'ids'} for {rows} vectors.")
            arrays[name] = pa.array(ids, pa.string()) if name == "id" else _as_column(values)
        except CollectionError:
            raise
        except UnicodeEncodeError:
            raise CollectionError(f"{what} {verb} half of a character (a lone surrogate), which no file can.") from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            reason = str(error).splitlines()[0]
            raise CollectionError(
                f"{what} cannot be kept ({reason}): give a list of plain values of one kind."
            ) from error
    return pa.table(arrays)


def write_segment(folder: Path, name: str, rows: NDArray[Any], table: pa.Table) -> dict[str, Any]:
    """Write rows and items; returns their entry in the manifest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ordered = np.ascontiguousarray(rows)
    save_array(folder / f"vectors-{name}.npy", ordered, follow=False)
    try:
        with atomic_path(folder / f"items-{name}.parquet", follow=False) as path:
            pq.write_table(table, path)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise CollectionError(f"A column cannot be kept ({str(error).splitlines()[0]}); leave it out.") from error
    items = file_sum(folder / f"items-{name}.parquet")
    return {"name": name, "rows": len(rows), "checksum": array_sum(ordered), "items_checksum": items}


def write_deleted(folder: Path, name: str, positions: NDArray[np.int64]) -> dict[str, Any]:
    """Write positions; returns what the manifest says of them."""
    file = f"deleted-{name}.npy"
    save_array(folder / file, positions, follow=False)
    return {"deleted": file, "deleted_checksum": file_sum(folder / file)}


def remove_unnamed(folder: Path, manifest: dict[str, Any]) -> None:
    """Remove what an earlier manifest named, or a crash left behind."""
    kept = {MANIFEST, manifest["deleted"]}
    kept |= {f"{kind}-{s['name']}.{end}" for s in manifest["segments"]
             for kind, end in (("vectors", "npy"), ("items", "parquet"))}  # fmt: skip
    for path in folder.iterdir():
        if path.name not in kept and OURS.fullmatch(path.name):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    with atomic_path(inside(folder, MANIFEST), follow=False) as path:
        path.write_text(json.dumps({**manifest, "crc32": _own_sum(manifest)}, indent=1), encoding="utf-8")


def _own_sum(manifest: dict[str, Any]) -> int:
    return text_sum(json.dumps(manifest, sort_keys=True))


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise CollectionError(f"{folder} is not a collection: it has no {MANIFEST}.")
    try:
        with open(open_inside(folder, MANIFEST, os.O_RDONLY), encoding="utf-8") as file:
            manifest = json.loads(file.read())
        form, own = manifest["format"], manifest.pop("crc32", None)
        sound = _sound(manifest)
    except Outside as error:
        raise CollectionError(str(error)) from error
    # numbers of thousands of digits and lists in lists in lists are errors of their own
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CollectionError(f"{path} is damaged: {error}.") from error
    if form != FORMAT:
        raise CollectionError(f"{folder} has collection format {form}; this Pellucid reads format {FORMAT}.")
    if own is not None and own != _own_sum(manifest):
        raise CollectionError(f"{path} is damaged: it does not have its checksum.")
    if not sound:
        raise CollectionError(f"{path} is damaged: it names files or sizes that cannot be.")
    return dict(manifest)


def _sound(manifest: dict[str, Any]) -> bool:
    """Whether what a manifest says can be: names of files as we give them, and numbers in their bounds."""
    deleted, segments = manifest["deleted"], manifest["segments"]
    names = [segment["name"] for segment in segments]
    return (
        all(isinstance(name, str) and NUMBER.fullmatch(name) for name in names)
        and len(set(names)) == len(names)
        and (deleted is None or bool(re.fullmatch(rf"deleted-({NUMBER.pattern})\.npy", deleted)))
        and all(_whole(s["rows"], 0, 2**48) and _is_sum(s["checksum"]) for s in segments)
        and all(_is_sum(s.get("items_checksum", 0)) for s in segments)
        and _is_sum(manifest.get("deleted_checksum", 0))
        and _whole(manifest["dimension"], 1, 2**31)
        and _whole(manifest["generation"], 0, MOST_CHANGES)
        and isinstance(manifest["engine"], str)
        and isinstance(manifest["engine_options"], dict)
    )


def _is_sum(value: Any) -> bool:
    return _whole(value, 0, 2**32 - 1)


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _as_column(values: Any) -> Any:
    """Values as Arrow takes them; its own arrays stay as they are, since they know a type where nothing is in them,
    but for the two kinds that not every engine takes."""
    import pyarrow as pa

    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        return pa.array([v.item() if isinstance(v, np.generic) else v for v in values])
    if pa.types.is_dictionary(values.type):
        return values.cast(values.type.value_type)
    return values.cast(pa.list_(values.type.value_type)) if pa.types.is_fixed_size_list(values.type) else values


@contextmanager
def changing(folder: Path, create: bool = False) -> Iterator[None]:
    """One writer at a time, and a sentence about the folder when it cannot be written to."""
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            yield
    except Outside as error:
        raise CollectionError(f"{error} Nothing was changed.") from error
    except Locked as holder:
        raise CollectionError(f"{folder} is being changed by {holder} now; try again when it is done.") from None
    except OSError as error:
        raise CollectionError(
            f"{folder} cannot be changed ({error.strerror or error}); what was in it before is whole."
        ) from error


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the manifest will give them back."""
    try:
        return dict(json.loads(json.dumps(dict(options))))
    except TypeError as error:
        raise CollectionError(f"Options of an engine must be plain values: {error}.") from None


def checked_vectors(vectors: ArrayLike, dimension: int | None) -> NDArray[Any]:
    """A matrix of finite numbers with that many columns."""
    try:
        given = as_rows(vectors, "The table of vectors")
    except ValueError as error:
        raise CollectionError(str(error)) from None
    rows = np.asarray(given)
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiu":
        raise CollectionError(f"Vectors must be a matrix of numbers, but are {rows.dtype} of shape {rows.shape}.")
    if dimension is not None and rows.shape[1] != dimension:
        raise CollectionError(f"Vectors have {rows.shape[1]} columns, but the collection has {dimension}.")
    row = first_not_finite(rows)
    if row is not None:
        raise CollectionError(f"Vectors have a value that is not finite in row {row}.")
    return rows


def storable_vectors(vectors: ArrayLike, dimension: int | None) -> NDArray[Any]:
    """The same as it is stored: float16 or float32."""
    rows = checked_vectors(vectors, dimension)
    if rows.dtype in (np.dtype(np.float16), np.dtype(np.float32)):
        return rows
    largest = np.abs(rows).max(axis=1)
    if (largest > np.finfo(np.float32).max).any():
        row = int(np.argmax(largest))
        raise CollectionError(f"Vectors have a value too large for float32 in row {row}; rescale them.")
    return rows.astype(np.float32)
