"""The pictures of the page about clusters."""

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from pellucid import CommonalityClustering
from pellucid._core.arrays import unit_rows
from pellucid.plots import atoms_as_images


def digits():
    data = load_digits(n_class=6)
    X = unit_rows(data.data)
    return X, data.target, CommonalityClustering(6, 4, 16, sparsity=0.02, random_state=0).fit(X)


def first_of_each(labels) -> np.ndarray:
    """The first row of every cluster."""
    return np.unique(labels, return_index=True)[1]


def parts(folder: Path) -> None:
    """A digit of every cluster as specific + common."""
    X, _, model = digits()
    ax = model.plot_parts(X[first_of_each(model.labels_)], (8, 8))
    ax.figure.savefig(folder / "clusters-parts.png", dpi=110)


def atoms(folder: Path) -> None:
    """The dictionaries: a line per cluster, and the common one below."""
    _, _, model = digits()
    rows = np.concatenate([model.atoms_.reshape(-1, 64), model.common_atoms_])
    names = [f"cluster {c}" if i == 0 else "" for c in range(6) for i in range(4)]
    names += ["common", *[""] * 15]
    ax = atoms_as_images(rows, (8, 8), names=names, n_columns=8)
    ax.figure.savefig(folder / "clusters-atoms.png", dpi=110)


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
    """How many clusters the digits have."""
    X, _, _ = digits()
    found = CommonalityClustering(n_atoms=4, n_common=16, sparsity=0.02, random_state=0).select_n_clusters(
        X, range(2, 11)
    )
    print(found)
    found.plot().figure.savefig(folder / "clusters-sizes.png", dpi=110)


def cluster_pictures(folder: Path) -> None:
    parts(folder)
    atoms(folder)
    comparison(folder)
    sizes(folder)
