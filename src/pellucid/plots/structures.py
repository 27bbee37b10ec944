"""Pictures of what two structures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def structures(
    comparison: Any,
    ax: Axes | None = None,
    *,
    names: Sequence[str] = ("first", "second"),
    n_shown: int = 12,
    title: str | None = None,
) -> Axes:
    """What two models of the same items share, side by side.

    A row for each pair of concepts that split the items alike, with the share of its structure that each concept has,
    to the left for the first model and to the right for the second, and how alike they are; then those of one alone.

    Parameters
    ----------
    comparison : StructureComparison
        What :func:`pellucid.binary.compare_structure` returned.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    names : sequence of str of length 2, default=("first", "second")
        What the models are called.
    n_shown : int, default=12
        Rows of each kind at most.
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
    >>> from pellucid.binary import BinaryAutoencoder, compare_structure
    >>> S = np.random.default_rng(0).integers(0, 2, (60, 4))
    >>> model_a = BinaryAutoencoder(random_state=0).fit(S[:, :3] * [3.0, 2.0, 1.0])
    >>> model_b = BinaryAutoencoder(random_state=0).fit(S[:, 1:] * [3.0, 2.0, 1.0])
    >>> ax = plots.structures(compare_structure(model_a, model_b, random_state=0), names=["pixels", "words"])
    >>> len(ax.patches)  # two of each pair, and one of each that is alone
    6
    """
    pairs = comparison.matched[:n_shown]
    left = [(a, comparison.variances_a[a], b, comparison.variances_b[b]) for a, b in pairs]
    rows: list[tuple[str, float, float]] = [
        (f"{a} – {b}, {alike:.2f}", x, y) for (a, x, b, y), alike in zip(left, comparison.agreement)
    ]
    rows += [(f"{a}, alone", comparison.variances_a[a], 0.0) for a in comparison.only_a[:n_shown]]
    rows += [(f"{b}, alone", 0.0, comparison.variances_b[b]) for b in comparison.only_b[:n_shown]]
    ax = style.axes(ax, 7.0, 1.2 + 0.28 * max(len(rows), 1))
    most = max([max(x, y) for _, x, y in rows], default=1.0) or 1.0
    gap = 0.24 * most  # between the sides, for the words
    for place, (said, x, y) in enumerate(rows):
        shared = place < len(pairs)
        if x > 0:
            ax.barh(place, -x, left=-gap, color=style.BLUE if shared else style.GREY, height=0.7)
        if y > 0:
            ax.barh(place, y, left=gap, color=style.VERMILION if shared else style.GREY, height=0.7)
        ax.text(0, place, said, ha="center", va="center", fontsize=style.SIZE - 1, color=style.INK)
    for side, name, share in ((-1, names[0], comparison.shared_a), (1, names[1], comparison.shared_b)):
        said = f"{style.plain(style.shorten(name, 24))}: {share:.0%} shared"
        ax.text(side * (gap + most / 2), -1, said, ha="center", va="center", fontsize=style.SIZE, color=style.INK)
    hidden = len(comparison.matched) + len(comparison.only_a) + len(comparison.only_b) - len(rows)
    if hidden:
        ax.text(0, len(rows), f"and {hidden} more", ha="center", va="center", fontsize=style.SIZE, color=style.FAINT)
    ax.set_xlim(-gap - 1.05 * most, gap + 1.05 * most)
    ax.set_ylim(len(rows) + 0.6, -1.7)
    ax.axis("off")
    style.title(ax, title)
    return ax
