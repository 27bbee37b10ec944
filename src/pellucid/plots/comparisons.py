"""How sets differ: differences with their intervals, shares over time, what predicts a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.concepts import Comparison, Drivers, Trends

ROW = 0.27  # inches a row takes


def differences(comparison: Comparison, ax: Axes | None = None, *, most: int = 20, title: str | None = None) -> Axes:
    """The differences between two sets, with their intervals; those that were found are filled.

    Parameters
    ----------
    comparison : Comparison
        What :func:`pellucid.compare` made of two sets.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    most : int, default=20
        Concepts, the surest differences.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import compare
    >>> from pellucid.plots import differences
    >>> rng = np.random.default_rng(0)
    >>> found = compare(rng.random((90, 2)) < 0.6, rng.random((90, 2)) < 0.4, names=["rain", "wind"])
    >>> len(differences(found).get_yticklabels())
    2
    """
    shown = np.arange(min(most, len(comparison.concepts)))
    shown = shown[np.argsort(-comparison.difference[shown], kind="stable")]
    axes = style.axes(ax, 6.5, 1.1 + ROW * max(1, len(shown)))
    for place, j in enumerate(shown):
        colour = style.BLUE if comparison.difference[j] > 0 else style.VERMILION
        colour = colour if comparison.found[j] else style.GREY
        ends = 100 * comparison.low[j], 100 * comparison.high[j]
        axes.plot(ends, (place, place), color=colour, lw=2, solid_capstyle="butt")
        face = colour if comparison.found[j] else "white"
        axes.plot([100 * comparison.difference[j]], [place], "o", color=colour, mfc=face, ms=5)
    axes.axvline(0, color=style.LINE, lw=1, zorder=0)
    _named(axes, [comparison.concepts[j] for j in shown])
    axes.set_xlabel("more frequent in B   ←   percentage points   →   more frequent in A", color=style.FAINT)
    style.title(axes, title)
    return axes


def drivers(found: Drivers, ax: Axes | None = None, *, most: int = 20, title: str | None = None) -> Axes:
    """How much each concept that was found moves a target, all others being equal.

    Parameters
    ----------
    found : Drivers
        What :func:`pellucid.compare` made of a target.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    most : int, default=20
        Concepts, those that were chosen most often.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import compare
    >>> from pellucid.plots import drivers
    >>> P = np.random.default_rng(0).random((90, 4)) < 0.5
    >>> len(drivers(compare(P, target=P[:, 1] + 0.01 * np.arange(90))).patches)
    1
    """
    shown = np.flatnonzero(found.found)[:most]
    shown = shown[np.argsort(-found.effect[shown], kind="stable")]
    axes = style.axes(ax, 6.5, 1.1 + ROW * max(1, len(shown)))
    colours = [style.BLUE if found.effect[j] > 0 else style.VERMILION for j in shown]
    axes.barh(np.arange(len(shown)), found.effect[shown], color=colours, height=0.7)
    axes.axvline(0, color=style.LINE, lw=1)
    _named(axes, [found.concepts[j] for j in shown])
    what = f"{found.target!r}" if found.target else "the target"
    axes.set_xlabel(f"change of {what} with the concept; {found.measure} {found.score:.2f}", color=style.FAINT)
    style.title(axes, title)
    return axes


def trends(found: Trends, ax: Axes | None = None, *, most: int = 6, title: str | None = None) -> Axes:
    """Shares over time with their bands, and where they change.

    Parameters
    ----------
    found : Trends
        What :func:`pellucid.compare` made of dates.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    most : int, default=6
        Concepts, the surest changes.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import compare
    >>> from pellucid.plots import trends
    >>> rain = np.random.default_rng(0).random((300, 1)) < 0.5
    >>> trends(compare(rain, dates=np.arange(300), names=["rain"])).get_legend_handles_labels()[1]
    ['rain']
    """
    axes = style.axes(ax, 7.0, 3.6)
    places = np.arange(len(found.starts))
    for j in range(min(most, len(found.concepts))):
        colour = style.CATEGORIES[j % len(style.CATEGORIES)]
        label = style.plain(style.shorten(found.concepts[j], 24))
        axes.plot(places, 100 * found.shares[j], color=colour, marker=style.MARKERS[j % len(style.MARKERS)], ms=4,
                  lw=1.6, label=label)  # fmt: skip
        axes.fill_between(places, 100 * found.low[j], 100 * found.high[j], color=colour, alpha=0.15, lw=0)
        for date in found.changes[j]:
            axes.axvline(np.searchsorted(found.starts, date, side="right") - 1, color=colour, lw=1, ls=":")
    step = max(1, len(places) // 6)
    axes.set_xticks(places[::step], [style.shorten(date, 12) for date in found.starts[::step]])
    axes.set_ylabel("share of items, %", color=style.FAINT)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=style.SIZE, ncols=min(3, most), loc="lower left", bbox_to_anchor=(0, 1))
    style.title(axes, title)
    return axes


def _named(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(np.arange(len(names)), [style.plain(style.shorten(name, 28)) for name in names])
    axes.invert_yaxis()
    axes.tick_params(length=0, labelsize=style.SIZE, colors=style.INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
