"""Collections of Qdrant: a server's, or those of a client in local mode."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.addresses import without_password
from pellucid._core.extras import require
from pellucid._core.hints import did_you_mean
from pellucid.search._folder import CollectionError
from pellucid.search.attached.source import LONGER, Asked, Found, Page, Source, listed, slots
from pellucid.search.engines.qdrant import lost

METRICS = {"Cosine": "cosine", "Dot": "dot", "Euclid": "l2", "Manhattan": "l1"}
# how a point's own id is written
NUMBER = re.compile(r"\d+")
POINT = re.compile(r"\d+|[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
# points whose payloads tell which columns there are
KNOWN = 256


class QdrantSource(Source):
    """See :class:`~pellucid.search.attached.source.Source`. Ids are those of the points, or a field of the payload that
    ``id`` names."""

    engine = "qdrant"
    _using: str | None

    def __init__(self, client: Any, address: str, asked: Asked, timeout: int) -> None:
        self._models = require("qdrant_client.models", "qdrant")
        self._client, self.timeout = client, timeout
        self.address = without_password(address)
        self.place = f"The Qdrant server at {self.address}" if "://" in address else "Qdrant's local mode"
        self._one = threading.Lock()  # local mode must not be used from two threads at once
        names = [each.name for each in self._ask("get_collections").collections]
        if asked.table is None:
            raise CollectionError(f"Name the table: the collections there are {listed(names)}.")
        if asked.table not in names:
            raise CollectionError(f"There is no collection {asked.table!r} in {self.place}: "
                                  f"{did_you_mean(asked.table, names)}")  # fmt: skip
        self.name = asked.table
        self._look(asked)

    def _lost(self, error: Exception) -> bool:
        return lost(error)

    def _ask(self, method: str, *given: Any, pauses: Sequence[float] = (), **named: Any) -> Any:
        def call() -> Any:
            with self._one:
                return getattr(self._client, method)(*given, **named)

        return self.retry(call, pauses)

    def _look(self, asked: Asked) -> None:
        config = self._ask("get_collection", self.name).config
        there = config.params.vectors
        if isinstance(there, dict):
            if asked.vector not in there:
                raise CollectionError(
                    f"The collection {self.name} has no vector {asked.vector!r}: its named vectors are "
                    f"{listed(list(there))}. Name one as the vector."
                )
            self._using, params = str(asked.vector), there[asked.vector]
            has = self._models.HasVectorCondition(has_vector=asked.vector)
            self._filled = self._models.Filter(must=[has])
        else:
            if there is None or asked.vector not in ("embedding", "vector", ""):
                raise CollectionError(f"The collection {self.name} has no vector {asked.vector!r}: its vector has no "
                                      "name, so none is needed.")  # fmt: skip
            self._using, params, self._filled = None, there, None
        if params.multivector_config is not None:
            raise CollectionError(f"The vectors of {self.name} are several for each point, which cannot be attached.")
        self.dimension, self.metric = int(params.size), METRICS[params.distance.value]
        graph = params.hnsw_config or config.hnsw_config
        self.index = None if graph.m == 0 else "hnsw"
        if self.index is None:
            warnings.warn(
                f"{self.name} has no index, so every search reads all rows: it works, but slowly once there are many. "
                f"Its owner can call update_collection({self.name!r}, hnsw_config=HnswConfigDiff(m=16)).", stacklevel=2,
            )  # fmt: skip
        points, _ = self._ask("scroll", self.name, limit=KNOWN, with_payload=True, with_vectors=False)
        seen = list(dict.fromkeys(name for point in points for name in point.payload or {}))
        self._id = None if asked.id == "id" else asked.id
        text = asked.text_among(seen)
        for role, name in (("id", self._id), ("text", asked.text), *(("columns", c) for c in asked.columns or ())):
            if name is not None and name not in seen:
                raise CollectionError(f"No payload of {self.name} has {name!r}, which was named as {role}: "
                                      f"{did_you_mean(name, seen)}")  # fmt: skip
        self._parts = slots(seen, asked, text)
        self.columns, self.has_thumbnails = tuple(self._parts), False
        self.note_lengths()

    def _key(self, point: Any) -> str:
        return str(point.id) if self._id is None else str((point.payload or {}).get(self._id))

    def _vector(self, point: Any) -> Any:
        return point.vector[self._using] if self._using is not None else point.vector

    def _item(self, point: Any, columns: Sequence[str]) -> dict[str, Any]:
        return {name: (point.payload or {}).get(self._parts[name]) for name in columns}

    def _points(self, keys: Sequence[str], vectors: bool, payload: bool) -> list[Any]:
        more: dict[str, Any] = {
            "with_vectors": self._wanted if vectors else False,
            "with_payload": payload or self._id is not None,
        }
        if self._id is None:
            ids = [int(key) if NUMBER.fullmatch(key) else key for key in keys if POINT.fullmatch(key)]
            return list(self._ask("retrieve", self.name, ids=ids, **more)) if ids else []
        values = [*keys, *(int(key) for key in keys if NUMBER.fullmatch(key))]
        texts = [value for value in values if isinstance(value, str)]
        numbers = [value for value in values if isinstance(value, int)]
        models = self._models
        either = [models.FieldCondition(key=self._id, match=models.MatchAny(any=part))
                  for part in (texts, numbers) if part]  # fmt: skip
        found = self._ask("scroll", self.name, limit=len(keys), scroll_filter=models.Filter(should=either), **more)
        return list(found[0])

    @property
    def _wanted(self) -> Any:
        return True if self._using is None else [self._using]

    def count(self) -> int:
        return int(self._ask("count", self.name, count_filter=self._filled).count)

    def missing(self) -> int:
        return int(self._ask("count", self.name).count) - self.count()

    def nearest(
        self, queries: NDArray[np.float32], k: int, where: Any, center: NDArray[np.float64] | None, exact: bool
    ) -> list[Found]:
        models = self._models
        try:
            told = json.loads(where) if isinstance(where, str) else where
            wanted = models.Filter.model_validate(told) if isinstance(told, dict) else told
        except ValueError as error:
            raise ValueError(f"Qdrant cannot filter by {where!r}: {str(error).splitlines()[0]}.") from error
        if wanted is not None and not isinstance(wanted, models.Filter):
            raise ValueError(f"A filter of Qdrant is a dictionary or a Filter, got {where!r}.")
        found = []
        for query in queries:
            with self._one:
                points = self._client.query_points(
                    self.name, query=query.tolist(), using=self._using, limit=k, query_filter=wanted,
                    search_params=models.SearchParams(exact=exact, hnsw_ef=max(128, k)),
                    with_vectors=self._wanted, with_payload=self._id is not None and [self._id],
                ).points  # fmt: skip
            keys, rows = [self._key(point) for point in points], [self._vector(point) for point in points]
            found.append(Found.of(keys, rows, self.dimension))
        return found

    def known(self, key: str) -> str | None:
        found = self._points([key], False, False)
        return self._key(found[0]) if found else None

    def rows(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        points = self._points(keys, True, False)
        there = [point for point in points if point.vector is not None and (self._using is None or
                 self._using in point.vector)]  # fmt: skip
        return {self._key(point): np.asarray(self._vector(point), dtype=np.float32) for point in there}

    def items(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {self._key(point): self._item(point, self.columns) for point in self._points(keys, False, True)}

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
        offset = None if after is None else self._points([after], False, False)[0].id
        first = offset
        while True:
            points, offset = self._ask(
                "scroll", self.name, scroll_filter=self._filled, limit=size, offset=offset, pauses=LONGER,
                with_payload=bool(wanted) or self._id is not None, with_vectors=self._wanted if vectors else False,
            )  # fmt: skip
            points = [point for point in points if first is None or point.id != first]
            keys = [self._key(point) for point in points]
            last = upto is not None and upto in keys
            if last:
                points = points[: keys.index(str(upto)) + 1]
                keys = keys[: len(points)]
            if points:
                lists = [self._vector(point) for point in points] if vectors else []
                rows = Found.of(keys, lists, self.dimension).rows if vectors else None
                yield Page(keys, rows, [self._item(point, wanted) for point in points])
            if offset is None or last:
                return

    def leaving_out(self, column: str, value: Any) -> Any:
        return {"must_not": [{"key": self._parts[column], "match": {"value": value}}]}

    def sample(self, rows: int) -> NDArray[Any]:
        if self.count() <= rows:
            parts = [page.rows for page in self.pages(self.rows_at_once(), columns=()) if page.rows is not None]
            return np.concatenate(parts) if parts else np.empty((0, self.dimension), dtype=np.float32)
        chance = self._models.SampleQuery(sample=self._models.Sample.RANDOM)
        found = self._ask("query_points", self.name, query=chance, limit=rows, query_filter=self._filled,
                          with_vectors=self._wanted, with_payload=False).points  # fmt: skip
        return Found.of([str(point.id) for point in found], [self._vector(point) for point in found],
                        self.dimension).rows  # fmt: skip
