"""CIFAR-10 at one size (paper 4): rows of Table 3, context (Table 5), dimensions with a linear probe (Table 7), and
what takes the place of the spectral step (Figure 6). ``SMT_SIZE`` in the environment sets the number of images."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
from scipy import linalg
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion

from pellucid.datasets import load_cifar10
from pellucid.manifold import PatchManifoldTransform
from pellucid.metrics import soft_knn_accuracy
from reproductions.smt_cifar import RECIPE, correct

COLOUR = {**RECIPE, "skip": 16, "random_state": 0}
GREY = {**COLOUR, "channels": "grey", "threshold": 0.45, "skip": "constant"}


def images(n_test):
    data, n = load_cifar10(), int(os.environ.get("SMT_SIZE", 4000))
    return data.x_train[:n], data.y_train[:n], data.x_test[:n_test], data.y_test[:n_test]


def rows_of_table_3(save, n_atoms=8192, n_test=2000):
    """Original, grey and both, by one-hot and threshold codes."""
    x, y, test, truth = images(n_test)
    one_hot = {**GREY, "code": "nearest", "n_samples": 200_000}
    models = {
        "threshold, colour (79.2)": PatchManifoldTransform(6, n_atoms, **COLOUR),
        "threshold, grey (77.5)": PatchManifoldTransform(6, n_atoms, **GREY),
        "threshold, both (81.4)": FeatureUnion(
            [
                ("colour", PatchManifoldTransform(6, n_atoms, **COLOUR)),
                ("grey", PatchManifoldTransform(6, n_atoms, **GREY)),
            ]
        ),
        "nearest, grey (78.4 with 100 000 atoms)": PatchManifoldTransform(6, n_atoms, **one_hot),
        "nearest, colour": PatchManifoldTransform(6, n_atoms, **{**one_hot, "channels": "all"}),
    }
    lines = [
        f"{len(x)} training images without their mirror images among the neighbours, {n_test} test images, {n_atoms} "
        "atoms. In brackets the paper, on all 50 000 images.\n",
        "| code and images | accuracy |",
        "| --- | --- |",
    ]
    for name, model in models.items():
        score = soft_knn_accuracy(model.fit(x).transform(x), y, model.transform(test), truth)
        lines.append(f"| {name} | {100 * score:.2f} |")
        save("\n".join(lines) + "\n")


def contexts(save, n_atoms=1024, n_test=2000, ranges=(4, 6, 12, None)):
    """Who is a neighbour."""
    x, y, test, truth = images(n_test)
    lines = [
        f"{len(x)} training and {n_test} test images, {n_atoms} atoms. Paper, 50 000 images and 8 192 atoms: 78.0 "
        "at 4, 78.5 at 6 and 12, 79.4 for the whole image.\n",
        "| context | accuracy |",
        "| --- | --- |",
    ]
    for context in ranges:
        model = PatchManifoldTransform(6, n_atoms, **{**COLOUR, "n_components": 256}, context=context).fit(x)
        right = correct(model, x, y, test, truth)
        lines.append(f"| {'whole image' if context is None else context} | {100 * right / n_test:.2f} |")
        save("\n".join(lines) + "\n")


def dimensions(save, n_atoms=8192, n_test=2000, sizes=(50, 110, 210, 350, 500, 800)):
    """How many dimensions, by neighbours and by a linear probe."""
    x, y, test, truth = images(n_test)
    model = PatchManifoldTransform(6, n_atoms, **{**COLOUR, "n_components": max(sizes)}, dtype="float16").fit(x)
    P = model.components_
    lines = [
        f"{len(x)} training and {n_test} test images, {n_atoms} atoms.\n",
        "| dimensions | neighbours | linear probe |",
    ]
    lines.append("| --- | --- | --- |")
    for d in sizes:
        model.components_ = P[:d]
        Z, T = model.transform(x), model.transform(test)
        near = soft_knn_accuracy(Z, y, T, truth)
        probe = LogisticRegression(C=100.0, max_iter=200).fit(Z.astype(np.float32), y)
        linear = probe.score(T.astype(np.float32), truth)
        lines.append(f"| {d} | {100 * near:.2f} | {100 * linear:.2f} |")
        save("\n".join(lines) + "\n")


def without_the_spectral_step(save, results, sizes=(256, 512, 1024), n_test=1000, n_dimensions=(16, 64, 256)):
    """Figure 6: sparse features alone, whitened, and embedded; and PCA instead of the embedding."""
    x, y, test, truth = images(n_test)
    score = lambda model: 100 * soft_knn_accuracy(model.transform(x), y, model.transform(test), truth)  # noqa: E731
    by_size = {"sparse features": [], "whitened": [], "embedded (ours)": []}
    for K in sizes:
        model = PatchManifoldTransform(6, K, **{**COLOUR, "n_components": min(384, K // 2)}, dtype="float16").fit(x)
        P, V = model.components_, model.statistics_.second
        flip = (np.arange(K) + K // 2) % K
        V = V + V[flip][:, flip]
        values, U = linalg.eigh(V / np.trace(V))
        by_size["embedded (ours)"].append(score(model))
        model.components_ = np.eye(K, dtype=np.float32)
        by_size["sparse features"].append(score(model))
        model.components_ = ((U / np.sqrt(np.maximum(values, 1e-9))) @ U.T).astype(np.float32)
        by_size["whitened"].append(score(model))
    by_dimension = {"PCA": [], "embedded (ours)": []}
    for d in n_dimensions:
        for name, table in (("PCA", U[:, ::-1].T), ("embedded (ours)", P)):
            model.components_ = np.ascontiguousarray(table[:d], dtype=np.float32)
            by_dimension[name].append(score(model))
    lines = [f"{len(x)} training and {n_test} test images.\n", "| atoms | " + " | ".join(map(str, sizes)) + " |"]
    lines += ["| --- " * (len(sizes) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{v:.1f}" for v in values) + " |" for name, values in by_size.items()]
    lines += ["", f"| dimensions, {sizes[-1]} atoms | " + " | ".join(map(str, n_dimensions)) + " |"]
    lines += ["| --- " * (len(n_dimensions) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{v:.1f}" for v in values) + " |" for name, values in by_dimension.items()]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for ax, at, series, label in zip(axes, (sizes, n_dimensions), (by_size, by_dimension), ("atoms", "dimensions")):
        for name, values in series.items():
            ax.plot(at, values, marker="o", label=name)
        ax.set(xlabel=label, ylabel="accuracy, %", xscale="log")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(results / "smt-ablations.png", dpi=110)
    plt.close(figure)
    save("\n".join(lines) + "\n\n![accuracy against atoms and dimensions](smt-ablations.png)\n")
