"""Paper 4's toy figure and words: two spirals that come apart (Figure 2), neighbours of words (Figure 5)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from pellucid import SparseManifoldTransform, WordManifoldTransform
from pellucid._core.arrays import unit_rows
from pellucid.manifold.words import tokens_of, word_statistics
from reproductions.data import load_wikitext2

BLUE, ORANGE, GREY = "#0072b2", "#e69f00", "#c5ccd3"


def spirals(n=6000, seed=0, noise=0.03):
    rng = np.random.default_rng(seed)
    t = 5 * np.pi * np.sqrt(rng.uniform(0.02, 1, n))
    side = rng.integers(0, 2, n)
    X = np.c_[t * np.cos(t + np.pi * side), t * np.sin(t + np.pi * side)] / 5
    return X + noise * rng.standard_normal(X.shape), side


def two_spirals(save, results, k=300):
    X, side = spirals()
    settings = {"n_atoms": 400, "n_neighbors": 8, "random_state": 0}
    lines = [
        "Share of the 300 nearest neighbours, by cosine, of 1 000 new points that lie on the same spiral "
        "(6 000 points, 400 landmarks, four dimensions; to reach: 99 %):\n",
        "| neighbours by | same spiral |",
        "| --- | --- |",
    ]
    new, of = spirals(1000, seed=1)
    plain = np.argsort(((new[:, None] - X[None, :]) ** 2).sum(axis=2), axis=1)[:, :k]
    lines.append(f"| Euclidean distance of the points themselves | {100 * np.mean(side[plain] == of[:, None]):.1f} % |")
    shown = None
    for name, more in {
        "metric, order 1": {},
        "noise (as in the paper's figure)": {"neighbors": "noise", "noise": 0.06},
        "metric, order 2, equal weights": {"order": 2, "interpolation": "mean"},
    }.items():
        model = SparseManifoldTransform(4, **settings, **more).fit(X)
        Z, R = unit_rows(model.transform(new)), unit_rows(model.transform(X))
        near = np.argsort(-(Z @ R.T), axis=1, kind="stable")[:, :k]
        lines.append(f"| {name} | {100 * np.mean(side[near] == of[:, None]):.1f} % |")
        shown = shown or model
    draw_spirals(results / "smt-spirals.png", shown, X, side, k)
    save("\n".join(lines) + "\n\n![two spirals come apart](smt-spirals.png)\n")


def draw_spirals(path, model, X, side, k):
    """Figure 2: data, landmarks, the map on landmarks and on points, neighbours before and after."""
    figure, axes = plt.subplots(2, 6, figsize=(15.6, 5.2), layout="constrained")
    Z = model.transform(X)
    point = int(np.argmin(np.abs(X - [1.2, 1.2]).sum(axis=1)))
    (a, b, *first), (e, f, *second) = axes
    a.scatter(*X.T, s=1, c=np.where(side, BLUE, ORANGE))
    a.set_title("data", fontsize=10)
    b.scatter(*X.T, s=1, c=GREY)
    b.scatter(*model.atoms_.T, s=4, c="#1f2933")
    b.set_title("landmarks, and those of two points", fontsize=10)
    for x, colour in zip(X[np.argsort(((X - [-1.5, -1.7]) ** 2).sum(axis=1))[[0, 200]]], ("#d55e00", "#009e73")):
        b.plot(*x, "x", color=colour, markersize=9, markeredgewidth=2)
        b.plot(*model.atoms_[model.code_.predict(x[None])[0]], "o", color=colour, markersize=6)
    for i, (above, below) in enumerate(zip(first, second)):
        limit = np.abs(Z[:, i]).max()
        colours = {"cmap": "PuOr", "vmin": -limit, "vmax": limit}
        above.scatter(*model.atoms_.T, s=9, c=model.components_[i], **colours)
        above.set_title(f"dimension {i + 1}, on landmarks", fontsize=10)
        below.scatter(*X.T, s=1.5, c=Z[:, i], **colours)
        below.set_title(f"dimension {i + 1}, on points", fontsize=10)
    unit = unit_rows(Z)
    for ax, score, name in (
        (e, -((X - X[point]) ** 2).sum(axis=1), "nearest by distance"),
        (f, unit @ unit[point], "nearest after the transform"),
    ):
        near = np.argsort(-score, kind="stable")[:k]
        ax.scatter(*X.T, s=1, c=GREY)
        ax.scatter(*X[near].T, s=4, c=np.where(side[near] == side[point], BLUE, "#d55e00"))
        ax.plot(*X[point], "x", color="#1f2933", markersize=9, markeredgewidth=2)
        ax.set_title(name, fontsize=10)
    for ax in axes.ravel():
        ax.set_aspect("equal")
        ax.axis("off")
    figure.savefig(path, dpi=110)
    plt.close(figure)


GROUPS = {
    name: words.split()
    for name, words in {
        "months": "january february march april may june july august september october november december",
        "numbers": "two three four five six seven eight nine ten eleven twelve twenty",
        "places": "england france germany australia america canada london york paris scotland ireland japan",
        "days": "monday tuesday wednesday thursday friday saturday sunday",
        "people": "he she him her his they them their",
        "directions": "north south east west northern southern eastern western",
    }.items()
}


def purity(vectors, places, k=5):
    """Share of the k nearest words, among those of all groups, that are of the word's own group."""
    known = [(places[word], group) for group, words in GROUPS.items() for word in words if word in places]
    rows, groups = np.array([row for row, _ in known]), np.array([group for _, group in known])
    cosines = unit_rows(vectors[rows]) @ unit_rows(vectors[rows]).T
    np.fill_diagonal(cosines, -np.inf)
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    same = (groups[near] == groups[:, None]).mean(axis=1)
    return same.mean(), {group: same[groups == group].mean() for group in GROUPS}


def words(save, results):
    data = load_wikitext2()
    texts = [line for part in (data.valid, data.test) for line in part.split("\n") if line.strip()]
    lines = [
        f"WikiText-2, validation and test text, {len(texts)} paragraphs, window of four words. Purity: of the five "
        "words nearest to a word of a group, among the words of all groups, the share of its own group.\n",
        "| vectors | all | " + " | ".join(GROUPS) + " |",
        "| --- " * (len(GROUPS) + 2) + "|",
    ]
    model = WordManifoldTransform(100).fit(texts)
    places = {word: i for i, word in enumerate(model.vocabulary_)}
    statistics = word_statistics(tokens_of(texts), places, 4)

    def row(name, vectors):
        mean, by_group = purity(vectors, places)
        cells = " | ".join(f"{100 * by_group[group]:.0f}" for group in GROUPS)
        lines.append(f"| {name} | {100 * mean:.0f} | {cells} |")

    row("ours, V = frequency (paper)", model.vectors_)
    row("ours, V = degree", WordManifoldTransform(100, constraint="degree").fit(texts).vectors_)
    counts = statistics.together
    for name, matrix in {
        "truncated SVD of the counts": counts,
        "truncated SVD of log(1 + counts)": counts.log1p(),
        "truncated SVD of positive PMI": positive_pmi(counts),
    }.items():
        row(name, TruncatedSVD(100, random_state=0).fit_transform(matrix))
    lines.append("\n| word | nearest |\n| --- | --- |")
    for word in ("january", "three", "england", "he", "north", "song", "army"):
        if word in places:
            lines.append(f"| {word} | {', '.join(other for other, _ in model.most_similar(word, 8))} |")
    draw_words(results, model, places)
    save("\n".join(lines) + "\n\n![words of six groups](smt-words.png)\n")


def positive_pmi(counts):
    total, sums = counts.sum(), np.asarray(counts.sum(axis=0)).ravel()
    entries = counts.tocoo()
    value = np.log(entries.data * total / (sums[entries.coords[0]] * sums[entries.coords[1]]))
    return sparse.csr_array((np.maximum(value, 0), entries.coords), shape=counts.shape)


def draw_words(results, model, places):
    """Figure 5: the words of the groups in the plane of their own two principal directions."""
    known = [(group, word) for group, words in GROUPS.items() for word in words if word in places]
    V = model.vectors_[[places[word] for _, word in known]]
    plane = (V - V.mean(axis=0)) @ np.linalg.svd(V - V.mean(axis=0), full_matrices=False)[2][:2].T
    colours = dict(zip(GROUPS, (BLUE, ORANGE, "#009e73", "#cc79a7", "#d55e00", "#5b4a9b")))
    figure, ax = plt.subplots(figsize=(10, 8), layout="constrained")
    for group, colour in colours.items():
        own = [i for i, (g, _) in enumerate(known) if g == group]
        ax.scatter(*plane[own].T, s=14, color=colour, label=group)
    figure.canvas.draw()
    dots = ax.transData.transform(plane)
    taken: list[tuple[float, float, float, float]] = [(x - 4, x + 4, y - 4, y + 4) for x, y in dots]
    for i in np.argsort(-plane[:, 1]):  # each label goes to the first free place around its dot
        group, word = known[i]
        x, y = dots[i]
        wide, high = 6.6 * len(word) + 4, 13.0
        for dx, dy in (
            (6, 0),
            (-6 - wide, 0),
            *((side, turn) for turn in (13, -13, 26, -26, 39, -39, 52, -52) for side in (6, -6 - wide)),
        ):
            box = (x + dx, x + dx + wide, y + dy - high / 2, y + dy + high / 2)
            if all(box[0] > t[1] or box[1] < t[0] or box[2] > t[3] or box[3] < t[2] for t in taken):
                break
        taken.append(box)
        place = ax.transData.inverted().transform((box[0], y + dy))
        ax.text(*place, word, fontsize=8, color=colours[group], va="center")
        if dy:  # a line leads to a label that had to move away
            end = ax.transData.inverted().transform((box[0] if dx > 0 else box[1], y + dy))
            ax.plot(*zip(plane[i], end), color=colours[group], linewidth=0.6)
    ax.legend(frameon=False, fontsize=9)
    ax.set(xticks=[], yticks=[], title="Words of six groups, on the first two principal directions of their vectors")
    ax.spines[:].set_visible(False)
    figure.savefig(results / "smt-words.png", dpi=110)
    plt.close(figure)
