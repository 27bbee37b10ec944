"""What concepts cost: many of them, a fit beside the paper's, and a search that keeps one out on every engine."""

from __future__ import annotations

import tempfile
import time
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


ENGINES: list[tuple[str, dict[str, Any]]] = [("exact", {}), ("faiss", {}), ("faiss", {"kind": "hnsw"}), ("lance", {})]


def excluded() -> list[str]:
    """A search that keeps one concept out beside a plain one, in turns, on the engines that need no server."""
    scenes = load_scenes()
    train, rng = scenes.split.train, np.random.default_rng(0)
    model = ConceptSubspaces().fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
    queries, lines = scenes.vectors[scenes.split.queries][:40], []
    for n in (20_000, 200_000):
        rows = scenes.vectors[rng.integers(len(scenes.vectors), size=n)]
        rows = rows + 0.03 * rng.standard_normal(rows.shape, dtype=np.float32)
        for engine, options in ENGINES:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    collection = Collection.create(f"{folder}/rows", rows, engine=engine, engine_options=options)
                except ImportError as error:
                    print(f"not run: {error}")
                    continue
                times = turns(ConceptSearch(collection, model), queries)
            plain, without = np.median(times, axis=0)
            ratio = np.median(times[:, 1] / times[:, 0])
            name = " ".join([engine, *options.values()])
            lines.append(f"| {name} | {n} | {1e3 * plain:.2f} | {1e3 * without:.2f} | {ratio:.2f} |")
    return lines


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
