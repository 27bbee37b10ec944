"""The picture of docs/how-to/concept-erasure.md."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from pellucid import ConceptErasure
from pellucid.datasets import load_scenes

BEFORE, AFTER, INK = "#d55e00", "#0072b2", "#6b7680"


def erasure_pictures(folder: Path, k: int = 20) -> None:
    """How many of each query's first k results come from its own source, before and after erasure."""
    scenes = load_scenes()
    rng = np.random.default_rng(0)
    foreign = rng.random(len(scenes.vectors)) < 0.5
    direction = rng.normal(size=scenes.vectors.shape[1])
    X = scenes.vectors + 0.8 * np.outer(foreign, direction / np.linalg.norm(direction))
    erased = ConceptErasure().fit(X, foreign).transform(X)
    figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for place, (rows, colour, name) in enumerate(((X, BEFORE, "as they came"), (erased, AFTER, "after erasure"))):
        counts = np.bincount(own_source(rows, scenes.split.queries, foreign, k), minlength=k + 1)
        ax.bar(np.arange(k + 1) + 0.4 * (place - 0.5), counts, 0.4, color=colour, label=name)
    ax.axvline(k / 2, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel=f"of the first {k} results, how many are of the query's own source", ylabel="queries")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(folder / "erasure-sources.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def own_source(X: np.ndarray, queries: np.ndarray, foreign: np.ndarray, k: int) -> np.ndarray:
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = units[queries] @ units.T
    cosines[np.arange(len(queries)), queries] = -1
    found = np.argsort(-cosines, axis=1)[:, :k]
    return np.asarray((foreign[found] == foreign[queries][:, None]).sum(axis=1))


if __name__ == "__main__":
    erasure_pictures(Path(__file__).parent)
