"""CIFAR-10 at one size (paper 4): rows of Table 3, context (Table 5), dimensions with a linear probe (Table 7), and
what takes the place of the spectral step (Figure 6). ``SMT_SIZE`` in the environment sets the number of images; the
sections codes and dimensions use what the section cifar left in the folder ``SMT_CACHE``."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
from scipy import linalg
from sklearn.linear_model import LogisticRegression

from pellucid._core.threads import one_blas_thread
from pellucid.manifold import PatchManifoldTransform
from pellucid.manifold.patches import Images
from pellucid.manifold.spectral import solve_pairs
from pellucid.metrics import neighbour_vote, soft_knn_accuracy
from pellucid.metrics.neighbours import merge_neighbours
from reproductions.data import load_cifar10
from reproductions.smt_cifar import ATOMS, PART, RECIPE, K, coded, counted, solved, started, vectors
from reproductions.smt_mnist import Stopwatch

SKIP = 16  # as in the paper
COLOUR = {**RECIPE, "skip": SKIP, "random_state": 0}
GREY = {**COLOUR, "channels": "grey", "threshold": 0.45, "skip": "constant"}


def images(n_test):
    data, n = load_cifar10(), int(os.environ.get("SMT_SIZE", 2000))
    return data.x_train[:n], data.y_train[:n], data.x_test[:n_test], data.y_test[:n_test]


def accuracy(train, labels, test, truth, block=500):
    """Percent told right by the training images, and by their mirror images where ``train`` has those, too."""
    which = np.zeros((len(test), K), dtype=np.int64)
    best = np.full((len(test), K), -np.inf, dtype=np.float32)
    for rows in train:
        for start in range(0, len(rows), block):
            known = rows[start : start + block].astype(np.float32)
            known /= np.linalg.norm(known, axis=1, keepdims=True)
            merge_neighbours(which, best, known, np.arange(start, start + len(known)), test)
    return 100 * np.mean(neighbour_vote(labels[which], best) == truth)


def from_the_cache(model, watch, n, split="train"):
    """Vectors, float16, of images whose codes the section cifar left; of training images with their mirror images."""
    data = load_cifar10()
    source = Images(data.x_train if split == "train" else data.x_test, grey=False)
    mirror = split == "train"
    made = [np.empty((n, model._n_features_out), dtype=np.float16) for _ in range(1 + mirror)]
    for first in range(0, n, PART):
        stop = min(first + PART, n)
        codes = coded(model, source, split, first, watch)
        for out, part in zip(made, vectors(model, codes, 0, stop - first, mirror)):
            out[first:stop] = part
    return made


def rows_of_table_3(save, n_test=2000):
    """Original, grey and both, by one-hot and threshold codes."""
    x, y, test, truth = images(n_test)
    lines = [
        f"{len(x)} training images and their mirror images, {n_test} test images, {ATOMS} atoms. In brackets the "
        "paper, on all 50 000 images; standard error one point.\n",
        "| code and images | accuracy |",
        "| --- | --- |",
    ]

    def row(name, train, new):
        lines.append(f"| {name} | {accuracy(train, y, new, truth):.2f} |")
        save("\n".join(lines) + "\n")

    watch = Stopwatch()
    model = started(load_cifar10().x_train[:PART], watch)
    P = solved(model, Images(load_cifar10().x_train, grey=False), len(x), 400, watch)
    model.components_ = P[SKIP : SKIP + 384]
    colour = from_the_cache(model, watch, len(x)), from_the_cache(model, watch, n_test, "test")[0]
    row("threshold, colour (79.2)", *colour)

    def made(settings):
        fitted = PatchManifoldTransform(6, ATOMS, **settings, dtype="float16").fit(x)
        return fitted.transform_with_mirror(x), fitted.transform(test)

    grey = made(GREY)
    row("threshold, grey (77.5)", *grey)
    both = [np.hstack(pair) for pair in zip(colour[0], grey[0])]
    row("threshold, both (81.4)", both, np.hstack([colour[1], grey[1]]))
    del colour, grey, both
    one_hot = {**GREY, "code": "nearest", "n_samples": 200_000}
    row("nearest, grey (78.4 with 100 000 atoms)", *made(one_hot))
    row("nearest, colour", *made({**one_hot, "channels": "all"}))


def contexts(save, n_atoms=1024, n_test=2000, ranges=(4, 6, 12, None)):
    """Who is a neighbour."""
    x, y, test, truth = images(n_test)
    lines = [
        f"{len(x)} training images and their mirror images, {n_test} test images, {n_atoms} atoms. Paper, 50 000 "
        "images and 8 192 atoms: 78.0 at 4, 78.5 at 6 and 12, 79.4 for the whole image; standard error one point.\n",
        "| context | accuracy |",
        "| --- | --- |",
    ]
    for context in ranges:
        settings = {**COLOUR, "n_components": 256, "dtype": "float16"}
        model = PatchManifoldTransform(6, n_atoms, **settings, context=context).fit(x)
        found = accuracy(model.transform_with_mirror(x), y, model.transform(test), truth)
        lines.append(f"| {'whole image' if context is None else context} | {found:.2f} |")
        save("\n".join(lines) + "\n")


def probe(train, labels, test, truth):
    """Accuracy of logistic regression, in the span of the training rows: with a penalty on squares nothing else counts,
    and there are fewer images than coordinates."""
    Z, T = train.astype(np.float32), test.astype(np.float32)
    values, U = linalg.eigh(Z @ Z.T)
    kept = values > 1e-5 * values[-1]
    U, root = U[:, kept], np.sqrt(values[kept])
    model = LogisticRegression(C=100.0, max_iter=300).fit(U * root, labels)
    return 100 * model.score((T @ Z.T) @ U / root, truth)


# paper's Table 7, 50 000 images: neighbours, linear probe
PAPER = {
    50: "74.7, 69.0",
    110: "77.6, 74.5",
    210: "78.6, 77.0",
    350: "79.3, 78.6",
    500: "79.4, 79.7",
    800: "79.3, 80.2",
}


def dimensions(save, n_test=2000, sizes=(50, 110, 210, 350, 500, 800)):
    """How many dimensions, by neighbours and by a linear probe."""
    x, y, _, truth = images(n_test)
    watch = Stopwatch()
    model = started(load_cifar10().x_train[:PART], watch)
    statistics = counted(model, Images(load_cifar10().x_train, grey=False), len(x), watch)
    with one_blas_thread():
        P = solve_pairs(statistics, max(sizes), SKIP, mirror=True)[0].astype(np.float32)
    del statistics
    lines = [
        f"{len(x)} training images (for the neighbours with their mirror images), {n_test} test images, {ATOMS} atoms, "
        f"after leaving out {SKIP} dimensions; standard error one point.\n",
        "| dimensions | neighbours | linear probe | paper, 50 000 images: neighbours, linear probe |",
        "| --- | --- | --- | --- |",
    ]
    for d in sizes:
        model.components_ = P[:d]
        Z, T = from_the_cache(model, watch, len(x)), from_the_cache(model, watch, n_test, "test")[0]
        lines.append(f"| {d} | {accuracy(Z, y, T, truth):.2f} | {probe(Z[0], y, T, truth):.2f} | {PAPER[d]} |")
        save("\n".join(lines) + "\n")


def without_the_spectral_step(save, results, sizes=(256, 512, 1024), n_test=1000, n_dimensions=(16, 64, 256)):
    """Figure 6: sparse features alone, whitened, and embedded; and PCA instead of the embedding."""
    x, y, test, truth = images(n_test)
    score = lambda model: 100 * soft_knn_accuracy(model.transform(x), y, model.transform(test), truth)  # noqa: E731
    by_size = {"sparse features": [], "whitened": [], "embedded (ours)": []}
    for size in sizes:
        settings = {**COLOUR, "n_components": min(384, size // 2), "dtype": "float16"}
        model = PatchManifoldTransform(6, size, **settings).fit(x)
        P, V = model.components_, model.statistics_.second
        flip = (np.arange(size) + size // 2) % size
        V = V + V[flip][:, flip]
        values, U = linalg.eigh(V / np.trace(V))
        by_size["embedded (ours)"].append(score(model))
        model.components_ = np.eye(size, dtype=np.float32)
        by_size["sparse features"].append(score(model))
        model.components_ = ((U / np.sqrt(np.maximum(values, 1e-9))) @ U.T).astype(np.float32)
        by_size["whitened"].append(score(model))
    by_dimension = {"PCA": [], "embedded (ours)": []}
    for d in n_dimensions:
        for name, table in (("PCA", U[:, ::-1].T), ("embedded (ours)", P)):
            model.components_ = np.ascontiguousarray(table[:d], dtype=np.float32)
            by_dimension[name].append(score(model))
    error = 100 * np.sqrt(0.25 / n_test)
    lines = [
        f"{len(x)} training and {n_test} test images; standard error {error:.1f} points.\n",
        "| atoms | " + " | ".join(map(str, sizes)) + " |",
    ]
    lines += ["| --- " * (len(sizes) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{v:.1f}" for v in values) + " |" for name, values in by_size.items()]
    lines += ["", f"| dimensions, {sizes[-1]} atoms | " + " | ".join(map(str, n_dimensions)) + " |"]
    lines += ["| --- " * (len(n_dimensions) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{v:.1f}" for v in values) + " |" for name, values in by_dimension.items()]
    draw_ablations(results / "smt-ablations.png", (sizes, n_dimensions), (by_size, by_dimension), sizes[-1])
    save("\n".join(lines) + "\n\n![accuracy against atoms and dimensions](smt-ablations.png)\n")


def draw_ablations(path, where, series, n_atoms):
    colours = {"sparse features": "#e69f00", "whitened": "#009e73", "PCA": "#cc79a7", "embedded (ours)": "#0072b2"}
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    labels = ("atoms", f"dimensions, of {n_atoms} atoms")
    for ax, at, lines, label in zip(axes, where, series, labels):
        for name, values in lines.items():
            ax.plot(at, values, marker="o", color=colours[name], label=name)
        ax.set(xlabel=label, ylabel="accuracy, %", xscale="log")
        ax.set_xticks(at, at)
        ax.minorticks_off()
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
