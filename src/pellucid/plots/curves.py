"""Curves: the error over sweeps, retrieval over the number of atoms, what is explained over the number of concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = (("same concept (general)", style.BLUE, "o"), ("same thing (sub-label)", "#c77700", "s"))


def objective(model: Any, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """The objective of a fitted estimator at the start and after each sweep.

    Parameters
    ----------
    model : estimator
        Anything with ``objective_``.
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
    >>> model = CommonalityClustering(2, random_state=0).fit(np.random.default_rng(0).random((40, 9)))
    >>> plots.objective(model).get_xlabel()
    'sweep'
    """
    values = np.asarray(model.objective_, dtype=float)
    ax = style.axes(ax, 4.8, 3.0)
    ax.plot(np.arange(len(values)), values, color=style.BLUE, marker="o", markersize=4, linewidth=1.6)
    if len(values):
        ax.annotate(
            f"{values[-1]:.4g}", (len(values) - 1, values[-1]), xytext=(0, 7), textcoords="offset points",
            ha="center", fontsize=style.SIZE, color=style.FAINT,
        )  # fmt: skip
    ax.set(xlabel="sweep", ylabel="objective")
    _whole_numbers(ax)
    ax.margins(x=0.06, y=0.12)
    style.frame(ax, grid="y")
    style.title(ax, title)
    return ax


def n_atoms_curve(selection: Any, ax: Axes | None = None, *, measure: str = "mAP@20", title: str | None = None) -> Axes:
    """Retrieval on validation rows over the number of atoms per concept, and the number chosen (paper 1, Figure 6).

    Parameters
    ----------
    selection : pellucid.concepts.AtomCounts
        What ``ConceptSubspaces.select_n_atoms`` returns, or anything with its ``n_atoms``, ``general``, ``sub`` (or
        None) and ``best``.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    measure : str, default="mAP@20"
        What the numbers are.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> from pellucid import plots
    >>> from pellucid.concepts import AtomCounts
    >>> ax = plots.n_atoms_curve(AtomCounts([2, 4, 8], [0.5, 0.9, 0.8], None, 4, 4))
    >>> ax.texts[0].get_text()
    'chosen: 4'
    """
    ax = style.axes(ax, 5.4, 3.3)
    handles, names = [], []
    for values, (name, colour, marker) in zip((selection.general, selection.sub), MEASURES):
        if values is not None:
            (line,) = ax.plot(selection.n_atoms, values, color=colour, marker=marker, markersize=4.5, linewidth=1.6)
            handles.append(line)
            names.append(name)
    _chosen(ax, selection.best)
    _finish_curve(ax, measure, handles, names, title)
    return ax


def n_clusters_curve(selection: Any, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """How well runs on different rows agree over the number of clusters, with the range that the rows speak for.

    Parameters
    ----------
    selection : pellucid.clusters.ClusterCounts
        What ``CommonalityClustering.select_n_clusters`` returns.
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
    >>> from pellucid import plots
    >>> from pellucid.clusters import ClusterCounts
    >>> curves = dict(stability=[0.7, 0.98, 0.6], spread=[0.1, 0.01, 0.1], modularity=[0.4, 0.6, 0.6], cost=[3, 2, 2])
    >>> counts = ClusterCounts([2, 3, 4], **curves, low=3, high=4, best=3, structured=True)
    >>> plots.n_clusters_curve(counts).get_title(loc="left")
    '3 to 4 clusters'
    """
    ax = style.axes(ax, 5.4, 3.3)
    mean, spread = np.array(selection.stability), np.array(selection.spread)
    ax.fill_between(
        selection.n_clusters, mean - spread, np.minimum(1, mean + spread), color=style.BLUE, alpha=0.15, lw=0
    )
    ax.plot(selection.n_clusters, mean, color=style.BLUE, marker="o", markersize=4.5, linewidth=1.6)
    if selection.structured:
        ax.axvspan(selection.low - 0.3, selection.high + 0.3, color=style.BLUE, alpha=0.08, lw=0, zorder=0)
        _chosen(ax, selection.best)
    several = f"{selection.low} to {selection.high}" if selection.high > selection.low else f"{selection.low}"
    ax.set(xlabel="clusters", ylabel="agreement of runs (adjusted Rand)")
    _whole_numbers(ax)
    ax.margins(y=0.14)
    style.frame(ax, grid="y")
    style.title(ax, title or (f"{several} clusters" if selection.structured else "no clear structure"))
    return ax


def partial_vs_full(
    n_atoms: Sequence[int],
    partial: Sequence[Any],
    full: Sequence[Any],
    ax: Axes | None = None,
    *,
    best: int | None = None,
    measure: str = "mAP@20",
    title: str | None = None,
) -> Axes:
    """Retrieval by the projection onto one cone (partial, Eq. 3) and by the component (full, Eq. 2) (Figure 7).

    Parameters
    ----------
    n_atoms : sequence of int
        Numbers of atoms per concept.
    partial : sequence of Retrieval or tuple
        For each number a ``metrics.Retrieval`` or a pair (general, sub), by the projection.
    full : sequence of Retrieval or tuple
        The same by the component.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    best : int or None, default=None
        The number chosen, to be marked.
    measure : str, default="mAP@20"
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
        There are more or fewer results than numbers of atoms.

    Examples
    --------
    >>> from pellucid import plots
    >>> ax = plots.partial_vs_full([2, 4], [(0.8, 0.5), (0.9, 0.6)], [(0.7, 0.4), (0.8, 0.5)], best=4)
    >>> ax.texts[0].get_text()
    'chosen: 4'
    """
    ax = style.axes(ax, 5.4, 3.5)
    handles, names = [], []
    for results, kind, dashes in ((partial, "projection", "-"), (full, "component", (0, (4, 2)))):
        pairs = np.array([(r.general, r.sub) if hasattr(r, "general") else tuple(r) for r in results], dtype=float)
        if len(pairs) != len(n_atoms):
            raise ValueError(f"There are {len(pairs)} results of the {kind} for {len(n_atoms)} numbers of atoms.")
        for values, (name, colour, marker) in zip(pairs.T, MEASURES):
            filled = colour if kind == "projection" else "white"
            (line,) = ax.plot(
                n_atoms, values, color=colour, marker=marker, markersize=4.5, linewidth=1.6, linestyle=dashes,
                markerfacecolor=filled,
            )  # fmt: skip
            handles.append(line)
            names.append(f"{kind}, {name.split(' (')[0]}")
    if best is not None:
        _chosen(ax, best)
    _finish_curve(ax, measure, handles, names, title)
    return ax


def _chosen(ax: Axes, best: int) -> None:
    ax.axvline(best, color=style.FAINT, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    ax.annotate(
        f"chosen: {best}", (best, 0), xycoords=("data", "axes fraction"), xytext=(4, 4), textcoords="offset points",
        fontsize=style.SIZE - 1, color=style.FAINT,
    )  # fmt: skip


def _finish_curve(ax: Axes, measure: str, handles: list[Any], names: list[str], title: str | None) -> None:
    ax.set(xlabel="atoms per concept", ylabel=measure)
    _whole_numbers(ax)
    ax.margins(y=0.14)
    style.frame(ax, grid="y")
    style.legend(ax, handles, names, loc="upper left", bbox_to_anchor=(0, -0.17), ncols=2, borderaxespad=0)
    style.title(ax, title)


def _whole_numbers(ax: Axes) -> None:
    from pellucid._core.extras import require

    ax.xaxis.set_major_locator(require("matplotlib.ticker", "plots").MaxNLocator(integer=True, min_n_ticks=1))


def cka_curve(model: Any, X: Any, ax: Axes | None = None, *, n_points: int = 24, title: str | None = None) -> Axes:
    """How much of the items' similarities the strongest binary concepts explain, over their number.

    It is the centred kernel alignment of the items and of the model cut short (paper 2, Figure 5c).

    Parameters
    ----------
    model : BinaryAutoencoder or IterativeAssignment
        Fitted.
    X : array-like of shape (p, d)
        The items.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    n_points : int, default=24
        Points of the curve at most.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> from pellucid import BinaryAutoencoder, plots
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> ax = plots.cka_curve(BinaryAutoencoder(random_state=0).fit(X), X)
    >>> ax.lines[0].get_ydata().round(3).tolist()
    [0.707, 1.0]
    """
    from pellucid.metrics import cka

    order = np.argsort(-model.weights_, kind="stable")
    sizes = np.unique(np.geomspace(1, max(1, len(order)), min(n_points, max(1, len(order)))).round().astype(int))
    parts = model.concepts_[:, order] * np.sqrt(model.weights_[order])
    values = [cka(X, parts[:, :k]) for k in sizes] if len(order) else []
    ax = style.axes(ax, 4.8, 3.0)
    ax.plot(sizes[: len(values)], values, color=style.BLUE, marker="o", markersize=4, linewidth=1.6)
    if values:
        ax.annotate(
            f"{values[-1]:.3f}", (sizes[-1], values[-1]), xytext=(0, 7), textcoords="offset points", ha="center",
            fontsize=style.SIZE, color=style.FAINT,
        )  # fmt: skip
    ax.set(xlabel="binary concepts, the strongest first", ylabel="CKA with the data", ylim=(0, 1.08))
    _whole_numbers(ax)
    style.frame(ax, grid="y")
    style.title(ax, title)
    return ax
