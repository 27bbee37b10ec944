"""Search by LanceDB: embedded, on disk, for more rows than memory holds."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np

from pellucid._core.extras import require
from pellucid.search._rows import Positions, Singles
from pellucid.search.engines import check_counts, check_kind
from pellucid.search.engines.database import DatabaseEngine, DatabaseState, LoadedRows
from pellucid.search.engines.faiss import CODEBOOK, GROWTH

POSITION, VECTOR = "_position", "_vector"
# positions that one deletion names
NAMED = 10_000
# rows that a search may go through one by one because no index has them: so many, or a share of those that are indexed
LOOSE_ROWS, LOOSE_SHARE = 1000, 0.01
# fragments (one for each addition) and indexes (one for each tidying) that may lie apart: a search opens them all
FRAGMENTS, INDEXES = 64, 32
# how long what was replaced stays on disk, for processes that still read it
KEPT = timedelta(hours=1)


class LanceEngine(DatabaseEngine):
    """Inner products of unit vectors in a Lance table, whose other columns are those of the items.

    ``where`` is a condition in SQL on these columns.

    Parameters
    ----------
    dsn : str, default=None
        Folder or address of the database, as LanceDB takes it; in the collection's own folder if None.
    table : str, default=None
        Name of the table; made from the first rows if None.
    kind : {"ivfpq", "flat"}, default="ivfpq"
        Rows are coded by product quantisation and kept in lists, of which the nearest are looked at, or all rows are
        looked at.
    lists : int, default=None
        Number of lists; the root of the number of rows if None.
    probes : int, default=None
        How many of them are looked at; a tenth, at least 16, if None.
    code_bytes : int, default=None
        Bytes of a coded row, a divisor of the dimension; LanceDB chooses if None.
    refine : int, default=4
        How many coded rows are looked at again, for each that is asked for.
    """

    def __init__(
        self,
        dsn: str | None = None,
        table: str | None = None,
        kind: str = "ivfpq",
        *,
        lists: int | None = None,
        probes: int | None = None,
        code_bytes: int | None = None,
        refine: int = 4,
    ) -> None:
        super().__init__(table)
        check_kind(kind, ("flat", "ivfpq"))
        check_counts(lists=lists, probes=probes, code_bytes=code_bytes, refine=refine)
        os.environ.setdefault("LANCEDB_LOG", "error")  # it reports ordinary things as warnings
        self._lancedb = require("lancedb", "lance")
        self.place = f"The LanceDB at {dsn or 'index/lance'}"
        self.dsn, self.kind, self.lists, self.probes = dsn, kind, lists, probes
        self.code_bytes, self.refine = code_bytes, refine

    @property
    def index_spec(self) -> str:
        return "flat" if self.kind == "flat" else f"ivfpq-{self.lists}-{self.code_bytes}"

    def _database(self) -> Any:
        return self._lancedb.connect(self.dsn or str(self._folder / "lance"))  # type: ignore[operator]

    def _open(self, name: str) -> Any:
        """The table as it is now, or None."""
        try:
            return self._database().open_table(name)
        except (ValueError, FileNotFoundError) as error:
            if "not found" in str(error).lower():
                return None
            raise

    def _lost(self, error: Exception) -> bool:
        return self.dsn is not None and isinstance(error, OSError)

    def _state(self) -> DatabaseState | None:
        found = self._open(f"{self.name}_state")
        self._table = self._open(self.name)
        return (
            None if found is None or self._table is None else DatabaseState.parse(found.to_arrow()["told"][0].as_py())
        )

    def _record(self, after: DatabaseState) -> None:
        import pyarrow as pa

        self._database().create_table(f"{self.name}_state", pa.table({"told": [after.text()]}), mode="overwrite")
        give_back()

    def _create(self, dimension: int) -> None:
        import pyarrow as pa

        schema = pa.schema([(POSITION, pa.int64()), (VECTOR, pa.list_(pa.float32(), dimension))])
        self._table = self._database().create_table(self.name, schema=schema, mode="overwrite")
        self._record(DatabaseState())

    def _clear(self) -> None:
        if self._folder is not None and self.local:
            shutil.rmtree(self._folder / "lance")
        else:
            for name in (self.name, f"{self.name}_state"):
                self._database().drop_table(name)

    def _add(self, held: LoadedRows, s: int, before: DatabaseState, after: DatabaseState) -> None:
        import pyarrow as pa

        items = [field for field in held.items[s].schema if "binary" not in str(field.type)] if held.items else []
        clash = {field.name for field in items} & {POSITION, VECTOR}
        if clash:
            raise ValueError(f"The column name {min(clash)!r} is taken in LanceDB; rename the column.")
        # a column that held nothing so far has no type yet, and takes that of its first values
        empty = {field.name for field in self._table.schema if holds_nothing(field.type)}
        typed = [field.name for field in items if field.name in empty and not holds_nothing(field.type)]
        if typed:
            self._table.drop_columns(typed)
            self._table = self._open(self.name)
        new = [field for field in items if field.name not in self._table.schema.names]
        if new:
            self._table.add_columns(pa.schema(new))
            self._table = self._open(self.name)
        schema = self._table.schema

        def batches() -> Iterator[Any]:
            for first, block, beside in held.blocks(s):
                own = {
                    POSITION: pa.array(np.arange(first, first + len(block))),
                    VECTOR: pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), block.shape[1]),
                }
                for field in schema:
                    if field.name not in own:
                        there = beside is not None and field.name in beside.column_names
                        values = beside[field.name].cast(field.type) if there else pa.nulls(len(block), field.type)
                        own[field.name] = values
                yield from pa.table(own).select(schema.names).cast(schema).to_batches()

        self._table.delete(f"{POSITION} >= {int(held.rows.starts[s])}")  # what a crash left behind
        self._table.add(pa.RecordBatchReader.from_batches(schema, batches()))
        self._record(after)

    def _delete(self, positions: Positions, before: DatabaseState, after: DatabaseState) -> None:
        for start in range(0, len(positions), NAMED):
            self._table.delete(f"{POSITION} IN ({', '.join(map(str, positions[start : start + NAMED].tolist()))})")
        self._record(after)

    def _build(self, held: LoadedRows, before: DatabaseState, after: DatabaseState) -> None:
        if self.kind == "ivfpq" and len(held.rows) >= CODEBOOK and self._outgrown():
            index = require("lancedb.index", "lance").IvfPq(
                distance_type="dot", num_partitions=self._lists(held), num_sub_vectors=self.code_bytes
            )
            self._table.create_index(VECTOR, config=index, replace=True)
        elif self._scattered():
            # makes one fragment of many, and adds an index for them to the one that is there
            self._table.optimize(cleanup_older_than=KEPT)
            self._open(f"{self.name}_state").optimize(cleanup_older_than=KEPT)
        self._record(after)

    def _outgrown(self) -> bool:
        """Whether a new index is due: there is none, most rows came after it, or too many were added beside it."""
        known = self._table.index_stats(f"{VECTOR}_idx")
        if known is None or known.num_indices > INDEXES:
            return True
        return bool(known.num_unindexed_rows > (GROWTH - 1) * known.num_indexed_rows)

    def _scattered(self) -> bool:
        """Whether searches have to open too many small files, or to go through too many rows one by one."""
        if self._table.stats()["fragment_stats"]["num_fragments"] > FRAGMENTS:
            return True
        known = self._table.index_stats(f"{VECTOR}_idx")
        return known is not None and bool(
            known.num_unindexed_rows > max(LOOSE_ROWS, LOOSE_SHARE * known.num_indexed_rows)
        )

    def _lists(self, held: LoadedRows) -> int:
        return self.lists or max(1, int(np.sqrt(len(held.rows))))

    def leaving_out(self, column: str, value: Any) -> Any:
        told = str(value).lower() if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"
        return f"`{column}` IS NULL OR `{column}` <> {told}"

    def _nearest(self, queries: Singles, k: int, where: Any, exact: bool) -> list[Positions]:
        return [self._nearest_to(query, k, where, exact) for query in queries]

    def _nearest_to(self, query: Singles, k: int, where: Any, exact: bool, again: bool = True) -> Positions:
        search = self._table.search(query, vector_column_name=VECTOR).distance_type("dot").limit(k)
        if exact or self.kind == "flat":
            search = search.bypass_vector_index()
        else:
            lists = self._lists(self._held)
            search = search.nprobes(min(lists, self.probes or max(16, lists // 10))).refine_factor(self.refine)
        if where is not None:
            search = search.where(where, prefilter=True)
        try:
            return np.asarray(search.select([POSITION, "_distance"]).to_arrow()[POSITION].to_numpy())
        except (ValueError, RuntimeError, TypeError) as error:
            if again and "Not found" in str(error):  # another process has tidied them away
                self._table.checkout_latest()
                return self._nearest_to(query, k, where, exact, again=False)
            if where is None:
                raise
            raise ValueError(f"LanceDB cannot filter by {where!r}: {str(error).splitlines()[0]}") from error


def holds_nothing(kind: Any) -> bool:
    """Whether a column of that type is empty all through, or has nothing but empty lists."""
    import pyarrow.types as types

    return bool(types.is_null(kind) or (types.is_list(kind) and types.is_null(kind.value_type)))


def give_back() -> None:
    """Hand memory that lies free back to the system: LanceDB writes through buffers of 5 MB, in whichever of its
    threads has time, and malloc and Arrow would keep a hole in the memory of each."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    malloc_trim()(0)


@cache
def malloc_trim() -> Callable[[int], Any]:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # only glibc has it
        return lambda kept: 0
