"""Readers of tables: .parquet (a file or a folder of them), .csv and .tsv."""

import csv as plain_csv
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid._core.tables import check_full, list_matrix
from pellucid.vectors._columns import (
    SAMPLE,
    Split,
    Wanted,
    is_list,
    is_vector,
    list_column,
    split_columns,
    storage_of,
    types_of,
)
from pellucid.vectors._common import (
    ID_NAMES,
    VectorFile,
    as_floats,
    as_ids,
    check_expansion,
    check_matrix,
    fail,
    id_column,
    listed,
)

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 4096
CSV_BLOCK = 16 * 2**20  # no row may be longer than this
TEXT_LIMIT = 2**31 - 1  # what one array of Arrow's ordinary texts can hold


def read_parquet(path: Path, wanted: Wanted) -> VectorFile:
    schema, name, split, batches, claimed, stored = _open_parquet(path, wanted)
    return _collect(path, schema, name, split, batches, claimed, stored)


def parquet_blocks(
    path: Path, wanted: Wanted, rows: int, groups: tuple[int, ...] | None = None
) -> Iterator[VectorFile]:
    """Blocks of at least ``rows`` rows, the last one aside; no more than one is held at a time. Of a single file only
    some row ``groups`` may be wanted; then nothing that stands beside vectors in lists is read."""
    schema, name, split, batches, claimed, stored = _open_parquet(path, wanted, groups, min(BATCH_ROWS, rows))
    first, width = 0, None
    pending: list[Any] = []
    for batch in batches:
        pending.append(batch)
        ready = sum(b.num_rows for b in pending)
        if ready >= rows or first + ready >= claimed:
            block = _collect(path, schema, name, split, pending, ready, stored, first)
            if width not in (None, block.vectors.shape[1]):
                fail(path, f"has {block.vectors.shape[1]} numbers in row {first} where the rows before have {width}.")
            width, first, pending = block.vectors.shape[1], first + ready, []
            yield block
    if first != claimed:
        fail(path, f"claims {claimed:,} rows and holds {first:,}: write or download it again.")


def row_groups(path: Path) -> list[tuple[Path, int, int]]:
    """File, number and rows of every row group, in order."""
    import pyarrow.parquet as pq

    found = []
    for part in _parts(path):
        metadata = pq.read_metadata(part)
        found += [(part, i, metadata.row_group(i).num_rows) for i in range(metadata.num_row_groups)]
    return found


def _open_parquet(
    path: Path, wanted: Wanted, groups: tuple[int, ...] | None = None, size: int = BATCH_ROWS
) -> "tuple[pa.Schema, str | None, Split, Iterator[pa.RecordBatch], int, int]":
    """Schema, list column if any, else numeric columns, batches, and the rows and bytes that there should be."""
    import pyarrow.parquet as pq

    parts = _parts(path)
    schema = pq.read_schema(parts[0])
    _check_names(path, schema.names)
    kinds = types_of(schema)
    # who names columns of numbers wants them, and not the lists beside them
    name = list_column(path, wanted.column, schema) if wanted.columns is None else None
    wanted.check(path, is_table=name is None)
    split = (
        Split((), {}) if name is not None else split_columns(path, kinds, wanted, lambda names: _first(parts, names))
    )
    split.warn(path)
    needed = [n for n, kind in kinds.items() if n == name or not is_vector(kind)]
    claimed = stored = 0
    for part in parts:
        stored += part.stat().st_size
        metadata = pq.read_metadata(part)
        chosen = range(metadata.num_row_groups) if groups is None else groups
        claimed += sum(metadata.row_group(i).num_rows for i in chosen)
        if types_of(metadata.schema.to_arrow_schema()) != kinds:
            fail(part, f"has other columns than {parts[0].name} beside it: write all parts with the same columns.")
    if groups is not None and name is not None:
        schema, needed = schema.empty_table().select([name]).schema, [name]
    return schema, name, split, _batches(parts, needed, groups, size), claimed, stored


def _first(parts: list[Path], names: list[str]) -> "pa.RecordBatch":
    """Some rows from the beginning."""
    import pyarrow as pa

    none = pa.RecordBatch.from_pydict({name: pa.array([], pa.float64()) for name in names})
    return next(_batches(parts, names, None, SAMPLE), none)


def _parts(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    # a dot marks a file that is still being written
    parts = sorted(part for part in path.glob("*.parquet") if not part.name.startswith(".") and part.is_file())
    if not parts:
        fail(path, "is a folder without .parquet files: name a file in it, or a folder of parquet files.")
    for part in parts:
        if part.stat().st_size == 0:
            fail(part, "is empty (0 bytes): write or download it again.")
    return parts


def _batches(parts: list[Path], names: list[str], groups: Any, size: int) -> "Iterator[pa.RecordBatch]":
    import pyarrow.parquet as pq

    for part in parts:
        # the buffer is what makes the reader stream: without it whole column chunks are held, or all of the file
        with pq.ParquetFile(part, buffer_size=2**20, pre_buffer=False) as file:
            if file.num_row_groups:  # none at all are an error to pyarrow 19
                yield from file.iter_batches(size, row_groups=groups, columns=names)


def _check_names(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        fail(path, f"has more than one column named {listed(twice)}: give every column its own name.")


def _collect(
    path: Path,
    schema: "pa.Schema",
    name: str | None,
    split: Split,
    batches: "Iterable[pa.RecordBatch]",
    claimed: int,
    stored: int,
    first_row: int = 0,
) -> VectorFile:
    """Gather vectors, ids and columns batch by batch, so that no second copy of the vectors exists."""
    import pyarrow.types as types

    kinds, numeric = types_of(schema), split.taken
    apart = {name, *numeric}
    aside = [n for n, kind in kinds.items() if n not in apart and not types.is_null(kind) and not is_vector(kind)]
    stack = _Stack(path, claimed, stored, [kinds[n] for n in numeric] if name is None else [kinds[name]], first_row)
    chunks: dict[str, list[Any]] = {n: [] for n in aside}
    for batch in batches:
        if batch.num_rows == 0:
            continue
        if name is None:
            columns = [_number_block(path, n, batch.column(n), stack.row) for n in numeric]
            stack.add(np.column_stack(columns))
        else:
            stack.add(_list_block(path, name, batch.column(name), stack))
        for n in aside:
            chunks[n].append(batch.column(n))
    ids_name = id_column(aside)
    ids = None
    if ids_name is not None:
        ids = as_ids(path, (value for chunk in chunks.pop(ids_name) for value in chunk.to_pylist()))
    label = path.stem if name is None else name
    beside = {n: _join(kinds[n], parts) for n, parts in chunks.items()}
    return VectorFile(stack.result(label), label, ids, beside, numeric, split.set_aside)


def _join(kind: "pa.DataType", chunks: list[Any]) -> "pa.Array":
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind, chunks = kind.value_type, [chunk.dictionary_decode() for chunk in chunks]
    if pa.types.is_string(kind) and sum(chunk.nbytes for chunk in chunks) > TEXT_LIMIT:
        kind, chunks = pa.large_string(), [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], kind)


class _Stack:
    """Rows gathered into one array that grows in place: the claimed size is a limit, never an allocation."""

    def __init__(self, path: Path, claimed: int, stored: int, kinds: "list[pa.DataType]", first_row: int) -> None:
        self.path, self.claimed, self.stored, self.kinds, self.first_row = path, claimed, stored, kinds, first_row
        self.rows: np.ndarray | None = None
        self.filled = 0
        self.width: int | None = None

    @property
    def row(self) -> int:
        """Where in the file the next row stands."""
        return self.first_row + self.filled

    def add(self, block: np.ndarray) -> None:
        if self.rows is None:
            self.width = block.shape[1]
            self.rows = np.empty((0, self.width), block.dtype)
            check_expansion(self.path, "vectors", self.stored, self.claimed * self.width * block.itemsize)
        wider = np.promote_types(self.rows.dtype, block.dtype)
        if wider != self.rows.dtype:  # whole numbers too large for float32 turned up late
            self.rows = self.rows.astype(wider)
        end = self.filled + len(block)
        if end > len(self.rows):
            room = max(end, min(2 * len(self.rows), self.claimed))
            self.rows.resize((room, block.shape[1]), refcheck=False)
        self.rows[self.filled : end] = block
        self.filled = end

    def result(self, name: str) -> np.ndarray:
        if self.filled != self.claimed:
            fail(self.path, f"claims {self.claimed:,} rows and holds {self.filled:,}: write or download it again.")
        return self._without_rows(name) if self.rows is None else self.rows

    def _without_rows(self, name: str) -> np.ndarray:
        storages = [storage_of(kind) for kind in self.kinds]
        width = getattr(storages[0], "list_size", None) if is_list(storages[0]) else len(storages)
        if width is None:
            fail(self.path, f"has no rows in {name!r}, so the width of its vectors is unknown: write at least one row.")
        check_matrix(self.path, name, (0, width))
        numbers = [kind.value_type if is_list(kind) else kind for kind in storages]
        floats = [as_floats(np.empty(0, kind.to_pandas_dtype())).dtype for kind in numbers]
        return np.empty((0, width), np.result_type(*floats))


def _list_block(path: Path, name: str, lists: "pa.Array", stack: _Stack) -> np.ndarray:
    rows = list_matrix(lists, name, stack.row, stack.width, partial(fail, path))
    check_matrix(path, name, rows.shape)
    return as_floats(rows)


def _number_block(path: Path, name: str, values: "pa.Array", first_row: int) -> np.ndarray:
    check_full(values, name, first_row, 1, partial(fail, path))
    return as_floats(values.to_numpy(zero_copy_only=False))


def _ends_with_a_line_end(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) in b"\r\n"


def read_csv(path: Path, wanted: Wanted) -> VectorFile:
    import pyarrow as pa
    import pyarrow.csv as csv

    wanted.check(path, is_table=True)
    if wanted.column is not None:
        fail(
            path,
            f"is a table whose numeric columns are taken together, not {wanted.column!r} alone: leave column= out.",
        )
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    _check_utf8(path)
    names = _csv_names(path, delimiter)
    headless = _is_data(names)
    chosen = wanted.columns or ()
    ids = None if headless else id_column(name for name in names if name not in chosen)
    rejected: list[Any] = []

    def remember(row: Any) -> str:
        rejected.append(row)
        return "error"

    try:
        table = csv.read_csv(
            path,
            # only a single thread knows the number of a row that is wrong
            csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK, autogenerate_column_names=headless),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=remember),
            # "nan" is a number, an empty cell is not; ids stay texts so that 007 keeps its zeros
            csv.ConvertOptions(null_values=[""], column_types={} if ids is None else {ids: pa.string()}),
        )
    except pa.ArrowInvalid:
        if not rejected:
            raise
        row = rejected[0]
        fail(
            path,
            f"has {row.actual_columns} values in row {row.number - (1 if headless else 2)} (counting from 0) where "
            f"{row.expected_columns} are expected: give all rows the same width.",
        )
    if table.num_rows == 0:
        fail(path, "has a header and no rows: write at least one row.")
    if not _ends_with_a_line_end(path):
        warnings.warn(
            f"{path} ends within a line, so its last number may be cut off: check its last row.", stacklevel=4
        )
    _check_names(path, table.column_names)
    for name in table.column_names:
        if name not in wanted.exclude and (name in chosen or wanted.columns is None):
            _check_text(path, name, table.column(name))
    split = split_columns(path, types_of(table.schema), wanted, lambda _: table.slice(0, SAMPLE).combine_chunks())
    split.warn(path)
    size = path.stat().st_size
    return _collect(path, table.schema, None, split, table.to_batches(), table.num_rows, size)


def _csv_names(path: Path, delimiter: str) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        return next((row for row in plain_csv.reader(text, delimiter=delimiter) if row), [])


def _check_utf8(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as text:
        try:
            while text.read(2**20):
                pass
        except UnicodeDecodeError:
            fail(path, "is not UTF-8 text: save it again with the encoding UTF-8.")


def _is_data(names: list[str]) -> bool:
    """Whether the first line is numbers already, and not the 0,1,2,… that pandas gives columns without names."""
    counted = [[str(n + first) for n in range(len(names))] for first in (0, 1)]
    return names not in counted and all(_is_numeral(name) for name in names)


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_text(path: Path, name: str, values: "pa.ChunkedArray") -> None:
    """A column of texts that are mostly numbers is a column of numbers with a slip in it."""
    import pyarrow.types as types

    if not types.is_string(values.type) or name.lower() in ID_NAMES:
        return
    sample = [text for text in values.slice(0, 1000).to_pylist() if text]
    if 2 * sum(map(_is_numeral, sample)) <= len(sample):
        return
    for row, text in enumerate(values.to_pylist()):
        if text and not _is_numeral(text):
            fail(
                path,
                f"has the text {text[:40]!r} in row {row} of {name!r} (counting from 0), a column of numbers: "
                "put a number there or drop the row.",
            )
