"""Pictures of graphs: analograms, with the edges of one concept parallel and of one colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core import deadline
from pellucid.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# more nodes than that nobody can read
READABLE = 400
STEPS, STARTS = 150, 4
LINES = ("-", "--", ":")


def analogram(
    graph: Any, ax: Axes | None = None, *, concepts: Sequence[str] | None = None, title: str | None = None
) -> Axes:
    """An :class:`~pellucid.binary.Analogram`: items as dots with their names, hidden nodes as small circles.

    All edges of a concept are parallel, equally long and of one colour, so cutting across them splits the items by
    that concept.

    Parameters
    ----------
    graph : Analogram
        The graph.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    concepts : sequence of str or None, default=None
        Their names, which may be empty; None is their numbers.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        The graph has too many nodes to be read, or there are more or fewer names than concepts.

    Examples
    --------
    >>> from pellucid import plots
    >>> from pellucid.binary import Analogram
    >>> graph = Analogram([[0, 0], [0, 1], [1, 0], [1, 1]], ["girl", "boy", "woman", "man"])
    >>> len(plots.analogram(graph, concepts=["grown", "male"]).lines)
    4
    """
    if len(graph.nodes) > READABLE:
        raise ValueError(
            f"An analogram of {len(graph.nodes)} nodes cannot be read (at most {READABLE}); take fewer items, or only "
            "the strongest concepts, or look at the weights and the similarity of concepts instead."
        )
    names = [str(name) for name in (range(graph.nodes.shape[1]) if concepts is None else concepts)]
    if len(names) != graph.nodes.shape[1]:
        raise ValueError(f"There are {len(names)} names for {graph.nodes.shape[1]} concepts.")
    side = min(12.0, 3.5 + 0.3 * np.sqrt(len(graph.nodes)) * 2)
    ax = style.axes(ax, side, side * 0.85)
    places = node_places(graph.nodes)
    _draw_edges(ax, graph, places, names)
    _draw_nodes(ax, graph, places)
    ax.set_aspect("equal")
    ax.margins(0.14)
    ax.axis("off")
    style.title(ax, title)
    return ax


def node_places(nodes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Places (m, 2) = nodes · directions of concepts, so that distances on paper are as near as can be to those in the
    graph: stress of weight 1/d², majorised within the places that have parallel edges."""
    bits = nodes - nodes.mean(axis=0)
    distance = np.count_nonzero(nodes[:, None] != nodes[None], axis=2).astype(float)
    weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    solve = np.linalg.pinv(bits.T @ laplacian @ bits, hermitian=True) @ bits.T
    generator = np.random.default_rng(0)
    best, least = np.zeros((len(nodes), 2)), np.inf
    for start in range(STARTS):
        directions = generator.standard_normal((nodes.shape[1], 2))
        if start == 0:
            directions = np.linalg.svd(bits, full_matrices=False)[2][:2].T
            directions = np.pad(directions, ((0, 0), (0, 2 - directions.shape[1])))
        places = bits @ directions
        for _ in range(STEPS):
            deadline.check()
            apart = np.linalg.norm(places[:, None] - places[None], axis=2)
            pull = np.divide(weight * distance, apart, out=np.zeros_like(apart), where=apart > 1e-9)
            places = bits @ (solve @ (pull.sum(axis=1)[:, None] * places - pull @ places))
        stress = float(np.sum(weight * (np.linalg.norm(places[:, None] - places[None], axis=2) - distance) ** 2))
        if stress < least - 1e-9:
            best, least = places, stress
    return best


def _draw_edges(ax: Axes, graph: Any, places: NDArray[np.float64], names: list[str]) -> None:
    for a, name in enumerate(names):
        ends = graph.edges[graph.edges[:, 2] == a, :2]
        colour = style.CATEGORIES[a % len(style.CATEGORIES)]
        line = LINES[a // len(style.CATEGORIES) % len(LINES)]
        for v, u in ends:
            ax.plot(*places[[v, u]].T, color=colour, linestyle=line, linewidth=1.8, zorder=1, solid_capstyle="round")
        if not name:
            continue
        middles = places[ends].mean(axis=1)
        outermost = middles[np.argmax(np.linalg.norm(middles, axis=1))]
        ax.text(
            float(outermost[0]),
            float(outermost[1]),
            style.plain(style.shorten(name, 18)),
            color=colour,
            fontsize=style.SIZE - 1,
            ha="center",
            va="center",
            zorder=2,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.9},
        )


def _draw_nodes(ax: Axes, graph: Any, places: NDArray[np.float64]) -> None:
    hidden = places[graph.hidden]
    ax.scatter(hidden[:, 0], hidden[:, 1], s=16, facecolor="white", edgecolor=style.GREY, linewidth=1.0, zorder=3)
    stand = np.unique(graph.item_nodes)
    ax.scatter(places[stand, 0], places[stand, 1], s=42, color=style.INK, zorder=4)
    for node in stand:
        here = [name for name, at in zip(graph.names, graph.item_nodes) if at == node]
        text = ", ".join(here[:3]) + (f" and {len(here) - 3} more" if len(here) > 3 else "")
        far = float(np.linalg.norm(places[node]))
        outward = places[node] / far if far > 0.1 else np.array([0.7, 0.7])  # in the middle no direction is outward
        ax.annotate(
            style.plain(style.shorten(text, 30)),
            places[node],
            xytext=tuple(7 * outward),
            textcoords="offset points",
            ha="left" if outward[0] > 0.3 else "right" if outward[0] < -0.3 else "center",
            va="bottom" if outward[1] > 0.3 else "top" if outward[1] < -0.3 else "center",
            fontsize=style.SIZE,
            color=style.INK,
            zorder=5,
        )
