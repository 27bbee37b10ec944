"""How many clusters there are: a range, what speaks for each number, and whether there is any structure at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from pellucid._core.threads import one_blas_thread
from pellucid.clusters.coding import Labels
from pellucid.clusters.communities import (
    RESOLUTIONS,
    fine_enough,
    louvain,
    merge,
    modularity,
    move_until_stable,
    neighbour_graph,
)
from pellucid.clusters.directions import CLUSTER_DIRECTIONS, distinct, find_directions
from pellucid.clusters.neighbours import balanced
from pellucid.clusters.refining import Rows, refine, unseen_cost

# rows that are looked at, at most, and the share of them that one run sees
LOOKED_AT, SHARE = 3_000, 0.8
# two runs on rows without structure agree less than this at every number (by adjusted Rand index)
STRUCTURE = 0.75
# the fewest clusters that save this share of what any number saves of the cost of unseen rows
SAVED = 0.8
# the fewest clusters with this share of the largest modularity
TOGETHER = 0.99
# numbers that are tried: so many at least, and so many for each community that is found without being asked for any
LEAST_TRIED, TRIED = 12, 1.5


@dataclass(frozen=True)
class ClusterCounts:
    """What speaks for each number of clusters.

    :meth:`CommonalityClustering.select_n_clusters` returns it. ``str`` says it in a sentence.

    Attributes
    ----------
    n_clusters : list of int
        The numbers tried.
    stability : list of float
        Mean adjusted Rand index of two runs, each on its own 80 % of the rows; 1 means the same clusters, 0 what chance
        gives.
    spread : list of float
        Its standard deviation over pairs of runs.
    modularity : list of float
        How much more neighbours are together than chance would have it.
    cost : list of float
        Mean cost of a row that the clusters' shapes were not learned from.
    low, high : int
        The range: from the fewest clusters that save 80 % of what any number saves of the cost, to the fewest with 99 %
        of the largest modularity.
    best : int
        The most stable number of the range.
    structured : bool
        Whether runs agree at any number more than they do on rows without clusters (0.75). If not, the range is what
        clusters would say if there were any.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from pellucid import CommonalityClustering
    >>> print(CommonalityClustering(random_state=0).select_n_clusters(load_wine().data, sizes=range(2, 8)))
    3 to 6 clusters; the most stable number is 3 (two runs agree by 0.89).
    """

    n_clusters: list[int]
    stability: list[float]
    spread: list[float]
    modularity: list[float]
    cost: list[float]
    low: int
    high: int
    best: int
    structured: bool

    def __str__(self) -> str:
        agree = self.stability[self.n_clusters.index(self.best)]
        if not self.structured:
            return (
                f"No clear structure: at no number do two runs agree by more than {max(self.stability):.2f}, which "
                "rows without clusters reach, too."
            )
        several = f"{self.low} to {self.high}" if self.high > self.low else str(self.low)
        return f"{several} clusters; the most stable number is {self.best} (two runs agree by {agree:.2f})."

    def plot(self, ax: Any = None) -> Any:
        """The curve of stability over the number of clusters, with the range.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        See Also
        --------
        pellucid.plots.n_clusters_curve : The function that draws.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from pellucid import CommonalityClustering
        >>> counts = CommonalityClustering(random_state=0).select_n_clusters(load_wine().data, sizes=[2, 3, 4])
        >>> ax = counts.plot()
        """
        from pellucid.plots import n_clusters_curve

        return n_clusters_curve(self, ax=ax)


def select_n_clusters(model: Any, X: NDArray[Any], sizes: Iterable[int] | None, n_runs: int) -> ClusterCounts:
    """What speaks for each number, for prepared rows (n, d)."""
    if n_runs < 2:
        raise ValueError(f"n_runs must be at least 2, so that runs can be compared; got {n_runs}.")
    with one_blas_thread():
        return counted(model, X, sizes, n_runs)


def counted(model: Any, X: NDArray[Any], sizes: Iterable[int] | None, n_runs: int) -> ClusterCounts:
    rng = check_random_state(model.random_state)
    rows = X[np.sort(rng.permutation(len(X))[:LOOKED_AT])]
    known = distinct(rows)
    directions = find_directions(rows[known.first], known.weights, model.scale if model.reading != "paper" else False)
    Z = directions.into(rows[known.first])
    graph = neighbour_graph(Z)
    tried = numbers_to_try(sizes, graph, rng)
    runs = [np.sort(rng.permutation(len(Z))[: round(SHARE * len(Z))]) for _ in range(n_runs)]
    partitions = [partitions_into(tried, neighbour_graph(Z[run]), rng) for run in runs]
    stability, spread = zip(*(agreement(runs, [found[i] for found in partitions]) for i in range(len(tried))))
    whole = partitions_into(tried, graph, rng)
    together = [modularity(graph, labels) for labels in whole]
    data = Rows(np.ascontiguousarray(Z[:, :CLUSTER_DIRECTIONS]), known.weights, balanced(graph))
    alone, *cost = (cost_of(data, labels, model) for labels in [np.zeros(len(Z), dtype=np.int64), *whole])
    low, high = range_of(tried, together, cost, alone)
    best = max((k for k in tried if low <= k <= high), key=lambda k: (stability[tried.index(k)], -k))
    return ClusterCounts(
        tried, list(stability), list(spread), together, cost, low, high, best, max(stability) >= STRUCTURE
    )


def numbers_to_try(sizes: Iterable[int] | None, graph: sparse.csr_matrix, rng: np.random.RandomState) -> list[int]:
    """The numbers that are asked for, or all up to what the communities of the rows suggest."""
    most = max(2, round(SHARE * graph.shape[0]) // 2)
    if sizes is None:
        found = int(louvain(graph, 1.0, rng).max()) + 1
        return list(range(2, min(most, max(LEAST_TRIED, round(TRIED * found))) + 1))
    tried = sorted({int(size) for size in sizes})
    if not tried or tried[0] < 2:
        raise ValueError("Name numbers of clusters to try, each at least 2: one cluster always agrees with itself.")
    if tried[-1] > most:
        raise ValueError(f"{tried[-1]} clusters are too many for {graph.shape[0]} different rows: at most {most}.")
    return tried


def partitions_into(sizes: list[int], graph: sparse.csr_matrix, rng: np.random.RandomState) -> list[Labels]:
    """For each number the partition of largest modularity of a few, which share their communities."""
    fine = [fine_enough(graph, sizes[-1], resolution, rng) for resolution in RESOLUTIONS for _ in range(2)]
    found = []
    for size in sizes:
        merged = [move_until_stable(graph, merge(graph, labels, size), 1.0, rng, least=size) for labels in fine]
        found.append(max(merged, key=lambda labels: modularity(graph, labels)))
    return found


def agreement(runs: list[Labels], labels: list[Labels]) -> tuple[float, float]:
    """Mean adjusted Rand index of pairs of runs on the rows that both saw, and its deviation."""
    pairs = []
    for a, b in combinations(range(len(runs)), 2):
        _, in_a, in_b = np.intersect1d(runs[a], runs[b], assume_unique=True, return_indices=True)
        pairs.append(adjusted_rand_score(labels[a][in_a], labels[b][in_b]))
    return float(np.mean(pairs)), float(np.std(pairs))


def cost_of(rows: Rows, labels: Labels, model: Any) -> float:
    C = int(labels.max()) + 1
    return unseen_cost(rows, refine(rows, labels, C, None, model.max_iter, float(model.tol)))


def range_of(tried: list[int], together: list[float], cost: list[float], alone: float) -> tuple[int, int]:
    """The fewest clusters that save most of the cost, and the fewest with most of the modularity."""
    saved = alone - np.array(cost)
    low = tried[int(np.argmax(saved >= SAVED * saved.max()))] if saved.max() > 0 else tried[0]
    high = tried[int(np.argmax(np.array(together) >= TOGETHER * max(together)))]
    return min(low, high), max(low, high)
