"""Tables of LanceDB, embedded or at an address that LanceDB takes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.extras import require
from pellucid._core.hints import did_you_mean
from pellucid.search._folder import CollectionError
from pellucid.search.attached.memory import holds_vectors, matrix
from pellucid.search.attached.source import LOOKED_AT, Asked, Found, Page, Source, check_columns, even, listed, slots

# lists that a search looks at, and coded rows that are looked at again for each that is asked for
PROBES, REFINE = 64, 4


class LanceSource(Source):
    """See :class:`~pellucid.search.attached.source.Source`."""

    engine = "lance"

    def __init__(self, table: Any, address: str, asked: Asked) -> None:
        self._table = table
        self.name, self.address, self.place = table.name, address, f"The LanceDB at {address}"
        schema = table.schema
        kinds = {field.name: str(field.type) for field in schema}
        vectors = [field.name for field in schema if holds_vectors(field.type)]
        check_columns(asked, kinds, f"the table {self.name}", vectors)
        self._id, self._vector = asked.id, asked.vector
        self._numbers = "int" in kinds[asked.id]
        plain = [name for name in kinds if name not in vectors and name != asked.id and "binary" not in kinds[name]]
        text = asked.text_among([name for name in kinds if "string" in kinds[name]])
        self._parts = slots(plain, asked, text)
        self.columns = tuple(self._parts)
        self._filled = f"{quoted(self._vector)} IS NOT NULL AND {quoted(self._id)} IS NOT NULL"
        width = getattr(schema.field(asked.vector).type, "list_size", 0)
        first = next(self.pages(LOOKED_AT, columns=()), None)
        if first is None or first.rows is None:
            raise CollectionError(f"{self.name} has no rows with a vector in {asked.vector!r}: give at least one.")
        self.dimension = int(width) or first.rows.shape[1]
        self._find_index(even(first.rows))

    def _find_index(self, one_length: bool) -> None:
        self.metric, self.index = "cosine", None
        for each in self._table.list_indices():
            told = self._table.index_stats(each.name) if list(each.columns) == [self._vector] else None
            if told is not None:
                self.index, self.metric = each.name, str(told.distance_type)
        if self.index is None:
            warnings.warn(
                f"{self.name} has no index on {self._vector!r}, so every search reads all rows: it works, but slowly "
                f"once there are many. Its owner can call table.create_index(metric='cosine', "
                f"vector_column_name={self._vector!r}).", stacklevel=2,
            )  # fmt: skip
        elif self.metric != "cosine" and not one_length:
            warnings.warn(
                f"The index {self.index} of {self.name} compares by {self.metric}, but the vectors differ in length, "
                "so it does not find the nearest by cosine: every search reads all rows.", stacklevel=2,
            )  # fmt: skip
            self.metric, self.index = "cosine", None

    def count(self) -> int:
        return int(self._table.count_rows(self._filled))

    def missing(self) -> int:
        return int(self._table.count_rows()) - self.count()

    def nearest(
        self, queries: NDArray[np.float32], k: int, where: Any, center: NDArray[np.float64] | None, exact: bool
    ) -> list[Found]:
        return [self._nearest(query, k, where, exact) for query in queries]

    def _nearest(self, query: NDArray[np.float32], k: int, where: Any, exact: bool) -> Found:
        search = self._table.search(query, vector_column_name=self._vector).distance_type(self.metric).limit(k)
        search = search.bypass_vector_index() if exact or self.index is None else search.nprobes(PROBES)
        if self.index is not None and not exact:
            search = search.refine_factor(REFINE)
        if where is not None:
            search = search.where(where, prefilter=True)
        try:
            found = search.select([self._id, self._vector, "_distance"]).to_arrow()
        except (ValueError, RuntimeError, TypeError) as error:
            if where is None:
                raise
            raise ValueError(f"LanceDB cannot filter by {where!r}: {str(error).splitlines()[0]}") from error
        return self._found(found)

    def _found(self, table: Any) -> Found:
        keys = [str(key) for key in table.column(self._id).to_pylist()]
        rows: Any = matrix(table.column(self._vector), self._vector, self.name) if keys else []
        return Found.of(keys, rows, self.dimension)

    def _where(self, keys: Sequence[str]) -> str | None:
        if self._numbers:
            told = [str(int(key)) for key in keys if key.lstrip("-").isdecimal()]
        else:
            told = ["'" + key.replace("'", "''") + "'" for key in keys]
        return f"{quoted(self._id)} IN ({', '.join(told)})" if told else None

    def _read(self, keys: Sequence[str], columns: list[str], more: str = "") -> Any:
        where = self._where(keys)
        if where is None:
            return None
        return self._table.search().where(where + more).select([self._id, *columns]).limit(len(keys)).to_arrow()

    def known(self, key: str) -> str | None:
        found = self._read([key], [])
        return None if found is None or not found.num_rows else str(found.column(self._id)[0].as_py())

    def rows(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        found = self._read(keys, [self._vector], f" AND {quoted(self._vector)} IS NOT NULL")
        if found is None:
            return {}
        made = self._found(found)
        return dict(zip(made.keys, made.rows))

    def items(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = self._read(keys, list(dict.fromkeys(self._parts.values())))
        rows = [] if found is None else found.to_pylist()
        return {str(row[self._id]): {name: row[self._parts[name]] for name in self.columns} for row in rows}

    def pages(
        self,
        size: int,
        *,
        vectors: bool = True,
        columns: Sequence[str] | None = None,
        after: str | None = None,
        upto: str | None = None,
    ) -> Iterator[Page]:
        wanted = self.columns if columns is None else tuple(columns)
        read = list(dict.fromkeys([self._id, *(self._parts[name] for name in wanted)]))
        query = self._table.search().where(self._filled).select([*read, *([self._vector] if vectors else [])])
        begun = after is None
        for batch in query.to_batches(batch_size=size):
            for start in range(0, batch.num_rows, size):
                part = as_table(batch).slice(start, size)
                keys = [str(key) for key in part.column(self._id).to_pylist()]
                low = 0 if begun else keys.index(str(after)) + 1 if after in keys else len(keys)
                begun = begun or after in keys
                high = keys.index(upto) + 1 if upto is not None and upto in keys else len(keys)
                part, keys = part.slice(low, max(0, high - low)), keys[low:high]
                if keys:
                    rows = matrix(part.column(self._vector), self._vector, self.name) if vectors else None
                    items = part.select(read).to_pylist() if wanted else [{} for _ in keys]
                    yield Page(
                        keys, None if rows is None else np.ascontiguousarray(rows, dtype=np.float32),
                        [{name: row.get(self._parts[name]) for name in wanted} for row in items],
                    )  # fmt: skip
                if upto is not None and keys and keys[-1] == upto:
                    return

    def leaving_out(self, column: str, value: Any) -> Any:
        told = str(value).lower() if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"
        name = quoted(self._parts[column])
        return f"{name} IS NULL OR {name} <> {told}"

    def sample(self, rows: int) -> NDArray[Any]:
        share = max(1, -(-self.count() // max(1, rows)))
        parts = [page.rows[::share] for page in self.pages(self.rows_at_once(), columns=()) if page.rows is not None]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), dtype=np.float32)


def quoted(name: str) -> str:
    """A column's name as LanceDB's SQL has it."""
    return "`" + name.replace("`", "``") + "`"


def as_table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def open_table(database: Any, name: str | None, address: str) -> Any:
    """A table of a database, by its name."""
    names = list(database.table_names())
    if name is None:
        raise CollectionError(f"Name the table: those in {address} are {listed(names)}.")
    if name not in names:
        raise CollectionError(f"There is no table {name!r} in {address}: {did_you_mean(name, names)}")
    return database.open_table(name)


def connect(address: str) -> Any:
    """A LanceDB database."""
    os.environ.setdefault("LANCEDB_LOG", "error")  # it reports ordinary things as warnings
    return require("lancedb", "lance").connect(address)
