"""How rows are cut into parts, and what is done to a part, wherever it is: all of it can be sent to another process."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid import vectors
from pellucid._core.checks import first_not_finite
from pellucid._core.extras import require

Array = NDArray[Any]
Each = tuple[int, ...]  # shape of one row
Read = Callable[[], Iterator[Any]]  # blocks, or pairs of blocks

# a block has at most so many rows, and no more numbers than this
BLOCK_ROWS, BLOCK_NUMBERS = 65_536, 1 << 23
# parts are cut so that there are about so many, of at most so many blocks each; what is sent back is one sum a part
PARTS, PART_BLOCKS = 64, 16


@dataclass(frozen=True)
class Part:
    """Some rows, from ``start`` on: ``read`` gives their blocks, where it is called. ``chunk`` is set instead for a
    chunk of a dask.array, whose rows the function ``then`` turns into blocks."""

    start: int
    rows: int
    read: Read | None = None
    chunk: Any = None
    then: Callable[[Array], Any] | None = None


# how sources are cut into parts


def _default_rows(width: int) -> int:
    return int(np.clip(BLOCK_NUMBERS // max(1, width), 64, BLOCK_ROWS))


def _together(n_blocks: int) -> int:
    """Blocks in a part; the number of workers has no say in it."""
    return int(np.clip(n_blocks // PARTS, 1, PART_BLOCKS))


def array_parts(array: Array, rows: int | None) -> tuple[list[Part], Each, np.dtype[Any]]:
    dtype = _working(array)
    rows = rows or _default_rows(math.prod(array.shape[1:]))
    count = array.shape[0]  # a sparse matrix has no len
    size = rows * _together(-(-count // rows))
    parts = []
    for start in range(0, count, size):
        source = _where(array, start, start + size)
        parts.append(Part(start, min(size, count - start), partial(_array_blocks, source, rows, start, dtype)))
    return parts, array.shape[1:], dtype


def _where(array: Array, start: int, stop: int) -> Any:
    """Rows of an array; of a memory map only where they are, so that another process opens it itself."""
    if isinstance(array, np.memmap) and array.filename is not None and array.flags.c_contiguous:
        base: Any = array
        while isinstance(base.base, np.memmap):
            base = base.base
        shift = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        if base.flags.c_contiguous and shift >= 0:
            return str(array.filename), array.dtype, base.offset + shift, array.shape, start, stop
    return array[start:stop]


def _array_blocks(source: Any, rows: int, first: int, dtype: np.dtype[Any]) -> Iterator[Array]:
    if isinstance(source, tuple):
        name, kind, offset, shape, start, stop = source
        source = np.memmap(name, kind, "r", offset, shape)[start:stop]
    for start in range(0, source.shape[0], rows):
        block = source[start : start + rows]
        yield checked(block.toarray() if sparse.issparse(block) else block, first + start, dtype)


def file_parts(
    path: Path, column: str | None, rows: int | None, wanted: dict[str, Any]
) -> tuple[list[Part], Each, np.dtype[Any]]:
    groups = vectors.parquet_groups(path)
    if groups is None:
        return array_parts(vectors.read(path, column, **wanted).vectors, rows)
    first = next(vectors.blocks(path, column, rows=1, **wanted), None)  # looks at the columns of every file
    if first is None:
        return [], (0,), np.dtype(np.float32)
    width, dtype = first.vectors.shape[1], _working(first.vectors)
    rows = rows or _default_rows(width)
    least = rows * _together(-(-sum(count for _, _, count in groups) // rows))
    parts: list[Part] = []
    pieces: list[tuple[Path, list[int]]] = []
    start = pending = 0
    for number, (given, group, count) in enumerate(groups):
        file = given.absolute()
        if pieces and pieces[-1][0] == file:
            pieces[-1][1].append(group)
        else:
            pieces.append((file, [group]))
        pending += count
        if pending >= least or number + 1 == len(groups):
            if pending:
                # every worker takes the columns that were found here
                asked = column, first.taken or None
                read = partial(_parquet_blocks, tuple((f, tuple(g)) for f, g in pieces), asked, rows, start, dtype)
                parts.append(Part(start, pending, read))
            start, pending, pieces = start + pending, 0, []
    return parts, (width,), dtype


def _parquet_blocks(
    pieces: tuple[tuple[Path, tuple[int, ...]], ...],
    asked: tuple[str | None, tuple[str, ...] | None],
    rows: int,
    first: int,
    dtype: np.dtype[Any],
) -> Iterator[Array]:
    for file, groups in pieces:
        for found in vectors.group_blocks(file, groups, *asked, rows):
            yield checked(found.vectors, first, dtype)
            first += len(found.vectors)


def is_dask(X: Any) -> bool:
    """Whether X is a ``dask.array``; without importing Dask.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        True for a ``dask.array``.

    Examples
    --------
    >>> from pellucid.rows import is_dask
    >>> is_dask([[1.0, 2.0]])
    False
    """
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "map_blocks") and hasattr(X, "dask")


def dask_parts(X: Any) -> tuple[list[Part], Each, np.dtype[Any]]:
    dtype = _working(X)
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError("The dask.array does not know the sizes of its chunks: call its compute_chunk_sizes() first.")
    whole = whole_rows(X)
    starts = np.concatenate([[0], np.cumsum(whole.chunks[0])])
    parts = [
        Part(int(start), int(rows), chunk=chunk, then=partial(_chunk_blocks, int(start), dtype))
        for start, rows, chunk in zip(starts, whole.chunks[0], whole.to_delayed().ravel())
        if rows
    ]
    return parts, whole.shape[1:], dtype


def whole_rows(X: Any) -> Any:
    """The dask.array, no row of it cut."""
    return X if all(count == 1 for count in X.numblocks[1:]) else X.rechunk(dict.fromkeys(range(1, X.ndim), -1))


def _chunk_blocks(start: int, dtype: np.dtype[Any], chunk: Any) -> Iterator[Array]:
    yield checked(np.asarray(chunk), start, dtype)


def _working(array: Any) -> np.dtype[Any]:
    """float32 and float64 stay, float16 becomes float32, and whole numbers float64, but pixels stay what they are."""
    dtype: np.dtype[Any] = np.dtype(array.dtype)
    if array.ndim not in (2, 3, 4) or dtype.kind not in "fiub":
        raise ValueError(
            f"Blocks need a matrix of numbers, or images (n, height, width[, channels]), but got {dtype} of shape "
            f"{array.shape}."
        )
    if array.ndim > 2 and dtype.kind in "ub":
        return dtype
    return np.dtype(np.float32 if dtype in (np.float16, np.float32) else np.float64)


def checked(block: Array, first: int, dtype: np.dtype[Any]) -> Array:
    """The block in working precision, every number of it finite; ``first`` is the number of its first row."""
    rows = np.ascontiguousarray(block, dtype=dtype)
    if dtype.kind != "f":
        return rows
    row = first_not_finite(rows)
    if row is not None:
        raise ValueError(f"Row {first + row} has a value that is not finite: fill it or drop the row.")
    return rows


# what is done to a part, wherever it is


def then(part: Part, function: Callable[[Iterator[Any]], Iterator[Any]]) -> Part:
    """The same part, its blocks gone through by a generator."""
    if part.read is not None:
        return Part(part.start, part.rows, partial(_chained, part.read, function))
    return Part(part.start, part.rows, None, part.chunk, partial(_chained_chunk, part.then, function))


def _chained(read: Read, function: Callable[[Iterator[Any]], Iterator[Any]]) -> Iterator[Any]:
    return function(read())


def _chained_chunk(then: Any, function: Callable[[Iterator[Any]], Iterator[Any]], chunk: Any) -> Iterator[Any]:
    return function(then(chunk))


def mapped(function: Callable[[Array], Array], blocks: Iterator[Array]) -> Iterator[Array]:
    return (function(block) for block in blocks)


def single_column(function: Callable[[Array], Array], block: Array) -> Array:
    return function(block)[:, None]


def paired(other: Array, blocks: Iterator[Array]) -> Iterator[tuple[Array, Array]]:
    start = 0
    for block in blocks:
        n = len(block[0] if isinstance(block, tuple) else block)  # which may be a pair already
        yield block, np.asarray(other[start : start + n])
        start += n


def both(mine: Part, theirs: Part) -> Part:
    """Two parts of the same rows as one."""
    if mine.read is not None and theirs.read is not None:
        return Part(mine.start, mine.rows, partial(_pair_blocks, mine.read, theirs.read))
    chunk = require("dask", "dask").delayed(list)([_delayed(mine), _delayed(theirs)])
    return Part(mine.start, mine.rows, None, chunk, _pair_lists)


def _pair_blocks(mine: Read, theirs: Read) -> Iterator[tuple[Array, Array]]:
    return paired(np.concatenate(list(theirs())), mine())


def _pair_lists(chunk: Any) -> Iterator[tuple[Array, Array]]:
    return paired(np.concatenate(chunk[1]), iter(chunk[0]))


def _delayed(part: Part) -> Any:
    delayed = require("dask", "dask").delayed
    return delayed(_listed)(part.then, part.chunk) if part.read is None else delayed(_read_all)(part.read)


def _listed(then: Any, chunk: Any) -> list[Any]:
    return list(then(chunk))


def _read_all(read: Read) -> list[Array]:
    return list(read())


def local(part: Part) -> Iterator[Any]:
    if part.read is not None:
        return part.read()
    assert part.then is not None
    return iter(part.then(part.chunk.compute()))


def part_total(function: Callable[[Any], Any], blocks: Iterator[Any]) -> Any:
    return reduce(plus, map(function, blocks))


def plus(total: Any, added: Any) -> Any:
    """Their sum, in the place of the total where it can be: a second one may not fit. None is nothing yet."""
    return added if total is None else operator.iadd(total, added)


def stepped(
    step: Callable[..., Any], state: Any, rng: np.random.RandomState, blocks: Iterator[Any]
) -> tuple[Any, np.random.RandomState]:
    return step(state, blocks, rng), rng


def within(blocks: Iterator[Array], wanted: NDArray[np.int64]) -> Iterator[tuple[Array, NDArray[np.int64]]]:
    """Every block, and which of its rows are wanted; ``wanted`` counts from the first of the part."""
    start = 0
    for block in blocks:
        yield block, wanted[(wanted >= start) & (wanted < start + len(block))] - start
        start += len(block)


def taken(blocks: Iterator[Array], wanted: NDArray[np.int64]) -> Array:
    return np.concatenate([np.asarray(block)[mine] for block, mine in within(blocks, wanted)])


def written(blocks: Iterator[Array], path: Path) -> None:
    for number, block in enumerate(blocks):
        vectors.write(path.with_name(f"{path.name}-{number:02}.parquet"), block)


def same(value: Any) -> Any:
    return value


def on_part(function: Any, read: Read, extra: tuple[Any, ...]) -> Any:
    return function(read(), *extra)


def on_chunk(function: Any, then: Any, chunk: Any, extra: tuple[Any, ...]) -> Any:
    return function(then(chunk), *extra)
