"""Parquet and Arrow files, Arrow tables and data frames: read into memory as they are, and ranked exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pellucid._core.tables import list_matrix
from pellucid.search._folder import CollectionError
from pellucid.search.attached.source import Asked, Found, Page, Source, check_columns, slots
from pellucid.search.engines.exact import ExactEngine

# files by their endings, and how each is opened
PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")


class MemorySource(Source):
    """See :class:`~pellucid.search.attached.source.Source`."""

    engine = "exact"
    metric = "cosine"

    def __init__(self, table: Any, asked: Asked, name: str, address: str) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.name, self.address, self.place = name, address, name
        kinds = {each.name: str(each.type) for each in table.schema}
        vectors = [each.name for each in table.schema if holds_vectors(each.type)]
        check_columns(asked, kinds, f"the table {name}", vectors)
        there = pc.and_(pc.is_valid(table.column(asked.vector)), pc.is_valid(table.column(asked.id)))
        self._left_out: int = table.num_rows - int(pc.sum(there).as_py() or 0)
        if self._left_out:
            table = table.filter(there)
        if not table.num_rows:
            raise CollectionError(f"{name} has no rows with a vector in {asked.vector!r}: give at least one.")
        self._vectors = matrix(table.column(asked.vector), asked.vector, name)
        self.dimension = self._vectors.shape[1]
        self._keys = [str(key) for key in table.column(asked.id).to_pylist()]
        self._rows = {key: i for i, key in reversed(list(enumerate(self._keys)))}
        if len(self._rows) < len(self._keys):
            twice = next(key for i, key in enumerate(self._keys) if self._rows[key] != i)
            raise CollectionError(
                f"The id {twice!r} occurs twice in {asked.id!r} of {name}: name a column of ids that differ."
            )
        text = asked.text_among([each for each in kinds if "string" in kinds[each]])
        there = [each for each in kinds if each not in vectors and ("binary" not in kinds[each] or each == "thumbnail")]
        parts = slots(there, asked, text)
        self.columns, self.has_thumbnails = tuple(parts), "thumbnail" in parts
        self._items = pa.table({each: table.column(column) for each, column in parts.items()}) if parts else None
        self._named = {"id": asked.id, **parts}
        # a filter asks for columns by their own names, whatever they go by in an item
        self._engine = ExactEngine()
        self._engine.load([self._vectors], np.ones(len(self._keys), dtype=bool), ["attached"], None, [table])

    def count(self) -> int:
        return len(self._keys)

    def missing(self) -> int:
        return self._left_out

    def known(self, key: str) -> str | None:
        return key if key in self._rows else None

    def nearest(
        self, queries: NDArray[np.float32], k: int, where: Any, center: NDArray[np.float64] | None, exact: bool
    ) -> list[Found]:
        positions = self._engine.search(queries, k, where, center)[0]
        return [Found([self._keys[i] for i in found.tolist()], self._take(found)) for found in positions]

    def _take(self, rows: Any) -> NDArray[np.float32]:
        return np.ascontiguousarray(self._vectors[rows], dtype=np.float32)

    def rows(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        there = [key for key in keys if key in self._rows]
        return dict(zip(there, self._take([self._rows[key] for key in there])))

    def items(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        there = [key for key in keys if key in self._rows]
        return dict(zip(there, self._listed([self._rows[key] for key in there])))

    def _listed(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        return [{} for _ in rows] if self._items is None else self._items.take(list(rows)).to_pylist()

    def pages(
        self,
        size: int,
        *,
        vectors: bool = True,
        columns: Sequence[str] | None = None,
        after: str | None = None,
        upto: str | None = None,
    ) -> Iterator[Page]:
        wanted = self.columns if columns is None else columns
        first = 0 if after is None else self._rows[after] + 1
        last = len(self._keys) if upto is None else self._rows[upto] + 1
        for start in range(first, last, size):
            stop = min(start + size, last)
            part = None if self._items is None else self._items.slice(start, stop - start)
            items = part.select(list(wanted)).to_pylist() if part is not None and wanted else []
            rows = self._take(slice(start, stop)) if vectors else None
            yield Page(self._keys[start:stop], rows, items or [{}] * (stop - start))

    def leaving_out(self, column: str, value: Any) -> Any:
        return [(self._named[column], "!=", value)]

    def sample(self, rows: int) -> NDArray[Any]:
        return self._take(np.unique(np.linspace(0, len(self._keys) - 1, rows).astype(np.int64)))


def holds_vectors(kind: Any) -> bool:
    import pyarrow.types as types

    kind = getattr(kind, "storage_type", kind)
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(listed and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def matrix(column: Any, label: str, name: str) -> NDArray[Any]:
    """The cells of a column as the rows of a matrix, without a copy where Arrow allows it."""

    def refuse(what: str) -> NoReturn:
        raise CollectionError(f"{name} {what}")

    blocks: list[NDArray[Any]] = []
    for chunk in column.chunks:
        if len(chunk):
            width = blocks[0].shape[1] if blocks else None
            blocks.append(list_matrix(chunk, label, sum(map(len, blocks)), width, refuse))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def read_table(path: Path) -> Any:
    """A file of Parquet or Arrow, or a folder of Parquet files, as a table."""
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    try:
        return feather.read_table(path, memory_map=True) if path.suffix in ARROW else pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CollectionError(f"{path} cannot be read as a table: {str(error).splitlines()[0]}") from error


def as_table(given: Any) -> Any:
    """Whatever speaks Arrow as a table: pandas, polars, DuckDB, pyarrow."""
    import pyarrow as pa

    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if type(given).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(given, preserve_index=None)
    if hasattr(given, "__arrow_c_stream__"):
        table = pa.RecordBatchReader.from_stream(given).read_all()
        return table.cast(pa.schema([each.with_type(plain_kind(each.type)) for each in table.schema]))
    return pa.Table.from_batches([pa.record_batch(given)])


def plain_kind(kind: Any) -> Any:
    """Texts as filters know them: polars hands over views of them."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_list(kind) or types.is_large_list(kind):
        made = pa.list_ if types.is_list(kind) else pa.large_list
        return made(plain_kind(kind.value_type))
    return kind
