"""Pictures of image patches: a dictionary, what is close to an atom, where two images look alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pellucid.plots import _style as style
from pellucid.plots.surfaces import atoms_as_images

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dictionary(model: Any, ax: Axes | None = None, *, n_atoms: int = 200, title: str | None = None) -> Axes:
    """Atoms of a fitted ``PatchManifoldTransform`` as they look, the whitening undone, in the order of the embedding.

    The order is that of the angle in the plane of the first two dimensions, so that atoms side by side are atoms of the
    same surroundings; of larger dictionaries ``n_atoms`` are shown, evenly spaced.
    """
    first, *rest = model.components_[:2]
    angle = np.arctan2(rest[0], first) if rest else first
    order = np.argsort(angle, kind="stable")
    order = order[model.components_.any(axis=0)[order]]  # atoms that are never active have no place
    shown = order[np.linspace(0, len(order) - 1, min(n_atoms, len(order))).round().astype(int)]
    return _patches(model, shown, ax, None, title)


def atom_neighbours(
    model: Any, atoms: Sequence[int], ax: Axes | None = None, *, k: int = 15, title: str | None = None
) -> Axes:
    """A row for each of the ``atoms`` of a fitted ``PatchManifoldTransform``: the atom, framed, and the k atoms that
    are closest to it in the embedding, by cosine (Figure 4)."""
    if not len(atoms):
        raise ValueError("Name at least one atom.")
    shown = np.concatenate([[atom, *model.similar_atoms(int(atom), k)[0]] for atom in atoms])
    columns = len(shown) // len(atoms)
    ax = _patches(model, shown, ax, columns, title)
    for image in ax.images[::columns]:
        _frame(ax, image.get_extent(), style.VERMILION)
    return ax


def _patches(model: Any, shown: Any, ax: Axes | None, columns: int | None, title: str | None) -> Axes:
    patches = model.atom_patches()[shown]
    shape = patches.shape[1:] if patches.shape[3] == 3 else patches.shape[1:3]
    if patches.shape[3] not in (1, 3):
        patches = patches.mean(axis=3)
    return atoms_as_images(patches.reshape(len(patches), -1), shape, ax, n_columns=columns, title=title)


def _frame(ax: Axes, extent: Sequence[float], colour: str) -> None:
    left, right, bottom, top = extent
    ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color=colour, linewidth=1.6, zorder=3)


def matching_patches(
    model: Any,
    image: ArrayLike,
    neighbours: ArrayLike,
    ax: Axes | None = None,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Axes:
    """An image, framed, and its neighbours (n, height, width[, channels]) with the patch, framed, that is most like the
    patch at the same place of the image (Figures 7 to 9): what makes two images alike.

    ``names`` are those of the image and of each neighbour.
    """
    images = np.concatenate([np.asarray(image)[None], np.asarray(neighbours)])
    vectors = model.patch_embeddings(images)
    alike = np.einsum("ijk,nijk->nij", vectors[0], vectors[1:])
    shown = images / 255.0 if images.dtype == np.uint8 else np.asarray(images, dtype=float)
    if shown.ndim == 4 and shown.shape[3] != 3:
        shown = shown.mean(axis=3)
    shape = shown.shape[1:]
    if len(shape) == 2:
        shown = 2 * shown - 1  # black is −1 where zero is in the middle
    columns = min(len(images), 9)
    ax = atoms_as_images(shown.reshape(len(images), -1), shape, ax, names=names, n_columns=columns, title=title)
    for shape_drawn in ax.images:
        shape_drawn.set_clim(-1, 1)
    _frame(ax, ax.images[0].get_extent(), style.VERMILION)
    for drawn, cosines in zip(ax.images[1:], alike):
        i, j = np.unravel_index(int(cosines.argmax()), cosines.shape)
        left, _, _, top = drawn.get_extent()
        size = model.patch_size
        _frame(ax, (left + j, left + j + size, top + i + size, top + i), "#e69f00")
    return ax


def accuracy_by_dimension(
    dimensions: Sequence[int],
    series: Mapping[str, Sequence[float]],
    ax: Axes | None = None,
    *,
    label: str = "accuracy, %",
    title: str | None = None,
) -> Axes:
    """Accuracy against the number of dimensions, on a logarithmic axis; a line for each of the ``series``."""
    ax = style.axes(ax, 5.4, 3.4)
    handles = []
    for i, (name, values) in enumerate(series.items()):
        if len(values) != len(dimensions):
            raise ValueError(f"{name!r} has {len(values)} values for {len(dimensions)} dimensions.")
        known = [(d, v) for d, v in zip(dimensions, values) if v is not None]
        colour = style.CATEGORIES[i % len(style.CATEGORIES)]
        marker = style.MARKERS[i % len(style.MARKERS)]
        handles += ax.plot(*zip(*known), color=colour, marker=marker, markersize=4.5, linewidth=1.6)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(dimensions), [str(d) for d in dimensions])
    ax.minorticks_off()
    ax.set(xlabel="dimensions", ylabel=style.plain(label))
    style.frame(ax, grid="y")
    style.legend(ax, handles, list(series), loc="lower right")
    style.title(ax, title)
    return ax
