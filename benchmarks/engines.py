"""Engines side by side: how much of the true 20 nearest each finds, at which settings, and how long a query takes."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.harness import circumstances, seconds
from pellucid.datasets import load_scenes
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection

K, QUERIES, ROWS, DIMENSION = 20, 100, 50_000, 128
# engine, what decides how the rows are kept, and settings of the search that are tried with it
SETTINGS = [
    ("exact", {}, [{}]),
    ("faiss", {"kind": "flat"}, [{}]),
    ("faiss", {"kind": "hnsw"}, [{"ef_search": 20}, {"ef_search": 80}, {"ef_search": 320}]),
    ("faiss", {"kind": "ivfpq"}, [{"probes": 4}, {"probes": 16}, {"probes": 64}]),
    ("lance", {"kind": "flat"}, [{}]),
    ("lance", {"kind": "ivfpq"}, [{"probes": 4}, {"probes": 16}, {"probes": 64}]),
    ("postgres", {"kind": "flat"}, [{}]),
    ("postgres", {"kind": "hnsw"}, [{"ef_search": 20}, {"ef_search": 80}, {"ef_search": 320}]),
    ("milvus", {"kind": "flat"}, [{}]),
    ("milvus", {"kind": "hnsw"}, [{"ef_search": 20}, {"ef_search": 80}, {"ef_search": 320}]),
    ("qdrant", {}, [{}]),
]
# local mode writes a row at a time
QDRANT_ROWS = 2_000


def run(results: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    facts = circumstances("faiss-cpu", "lancedb", "psycopg", "pymilvus", "milvus-lite", "qdrant-client")
    listed = ", ".join(f"{package} {number}" for package, number in facts["packages"].items())
    lines = [
        "# Engines", "",
        f"Measured on {facts['date']}, {facts['cores']} cores, {facts['machine']}, Python {facts['python']}, {listed}.",
        f"Printed by `python -m benchmarks engines`: recall of the true {K} nearest rows (in float64), over {QUERIES} "
        "queries asked one at a time, of which the median is given; filling includes building the index. PostgreSQL 18 "
        "with pgvector behind a socket, LanceDB on disk; Milvus Lite, in Python and meant for trials, says little "
        "about a cluster; Qdrant's local mode looks at every row, has no approximate settings, and its server is not "
        "measured.",
    ]  # fmt: skip
    with server() as dsn:
        for title, pool, queries in problems():
            lines += ["", f"## {title}", "", "| engine | settings | filling | recall@20 | a query |",
                      "| --- | --- | --- | --- | --- |"]  # fmt: skip
            for cells in rows(pool, queries, dsn):
                lines.append("| " + " | ".join(cells) + " |")
                print(lines[-1], flush=True)
    (results / "engines.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    folder = os.environ.get("PELLUCID_DATA")
    if folder and (Path(folder) / "coco_captions.npz").is_file():
        from reproductions.data import load_coco_captions

        X, name = load_coco_captions().vectors.astype(np.float32), "COCO captions"
    else:
        X, name = load_scenes().vectors.astype(np.float32), "Scenes"
    X = CenteredNormalizer().fit_transform(X)
    X = X[np.random.default_rng(0).permutation(len(X))]
    pool = X[QUERIES:]
    yield f"{name}: {len(pool):,} × {X.shape[1]}", pool, X[:QUERIES]
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((500, DIMENSION))
    drawn = centres[rng.integers(0, 500, ROWS + QUERIES)] + rng.standard_normal((ROWS + QUERIES, DIMENSION))
    drawn = drawn.astype(np.float32)
    yield f"Bunches: {ROWS:,} × {DIMENSION}, 500 bunches as wide as they are apart", drawn[QUERIES:], drawn[:QUERIES]


@contextmanager
def server() -> Iterator[str]:
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    from support.servers import Postgres

    postgres = Postgres()
    try:
        yield postgres.dsn
    finally:
        postgres.stop()


def rows(pool: np.ndarray, queries: np.ndarray, dsn: str) -> Iterator[list[str]]:
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float64) @ (
        pool / np.linalg.norm(pool, axis=1, keepdims=True)
    ).T.astype(np.float64)
    truth = np.argsort(-cosines, axis=1)[:, :K]
    for name, kept, tried in SETTINGS:
        n = min(len(pool), QDRANT_ROWS) if name == "qdrant" else len(pool)
        wanted = truth if n == len(pool) else np.argsort(-cosines[:, :n], axis=1)[:, :K]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            base = {**kept, **({"dsn": dsn, "table": f"{kept['kind']} {pool.shape}"} if name == "postgres" else {})}
            made = Collection.create(Path(folder) / "c", pool[:n], engine=name, engine_options=base)
            start = time.perf_counter()
            made.search(queries[:1], K)
            filling = time.perf_counter() - start
            for setting in tried:
                # another engine object on the same rows; qdrant's local mode admits one
                opened = made if not setting else Collection.open(made.folder, engine_options={**base, **setting})
                opened.search(queries[:2], K)
                found, times = [], []
                for query in queries:
                    start = time.perf_counter()
                    found.append(opened.search(query[None], K)[0][0])
                    times.append(time.perf_counter() - start)
                recall = np.mean([len(set(a) & set(b)) / K for a, b in zip(found, wanted)])
                told = ", ".join(f"{key} {value}" for key, value in {**kept, **setting}.items())
                told += f"{', ' if told else ''}first {n:,} rows" if n < len(pool) else ""
                yield [name, told, seconds(filling) if setting == tried[0] else "", f"{recall:.3f}",
                       seconds(statistics.median(times))]  # fmt: skip
