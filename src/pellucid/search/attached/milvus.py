"""Collections of Milvus: a cluster's, or those of Milvus Lite."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.addresses import without_password
from pellucid._core.extras import require
from pellucid._core.hints import did_you_mean
from pellucid.search._folder import CollectionError
from pellucid.search.attached.source import (
    LONGER,
    Asked,
    Found,
    Page,
    Source,
    check_columns,
    listed,
    slots,
)
from pellucid.search.engines import EngineError
from pellucid.search.engines.milvus import MOST, RELEASED, lost

METRICS = {"COSINE": "cosine", "IP": "dot", "L2": "l2"}
DYNAMIC = "$meta"
# rows that tell which dynamic fields there are
KNOWN = 256
# what decides how far a search by each index looks
WIDTHS = {"HNSW": "ef", "IVF_FLAT": "nprobe", "IVF_SQ8": "nprobe", "IVF_PQ": "nprobe", "DISKANN": "search_list"}
PROBES = 64


class MilvusSource(Source):
    """See :class:`~pellucid.search.attached.source.Source`. Reading is all that is asked, and loading a collection that
    the server has let go of."""

    engine = "milvus"

    def __init__(self, client: Any, address: str, asked: Asked, timeout: int) -> None:
        self._milvus = require("pymilvus", "milvus")
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints tracebacks of errors that it also raises
        self._client, self.timeout = client, timeout
        self.address = without_password(address)
        self.place = f"The Milvus server at {self.address}" if "://" in address else "Milvus Lite"
        names = list(self._ask("list_collections"))
        if asked.table is None:
            raise CollectionError(f"Name the table: the collections there are {listed(names)}.")
        if asked.table not in names:
            raise CollectionError(f"There is no collection {asked.table!r} in {self.place}: "
                                  f"{did_you_mean(asked.table, names)}")  # fmt: skip
        self.name = asked.table
        self._look(asked)

    def _lost(self, error: Exception) -> bool:
        return lost(self._milvus, error)

    def _ask(self, method: str, *given: Any, pauses: Sequence[float] = (), **named: Any) -> Any:
        def call() -> Any:
            try:
                return getattr(self._client, method)(*given, timeout=self.timeout, **named)
            except self._milvus.MilvusException as error:
                if error.code != RELEASED:
                    raise
                self._client.load_collection(self.name, timeout=self.timeout)
                return getattr(self._client, method)(*given, timeout=self.timeout, **named)

        try:
            return self.retry(call, pauses)
        except self._milvus.MilvusException as error:
            raise EngineError(f"{self.place} does not answer as it should: {error.message!s}.") from error

    def _look(self, asked: Asked) -> None:
        kinds = self._milvus.DataType
        told = self._ask("describe_collection", self.name)
        fields = {field["name"]: field for field in told["fields"]}
        halves = (kinds.FLOAT_VECTOR, kinds.FLOAT16_VECTOR, kinds.BFLOAT16_VECTOR)
        vectors = [name for name, field in fields.items() if field["type"] in halves]
        every = [name for name, field in fields.items() if "VECTOR" in kinds(field["type"]).name]
        self._primary = next(name for name, field in fields.items() if field.get("is_primary"))
        self._ask("load_collection", self.name)  # after a restart it may have let go of it
        self._dynamic = bool(told.get("enable_dynamic_field"))
        seen = [name for name in fields if name not in every]
        if self._dynamic:
            some = self._ask("query", self.name, filter="", output_fields=[DYNAMIC], limit=KNOWN)
            seen += [name for row in some for name in row if name not in seen and name != self._primary]
        seen = list(dict.fromkeys(seen))
        types = {name: f"{kinds(fields[name]['type']).name} values" for name in fields}
        check_columns(asked, {**dict.fromkeys(seen, "dynamic values"), **types}, f"the collection {self.name}", vectors)
        field = fields[asked.vector]
        self._vector, self.dimension = asked.vector, int(field["params"]["dim"])
        self._half = {kinds.FLOAT16_VECTOR: np.dtype(np.float16)}.get(field["type"])
        if field["type"] == kinds.BFLOAT16_VECTOR:
            raise CollectionError(f"The vectors {asked.vector!r} of {self.name} are bfloat16, which cannot be read.")
        self._id = asked.id
        self._numbers = fields.get(asked.id, {}).get("type") in (kinds.INT64, kinds.INT32, kinds.INT16, kinds.INT8)
        self._primary_numbers = fields[self._primary]["type"] == kinds.INT64
        self._parts = slots([name for name in seen if name != asked.id], asked, asked.text_among(seen))
        self.columns = tuple(self._parts)
        self._find_index()
        self.note_lengths()

    def _find_index(self) -> None:
        told: dict[str, Any] = {}
        for name in self._ask("list_indexes", self.name):
            found = self._ask("describe_index", self.name, index_name=name)
            if found and found.get("field_name") == self._vector:
                told = found
        self.metric = METRICS.get(str(told.get("metric_type", "COSINE")).upper(), "cosine")
        self._metric = next(name for name, metric in METRICS.items() if metric == self.metric)
        kind = str(told.get("index_type", "FLAT")).upper()
        self.index = None if kind == "FLAT" else kind.lower()
        self._width = WIDTHS.get(kind)
        if self.index is None:
            warnings.warn(
                f"{self.name} has no index on {self._vector!r}, so every search reads all rows: it works, but slowly "
                "once there are many. Its owner can call create_index with index_type='HNSW', metric_type='COSINE'.",
                stacklevel=2,
            )

    def _row(self, cell: Any) -> Any:
        return np.frombuffer(cell[0] if isinstance(cell, list) else cell, self._half) if self._half else cell

    def _literal(self, key: str, number: bool) -> str | None:
        """A key as expressions have it; None where it cannot be one."""
        if not number:
            return json.dumps(key, ensure_ascii=False)
        return str(int(key)) if key.lstrip("-").isdecimal() else None

    def _query(self, keys: Sequence[str], fields: list[str]) -> list[dict[str, Any]]:
        told = [text for key in keys if (text := self._literal(key, self._numbers)) is not None]
        if not told:
            return []
        asked = f"{self._id} in [{', '.join(told)}]"
        return list(self._ask("query", self.name, filter=asked, output_fields=[self._id, *fields], limit=len(told)))

    def _fields(self, columns: Sequence[str]) -> list[str]:
        return [self._parts[name] for name in columns]

    def _item(self, row: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        return {name: row.get(self._parts[name]) for name in columns}

    def count(self) -> int:
        return int(self._ask("query", self.name, filter="", output_fields=["count(*)"])[0]["count(*)"])

    def nearest(
        self, queries: NDArray[np.float32], k: int, where: Any, center: NDArray[np.float64] | None, exact: bool
    ) -> list[Found]:
        if k > MOST:
            raise ValueError(f"Milvus gives at most {MOST} rows for a query; ask for fewer.")
        params: dict[str, Any] = {}
        if self._width is not None:
            # a walk that keeps as much in view as it can comes nearest to looking at all
            widest = 2 * MOST if self._width == "ef" else 4096
            params = {self._width: widest if exact else PROBES if self._width == "nprobe" else max(128, k)}
        try:
            found = self._client.search(
                self.name, data=queries.tolist(), limit=k, filter=where or "", anns_field=self._vector,
                search_params={"metric_type": self._metric, "params": params},
                output_fields=[self._id, self._vector], timeout=self.timeout,
            )  # fmt: skip
        except self._milvus.MilvusException as error:
            if self._lost(error):
                raise
            if error.code == RELEASED:
                self._client.load_collection(self.name, timeout=self.timeout)
                return self.nearest(queries, k, where, center, exact)
            reason = str(error.message).splitlines()[0]
            if where is None:
                raise EngineError(f"{self.place} cannot search: {reason}.") from error
            raise ValueError(f"Milvus cannot filter by {where!r}: {reason}.") from error
        return [
            Found.of([hit["entity"][self._id] for hit in hits],
                     [self._row(hit["entity"][self._vector]) for hit in hits], self.dimension)
            for hits in found
        ]  # fmt: skip

    def known(self, key: str) -> str | None:
        found = self._query([key], [])
        return str(found[0][self._id]) if found else None

    def rows(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        found = self._query(keys, [self._vector])
        return {str(row[self._id]): np.asarray(self._row(row[self._vector]), dtype=np.float32) for row in found}

    def items(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = self._query(keys, self._fields(self.columns))
        return {str(row[self._id]): self._item(row, self.columns) for row in found}

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
        fields = [self._primary, self._id, *([self._vector] if vectors else []), *self._fields(wanted)]
        done = None if after is None else self._primary_of(after)
        last = None if upto is None else self._primary_of(upto)

        def next_rows() -> list[dict[str, Any]]:
            bounds = [f"{self._primary} {sign} {self._literal(str(key), self._primary_numbers)}"
                      for sign, key in ((">", done), ("<=", last)) if key is not None]  # fmt: skip
            rows = self._client.query_iterator(
                self.name, batch_size=min(size, MOST), filter=" and ".join(bounds), output_fields=fields,
                timeout=self.timeout,
            )  # fmt: skip
            try:
                return list(rows.next())
            finally:
                rows.close()

        while rows := self.retry(next_rows, LONGER):
            done = rows[-1][self._primary]
            keys = [str(row[self._id]) for row in rows]
            numbers = [self._row(row[self._vector]) for row in rows] if vectors else []
            yield Page(
                keys, Found.of(keys, numbers, self.dimension).rows if vectors else None,
                [self._item(row, wanted) for row in rows],
            )  # fmt: skip

    def _primary_of(self, key: str) -> Any:
        return key if self._id == self._primary else self._query([key], [self._primary])[0][self._primary]

    def leaving_out(self, column: str, value: Any) -> Any:
        return f"{self._parts[column]} != {json.dumps(value, ensure_ascii=False)}"

    def sample(self, rows: int) -> NDArray[Any]:
        """The first ones of every stretch of ids: Milvus draws none by chance."""
        parts: list[NDArray[Any]] = []
        share = max(1, -(-self.count() // max(1, rows)))
        for page in self.pages(self.rows_at_once(), columns=()):
            assert page.rows is not None
            parts.append(page.rows[::share])
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), dtype=np.float32)
