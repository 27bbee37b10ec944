"""Search by Milvus: a cluster by its address, or Milvus Lite in the collection's own folder."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np

from pellucid._core.extras import require
from pellucid.search._rows import Positions, Singles
from pellucid.search.engines import EngineError
from pellucid.search.engines.database import DatabaseState, LoadedRows, plain_items
from pellucid.search.engines.graph import GraphEngine, without_password

POSITION, VECTOR, TOLD = "_position", "_vector", "_state"
# where the state stands among the rows
STATE = -1
# the most rows that Milvus gives for a query
MOST = 16_384
# what a server says that was started again and has not read the rows yet
RELEASED = 101
# what the state says after additions that are not in the index yet
GROWING = " and more"


class MilvusEngine(GraphEngine):
    """Inner products of unit vectors in a Milvus collection, with the columns of the items as dynamic fields.

    ``where`` is a Milvus expression on them. Milvus Lite serves a collection's own folder; see :class:`GraphEngine` for
    the options.
    """

    def _set_up(self) -> None:
        self._milvus = require("pymilvus", "milvus")
        if self.dsn is None:
            require("milvus_lite", "milvus")
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints tracebacks of errors that it also raises
        self.place = f"The Milvus server at {without_password(self.dsn)}" if self.dsn else "Milvus Lite"

    def ready(self) -> None:
        if self.dsn is not None:
            self.retry(lambda: self._there().list_collections(timeout=self.timeout))

    def _there(self) -> Any:
        if self._client is None:
            address = self.dsn or str(self._folder / "milvus.db")  # type: ignore[operator]
            self._client = self._milvus.MilvusClient(address, token=self._token, timeout=self.timeout)
        return self._client

    def _lost(self, error: Exception) -> bool:
        return lost(self._milvus, error)

    def _state(self) -> DatabaseState | None:
        client = self._there()
        if not client.has_collection(self.name, timeout=self.timeout):
            return None
        client.load_collection(self.name, timeout=self.timeout)  # after a restart it may have let go of it
        found = client.get(self.name, ids=[STATE], output_fields=[TOLD], timeout=self.timeout)
        return DatabaseState.parse(found[0][TOLD]) if found else None

    def _record(self, after: DatabaseState) -> None:
        row = {POSITION: STATE, VECTOR: [0.0] * self._held.rows.segments[0].shape[1], TOLD: after.text()}
        self._there().upsert(self.name, [row], timeout=self.timeout)

    def _index(self) -> Any:
        index = self._there().prepare_index_params()
        params = {} if self.kind == "flat" else {"M": self.links, "efConstruction": self.ef_construction}
        index.add_index(VECTOR, index_type=self.kind.upper(), metric_type="IP", params=params)
        return index

    def _create(self, dimension: int) -> None:
        client, kinds = self._there(), self._milvus.DataType
        if not client.has_collection(self.name, timeout=self.timeout):
            schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
            schema.add_field(POSITION, kinds.INT64, is_primary=True)
            schema.add_field(VECTOR, kinds.FLOAT_VECTOR, dim=dimension)
            client.create_collection(
                self.name, schema=schema, index_params=self._index(), consistency_level="Strong", timeout=self.timeout
            )
        self._record(DatabaseState(index=self.index_spec))

    def _clear(self) -> None:
        self._there().drop_collection(self.name, timeout=self.timeout)

    def _add(self, held: LoadedRows, s: int, before: DatabaseState, after: DatabaseState) -> None:
        for first, block, items in held.blocks(s):
            beside = plain_items(items) if items is not None else [{}] * len(block)
            clash = beside[0].keys() & {POSITION, VECTOR, TOLD}
            if clash:
                raise ValueError(f"The column name {min(clash)!r} is taken in Milvus; rename the column.")
            rows = [{**item, POSITION: i, VECTOR: v.tolist()} for i, (v, item) in enumerate(zip(block, beside), first)]
            self._there().upsert(self.name, rows, timeout=self.timeout)
        self._record(DatabaseState(after.keys, after.deleted, before.index.removesuffix(GROWING) + GROWING))

    def _delete(self, positions: Positions, before: DatabaseState, after: DatabaseState) -> None:
        for start in range(0, len(positions), MOST):
            part = positions[start : start + MOST].tolist()
            self._there().delete(self.name, ids=part, timeout=self.timeout)
        self._record(after)

    def _build(self, held: LoadedRows, before: DatabaseState, after: DatabaseState) -> None:
        client = self._there()
        if before.index.removesuffix(GROWING) != self.index_spec:
            client.release_collection(self.name, timeout=self.timeout)
            client.drop_index(self.name, index_name=VECTOR, timeout=self.timeout)
            client.create_index(self.name, self._index(), timeout=self.timeout)
            client.load_collection(self.name, timeout=self.timeout)
        client.flush(self.name, timeout=self.timeout)  # rows that were not written out are not in the index
        self._record(after)

    def leaving_out(self, column: str, value: Any) -> Any:
        return f"{column} != {json.dumps(value, ensure_ascii=False)}"

    def _nearest(self, queries: Singles, k: int, where: Any, exact: bool) -> list[Positions]:
        if k > MOST:
            raise ValueError(f"Milvus gives at most {MOST} rows for a query; ask for fewer.")
        # a walk that keeps as much in view as it can comes nearest to looking at all
        params = {} if self.kind == "flat" else {"ef": 2 * MOST if exact else max(self.ef_search, k)}
        asked = {
            "data": queries.tolist(), "limit": k, "filter": where or "", "anns_field": VECTOR, "timeout": self.timeout,
            "search_params": {"metric_type": "IP", "params": params}, "output_fields": [POSITION],
        }  # fmt: skip
        try:
            found = self._ask(asked)
        except self._milvus.MilvusException as error:
            if self._lost(error):
                raise
            reason = str(error.message).splitlines()[0]
            if where is None:
                raise EngineError(f"{self.place} cannot search: {reason}.") from error
            raise ValueError(f"Milvus cannot filter by {where!r}: {reason}.") from error
        return [np.array([hit[POSITION] for hit in hits], dtype=np.int64) for hits in found]

    def _ask(self, asked: dict[str, Any]) -> Any:
        client = self._there()
        try:
            return client.search(self.name, **asked)
        except self._milvus.MilvusException as error:
            if error.code != RELEASED:
                raise
            client.load_collection(self.name, timeout=self.timeout)
            return client.search(self.name, **asked)


def lost(milvus: Any, error: Exception) -> bool:
    """Whether an error of a client means that the connection is gone."""
    grpc = require("grpc", "milvus")
    if isinstance(error, milvus.MilvusException):
        # 2: cannot connect; a code of gRPC: the connection broke
        return error.code == 2 or error.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    # a client whose connection is gone says so in words
    return isinstance(error, grpc.RpcError) or (isinstance(error, ValueError) and "closed channel" in str(error))
