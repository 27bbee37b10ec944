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
    """Atoms of patches as they look, the whitening undone, in the order of the embedding.

    The order is that of the angle in the plane of the first two dimensions, so that atoms side by side are atoms of the
    same surroundings.

    Parameters
    ----------
    model : PatchManifoldTransform
        Fitted.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    n_atoms : int, default=200
        Of larger dictionaries so many are shown, evenly spaced.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import PatchManifoldTransform, plots
    >>> images = np.random.default_rng(0).random((30, 12, 12))
    >>> model = PatchManifoldTransform(4, 16, n_components=5, random_state=0).fit(images)
    >>> len(plots.dictionary(model, n_atoms=9).images)
    9
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
    """A row for each atom: the atom, framed, and the atoms closest to it in the embedding, by cosine (Figure 4).

    Parameters
    ----------
    model : PatchManifoldTransform
        Fitted.
    atoms : sequence of int
        Numbers of atoms, at least one.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    k : int, default=15
        Neighbours of each.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        No atom is named.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import PatchManifoldTransform, plots
    >>> images = np.random.default_rng(0).random((30, 12, 12))
    >>> model = PatchManifoldTransform(4, 16, n_components=5, random_state=0).fit(images)
    >>> len(plots.atom_neighbours(model, [0, 1], k=3).images)
    8
    """
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
    """What makes images alike: an image beside its neighbours, their most similar patches framed (Figures 7 to 9).

    That patch is the one most like the patch at the same place of the image. The image itself is framed, too.

    Parameters
    ----------
    model : PatchManifoldTransform
        Fitted.
    image : array-like of shape (height, width) or (height, width, channels)
        The image.
    neighbours : array-like of shape (n, height, width) or (n, height, width, channels)
        The images to compare it with.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    names : sequence of str or None, default=None
        Those of the image and of each neighbour.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import PatchManifoldTransform, plots
    >>> images = np.random.default_rng(0).random((30, 12, 12))
    >>> model = PatchManifoldTransform(4, 16, n_components=5, random_state=0).fit(images)
    >>> len(plots.matching_patches(model, images[0], images[1:3]).images)
    3
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
    """Accuracy against the number of dimensions, on a logarithmic axis.

    Parameters
    ----------
    dimensions : sequence of int
        Where on the axis.
    series : dict of str to sequence of float
        A line for each: as many values, None where one is not known.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    label : str, default="accuracy, %"
        What the values are.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        A line has more or fewer values than there are dimensions.

    Examples
    --------
    >>> from pellucid import plots
    >>> ax = plots.accuracy_by_dimension([16, 32, 64], {"ours": [91.0, 95.5, 97.0], "PCA": [85.0, 90.0, 92.5]})
    >>> len(ax.lines)
    2
    """
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
