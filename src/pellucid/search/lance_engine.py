"""Search by LanceDB: embedded, on disk, for more rows than memory holds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid._extras import require
from pellucid.search._rows import Positions, Singles
from pellucid.search.engines import check_counts, check_kind
from pellucid.search.faiss_engine import CODEBOOK, GROWTH
from pellucid.search.mirror import Held, MirrorEngine, State

POSITION, VECTOR = "_position", "_vector"
# positions that one deletion names
NAMED = 10_000


class LanceEngine(MirrorEngine):
    """Inner products of unit vectors in a Lance table, whose other columns are those of the items; ``where`` is a
    condition in SQL on them.

    Parameters
    ----------
    dsn : folder or address of the database, as LanceDB takes it; in the collection's own folder if None
    table : name of the table; made from the first rows if None
    kind : "ivfpq" (rows are coded by product quantisation and kept in lists, of which the nearest are looked at) or
        "flat" (all rows are looked at)
    lists, probes : number of lists (the root of the number of rows if None) and how many of them are looked at (a
        tenth, at least 16, if None)
    code_bytes : bytes of a coded row, a divisor of the dimension (LanceDB chooses if None)
    refine : how many coded rows are looked at again, for each that is asked for
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
    def local(self) -> bool:
        return self.dsn is None

    @property
    def recipe(self) -> str:
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

    def _state(self) -> State | None:
        found = self._open(f"{self.name}_state")
        self._table = self._open(self.name)
        return None if found is None or self._table is None else State.parse(found.to_arrow()["told"][0].as_py())

    def _record(self, after: State) -> None:
        import pyarrow as pa

        self._database().create_table(f"{self.name}_state", pa.table({"told": [after.text()]}), mode="overwrite")

    def _create(self, dimension: int) -> None:
        import pyarrow as pa

        schema = pa.schema([(POSITION, pa.int64()), (VECTOR, pa.list_(pa.float32(), dimension))])
        self._table = self._database().create_table(self.name, schema=schema, mode="overwrite")
        self._record(State())

    def _clear(self) -> None:
        if self._folder is not None and self.local:
            shutil.rmtree(self._folder / "lance")
        else:
            for name in (self.name, f"{self.name}_state"):
                self._database().drop_table(name)

    def _add(self, held: Held, s: int, before: State, after: State) -> None:
        import pyarrow as pa

        items = [field for field in held.items[s].schema if "binary" not in str(field.type)] if held.items else []
        clash = {field.name for field in items} & {POSITION, VECTOR}
        if clash:
            raise ValueError(f"The column name {min(clash)!r} is taken in LanceDB; rename the column.")
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

    def _delete(self, positions: Positions, before: State, after: State) -> None:
        for start in range(0, len(positions), NAMED):
            self._table.delete(f"{POSITION} IN ({', '.join(map(str, positions[start : start + NAMED].tolist()))})")
        self._record(after)

    def _build(self, held: Held, before: State, after: State) -> None:
        if self.kind == "ivfpq" and len(held.rows) >= CODEBOOK:
            known = self._table.index_stats(f"{VECTOR}_idx")
            if known is None or known.num_unindexed_rows > (GROWTH - 1) * known.num_indexed_rows:
                index = require("lancedb.index", "lance").IvfPq(
                    distance_type="dot", num_partitions=self._lists(held), num_sub_vectors=self.code_bytes
                )
                self._table.create_index(VECTOR, config=index, replace=True)
            else:
                self._table.optimize()
        self._record(after)

    def _lists(self, held: Held) -> int:
        return self.lists or max(1, int(np.sqrt(len(held.rows))))

    def _nearest(self, queries: Singles, k: int, where: Any, exact: bool) -> list[Positions]:
        found = []
        lists = self._lists(self._held)
        for query in queries:
            search = self._table.search(query, vector_column_name=VECTOR).distance_type("dot").limit(k)
            if exact or self.kind == "flat":
                search = search.bypass_vector_index()
            else:
                search = search.nprobes(min(lists, self.probes or max(16, lists // 10))).refine_factor(self.refine)
            if where is not None:
                search = search.where(where, prefilter=True)
            try:
                rows = search.select([POSITION, "_distance"]).to_arrow()
            except (ValueError, RuntimeError, TypeError) as error:
                if where is None:
                    raise
                raise ValueError(f"LanceDB cannot filter by {where!r}: {str(error).splitlines()[0]}") from error
            found.append(rows[POSITION].to_numpy())
        return found
