"""Items with their vectors, in a folder that survives a crash at any moment."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid.search._appearing import appearing, check_free
from pellucid.search._folder import (
    FORMAT,
    INDEX,
    MOST_CHANGES,
    PREPARED,
    CollectionError,
    Snapshot,
    alive_blocks,
    changing,
    check_rows,
    checked_vectors,
    item_table,
    plain_options,
    read_manifest,
    read_snapshot,
    remove_unnamed,
    storable_vectors,
    write_deleted,
    write_manifest,
    write_segment,
)
from pellucid.search._inside import Outside, all_inside, inside
from pellucid.search.engines import Engine, make_engine
from pellucid.search.readable import BLOCK, ReadableCollection, together
from pellucid.vectors import VectorFile

# rows that are compared with their checksums when they are first used: what takes about a second
CHECKED_BYTES = 1 << 30


class Collection(ReadableCollection):
    """Vectors with ids and anything else that belongs to the items; see :meth:`create` and :meth:`open`.

    A position is the number of an item in the order of addition; it never changes, also when others are deleted. Any
    number of threads may read a collection while one of them changes it.

    Parameters
    ----------
    folder : str or path
        Where the collection is.
    engine : str, default=None
        Name of what ranks the items; None takes the collection's own.
    engine_options : dict, default=None
        Options of the engine; None takes those that are kept with the collection.

    Attributes
    ----------
    folder : Path
        Where the collection is.
    dimension : int
        Columns of its vectors.
    engine_name : str
        What ranks the items.
    engine_options : dict
        Its options.

    See Also
    --------
    ConceptSearch : Searches a collection by concept.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import mkdtemp
    >>> from pellucid.search import Collection
    >>> collection = Collection.create(mkdtemp(), np.eye(3), ["a", "b", "c"], text=["one", "two", "three"])
    >>> positions, cosines = collection.search([[1, 2, 0]], k=1)
    >>> collection.item(positions[0, 0])
    {'id': 'b', 'text': 'two'}
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
        self._checked: set[str] = set()
        self._looked_at: Snapshot | None = None

    @classmethod
    def create(
        cls,
        folder: str | Path,
        vectors: ArrayLike,
        ids: Sequence[str] | None = None,
        *,
        engine: str = "exact",
        engine_options: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        **columns: Sequence[Any],
    ) -> Collection:
        """Make a collection in a new or empty folder, or in the place of another one.

        Parameters
        ----------
        folder : str or path
            Where to keep it.
        vectors : array-like of shape (n, d), or a data frame or Arrow table with a column of vectors
            Vectors as they came; stored in float16 if they are, else in float32.
        ids : list of str, default=None
            Ids of the items, all different; numbers from 0 if None.
        engine : str, default="exact"
            Name of what ranks the items, one of ``ENGINES``; kept with the collection.
        engine_options : dict, default=None
            Options of the engine, such as ``{"kind": "hnsw"}`` for "faiss"; kept with the collection.
        overwrite : bool, default=False
            Replace the collection that is in the folder, if there is one. It is whole until the new one is, also when
            the process dies in between; what is no collection is never overwritten.
        **columns : sequence of length n
            What else belongs to the items, one value each: ``text``, ``labels`` (a list of names per item),
            ``thumbnail`` (bytes), or any other name; those that Python does not take as a keyword, or that are one of
            the above, together in a dict as ``columns``.

        Returns
        -------
        Collection
            The collection, on disk.

        Raises
        ------
        CollectionError
            If the folder is not empty, or vectors, ids and columns do not fit each other.
        ValueError
            If there is no such engine, or it has no such option.
        """
        target = Path(folder)
        there = check_free(target, overwrite)
        rows = storable_vectors(vectors, None)
        if there:
            with appearing(target, overwrite) as place:
                cls._empty(place, rows.shape[1], engine, engine_options)._append(rows, ids, columns)
            return cls(target, engine, engine_options)
        collection = cls._empty(target, rows.shape[1], engine, engine_options)
        collection._append(rows, ids, columns)
        return collection

    @classmethod
    def from_blocks(
        cls,
        folder: str | Path,
        blocks: Iterable[VectorFile],
        *,
        engine: str = "exact",
        engine_options: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> Collection:
        """Make a collection of more vectors than memory holds; the folder appears when it is complete.

        Parameters
        ----------
        folder : str or path
            Where to keep it.
        blocks : iterable of pellucid.vectors.VectorFile
            Vectors with their ids and columns, as :func:`pellucid.vectors.blocks` gives them.
        engine : str, default="exact"
            As for :meth:`create`.
        engine_options : dict, default=None
            As for :meth:`create`.
        overwrite : bool, default=False
            As for :meth:`create`.

        Returns
        -------
        Collection
            The collection, on disk.

        Raises
        ------
        CollectionError
            If the folder is not empty, there are no blocks, or one does not fit those before it.
        ValueError
            If there is no such engine, or it has no such option.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid import vectors
        >>> from pellucid.search import Collection
        >>> vectors.write("few.parquet", [[1.0, 0.0], [0.0, 1.0]], ids=["a", "b"])
        >>> Collection.from_blocks(mkdtemp(), vectors.blocks("few.parquet")).ids
        ['a', 'b']
        """
        collection: Collection | None = None
        with appearing(Path(folder), overwrite) as place:
            for block in blocks:
                if collection is None:
                    collection = cls._empty(place, block.vectors.shape[1], engine, engine_options)
                collection._append(block.vectors, block.ids, block.columns)
            if collection is None:
                raise CollectionError(f"There are no blocks of vectors for {folder}; give at least one.")
        return cls(folder, engine, engine_options)

    @classmethod
    def _empty(cls, folder: Path, dimension: int, engine: str, engine_options: Mapping[str, Any] | None) -> Collection:
        options = plain_options(engine_options or {})
        made = make_engine(engine, **options)
        made.ready()
        with changing(folder, create=True):
            check_free(folder, False)
            kept = {"engine": engine, "engine_options": made.storable_options(options)}
            start = {**kept, "generation": 0, "segments": [], "deleted": None}
            write_manifest(folder, {"format": FORMAT, "dimension": dimension, **start})
        return cls(folder, engine, options)

    @classmethod
    def open(
        cls, folder: str | Path, *, engine: str | None = None, engine_options: Mapping[str, Any] | None = None
    ) -> Collection:
        """Open the collection in a folder.

        Parameters
        ----------
        folder : str or path
            Where it is.
        engine : str, default=None
            Another engine than its own, for this time.
        engine_options : dict, default=None
            Other options than those kept with it, for this time.

        Returns
        -------
        Collection
            The collection.

        Raises
        ------
        CollectionError
            If there is none in the folder, or it is damaged.
        """
        return cls(folder, engine, engine_options)

    def add(self, vectors: ArrayLike, ids: Sequence[str] | None = None, **columns: Sequence[Any]) -> None:
        """Append items; when this returns they are on disk.

        Parameters
        ----------
        vectors : array-like of shape (n, d), or a data frame or Arrow table with a column of vectors
            Vectors as they came.
        ids : list of str, default=None
            Ids that are not taken yet; positions if None.
        **columns : sequence of length n
            What else belongs to the items, one value each.

        Raises
        ------
        CollectionError
            If an id is taken, something does not fit, or somebody else changes the collection.
        """
        self._append(vectors, ids, columns)

    def _append(self, vectors: ArrayLike, ids: Sequence[str] | None, columns: Mapping[str, Any]) -> None:
        rows = storable_vectors(vectors, self.dimension)
        taken = len(self._now.rows)
        names = [str(i) for i in (range(taken, taken + len(rows)) if ids is None else _listed(ids))]
        given = dict(columns)
        if isinstance(given.get("columns"), Mapping):
            given |= given.pop("columns")
        if "id" in given:
            raise CollectionError("The column name 'id' is taken; pass ids as ids.")
        table = item_table(names, given, len(rows))
        known = self._now.positions.keys() & set(names)
        if known or len(set(names)) < len(names):
            twice = min(known) if known else next(name for name, count in Counter(names).items() if count > 1)
            raise CollectionError(f"The id {twice!r} occurs twice; ids must differ.")
        with changing(self.folder):
            manifest, name = self._next_manifest()
            manifest["segments"].append(write_segment(self.folder, name, rows, table))
            self._commit(manifest)

    def delete(self, ids: Sequence[str]) -> None:
        """Take items out; their positions stay taken.

        Parameters
        ----------
        ids : list of str
            The items.

        Raises
        ------
        KeyError
            If there is no such item.
        CollectionError
            If somebody else changes the collection.
        """
        gone = np.array([self.position(i) for i in _listed(ids)], dtype=np.int64)
        with changing(self.folder):
            manifest, name = self._next_manifest()
            manifest |= write_deleted(self.folder, name, np.union1d(np.flatnonzero(~self._now.alive), gone))
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
        self._check_first()
        return [(segment.key, segment.rows) for segment in self._now.segments]

    def position(self, item: str) -> int:
        """Find where an item stands.

        Parameters
        ----------
        item : str
            Its id.

        Returns
        -------
        int
            Its position.

        Raises
        ------
        KeyError
            If there is no such item.
        """
        if item not in self._now.positions:
            raise KeyError(f"There is no item {item!r} in {self.folder}.")
        return self._now.positions[item]

    def vectors(self, positions: Sequence[int] | NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Read rows.

        Parameters
        ----------
        positions : array-like of int of shape (n,), default=None
            Which; None takes all items that are there, in order.

        Returns
        -------
        ndarray of shape (n, d)
            Copies of the rows, as they were added.
        """
        self._check_first()
        now = self._now
        return now.rows.take(np.flatnonzero(now.alive) if positions is None else np.asarray(positions, dtype=np.int64))

    def item(self, position: int) -> dict[str, Any]:
        """Read the id and the columns of an item.

        Parameters
        ----------
        position : int
            Where it stands.

        Returns
        -------
        dict
            ``id``, and a value for each column.

        Raises
        ------
        CollectionError
            If what is on disk is damaged.
        """
        now = self._now
        s = int(np.searchsorted(now.rows.starts, position, side="right") - 1)
        try:
            row: dict[str, Any] = now.segments[s].items.slice(int(position - now.rows.starts[s]), 1).to_pylist()[0]
        except UnicodeDecodeError as error:
            raise CollectionError(f"{self.folder} is damaged: item {position} has text that is none.") from error
        return row

    def blocks(self, rows: int = BLOCK) -> Iterator[VectorFile]:
        self._check_first()
        yield from alive_blocks(self._now, rows)

    def table(self) -> tuple[NDArray[np.int64], Any]:
        import pyarrow as pa

        now = self._now
        # bytes are read item by item: filtering would copy all of them into memory
        whole = together([segment.items for segment in now.segments])
        read = whole.select([field.name for field in whole.schema if "binary" not in str(field.type)])
        return np.flatnonzero(now.alive), read if now.alive.all() else read.filter(pa.array(now.alive))

    @property
    def has_thumbnails(self) -> bool:
        """Whether its items have pictures."""
        return any("thumbnail" in segment.items.column_names for segment in self._now.segments)

    def sample(self, rows: int) -> NDArray[Any]:
        there = np.flatnonzero(self._now.alive)
        if len(there) > rows:
            there = there[np.unique(np.linspace(0, len(there) - 1, rows).astype(np.int64))]
        return self.vectors(there)

    def verify(self) -> int:
        """Compare all rows with the checksums that were written with them; items and deletions are when it is opened.

        Up to a gigabyte of rows is compared without being asked for, when they are first used.

        Returns
        -------
        int
            Bytes of the rows.

        Raises
        ------
        CollectionError
            If a bit of them is not as it was written.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid.search import Collection
        >>> Collection.create(mkdtemp(), [[3, 4], [4, 3]]).verify()
        16
        """
        now = self._now
        for segment in now.segments:
            check_rows(segment)
            self._checked.add(segment.key)
        return sum(segment.rows.nbytes for segment in now.segments)

    def _check_first(self) -> None:
        """Compare rows with their checksums when they are first used, unless that takes long."""
        now = self._now
        if self._looked_at is now:
            return
        new = [segment for segment in now.segments if segment.key not in self._checked]
        if sum(segment.rows.nbytes for segment in new) <= CHECKED_BYTES:
            for segment in new:
                check_rows(segment)
                self._checked.add(segment.key)
        self._looked_at = now

    def search(
        self, queries: ArrayLike, k: int = 20, *, where: Any = None, center: ArrayLike | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the items nearest to each query.

        Parameters
        ----------
        queries : array-like of shape (q, d)
            What to look for.
        k : int, default=20
            Most items per query.
        where : object, default=None
            A filter on the columns, in the engine's own language: conditions such as ``[("year", ">", 1999)]`` or
            ``[("labels", "has", "animal")]`` for "exact" and "faiss", SQL for "lance" and "postgres". Only items that
            pass it count.
        center : array-like of shape (d,), default=None
            The items are brought to unit length and this is taken out of them first, as a model does that was fitted
            with ``center=True``.

        Returns
        -------
        positions : ndarray of shape (q, k)
            Where the items stand, best first; fewer than k if there are fewer.
        cosines : ndarray of shape (q, k)
            How close they are.

        Raises
        ------
        ValueError
            If k is less than 1, or the filter does not fit the columns.
        CollectionError
            If the queries have another width, or a value that is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from tempfile import mkdtemp
        >>> from pellucid.search import Collection
        >>> collection = Collection.create(mkdtemp(), np.eye(3), year=[1999, 2000, 2001])
        >>> collection.search([[3, 2, 1]], k=1, where=[("year", ">", 1999)])[0].tolist()
        [[1]]
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        middle = None if center is None else np.ascontiguousarray(center, dtype=np.float64)
        return self.engine.search(checked_vectors(queries, self.dimension), k, where, middle)

    def candidates(
        self, queries: NDArray[Any], k: int, *, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        for positions in self.engine.shortlist(queries, k, where, center):
            yield positions, self.vectors(positions)

    def leaving_out(self, column: str, value: Any) -> Any:
        return self.engine.leaving_out(column, value)

    @property
    def name(self) -> str:
        """Its folder's name."""
        return self.folder.resolve().name

    @property
    def place(self) -> str:
        """Its folder."""
        return str(self.folder)

    @property
    def preparation(self) -> Any:
        """What the vectors went through before they came here, if that was written down; None for raw ones."""
        from pellucid import persistence

        try:
            place = inside(self.folder, PREPARED)
        except Outside as error:
            raise CollectionError(str(error)) from error
        known = self._now.manifest.get("prepared", True) and place.is_file()
        return persistence.load(place) if known else None

    @property
    def engine(self) -> Engine:
        """What ranks the items, with all that is in the collection now."""
        with self._loading:
            self._check_first()
            now = self._now
            if self._loaded is not now:
                place = self._index_folder()
                segments, keys = [s.rows for s in now.segments], [s.key for s in now.segments]
                self._engine.load(segments, now.alive, keys, place, [s.items for s in now.segments])
                self._loaded = now
        return self._engine

    def _index_folder(self) -> Path:
        try:
            return all_inside(self.folder, INDEX)
        except Outside as error:
            raise CollectionError(f"{error} The index can be removed at any time; it is built again.") from error

    def _next_manifest(self) -> tuple[dict[str, Any], str]:
        """A copy to change, and the name of what it will add; refused if somebody else has changed the collection since
        it was opened."""
        on_disk = read_manifest(self.folder)
        if on_disk["generation"] != self._now.manifest["generation"]:
            raise CollectionError(f"{self.folder} was changed by someone else meanwhile; open it again.")
        if on_disk["generation"] >= MOST_CHANGES:
            raise CollectionError(f"{self.folder} says that it was changed too many times; make it anew.")
        on_disk["generation"] += 1
        return on_disk, f"{on_disk['generation']:06d}"

    def _commit(self, manifest: dict[str, Any]) -> None:
        write_manifest(self.folder, manifest)
        self._now = read_snapshot(self.folder, self._now)
        with suppress(OSError):  # the change counts already; the next one tidies up
            remove_unnamed(self.folder, manifest)


def _listed(ids: Any) -> list[Any]:
    """Ids, of which one text is no list: its letters may well be ids of other items."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise TypeError(f"This takes a list of ids, got {ids!r}: put a single id into a list.")
    return list(ids)
