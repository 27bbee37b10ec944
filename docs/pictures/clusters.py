"""The pictures of the page about clusters."""

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine

from pellucid import CommonalityClustering


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


def cluster_pictures(folder: Path) -> None:
    parts(folder)
    wine(folder)
    comparison(folder)
    sizes(folder)
