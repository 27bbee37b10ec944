"""Attached tables: how many of the 20 best in the space of the model a search finds that goes through the index which
is there, of raw rows; and what that costs beside the engine's plain query and beside a copy of our own."""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances, seconds
from benchmarks.raw_rows import sets
from pellucid import ConceptSubspaces
from pellucid.search import Collection, ConceptSearch, attach

K, QUERIES = 20, 100
# Qdrant's local mode writes a row at a time
QDRANT_ROWS = 2_000
Table = tuple[Any, dict[str, Any], Callable[[np.ndarray], Any]]


def run(results: Path, most: int | None = None) -> None:
    facts = circumstances("lancedb", "psycopg", "pymilvus", "milvus-lite", "qdrant-client")
    lines = [
        "# Attached tables", "",
        f"Measured on {facts['date']} at {facts['commit']}, {facts['cores']} cores. Printed by `python -m benchmarks "
        f"attached`: {QUERIES} items of raw vectors ask for their {K} nearest at the default oversampling, one at a "
        "time, through the index of a table that somebody else made; recall is against the exact ranking of all rows "
        "in the space of the model, which takes the mean out. A plain query is the engine's own for as many "
        "neighbours; the copy is a `Collection` with that engine. Medians.",
    ]  # fmt: skip
    from benchmarks.engines import server

    with server() as dsn:
        for name, X, Y, train in sets():
            X = np.asarray(X, dtype=np.float32)[:most]
            model = ConceptSubspaces(4, max_iter=3, random_state=0, presence=False).fit(
                X[train][: len(X)], Y[train][: len(X)]
            )
            lines += ["", f"## {name}: {len(X):,} × {X.shape[1]}", "",
                      "| engine | recall@20, whole | by concept | plain query | attached, whole | by concept | copy, "
                      "whole |", "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
            for cells in rows(X, Y[: len(X)], model, dsn):
                lines.append("| " + " | ".join(cells) + " |")
                print(name, lines[-1], flush=True)
    (results / "attached.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(X: np.ndarray, Y: np.ndarray, model: Any, dsn: str) -> Iterator[list[str]]:
    for engine, make in (("postgres", postgres), ("qdrant", qdrant), ("milvus", milvus), ("lance", lance),
                         ("arrow", arrow)):  # fmt: skip
        part = X[:QDRANT_ROWS] if engine == "qdrant" else X
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            place, asked, plain = make(part, dsn, Path(folder))
            there = ConceptSearch(attach(place, **asked), model)
            exact = ConceptSearch(Collection.create(Path(folder) / "exact", part), model)
            given = {"dsn": dsn, "table": f"copy {part.shape}"} if engine == "postgres" else {}
            own = "exact" if engine == "arrow" else engine
            copied = ConceptSearch(
                Collection.create(Path(folder) / "copy", part, engine=own, engine_options=given), model
            )
            picked = np.random.default_rng(0).choice(np.flatnonzero(Y[: len(part)].any(axis=1)), QUERIES, replace=False)
            concepts = [str(name) for name in model.concept_names_]
            found: dict[str, list[float]] = {"whole": [], "concept": []}
            times: dict[str, list[float]] = {"plain": [], "whole": [], "concept": [], "copy": []}
            for row in picked:
                for what, more in (("whole", {}), ("concept", {"concept": concepts[np.flatnonzero(Y[row])[0]]})):
                    best = {hit.id for hit in exact.search(part[row], k=K, **more)}
                    hits, took = timed(partial(ids, there, part[row], **more))
                    times[what].append(took)
                    found[what].append(len(best & set(hits)) / max(1, len(best)))
                times["plain"].append(timed(partial(plain, part[row]))[1])
                times["copy"].append(timed(partial(ids, copied, part[row]))[1])
            told = {name: statistics.median(took) for name, took in times.items()}
            yield [
                engine + (f", first {len(part):,} rows" if len(part) < len(X) else ""),
                f"{np.mean(found['whole']):.4f}", f"{np.mean(found['concept']):.4f}", seconds(told["plain"]),
                f"{seconds(told['whole'])} ({told['whole'] / told['plain']:.1f}×)", seconds(told["concept"]),
                seconds(told["copy"]),
            ]  # fmt: skip


def ids(search: ConceptSearch, query: np.ndarray, **more: Any) -> list[str]:
    return [hit.id for hit in search.search(query, k=K, **more)]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def postgres(X: np.ndarray, dsn: str, folder: Path) -> Table:
    import psycopg
    from pgvector.psycopg import register_vector

    connection = psycopg.connect(dsn, autocommit=True)
    register_vector(connection)
    connection.execute("DROP TABLE IF EXISTS documents")
    connection.execute(f"CREATE TABLE documents (id int PRIMARY KEY, embedding vector({X.shape[1]}))")
    with connection.cursor().copy("COPY documents FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for i, row in enumerate(X):
            copy.write_row((i, row))
    connection.execute("CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops)")
    connection.execute("ANALYZE documents")
    asked = f"SELECT id FROM documents ORDER BY embedding <=> %s LIMIT {K}"
    return dsn, {"table": "documents"}, lambda query: connection.execute(asked, (query,)).fetchall()


def qdrant(X: np.ndarray, dsn: str, folder: Path) -> Table:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = models.VectorParams(size=X.shape[1], distance=models.Distance.COSINE)
    client.create_collection("documents", vectors_config=size)
    client.upsert("documents", models.Batch(ids=list(range(len(X))), vectors=X.tolist()))
    return client, {"table": "documents"}, lambda query: client.query_points("documents", query.tolist(), limit=K)


def milvus(X: np.ndarray, dsn: str, folder: Path) -> Table:
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder / "m.db"))
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=X.shape[1])
    index = client.prepare_index_params()
    index.add_index("embedding", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 64})
    client.create_collection("documents", schema=schema, index_params=index, consistency_level="Strong")
    for start in range(0, len(X), 1000):
        part = [{"id": i, "embedding": row.tolist()} for i, row in enumerate(X[start : start + 1000], start)]
        client.insert("documents", part)
    client.flush("documents")
    return client, {"table": "documents"}, lambda query: client.search("documents", [query.tolist()], limit=K)


def lance(X: np.ndarray, dsn: str, folder: Path) -> Table:
    import lancedb

    table = lancedb.connect(str(folder / "lance")).create_table("documents", arrow(X, dsn, folder)[0])
    table.create_index(metric="cosine", vector_column_name="embedding")
    return table, {"table": "documents"}, lambda query: table.search(query).distance_type("cosine").limit(K).to_arrow()


def arrow(X: np.ndarray, dsn: str, folder: Path) -> Table:
    import pyarrow as pa

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    table = pa.table({"id": np.arange(len(X)), "embedding": vectors})
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    return table, {}, lambda query: np.argpartition(units @ query, -K)[-K:]
