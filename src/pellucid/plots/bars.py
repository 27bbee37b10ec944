"""Bars: the parts of an item, the terms of a cosine, methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.concepts import ConceptSubspaces
    from pellucid.search import Explanation

ROW = 0.27  # inches a bar takes


def component_bars(
    model: ConceptSubspaces,
    x: ArrayLike,
    ax: Axes | None = None,
    *,
    active: Any = None,
    top: int = 12,
    title: str | None = None,
) -> Axes:
    """The concepts that one item is made of, largest first, and what is in none.

    Parameters
    ----------
    model : ConceptSubspaces
        Fitted.
    x : array-like of shape (d,)
        The item, raw.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    active : sequence of str, array-like of shape (1, S) or None, default=None
        As in ``ConceptSubspaces.shares``.
    top : int, default=12
        Concepts with a bar of their own; the others share one.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> from pellucid import ConceptSubspaces, plots
    >>> X = [[3.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    >>> model = ConceptSubspaces(1, center=False).fit(X, ["loud", "loud", "bright", "bright"])
    >>> ax = plots.component_bars(model, [2.0, 1.0, 0.0])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['loud', 'bright', 'not in any concept']
    """
    shares = model.shares(np.asarray(x).reshape(1, -1), active)[0]
    order = np.argsort(-shares, kind="stable")
    names = [str(model.concept_names_[j]) for j in order[:top]]
    values = shares[order[:top]].tolist()
    rest = order[top:]
    if len(rest):
        names.append(f"{len(rest)} others")
        values.append(float(shares[rest].sum()))
    names.append("not in any concept")
    values.append(1 - float(shares.sum()))
    ax = style.axes(ax, 5.4, 0.9 + ROW * len(names))
    colours = [style.BLUE if i < min(top, len(order)) else style.GREY for i in range(len(names))]
    ax.barh(np.arange(len(names)), values, color=colours, height=0.72)
    limit = max([*values, 1e-12])
    for i, value in enumerate(values):
        ax.text(max(value, 0) + 0.012 * limit, i, f"{value:.0%}", va="center", fontsize=style.SIZE, color=style.FAINT)
    _rows(ax, names)
    ax.set_xlim(min([0.0, *values]), 1.12 * limit)
    ax.set_xlabel("share of the item")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    style.frame(ax, grid="x")
    style.title(ax, title)
    return ax


def explanation(found: Explanation, ax: Axes | None = None, *, top: int = 8, title: str | None = None) -> Axes:
    """Why two items are close: a step per concept, then what no concept accounts for, up to their score.

    Parameters
    ----------
    found : pellucid.search.Explanation
        What :func:`pellucid.search.explain` or ``Hit.explain`` found.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    top : int, default=8
        Concepts with a step of their own. The others share one, so that the steps always add up.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import plots
    >>> from pellucid.search import Explanation
    >>> found = Explanation(["dog", "sofa"], np.array([0.5, 0.2]), 0.1, 0.8, [[], []])
    >>> [label.get_text() for label in plots.explanation(found).get_yticklabels()]
    ['dog', 'sofa', 'not in any concept', 'score']
    """
    order = np.argsort(-np.abs(found.terms), kind="stable")
    shown = [int(j) for j in order[:top] if abs(found.terms[j]) >= 0.0005]
    rest = [int(j) for j in order if int(j) not in shown]
    steps = [(found.names[j], float(found.terms[j]), ", ".join(found.words[j])) for j in shown]
    if any(abs(found.terms[j]) >= 0.0005 for j in rest):
        steps.append((f"{len(rest)} others", float(found.terms[rest].sum()), ""))
    steps.append(("not in any concept", found.residual, ""))
    if found.presence:
        steps.append(("likely has the concept", found.presence, ""))
    ax = style.axes(ax, 6.4, 0.9 + ROW * 1.1 * (len(steps) + 1))
    reached = 0.0
    edges = [0.0]
    for i, (name, value, _) in enumerate(steps):
        grey = name == "not in any concept" and i >= len(shown)
        colour = style.GREY if grey else style.BLUE if value >= 0 else style.VERMILION
        ax.barh(i, value, left=reached, color=colour, height=0.7)
        reached += value
        ax.plot([reached, reached], [i + 0.35, i + 0.65], color=style.FAINT, linewidth=0.8)
        edges.append(reached)
    ax.barh(len(steps), found.score, color=style.INK, height=0.7)
    low, high = min([*edges, found.score]), max([*edges, found.score])
    span = max(high - low, 1e-9)
    room = ax.get_window_extent().width / ax.figure.dpi
    limit = high + 0.1 * span
    for i, (_, value, words) in enumerate([*steps, ("", found.score, "")]):
        right = max(edges[i], edges[i + 1]) if i < len(steps) else max(found.score, 0.0)
        said = f"{value:+.3f}" if i < len(steps) else f"{value:.3f}"
        said = said.replace("-", "−") + ("   " + style.shorten(words, 36) if words else "")
        # the axis goes on until the note beside the bar fits
        wide = min(0.7 * room, len(said) * style.SIZE * style.CHARACTER / 72)
        limit = max(limit, low + (right - low + 0.03 * span) / (1 - wide / room))
        ax.text(right + 0.015 * span, i, style.plain(said), va="center", fontsize=style.SIZE, color=style.FAINT)
    ax.axvline(0, color=style.LINE, linewidth=0.8, zorder=0)
    _rows(ax, [*(name for name, _, _ in steps), "score"])
    ax.set_xlim(low - 0.02 * span, limit)
    ax.set_xlabel("contribution to the score")
    style.frame(ax)
    style.title(ax, title)
    return ax


def retrieval(
    rows: Mapping[str, Any], ax: Axes | None = None, *, measure: str = "mAP@20", title: str | None = None
) -> Axes:
    """Methods side by side, by how well they find the same concept and the same thing.

    Parameters
    ----------
    rows : dict of str to Retrieval or tuple
        What each method reached: a ``metrics.Retrieval`` or a pair (general, sub). Each of the two is a number, or a
        sequence of numbers from several runs, shown as their mean with their standard deviation; ``sub`` may be None.
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

    Raises
    ------
    ValueError
        There are no methods to compare.

    Examples
    --------
    >>> from pellucid import plots
    >>> ax = plots.retrieval({"plain": (0.61, 0.42), "by concept": ([0.85, 0.87], [0.55, 0.56])})
    >>> ax.get_xlabel()
    'mAP@20'
    """
    if not rows:
        raise ValueError("There are no methods to compare.")
    found = [_pair(row) for row in rows.values()]
    ax = style.axes(ax, 6.0, 1.2 + 0.5 * len(rows))
    handles, names = [], []
    with_sub = any(sub is not None and np.isfinite(sub).all() for _, sub in found)
    height = 0.36 if with_sub else 0.6
    for side, (label, colour) in enumerate(
        (("same concept (general)", style.BLUE), ("same thing (sub-label)", "#e69f00"))
    ):
        if side and not with_sub:
            continue
        values = [np.atleast_1d(np.nan if pair[side] is None else pair[side]).astype(float) for pair in found]
        means = np.array([v.mean() for v in values])
        spread = np.array([v.std(ddof=1) if len(v) > 1 else 0.0 for v in values])
        place = np.arange(len(rows)) + (0 if not with_sub else (-0.19, 0.19)[side])
        error = spread if spread.any() else None
        bars = ax.barh(
            place, means, height=height, color=colour, xerr=error, error_kw={"ecolor": style.INK, "elinewidth": 0.9}
        )
        for y, mean, wide in zip(place, means, spread):
            if np.isfinite(mean):
                said = f"{mean:.3f}" + (f" ± {wide:.3f}" if wide else "")
                ax.text(
                    mean + wide + (0.02 if wide else 0.008),
                    y,
                    said,
                    va="center",
                    fontsize=style.SIZE - 1,
                    color=style.FAINT,
                )
        handles.append(bars)
        names.append(label)
    _rows(ax, list(rows))
    ax.set_xlim(0, 1.12)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_xlabel(measure)
    style.frame(ax, grid="x")
    if with_sub:
        style.legend(ax, handles, names, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.2)
        ax.set_title(" ", fontsize=style.SIZE)
    style.title(ax, title)
    if with_sub and title:
        ax.set_title(ax.get_title(loc="left"), loc="left", fontsize=style.SIZE + 1.5, color=style.INK, pad=26)
    return ax


def _pair(row: Any) -> tuple[Any, Any]:
    if hasattr(row, "general"):
        return row.general, row.sub
    if isinstance(row, Mapping):
        return row["general"], row.get("sub")
    general, sub = row
    return general, sub


def _rows(ax: Axes, names: Sequence[str]) -> None:
    """One name per bar, the first on top."""
    ax.set_yticks(range(len(names)), [style.plain(style.shorten(name, 32)) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
