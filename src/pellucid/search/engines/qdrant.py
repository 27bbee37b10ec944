"""Search by Qdrant: a server by its address, or its local mode in the collection's own folder."""

from __future__ import annotations

import json
import threading
import weakref
from typing import Any

import numpy as np

from pellucid._core.extras import require
from pellucid.search._rows import Positions, Singles
from pellucid.search.engines import EngineError
from pellucid.search.engines.database import DatabaseState, LoadedRows, plain_items
from pellucid.search.engines.graph import GraphEngine, without_password

TOLD = "_state"
# Qdrant's ids are not negative: the state is the first point, and rows follow
STATE, FIRST = 0, 1
NAMED = 10_000


class QdrantEngine(GraphEngine):
    """Inner products of unit vectors in a Qdrant collection, with the columns of the items as payload.

    ``where`` is a Qdrant filter on them, as a dictionary, in JSON, or as ``qdrant_client.models.Filter``. Qdrant's
    local mode, which looks at all rows and is meant for small collections and one process, serves a collection's own
    folder; see :class:`GraphEngine` for the options.
    """

    def _set_up(self) -> None:
        self._qdrant = require("qdrant_client", "qdrant")
        self._models = require("qdrant_client.models", "qdrant")  # which older ones do not import by themselves
        self.place = f"The Qdrant server at {without_password(self.dsn)}" if self.dsn else "Qdrant's local mode"
        self._one = threading.Lock()  # local mode must not be used from two threads at once

    def ready(self) -> None:
        if self.dsn is not None:
            self.retry(lambda: self._there().get_collections())

    def _there(self) -> Any:
        if self._client is None and self.dsn is None:
            folder = self._folder / "qdrant"  # type: ignore[operator]
            try:
                self._client = self._qdrant.QdrantClient(path=str(folder))
                weakref.finalize(self, self._client.close)  # before the interpreter takes itself apart
            except RuntimeError as error:
                raise EngineError(
                    f"{folder} is in use by another process, and Qdrant's local mode serves one at a time: run a "
                    "server and give its address as dsn."
                ) from error
        elif self._client is None:
            self._client = self._qdrant.QdrantClient(
                url=self.dsn, api_key=self._token or None, timeout=self.timeout, check_compatibility=False
            )
        return self._client

    def _lost(self, error: Exception) -> bool:
        return lost(error)

    def _graph(self) -> Any:
        # without links there is no graph to build
        return self._models.HnswConfigDiff(
            m=0 if self.kind == "flat" else self.links, ef_construct=self.ef_construction
        )

    def _state(self) -> DatabaseState | None:
        client = self._there()
        if not client.collection_exists(self.name):
            return None
        found = client.retrieve(self.name, ids=[STATE], with_payload=True)
        return DatabaseState.parse(found[0].payload[TOLD]) if found else None

    def _put(self, ids: list[int], vectors: Any, payloads: list[dict[str, Any]]) -> None:
        batch = self._models.Batch(ids=ids, vectors=vectors.tolist(), payloads=payloads)
        self._there().upsert(self.name, points=batch, wait=True)

    def _record(self, after: DatabaseState) -> None:
        self._put([STATE], np.zeros((1, self._held.rows.segments[0].shape[1])), [{TOLD: after.text()}])

    def _create(self, dimension: int) -> None:
        size = self._models.VectorParams(size=dimension, distance=self._models.Distance.DOT)
        if not self._there().collection_exists(self.name):
            self._there().create_collection(self.name, vectors_config=size, hnsw_config=self._graph())
        self._record(DatabaseState(index=self.index_spec))

    def _clear(self) -> None:
        self._there().delete_collection(self.name)

    def _add(self, held: LoadedRows, s: int, before: DatabaseState, after: DatabaseState) -> None:
        for first, block, items in held.blocks(s):
            beside = plain_items(items) if items is not None else [{}] * len(block)
            if TOLD in beside[0]:
                raise ValueError(f"The column name {TOLD!r} is taken in Qdrant; rename the column.")
            self._put(list(range(first + FIRST, first + FIRST + len(block))), block, beside)
        self._record(DatabaseState(after.keys, after.deleted, before.index))  # Qdrant keeps its index up to date

    def _delete(self, positions: Positions, before: DatabaseState, after: DatabaseState) -> None:
        for start in range(0, len(positions), NAMED):
            ids = (positions[start : start + NAMED] + FIRST).tolist()
            self._there().delete(self.name, points_selector=self._models.PointIdsList(points=ids), wait=True)
        self._record(after)

    def _build(self, held: LoadedRows, before: DatabaseState, after: DatabaseState) -> None:
        if not self.local:
            self._there().update_collection(self.name, hnsw_config=self._graph())
        self._record(after)

    def leaving_out(self, column: str, value: Any) -> Any:
        return {"must_not": [{"key": column, "match": {"value": value}}]}

    def _nearest(self, queries: Singles, k: int, where: Any, exact: bool) -> list[Positions]:
        models = self._models
        params = None  # local mode looks at all rows in any case
        if not self.local:
            params = models.SearchParams(exact=exact or self.kind == "flat", hnsw_ef=max(self.ef_search, k))
        try:
            told = json.loads(where) if isinstance(where, str) else where
            wanted = models.Filter.model_validate(told) if isinstance(told, dict) else told
        except ValueError as error:
            raise ValueError(f"Qdrant cannot filter by {where!r}: {str(error).splitlines()[0]}.") from error
        if wanted is not None and not isinstance(wanted, models.Filter):
            raise ValueError(f"A filter of Qdrant is a dictionary or a Filter, got {where!r}.")
        asked = [models.QueryRequest(query=query, limit=k, filter=wanted, params=params) for query in queries.tolist()]
        with self._one:
            found = self._there().query_batch_points(self.name, requests=asked)
        return [np.array([point.id - FIRST for point in answer.points], dtype=np.int64) for answer in found]


def lost(error: Exception) -> bool:
    """Whether an error of a client means that the connection is gone."""
    exceptions = require("qdrant_client.http.exceptions", "qdrant")
    if isinstance(error, exceptions.UnexpectedResponse):
        return error.status_code in (502, 503, 504)
    return isinstance(error, exceptions.ResponseHandlingException)
