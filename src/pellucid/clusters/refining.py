"""A partition and its ellipsoids in turn, until nothing changes; and which of several starts to believe.

E = Σ_i cost(x_i, c_i) + (ν/D) Σ_c [tr(Σ_c⁻¹W) + log|Σ_c|] + γ Σ_{i<j} h_ij [c_i ≠ c_j]: with the clusters given, means
and covariances of least E are known in closed form; with these given, rows move one after the other, each where E is
least. So E never rises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import settle_nodes
from pellucid.clusters.ellipsoids import Ellipsoids, best_ellipsoids, means_of, moments_of, pooled
from pellucid.clusters.learning import SETTLED
from pellucid.clusters.neighbours import cut, leaks
from pellucid.clusters.starts import kmeans_labels, random_labels

# γ in units of the median margin, in cost, between a row's cluster and the next best
PULL = 2.0
# if more rows than this share leave their community, the graph does not know the clusters
DISOWNED = 0.25
# a community leaks if more than this share of its weight goes out of it
LEAKY = 0.15
# what another partition may cut of the weight that the communities cut
LESS_CUT = 0.5
# random starts that are tried then
RANDOM_STARTS = 20
FOLDS = 5


@dataclass(frozen=True)
class Rows:
    """Distinct rows as places (m, D), their weights (m,), and the balanced graph of their neighbours."""

    Z: Floats
    weights: Floats
    graph: sparse.csr_matrix


@dataclass(frozen=True)
class Refined:
    """A partition (m,) that is at rest, its ellipsoids, E at the start and after each sweep, the pull γ, and whether it
    came to rest within the sweeps it had."""

    labels: Ints
    ellipsoids: Ellipsoids
    objective: list[float]
    pull: float
    settled: bool


def refine(
    rows: Rows, start: Ints, C: int, pull: float | None, max_iter: int, tol: float, common: Floats | None = None
) -> Refined:
    """Sweeps from a partition; without a ``pull`` the margins at the start say what it is, and without a ``common``
    covariance the start does."""
    labels = start.astype(np.int64)
    means = means_of(rows.Z, rows.weights, labels, C)
    W = pooled(rows.Z, rows.weights, labels, C) if common is None else common
    fit = fitted(rows, labels, means, W)
    costs = fit.costs(rows.Z)
    if pull is None:
        pull = PULL * margin(costs, labels)
    objective, settled = [energy(rows, fit, costs, labels, pull)], False
    for _ in range(max_iter):
        moves = settle_nodes(
            rows.graph.indptr, rows.graph.indices, rows.graph.data, rows.weights[:, None] * costs, labels, pull
        )
        if moves < 0:
            raise ValueError("A label, or an entry of the graph, is not the number of a row.")
        if moves:
            fit = fitted(rows, labels, fit.means, W)
            costs = fit.costs(rows.Z)
        objective.append(energy(rows, fit, costs, labels, pull))
        fell = (objective[-2] - objective[-1]) / max(abs(objective[-2]), 1e-300)
        settled = moves == 0 or (tol > 0 and (moves < SETTLED * len(labels) or fell <= tol))
        if settled:
            break
    return Refined(labels, fit, objective, pull, settled)


def fitted(rows: Rows, labels: Ints, about: Floats, W: Floats) -> Ellipsoids:
    return best_ellipsoids(moments_of(rows.Z, rows.weights, labels, about), about, W)


def energy(rows: Rows, fit: Ellipsoids, costs: Floats, labels: Ints, pull: float) -> float:
    """E."""
    own = float(rows.weights @ costs[np.arange(len(labels)), labels])
    return own + fit.prior_cost() + pull * cut(rows.graph, labels)


def margin(costs: Floats, labels: Ints) -> float:
    """The median difference, in cost, between a row's cluster and the best of the others."""
    if costs.shape[1] < 2:
        return 0.0
    here = np.arange(len(labels)), labels
    others = costs.copy()
    others[here] = np.inf
    return float(np.median(np.abs(others.min(axis=1) - costs[here])))


def unseen_costs(rows: Rows, found: Refined) -> Floats:
    """What rows cost in each cluster (m, C) by ellipsoids that the other folds make; a cluster without rows there is
    out of the question."""
    C = len(found.ellipsoids.means)
    out = np.empty((len(rows.Z), C))
    fold = np.arange(len(rows.Z)) % FOLDS
    for k in np.unique(fold):
        seen = fold != k
        weights, labels = rows.weights[seen], found.labels[seen]
        about = means_of(rows.Z[seen], weights, labels, C)
        fit = best_ellipsoids(moments_of(rows.Z[seen], weights, labels, about), about, found.ellipsoids.common)
        out[~seen] = fit.costs(rows.Z[~seen])
        out[np.ix_(~seen, np.bincount(labels, minlength=C) == 0)] = np.inf
    return out


def shares_of(rows: Rows, found: Refined) -> Floats:
    """Shares (C,) of the rows that clusters have."""
    counts = np.bincount(found.labels, rows.weights, len(found.ellipsoids.means)) + 1
    return np.asarray(counts / counts.sum())


def unseen_cost(rows: Rows, found: Refined) -> float:
    """What a row costs that the ellipsoids were not made from, with the code length of its label, on average."""
    coded = unseen_costs(rows, found) - 2 * np.log(shares_of(rows, found)) / max(1, rows.Z.shape[1])
    return float(rows.weights @ coded.min(axis=1)) / float(rows.weights.sum())


def believed(
    rows: Rows, start: Ints, C: int, n_init: int, max_iter: int, tol: float, rng: np.random.RandomState
) -> Refined:
    """The refined start, unless the rows speak for another partition.

    Where over a quarter of the rows leave their community, or communities leak as a whole, the graph knows nothing:
    then the least cost of unseen rows decides, with what the start and random ones come to without the graph.
    Elsewhere, if one community leaks, a refined k-means takes the place of the start if the cost of unseen rows prefers
    it and it cuts less than half of the weight: then the graph, too, speaks for it, and only the search for communities
    went astray.
    """
    first = refine(rows, start, C, None, max_iter, tol)
    if C == 1 or len(rows.Z) <= C:
        return first
    leaves = leaks(rows.graph, start, C)
    if float(np.mean(first.labels != start)) > DISOWNED or leaves.mean() > LEAKY:
        return without_graph(rows, first, C, max_iter, tol, rng)
    if leaves.max() <= LEAKY:
        return first
    best, cost, most = first, unseen_cost(rows, first), LESS_CUT * cut(rows.graph, first.labels)
    for _ in range(n_init):
        rival = refine(rows, kmeans_labels(rows.Z, C, rng, rows.weights), C, first.pull, max_iter, tol)
        spent = unseen_cost(rows, rival)
        if spent < cost and cut(rows.graph, rival.labels) < most:
            best, cost = rival, spent
    return best


def without_graph(rows: Rows, best: Refined, C: int, max_iter: int, tol: float, rng: np.random.RandomState) -> Refined:
    """Of a partition, what it comes to without the graph and what random ones come to, that of least unseen cost."""
    found = [best, refine(rows, best.labels, C, 0.0, max_iter, tol)]
    found += [random_start(rows, C, max_iter, tol, rng) for _ in range(RANDOM_STARTS)]
    return min(found, key=lambda one: unseen_cost(rows, one))


def random_start(rows: Rows, C: int, max_iter: int, tol: float, rng: np.random.RandomState) -> Refined:
    """A random partition at rest: at first drawn towards what all rows have in common, then towards its clusters."""
    first = refine(rows, random_labels(len(rows.Z), C, rng), C, 0.0, max_iter, tol)
    return refine(rows, first.labels, C, 0.0, max_iter, tol)


def renamed(found: Refined, weights: Floats) -> Refined:
    """Clusters by size, the largest first; of equal ones that of the earlier row."""
    first = np.array([np.flatnonzero(found.labels == c)[:1].sum() for c in range(len(found.ellipsoids.means))])
    counts = np.bincount(found.labels, weights, len(first))
    order = np.lexsort((first, -counts))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    old = found.ellipsoids
    ellipsoids = Ellipsoids(old.means[order], old.covariances[order], old.common)
    return replace(found, labels=place[found.labels], ellipsoids=ellipsoids)
