"""How sure a clustering is of a row: chances of the clusters, and how usual the row is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from pellucid._core.arrays import Floats
from pellucid.clusters.directions import Directions
from pellucid.clusters.ellipsoids import Ellipsoids
from pellucid.clusters.refining import Refined, Rows, shares_of, unseen_costs

# of the scores of rows that were not learned from
QUANTILES = np.linspace(0, 1, 1001)
# a cluster's chance falls with its cost at least so much
FLATTEST = 1e-3


@dataclass(frozen=True)
class Certainty:
    """What turns costs into chances and scores.

    shares (C,) : of the rows in each cluster
    sharpness : β of the chances softmax(−β·costs)
    rest (2,) : mean and deviation of the logarithm of a row's squared length outside of the clusters' directions
    quantiles (1001,) : of the scores of rows, each by ellipsoids that were made without it
    """

    shares: Floats
    sharpness: float
    rest: Floats
    quantiles: Floats

    def scores(self, costs: Floats, outside: Floats, D: int) -> Floats:
        """The logarithm of the density (n,) of rows, by their costs (n, C) without neighbours and what of them lies
        outside of the directions (n,)."""
        inside = np.zeros(len(costs))
        if D:  # else all rows are one
            inside = logsumexp(np.log(self.shares) - D / 2 * (costs + np.log(2 * np.pi)), axis=1)
        middle, deviation = self.rest
        if deviation == 0:
            return np.asarray(inside)
        away = (log_of(outside) - middle) / deviation
        return np.asarray(inside - away**2 / 2 - np.log(deviation * np.sqrt(2 * np.pi)))


def certainty_of(rows: Rows, found: Refined, directions: Directions, X: NDArray[Any]) -> Certainty:
    """Learned from distinct rows, as places and as they are (m, d), by ellipsoids that were made without each row."""
    D = rows.Z.shape[1]
    costs = unseen_costs(rows, found)
    outside = outside_of(X, directions, rows.Z)
    logs = log_of(outside)
    share = rows.weights / rows.weights.sum()
    middle = float(share @ logs)
    deviation = float(np.sqrt(share @ (logs - middle) ** 2)) if X.shape[1] > D else 0.0
    without = Certainty(
        shares_of(rows, found), sharpness_of(rows, found, costs), np.array([middle, deviation]), np.empty(0)
    )
    scores = without.scores(costs, outside, D)
    return Certainty(without.shares, without.sharpness, without.rest, weighted_quantiles(scores, rows.weights))


def weighted_quantiles(values: Floats, weights: Floats) -> Floats:
    """Values (1001,) below which so much of the weight lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, QUANTILES * below[-1])
    return np.asarray(values[order][np.minimum(places, len(values) - 1)])


def outside_of(X: NDArray[Any], directions: Directions, Z: Floats) -> Floats:
    """Squared lengths (n,) of what rows have outside of the directions that their places Z (n, D) are in."""
    away = directions.standard(X)
    return np.asarray(np.maximum(np.einsum("ij,ij->i", away, away) - np.einsum("ij,ij->i", Z, Z), 0.0))


def log_of(squares: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(squares, 1e-12)))


def sharpness_of(rows: Rows, found: Refined, costs: Floats) -> float:
    """The β for which chances of the rows' clusters, by costs of unseen rows and their neighbours, say most; no larger
    than in a likelihood."""
    C, most = costs.shape[1], max(1, rows.Z.shape[1]) / 2
    if C == 1:
        return float(most)
    where = np.zeros((len(costs), C))
    where[np.arange(len(costs)), found.labels] = 1.0
    total = costs - found.pull * (rows.graph @ where)
    total[~np.isfinite(total)] = np.nanmax(np.where(np.isfinite(total), total, np.nan))

    def loss(log_beta: float) -> float:
        logs = log_softmax(-np.exp(log_beta) * total, axis=1)
        return -float(rows.weights @ logs[np.arange(len(costs)), found.labels])

    found_at = minimize_scalar(loss, bounds=(np.log(FLATTEST), np.log(most)), method="bounded")
    return float(np.exp(found_at.x))


def chances(costs: Floats, sharpness: float) -> Floats:
    """Chances (n, C) of clusters by what rows cost in them, neighbours included."""
    return np.asarray(np.exp(log_softmax(-sharpness * costs, axis=1)))


def usual_scores(ellipsoids: Ellipsoids, certainty: Certainty, directions: Directions, X: NDArray[Any]) -> Floats:
    """Scores (n,) of prepared rows."""
    D = ellipsoids.means.shape[1]
    Z = np.ascontiguousarray(directions.into(X)[:, :D])
    return certainty.scores(ellipsoids.costs(Z), outside_of(X, directions, Z), D)
