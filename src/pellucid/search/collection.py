"""Items with their vectors, in a folder that survives a crash at any moment.

    manifest.json          which segments there are, and which list of deleted rows; replaced atomically, last
    vectors-000001.npy     rows of a segment, memory-mapped
    items-000001.parquet   their ids and whatever else belongs to the items
    deleted-000002.npy     positions of deleted rows

What is not named in the manifest does not exist: an addition or deletion counts from the moment the new manifest has
its name, and files that a crash left behind are removed by the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._atomic import atomic_path
from pellucid.search.engines import Engine, make_engine

FORMAT = 1
MANIFEST = "manifest.json"
OURS = re.compile(r"(vectors|items|deleted)-\d{6}\.(npy|parquet)|\.pellucid-.*")


class CollectionError(ValueError):
    """A folder that is not a whole collection, or a change that cannot be made to it."""


class Collection:
    """Vectors with ids and anything else that belongs to the items; see :meth:`create` and :meth:`open`.

    A position is the number of an item in the order of addition; it never changes, also when others are deleted.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._engine: Engine | None = None
        self._read()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        vectors: ArrayLike,
        ids: Sequence[str] | None = None,
        *,
        engine: str = "exact",
        **columns: Sequence[Any],
    ) -> Collection:
        """Make a collection in a new or empty folder from vectors (n, d) and their ids (numbers from 0 if None).

        Further keywords are columns: ``text``, ``labels`` (a list of names per item), ``thumbnail`` (bytes), or any
        other name, one value per item.
        """
        target = Path(folder)
        if target.exists() and any(target.iterdir()):
            raise CollectionError(f"{target} is not empty; open the collection in it, or name another folder.")
        make_engine(engine)
        target.mkdir(parents=True, exist_ok=True)
        rows = _as_rows(vectors, None)
        _write_manifest(target, {"format": FORMAT, "dimension": rows.shape[1], "engine": engine, "generation": 0,
                                 "segments": [], "deleted": None})  # fmt: skip
        collection = cls(target)
        collection.add(rows, ids, **columns)
        return collection

    @classmethod
    def open(cls, folder: str | Path) -> Collection:
        """The collection in that folder."""
        return cls(folder)

    def add(self, vectors: ArrayLike, ids: Sequence[str] | None = None, **columns: Sequence[Any]) -> None:
        """Append items; when this returns they are on disk."""
        rows = _as_rows(vectors, self.dimension)
        names = [str(i) for i in (range(self._total, self._total + len(rows)) if ids is None else ids)]
        if "id" in columns:
            raise CollectionError("The column name 'id' is taken; pass ids as ids.")
        for name, values in (("ids", names), *columns.items()):
            if len(values) != len(rows):
                raise CollectionError(f"There are {len(values)} {name} for {len(rows)} vectors.")
        known = self._positions.keys() & set(names)
        if known or len(set(names)) < len(names):
            twice = min(known) if known else next(n for n in names if names.count(n) > 1)
            raise CollectionError(f"The id {twice!r} occurs twice; ids must differ.")
        manifest = self._next_manifest()
        name = f"{manifest['generation']:06d}"
        with atomic_path(self.folder / f"vectors-{name}.npy") as path:
            np.save(path, rows)
        self._write_items(name, names, columns)
        manifest["segments"].append({"name": name, "rows": len(rows)})
        self._commit(manifest)

    def delete(self, ids: Sequence[str]) -> None:
        """Take items out; their positions stay taken."""
        gone = np.array([self.position(i) for i in ids], dtype=np.int64)
        manifest = self._next_manifest()
        deleted = np.union1d(np.flatnonzero(~self._alive), gone)
        manifest["deleted"] = f"deleted-{manifest['generation']:06d}.npy"
        with atomic_path(self.folder / manifest["deleted"]) as path:
            np.save(path, deleted)
        self._commit(manifest)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._alive))

    def __contains__(self, item: object) -> bool:
        return item in self._positions

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r}: {len(self)} items × {self.dimension}, engine {self.engine_name!r})"

    @property
    def ids(self) -> list[str]:
        """Ids of the items that are there, in order."""
        return list(self._positions)

    def position(self, item: str) -> int:
        """Where an item stands."""
        if item not in self._positions:
            raise KeyError(f"There is no item {item!r} in {self.folder}.")
        return self._positions[item]

    def vectors(self, positions: Sequence[int] | NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Rows at these positions; of all items that are there, in order, if None."""
        wanted = np.flatnonzero(self._alive) if positions is None else np.asarray(positions, dtype=np.int64)
        segment = np.searchsorted(self._starts, wanted, side="right") - 1
        out = np.empty((len(wanted), self.dimension), dtype=self._segments[0].dtype)
        for s in np.unique(segment):
            mine = segment == s
            out[mine] = self._segments[s][wanted[mine] - self._starts[s]]
        return out

    def item(self, position: int) -> dict[str, Any]:
        """Id and columns of the item at a position."""
        s = int(np.searchsorted(self._starts, position, side="right") - 1)
        row: dict[str, Any] = self._items[s].slice(int(position - self._starts[s]), 1).to_pylist()[0]
        return row

    def search(self, queries: ArrayLike, k: int = 20) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and cosines (q, k) of the items nearest to each query (q, d)."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        return self.engine.search(_as_rows(queries, self.dimension), k)

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = make_engine(self.engine_name)
            self._engine.load(self._segments, self._alive)
        return self._engine

    # disk

    def _read(self) -> None:
        import pyarrow.parquet as pq

        self._manifest = _read_manifest(self.folder)
        self.dimension: int = self._manifest["dimension"]
        self.engine_name: str = self._manifest["engine"]
        self._segments: list[NDArray[Any]] = []
        self._items = []
        for segment in self._manifest["segments"]:
            try:
                rows = np.load(self.folder / f"vectors-{segment['name']}.npy", mmap_mode="r", allow_pickle=False)
                items = pq.read_table(self.folder / f"items-{segment['name']}.parquet", memory_map=True)
            except (OSError, ValueError) as error:
                raise CollectionError(f"{self.folder} is damaged: {error}") from error
            if rows.shape != (segment["rows"], self.dimension) or items.num_rows != len(rows):
                raise CollectionError(f"{self.folder} is damaged: segment {segment['name']} has the wrong size.")
            self._segments.append(rows)
            self._items.append(items)
        self._starts = np.cumsum([0, *(len(s) for s in self._segments)])
        self._total = int(self._starts[-1])
        self._alive = np.ones(self._total, dtype=bool)
        if self._manifest["deleted"]:
            self._alive[np.load(self.folder / self._manifest["deleted"], allow_pickle=False)] = False
        names = [name for items in self._items for name in items.column("id").to_pylist()]
        self._positions = {name: i for i, name in enumerate(names) if self._alive[i]}
        self._engine = None

    def _next_manifest(self) -> dict[str, Any]:
        """A copy to change; refused if somebody else has changed the collection since it was opened."""
        on_disk = _read_manifest(self.folder)
        if on_disk["generation"] != self._manifest["generation"]:
            raise CollectionError(f"{self.folder} was changed by someone else meanwhile; open it again.")
        on_disk["generation"] += 1
        return on_disk

    def _write_items(self, name: str, ids: list[str], columns: Mapping[str, Sequence[Any]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"id": ids, **{key: _as_list(values) for key, values in columns.items()}})
        with atomic_path(self.folder / f"items-{name}.parquet") as path:
            pq.write_table(table, path)

    def _commit(self, manifest: dict[str, Any]) -> None:
        _write_manifest(self.folder, manifest)
        self._read()
        kept = {MANIFEST, manifest["deleted"]}
        kept |= {f"{kind}-{s['name']}.{end}" for s in manifest["segments"]
                 for kind, end in (("vectors", "npy"), ("items", "parquet"))}  # fmt: skip
        for path in self.folder.iterdir():
            if path.name not in kept and OURS.fullmatch(path.name):
                path.unlink()


def _as_list(values: Any) -> list[Any]:
    return [v.item() if isinstance(v, np.generic) else v for v in values]


def _as_rows(vectors: ArrayLike, dimension: int | None) -> NDArray[Any]:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiu":
        raise CollectionError(f"Vectors must be a matrix of numbers, but are {rows.dtype} of shape {rows.shape}.")
    if dimension is not None and rows.shape[1] != dimension:
        raise CollectionError(f"Vectors have {rows.shape[1]} columns, but the collection has {dimension}.")
    if not np.isfinite(rows).all():
        row = int(np.argmax(~np.isfinite(rows).all(axis=1)))
        raise CollectionError(f"Vectors have a value that is not finite in row {row}.")
    return rows if rows.dtype in (np.dtype(np.float16), np.dtype(np.float32)) else rows.astype(np.float32)


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    with atomic_path(folder / MANIFEST) as path:
        path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise CollectionError(f"{folder} is not a collection: it has no {MANIFEST}.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        form = manifest["format"]
        segments = [(str(s["name"]), int(s["rows"])) for s in manifest["segments"]]
        named = [f"vectors-{name}.npy" for name, _ in segments] + [manifest["deleted"] or "deleted-000000.npy"]
        sound = (
            all(OURS.fullmatch(str(name)) for name in named)
            and isinstance(manifest["dimension"], int)
            and isinstance(manifest["generation"], int)
            and isinstance(manifest["engine"], str)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CollectionError(f"{path} is damaged: {error}.") from error
    if form != FORMAT:
        raise CollectionError(f"{folder} has collection format {form}; this Pellucid reads format {FORMAT}.")
    if not sound:
        raise CollectionError(f"{path} is damaged: it names files or sizes that cannot be.")
    return dict(manifest)
