"""What can be searched: items with their vectors, wherever they are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid.vectors import Summary, VectorFile, summary

# rows of a block, ids of a page
BLOCK, PAGE = 65_536, 10_000


class ReadableCollection(ABC):
    """What :class:`Collection` and :class:`AttachedCollection` share: what a search, the explorer and a fit ask for.

    A position is a number by which an item goes as long as the collection is open.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pellucid.search import ReadableCollection, attach
    >>> isinstance(attach(pa.table({"id": ["a"], "embedding": [[1.0, 0.0]]})), ReadableCollection)
    True
    """

    dimension: int
    engine_name: str
    engine_options: dict[str, Any]

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called: its folder, or its table."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, as it may be shown: without passwords."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __contains__(self, item: object) -> bool: ...

    @property
    @abstractmethod
    def ids(self) -> list[str]:
        """Ids of the items that are there, in order."""

    def id_pages(self, size: int = PAGE) -> Iterator[list[str]]:
        """Ids of the items that are there, in order, some at a time.

        Parameters
        ----------
        size : int, default=10000
            How many at a time.

        Yields
        ------
        list of str
            A page of them.
        """
        listed = self.ids
        for start in range(0, len(listed), size):
            yield listed[start : start + size]

    @abstractmethod
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

    def look_up(self, item: str) -> tuple[int, NDArray[Any]] | None:
        """Find an item and its vector.

        Parameters
        ----------
        item : str
            Its id.

        Returns
        -------
        tuple of int and ndarray of shape (1, d), or None
            Its position, and its row as it is stored; None if there is no such item.
        """
        if item not in self:
            return None
        position = self.position(item)
        return position, self.vectors([position])

    def known_ids(self, positions: Sequence[int]) -> list[str] | None:
        """Give the ids of items if they are known without reading the items.

        Parameters
        ----------
        positions : list of int
            Where they stand.

        Returns
        -------
        list of str or None
            Their ids; None if an item has to be read for its id.
        """
        return None

    @abstractmethod
    def vectors(self, positions: Sequence[int] | NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Read rows.

        Parameters
        ----------
        positions : array-like of int of shape (n,), default=None
            Which; None takes all items that are there, in order.

        Returns
        -------
        ndarray of shape (n, d)
            Copies of the rows, as they were stored.
        """

    @abstractmethod
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
        """

    def reader(self, positions: Sequence[int]) -> Callable[[int], dict[str, Any]]:
        """Give what reads the items at some positions, of which probably all are wanted when one is.

        Parameters
        ----------
        positions : list of int
            Where they stand.

        Returns
        -------
        callable
            From one of these positions to the item.
        """
        return self.item

    @abstractmethod
    def table(self) -> tuple[NDArray[np.int64], Any]:
        """Read the ids and the columns of all items that are there, but no pictures and other bytes.

        Returns
        -------
        positions : ndarray of shape (n,)
            Where they stand, ascending.
        items : pyarrow.Table
            A row for each, with a column ``id``.
        """

    @property
    @abstractmethod
    def has_thumbnails(self) -> bool:
        """Whether its items have pictures."""

    @abstractmethod
    def blocks(self, rows: int = BLOCK) -> Iterator[VectorFile]:
        """Go through all items that are there, in order.

        Parameters
        ----------
        rows : int, default=65536
            Most of them at a time.

        Yields
        ------
        pellucid.vectors.VectorFile
            Their vectors, ids and columns.
        """

    @abstractmethod
    def sample(self, rows: int) -> NDArray[Any]:
        """Read rows from all over the collection.

        Parameters
        ----------
        rows : int
            About how many; all of them if there are no more.

        Returns
        -------
        ndarray of shape (n, d)
            Rows, the same ones for the same items wherever that can be had.
        """

    @abstractmethod
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
            A filter on the columns, in the engine's own language.
        center : array-like of shape (d,), default=None
            What is taken out of the items at unit length before they are compared.

        Returns
        -------
        positions : ndarray of shape (q, k)
            Where the items stand, best first; fewer than k if there are fewer.
        cosines : ndarray of shape (q, k)
            How close they are.
        """

    @abstractmethod
    def candidates(
        self, queries: NDArray[Any], k: int, *, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Find items near to each query, for somebody who ranks them again.

        Parameters
        ----------
        queries : ndarray of shape (q, d)
            What to look for.
        k : int
            Least items per query, if there are so many.
        where : object, default=None
            As for :meth:`search`.
        center : ndarray of shape (d,), default=None
            As for :meth:`search`.

        Yields
        ------
        positions : ndarray of shape (m,)
            Where they stand.
        rows : ndarray of shape (m, d)
            Their vectors, as they are stored.
        """

    @abstractmethod
    def leaving_out(self, column: str, value: Any) -> Any:
        """Write a filter that lets all items pass but those with a value in a column.

        Parameters
        ----------
        column : str
            The column.
        value : str, int, float or bool
            The value.

        Returns
        -------
        object
            What :meth:`search` takes as ``where``.
        """

    @property
    @abstractmethod
    def preparation(self) -> Any:
        """What the vectors went through before they came here, if that was written down; None for raw ones."""

    def summary(self) -> Summary:
        """Look at all items once: how long their vectors are, which occur again, how often each label occurs.

        Returns
        -------
        pellucid.vectors.Summary
            What the items are like.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid.search import Collection
        >>> collection = Collection.create(mkdtemp(), [[3, 4], [3, 4]], labels=[["cat"], ["cat", "pet"]])
        >>> collection.summary().duplicates, collection.summary().labels
        (1, {'labels': {'cat': 2, 'pet': 1}})
        """
        return summary(self.blocks())


def together(tables: list[Any]) -> Any:
    """Tables of items under each other; a column that holds different things in them is one of text."""
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        pass
    kinds: dict[str, set[Any]] = {}
    for table in tables:
        for one in table.schema:
            kinds.setdefault(one.name, set()).add(one.type)
    mixed = {name for name, found in kinds.items() if len({kind for kind in found if not pa.types.is_null(kind)}) > 1}
    return pa.concat_tables([_as_text(table, mixed) for table in tables], promote_options="permissive")


def _as_text(table: Any, names: set[str]) -> Any:
    import pyarrow as pa

    for i, name in enumerate(table.column_names):
        if name in names:
            cells = [None if cell is None else str(cell) for cell in table.column(i).to_pylist()]
            table = table.set_column(i, name, pa.array(cells, pa.string()))
    return table
