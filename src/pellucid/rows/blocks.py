"""Rows in blocks: what a fit goes through, wherever the rows are."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.extras import require
from pellucid._core.tables import as_rows
from pellucid.rows.parts import (
    Array,
    Part,
    array_parts,
    both,
    dask_parts,
    file_parts,
    is_dask,
    local,
    mapped,
    on_chunk,
    on_part,
    paired,
    part_total,
    plus,
    same,
    taken,
    then,
    written,
)

# parts under way for every thread of a cluster: what is being computed, and what is ready to be
AHEAD = 2


class Blocks:
    """Rows or images in blocks, for fits that need not hold them all.

    Iterating gives one block after the other. What ``transform`` and its like make of blocks are blocks again, computed
    when they are asked for.

    Parameters
    ----------
    source : array-like, sparse matrix, dask.array, str or Path
        Rows (n, d), or images (n, height, width) or (n, height, width, channels): an array, a memory map, a
        ``dask.array``, a data frame or an Arrow table with a column of vectors, or a path that
        :func:`pellucid.vectors.read` takes. Parquet files are read in their row groups, of which no more than a block
        is held; of a sparse matrix no more than a block is dense.
    column : str or None, default=None
        As for :func:`pellucid.vectors.read`.
    rows : int or None, default=None
        Rows in a block; None is 65 536, or fewer if they are wide. A chunk of a ``dask.array`` is a block.
    client : distributed.Client or None, default=None
        Where the blocks are read and computed, on its workers, so that a path must lead to the same file there. None is
        this process; a ``dask.array`` finds the current client by itself.
    columns : list of str, default=None
        As for :func:`pellucid.vectors.read`.
    exclude : collection of str, default=()
        As for :func:`pellucid.vectors.read`.

    Attributes
    ----------
    shape : tuple of int
        That of all rows together.
    dtype : numpy.dtype
        Of the numbers in a block.
    parts : list
        What a pass goes over, one after the other; a part gives one block or several.
    array : ndarray or None
        The rows, where they are at hand as a whole.

    Raises
    ------
    ValueError
        There are no rows, or a block is to have none.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.rows import Blocks
    >>> blocks = Blocks(np.arange(10.0).reshape(5, 2), rows=2)
    >>> blocks.shape, [len(block) for block in blocks]
    ((5, 2), [2, 2, 1])
    """

    array: Array | None = None  # the rows, where they are at hand as a whole

    def __init__(
        self,
        source: Any,
        column: str | None = None,
        *,
        rows: int | None = None,
        client: Any = None,
        columns: Sequence[str] | None = None,
        exclude: Collection[str] = (),
    ) -> None:
        if rows is not None and rows < 1:
            raise ValueError(f"A block needs at least one row, got rows={rows}.")
        self.client = client
        if is_dask(source):
            self.client = client or current_client()
            self.parts, each, dtype = dask_parts(source)
        elif isinstance(source, (str, os.PathLike)):
            self.parts, each, dtype = file_parts(Path(source), column, rows, {"columns": columns, "exclude": exclude})
        elif sparse.issparse(source):
            self.parts, each, dtype = array_parts(source.tocsr(), rows)
        else:
            self.parts, each, dtype = array_parts(np.asanyarray(as_rows(source)), rows)
        self.shape: tuple[int, ...] = (sum(part.rows for part in self.parts), *each)
        self.dtype = dtype
        if not self.parts:
            raise ValueError("There are no rows: give at least one.")

    @classmethod
    def of(cls, parts: Sequence[Part], shape: tuple[int, ...], dtype: Any, client: Any) -> Blocks:
        """Make blocks of parts that were cut elsewhere, for rows that no array and no file holds.

        Parameters
        ----------
        parts : sequence of pellucid.rows.parts.Part
            In the order of their rows.
        shape : tuple of int
            That of all rows together.
        dtype : dtype-like
            Of the numbers in a block.
        client : distributed.Client or None
            Where the parts are read; None is this process.

        Returns
        -------
        Blocks
            The parts as a source.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.rows import Blocks
        >>> from pellucid.rows.parts import Part
        >>> def ones():
        ...     yield np.ones((2, 3))
        >>> [block.shape for block in Blocks.of([Part(0, 2, ones)], (2, 3), np.float64, None)]
        [(2, 3)]
        """
        new = object.__new__(Blocks)
        new.parts, new.shape, new.dtype, new.client = list(parts), shape, np.dtype(dtype), client
        return new

    @classmethod
    def held(cls, array: Array) -> Blocks:
        """An array in memory or in a memory map as it is: one part, one block.

        Parameters
        ----------
        array : ndarray of shape (n, ...)
            The rows, which are not copied.

        Returns
        -------
        Blocks
            The array as a source.
        """
        new = cls.of([Part(0, len(array), partial(_alone, array))], array.shape, array.dtype, None)
        new.array = array
        return new

    @property
    def ndim(self) -> int:
        """Number of dimensions: 2 for rows, 3 or 4 for images."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if self.client is None:
            for part in self.parts:
                yield from local(part)
            return
        for blocks in self.each(list):
            yield from blocks

    def like(self, parts: Sequence[Part], width: int | None = None, dtype: Any = None) -> Blocks:
        """The same rows by other parts: some of them, or what became of them.

        Parameters
        ----------
        parts : sequence of pellucid.rows.parts.Part
            In the order of their rows.
        width : int or None, default=None
            Numbers in a row now; None if they are as many as before.
        dtype : dtype-like or None, default=None
            Of these numbers; None if it is the same as before.

        Returns
        -------
        Blocks
            The parts as a source, read where these are; ``shape`` still counts all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.rows import Blocks
        >>> blocks = Blocks(np.zeros((5, 2)), rows=2)
        >>> [len(block) for block in blocks.like(blocks.parts[1:])]
        [2, 1]
        """
        shape = self.shape if width is None else (self.shape[0], width)
        return Blocks.of(parts, shape, dtype or self.dtype, self.client)

    def map(self, function: Callable[[Array], Array], width: int, dtype: Any = None) -> Blocks:
        """Apply a function to every block, each when it is asked for.

        Parameters
        ----------
        function : callable
            Called with a block (m, d), returns one (m, width).
        width : int
            Numbers in a row of what it returns.
        dtype : dtype-like or None, default=None
            Of these numbers; None if it is the same as before.

        Returns
        -------
        Blocks
            The results as a source.

        Examples
        --------
        >>> from pellucid.rows import Blocks
        >>> list(Blocks([[1.0, 2.0]]).map(lambda block: 2 * block, width=2))
        [array([[2., 4.]])]
        """
        return self.like([then(part, partial(mapped, function)) for part in self.parts], width, dtype)

    def beside(self, other: Any) -> Blocks:
        """Pairs of a block and the rows of another source that belong to it.

        Parameters
        ----------
        other : array-like of shape (n, ...) or Blocks
            As many rows; Blocks must be cut alike.

        Returns
        -------
        Blocks
            A source whose blocks are pairs.

        Raises
        ------
        ValueError
            The other has more or fewer rows, or is cut into different parts.
        """
        if len(other) != len(self):
            raise ValueError(f"X has {len(self)} rows, but y has {len(other)}.")
        if not isinstance(other, Blocks):
            return self.like([then(p, partial(paired, other[p.start : p.start + p.rows])) for p in self.parts])
        if [part.rows for part in self.parts] != [part.rows for part in other.parts]:
            raise ValueError(
                "X and y are cut into different parts: give both the same rows= or chunks, or y as an array."
            )
        return self.like([both(mine, theirs) for mine, theirs in zip(self.parts, other.parts)])

    # passes

    def each(self, function: Callable[..., Any], given: Iterable[Any] | None = None) -> Iterator[Any]:
        """Call a function with the blocks of every part, in order.

        Where there is a client, several are under way at a time, and lost workers' parts are computed again.

        Parameters
        ----------
        function : callable
            Called as ``function(blocks)`` with an iterator, or as ``function(blocks, extra)``.
        given : iterable or None, default=None
            The second argument for each part.

        Yields
        ------
        object
            What it returns, in the order of the parts.
        """
        extras = [()] * len(self.parts) if given is None else [(extra,) for extra in given]
        if self.client is None:
            for part, extra in zip(self.parts, extras):
                yield function(local(part), *extra)
            return
        held = self.client.submit(same, function, pure=False)  # each worker fetches what it needs once
        ahead = AHEAD * max(1, sum(self.client.nthreads().values()))
        under_way: deque[Any] = deque()
        try:
            for part, extra in zip(self.parts, extras):
                under_way.append(_submit(self.client, held, part, extra))
                if len(under_way) >= ahead:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            self.client.cancel([*under_way, held])

    def total(self, function: Callable[[Any], Any]) -> Any:
        """The sum of what a function returns for every block.

        Parameters
        ----------
        function : callable
            Called with a block.

        Returns
        -------
        object
            The sum, added up in the order of the blocks.
        """
        return reduce(plus, self.each(partial(part_total, function)))

    def split(self, *state: Array) -> list[tuple[Array, ...]]:
        """Arrays with an entry for each row, cut as the parts are: what :meth:`each` gives to every part.

        Parameters
        ----------
        *state : ndarray of shape (n, ...)
            Labels, costs, codes.

        Returns
        -------
        list of tuple of ndarray
            A tuple for each part, of views.
        """
        return [tuple(array[part.start : part.start + part.rows] for array in state) for part in self.parts]

    def take(self, index: NDArray[np.int64]) -> Array:
        """Rows by number; a pass over the parts that have them.

        Parameters
        ----------
        index : ndarray of shape (m,)
            Numbers of rows, ascending.

        Returns
        -------
        ndarray of shape (m, ...)
            These rows.
        """
        if self.array is not None:  # all of them are not copied
            return np.asarray(self.array if np.array_equal(index, np.arange(len(self))) else self.array[index])
        some, wanted = parts_with(self, index)
        return np.concatenate(list(some.each(taken, wanted)))

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write a .parquet file for each block, where it is computed.

        Parameters
        ----------
        folder : str or Path
            It is made, or must be empty.

        Raises
        ------
        ValueError
            The folder is not empty.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise ValueError(f"{target} is not empty: name another folder.")
        digits = len(str(len(self.parts)))
        for _ in self.each(written, [target / f"part-{i:0{digits}}" for i in range(len(self.parts))]):
            pass


def _alone(array: Array) -> Iterator[Array]:
    yield array


def parts_with(X: Blocks, index: NDArray[np.int64]) -> tuple[Blocks, list[NDArray[np.int64]]]:
    """The parts that have any of these rows, whose numbers ascend, and the numbers within each of them."""
    ends = np.searchsorted(index, [part.start + part.rows for part in X.parts])
    wanted = [rows - part.start for rows, part in zip(np.split(index, ends[:-1]), X.parts)]
    there = [number for number, rows in enumerate(wanted) if len(rows)]
    return X.like([X.parts[number] for number in there]), [wanted[number] for number in there]


# on a cluster


def current_client() -> Any:
    """The client that the caller works with, if Dask's distributed scheduler is in use."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:  # there is none
        return None


def _submit(client: Any, held: Any, part: Part, extra: tuple[Any, ...]) -> Any:
    if part.read is not None:
        return client.submit(on_part, held, part.read, extra, pure=False)
    return client.compute(require("dask", "dask").delayed(on_chunk, pure=False)(held, part.then, part.chunk, extra))
