"""Concepts without labels: how well those that are found tell fine labels that they never saw, beside other ways to
find some, and how often their names are the labels' names.

Scenes ships; the others are found through PELLUCID_DATA. Kept back (nobody looked at them before the defaults stood):
Flickr8k by EfficientNet, Flickr8k by CLIP, Jeopardy. turftopic takes part if TURFTOPIC names a folder where it was
installed with `pip install --no-deps --target`: only the file of its factorisation is loaded, since the rest of it
imports an encoder."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances
from benchmarks.problems import SYNONYMS
from pellucid import ConceptDiscovery
from pellucid._core.arrays import unit_rows
from pellucid.concepts.held_out import areas, matching, precisions
from pellucid.preparation import CenteredNormalizer

SEEDS = range(5)
CONCEPTS = 128
# a label counts as found if its concept has this area on rows that were not matched on
FOUND = 0.9


@dataclass(frozen=True)
class Set:
    """Raw rows with fine labels, to learn and match on, and others to score on; with texts and words, if any."""

    name: str
    kept_back: bool
    names: list[str]
    train: Any
    fine: Any
    test: Any
    test_fine: Any
    texts: list[str] | None = None
    words: Any = None
    word_vectors: Any = None


def sets() -> Iterator[Set]:
    for make in (scenes, coco, flickr8k, clip, jeopardy):
        try:
            yield make()
        except (FileNotFoundError, ValueError, KeyError, OSError) as error:
            print(f"not run: {error}")


def of_task(task: Any, kept_back: bool, names: Any, texts: Any = None) -> Set:
    test = [np.vstack([getattr(task.queries, part), getattr(task.candidates, part)]) for part in ("raw", "fine")]
    said = None if texts is None else [str(texts[i]) for i in task.train.rows]
    return Set(
        task.name, kept_back, [str(name) for name in names], task.train.raw, task.train.fine, *test, said, task.words,
        task.word_vectors,
    )  # fmt: skip


def scenes() -> Set:
    from reproductions import common

    from pellucid.datasets import load_scenes

    data = load_scenes()
    return of_task(common.scenes(), False, data.fine_names, data.texts)


def coco() -> Set:
    from reproductions import common
    from reproductions.data import load_coco_captions

    data = load_coco_captions()
    return of_task(common.coco_captions(), False, data.fine_names, data.caption)


def flickr8k() -> Set:
    from reproductions import common
    from reproductions.data import load_flickr8k

    data = load_flickr8k()
    kept = data.coarse.any(axis=0)[data.fine_to_coarse]
    return of_task(common.flickr8k(), True, np.array(data.fine_names)[kept])


def clip() -> Set:
    data = archive("flickr8k_clip.npz")
    X, fine = data["vectors"].astype(np.float32), data["fine"] > 0
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:600], order[600:]
    return Set("CLIP Flickr8k", True, list(map(str, data["fine_names"])), X[train], fine[train], X[test], fine[test])


def jeopardy() -> Set:
    data = archive("jeopardy_openai.npz")
    names, label = np.unique(data["category"], return_inverse=True)
    X, fine = data["vectors"].astype(np.float32), label[:, None] == np.arange(len(names))
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:6000], order[6000:]
    return Set("Jeopardy", True, list(map(str, names)), X[train], fine[train], X[test], fine[test])


def archive(name: str) -> Any:
    folders = [Path(os.environ.get(key, ".")) for key in ("PELLUCID_DATA", "PELLUCID_FETCHED")]
    return np.load(next((f / name for f in folders if (f / name).is_file()), folders[0] / name), allow_pickle=False)


# ways to find concepts: from prepared training rows and others, how much each of them is of each concept


def ours(X: Any, Z: Any, seed: int) -> tuple[Any, Any]:
    model = ConceptDiscovery(CONCEPTS, n_coarse=0, center=False, random_state=seed).fit(X)
    return model.predict_proba(X), model.predict_proba(Z)


def spherical_k_means(X: Any, Z: Any, seed: int, rounds: int = 30) -> tuple[Any, Any]:
    from sklearn.cluster import kmeans_plusplus

    C = unit_rows(kmeans_plusplus(X, min(CONCEPTS, len(X)), random_state=seed)[0])
    for _ in range(rounds):
        sums = np.zeros_like(C)
        np.add.at(sums, (X @ C.T).argmax(axis=1), X)
        C = np.where(sums.any(axis=1, keepdims=True), unit_rows(sums), C)
    return X @ C.T, Z @ C.T


def autoencoder(k: int) -> Callable[..., tuple[Any, Any]]:
    """A TopK sparse autoencoder by Adam; dead latents take a row that is explained badly. Scored before the top k are
    taken, which serves it best."""

    def run(X: Any, Z: Any, seed: int, steps: int = 2000, batch: int = 256, rate: float = 1e-3) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        X, Z = X.astype(np.float32), Z.astype(np.float32)
        D = unit_rows(X[rng.choice(len(X), CONCEPTS, replace=len(X) < CONCEPTS)]).astype(np.float32)
        values = [D.T.copy(), np.zeros(CONCEPTS, np.float32), D.copy(), X.mean(axis=0)]
        first, second = ([np.zeros_like(v) for v in values] for _ in range(2))
        used = np.zeros(CONCEPTS, dtype=int)
        for step in range(1, steps + 1):
            E, b, D, mean = values
            rows = X[rng.integers(len(X), size=batch)]
            before = (rows - mean) @ E + b
            top = np.argpartition(-before, k, axis=1)[:, :k]
            codes = np.zeros_like(before)
            np.put_along_axis(codes, top, np.maximum(np.take_along_axis(before, top, axis=1), 0), axis=1)
            rest = codes @ D + mean - rows
            back = (rest @ D.T) * (codes > 0)
            slopes = [(rows - mean).T @ back, back.sum(axis=0), codes.T @ rest, rest.sum(axis=0) - back.sum(0) @ E.T]
            for i, slope in enumerate(slopes):
                slope = slope / batch
                first[i] = 0.9 * first[i] + 0.1 * slope
                second[i] = 0.999 * second[i] + 0.001 * slope**2
                move = (first[i] / (1 - 0.9**step)) / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)
                values[i] = values[i] - rate * move
            values[2] = unit_rows(values[2])
            used += (codes > 0).sum(axis=0)
            if step % 300 == 0 and step < 0.8 * steps:
                worst = rows[np.argsort(-(rest**2).sum(axis=1))]
                for j, row in zip(np.flatnonzero(used == 0), worst):
                    way = unit_rows((row - values[3])[None])[0]
                    values[2][j], values[0][:, j], values[1][j] = way, way, 0
                used[:] = 0
        E, b, _, mean = values
        return (X - mean) @ E + b, (Z - mean) @ E + b

    return run


def ica(X: Any, Z: Any, seed: int) -> tuple[Any, Any]:
    """FastICA, each source with the sign that makes its large values rare."""
    from scipy.stats import skew
    from sklearn.decomposition import FastICA

    model = FastICA(min(CONCEPTS, X.shape[1]), whiten="unit-variance", max_iter=100, tol=1e-3, random_state=seed)
    S = model.fit_transform(X)
    sign = np.sign(skew(S, axis=0))
    return S * sign, model.transform(Z) * sign


def shifted_nmf(X: Any, Z: Any, seed: int) -> tuple[Any, Any]:
    from sklearn.decomposition import NMF

    low = np.minimum(X.min(axis=0), Z.min(axis=0))
    model = NMF(CONCEPTS, init="nndsvda", max_iter=60, random_state=seed)
    return model.fit_transform(X - low), model.transform(Z - low)


def bertopic_pipeline(X: Any, Z: Any, seed: int) -> tuple[Any, Any]:
    """UMAP to 5 dimensions and HDBSCAN with BERTopic's defaults; a row is as much of a topic as its cosine with the
    topic's mean vector, as BERTopic scores new documents that it has embeddings of."""
    import umap
    from sklearn.cluster import HDBSCAN

    low = umap.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed).fit_transform(X)
    topic = HDBSCAN(min_cluster_size=10, cluster_selection_method="eom", copy=True).fit_predict(low)
    C = unit_rows(np.stack([X[topic == t].mean(axis=0) for t in range(topic.max() + 1)]))
    return X @ C.T, Z @ C.T


def senstopic(X: Any, Z: Any, seed: int) -> tuple[Any, Any]:
    model = snmf()(CONCEPTS, max_iter=200, sparsity=1, random_state=seed, progress_bar=False, verbose=False)
    return np.asarray(model.fit_transform(X)), np.asarray(model.transform(Z))


def snmf() -> Any:
    """The class behind turftopic's SensTopic, from its file alone."""
    folder = Path(os.environ["TURFTOPIC"]) / "turftopic"
    package = types.ModuleType("turftopic")
    package.__path__ = [str(folder)]
    sys.modules["turftopic"] = package
    spec = importlib.util.spec_from_file_location("turftopic_snmf", folder / "models" / "_snmf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SNMF


def rivals() -> dict[str, tuple[Callable[..., tuple[Any, Any]], int]]:
    """Each way, with the seeds that it is run with."""
    found: dict[str, tuple[Callable[..., tuple[Any, Any]], int]] = {
        "**ConceptDiscovery**": (ours, len(SEEDS)),
        "spherical k-means": (spherical_k_means, len(SEEDS)),
        **{f"TopK sparse autoencoder, k={k}": (autoencoder(k), len(SEEDS)) for k in (4, 8)},
        "ICA": (ica, len(SEEDS)),
        "NMF, shifted": (shifted_nmf, len(SEEDS)),
        "BERTopic's UMAP + HDBSCAN": (bertopic_pipeline, len(SEEDS)),
    }
    if "TURFTOPIC" in os.environ:
        found["turftopic's SensTopic"] = (senstopic, len(SEEDS))
    return found


def judged(scores: Any, fine: Any, others: Any, other_fine: Any) -> tuple[float, float]:
    """Mean area and average precision over the labels, matched on the first rows, scored on the others; one without a
    concept of its own is guessed."""
    told = np.flatnonzero((fine.sum(axis=0) > 0) & (other_fine.sum(axis=0) > 0))
    at, matched = matching(areas(scores, fine[:, told]))
    auc, precision = np.full(len(told), 0.5), other_fine[:, told].mean(axis=0)
    auc[at] = np.diag(areas(others[:, matched], other_fine[:, told[at]]))
    precision[at] = precisions(others[:, matched], other_fine[:, told[at]])
    return float(auc.mean()), float(precision.mean())


def table(data: Set) -> list[str]:
    before = CenteredNormalizer().fit(data.train)
    X, Z = (np.asarray(before.transform(rows), dtype=np.float32) for rows in (data.train, data.test))
    lines = []
    for title, (way, seeds) in rivals().items():
        found, seconds = [], []
        for seed in range(seeds):
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores, others = way(X, Z, seed)
            seconds.append(time.perf_counter() - begun)
            found.append(judged(scores, data.fine, others, data.test_fine))
        (auc, precision), spread = np.mean(found, axis=0), np.std(found, axis=0)
        lines.append(
            f"| {shown(data)} | {title} | {auc:.3f} ± {spread[0]:.3f} | {precision:.3f} ± {spread[1]:.3f} | {seeds} | "
            f"{min(seconds):.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def names(data: Set) -> list[str]:
    """Of the labels that were found, how often the name, or a synonym, is among a concept's first five words."""
    if data.texts is None or data.words is None:
        return []
    lines = []
    for title, given in (
        ("vocabulary", {"words": data.words, "word_vectors": data.word_vectors}),
        ("texts", {"texts": data.texts}),
        ("both", {"texts": data.texts, "words": data.words, "word_vectors": data.word_vectors}),
    ):
        first, five, counted = [], [], []
        for seed in SEEDS:
            model = ConceptDiscovery(CONCEPTS, n_coarse=0, random_state=seed).fit(data.train, **given)
            scores, others = model.predict_proba(data.train), model.predict_proba(data.test)
            told = np.flatnonzero((data.fine.sum(axis=0) > 0) & (data.test_fine.sum(axis=0) > 0))
            at, matched = matching(areas(scores, data.fine[:, told]))
            good = np.diag(areas(others[:, matched], data.test_fine[:, told[at]])) >= FOUND
            right = [
                [same(word, data.names[told[j]]) for word in str(model.concept_words_[c]).split(", ")]
                for j, c in zip(at[good], matched[good])
            ]
            first.append(np.mean([row[0] for row in right]))
            five.append(np.mean([any(row) for row in right]))
            counted.append(len(right))
        lines.append(
            f"| {shown(data)} | {title} | {np.mean(counted):.0f} of {len(data.names)} | {np.mean(first):.0%} | "
            f"{np.mean(five):.0%} |"
        )
        print(lines[-1], flush=True)
    return lines


def same(word: str, label: str) -> bool:
    from pellucid.concepts.found_names import stem

    return stem(word) in {stem(name) for name in (label, *SYNONYMS.get(label, ()))}


def many_rows(n: int = 100_000, d: int = 384, planted: int = 200) -> list[str]:
    """Seconds of a fit of rows that are made of four of so many directions, and how many of these come out."""
    rng = np.random.default_rng(0)
    B = unit_rows(rng.standard_normal((planted, d))).astype(np.float32)
    codes = np.zeros((n, planted), dtype=np.float32)
    for _ in range(4):
        codes[np.arange(n), rng.integers(planted, size=n)] = rng.gamma(3, 0.3, n)
    X = codes @ B + 0.03 * rng.standard_normal((n, d)).astype(np.float32)
    lines = []
    for given in (CONCEPTS, "auto"):
        begun = time.perf_counter()
        model = ConceptDiscovery(given, random_state=0).fit(X)
        seconds = time.perf_counter() - begun
        again = float(((model.atoms_ @ B.T).max(axis=0) >= 0.9).mean())
        lines.append(f"| {n} × {d} | {given} ({len(model.atoms_)}) | {seconds:.0f} s | {again:.0%} of {planted} |")
        print(lines[-1], flush=True)
    return lines


def shown(data: Set) -> str:
    return f"{data.name} (kept back)" if data.kept_back else data.name


def run(results: Path) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    found = list(sets())
    facts = circumstances("umap-learn")
    listed = ", ".join(f"{package} {number}" for package, number in facts["packages"].items())
    lines = [
        "# Concepts without labels",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, {facts['machine']}, Python "
        f"{facts['python']}, {listed}. Printed by `python -m benchmarks discovery`.",
        "",
        f"{CONCEPTS} concepts, matched one to one to fine labels on the rows that they were found in, scored on "
        "others: area under the ROC curve and average precision, means over the labels, mean ± standard deviation over "
        "seeds. A label without a concept of its own counts as guessed (.5). Everybody has the same prepared rows. "
        "BERTopic's pipeline makes as many topics as it likes. Seconds: the best run, on a machine that was "
        "busy with other things.",
        "",
        "| set | way | AUC | AP | seeds | s |",
        "| --- | --- | --- | --- | --- | --- |",
        *(line for data in found for line in table(data)),
        "",
        "## Names",
        "",
        f"Of the labels whose concept has an AUC of {FOUND} on rows not matched on: how often the label's name, or a "
        "synonym that `benchmarks/problems.py` lists, is the first word, and among the first five. Means over 5 seeds.",
        "",
        "| set | named from | found | first | among five |",
        "| --- | --- | --- | --- | --- |",
        *(line for data in found for line in names(data)),
        "",
        "## Many rows",
        "",
        "A whole fit with presence, stability and coarse concepts; planted directions that one has a cosine of .9 to.",
        "",
        "| rows | concepts | time | planted directions found |",
        "| --- | --- | --- | --- |",
        *many_rows(),
    ]
    (results / "discovery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Console(width=160).print(Markdown("\n".join(lines)))
