"""What the explorer rests on, shown on Scenes: which measure names labels best, which layout keeps neighbours."""

import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.manifold import TSNE
from sklearn.metrics import average_precision_score
from sklearn.neighbors import NearestNeighbors

from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.explorer import layout
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection

KEPT = 10


def measures(X: np.ndarray, scenes) -> None:
    train, unseen = scenes.split.train, np.concatenate([scenes.split.queries, scenes.split.candidates])
    model = ConceptSubspaces(6, random_state=0, center=False).fit(X[train], scenes.coarse[train], scenes.coarse_names)
    rows, truth = X[unseen], scenes.coarse[unseen]
    parts = model.components(rows)
    energy = np.einsum("njd,njd->nj", parts, parts)
    candidates = {
        "share": model.shares(rows),
        "cosine": np.einsum("njd,nd->nj", parts, rows) / np.maximum(np.sqrt(energy), 1e-12),
        "energy": energy,
    }
    for name, values in candidates.items():
        first = truth[np.arange(len(rows)), values.argmax(axis=1)].mean()
        ranked = np.mean([average_precision_score(t, v) for t, v in zip(truth, values)])
        print(f"{name:8s} largest one is a label: {first:.1%}   average precision of the order: {ranked:.3f}")


def layouts(X: np.ndarray, folder: Path) -> None:
    collection, positions = Collection.create(folder / "scenes", X), np.arange(len(X))
    axes = layout.Axes(collection, positions)
    start = layout.pca(collection, positions, axes, lambda done: None)
    layout.neighbours(collection, positions[:200], axes, start[:200], lambda done: None)  # warm
    coordinates = np.concatenate([block for _, block in axes.blocks(collection, positions)])
    makers = {
        "principal components": lambda: layout.pca(collection, positions, axes, lambda done: None),
        "neighbourhoods": lambda: layout.neighbours(collection, positions, axes, start, lambda done: None),
        "t-SNE": lambda: TSNE(init=start * 1e-2, max_iter=600, random_state=0).fit_transform(coordinates),
    }
    true = _nearest(X)
    for name, make in makers.items():
        begun = time.perf_counter()
        places = make()
        took = time.perf_counter() - begun
        kept = np.mean([len(np.intersect1d(a, b)) / KEPT for a, b in zip(true, _nearest(places))])
        print(f"{name:22s} {took:6.2f} s   of {KEPT} nearest neighbours kept: {kept:.1%}")


def _nearest(points: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_neighbors=KEPT).fit(points).kneighbors(return_distance=False)


if __name__ == "__main__":
    scenes = load_scenes()
    X = CenteredNormalizer().fit(scenes.vectors[scenes.split.train]).transform(scenes.vectors)
    measures(X, scenes)
    with tempfile.TemporaryDirectory() as folder:
        layouts(X, Path(folder))
