"""What concepts cost: many, a fit beside the paper's, on Dask's workers, and a search that keeps one out on every
engine. ``python -m benchmarks.presence_scale many`` (or ``speed``, ``excluded``, ``workers``) prints one table.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.problems import grouped
from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch, explain

# many concepts


SIZES = ((10, 20_000), (100, 20_000), (1000, 20_000), (1000, 100_000))


def many(sizes: Any = SIZES) -> list[str]:
    """Fit, presence, shares and explanations with 10 to 1 000 concepts on planted rows."""
    return [of_size(S, n) for S, n in sizes]


def of_size(S: int, n: int) -> str:
    X, Y = planted(S, n)
    model = ConceptSubspaces(presence=False)
    fitted, told_apart = both_times(lambda: model.fit(X, Y)), both_times(lambda: model.fit_presence(X, Y))
    begun = time.perf_counter()
    model.shares(X[:2000])
    shares = (time.perf_counter() - begun) / 2000
    took = []
    for i in range(20):
        begun = time.perf_counter()
        explain(model, X[i], X[i + 1])
        took.append(time.perf_counter() - begun)
    return (
        f"| {S} | {n} | {fitted} ({model.n_iter_} passes) | {told_apart} | "
        f"{1e6 * shares:.0f} µs | {1e3 * np.median(took):.2g} ms |"
    )


def both_times(call: Any) -> str:
    """Seconds, and seconds of processors, which a busy machine does not stretch."""
    begun, spent = time.perf_counter(), time.process_time()
    call()
    return f"{time.perf_counter() - begun:.1f} s ({time.process_time() - spent:.1f} s)"


def planted(S: int, n: int, d: int = 384) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    atoms = unit_rows(rng.standard_normal((S, 4, d), dtype=np.float32))
    which = np.array([rng.choice(S, 3, replace=False) for _ in range(n)])
    Y = np.zeros((n, S), dtype=bool)
    np.put_along_axis(Y, which, True, axis=1)
    codes = rng.exponential(size=(n, 3, 2)).astype(np.float32)
    X = np.einsum("nca,ncad->nd", codes, atoms[which[:, :, None], rng.integers(0, 4, (n, 3, 2))])
    return X + 0.3 / np.sqrt(d) * rng.standard_normal((n, d), dtype=np.float32), Y


def speed() -> list[str]:
    """20 000 × 512, 12 concepts: the default beside the paper's algorithm, in turns; and planted atoms found."""
    X, atoms, mask, groups = grouped()
    X, atoms = X.astype(np.float32), unit_rows(atoms)
    Y = np.column_stack([mask[:, groups == g].any(axis=1) for g in range(12)])
    ways = {
        "**default** (online, 10 atoms)": {},
        "paper, 8 atoms (the default before)": {"update": "svd", "n_atoms": 8},
        "paper, 10 atoms": {"update": "svd"},
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    found = {}
    for _ in range(3):
        for name, settings in ways.items():
            begun = time.perf_counter()
            model = ConceptSubspaces(presence=False, **settings).fit(X, Y)
            times[name].append(time.perf_counter() - begun)
            found[name] = np.mean(
                [(model.atoms_[model.groups_ == g] @ atoms[groups == g].T).max(axis=0).mean() for g in range(12)]
            )
    first = min(times[next(iter(ways))])
    return [f"| {name} | {min(t):.2f} s | {min(t) / first:.1f}× | {found[name]:.3f} |" for name, t in times.items()]


ENGINES: list[tuple[str, dict[str, Any]]] = [
    ("exact", {}),
    ("faiss", {}),
    ("faiss", {"kind": "hnsw"}),
    ("lance", {}),
    ("postgres", {"kind": "flat"}),
    ("postgres", {"kind": "hnsw"}),
    ("milvus", {"kind": "flat"}),
    ("milvus", {"kind": "hnsw"}),
    ("qdrant", {}),
]
# rows that an engine is given at most: those that look at all of them in Python take too long
MOST = {"qdrant": 2_000, "milvus": 20_000}


def excluded() -> list[str]:
    """A search that keeps one concept out beside a plain one, in turns, on the engines that need no server."""
    scenes = load_scenes()
    train, rng = scenes.split.train, np.random.default_rng(0)
    model = ConceptSubspaces().fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
    queries, lines = scenes.vectors[scenes.split.queries][:40], []
    for n in (20_000, 200_000):
        every = scenes.vectors[rng.integers(len(scenes.vectors), size=n)]
        every = every + 0.03 * rng.standard_normal(every.shape, dtype=np.float32)
        for engine, options in ENGINES:
            rows = every[: MOST.get(engine)]
            if len(rows) < n and n > 20_000:
                continue
            try:
                with tempfile.TemporaryDirectory() as folder, placed(engine, options, n) as where:
                    collection = Collection.create(f"{folder}/rows", rows, engine=engine, engine_options=where)
                    times = turns(ConceptSearch(collection, model), queries)
            except (ImportError, OSError, RuntimeError) as error:
                print(f"not run: {engine}: {error}")
                continue
            plain, without = np.median(times, axis=0)
            ratio = np.median(times[:, 1] / times[:, 0])
            name = " ".join([engine, *options.values()])
            lines.append(f"| {name} | {len(rows)} | {1e3 * plain:.2f} | {1e3 * without:.2f} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    return lines


@contextmanager
def placed(engine: str, options: dict[str, Any], n: int) -> Iterator[dict[str, Any]]:
    """The options of an engine, with the server that it needs."""
    if engine != "postgres":
        yield options
        return
    from benchmarks.engines import server

    with server() as dsn:
        yield {**options, "dsn": dsn, "table": f"{options['kind']} {n}"}


def workers(n: int = 200_000, rounds: int = 3) -> list[str]:
    """A fit from a Dask array on one worker of one thread and on two, in turns, best of some rounds."""
    import dask.array as da
    from distributed import Client, LocalCluster

    X, Y = planted(12, n)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for count, took in times.items():
            with (
                LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
                Client(cluster),
            ):
                rows, labels = (da.from_array(array, chunks=(n // 40, -1)).persist() for array in (X, Y))
                begun = time.perf_counter()
                ConceptSubspaces(presence=False, tol=0.0, max_iter=5).fit(rows, labels)
                took.append(time.perf_counter() - begun)
    one, two = (min(took) for took in times.values())
    return [f"| {n} | {one:.1f} s | {two:.1f} s | {one / two:.2f}× |"]


def turns(search: Any, queries: Any) -> Any:
    """Seconds (queries, 2) of a plain search and of one without a concept."""
    found = []
    for query in [queries[0], *queries]:
        pair = []
        for asked in ({}, {"without": "person"}):
            begun = time.perf_counter()
            search.search(query, k=20, **asked)
            pair.append(time.perf_counter() - begun)
        found.append(pair)
    return np.array(found[1:])


if __name__ == "__main__":
    for part in sys.argv[1:]:
        print("\n".join({"many": many, "speed": speed, "excluded": excluded, "workers": workers}[part]()))
