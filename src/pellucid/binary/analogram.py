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
from pellucid.binary.projection import concept_projection
from pellucid.binary.weights import as_bits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 4096
SMALLER = "take fewer items, or keep only the strongest concepts (max_concepts)"


class Analogram:
    """A graph of items and hidden nodes: one edge flips one concept, and between any two nodes the shortest path flips
    exactly the concepts in which they differ (a partial cube).

    Hidden nodes are the combinations of concepts in which every pair of concepts appears as it does in some item. They
    are the closure of the items under "majority of three", with which the graph is a partial cube whatever the
    concepts. Those that no shortest path needs are then removed, the ones farthest from the items first; the smallest
    graph is hard to find and need not be unique.

    Parameters
    ----------
    S : (p, b) of 0 and 1; no column may be constant or repeat another (complements are equal)
    names : of the items; their numbers if None

    Attributes
    ----------
    nodes : (m, b) concepts of every node
    item_nodes : (p,) the node of each item; items with equal concepts share one
    edges : (e, 3) node without a concept, node with it, concept
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
        """Nodes that no item stands at."""
        return np.setdiff1d(np.arange(len(self.nodes)), self.item_nodes)

    def distances(self) -> NDArray[np.int64]:
        """(p, p) lengths of the shortest paths between items."""
        steps = path_lengths(self.edges[:, :2], len(self.nodes))
        return np.asarray(steps[np.ix_(self.item_nodes, self.item_nodes)])

    def to_networkx(self) -> Any:
        """As a ``networkx.Graph``: nodes are numbered as in ``nodes``, with the attributes ``items`` (names of those
        that stand there), ``hidden`` and ``concepts`` (numbers of those it has); edges have ``concept``."""
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
        """The least dimension of a whole-number grid that holds the graph with its distances: 1 for a line, however
        many concepts it takes. Needs networkx.

        Two sides of concepts that overlap and together hold all nodes can lie along one axis; a largest matching of
        such sides saves an axis a pair (Eppstein).
        """
        sides = np.hstack([self.nodes, 1 - self.nodes]).astype(bool)  # (m, 2b)
        overlap = sides.T.astype(np.int64) @ sides > 0
        cover = (~sides).T.astype(np.int64) @ ~sides == 0
        networkx = require("networkx", "graph")
        graph = networkx.Graph(np.argwhere(np.triu(overlap & cover, 1)).tolist())
        return int(self.nodes.shape[1]) - len(networkx.max_weight_matching(graph, maxcardinality=True))

    def plot(self, ax: Axes | None = None, **settings: Any) -> Axes:
        """Draw it: see :func:`pellucid.plots.analogram`."""
        from pellucid.plots import analogram

        return analogram(self, ax, **settings)


@dataclass(frozen=True)
class AnalogramView:
    """What can be drawn of a model: the analogram of some items, by the strongest of the concepts that tell them apart.

    graph : the analogram
    weights : (b,) of its concepts, strongest first
    counts : (b,) how many concepts of the model split the items as each of them does
    share : of the weight of all concepts that tell the items apart, the part that is in the graph
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
    model : fitted ``BinaryAutoencoder`` or ``IterativeAssignment``
    items : positions of items of the fit, at least two; all if None
    names : of these items; their positions if None
    max_concepts : take no more than that many
    max_nodes : take no more concepts than give a graph of this size
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


def check_columns(S: Bits) -> None:
    if not S.shape[1]:
        raise ValueError("There is no concept, so there is no graph to make.")
    oriented = S ^ S[:1]
    seen: dict[bytes, int] = {}
    for j, column in enumerate(oriented.T):
        if not column.any():
            raise ValueError(f"Concept {j} is the same for all items; leave it out.")
        first = seen.setdefault(column.tobytes(), j)
        if first != j:
            raise ValueError(f"Concept {j} splits the items as concept {first} does; leave one of them out.")


def majority_closure(S: Bits) -> Bits:
    """All rows in which every pair of columns has values that some row of S has.

    Rows that agree with S on all pairs of the first columns always go on to whole rows (majority has Helly's
    property), so growing them column by column meets no dead end, and the number never falls.
    """
    rows = np.unique(S[:, :1], axis=0)
    for k in range(1, S.shape[1]):
        grown = []
        for value in (0, 1):
            with_value = S[S[:, k] == value, :k]
            may_be = np.stack([(with_value == 0).any(axis=0), (with_value == 1).any(axis=0)])
            fits = may_be[rows, np.arange(k)].all(axis=1)
            grown.append(np.column_stack([rows[fits], np.full(int(fits.sum()), value, dtype=np.uint8)]))
        rows = np.vstack(grown)
        if len(rows) > MOST_NODES:
            raise ValueError(f"The graph of these concepts has more than {MOST_NODES} nodes; {SMALLER}.")
    return np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])


def neighbours(nodes: Bits) -> list[dict[int, int]]:
    """For every node, concept → the node that differs in it alone."""
    place = {row.tobytes(): i for i, row in enumerate(nodes)}
    links: list[dict[int, int]] = [{} for _ in nodes]
    flipped = nodes.copy()
    for a in range(nodes.shape[1]):
        flipped[:, a] ^= 1
        for v, row in enumerate(flipped):
            u = place.get(row.tobytes())
            if u is not None:
                links[v][a] = u
        flipped[:, a] ^= 1
    return links


def needed(nodes: Bits, items: Ints) -> NDArray[np.bool_]:
    """Which nodes stay when hidden ones are removed as long as all distances among the others stay."""
    links = neighbours(nodes)
    kept = np.ones(len(nodes), dtype=bool)
    hidden = np.setdiff1d(np.arange(len(nodes)), items)
    far = np.array([np.count_nonzero(nodes[items] != nodes[v], axis=1).sum() for v in hidden], dtype=np.int64)
    order = hidden[np.argsort(-far, kind="stable")]
    changed = True
    while changed:
        changed = False
        for v in order[kept[order]]:
            if removable(links, int(v)):
                kept[v], changed = False, True
                for a, u in links[v].items():
                    del links[u][a]
    return kept


def removable(links: list[dict[int, int]], v: int) -> bool:
    """Whether every path x - v - y has a way around v: x and y differ in two concepts, so there is one other."""
    found = list(links[v].items())
    # from x = v without a, on by b: that is v without both, the one other node between x and y
    return all(b in links[x] for i, (_, x) in enumerate(found) for b, _ in found[i + 1 :])


def path_lengths(edges: Ints, n_nodes: int) -> NDArray[np.int64]:
    """Lengths of the shortest paths between all nodes; -1 where there is none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    ends = edges.astype(np.int32)  # what SciPy 1.12 takes
    graph = csr_array((np.ones(len(edges)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    lengths: Floats = shortest_path(graph, directed=False, unweighted=True)
    return np.where(np.isfinite(lengths), lengths, -1).astype(np.int64)


def partial_cube_concepts(graph: Any, n_nodes: int | None = None) -> Bits:
    """Concepts (n, b) of a partial cube's nodes, the first of which has none (Djoković and Winkler; paper 2, A.1).

    An edge splits the nodes into those nearer to either end; the edges across are of the same concept.

    Parameters
    ----------
    graph : (e, 2) numbers of the nodes that each edge joins; or an :class:`Analogram`; or a ``networkx.Graph``, whose
        nodes are taken in its order
    n_nodes : how many nodes there are; one more than the largest number if None
    """
    pairs, n_nodes = edges_of(graph, n_nodes)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs) or pairs.dtype.kind not in "iu" or pairs.min() < 0:
        raise ValueError(f"edges must be (e, 2) numbers of nodes, counted from 0, but its shape is {pairs.shape}.")
    count = int(pairs.max()) + 1 if n_nodes is None else n_nodes
    if pairs.max() >= count:
        raise ValueError(f"There is an edge to node {pairs.max()}, but there are {count} nodes, counted from 0.")
    lengths = path_lengths(pairs.astype(np.int64), count)
    if (lengths < 0).any():
        raise ValueError("The graph has parts that no edge connects, so it is no partial cube.")
    columns = []
    left = pairs
    while len(left):
        x, y = left[0]
        side = lengths[y] < lengths[x]
        columns.append(side ^ side[0])
        left = left[side[left[:, 0]] == side[left[:, 1]]]
        if len(left) and (left[0] == (x, y)).all():
            raise ValueError(f"Node {x} has an edge to itself, so the graph is no partial cube.")
    concepts = np.stack(columns, axis=1).astype(np.uint8)
    for v, row in enumerate(concepts):
        if not np.array_equal(np.count_nonzero(concepts != row, axis=1), lengths[v]):
            raise ValueError("The graph is no partial cube: its distances do not count differences.")
    return concepts


def edges_of(graph: Any, n_nodes: int | None) -> tuple[NDArray[Any], int | None]:
    """Pairs of nodes, and how many nodes there are if the graph knows."""
    if isinstance(graph, Analogram):
        return graph.edges[:, :2], len(graph.nodes)
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        place = {node: i for i, node in enumerate(graph.nodes)}
        return np.array([(place[u], place[v]) for u, v in graph.edges], dtype=np.int64).reshape(-1, 2), len(place)
    return np.asarray(graph), n_nodes
