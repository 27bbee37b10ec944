"""Diverse result lists: coverage of fine labels against the relevance that is kept, beside MMR and k-DPP greedy."""

import time

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from reproductions.data import DatasetNotFound, load_coco_captions

from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.datasets import load_scenes
from pellucid.selection import diversify
from pellucid.selection.losses import BASIS_PURSUIT
from pellucid.selection.search import Objective, greedy, swap
from pellucid.solvers import basis_pursuit

LIST, SHOWN, QUERIES = 100, 10, 800
# queries for a method that takes too long for all
SLOW = {"pursuit on k directions": 60}
KEPT = (0.98, 0.95, 0.90, 0.85)


def marginal_relevance(rows, relevance, k, weight):
    """Maximal marginal relevance (Carbonell and Goldstein 1998)."""
    similar = rows @ rows.T
    chosen = [int(np.argmax(relevance))]
    nearest = similar[chosen[0]].copy()
    while len(chosen) < k:
        score = weight * relevance - (1 - weight) * nearest
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        nearest = np.maximum(nearest, similar[chosen[-1]])
    return np.array(chosen)


def determinantal(rows, relevance, k, weight):
    """Greedy MAP of a k-DPP with kernel q_i q_j cos(i, j), q = exp(weight·relevance) (Chen et al. 2018)."""
    share = (relevance - relevance.max()) / np.ptp(relevance)
    scaled = rows * np.exp(weight * share)[:, None]
    kernel = scaled @ scaled.T + 1e-9 * np.eye(len(rows))
    left, factors, chosen = kernel.diagonal().copy(), np.zeros((k, len(rows))), []
    for i in range(k):
        best = int(np.argmax(left))
        factors[i] = (kernel[best] - factors[:i].T @ factors[:i, best]) / np.sqrt(left[best])
        left = left - factors[i] ** 2
        chosen.append(best)
        left[chosen] = -np.inf
    return np.array(chosen)


def pursued(rows, relevance, k, weight):
    """Basis pursuit on the k leading directions of the weighted rows, then swaps among its candidates."""
    share = (relevance - relevance.max()) / np.ptp(relevance)
    scaled = rows * np.exp(weight * share)[:, None]
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    W = (vectors[:, -k:] * np.sqrt(values[-k:])).T
    candidates = basis_pursuit(W, tol=1e-6).candidates
    among = np.ascontiguousarray(W[:, candidates].T)
    objective = Objective(among, k, BASIS_PURSUIT, 1.0, 1 / np.linalg.norm(W, axis=0).max())
    return candidates[swap(objective, greedy(objective).columns, 10**6).columns]


METHODS = {
    "`diversify`": (
        lambda rows, relevance, k, d: diversify(rows, k, relevance, diversity=d),
        (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0),
    ),
    "MMR": (marginal_relevance, (0.9, 0.8, 0.7, 0.6, 0.55, 0.5, 0.4)),
    "k-DPP greedy": (determinantal, (4.0, 2.0, 1.0, 0.7, 0.5, 0.3, 0.1, 0.0)),
    "pursuit on k directions": (pursued, (4.0, 2.0, 1.0, 0.7, 0.5, 0.3, 0.1)),
}


def curves(vectors, fine):
    """For each method and setting: relevance kept, labels covered; and milliseconds a list."""
    V = unit_rows(np.asarray(vectors, dtype=np.float32)).astype(np.float64)
    points = {name: {} for name in ["plain list", *METHODS]}
    spent = dict.fromkeys(METHODS, 0.0)
    for turn, query in enumerate(np.random.default_rng(0).permutation(len(V))[:QUERIES]):
        close = V @ V[query]
        close[query] = -np.inf
        listed = np.argsort(-close, kind="stable")[:LIST]
        rows, relevance, labels = V[listed], close[listed], fine[listed]

        def put(name, setting, chosen, relevance=relevance, labels=labels):
            kept = relevance[chosen].mean() / relevance[:SHOWN].mean()
            points[name].setdefault(setting, []).append((kept, labels[chosen].any(axis=0).sum()))

        put("plain list", 0, np.arange(SHOWN))
        for name, (method, settings) in METHODS.items():
            if turn >= SLOW.get(name, QUERIES):
                continue
            begun = time.perf_counter()
            for setting in settings:
                put(name, setting, method(rows, relevance, SHOWN, setting))
            spent[name] += (time.perf_counter() - begun) / len(settings)
    averages = {
        name: np.array(sorted(tuple(np.mean(values, axis=0)) for values in of.values())) for name, of in points.items()
    }
    return averages, {name: 1e3 * total / SLOW.get(name, QUERIES) for name, total in spent.items()}


def diverse_lists(results):
    """The section of the report, and its picture."""
    sets = {}
    try:
        captions = load_coco_captions()
        first = np.unique(captions.image_id, return_index=True)[1]
        sets["COCO captions"] = np.asarray(captions.vectors)[first], np.asarray(captions.fine, dtype=bool)[first]
    except DatasetNotFound:
        pass
    scenes = load_scenes()
    sets["Scenes"] = scenes.vectors, np.asarray(scenes.fine, dtype=bool)
    lines = [
        "## Diverse lists",
        "",
        f"{SHOWN} of the {LIST} nearest items of {QUERIES} queries: how many fine labels the ten cover where they keep "
        "this share of the mean cosine of the plain ten (interpolated between settings of each method). The noise of "
        "`diversify` (variance 1) and how it scales relevance were chosen on other queries of both sets (150 to 800 "
        "of them). Pursuit on k directions, which is slow, has the first "
        f"{SLOW['pursuit on k directions']} queries only.",
        "",
        "| data | method | " + " | ".join(f"{share:.0%} kept" for share in KEPT) + " | ms a list |",
        "| --- | --- |" + " --- |" * (len(KEPT) + 1),
    ]
    figure, panels = plt.subplots(1, len(sets), figsize=(4.6 * len(sets), 3.7), layout="constrained", squeeze=False)
    for panel, (name, (vectors, fine)) in zip(panels[0], sets.items()):
        with one_blas_thread():
            averages, spent = curves(vectors, fine)
        plain = averages["plain list"][0, 1]
        lines.append(f"| {name} | plain list (100 % kept): {plain:.1f} |" + " |" * (len(KEPT) + 1))
        panel.plot(1, plain, "k*", ms=10, label="plain list")
        for method, marker in zip(METHODS, "osv^"):
            curve = averages[method]
            panel.plot(*curve.T, marker + "-", ms=4, label=method.strip("`"))
            found = " | ".join(f"{np.interp(share, *curve.T):.1f}" for share in KEPT)
            lines.append(f"| | {method} | {found} | {spent[method]:.1f} |")
        panel.set(title=name, xlabel="relevance kept", ylabel="labels covered by ten", xlim=(0.65, 1.02))
        panel.grid(alpha=0.3)
    panels[0, 0].legend(frameon=False)
    figure.savefig(results / "selection-diversity.png", dpi=120)
    plt.close(figure)
    return [*lines, "", "![Labels covered against relevance kept](selection-diversity.png)"]
