"""Paper 2, Figure 5: word vectors, with far more concepts than dimensions."""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from pellucid.binary import Analogram, BinaryAutoencoder, concept_projection
from reproductions.data import DatasetNotFound, load_words

QUARTET = ("king", "queen", "man", "woman")
COUNTS = (10, 30, 100, 300, 1000)
OTHERS = ("duke", "duchess", "boy", "girl", "victim", "prince", "princess", "courtier", "maid", "warrior", "thief")
SHOWN = (*QUARTET, *OTHERS)


def words(results: Path) -> str:
    try:
        data = load_words()
    except DatasetNotFound:
        return "## Words (Figure 5)\n\nThe word vectors are not there (`PELLUCID_DATA`).\n"
    X = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)
    lines = [
        "## Words (Figure 5)\n",
        f"{len(X)} words in {X.shape[1]} dimensions (GloVe; the paper had 3 841 in 300, word2vec), of unit length.",
        '`BinaryAutoencoder(acceptance="greedy", max_concepts=…)`; the last row is the paper\'s rule, which keeps',
        "every state that its chains come to rest at. Seconds of one core. Paper: CKA 0.93 with 993 concepts.\n",
        "| rule | concepts | CKA | seconds |",
        "| --- | --- | --- | --- |",
    ]
    fits = []
    for count in COUNTS:
        model, spent = timed(BinaryAutoencoder(acceptance="greedy", max_concepts=count, random_state=0), X)
        fits.append((model.concepts_.shape[1], model.cka_))
        lines.append(f"| greedy | {model.concepts_.shape[1]} | {model.cka_:.3f} | {spent:.0f} |")
        print(lines[-1], flush=True)
    rule = BinaryAutoencoder(
        X.shape[1], acceptance="relative", margin=1.0, n_chains=1000, max_iter=30, max_concepts=1000, random_state=0
    )
    paper, spent = timed(rule, X)
    lines.append(f"| paper's | {paper.concepts_.shape[1]} | {paper.cka_:.3f} | {spent:.0f} |")
    places = [data.words.index(word) for word in QUARTET]
    found = concept_projection(model, places)
    lines += [
        "\nHow the concepts of the largest fit split king, queen, man and woman:\n",
        "| together with king | concepts | weight |",
        "| --- " * 3 + "|",
    ]
    for pattern, weight, count in zip(found.patterns, found.weights, found.counts):
        lines.append(f"| {beside(pattern)} | {count} | {weight:.3g} |")
    draw(results, X, data.words, model, paper, fits, found, places)
    return "\n".join(lines) + "\n\n![words](categorical_structure-words.png)\n"


def timed(model: BinaryAutoencoder, X: np.ndarray) -> tuple[BinaryAutoencoder, float]:
    begun = time.process_time()
    return model.fit(X), time.process_time() - begun


def beside(pattern: np.ndarray) -> str:
    return ", ".join(word for word, bit in zip(QUARTET[1:], pattern[1:]) if not bit) or "none"


def draw(results, X, names, model, paper, fits, found, places) -> None:
    """Figure 5: similarities of the words and of their concepts, weights, CKA, analogram, projections."""
    figure, panels = plt.subplots(2, 4, figsize=(21, 10.5), layout="constrained")
    sample = np.random.default_rng(0).choice(len(X), 400, replace=False)
    sample = sample[leaves_list(linkage(X[sample], "ward"))]
    centred = X - X.mean(axis=0)
    model_rows = (model.concepts_ - model.concepts_.mean(axis=0)) * np.sqrt(model.weights_)
    for panel, rows, title in ((panels[0, 0], centred, "Words"), (panels[0, 1], model_rows, "Their concepts")):
        part = rows[sample] / np.linalg.norm(rows[sample], axis=1, keepdims=True)
        panel.imshow(part @ part.T, vmin=-0.6, vmax=0.6, cmap="RdBu_r")
        panel.set(title=f"{title}: cosine similarity of 400 words", xticks=[], yticks=[])
    panels[0, 2].semilogy(np.sort(model.weights_)[::-1], color="#3b6fb6")
    panels[0, 2].set(title="Weights", xlabel="concept", ylabel="π")
    panels[0, 3].semilogx(*zip(*fits), "o-", color="#3b6fb6", label="greedy")
    panels[0, 3].plot(paper.concepts_.shape[1], paper.cka_, "s", color="#c2571a", label="paper's rule, these words")
    panels[0, 3].plot(993, 0.93, "*", color="#555555", markersize=12, label="paper, word2vec")
    panels[0, 3].set(title="CKA against number of concepts", xlabel="concepts", ylabel="CKA")
    panels[0, 3].legend(frameon=False)
    labels = [beside(pattern) for pattern in found.patterns]
    Analogram(found.patterns.T, QUARTET).plot(panels[1, 0], title="Analogram of four words")
    directions = np.linalg.svd(X[places] - X[places].mean(axis=0), full_matrices=False)[2][:2]
    scatter(panels[1, 1], (X - X[places].mean(axis=0)) @ directions.T, names, "Principal components of the four words")
    panels[1, 2].imshow(
        found.scores[[names.index(word) for word in SHOWN if word in names]], vmin=0, vmax=1, cmap="Greys"
    )
    known = [word for word in SHOWN if word in names]
    panels[1, 2].set(title="Sub-concepts", yticks=range(len(known)), yticklabels=known, xticks=range(len(labels)))
    panels[1, 2].set_xticklabels([f"{label} | rest" for label in labels], rotation=60, ha="right", fontsize=8)
    patterns = found.patterns.tolist()
    axes = [patterns.index(pattern) for pattern in ([0, 0, 1, 1], [0, 1, 0, 1])]
    scatter(panels[1, 3], found.scores[:, axes], names, "Projection on two sub-concepts")
    panels[1, 3].set(xlabel="with man and woman, not king and queen", ylabel="with queen and woman, not king and man")
    figure.savefig(results / "categorical_structure-words.png", dpi=90)
    plt.close(figure)


def scatter(panel, points, names, title) -> None:
    panel.scatter(*points.T, s=3, color="#c5ccd3")
    for word in SHOWN:
        if word in names:
            point = points[names.index(word)]
            panel.plot(*point, ".", color="#c2571a")
            panel.annotate(word, point, fontsize=9, xytext=(3, 3), textcoords="offset points")
    panel.set(title=title)
