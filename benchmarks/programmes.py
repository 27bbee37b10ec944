"""Gene programmes: what was planted in simulated cells, and the types of real ones, beside cNMF's consensus NMF.

Cells are simulated as those of cNMF's paper (Kotliar et al. 2019, after Splatter): each has the programme of its type,
and some types share programmes of activity that a part of their cells uses by 10 to 70 %. cNMF is written down from the
paper: the 2,000 genes of most dispersion beyond their mean's, unit variances, factorisations from random starts, all
components of length one, those far from their neighbours left out, k-means, medians, usages by least squares. The real
cells are `pbmc68k_reduced`, which lies in the wheel of scanpy: PELLUCID_SCANPY names a folder where it was installed
with `pip install --no-deps --target`."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from benchmarks.harness import circumstances
from pellucid import gene_programmes

IDENTITIES, ACTIVITIES, SEEDS = 9, 2, range(5)
# cNMF's runs from random starts; its paper takes 200, and here more than 20 change nothing
RUNS, GENES = 20, 2000


def simulated(n: int, genes: int, seed: int, de: float = 0.05) -> tuple[Any, Any, Any]:
    """Counts (n, genes), usages (n, K) and spectra (K, genes)."""
    rng, K = np.random.default_rng(seed), IDENTITIES + ACTIVITIES
    base = rng.gamma(0.6, 1 / 0.3, genes)
    outlying = rng.random(genes) < 0.05
    base[outlying] = np.median(base) * rng.lognormal(4, 0.5, outlying.sum())
    S = np.tile(base, (K, 1))
    for spectrum in S:
        up = rng.random(genes) < de
        spectrum[up] *= np.exp(np.abs(rng.normal(1.0, 0.4, up.sum())))
    S /= S.sum(axis=1, keepdims=True)
    kind = rng.integers(IDENTITIES, size=n)
    U = np.zeros((n, K))
    U[np.arange(n), kind] = 1
    for a in range(IDENTITIES, K):
        active = np.isin(kind, rng.choice(IDENTITIES, 3, replace=False)) & (rng.random(n) < 0.4)
        used = rng.uniform(0.1, 0.7, n) * active
        U *= 1 - used[:, None]
        U[:, a] += used
    depth, freedom = rng.lognormal(7.6, 0.5, n), np.sqrt(60 / rng.chisquare(60, genes))
    blocks = []
    for start in range(0, n, 1000):
        mean = (U[start : start + 1000] @ S) * depth[start : start + 1000, None]
        spread = ((0.1 + 1 / np.sqrt(mean)) * freedom) ** 2
        blocks.append(sparse.csr_array(rng.poisson(rng.gamma(1 / spread, mean * spread)).astype(np.float32)))
    return sparse.vstack(blocks).tocsr(), U, S


def cnmf(counts: Any, K: int, seed: int) -> tuple[Any, Any]:
    """Usages and spectra by consensus NMF."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import non_negative_factorization as nmf
    from sklearn.metrics import pairwise_distances

    total = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
    tpm = (sparse.diags_array(1e4 / total) @ counts).tocsr().astype(np.float64)
    chosen = dispersed(tpm)
    N = counts[:, chosen].astype(np.float64)
    deviation = np.sqrt(np.asarray(N.multiply(N).mean(axis=0)).ravel() - np.asarray(N.mean(axis=0)).ravel() ** 2)
    N = (N @ sparse.diags_array(1 / np.where(deviation > 0, deviation, 1))).tocsr()
    rng, found = np.random.RandomState(seed), []
    for _ in range(RUNS):
        found.append(nmf(N, n_components=K, init="random", random_state=rng.randint(2**31 - 1), max_iter=1000)[1])
    every = np.vstack(found)
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    near = np.sort(pairwise_distances(every), axis=1)[:, 1 : int(0.3 * RUNS) + 1].mean(axis=1)
    every = every[near < 0.5] if (near < 0.5).sum() >= K else every
    which = KMeans(K, n_init=10, random_state=1).fit_predict(every)
    middle = np.vstack([np.median(every[which == c], axis=0) for c in range(K)])
    middle /= middle.sum(axis=1, keepdims=True)
    U = nmf(N, H=middle, update_H=False, n_components=K, max_iter=1000)[0]
    U = U / np.maximum(U.sum(axis=1, keepdims=True), 1e-300)
    S = nmf(tpm.T.tocsr(), H=np.ascontiguousarray(U.T), update_H=False, n_components=K, max_iter=1000)[0]
    return U, S.T


def dispersed(tpm: Any) -> Any:
    """The genes whose variance is furthest above that of genes of their mean."""
    mean = np.asarray(tpm.mean(axis=0)).ravel()
    fano = (np.asarray(tpm.multiply(tpm).mean(axis=0)).ravel() - mean**2) / np.maximum(mean, 1e-12)
    order, beyond = np.argsort(mean), np.zeros(len(mean))
    for rows in np.array_split(order[mean[order] > 0], 20):
        beyond[rows] = fano[rows] / max(float(np.median(fano[rows])), 1e-300)
    return np.sort(np.argsort(-beyond)[:GENES])


def recovered(U: Any, S: Any, usage: Any, spectra: Any) -> tuple[float, float, float]:
    """Correlations of planted usages, of identities and of activities, with those that go with them one to one, and of
    how far genes are above the other programmes."""
    corr = np.nan_to_num(np.corrcoef(U.T, usage.T)[: U.shape[1], U.shape[1] :])
    i, j = linear_sum_assignment(-corr)
    use, genes = np.zeros(len(spectra)), np.zeros(len(spectra))
    use[j] = corr[i, j]
    S = S / np.maximum(S.sum(axis=1, keepdims=True), 1e-300)
    for mine, true in zip(i, j):
        genes[true] = np.corrcoef(beyond(S, mine), beyond(spectra, true))[0, 1]
    return float(use[:IDENTITIES].mean()), float(use[IDENTITIES:].mean()), float(np.nan_to_num(genes).mean())


def beyond(S: Any, k: int) -> Any:
    others = np.delete(S, k, axis=0).mean(axis=0)
    return (S[k] - others) / np.sqrt(S[k] + others + 1e-8)


def ours(counts: Any, K: Any, seed: int) -> tuple[Any, Any]:
    found = gene_programmes(counts, n_programmes=K, random_state=seed)
    return found.usage, found.spectra


def planted_lines() -> list[str]:
    lines, K = [], IDENTITIES + ACTIVITIES
    ways: Any = {
            "**gene_programmes**": (ours, K), "**gene_programmes**, how many not told": (ours, "auto"),
            f"cNMF, {RUNS} runs": (cnmf, K)}  # fmt: skip
    for title, (way, count) in ways.items():
        rows, seconds, counts_found = [], [], []
        for seed in SEEDS:
            counts, usage, spectra = simulated(3000, 5000, seed)
            begun = time.perf_counter()
            U, S = way(counts, count, seed)
            seconds.append(time.perf_counter() - begun)
            rows.append(recovered(U, S, usage, spectra))
            counts_found.append(U.shape[1])
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
        cells = " | ".join(f"{a:.3f} ± {b:.3f}" for a, b in zip(mean, spread))
        lines.append(f"| {title} | {np.mean(counts_found):.1f} | {cells} | {min(seconds):.1f} |")
        print(lines[-1], flush=True)
    return lines


def real_lines() -> list[str]:
    if "PELLUCID_SCANPY" not in os.environ:
        print("not run: PELLUCID_SCANPY is not set")
        return []
    import anndata
    from sklearn.metrics import roc_auc_score

    file = Path(os.environ["PELLUCID_SCANPY"]) / "scanpy" / "datasets" / "10x_pbmc68k_reduced.h5ad"
    data = anndata.read_h5ad(file)
    kind = data.obs["bulk_labels"].astype(str).to_numpy()
    names = np.unique(kind)

    def told(U: Any) -> float:
        area = np.array([[roc_auc_score(kind == name, column) for name in names] for column in U.T])
        out = np.full(len(names), 0.5)
        i, j = linear_sum_assignment(-area)
        out[j] = area[i, j]
        return float(out.mean())

    plain = sparse.csr_array(data.raw.X).astype(np.float64)
    plain.data = np.expm1(plain.data)
    lines = []
    rivals: list[tuple[str, Any, Any]] = [("**gene_programmes**", ours, data), (f"cNMF, {RUNS} runs", cnmf, plain)]
    for title, way, given in rivals:
        cells = []
        for count in (8, 10, 12, 14, 16):
            values = [told(way(given, count, seed)[0]) for seed in range(3)]
            cells.append(f"{np.mean(values):.3f} ± {np.std(values):.3f}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    found = gene_programmes(data)
    lines.append(f"| **gene_programmes**, how many not told: {len(found.names)} | {told(found.usage):.3f} | | | | |")
    known = gene_programmes(data, labels="bulk_labels")
    lines.append(f"| **gene_programmes**, types told: {len(known.names)} | {told(known.usage):.3f} | | | | |")
    print("\n".join(lines[-2:]), flush=True)
    return lines


def many_cells(n: int = 100_000) -> str:
    counts, usage, spectra = simulated(n, 5000, 0)
    begun = time.perf_counter()
    found = gene_programmes(counts, n_programmes=IDENTITIES + ACTIVITIES)
    seconds = time.perf_counter() - begun
    use, active, genes = recovered(found.usage, found.spectra, usage, spectra)
    line = f"| {n:,} × 5,000 | {seconds:.0f} s | {use:.3f} | {active:.3f} | {genes:.3f} |"
    print(line, flush=True)
    return line


def run(results: Path) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    warnings.simplefilter("ignore")
    facts = circumstances("anndata")
    lines = [
        "# Gene programmes",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, {facts['machine']}, Python "
        f"{facts['python']}. Printed by `python -m benchmarks programmes`.",
        "",
        f"3,000 cells × 5,000 genes, simulated as in cNMF's paper: {IDENTITIES} types, {ACTIVITIES} programmes of "
        "activity that 40 % of the cells of three types use by 10 to 70 %. Correlations of planted usages with those "
        "matched to them one to one, and of how far genes are above the other programmes; means ± standard deviations "
        "over 5 seeds of cells and starts. Seconds: the best run.",
        "",
        "| way | programmes | usage of types | usage of activities | genes | s |",
        "| --- | --- | --- | --- | --- | --- |",
        *planted_lines(),
        "",
        "pbmc68k_reduced, 700 cells × 765 genes: area under the ROC curve by which the usage of one programme tells "
        "one of the ten types, matched one to one; a type without a programme counts as guessed. 3 seeds.",
        "",
        "| way | 8 programmes | 10 | 12 | 14 | 16 |",
        "| --- | --- | --- | --- | --- | --- |",
        *real_lines(),
        "",
        "Many cells:",
        "",
        "| cells | time | usage of types | usage of activities | genes |",
        "| --- | --- | --- | --- | --- |",
        many_cells(),
    ]
    (results / "programmes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Console(width=150).print(Markdown("\n".join(lines)))
