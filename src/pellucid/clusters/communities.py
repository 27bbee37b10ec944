"""A partition to start from: communities of the graph of nearest neighbours, by modularity.

k-means looks for balls, and dictionaries started from its clusters stay in them. Neighbours, however, mostly belong
together, and of all criteria tried modularity alone prefers the true partition (see the page on decisions).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from pellucid._core.kernels import move_nodes

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]

NEIGHBOURS = 20
# the neighbour whose distance is a row's own scale, and how fast weights fall with distance
SCALE_NEIGHBOUR = 7
FALL = 3.0
RESOLUTIONS = (1.0, 2.0)
# node orders that one start tries at each resolution
ORDERS = 3
# more neighbours that are looked at, of which those count that are as near as the last one; and what "as near" means
TIES, SAME_DISTANCE = 10, 1e-7
# unit of weights
QUANTUM = 2.0**-20
# a pass of moves that changes fewer nodes than this share is the last
SETTLED = 1e-3
MAX_PASSES = 50


def neighbour_graph(X: NDArray[Any]) -> sparse.csr_matrix:
    """Symmetric weights w = exp(−3 d²/(σ_iσ_j)) between rows and their nearest, σ_i the distance to the 7th."""
    return scaled_graph(X)[0]


def scaled_graph(X: NDArray[Any]) -> tuple[sparse.csr_matrix, Floats]:
    """That graph, and the scale σ (n,) of each row."""
    n = len(X)
    if n < 2:
        return as_graph(sparse.csr_matrix((n, n))), np.zeros(n)
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS + TIES, n - 1), algorithm="brute").fit(X)
    distances, near = search.kneighbors()
    distances = distances.astype(np.float64)
    scale = own_scale(distances)
    weights = np.where(among_nearest(distances), falling(distances, scale, scale[near]), 0.0)
    rows = np.repeat(np.arange(n), near.shape[1])
    graph = sparse.csr_matrix((weights.ravel(), (rows, near.ravel())), shape=(n, n))
    graph.eliminate_zeros()
    return as_graph(graph + graph.T), scale


def among_nearest(distances: Floats) -> NDArray[np.bool_]:
    """Which of the nearest (n, k), in order, are as near as the 20th, up to round-off."""
    last = distances[:, min(NEIGHBOURS, distances.shape[1]) - 1]
    return np.asarray(distances <= (1 + SAME_DISTANCE) * last[:, None])


def own_scale(distances: Floats) -> Floats:
    """The scale (n,) of rows by the distances (n, k) of their nearest: that of the 7th."""
    return np.asarray(distances[:, min(SCALE_NEIGHBOUR, distances.shape[1]) - 1])


def falling(distances: Floats, scale: Floats, scale_there: Floats) -> Floats:
    """Weights (n, k) by distance: exp(−3 d²/(σ_iσ_j))."""
    product = scale[:, None] * scale_there
    # rows that coincide have no scale; they are as near as can be
    ratio = np.divide(distances**2, product, out=np.where(distances > 0, np.inf, 0.0), where=product > 0)
    # in units so coarse that round-off in the distances does not change them, and their sums are exact
    return np.asarray(np.round(np.exp(-FALL * ratio) / QUANTUM) * QUANTUM)


def as_graph(matrix: Any) -> sparse.csr_matrix:
    graph = sparse.csr_matrix(matrix, dtype=np.float64)
    graph.sort_indices()
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return graph


def modularity(graph: sparse.csr_matrix, labels: Labels, resolution: float = 1.0) -> float:
    """Share of the weight inside communities, minus what chance would put there."""
    total = graph.sum()
    if total == 0:
        return 0.0
    between = aggregate(graph, labels)
    degrees = np.asarray(between.sum(axis=1)).ravel() / total
    return float(between.diagonal().sum() / total - resolution * (degrees @ degrees))


def aggregate(graph: sparse.csr_matrix, labels: Labels) -> sparse.csr_matrix:
    """Weights between communities; the diagonal counts each inner edge twice."""
    n = len(labels)
    member = sparse.csr_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(n, int(labels.max()) + 1))
    return as_graph(member.T @ graph @ member)


def move_until_stable(
    graph: sparse.csr_matrix, labels: Labels, resolution: float, rng: np.random.RandomState, least: int = 1
) -> Labels:
    """Move single nodes until hardly any moves; labels come back as 0, 1, 2, …"""
    labels, total = labels.astype(np.int64), float(graph.sum())
    for _ in range(MAX_PASSES if total > 0 else 0):
        order = rng.permutation(len(labels)).astype(np.int64, copy=False)
        moves = move_nodes(graph.indptr, graph.indices, graph.data, order, labels, resolution, total, least)
        if moves < 0:
            raise ValueError("A label, or an entry of the graph, is not the number of a node.")
        if moves <= SETTLED * len(labels):
            break
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def louvain(graph: sparse.csr_matrix, resolution: float, rng: np.random.RandomState) -> Labels:
    """Communities of large modularity: single nodes move, communities become nodes, and so on until nothing moves."""
    labels = np.arange(graph.shape[0])
    level = graph
    while True:
        found = move_until_stable(level, np.arange(level.shape[0]), resolution, rng)
        labels = found[labels]
        if found.max() + 1 == level.shape[0]:
            return labels
        level = aggregate(level, found)


def merge(graph: sparse.csr_matrix, labels: Labels, n_clusters: int, by_ratio: bool = False) -> Labels:
    """Join two communities until so many are left: those whose union has the largest modularity, or ``by_ratio`` those
    with the most weight between them for what chance would put there, which keeps far ones apart however small."""
    total = float(graph.sum()) or 1.0
    E = aggregate(graph, labels).toarray() / total
    name = np.arange(len(E))
    alive = list(range(len(E)))
    while len(alive) > n_clusters:
        volume = E[alive].sum(axis=1)
        between, chance = E[np.ix_(alive, alive)], np.outer(volume, volume)
        gain = between / np.maximum(chance, 1e-300) if by_ratio else between - chance
        np.fill_diagonal(gain, -np.inf)
        i, j = sorted(np.unravel_index(int(gain.argmax()), gain.shape))
        keep, drop = alive[i], alive.pop(j)
        E[keep] += E[drop]
        E[:, keep] += E[:, drop]
        E[drop], E[:, drop] = 0.0, 0.0
        name[name == drop] = keep
    return np.unique(name[labels], return_inverse=True)[1].astype(np.int64)


def partition(
    graph: sparse.csr_matrix, n_clusters: int, n_starts: int, rng: np.random.RandomState
) -> tuple[Labels, Floats]:
    """The partition into ``n_clusters`` of largest modularity that so many starts find, each with a few node orders at
    each resolution and both ways of merging, and the modularity of all that were found."""
    found = [fine_enough(graph, n_clusters, gamma, rng) for gamma in RESOLUTIONS for _ in range(ORDERS * n_starts)]
    best, values = found[0], []
    for by_ratio in (False, True):
        for communities in found:
            merged = merge(graph, communities, n_clusters, by_ratio)
            labels = move_until_stable(graph, merged, 1.0, rng, least=n_clusters)
            values.append(modularity(graph, labels))
            if values[-1] >= max(values):
                best = labels
    return best, np.array(values)


def fine_enough(graph: sparse.csr_matrix, n_clusters: int, resolution: float, rng: np.random.RandomState) -> Labels:
    """At least so many communities, at a finer resolution if need be; at the latest every node is alone."""
    labels = louvain(graph, resolution, rng)
    while labels.max() + 1 < n_clusters:
        resolution *= 2.0
        labels = louvain(graph, resolution, rng) if resolution < 1e6 else np.arange(len(labels))
    return labels
