"""The analogram (paper 2, section 2.1.2 and A.1): binary concepts as a graph in which distance counts differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import Floats, Ints
from pellucid._core.extras import require
from pellucid.binary.packed_bits import Bits
from pellucid.binary.partial_cubes import check_columns, majority_closure, needed, neighbours, path_lengths
from pellucid.binary.projection import concept_projection
from pellucid.binary.weights import as_bits

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Analogram:
    """A graph of items and hidden nodes in which distance counts the concepts that differ.

    One edge flips one concept, and between any two nodes the shortest path flips exactly the concepts in which they
    differ (a partial cube).

    Hidden nodes are the combinations of concepts in which every pair of concepts appears as it does in some item. They
    are the closure of the items under "majority of three", with which the graph is a partial cube whatever the
    concepts. Those that no shortest path needs are then removed, the ones farthest from the items first; the smallest
    graph is hard to find and need not be unique.

    Parameters
    ----------
    S : array-like of shape (p, b)
        Concepts of the items, 0 or 1. No column may be constant, or repeat another or its complement.
    names : sequence of str of length p or None, default=None
        Names of the items; their numbers if None.

    Attributes
    ----------
    nodes : ndarray of shape (m, b), dtype uint8
        Concepts of every node.
    item_nodes : ndarray of shape (p,)
        The node of each item. Items with equal concepts share one.
    edges : ndarray of shape (e, 3)
        For each edge the node without a concept, the node with it, and the concept.
    names : list of str
        Names of the items.
    hidden : ndarray
        Nodes at which there is no item.

    Raises
    ------
    ValueError
        If S holds anything but 0 and 1, a concept is constant or given twice, there are not as many names as items, or
        the graph has more than 4096 nodes.

    See Also
    --------
    analogram_of : The graph of some items of a fitted model.
    partial_cube_concepts : The way back, from a graph to concepts.
    pellucid.plots.analogram : Draw the graph.

    Examples
    --------
    >>> from pellucid.binary import Analogram
    >>> graph = Analogram([[1, 0, 0], [0, 1, 0], [0, 0, 1]], names=["cat", "dog", "bird"])
    >>> graph.nodes[graph.hidden]
    array([[0, 0, 0]], dtype=uint8)
    >>> graph.distances()
    array([[0, 2, 2],
           [2, 0, 2],
           [2, 2, 0]])
    """

    def __init__(self, S: ArrayLike, names: Sequence[str] | None = None) -> None:
        bits = as_bits(S, "S")
        check_columns(bits)
        self.names = [str(name) for name in (range(len(bits)) if names is None else names)]
        if len(self.names) != len(bits):
            raise ValueError(f"There are {len(self.names)} names for {len(bits)} items.")
        every = majority_closure(bits)
        place = {row.tobytes(): i for i, row in enumerate(every)}
        items = np.array([place[row.tobytes()] for row in bits])
        kept = np.flatnonzero(needed(every, np.unique(items)))
        self.nodes: Bits = every[kept]
        self.item_nodes: Ints = np.searchsorted(kept, items)
        links = neighbours(self.nodes)
        edges = [(v, u, a) for v, found in enumerate(links) for a, u in found.items() if not self.nodes[v, a]]
        self.edges: Ints = np.array(edges, dtype=np.int64).reshape(-1, 3)

    @property
    def hidden(self) -> Ints:
        """Nodes at which there is no item.

        Returns
        -------
        ndarray of shape (number of hidden nodes,)
            Their row numbers in ``nodes``, ascending.

        Examples
        --------
        >>> from pellucid.binary import Analogram
        >>> Analogram([[1, 0, 0], [0, 1, 0], [0, 0, 1]]).hidden
        array([0])
        """
        return np.setdiff1d(np.arange(len(self.nodes)), self.item_nodes)

    def distances(self) -> NDArray[np.int64]:
        """Lengths of the shortest paths between items.

        Returns
        -------
        ndarray of shape (p, p), dtype int64
            How many concepts each two items differ in.

        Examples
        --------
        >>> from pellucid.binary import Analogram
        >>> Analogram([[0, 0], [0, 1], [1, 1]]).distances()
        array([[0, 1, 2],
               [1, 0, 1],
               [2, 1, 0]])
        """
        steps = path_lengths(self.edges[:, :2], len(self.nodes))
        return np.asarray(steps[np.ix_(self.item_nodes, self.item_nodes)])

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.Graph``.

        Nodes are numbered as in ``nodes`` and have the attributes ``items`` (names of the items there), ``hidden`` and
        ``concepts`` (numbers of those the node has); edges have ``concept``.

        Returns
        -------
        networkx.Graph
            A new graph. Needs ``pellucid[graph]``.

        Examples
        --------
        >>> from pellucid.binary import Analogram
        >>> graph = Analogram([[0, 0], [0, 1], [1, 1]], names=["a", "b", "c"]).to_networkx()
        >>> graph.nodes[2]
        {'items': ['c'], 'hidden': False, 'concepts': [0, 1]}
        >>> graph.edges[0, 1]
        {'concept': 1}
        """
        graph = require("networkx", "graph").Graph()
        here: list[list[str]] = [[] for _ in self.nodes]
        for name, node in zip(self.names, self.item_nodes):
            here[node].append(name)
        for v, (bits, items) in enumerate(zip(self.nodes, here)):
            graph.add_node(v, items=items, hidden=not items, concepts=np.flatnonzero(bits).tolist())
        for without, having, concept in self.edges.tolist():
            graph.add_edge(without, having, concept=concept)
        return graph

    def lattice_dimension(self) -> int:
        """The least dimension of a whole-number grid that holds the graph with its distances.

        It is 1 for a line, however many concepts that takes. Two sides of concepts that overlap and together hold all
        nodes can lie along one axis; a largest matching of such sides saves an axis a pair (Eppstein).

        Returns
        -------
        int
            The dimension. Needs ``pellucid[graph]``.

        Examples
        --------
        >>> from pellucid.binary import Analogram
        >>> Analogram([[0, 0], [0, 1], [1, 1]]).lattice_dimension()  # three items on a line
        1
        """
        sides = np.hstack([self.nodes, 1 - self.nodes]).astype(bool)  # (m, 2b)
        overlap = sides.T.astype(np.int64) @ sides > 0
        cover = (~sides).T.astype(np.int64) @ ~sides == 0
        networkx = require("networkx", "graph")
        graph = networkx.Graph(np.argwhere(np.triu(overlap & cover, 1)).tolist())
        return int(self.nodes.shape[1]) - len(networkx.max_weight_matching(graph, maxcardinality=True))

    def plot(self, ax: Axes | None = None, **settings: Any) -> Axes:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; a new figure if None.
        **settings : Any
            Passed on to :func:`pellucid.plots.analogram`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ValueError
            If the graph has too many nodes to be read.

        Examples
        --------
        >>> from pellucid.binary import Analogram
        >>> ax = Analogram([[0, 0], [0, 1], [1, 1]]).plot(concepts=["large", "red"])
        """
        from pellucid.plots import analogram

        return analogram(self, ax, **settings)


@dataclass(frozen=True)
class AnalogramView:
    """What can be drawn of a model, as :func:`analogram_of` returns it.

    It is the analogram of some items, by the strongest of the concepts that tell them apart.

    Attributes
    ----------
    graph : Analogram
        The graph.
    weights : ndarray of shape (b,)
        Weights of its concepts, strongest first.
    counts : ndarray of shape (b,)
        How many concepts of the model split the items as each of them does.
    share : float
        Of the weight of all concepts that tell the items apart, the part that is in the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import BinaryAutoencoder, analogram_of
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> view = analogram_of(BinaryAutoencoder(random_state=0).fit(X), max_concepts=2)
    >>> view.weights.round(2), round(view.share, 2)
    (array([9., 4.]), 0.93)
    """

    graph: Analogram
    weights: Floats
    counts: NDArray[np.int64]
    share: float


def analogram_of(
    model: Any,
    items: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    *,
    max_concepts: int | None = None,
    max_nodes: int = 100,
) -> AnalogramView:
    """The graph of items of a fitted model, by as many of the strongest concepts as it can be read with.

    Parameters
    ----------
    model : BinaryAutoencoder, IterativeAssignment or CombinedConcepts
        A fitted model.
    items : array-like of int of shape (q,) or None, default=None
        Positions of at least two items of the fit; all of them if None.
    names : sequence of str of length q or None, default=None
        Names of these items; their positions if None.
    max_concepts : int or None, default=None
        Take no more concepts than that.
    max_nodes : int, default=100
        Take no more concepts than give a graph of this size.

    Returns
    -------
    AnalogramView
        The graph, the weights of its concepts, and what share of all weight they are.

    Raises
    ------
    ValueError
        If fewer than two items are named, or no concept tells them apart.

    See Also
    --------
    concept_projection : The concepts that tell some items apart, without the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import BinaryAutoencoder, analogram_of
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> model = BinaryAutoencoder(random_state=0).fit(X)
    >>> analogram_of(model, items=[0, 1, 3], names=["a", "b", "c"]).graph.distances()
    array([[0, 1, 2],
           [1, 0, 1],
           [2, 1, 0]])
    """
    check_is_fitted(model, "concepts_")
    rows = np.arange(len(model.concepts_)) if items is None else np.asarray(items)
    found = concept_projection(model, rows)
    count = len(found.patterns) if max_concepts is None else min(max_concepts, len(found.patterns))
    if not count:
        raise ValueError("No concept tells these items apart, so there is no graph to draw.")
    called = [str(row) for row in rows] if names is None else list(names)
    S = found.patterns.T
    best = Analogram(S[:, :1], called)
    most, few = count, 1
    while few < most:  # more concepts never give fewer nodes of the closure, so that halving finds the number
        middle = (few + most + 1) // 2
        graph = _at_most(S[:, :middle], called, max_nodes)
        if graph is None:
            most = middle - 1
        else:
            best, few = graph, middle
    share = float(found.weights[:few].sum() / max(found.weights.sum(), np.finfo(float).tiny))
    return AnalogramView(best, found.weights[:few], found.counts[:few], share)


def _at_most(S: NDArray[np.uint8], names: list[str], max_nodes: int) -> Analogram | None:
    """The graph, or None if it has more nodes than that, or than can be made."""
    try:
        graph = Analogram(S, names)
    except ValueError:
        return None
    return graph if len(graph.nodes) <= max_nodes else None
