"""Pictures of many numbers at once: matrices over atoms, points in a plane, atoms as images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CATEGORIES = len(style.CATEGORIES) * len(style.MARKERS)


def heatmap(
    matrix: ArrayLike,
    ax: Axes | None = None,
    *,
    groups: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    label: str = "",
    title: str | None = None,
) -> Axes:
    """A square matrix over atoms or concepts, such as ``model.cooccurrence(X)`` or ``model.coherence()`` (Figure 5).

    Values below zero get a second colour.

    Parameters
    ----------
    matrix : array-like of shape (M, M)
        The values.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    groups : array-like of shape (M,) or None, default=None
        To which group each row belongs; lines are drawn between groups. None gives every row its own name.
    names : sequence of str or None, default=None
        What the groups are called; None is their numbers.
    label : str, default=""
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
        The matrix is not square, or there are more or fewer groups than rows.

    Examples
    --------
    >>> from pellucid import plots
    >>> ax = plots.heatmap([[1.0, 0.2], [0.2, 1.0]], names=["dog", "sofa"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['dog', 'sofa']
    """
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"A heat map is of a square matrix, but the shape is {values.shape}.")
    kind = np.arange(len(values)) if groups is None else np.asarray(groups)
    if kind.shape != (len(values),):
        raise ValueError(f"There are {kind.size} groups for {len(values)} rows.")
    order = np.argsort(kind, kind="stable")
    kind, values = kind[order], values[np.ix_(order, order)]
    starts = np.flatnonzero(np.r_[True, kind[1:] != kind[:-1]])
    said = [str(g) for g in kind[starts]] if names is None else [str(names[int(g)]) for g in kind[starts]]
    side = min(9.0, max(3.6, 0.32 * len(starts) + 1.6))
    ax = style.axes(ax, side + 0.7, side)
    off = ~np.eye(len(values), dtype=bool)
    largest = float(np.abs(values[off]).max()) if off.any() else 1.0
    signed = bool((values < 0).any())
    # the diagonal is 1 by definition; what lies beside it decides how dark a colour is
    limits: dict[str, Any] = {"vmin": -largest, "vmax": largest} if signed else {"vmin": 0.0, "vmax": largest or 1.0}
    image = ax.imshow(values, cmap="PuOr_r" if signed else "Blues", interpolation="nearest", **limits)
    if groups is not None:
        for start in starts[1:]:
            ax.axhline(start - 0.5, color="white" if not signed else style.LINE, linewidth=1.2)
            ax.axvline(start - 0.5, color="white" if not signed else style.LINE, linewidth=1.2)
    middles = (starts + np.r_[starts[1:], len(values)] - 1) / 2
    labels = [style.plain(style.shorten(name, 20)) for name in said]
    ax.set_xticks(middles, labels, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(middles, labels)
    style.frame(ax)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=style.SIZE)
    extend = "max" if largest < values.max() else "neither"
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.75, pad=0.02, label=style.plain(label), extend=extend)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=style.SIZE - 1, colors=style.INK, color=style.LINE, length=2)
    bar.ax.yaxis.label.set(fontsize=style.SIZE, color=style.FAINT)
    style.title(ax, title)
    return ax


def map(
    points: ArrayLike,
    ax: Axes | None = None,
    *,
    color: Any = None,
    size: float | None = None,
    label: str = "",
    title: str | None = None,
) -> Axes:
    """Points in a plane, as t-SNE or PCA leaves them (Figure 4).

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Where they are.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    color : sequence of length n or None, default=None
        A name for each point, with a legend, or None for one that only makes the background; or a number for each, with
        a colour bar.
    size : float or None, default=None
        Area of a dot in square points; None depends on how many there are.
    label : str, default=""
        What the numbers are.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        The points are not in a plane, there are more or fewer colours than points, or too many names to tell apart.

    Examples
    --------
    >>> from pellucid import plots
    >>> ax = plots.map([[0.0, 0.0], [1.0, 0.5], [0.2, 1.0]], color=["dog", "dog", "sofa"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['dog', 'sofa']
    """
    where = np.asarray(points, dtype=float)
    if where.ndim != 2 or where.shape[1] != 2:
        raise ValueError(f"A map takes points (n, 2), but their shape is {where.shape}.")
    if color is not None and len(color) != len(where):
        raise ValueError(f"There are {len(color)} colours for {len(where)} points.")
    ax = style.axes(ax, 5.8, 4.6)
    area = size if size is not None else min(30.0, max(1.5, 20_000 / max(1, len(where))))
    dots: dict[str, Any] = {"s": area, "linewidths": 0, "rasterized": len(where) > 5000}
    if color is None:
        ax.scatter(*where.T, color=style.BLUE, alpha=0.7, **dots)
    elif all(isinstance(c, (int, float, np.number)) and not isinstance(c, (bool, np.bool_)) for c in color):
        shown = ax.scatter(where[:, 0], where[:, 1], c=np.asarray(color, dtype=float), cmap="viridis", **dots)
        bar = ax.figure.colorbar(shown, ax=ax, shrink=0.75, pad=0.02, label=style.plain(label))
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=style.SIZE - 1, colors=style.INK)
        bar.ax.yaxis.label.set(fontsize=style.SIZE, color=style.FAINT)
    else:
        _categories(ax, where, color, dots, area)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color(style.LINE)
    style.title(ax, title)
    return ax


def _categories(ax: Axes, where: NDArray[Any], colour: Any, dots: dict[str, Any], area: float) -> None:
    names = np.array(["" if c is None else str(c) for c in colour], dtype=object)
    known = list(dict.fromkeys(n for n in names if n))
    known.sort(key=lambda n: (-int((names == n).sum()), n))  # the most frequent first, so that it lies below
    if len(known) > MOST_CATEGORIES:
        raise ValueError(f"A map can tell {MOST_CATEGORIES} groups apart, but there are {len(known)}.")
    ax.scatter(*where[names == ""].T, color=style.LINE, alpha=0.6, **dots)
    handles = []
    for i, name in enumerate(known):
        colours = style.CATEGORIES[i % len(style.CATEGORIES)]
        marker = style.MARKERS[i // len(style.CATEGORIES)]
        handles.append(ax.scatter(*where[names == name].T, color=colours, marker=marker, alpha=0.85, **dots))
    scale = math.sqrt(30.0 / area)
    columns = 1 + (len(known) - 1) // 18
    style.legend(
        ax, handles, [style.shorten(n, 24) for n in known], loc="upper left", bbox_to_anchor=(1.0, 1.0),
        ncols=columns, markerscale=scale, handletextpad=0.2, borderaxespad=0.4,
    )  # fmt: skip


def cluster_parts(
    model: Any, X: ArrayLike, shape: tuple[int, ...], ax: Axes | None = None, *, title: str | None = None
) -> Axes:
    """Images taken apart, one per line: the image, its cluster's atoms, the common atoms, and what is left.

    Parameters
    ----------
    model : CommonalityClustering
        Fitted.
    X : array-like of shape (n, d)
        Rows that are images.
    shape : tuple of int
        Height and width, and 3 for colours.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import CommonalityClustering, plots
    >>> X = np.random.default_rng(0).random((40, 9))
    >>> model = CommonalityClustering(2, random_state=0).fit(X)
    >>> len(plots.cluster_parts(model, X[:2], (3, 3)).images)
    8
    """
    rows = np.asarray(X, dtype=float)
    mean, own, common = (np.asarray(model.reconstruct(X, part), dtype=float) for part in ("mean", "own", "common"))
    heads, columns = (
        ["image", "= its cluster's mean", "+ its cluster's own", "+ common to all"],
        [rows, mean, own, common],
    )
    if not mean.any():  # the paper's clusters have no mean, and leave a rest
        heads, columns = (
            ["image", "= its cluster", "+ common to all", "+ rest"],
            [rows, own, common, rows - own - common],
        )
    parts = np.stack(columns, axis=1)
    names = [*heads, *[""] * (4 * (len(rows) - 1))]
    scales = np.repeat(np.abs(rows).max(axis=1), 4)  # one scale for a line, so that the parts can be compared
    return atoms_as_images(
        parts.reshape(-1, rows.shape[1]), shape, ax, names=names, n_columns=4, scales=scales, title=title
    )


def atoms_as_images(
    atoms: ArrayLike,
    shape: tuple[int, ...],
    ax: Axes | None = None,
    *,
    names: Sequence[str] | None = None,
    n_columns: int | None = None,
    scales: ArrayLike | None = None,
    title: str | None = None,
) -> Axes:
    """Atoms as the images they are, side by side.

    Each is scaled on its own: grey ones so that zero is in the middle, coloured ones from their least to their largest
    value.

    Parameters
    ----------
    atoms : array-like of shape (M, d)
        The atoms.
    shape : tuple of int
        Height and width, and 3 for colours.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    names : sequence of str or None, default=None
        What stands above each.
    n_columns : int or None, default=None
        Images in a line; None makes the picture twice as wide as high, about.
    scales : array-like of shape (M,) or None, default=None
        The value that is white in each grey image; None is its largest.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        The atoms cannot be images of that shape, or there are more or fewer names than atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import plots
    >>> len(plots.atoms_as_images(np.eye(4), (2, 2)).images)
    4
    """
    rows = np.asarray(atoms, dtype=float)
    if rows.ndim != 2 or len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3):
        raise ValueError(f"Atoms (M, d) become images (h, w) or (h, w, 3), not {rows.shape} {tuple(shape)}.")
    if not len(rows) or rows.shape[1] != math.prod(shape):
        raise ValueError(f"Atoms of shape {rows.shape} cannot be images of shape {tuple(shape)}.")
    if names is not None and len(names) != len(rows):
        raise ValueError(f"There are {len(names)} names for {len(rows)} atoms.")
    columns = min(len(rows), n_columns or math.ceil(math.sqrt(2 * len(rows))))
    lines = math.ceil(len(rows) / columns)
    height, width = shape[:2]
    inches = max(0.5, min(1.1, 9.0 / columns))
    gap_x = 0.12 * width
    gap_y = 0.12 * height + (0 if names is None else 0.13 / inches * width)  # a line of text is 0.13 inches high
    ax = style.axes(
        ax, inches * columns * (1 + gap_x / width) + 0.2, inches * height / width * lines * (1 + gap_y / height) + 0.3
    )
    for i, atom in enumerate(rows):
        left, top = (i % columns) * (width + gap_x), (i // columns) * (height + gap_y)
        extent = (left, left + width, top + height, top)
        image = atom.reshape(shape)
        if len(shape) == 2:
            most = float(np.abs(image).max() if scales is None else np.asarray(scales)[i]) or 1.0
            ax.imshow(image, cmap="gray", vmin=-most, vmax=most, extent=extent, interpolation="nearest")
        else:
            low, span = image.min(), float(np.ptp(image)) or 1.0
            ax.imshow((image - low) / span, extent=extent, interpolation="nearest")
        if names is not None:
            room = max(3, int(inches * (1 + gap_x / width) * 72 / ((style.SIZE - 2) * style.CHARACTER)))
            said = style.plain(style.shorten(names[i], room))
            ax.text(left, top - 0.06 * height, said, fontsize=style.SIZE - 2, color=style.INK, va="bottom")
    ax.set_xlim(-0.02 * width, columns * (width + gap_x) - gap_x)
    ax.set_ylim(lines * (height + gap_y) - gap_y + 0.02 * height, -gap_y)
    ax.set_aspect("equal")
    ax.axis("off")
    style.title(ax, title)
    return ax
