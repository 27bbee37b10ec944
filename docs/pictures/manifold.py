"""The pictures of the page about representations without a network."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from pellucid import PatchManifoldTransform, SparseManifoldTransform, plots

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from reproductions.smt_figures import draw_spirals, spirals


def digit_dictionary(folder: Path) -> None:
    images = (load_digits().images / 16).astype(np.float32)
    model = PatchManifoldTransform(
        3, 200, context=2, n_components=24, whitening=0.1, contrast=0.3, pool=2, constraint="degree", random_state=0
    ).fit(images)
    ax = plots.dictionary(model, n_atoms=128, title="Atoms of 3 × 3 pixels in the order of their embedding")
    ax.figure.savefig(folder / "manifold-dictionary.png", dpi=110)
    title = "An atom, framed, and those closest to it in the embedding, the closest first"
    ax = plots.atom_neighbours(model, [3, 30, 77], k=13, title=title)
    ax.figure.savefig(folder / "manifold-neighbours.png", dpi=110)


def manifold_pictures(folder: Path) -> None:
    X, side = spirals()
    model = SparseManifoldTransform(4, n_atoms=400, n_neighbors=8, random_state=0).fit(X)
    draw_spirals(folder / "manifold-spirals.png", model, X, side, 300)
    digit_dictionary(folder)
