"""Gene programmes: which genes stand out in each, and how much of them the others have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.concepts import GeneProgrammes

# inches that a gene and a programme take, and programmes that are drawn at most
CELL, ROW, PROGRAMMES = 0.19, 0.3, 24


def programmes(found: GeneProgrammes, ax: Axes | None = None, *, most: int = 5, title: str | None = None) -> Axes:
    """How much of the first genes of each programme the others have, as a share of what the one that has most has.

    Parameters
    ----------
    found : GeneProgrammes
        What :func:`pellucid.gene_programmes` found.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    most : int, default=5
        Genes of each programme, at most.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import gene_programmes
    >>> from pellucid.plots import programmes
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(5 * rng.dirichlet([0.2, 0.2], size=90) @ rng.gamma(0.5, size=(2, 40)))
    >>> len(programmes(gene_programmes(counts, n_programmes=2)).get_yticklabels())
    2
    """
    rows = np.arange(min(PROGRAMMES, len(found.names)))
    place = {gene: j for j, gene in reversed(list(enumerate(found.genes)))}
    genes = list(dict.fromkeys(gene for k in rows for gene in found.top_genes(found.names[k], most)))
    columns = [place[gene] for gene in genes]
    values = np.maximum(found.spectra[rows][:, columns], 0)
    values = values / np.maximum(values.max(axis=0, initial=0), 1e-300)
    axes = style.axes(ax, 2.4 + CELL * max(1, len(genes)), 1.3 + ROW * max(1, len(rows)))
    if genes:
        axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    else:
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.text(0.5, 0.5, "no gene stands out", transform=axes.transAxes, ha="center", va="center", color=style.FAINT)
    used = found.usage.mean(axis=0)
    names = [f"{style.plain(style.shorten(found.names[k], 28))}  {used[k]:.0%}" for k in rows]
    axes.set_yticks(rows, names)
    axes.set_xticks(np.arange(len(genes)), [style.plain(gene) for gene in genes], rotation=90)
    axes.tick_params(length=0, labelsize=style.SIZE - 1, colors=style.INK)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("share of what the programme that has most of a gene has", color=style.FAINT)
    style.title(axes, title)
    return axes
