"""Clustering with a commonality: beside a plain transcription, k-means and dictionary learning; growth and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from reproductions.data import load_mnist
from sklearn.cluster import KMeans
from sklearn.decomposition import MiniBatchDictionaryLearning

from benchmarks.clusters_plain import codes_and_assignment, update_dictionaries
from benchmarks.harness import Row, compare, report, seconds
from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.clusters.atoms import update_atoms
from pellucid.clusters.coding import Coder, code_pass
from pellucid.clusters.communities import louvain, modularity, neighbour_graph
from pellucid.clusters.learning import begin, sweep
from pellucid.clusters.objective import Dictionary, Penalties
from pellucid.clusters.starts import first_dictionary
from pellucid.rows import Blocks

PAPER = Penalties(0.01, 0.1, 1.0, 1.0, "ridge", True)
# the sweeps whose growth is measured
SWEEPS = {3: "third", 6: "sixth"}

# the whole fit, in a process of its own: seconds, peak beyond what was there before, sweeps, rows
CHILD = """
import sys, threading, time, warnings
import numpy as np
from pellucid import CommonalityClustering

def anonymous():
    with open("/proc/self/status") as file:  # pages of mapped files are not counted
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))

X = np.load(sys.argv[1], mmap_mode="r")
options = eval(sys.argv[2])
warnings.simplefilter("ignore")
CommonalityClustering(**{**options, "max_iter": 1}).fit(X[:2000])
before, peak, running = anonymous(), 0, True
def watch():
    global peak
    while running:
        peak = max(peak, anonymous())
        time.sleep(0.01)
watcher = threading.Thread(target=watch)
watcher.start()
begun = time.perf_counter()
model = CommonalityClustering(**options).fit(X)
took = time.perf_counter() - begun
running = False
watcher.join()
print(took, peak - before, model.n_iter_, X.nbytes)
"""


def digits(n_classes: int, part: str, dtype=np.float64):
    data = load_mnist()
    images, target = (data.x_test, data.y_test) if part == "test" else (data.x_train, data.y_train)
    kept = target < n_classes
    return unit_rows(images[kept].reshape(kept.sum(), -1).astype(dtype)), target[kept].astype(int)


def beside_a_transcription() -> Row:
    """A sweep of the transcription (codes and clusters, then all atoms), and as many of ours from the same dictionaries
    as reach an objective no higher. What atoms reach is worked out outside of the timing, the same way for both."""
    X, target = digits(6, "test")
    start = first_dictionary(X, target, (6, 20), 30, "ridge", np.random.RandomState(0))

    def reached(dictionary: Dictionary) -> float:
        return begin(Blocks.held(X), dictionary, None, PAPER).objective[0]

    def ours(sweeps: int) -> Dictionary:
        dictionary, labels = start, None
        with one_blas_thread():
            for _ in range(sweeps):
                sums, labels, _ = code_pass(X, Coder(dictionary, PAPER, X.dtype), labels)
                dictionary = update_atoms(sums, dictionary, PAPER)
        return dictionary

    begun = time.perf_counter()
    D, D0 = [atoms.T.copy() for atoms in start.atoms], start.common.T.copy()
    labels, A, A0, _ = codes_and_assignment(X.T, D, D0, 0.01, 0.1)
    D, D0 = update_dictionaries(X.T, D, D0, labels, A, A0, 1.0)
    took = time.perf_counter() - begun
    plain = reached(Dictionary(np.array([atoms.T for atoms in D]), D0.T))
    sweeps = next(n for n in range(1, 50) if reached(ours(n)) <= plain)
    row = compare("", {"ours": lambda: ours(sweeps)}, rounds=3)
    name = "plain NumPy transcription, 1 sweep"
    return Row(
        f"MNIST test digits 0-5 (6 031 × 784), C = 6, 20 + 30 atoms: sweeps of ours: {sweeps}",
        {**row.best, name: took},
        {**row.median, name: took},
        f"objective {reached(ours(sweeps)):.2f} and {plain:.2f} (at the start {reached(start):.2f})",
        "≥ 40×, objective no higher",
    )


def beside_scikit_learn() -> Row:
    """What one more sweep costs."""
    X, target = digits(6, "test")
    start = first_dictionary(X, target, (6, 20), 30, "ridge", np.random.RandomState(0))
    centres = np.array([X[target == c].mean(axis=0) for c in range(6)])
    with one_blas_thread():
        state = begin(Blocks.held(X), start, None, PAPER)

    def ours():
        with one_blas_thread():
            sweep(Blocks.held(X), state, PAPER, np.random.RandomState(0))

    def k_means():
        KMeans(6, init=centres, n_init=1, max_iter=1).fit(X)

    def dictionary():
        MiniBatchDictionaryLearning(
            150, alpha=0.1, max_iter=1, batch_size=256, dict_init=start.stacked, random_state=0
        ).fit(X)

    candidates = {"ours": ours, "KMeans, an iteration": k_means, "MiniBatchDictionaryLearning, a pass": dictionary}
    return compare("one sweep on the same rows", candidates, rounds=3, slow={"MiniBatchDictionaryLearning, a pass": 1})


def seconds_a_sweep(X, n_clusters: int) -> dict[int, float]:
    """Processor time, which other work on the machine disturbs least, of the third and of the sixth sweep from
    dictionaries of random rows: atoms that still move much cost more, of many clusters above all."""
    rng = np.random.RandomState(0)
    rows = X[rng.permutation(len(X))[: 20 * n_clusters + 30]]
    start = Dictionary(rows[30:].reshape(n_clusters, 20, -1), rows[:30])
    took = {}
    with one_blas_thread():
        state = begin(Blocks.held(X), start, None, PAPER)
        for number in range(1, 7):
            begun = time.process_time()
            state = sweep(Blocks.held(X), state, PAPER, rng)
            took[number] = time.process_time() - begun
    return {number: took[number] for number in SWEEPS}


def growth() -> tuple[list[Row], str]:
    X, _ = digits(10, "train", np.float32)
    X = X[np.random.default_rng(0).permutation(len(X))]
    rows, notes = [], []
    sizes = (7_500, 15_000, 30_000, 60_000)
    clusters = (5, 10, 20, 40, 80)
    for name, values, times in (
        ("N", sizes, [seconds_a_sweep(X[:n], 10) for n in sizes]),
        ("C", clusters, [seconds_a_sweep(X[:20_000], c) for c in clusters]),
    ):
        for number, called in SWEEPS.items():
            for value, took in zip(values, times):
                what = f"{value} rows, C = 10" if name == "N" else f"20 000 rows, C = {value}"
                task = f"the {called} sweep of MNIST (784, float32), {what}, processor time"
                rows.append(Row(task, {"ours": took[number]}, {"ours": took[number]}))
            slope = np.polyfit(np.log(values), np.log([took[number] for took in times]), 1)[0]
            notes.append(f"{name}^{slope:.2f} ({called})")
    return rows, (
        "The processor time of a sweep from dictionaries of random rows, the third and the sixth, grows as "
        + ", ".join(notes)
        + " over these sizes."
    )


def child(path: Path, **options) -> tuple[float, float, int, float]:
    out = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), repr(options)], check=True, capture_output=True, text=True
    ).stdout.split()
    return float(out[0]), float(out[1]), int(out[2]), float(out[3])


def whole_fits() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, digits(10, "train", np.float32)[0])
        took, peak, sweeps, size = child(path, n_clusters=10, random_state=0)
        rows.append(
            Row(
                "all of MNIST's training digits (60 000 × 784, float32), C = 10: the default fit from a memory map",
                {"ours": took},
                {"ours": took},
                f"{sweeps} sweeps; {peak / 1e6:.0f} MB beyond the file, {peak / size:.2f} of its size",
                "minutes; a small multiple of the input",
            )
        )
        made = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(1_000_000, 128))
        rng = np.random.default_rng(0)
        atoms = unit_rows(rng.standard_normal((8, 5, 128)))
        for start in range(0, len(made), 50_000):
            codes = rng.standard_normal((50_000, 5)) + 1
            block = np.einsum("nk,nkd->nd", codes, atoms[rng.integers(8, size=50_000)])
            made[start : start + 50_000] = unit_rows(block + 0.3 * rng.standard_normal(block.shape))
        made.flush()
        options = dict(n_clusters=8, n_atoms=5, n_common=10, batch_size=20_000, max_iter=3, random_state=0)
        took, peak, sweeps, size = child(path, **options)
        rows.append(
            Row(
                "1 000 000 × 128, C = 8, 5 + 10 atoms, batch_size = 20 000, from a memory map",
                {"ours": took},
                {"ours": took},
                f"{sweeps} sweeps, a pass for labels; {peak / 1e6:.0f} MB beyond the file, {peak / size:.2f} of it",
            )
        )
    return rows


def communities() -> Row:
    """Louvain's method on the graph of MNIST test digits 0-5, beside three libraries."""
    import random

    import igraph
    import networkx
    from scipy import sparse
    from sknetwork.clustering import Louvain

    graph = neighbour_graph(digits(6, "test")[0])
    upper = sparse.triu(graph, 1).tocoo()
    theirs = igraph.Graph(n=graph.shape[0], edges=np.c_[upper.row, upper.col].tolist())
    weights = upper.data.tolist()
    pythonic = networkx.from_scipy_sparse_array(graph)
    found = {}

    def by_networkx():
        labels = np.empty(graph.shape[0], dtype=np.int64)
        for c, members in enumerate(networkx.community.louvain_communities(pythonic, seed=0)):
            labels[list(members)] = c
        return labels

    def by_igraph():
        random.seed(0)
        return np.array(theirs.community_multilevel(weights=weights).membership)

    methods = {
        "ours": lambda: louvain(graph, 1.0, np.random.RandomState(0)),
        "igraph": by_igraph,
        "scikit-network": lambda: Louvain(shuffle_nodes=True, random_state=0).fit_predict(graph),
        "networkx": by_networkx,
    }
    methods["ours"]()

    def timed(name):
        def call():
            found[name] = methods[name]()

        return call

    row = compare(
        "Louvain's method, graph of 6 031 digits",
        {name: timed(name) for name in methods},
        rounds=3,
        slow={"networkx": 1},
    )
    row.agreement = "modularity " + ", ".join(f"{modularity(graph, labels):.4f}" for labels in found.values())
    return row


PARTS = {
    "transcription": lambda: ([beside_a_transcription()], ""),
    "peers": lambda: ([beside_scikit_learn(), communities()], ""),
    "growth": growth,
    "whole": lambda: (whole_fits(), ""),
}


def run(results: Path, names: list[str] | None = None) -> None:
    """All parts, or those named: their rows take the place of the earlier ones in the table."""
    store = results / "clusters-parts.json"
    kept = json.loads(store.read_text()) if store.is_file() else {}
    for name in names or PARTS:
        rows, note = PARTS[name]()
        kept[name] = {"note": note, "rows": [vars(row) for row in rows]}
        print(
            name,
            note,
            *(f"{row.task}: {seconds(row.best['ours'])} {row.ratios} {row.agreement}" for row in rows),
            sep="\n",
            flush=True,
        )
        store.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = [
        Row(**{k: v for k, v in row.items() if k != "ratios"})
        for part in PARTS
        if part in kept
        for row in kept[part]["rows"]
    ]
    note = " ".join(kept[part]["note"] for part in PARTS if part in kept).strip()
    report("clusters", "Clusters", rows, results, "networkx", "igraph", "scikit-network", note=note)


if __name__ == "__main__":
    run(Path(__file__).parent / "results", sys.argv[1:])
