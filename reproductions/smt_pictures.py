"""Pictures of a fitted patch model: dictionary, neighbours of atoms (Figure 4), misclassified digits (Figures 7-9)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pellucid import PatchManifoldTransform, plots
from pellucid.metrics import cosine_neighbours, neighbour_vote
from reproductions.data import load_mnist
from reproductions.smt_mnist import DIMENSIONS, PAPER, RECIPE


def digits(save, results: Path, n_train=1000, n_test=500, n_atoms=1024):
    """Fewer images and atoms than in the table: what is shown is what the model looks at."""
    data = load_mnist()
    x, y = data.x_train[:n_train], data.y_train[:n_train]
    model = PatchManifoldTransform(6, n_atoms, constraint="degree", n_samples=30_000, **RECIPE).fit(x)
    ax = plots.dictionary(model, n_atoms=162, title="Atoms in the order of their embedding: alike is side by side")
    ax.figure.savefig(results / "smt-dictionary.png", dpi=110)
    busy = np.argsort(-model.statistics_.counts, kind="stable")[[40, 200, 500, 800]]
    title = "An atom, framed, and those closest to it in the embedding, the closest first"
    ax = plots.atom_neighbours(model, busy.tolist(), k=15, title=title)
    ax.figure.savefig(results / "smt-neighbours.png", dpi=110)
    Z, T = model.transform(x), model.transform(data.x_test[:n_test])
    which, cosines = cosine_neighbours(Z, T, 30)
    said = neighbour_vote(y[which], cosines)
    wrong = np.flatnonzero(said != data.y_test[:n_test])
    drawn = []
    for number, test in enumerate(wrong[:3]):
        near = which[test][:17]
        names = [f"is {data.y_test[test]}", *(str(label) for label in y[near])]
        ax = plots.matching_patches(
            model, data.x_test[test], x[near], names=names,
            title=f"A {data.y_test[test]} taken for a {said[test]}: its nearest neighbours, with the patch most alike",
        )  # fmt: skip
        ax.figure.savefig(results / f"smt-misclassified-{number + 1}.png", dpi=110)
        # it shows items of other people's data: drawn, but listed in .gitignore
        drawn.append(
            f"*a {data.y_test[test]} taken for a {said[test]}*: drawn as `smt-misclassified-{number + 1}.png`, not "
            "kept with the code."
        )
    text = (
        f"{n_atoms} atoms, {n_train} training images; {100 * np.mean(said == data.y_test[:n_test]):.1f} % of {n_test} "
        "test images are told right.\n\n## The dictionary, in the order of the embedding\n\n"
        "![atoms](smt-dictionary.png)\n\n"
        "## Atoms, and the atoms closest to them in the embedding (Figure 4)\n\n![neighbours](smt-neighbours.png)\n\n"
        "## Misclassified digits (Figures 7 to 9, there for CIFAR-10)\n\n" + "\n\n".join(drawn) + "\n"
    )
    save(text + accuracy_curve(results))


def accuracy_curve(results: Path):
    """Accuracy against dimension, from the table that the section mnist left."""
    table = results / "smt-mnist.md"
    if not table.is_file():
        return ""
    found = re.search(r"^\| 3 pixels, V = degree \|(.*)\|$", table.read_text(encoding="utf-8"), flags=re.M)
    if found is None:
        return ""
    ours = [None if cell.strip() == "–" else float(cell) for cell in found[1].split("|")]
    ax = plots.accuracy_by_dimension(DIMENSIONS, {"paper": [PAPER[d] for d in DIMENSIONS], "ours": ours})
    ax.figure.savefig(results / "smt-dimensions.png", dpi=110)
    return "\n## Accuracy against dimension (Table 2)\n\n![accuracy against dimension](smt-dimensions.png)\n"
