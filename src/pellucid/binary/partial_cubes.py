"""Partial cubes: graphs in which distance counts differences. From binary concepts to the nodes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core import deadline
from pellucid._core.arrays import Floats, Ints
from pellucid.binary.packed_bits import Bits

MOST_NODES = 4096
SMALLER = "take fewer items, or keep only the strongest concepts (max_concepts)"


def partial_cube_concepts(graph: Any, n_nodes: int | None = None) -> Bits:
    """Concepts of the nodes of a partial cube (Djoković and Winkler; paper 2, A.1).

    An edge splits the nodes into those nearer to either end; the edges across are of the same concept.

    Parameters
    ----------
    graph : array-like of int of shape (e, 2), Analogram or networkx.Graph
        Numbers of the nodes that each edge joins, counted from 0; or a graph, whose nodes are taken in its order.
    n_nodes : int or None, default=None
        How many nodes there are; one more than the largest number if None. A graph knows it.

    Returns
    -------
    ndarray of shape (n_nodes, b), dtype uint8
        Concepts of each node; the first node has none.

    Raises
    ------
    ValueError
        If the graph is no partial cube: its distances do not count differences, or it has separate parts.

    See Also
    --------
    Analogram : The way there, from concepts to a graph.

    Examples
    --------
    >>> from pellucid.binary import partial_cube_concepts
    >>> partial_cube_concepts([[0, 1], [1, 2]])
    array([[0, 0],
           [1, 0],
           [1, 1]], dtype=uint8)
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
    nodes = getattr(graph, "nodes", None)
    if nodes is None:
        return np.asarray(graph), n_nodes
    if isinstance(nodes, np.ndarray):  # an Analogram
        return graph.edges[:, :2], len(nodes)
    place = {node: i for i, node in enumerate(nodes)}
    return np.array([(place[u], place[v]) for u, v in graph.edges], dtype=np.int64).reshape(-1, 2), len(place)


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
        deadline.check()
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
        deadline.check()
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
            deadline.check()
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
