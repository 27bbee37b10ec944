"""Items with their vectors, in a folder that survives a crash at any moment."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.checks import first_not_finite
from pellucid.search._folder import (
    FORMAT,
    INDEX,
    CollectionError,
    Snapshot,
    read_manifest,
    read_snapshot,
    remove_unnamed,
    write_deleted,
    write_manifest,
    write_segment,
)
from pellucid.search._lock import LOCK, Locked, locked
from pellucid.search.engines import Engine, make_engine

# in the folder of a collection that an earlier version filled with prepared vectors
PREPARED = "preprocessing.safetensors"


class Collection:
    """Vectors with ids and anything else that belongs to the items; see :meth:`create` and :meth:`open`.

    A position is the number of an item in the order of addition; it never changes, also when others are deleted. Any
    number of threads may read a collection while one of them changes it.
    """

    def __init__(
        self, folder: str | Path, engine: str | None = None, engine_options: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = Path(folder)
        self._now = read_snapshot(self.folder)
        self.dimension: int = self._now.manifest["dimension"]
        self.engine_name: str = engine or self._now.manifest["engine"]
        stored = self._now.manifest["engine_options"] if engine in (None, self._now.manifest["engine"]) else {}
        self.engine_options: dict[str, Any] = dict(stored if engine_options is None else engine_options)
        try:
            self._engine = make_engine(self.engine_name, **self.engine_options)
        except ValueError as error:
            if engine is not None or engine_options is not None:
                raise
            raise CollectionError(f"{self.folder} cannot be opened: {error}") from error
        self._loaded: Snapshot | None = None
        self._loading = threading.Lock()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        vectors: ArrayLike,
        ids: Sequence[str] | None = None,
        *,
        engine: str = "exact",
        engine_options: Mapping[str, Any] | None = None,
        **columns: Sequence[Any],
    ) -> Collection:
        """Make a collection in a new or empty folder from vectors (n, d) and their ids (numbers from 0 if None).

        ``engine`` is the name of what ranks the items and ``engine_options`` its options, such as
        ``engine="faiss", engine_options={"kind": "hnsw"}``; both are kept with the collection. Further keywords are
        columns: ``text``, ``labels`` (a list of names per item), ``thumbnail`` (bytes), or any other name, one value
        per item.
        """
        target = Path(folder)
        if target.exists() and any(path.name != LOCK for path in target.iterdir()):
            raise CollectionError(f"{target} is not empty; open the collection in it, or name another folder.")
        options = _as_plain(engine_options or {})
        made = make_engine(engine, **options)
        made.ready()
        rows = _as_rows(vectors, None)
        with _changing(target, create=True):
            if any(path.name != LOCK for path in target.iterdir()):
                raise CollectionError(f"{target} is not empty; open the collection in it, or name another folder.")
            kept = {"engine": engine, "engine_options": made.storable_options(options)}
            start = {**kept, "generation": 0, "segments": [], "deleted": None}
            write_manifest(target, {"format": FORMAT, "dimension": rows.shape[1], **start})
        collection = cls(target, engine, options)
        collection.add(rows, ids, **columns)
        return collection

    @classmethod
    def open(
        cls, folder: str | Path, *, engine: str | None = None, engine_options: Mapping[str, Any] | None = None
    ) -> Collection:
        """The collection in that folder; with another engine or other options than its own, if given, for this time."""
        return cls(folder, engine, engine_options)

    def add(self, vectors: ArrayLike, ids: Sequence[str] | None = None, **columns: Sequence[Any]) -> None:
        """Append items; when this returns they are on disk."""
        rows = _as_rows(vectors, self.dimension)
        taken = len(self._now.rows)
        names = [str(i) for i in (range(taken, taken + len(rows)) if ids is None else ids)]
        if "id" in columns:
            raise CollectionError("The column name 'id' is taken; pass ids as ids.")
        for name, values in (("ids", names), *columns.items()):
            if len(values) != len(rows):
                raise CollectionError(f"There are {len(values)} {name} for {len(rows)} vectors.")
        known = self._now.positions.keys() & set(names)
        if known or len(set(names)) < len(names):
            twice = min(known) if known else next(n for n in names if names.count(n) > 1)
            raise CollectionError(f"The id {twice!r} occurs twice; ids must differ.")
        with _changing(self.folder):
            manifest, name = self._next_manifest()
            manifest["segments"].append(write_segment(self.folder, name, rows, names, columns))
            self._commit(manifest)

    def delete(self, ids: Sequence[str]) -> None:
        """Take items out; their positions stay taken."""
        gone = np.array([self.position(i) for i in ids], dtype=np.int64)
        with _changing(self.folder):
            manifest, name = self._next_manifest()
            manifest["deleted"] = write_deleted(self.folder, name, np.union1d(np.flatnonzero(~self._now.alive), gone))
            self._commit(manifest)

    def __len__(self) -> int:
        return len(self._now.positions)

    def __contains__(self, item: object) -> bool:
        return item in self._now.positions

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r}: {len(self)} items × {self.dimension}, engine {self.engine_name!r})"

    @property
    def ids(self) -> list[str]:
        """Ids of the items that are there, in order."""
        return list(self._now.positions)

    @property
    def segments(self) -> list[tuple[str, NDArray[Any]]]:
        """The blocks of rows, in order, each with a key that differs where rows do."""
        return [(segment.key, segment.rows) for segment in self._now.segments]

    def position(self, item: str) -> int:
        """Where an item stands."""
        if item not in self._now.positions:
            raise KeyError(f"There is no item {item!r} in {self.folder}.")
        return self._now.positions[item]

    def vectors(self, positions: Sequence[int] | NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Rows at these positions; of all items that are there, in order, if None."""
        now = self._now
        return now.rows.take(np.flatnonzero(now.alive) if positions is None else np.asarray(positions, dtype=np.int64))

    def item(self, position: int) -> dict[str, Any]:
        """Id and columns of the item at a position."""
        now = self._now
        s = int(np.searchsorted(now.rows.starts, position, side="right") - 1)
        try:
            row: dict[str, Any] = now.segments[s].items.slice(int(position - now.rows.starts[s]), 1).to_pylist()[0]
        except UnicodeDecodeError as error:
            raise CollectionError(f"{self.folder} is damaged: item {position} has text that is none.") from error
        return row

    def search(
        self, queries: ArrayLike, k: int = 20, *, where: Any = None, center: ArrayLike | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and cosines (q, k) of the items nearest to each query (q, d), among those that pass ``where``: a
        filter on the columns in the engine's own language, such as SQL. With a ``center`` (d,) the items are brought to
        unit length and it is taken out of them first, as a model does that was fitted with ``center=True``."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        middle = None if center is None else np.ascontiguousarray(center, dtype=np.float64)
        return self.engine.search(_as_matrix(queries, self.dimension), k, where, middle)

    @property
    def preparation(self) -> Any:
        """What the vectors went through before they came here, if that was written down; None for raw ones."""
        from pellucid import persistence

        return persistence.load(self.folder / PREPARED) if (self.folder / PREPARED).is_file() else None

    @property
    def engine(self) -> Engine:
        """What ranks the items, with all that is in the collection now."""
        with self._loading:
            now = self._now
            if self._loaded is not now:
                segments, keys = [s.rows for s in now.segments], [s.key for s in now.segments]
                self._engine.load(segments, now.alive, keys, self.folder / INDEX, [s.items for s in now.segments])
                self._loaded = now
        return self._engine

    def _next_manifest(self) -> tuple[dict[str, Any], str]:
        """A copy to change, and the name of what it will add; refused if somebody else has changed the collection since
        it was opened."""
        on_disk = read_manifest(self.folder)
        if on_disk["generation"] != self._now.manifest["generation"]:
            raise CollectionError(f"{self.folder} was changed by someone else meanwhile; open it again.")
        on_disk["generation"] += 1
        return on_disk, f"{on_disk['generation']:06d}"

    def _commit(self, manifest: dict[str, Any]) -> None:
        write_manifest(self.folder, manifest)
        self._now = read_snapshot(self.folder, self._now)
        with suppress(OSError):  # the change counts already; the next one tidies up
            remove_unnamed(self.folder, manifest)


@contextmanager
def _changing(folder: Path, create: bool = False) -> Iterator[None]:
    """One writer at a time, and a sentence about the folder when it cannot be written to."""
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            yield
    except Locked as holder:
        raise CollectionError(f"{folder} is being changed by {holder} now; try again when it is done.") from None
    except OSError as error:
        raise CollectionError(
            f"{folder} cannot be changed ({error.strerror or error}); what was in it before is whole."
        ) from error


def _as_plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the manifest will give them back."""
    try:
        return dict(json.loads(json.dumps(dict(options))))
    except TypeError as error:
        raise CollectionError(f"Options of an engine must be plain values: {error}.") from None


def _as_matrix(vectors: ArrayLike, dimension: int | None) -> NDArray[Any]:
    """A matrix of finite numbers with that many columns."""
    rows = np.asarray(vectors)
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiu":
        raise CollectionError(f"Vectors must be a matrix of numbers, but are {rows.dtype} of shape {rows.shape}.")
    if dimension is not None and rows.shape[1] != dimension:
        raise CollectionError(f"Vectors have {rows.shape[1]} columns, but the collection has {dimension}.")
    row = first_not_finite(rows)
    if row is not None:
        raise CollectionError(f"Vectors have a value that is not finite in row {row}.")
    return rows


def _as_rows(vectors: ArrayLike, dimension: int | None) -> NDArray[Any]:
    """The same as it is stored: float16 or float32."""
    rows = _as_matrix(vectors, dimension)
    if rows.dtype in (np.dtype(np.float16), np.dtype(np.float32)):
        return rows
    largest = np.abs(rows).max(axis=1)
    if (largest > np.finfo(np.float32).max).any():
        row = int(np.argmax(largest))
        raise CollectionError(f"Vectors have a value too large for float32 in row {row}; rescale them.")
    return rows.astype(np.float32)
