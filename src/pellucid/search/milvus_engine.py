"""Search by Milvus: a cluster by its address, or Milvus Lite in the collection's own folder."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from pellucid._extras import require
from pellucid.search._rows import Positions, Singles
from pellucid.search.engines import EngineError, check_counts, check_kind
from pellucid.search.mirror import Held, MirrorEngine, State, plain_items
from pellucid.search.remote import secret, without_password

POSITION, VECTOR, TOLD = "_position", "_vector", "_state"
# where the state stands among the rows
STATE = -1
# the most rows that Milvus gives for a query
MOST = 16_384
# what a server says that was started again and has not read the rows yet
RELEASED = 101


class MilvusEngine(MirrorEngine):
    """Inner products of unit vectors in a Milvus collection, with the columns of the items as dynamic fields; ``where``
    is a Milvus expression on them.

    Parameters
    ----------
    dsn : address of the cluster; Milvus Lite in the collection's own folder if None
    table : name of the Milvus collection; made from the first rows if None
    kind : "hnsw" (a graph of neighbours is walked) or "flat" (all rows are looked at)
    links, ef_construction : neighbours of a row in the graph, and how many are looked at to find them
    ef_search : how many rows a walk keeps in view
    timeout : seconds to wait for an answer
    token : what the cluster knows you by; not kept with the collection (set PELLUCID_TOKEN)
    """

    def __init__(
        self,
        dsn: str | None = None,
        table: str | None = None,
        kind: str = "hnsw",
        *,
        links: int = 16,
        ef_construction: int = 64,
        ef_search: int = 80,
        timeout: int = 30,
        token: str | None = None,
    ) -> None:
        super().__init__(table)
        check_kind(kind, ("flat", "hnsw"))
        check_counts(links=links, ef_construction=ef_construction, ef_search=ef_search, timeout=timeout)
        self._milvus = require("pymilvus", "milvus")
        if dsn is None:
            require("milvus_lite", "milvus")
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints tracebacks of errors that it also raises
        self.place = f"The Milvus server at {without_password(dsn)}" if dsn else "Milvus Lite"
        self.dsn, self.kind, self.links, self.ef_construction = dsn, kind, links, ef_construction
        self.ef_search, self.timeout, self._token = ef_search, timeout, secret(token)
        self._client: Any = None

    @classmethod
    def kept(cls, options: Any) -> dict[str, Any]:
        kept = {name: value for name, value in options.items() if name != "token"}
        return {**kept, "dsn": without_password(kept["dsn"])} if kept.get("dsn") else kept

    def ready(self) -> None:
        if self.dsn is not None:
            self.again(lambda: self._there().list_collections(timeout=self.timeout))

    @property
    def local(self) -> bool:
        return self.dsn is None

    @property
    def recipe(self) -> str:
        return "flat" if self.kind == "flat" else f"hnsw-{self.links}-{self.ef_construction}"

    def _there(self) -> Any:
        if self._client is None:
            address = self.dsn or str(self._folder / "milvus.db")  # type: ignore[operator]
            self._client = self._milvus.MilvusClient(address, token=self._token, timeout=self.timeout)
        return self._client

    def _forget(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _lost(self, error: Exception) -> bool:
        grpc = require("grpc", "milvus")
        if isinstance(error, self._milvus.MilvusException):
            # 2: cannot connect; a code of gRPC: the connection broke
            return error.code == 2 or error.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        # a client whose connection is gone says so in words
        return isinstance(error, grpc.RpcError) or (isinstance(error, ValueError) and "closed channel" in str(error))

    def _state(self) -> State | None:
        client = self._there()
        if not client.has_collection(self.name, timeout=self.timeout):
            return None
        client.load_collection(self.name, timeout=self.timeout)  # after a restart it may have let go of it
        found = client.get(self.name, ids=[STATE], output_fields=[TOLD], timeout=self.timeout)
        return State.parse(found[0][TOLD]) if found else None

    def _record(self, after: State) -> None:
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
        self._record(State(index=self.recipe))

    def _clear(self) -> None:
        self._there().drop_collection(self.name, timeout=self.timeout)

    def _add(self, held: Held, s: int, before: State, after: State) -> None:
        for first, block, items in held.blocks(s):
            beside = plain_items(items) if items is not None else [{}] * len(block)
            clash = beside[0].keys() & {POSITION, VECTOR, TOLD}
            if clash:
                raise ValueError(f"The column name {min(clash)!r} is taken in Milvus; rename the column.")
            rows = [{**item, POSITION: i, VECTOR: v.tolist()} for i, (v, item) in enumerate(zip(block, beside), first)]
            self._there().upsert(self.name, rows, timeout=self.timeout)
        self._record(State(after.keys, after.deleted, before.index))  # Milvus keeps its index up to date

    def _delete(self, positions: Positions, before: State, after: State) -> None:
        for start in range(0, len(positions), MOST):
            part = positions[start : start + MOST].tolist()
            self._there().delete(self.name, ids=part, timeout=self.timeout)
        self._record(after)

    def _build(self, held: Held, before: State, after: State) -> None:
        client = self._there()
        client.release_collection(self.name, timeout=self.timeout)
        client.drop_index(self.name, index_name=VECTOR, timeout=self.timeout)
        client.create_index(self.name, self._index(), timeout=self.timeout)
        client.load_collection(self.name, timeout=self.timeout)
        self._record(after)

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
