"""A table somebody else made as a collection: read where it is, and never written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid.search._folder import CollectionError, checked_vectors
from pellucid.search._rows import Positions, cosines
from pellucid.search.attached.source import Found, Page, Source, arrow_columns
from pellucid.search.engines.exact import shortlist_length
from pellucid.search.readable import BLOCK, PAGE, ReadableCollection, together
from pellucid.vectors import VectorFile

# rows that a request for many is split into
ASKED = 10_000


class AttachedCollection(ReadableCollection):
    """A table of vectors that stays where it is; see :func:`attach`, which makes it.

    It has the methods of :class:`Collection` that read. Every one of them asks the table as it is now; nothing is ever
    written. A position is given to an item when it is first met, and stays its own as long as this is open.

    Parameters
    ----------
    source : pellucid.search.attached.source.Source
        What reads the table.

    Attributes
    ----------
    source : pellucid.search.attached.source.Source
        What reads the table.
    dimension : int
        Columns of its vectors.
    engine_name : str
        What ranks the items.

    See Also
    --------
    attach : Makes one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pellucid.search import attach
    >>> table = pa.table({"id": ["a", "b"], "embedding": [[1.0, 0.0], [0.0, 1.0]], "body": ["one", "two"]})
    >>> collection = attach(table)
    >>> positions, cosines = collection.search([[1, 3]], k=1)
    >>> collection.item(positions[0, 0])
    {'id': 'b', 'text': 'two'}
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.dimension = source.dimension
        self.engine_name = source.engine
        self.engine_options: dict[str, Any] = {}
        self._keys: list[str] = []
        self._places: dict[str, int] = {}
        self._naming = threading.Lock()
        self._all_met = False

    def __repr__(self) -> str:
        return (
            f"AttachedCollection({self.name!r} of {self.place}: {self.dimension} dimensions, "
            f"engine {self.engine_name!r})"
        )

    @property
    def name(self) -> str:
        """The table."""
        return self.source.name

    @property
    def place(self) -> str:
        """Where the table is, without a password."""
        return self.source.address

    @property
    def preparation(self) -> None:
        """What the vectors went through before they came here: nothing that we know of."""
        return None

    @property
    def has_thumbnails(self) -> bool:
        """Whether its items have pictures."""
        return self.source.has_thumbnails

    # positions

    def _met(self, keys: Sequence[str]) -> Positions:
        """The positions of some keys; those that are new get the next ones."""
        with self._naming:
            for key in keys:
                if key not in self._places:
                    self._places[key] = len(self._keys)
                    self._keys.append(key)
            return np.array([self._places[key] for key in keys], dtype=np.int64)

    def _meet_all(self) -> None:
        if not self._all_met:
            for page in self.id_pages():
                self._met(page)
            self._all_met = True

    def _keys_at(self, positions: Any) -> list[str]:
        wanted = np.atleast_1d(np.asarray(positions, dtype=np.int64))
        if len(wanted) and wanted.max() >= len(self._keys):
            self._meet_all()
        if len(wanted) and (wanted.max() >= len(self._keys) or wanted.min() < 0):
            raise IndexError(f"{self.name} has no item at position {int(wanted.max())}.")
        return [self._keys[i] for i in wanted.tolist()]

    def __len__(self) -> int:
        return self.source.count()

    def __contains__(self, item: object) -> bool:
        return isinstance(item, (str, int)) and self.source.known(str(item)) is not None

    @property
    def ids(self) -> list[str]:
        """Ids of the items that are there, in the order of the table's ids."""
        return [key for page in self.id_pages() for key in page]

    def id_pages(self, size: int = PAGE) -> Iterator[list[str]]:
        for page in self.source.pages(size, vectors=False, columns=()):
            yield page.keys

    def position(self, item: str) -> int:
        key = self.source.known(str(item))
        if key is None:
            raise KeyError(f"There is no item {item!r} in {self.name}.")
        return int(self._met([key])[0])

    def look_up(self, item: str) -> tuple[int, NDArray[Any]] | None:
        found = self.source.look_up(str(item))
        if found is None:
            return None
        key, row = found
        if row is None:
            raise CollectionError(self._gone(key))
        return int(self._met([key])[0]), row[None]

    def known_ids(self, positions: Sequence[int]) -> list[str] | None:
        return self._keys_at(positions)

    # reading

    def vectors(self, positions: Sequence[int] | NDArray[np.int64] | None = None) -> NDArray[Any]:
        if positions is None:
            blocks = [block.vectors for block in self.blocks()]
            return np.concatenate(blocks) if blocks else np.empty((0, self.dimension), dtype=np.float32)
        keys = self._keys_at(positions)
        out = np.empty((len(keys), self.dimension), dtype=np.float32)
        for start in range(0, len(keys), ASKED):
            part = keys[start : start + ASKED]
            found = self.source.rows(part)
            for i, key in enumerate(part, start):
                if key not in found:
                    raise CollectionError(self._gone(key))
                out[i] = found[key]
        return out

    def _gone(self, key: str) -> str:
        if key in self:
            return f"The item {key!r} of {self.name} has no vector: its cell is empty (NULL)."
        return f"The item {key!r} is no longer in {self.name}: it was deleted since it was found. Search again."

    def item(self, position: int) -> dict[str, Any]:
        return self.reader([position])(position)

    def reader(self, positions: Sequence[int]) -> Callable[[int], dict[str, Any]]:
        keys = dict(zip(positions, self._keys_at(positions)))
        read: dict[str, dict[str, Any]] = {}
        reading = threading.Lock()

        def one(position: int) -> dict[str, Any]:
            key = keys[position]
            with reading:
                if not read:
                    read.update(self.source.items(list(keys.values())))
            if key not in read:
                raise CollectionError(self._gone(key))
            return {"id": key, **read[key]}

        return one

    def table(self) -> tuple[NDArray[np.int64], Any]:
        import pyarrow as pa

        keys: list[str] = []
        parts = []
        for page in self.source.pages(PAGE, vectors=False):
            keys += page.keys
            parts.append(pa.table({"id": pa.array(page.keys, pa.string()), **self._columns(page)}))
        positions = self._met(keys)
        self._all_met = True
        if not parts:
            return positions, pa.table({"id": pa.array([], pa.string())})
        whole = together(parts)
        positions, first = np.unique(positions, return_index=True)
        return positions, whole.take(pa.array(first))

    def _columns(self, page: Page) -> dict[str, Any]:
        return {name: values for name, values in arrow_columns(page.items, self.source.columns).items()
                if "binary" not in str(values.type)}  # fmt: skip

    def blocks(self, rows: int = BLOCK) -> Iterator[VectorFile]:
        for page in self.source.pages(min(rows, self.source.rows_at_once())):
            assert page.rows is not None
            yield VectorFile(page.rows, "vectors", page.keys, self._columns(page))

    def sample(self, rows: int) -> NDArray[Any]:
        return self.source.sample(rows)

    # searching

    def search(
        self, queries: ArrayLike, k: int = 20, *, where: Any = None, center: ArrayLike | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        middle = None if center is None else np.ascontiguousarray(center, dtype=np.float64)
        wanted = unit_rows(checked_vectors(queries, self.dimension).astype(np.float64))
        ranked = []
        for query, found in zip(wanted, self._found(wanted, k, shortlist_length(k, middle), where, middle)):
            positions, scores = self._met(found.keys), cosines(found.rows, query, middle)
            order = np.lexsort((positions, -scores))[:k]
            ranked.append((positions[order], scores[order]))
        least = min((len(positions) for positions, _ in ranked), default=0)
        shape = (len(ranked), least)
        return (
            np.array([positions[:least] for positions, _ in ranked], dtype=np.int64).reshape(shape),
            np.array([scores[:least] for _, scores in ranked]).reshape(shape),
        )

    def leaving_out(self, column: str, value: Any) -> Any:
        return self.source.leaving_out(column, value)

    def candidates(
        self, queries: NDArray[Any], k: int, *, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        wanted = unit_rows(checked_vectors(queries, self.dimension).astype(np.float64))
        for found in self._found(wanted, k, k, where, center):
            yield self._met(found.keys), found.rows

    def _found(
        self, wanted: NDArray[np.float64], least: int, length: int, where: Any, center: NDArray[np.float64] | None
    ) -> Iterator[Found]:
        """For each query at least so many rows of up to ``length``, if there are so many that count."""
        asked, length = wanted.astype(np.float32), length * self.source.widen
        for query in asked:
            for exact in (False, True):
                found = self.source.retry(partial(self.source.nearest, query[None], length, where, center, exact))[0]
                if len(found.keys) >= least:
                    break
            yield once(found)


def once(found: Found) -> Found:
    """Each key once: a view may give it again."""
    if len(set(found.keys)) == len(found.keys):
        return found
    first = list({key: i for i, key in reversed(list(enumerate(found.keys)))}.values())[::-1]
    return Found([found.keys[i] for i in first], found.rows[first])
