"""Clusters on twenty sets, none of whose settings differ, beside what people would take: ``python -m benchmarks
cluster_sets``.

Labels are used to report errors and nowhere else. Every method gets the same rows: as they come, with columns brought
to one variance where ours does that by itself. Means over five seeds of whatever is drawn. Results are kept set by set
in ``results/cluster_sets.json``, so that a run that was stopped goes on; ``--fresh`` begins again, names of sets
measure these alone.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from reproductions.data import DatasetNotFound, load_coco_captions, load_flickr8k, load_isolet, load_mnist, load_usps
from sklearn import datasets
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from benchmarks.harness import circumstances
from pellucid import CommonalityClustering
from pellucid.clusters.communities import neighbour_graph, partition
from pellucid.clusters.directions import distinct, find_directions
from pellucid.metrics import clustering_error

SEEDS = 5


class NotHere(RuntimeError):
    """A rival that this machine does not have."""


Set = tuple[np.ndarray, np.ndarray]


# the sets


def digits_of(load: Callable[[], Any], part: str, wanted: range) -> Set:
    data = load()
    images, target = (data.x_test, data.y_test) if part == "test" else (data.x_train, data.y_train)
    kept = np.isin(target, list(wanted))
    return images[kept].reshape(kept.sum(), -1).astype(float), target[kept].astype(int)


def letters(wanted: range) -> Set:
    data = load_isolet()
    y = np.asarray(data.y).astype(int) - int(np.min(data.y))
    kept = np.isin(y, list(wanted))
    return np.asarray(data.X, dtype=float)[kept], y[kept]


def single(vectors: Any, has: Any, least: int = 40) -> Set:
    """Rows with one concept alone, of the concepts that have enough of them."""
    has = np.asarray(has) > 0
    alone = has.sum(axis=1) == 1
    y = has.argmax(axis=1)
    counts = np.bincount(y[alone], minlength=has.shape[1])
    kept = alone & (counts[y] >= least)
    return np.asarray(vectors, dtype=np.float32)[kept], np.unique(y[kept], return_inverse=True)[1]


def blobs(n: int, C: int, d: int, shares: Any = None, spreads: Any = None, apart: float = 3.0) -> Set:
    rng = np.random.default_rng(0)
    centres = apart * rng.standard_normal((C, d))
    y = rng.choice(C, n, p=None if shares is None else np.array(shares) / np.sum(shares))
    spread = np.ones(C) if spreads is None else np.array(spreads)
    return centres[y] + spread[y, None] * rng.standard_normal((n, d)), y


def subspaces(common: int) -> Set:
    """Five subspaces of three dimensions among thirty, with noise, and on top of each row a part that all share."""
    rng = np.random.default_rng(0)
    bases = np.array([np.linalg.qr(rng.standard_normal((30, 3)))[0] for _ in range(5)])
    y = rng.integers(5, size=900)
    X = np.einsum("nk,ndk->nd", rng.standard_normal((900, 3)), bases[y])
    if common:
        X += 2 * rng.standard_normal((900, common)) @ np.linalg.qr(rng.standard_normal((30, common)))[0].T
    return X + 0.055 * rng.standard_normal(X.shape), y


def elongated() -> Set:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=800)
    X = rng.standard_normal((800, 2)) * [6, 0.5]
    X[:, 1] += 3 * y
    return X @ np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]]), y


def bundled(load: Callable[..., Any]) -> Set:
    X, y = load(return_X_y=True)
    return X, y


def every(step: int, X: np.ndarray, y: np.ndarray) -> Set:
    return X[::step], y[::step]


def jeopardy() -> Set:
    """Quiz questions by OpenAI-style vectors, the ten largest categories."""
    path = Path(os.environ.get("PELLUCID_DATA", ".")) / "jeopardy_openai.npz"
    if not path.is_file():
        raise DatasetNotFound(f"{path} is not there")
    data = np.load(path, allow_pickle=False)
    _names, label, counts = np.unique(data["category"], return_inverse=True, return_counts=True)
    kept = np.isin(label, np.argsort(-counts, kind="stable")[:10])
    return data["vectors"][kept].astype(np.float32), np.unique(label[kept], return_inverse=True)[1]


def coco() -> Set:
    data = load_coco_captions()
    first = np.unique(data.image_id, return_index=True)[1]  # one caption an image
    return single(np.asarray(data.vectors)[first], np.asarray(data.coarse)[first])


def flickr() -> Set:
    data = load_flickr8k()
    return single(np.asarray(data.vectors), data.coarse)


# looked at while constants were chosen
LOOKED_AT: dict[str, Callable[[], Set]] = {
    "wine": partial(bundled, datasets.load_wine),
    "iris": partial(bundled, datasets.load_iris),
    "breast cancer": partial(bundled, datasets.load_breast_cancer),
    "digits": partial(bundled, datasets.load_digits),
    "MNIST 0-5": partial(digits_of, load_mnist, "test", range(6)),
    "MNIST": partial(digits_of, load_mnist, "test", range(10)),
    "USPS 0-5": partial(digits_of, load_usps, "train", range(6)),
    "USPS": partial(digits_of, load_usps, "train", range(10)),
    "ISOLET U-Z": partial(letters, range(20, 26)),
    "ISOLET": partial(letters, range(26)),
    "blobs": partial(blobs, 1000, 6, 10),
    "unequal blobs": partial(blobs, 1000, 6, 10, (30, 20, 10, 5, 2, 1), (1, 0.5, 2, 1, 0.3, 1)),
    "elongated": elongated,
    "subspaces": partial(subspaces, 0),
    "subspaces with a common part": partial(subspaces, 4),
}
# not looked at before the table was made
KEPT_BACK: dict[str, Callable[[], Set]] = {
    "ISOLET A-F": partial(letters, range(6)),
    "ISOLET G-L": partial(letters, range(6, 12)),
    "ISOLET M-T": partial(letters, range(12, 20)),
    "MNIST 5-9, training, every sixth": lambda: tuple(
        part[::6] for part in digits_of(load_mnist, "train", range(5, 10))
    ),
    "USPS, test": partial(digits_of, load_usps, "test", range(10)),
    "Jeopardy, ten categories": jeopardy,
    "COCO captions, one concept": coco,
    "Flickr8k images, one concept": flickr,
    "twenty blobs in fifty dimensions": partial(blobs, 1500, 20, 50, None, None, 1.0),
    "two moons": lambda: datasets.make_moons(600, noise=0.08, random_state=0),
}
SETS = {**LOOKED_AT, **KEPT_BACK}


# the methods


def ours(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    return CommonalityClustering(C, random_state=seed).fit(X).labels_


def paper(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    return CommonalityClustering(C, reading="paper", normalize=True, random_state=seed).fit(X).labels_


def dlsi(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    options = dict(reading="paper", normalize=True, codes="lasso", incoherence_between="clusters", init="kmeans")
    return CommonalityClustering(C, 15, 0, random_state=seed, n_init=1, **options).fit(X).labels_


def k_subspaces(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    options = dict(reading="paper", normalize=True, ridge=0.0, incoherence=0.0, init="kmeans")
    k = max(1, min(20, X.shape[1] // 2))
    return CommonalityClustering(C, k, 0, random_state=seed, n_init=1, **options).fit(X).labels_


def communities(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    known = distinct(X)
    rows = X[known.first]
    Z = find_directions(rows, known.weights, False).into(rows)
    return partition(neighbour_graph(Z), C, 4, np.random.RandomState(seed))[0][known.which]


def leiden(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    """Communities by Leiden's method, as many as it finds, on the graph that ours has."""
    import igraph

    known = distinct(X)
    rows = X[known.first]
    graph = neighbour_graph(find_directions(rows, known.weights, False).into(rows)).tocoo()
    once = graph.row < graph.col
    made = igraph.Graph(len(rows), np.column_stack([graph.row, graph.col])[once])
    random.seed(seed)  # igraph draws from it
    found = made.community_leiden("modularity", weights=graph.data[once], n_iterations=-1)
    return np.array(found.membership)[known.which]


EVOC = """
import sys, numpy, evoc
X = numpy.load(sys.argv[1]).astype(numpy.float32)
found = evoc.EVoC(approx_n_clusters=int(sys.argv[2]), random_state=int(sys.argv[3])).fit_predict(X)
numpy.save(sys.argv[4], found.astype(numpy.int64))
"""


def evoc(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    """EVoC, told the number, in an environment of its own: ``PELLUCID_EVOC_PYTHON`` names its Python."""
    python = os.environ.get("PELLUCID_EVOC_PYTHON")
    if python is None:
        raise NotHere("PELLUCID_EVOC_PYTHON names no Python that has evoc")
    with tempfile.TemporaryDirectory() as folder:
        rows, labels = Path(folder) / "rows.npy", Path(folder) / "labels.npy"
        np.save(rows, X)
        subprocess.run([python, "-c", EVOC, rows, str(C), str(seed), labels], check=True, capture_output=True)
        return np.load(labels)


def mixture(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    Z = PCA(min(40, *X.shape), random_state=seed).fit_transform(X)
    return GaussianMixture(C, n_init=3, reg_covar=1e-6 * Z.var(), random_state=seed).fit_predict(Z)


def spectral(X: np.ndarray, C: int, seed: int) -> np.ndarray:
    return SpectralClustering(C, affinity="nearest_neighbors", n_neighbors=20, random_state=seed).fit_predict(X)


METHODS: dict[str, tuple[Callable[[np.ndarray, int, int], np.ndarray], int]] = {
    "ours": (ours, SEEDS),
    "the communities it starts from": (communities, SEEDS),
    "k-means, 10 starts": (lambda X, C, s: KMeans(C, n_init=10, random_state=s).fit_predict(X), SEEDS),
    "Gaussian mixture, 40 directions": (mixture, SEEDS),
    "spectral, 20 neighbours": (spectral, 1),
    "Ward": (lambda X, C, s: AgglomerativeClustering(C).fit_predict(X), 1),
    "HDBSCAN": (lambda X, C, s: HDBSCAN(min_cluster_size=max(5, len(X) // 100), copy=True).fit_predict(X), 1),
    "Leiden": (leiden, SEEDS),
    "EVoC": (evoc, 1),
    "paper 3's model": (paper, 1),
    "DLSI, from k-means": (dlsi, 1),
    "k-subspaces, from k-means": (k_subspaces, 1),
}


def measured(X: np.ndarray, y: np.ndarray, method: str) -> dict[str, Any]:
    make, seeds = METHODS[method]
    C, found = len(np.unique(y)), []
    for seed in range(seeds):
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = make(X, C, seed)
        found.append((clustering_error(labels, y), adjusted_rand_score(y, labels), time.perf_counter() - begun))
    error, rand, seconds = np.mean(found, axis=0)
    return {"error": error, "spread": float(np.std([f[0] for f in found])), "rand": rand, "seconds": seconds}


def rows_of(X: np.ndarray) -> np.ndarray:
    """Rows as they come, or with columns brought to one variance where ours does that."""
    scale = CommonalityClustering(1).fit(X).column_scale_
    return X / scale if np.ptp(scale) > 0 else X


def run(results: Path, names: tuple[str, ...] = (), fresh: bool = False) -> None:
    store = results / "cluster_sets.json"
    kept: dict[str, Any] = {} if fresh or not store.is_file() else json.loads(store.read_text())
    kept["facts"] = circumstances("scikit-learn", "numpy")
    for name in names or SETS:
        found = kept.setdefault("sets", {}).setdefault(name, {})
        if len(found.get("methods", {})) == len(METHODS):
            continue
        try:
            X, y = SETS[name]()
        except DatasetNotFound as missing:
            print(f"{name}: {missing}", flush=True)
            continue
        X = rows_of(X)
        found |= {"rows": len(X), "columns": X.shape[1], "clusters": len(np.unique(y))}
        for method in METHODS:
            if method in found.setdefault("methods", {}):
                continue
            try:
                found["methods"][method] = measured(X, y, method)
            except NotHere as missing:
                print(f"{name} | {method} | {missing}", flush=True)
                continue
            print(f"{name} | {method} | {100 * found['methods'][method]['error']:.2f} %", flush=True)
            store.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    (results / "cluster_sets.md").write_text(table(kept), encoding="utf-8")


def ranks(sets: dict[str, Any]) -> dict[str, float]:
    """Mean rank of each method by its error, ties shared, among those that all these sets were measured with."""
    from scipy.stats import rankdata

    here = [m for m in METHODS if all(m in found["methods"] for found in sets.values())]
    each = [rankdata([np.round(found["methods"][m]["error"], 4) for m in here]) for found in sets.values()]
    return dict(zip(here, np.mean(each, axis=0))) if each else {}


def head(first: str) -> list[str]:
    return [f"| {first} | {' | '.join(METHODS)} |", "| --- " * (len(METHODS) + 1) + "|"]


def cell(error: float, least: float) -> str:
    return f"**{100 * error:.1f}**" if error <= least + 5e-4 else f"{100 * error:.1f}"


def table(kept: dict[str, Any]) -> str:
    facts = kept["facts"]
    whole = {name: found for name, found in kept["sets"].items() if len(found.get("methods", {})) >= len(METHODS) - 2}
    lines = [
        "# Clusters on sets of every kind",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, by `python -m benchmarks "
        "cluster_sets`. Errors in % after the best matching of clusters to classes; one setting for all sets, the "
        "number of clusters given (HDBSCAN and Leiden find their own; noise, which EVoC has too, counts as wrong). "
        "Columns get one variance for all methods where ours does it by itself. Means over five seeds where something "
        "is drawn (spectral, the "
        "paper's model, EVoC, DLSI and k-subspaces: one).",
        "",
    ]
    for title, chosen in (("Looked at while constants were chosen", LOOKED_AT), ("Kept back", KEPT_BACK)):
        some = {name: found for name, found in whole.items() if name in chosen}
        lines += [f"## {title}", "", *head("set (rows × columns, clusters)")]
        for name, found in some.items():
            errors = {m: one["error"] for m, one in found["methods"].items()}
            size = f"{found['rows']} × {found['columns']}, {found['clusters']}"
            cells = [cell(errors[m], min(errors.values())) if m in errors else "–" for m in METHODS]
            lines.append(f"| {name} ({size}) | {' | '.join(cells)} |")
        mean = ranks(some)
        lines += [
            f"| mean rank | {' | '.join(f'{mean[m]:.1f}' if m in mean else '–' for m in METHODS)} |" if mean else "",
            "",
        ]
    lines += ["## Adjusted Rand index, and seconds", "", *head("set")]
    for name, found in whole.items():
        got = found["methods"]
        cells = [f"{got[m]['rand']:.2f}; {got[m]['seconds']:.1f}" if m in got else "–" for m in METHODS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    names = "ours", "the communities it starts from"
    worse = {
        name: found["methods"][names[0]]["error"] - found["methods"][names[1]]["error"] for name, found in whole.items()
    }
    told = [f"{name} ({100 * more:+.1f})" for name, more in worse.items() if more > 0.003]
    lines += ["", f"More than 0.3 points worse than the start: {', '.join(told) or 'nowhere'}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--fresh"]
    run(Path(__file__).parent / "results", tuple(given), fresh="--fresh" in sys.argv)
