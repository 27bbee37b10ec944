"""Figure 1 of paper 3: texture mosaics and their segmentations, and the atoms as images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from pellucid import CommonalityClustering
from pellucid._base import unit_rows
from pellucid.metrics import clustering_error, matched_labels
from pellucid.plots import atoms_as_images

SIDE, PATCH, STEP = 120, 16, 4
# the photographs are reduced by this factor, so that a patch holds more than one stone or blade
REDUCED = 4
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")


def mosaic(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three textures that scikit-image ships inside its wheel, each with mean 0 and deviation 1 so that brightness
    tells nothing, in regions with curved borders: image and truth, both (SIDE, SIDE)."""
    from skimage import data

    rng = np.random.default_rng(seed)
    kinds = []
    for texture in (data.brick(), data.grass(), data.gravel()):
        side = texture.shape[0] // REDUCED
        small = texture.reshape(side, REDUCED, side, REDUCED).mean(axis=(1, 3))
        y, x = rng.integers(0, side - SIDE + 1, 2)
        crop = small[y : y + SIDE, x : x + SIDE]
        kinds.append((crop - crop.mean()) / crop.std())
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    phase = rng.uniform(0, 2 * np.pi)
    truth = np.where(x + 0.12 * np.sin(5 * y + phase) < 0.5, 0, np.where(y + 0.1 * np.sin(6 * x + phase) < 0.5, 1, 2))
    return np.choose(truth, kinds), truth


def patches(image: np.ndarray) -> np.ndarray:
    """Overlapping patches (n, PATCH²), each of unit length."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (PATCH, PATCH))[::STEP, ::STEP]
    return unit_rows(windows.reshape(-1, PATCH * PATCH))


def pixels(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Every pixel takes the cluster of most of the patches that hold it."""
    starts = range(0, SIDE - PATCH + 1, STEP)
    votes = np.zeros((n_clusters, SIDE, SIDE))
    for label, (y, x) in zip(labels, ((y, x) for y in starts for x in starts)):
        votes[label, y : y + PATCH, x : x + PATCH] += 1
    return votes.argmax(axis=0)


def segmentations(X: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Labels of patches by each method; all dictionary methods start from the same communities, but the last, which
    shows what the dictionaries could do: it starts from the truth in the middle of each patch."""
    options = dict(random_state=seed)
    middle = truth[PATCH // 2 :: STEP, PATCH // 2 :: STEP]
    count = (SIDE - PATCH) // STEP + 1
    return {
        "k-means": KMeans(3, n_init=10, random_state=seed).fit(X).labels_,
        "DLSI": CommonalityClustering(3, 15, 0, codes="lasso", incoherence_between="clusters", **options)
        .fit(X)
        .labels_,
        "without commonality": CommonalityClustering(3, 10, 0, **options).fit(X).labels_,
        "ours": CommonalityClustering(3, 10, 15, **options).fit(X).labels_,
        "ours from the truth": CommonalityClustering(3, 10, 15, init=middle[:count, :count].ravel()).fit(X).labels_,
    }


def textures(results: Path, seeds: tuple[int, ...] = (0, 1, 2)) -> str:
    lines = ["| misclassified pixels, % | " + " | ".join(f"mosaic {s}" for s in seeds) + " | paper, its own mosaic |"]
    lines.append("| --- " * (len(seeds) + 2) + "|")
    errors: dict[str, list[float]] = {}
    for seed in seeds:
        image, truth = mosaic(seed)
        found = {name: pixels(labels, 3) for name, labels in segmentations(patches(image), truth, seed).items()}
        for name, segmentation in found.items():
            errors.setdefault(name, []).append(100 * clustering_error(segmentation.ravel(), truth.ravel()))
        if seed == seeds[0]:
            draw(results, image, truth, found, {name: values[0] for name, values in errors.items()})
    paper = {"k-means": "6.92", "DLSI": "1.42", "without commonality": "–", "ours": "1.04", "ours from the truth": "–"}
    for name, values in errors.items():
        lines.append(f"| {name} | " + " | ".join(f"{v:.2f}" for v in values) + f" | {paper[name]} |")
    return "\n".join(lines) + (
        "\n\nMosaics of `brick`, `grass` and `gravel` from scikit-image's wheel, reduced to a quarter: 120 × 120 "
        "pixels, 16 × 16 patches every 4 pixels; a pixel takes the cluster of most of the patches that hold it.\n\n"
        "![a mosaic, its truth, and the segmentations](mtcluster-textures.png)\n\n"
    )


def draw(results: Path, image: np.ndarray, truth: np.ndarray, found: dict[str, np.ndarray], errors) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 6.0), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    axes[0].imshow(image, cmap="gray")
    axes[0].set_title("mosaic", loc="left", fontsize=10)
    shown = {"truth": truth, **{name: matched(labels, truth) for name, labels in found.items()}}
    for ax, (name, labels) in zip(axes[1:], shown.items()):
        ax.imshow(labels, cmap=ListedColormap(COLOURS), vmin=0, vmax=3, interpolation="nearest")
        said = name if name == "truth" else f"{name}: {errors[name]:.2f} % wrong"
        ax.set_title(said, loc="left", fontsize=10)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    axes[-1].axis("off")
    figure.savefig(results / "mtcluster-textures.png", dpi=100)


def matched(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Clusters called as the classes that they match."""
    return matched_labels(labels.ravel(), truth.ravel()).reshape(labels.shape)


def atoms(results: Path, found, model) -> str:
    """The dictionaries of the digits: a line per cluster, and the commonality below (Figure 1 f, g)."""
    text = ""
    for data in found:
        fitted = model(data).fit(data.X)
        side = round(np.sqrt(data.X.shape[1]))
        rows = np.concatenate([fitted.atoms_[:, :15].reshape(-1, side * side), fitted.common_atoms_])
        names = [f"cluster {c}" if i == 0 else "" for c in range(6) for i in range(15)]
        names += ["common", *[""] * (len(fitted.common_atoms_) - 1)]
        ax = atoms_as_images(rows, (side, side), names=names, n_columns=15)
        picture = f"mtcluster-atoms-{data.name.lower()}.png"
        ax.figure.savefig(results / picture, dpi=80)
        text += f"![atoms of {data.name}: the first 15 of every cluster, and the common ones]({picture})\n\n"
    return text
