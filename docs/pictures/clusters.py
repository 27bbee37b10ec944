"""The pictures of the page about clusters."""

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine

from pellucid import CommonalityClustering
from pellucid.clusters import segment


def digits():
    data = load_digits(n_class=6)
    return data.data, data.target, CommonalityClustering(6, random_state=0).fit(data.data)


def first_of_each(labels) -> np.ndarray:
    """The first row of every cluster."""
    return np.unique(labels, return_index=True)[1]


def parts(folder: Path) -> None:
    """A digit of every cluster as mean + own + common."""
    X, _, model = digits()
    ax = model.plot_parts(X[first_of_each(model.labels_)], (8, 8))
    ax.figure.savefig(folder / "clusters-parts.png", dpi=110)


def wine(folder: Path) -> None:
    """Three kinds of wine, and what sets each apart."""
    data = load_wine(as_frame=True).data
    told = CommonalityClustering(3, random_state=0).fit(data).describe(data)
    told.plot().figure.savefig(folder / "clusters-wine.png", dpi=110)


def comparison(folder: Path) -> None:
    """What k-means and this method put together: clusters against digits."""
    from matplotlib.figure import Figure
    from scipy.optimize import linear_sum_assignment

    X, target, model = digits()
    figure = Figure(figsize=(8.0, 3.9), layout="constrained")
    for ax, name, labels in zip(
        figure.subplots(1, 2),
        ("k-means, best of 10", "CommonalityClustering"),
        (KMeans(6, n_init=10, random_state=0).fit(X).labels_, model.labels_),
    ):
        table = np.zeros((6, 6), dtype=int)
        np.add.at(table, (labels, target), 1)
        table = table[linear_sum_assignment(-table.T)[1]]
        wrong = 1 - np.trace(table) / len(X)
        ax.imshow(table, cmap="Blues", vmax=200)
        for (i, j), count in np.ndenumerate(table):
            if count:
                ax.text(j, i, count, ha="center", va="center", fontsize=9, color="white" if count > 100 else "#1f2933")
        ax.set(xticks=range(6), yticks=range(6), xlabel="digit", ylabel="cluster")
        ax.set_title(f"{name}\n{wrong:.1%} in the wrong cluster", loc="left", fontsize=10)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
    figure.savefig(folder / "clusters-kmeans.png", dpi=110)


def sizes(folder: Path) -> None:
    """How many clusters the wines make."""
    found = CommonalityClustering(random_state=0).select_n_clusters(load_wine().data, range(2, 11))
    print(found)
    found.plot().figure.savefig(folder / "clusters-sizes.png", dpi=110)


def textures(folder: Path) -> None:
    """Mosaics of two and of three photographs, and the segments that are found in them."""
    from matplotlib.figure import Figure
    from reproductions.mtcluster_figures import THREE, TWO, matched, mosaic

    figure = Figure(figsize=(8.0, 2.3), layout="constrained")
    for pair, kinds in zip(figure.subplots(1, 4).reshape(2, 2), (TWO, THREE)):
        image, truth = mosaic(kinds, 2)
        found = matched(segment(image, len(kinds)), truth)
        pair[0].imshow(image, cmap="gray")
        pair[0].set_title(", ".join(name for name, _ in kinds), loc="left", fontsize=9)
        pair[1].imshow(found, cmap="viridis", interpolation="nearest")
        pair[1].contour(truth, levels=[0.5, 1.5], colors="white", linewidths=0.8)
        pair[1].set_title(f"{np.mean(found != truth):.1%} wrong", loc="left", fontsize=9)
        for ax in pair:
            ax.set(xticks=[], yticks=[])
    figure.savefig(folder / "clusters-textures.png", dpi=110)


def texts(folder: Path) -> None:
    """Topics of captions: sizes, and the words by which they are called."""
    from pellucid.datasets import load_scenes

    scenes = load_scenes()
    topics = CommonalityClustering(12, center=True, random_state=0).fit(scenes.vectors[:1500])
    told = topics.describe(scenes.vectors[:1500], texts=scenes.texts[:1500])
    told.plot().figure.savefig(folder / "clusters-texts.png", dpi=110)


def cluster_pictures(folder: Path) -> None:
    textures(folder)
    texts(folder)
    parts(folder)
    wine(folder)
    comparison(folder)
    sizes(folder)
