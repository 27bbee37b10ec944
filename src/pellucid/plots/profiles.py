"""Clusters in a picture: how large they are, and what sets each apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.clusters import ClusterDescription

LINE = 0.24  # inches a line takes


def cluster_profiles(told: ClusterDescription, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Each cluster with its rows, and the features that set it apart, or its words.

    Parameters
    ----------
    told : pellucid.clusters.ClusterDescription
        What ``CommonalityClustering.describe`` returns.
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
    >>> from sklearn.datasets import load_wine
    >>> from pellucid import CommonalityClustering, plots
    >>> wine = load_wine(as_frame=True).data
    >>> model = CommonalityClustering(3, random_state=0).fit(wine)
    >>> ax = plots.cluster_profiles(model.describe(wine))
    """
    by_features = any(card.features for card in told.clusters)
    lines = sum(1 + (len(card.features) + 0.6 if by_features else 0) for card in told.clusters)
    ax = style.axes(ax, 6.4, 0.9 + LINE * lines)
    if by_features:
        _features(told, ax)
    else:
        _sizes(told, ax)
    style.title(ax, title)
    return ax


def _features(told: ClusterDescription, ax: Axes) -> None:
    """A block of bars for each cluster, under its name."""
    at, ticks, names = 0.0, [], []
    limit = max(
        (max(abs(f.low), abs(f.high), abs(f.difference)) for card in told.clusters for f in card.features
         if np.isfinite(f.low)), default=1.0,
    )  # fmt: skip
    for card in told.clusters:
        size = f" · {card.count} rows ({card.share:.0%})"
        ax.text(
            -1.02 * limit, at, style.plain(style.shorten(card.name, 52 - len(size)) + size),
            va="center", fontsize=style.SIZE, color=style.INK, weight="bold",
        )  # fmt: skip
        at += 1
        for feature in card.features:
            colour = style.BLUE if feature.difference > 0 else style.VERMILION
            ax.barh(at, feature.difference, color=colour, height=0.7)
            if np.isfinite(feature.low):
                ax.plot([feature.low, feature.high], [at, at], color=style.INK, linewidth=1)
            ticks.append(at)
            names.append(style.plain(style.shorten(feature.name, 26)))
            at += 1
        at += 0.6
    ax.set_yticks(ticks, names)
    ax.set(xlim=(-1.05 * limit, 1.05 * limit), ylim=(at - 0.6, -0.8))
    ax.axvline(0, color=style.LINE, linewidth=0.8, zorder=0)
    ax.set_xlabel("difference from all other rows, in deviations within clusters")
    style.frame(ax, grid="x")
    ax.tick_params(axis="y", length=0)


def _sizes(told: ClusterDescription, ax: Axes) -> None:
    """A bar for each cluster, as long as it has rows, and its words."""
    counts = [card.count for card in told.clusters]
    ax.barh(np.arange(len(counts)), counts, color=style.BLUE, height=0.72)
    ax.set_yticks(np.arange(len(counts)), [style.plain(style.shorten(card.name, 44)) for card in told.clusters])
    ax.invert_yaxis()
    for i, card in enumerate(told.clusters):
        ax.text(card.count + 0.01 * max(counts, default=1), i, f"{card.share:.0%}", va="center", fontsize=style.SIZE,
                color=style.FAINT)  # fmt: skip
    ax.set_xlim(0, 1.1 * max([1, *counts]))
    ax.set_xlabel("rows")
    style.frame(ax, grid="x")
    ax.tick_params(axis="y", length=0)
