"""Figure 1 of paper 3: texture mosaics and their segmentations, and the atoms as images."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from pellucid import CommonalityClustering
from pellucid._core.arrays import unit_rows
from pellucid.clusters import segment
from pellucid.metrics import clustering_error, matched_labels
from pellucid.plots import atoms_as_images

SIDE, PATCH, STEP = 120, 16, 4
# photographs and the factors by which they are reduced; which two, and how far, was chosen on mosaics 100 to 102
TWO = (("brick", 4), ("grass", 1))
THREE = (("brick", 4), ("grass", 4), ("gravel", 4))
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")


def mosaic(kinds: tuple[tuple[str, int], ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two or three textures that scikit-image ships inside its wheel, each with mean 0 and deviation 1 so that
    brightness tells nothing, in regions with curved borders: image and truth, both (SIDE, SIDE)."""
    from skimage import data

    rng = np.random.default_rng(seed)
    crops = []
    for name, factor in kinds:
        texture = getattr(data, name)()
        side = texture.shape[0] // factor
        small = texture.reshape(side, factor, side, factor).mean(axis=(1, 3))
        y, x = rng.integers(0, side - SIDE + 1, 2)
        crop = small[y : y + SIDE, x : x + SIDE]
        crops.append((crop - crop.mean()) / crop.std())
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    phase = rng.uniform(0, 2 * np.pi)
    below = np.where(y + 0.1 * np.sin(6 * x + phase) < 0.5, 1, len(kinds) - 1)
    truth = np.where(x + 0.12 * np.sin(5 * y + phase) < 0.5, 0, below)
    return np.choose(truth, crops), truth


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
    C, options = int(truth.max()) + 1, dict(reading="paper", random_state=seed)
    count = (SIDE - PATCH) // STEP + 1
    middle = truth[PATCH // 2 :: STEP, PATCH // 2 :: STEP][:count, :count].ravel()
    dlsi = CommonalityClustering(C, 15, 0, codes="lasso", incoherence_between="clusters", **options)
    models = {
        "k-means": KMeans(C, n_init=10, random_state=seed),
        "DLSI": dlsi,
        "without commonality": CommonalityClustering(C, 10, 0, **options),
        "the paper's model": CommonalityClustering(C, 10, 15, **options),
        "the same from the truth": CommonalityClustering(C, 10, 15, reading="paper", init=middle),
    }
    return {name: model.fit(X).labels_ for name, model in models.items()}


def textures(results: Path, seeds: tuple[int, ...] = (0, 1, 2)) -> str:
    errors: dict[str, list[float]] = {}
    drawn, columns = [], []
    for kinds in (TWO, THREE):
        for seed in seeds:
            image, truth = mosaic(kinds, seed)
            labels = segmentations(patches(image), truth, seed)
            found = {name: pixels(of_patches, len(kinds)) for name, of_patches in labels.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that some textures hardly differ
                found = {"segment": segment(image, len(kinds)), **found}
            for name, segmentation in found.items():
                errors.setdefault(name, []).append(100 * clustering_error(segmentation.ravel(), truth.ravel()))
            if seed == seeds[0]:
                drawn.append((image, truth, found, {name: values[-1] for name, values in errors.items()}))
            columns.append(f"{len(kinds)} textures, mosaic {seed}")
    draw(results, drawn)
    paper = {"k-means": "6.92", "DLSI": "1.42", "the paper's model": "1.04"}
    lines = ["| misclassified pixels, % | " + " | ".join(columns) + " | paper, its own mosaic |"]
    lines.append("| --- " * (len(columns) + 2) + "|")
    for name, values in errors.items():
        lines.append(f"| {name} | " + " | ".join(f"{v:.2f}" for v in values) + f" | {paper.get(name, '–')} |")
    return "\n".join(lines) + (
        "\n\nPhotographs from scikit-image's wheel, 120 × 120 pixels, 16 × 16 patches of unit length every 4 pixels; a "
        "pixel takes the cluster of most of the patches that hold it; `segment` takes the image. Two textures: `brick` "
        "reduced to a quarter and `grass` as it is. Three: `brick`, `grass` and `gravel`, all reduced to a quarter.\n\n"
        "![mosaics, their truth, and the segmentations](mtcluster-textures.png)\n\n"
    )


def draw(results: Path, drawn: list[tuple]) -> None:
    """A line per mosaic: the image, the truth, and what each method found."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.0, 4.6), layout="constrained")
    for axes, (image, truth, found, errors) in zip(figure.subplots(len(drawn), 2 + len(drawn[0][2])), drawn):
        axes[0].imshow(image, cmap="gray")
        axes[0].set_title("mosaic", loc="left", fontsize=9)
        shown = {"truth": truth, **{name: matched(labels, truth) for name, labels in found.items()}}
        for ax, (name, labels) in zip(axes[1:], shown.items()):
            ax.imshow(labels, cmap=ListedColormap(COLOURS), vmin=0, vmax=3, interpolation="nearest")
            ax.set_title(name if name == "truth" else f"{name}\n{errors[name]:.2f} % wrong", loc="left", fontsize=9)
        for ax in axes:
            ax.set(xticks=[], yticks=[])
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
