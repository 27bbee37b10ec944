"""How many clusters there are: the number for which other rows of the same kind would give the same clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from pellucid.clusters.coding import Labels
from pellucid.clusters.communities import neighbour_graph

# share of the rows that one run learns from, and rows on which runs are compared at most
SHARE, COMPARED = 0.8, 20_000


@dataclass(frozen=True)
class ClusterCounts:
    """How well runs on different rows agree, for each number of clusters.

    :meth:`CommonalityClustering.select_n_clusters` returns it. A stability of 1 means the same clusters, 0 what chance
    gives.

    Attributes
    ----------
    n_clusters : list of int
        The numbers tried.
    stability : list of float
        Mean adjusted Rand index of two runs, each learned from its own 80 % of the rows and both asked of all.
    spread : list of float
        Its standard deviation over pairs of runs.
    cost : list of float
        Mean cost of a row that the run had not seen.
    best : int
        The smallest number that is as stable as the most stable one, up to the standard error of that one.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import CommonalityClustering
    >>> X = np.eye(4)[np.arange(60) % 3]
    >>> X[:, 3] = 0.5 * np.random.default_rng(0).standard_normal(60)
    >>> model = CommonalityClustering(n_atoms=1, n_common=1, n_init=1, random_state=0)
    >>> counts = model.select_n_clusters(X, sizes=[2, 3], n_runs=2)
    >>> counts.n_clusters, counts.best
    ([2, 3], 3)
    """

    n_clusters: list[int]
    stability: list[float]
    spread: list[float]
    cost: list[float]
    best: int

    def plot(self, ax: Any = None) -> Any:
        """The curve of stability over the number of clusters.

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
        >>> from pellucid.clusters import ClusterCounts
        >>> counts = ClusterCounts([2, 3], stability=[0.4, 1.0], spread=[0.1, 0.0], cost=[0.2, 0.1], best=3)
        >>> ax = counts.plot()
        """
        from pellucid.plots import n_clusters_curve

        return n_clusters_curve(self, ax=ax)


def select_n_clusters(
    estimator: Any, X: NDArray[Any], sizes: Iterable[int], n_runs: int, n_jobs: int | None
) -> ClusterCounts:
    """Fit a clone of the estimator with each number of clusters to ``n_runs`` subsamples."""
    tried = sorted({int(size) for size in sizes})
    if not tried or tried[0] < 2:
        raise ValueError("Name numbers of clusters to try, each at least 2: one cluster always agrees with itself.")
    if n_runs < 2:
        raise ValueError(f"n_runs must be at least 2, so that runs can be compared; got {n_runs}.")
    rng = check_random_state(estimator.random_state)
    compared = np.sort(rng.permutation(len(X))[:COMPARED])
    part = max(tried[-1], round(SHARE * len(compared)))
    seeds = rng.randint(2**31 - 1, size=n_runs)
    runs = Parallel(n_jobs=n_jobs)(delayed(_one_run)(estimator, X[compared], tried, part, int(seed)) for seed in seeds)
    stability, spread = [], []
    for i in range(len(tried)):
        pairs = [adjusted_rand_score(a[0][i], b[0][i]) for a, b in combinations(runs, 2)]
        stability.append(float(np.mean(pairs)))
        spread.append(float(np.std(pairs)))
    most = int(np.argmax(stability))
    least = stability[most] - spread[most] / np.sqrt(n_runs)
    best = next(size for size, value in zip(tried, stability) if value >= least)
    cost = np.mean([run[1] for run in runs], axis=0)
    return ClusterCounts(tried, stability, spread, [float(c) for c in cost], best)


def _one_run(
    estimator: Any, X: NDArray[Any], sizes: list[int], part: int, seed: int
) -> tuple[list[Labels], list[float]]:
    """Labels of all rows, and the cost of those left out, by fits to one subsample, whose graph serves for all."""
    rows = np.sort(np.random.RandomState(seed).permutation(len(X))[:part])
    unseen = np.setdiff1d(np.arange(len(X)), rows)
    before = estimator._preparation()
    seen = X[rows] if before is None else before.fit(X[rows]).apply(X[rows])
    graph = neighbour_graph(seen) if estimator.init == "auto" else None
    labels, costs = [], []
    for size in sizes:
        model = clone(estimator).set_params(n_clusters=size, random_state=seed, verbose=0, warm_start=False)
        model._fit(X[rows], graph)
        labels.append(model.predict(X))
        costs.append(-model.score(X[unseen]) / len(unseen) if len(unseen) else np.nan)
    return labels, costs
