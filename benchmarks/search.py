"""Search: what a concept filter adds to a query, the exact engine beside FAISS and NumPy, and quantised pools."""

import gc
import itertools
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, compare, report, seconds
from benchmarks.problems import grouped
from pellucid import ConceptSubspaces
from pellucid.search import Collection, ConceptSearch, TokenPool, make_engine, pool_report, unit_tokens
from pellucid.solvers.batch import BoundedQuadratic, correlations, gram

ROWS, DIMENSION, K, QUERIES = 1_000_000, 512, 20, 12
ENGINES = {
    "exact": ("exact", {}),
    "faiss flat": ("faiss", {"kind": "flat"}),
    "faiss ivfpq": ("faiss", {"kind": "ivfpq"}),
    "faiss hnsw, 16 links": ("faiss", {"kind": "hnsw", "links": 16}),
}


def run(results: Path, rows: int = ROWS) -> None:
    X, atoms, mask, groups = grouped(6_000, DIMENSION, dtype=np.float32)
    Y = np.column_stack([mask[:, groups == g].any(axis=1) for g in range(12)])
    model = ConceptSubspaces(10, max_iter=3, center=False).fit(X, Y, [f"concept {g}" for g in range(12)])
    asks = [(X[i], f"concept {np.flatnonzero(Y[i])[0]}") for i in range(QUERIES)]
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "c"
        Collection.create(folder, planted(rows, atoms, groups))
        parts = (
            projection_rows(model, asks),
            engine_rows(folder, X),
            token_rows(min(rows, 200_000), atoms, groups),
            filter_rows(folder, model, asks),
        )
        for row in itertools.chain(*parts):  # a run takes long, so say what is done
            print(row.task, {name: seconds(t) for name, t in row.best.items()}, row.agreement, flush=True)
            table.append(row)
    report("search", "Search", table, results, "faiss-cpu", note=f"{K} hits a query.")


def planted(n, atoms, groups, block=50_000):
    """Rows as `grouped` makes them, in float32 and in blocks."""
    rng = np.random.default_rng(1)
    X = np.empty((n, atoms.shape[1]), dtype=np.float32)
    for start in range(0, n, block):
        part = X[start : start + block]
        mask = (rng.random((len(part), groups.max() + 1)) < 2.5 / (groups.max() + 1))[:, groups]
        codes = rng.standard_exponential(mask.shape, dtype=np.float32) * (mask & (rng.random(mask.shape) < 0.5))
        np.matmul(codes, atoms, out=part)
        part += 0.05 * rng.standard_normal(part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return X


def projection_rows(model, asks):
    x, concept = asks[0][0][None], asks[0][1]
    atoms = model.atoms_[model.groups_ == 0].astype(np.float32)
    problem = BoundedQuadratic(gram(atoms), 0.0, 0.0, 0.0, np.inf, 1e-8, 10_000)
    C = correlations(x, atoms, slice(0, 1))[1].copy()
    codes, kkt, allowed = np.zeros((1, len(atoms)), dtype=np.float32), np.empty(1), np.ones((1, len(atoms)), dtype=bool)

    def kernel():
        codes[:] = 0
        problem.solve(C, allowed, codes, kkt)

    calls = {
        "model.project(x[None], concept)": lambda: model.project(x, concept),
        "product and kernel alone": lambda: (correlations(x, atoms, slice(0, 1)), kernel(), codes @ atoms),
    }
    times = {name: [] for name in calls}
    for _ in range(5_000):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begun)
    yield Row(
        f"one query onto ten atoms of {DIMENSION} numbers",
        {name: min(t) for name, t in times.items()},
        {name: statistics.median(t) for name, t in times.items()},
        target="< 200 µs, < 50 µs in the kernel",
    )


def filter_rows(folder, model, asks):
    queries = np.stack([x for x, _ in asks])
    filtered = np.concatenate([model.project(x[None], name) for x, name in asks])
    best = Collection.open(folder, engine="exact")
    truth = best.search(queries, K)[0], best.search(filtered, K)[0]
    for label, (engine, options) in ENGINES.items():
        begun = time.perf_counter()
        collection = Collection.open(folder, engine=engine, engine_options=options)
        found = collection.search(queries, K)[0], collection.search(filtered, K)[0]
        built = time.perf_counter() - begun
        recall = [np.mean([len(set(a) & set(b)) / K for a, b in zip(*pair)]) for pair in zip(truth, found)]
        times = timed(ConceptSearch(collection, model), asks, filtered)
        best_of, median = times.min(axis=0).mean(axis=1), np.median(times, axis=0).mean(axis=1)
        extra = best_of[0] - best_of[1]
        names = ("search(x, concept)", "search(x)", "search(the projection)")
        yield Row(
            f"{label}, {len(collection):,} × {DIMENSION}, one query".replace(",000", " 000"),
            dict(zip(names, best_of)),
            dict(zip(names, median)),
            agreement=f"{extra * 1e3:+.2f} ms ({extra / best_of[1]:+.1%}) with the concept; recall@{K} {recall[0]:.3f} "
            f"plain, {recall[1]:.3f} filtered; ready in {seconds(built)}",
            target="≤ 5 % or 0.2 ms more than plain",
        )
        del collection


def timed(search, asks, filtered):
    """Seconds (rounds, 3, queries): by concept, plain, and plain for what the concept makes of the query."""
    begun = time.perf_counter()
    for x, _ in asks:
        search.search(x, None, K)
    rounds = 3 * int(np.clip(2 / (time.perf_counter() - begun), 1, 40))  # fast engines need more, to see a difference
    times = np.empty((rounds, 3, len(asks)))
    for turn in range(rounds):
        gc.collect()
        for i, (x, name) in enumerate(asks):
            calls = (x, name, K), (x, None, K), (filtered[i], None, K)
            for which in np.roll(np.arange(3), turn):  # who comes first finds the caches cold
                arguments = calls[which]
                begun = time.perf_counter()
                search.search(*arguments)
                times[turn, which, i] = time.perf_counter() - begun
    return times


def engine_rows(folder, X):
    import faiss

    stored = np.load(folder / "vectors-000001.npy", mmap_mode="r")
    exact, flat = make_engine("exact"), faiss.IndexFlatIP(DIMENSION)
    exact.load([stored], np.ones(len(stored), dtype=bool))
    flat.add(np.asarray(stored))

    def plain(queries):
        scores = queries @ stored.T
        return np.argpartition(-scores, K, axis=1)[:, :K]

    for count in (1, 8, 32):
        queries = X[:count]
        wide = queries.astype(np.float64)
        ours = exact.search(queries, K)
        blocks = [(stored[s : s + 50_000].astype(np.float64) @ wide[:8].T) for s in range(0, len(stored), 50_000)]
        reference = np.argsort(-np.concatenate(blocks), axis=0, kind="stable")[:K].T
        same = np.mean([len(set(a) & set(b)) / K for a, b in zip(ours[0], reference)])
        yield compare(
            f"exact, {len(stored):,} × {DIMENSION}, {count} quer{'y' if count == 1 else 'ies'}".replace(",000", " 000"),
            {
                "ours": lambda queries=queries: exact.search(queries, K),
                "IndexFlatIP": lambda queries=queries: flat.search(queries, K),
                "NumPy, product and argpartition": lambda queries=queries: plain(queries),
            },
            rounds=5,
            slow={"IndexFlatIP": 2} if count > 1 else None,
            agreement=f"{same:.1%} of the ids of a float64 ranking",
        )


def token_rows(n, atoms, groups):
    rows = unit_tokens(planted(n, atoms, groups), 64)
    sample = rows[:: max(1, n // 16_384)]
    learned = TokenPool.learn(sample, 64, random_state=0)
    pool = TokenPool(learned.encode(rows), learned.codebook)
    exact = make_engine("exact")
    exact.load([rows], np.ones(n, dtype=bool))
    quantised = make_engine("faiss", kind="ivfpq", lists=1, code_bytes=64, refine=0)
    quantised.load([rows], np.ones(n, dtype=bool))
    query = rows[:1]
    ask = rows[:50] + rows[50:100]
    reports = pool_report(pool, rows, ask, K), pool_report(quantised, rows, ask, K)
    told = "; ".join(
        f"{name}: {r.saving:.0f} times less memory, recall@{K} {r.recall:.3f}, scores off by {r.score_error:.3f}"
        for name, r in zip(("tokens", "FAISS PQ"), reports)
    )
    yield compare(
        f"look-ups, {n:,} items of 64 tokens, 256 codes each, one query".replace(",000", " 000"),
        {
            "ours": lambda: pool.search(query, K),
            "IndexIVFPQ, one list, 64 bytes": lambda: quantised.search(query, K),
            "exact, of the rows": lambda: exact.search(query, K),
        },
        agreement=told,
    )
