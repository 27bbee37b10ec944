"""Clusters as a mean and a covariance: paper 3's model with an offset for each cluster and a ridge on all codes.

A row is x = m_c + aD_c + bD₀, and codes cost ‖a‖² + ‖b‖². The cheapest codes of x cost (x − m_c)ᵀΣ_c⁻¹(x − m_c) with
Σ_c = D_cᵀD_c + D₀ᵀD₀, so the atoms are a covariance, and log|Σ_c| is what makes costs of different clusters comparable:
together they are a likelihood, which any scale of the rows leaves as it is. Rows here are places, see ``directions``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve_triangular

from pellucid._core.arrays import Floats, Ints
from pellucid.clusters.directions import signed

# a covariance counts as singular where its smallest variance is below this share of the mean one
SINGULAR = 1e-9


@dataclass(frozen=True)
class Ellipsoids:
    """Means (C, D) and covariances (C, D, D) of clusters, and W (D, D), which all are drawn towards."""

    means: Floats
    covariances: Floats
    common: Floats

    @property
    def prior(self) -> float:
        """ν: how many rows the common covariance counts for in each cluster."""
        return float(self.common.shape[0])

    def costs(self, Z: Floats) -> Floats:
        """What rows (n, D) cost in each cluster (n, C): [(z − m_c)ᵀΣ_c⁻¹(z − m_c) + log|Σ_c|] / D."""
        D = max(1, Z.shape[1])
        out = np.empty((len(Z), len(self.means)))
        for c, (mean, covariance) in enumerate(zip(self.means, self.covariances)):
            root = np.linalg.cholesky(covariance)
            whitened = solve_triangular(root, (Z - mean).T, lower=True, check_finite=False)
            out[:, c] = (np.einsum("ij,ij->j", whitened, whitened) + 2 * np.log(np.diag(root)).sum()) / D
        return out

    def prior_cost(self) -> float:
        """What the covariances themselves cost: (ν/D) Σ_c [tr(Σ_c⁻¹W) + log|Σ_c|]."""
        D, total = max(1, len(self.common)), 0.0
        for covariance in self.covariances:
            root = np.linalg.cholesky(covariance)
            half = solve_triangular(root, self.common, lower=True)
            total += float(np.trace(solve_triangular(root, half.T, lower=True))) + 2 * float(
                np.log(np.diag(root)).sum()
            )
        return self.prior / D * total


@dataclass
class Moments:
    """Counts (C,), sums (C, D) and second moments (C, D, D) of rows about a place for each cluster; they add up."""

    counts: Floats
    firsts: Floats
    seconds: Floats

    @staticmethod
    def zero(C: int, D: int) -> Moments:
        return Moments(np.zeros(C), np.zeros((C, D)), np.zeros((C, D, D)))

    def add(self, other: Moments, factor: float = 1.0) -> None:
        self.counts += factor * other.counts
        self.firsts += factor * other.firsts
        self.seconds += factor * other.seconds

    def about(self, shift: Floats) -> Moments:
        """The same moments about places that lie ``shift`` (C, D) further on."""
        cross = np.einsum("ci,cj->cij", self.firsts, shift)
        seconds = self.seconds - cross - cross.transpose(0, 2, 1)
        seconds += self.counts[:, None, None] * np.einsum("ci,cj->cij", shift, shift)
        return Moments(self.counts.copy(), self.firsts - self.counts[:, None] * shift, seconds)


def moments_of(Z: Floats, weights: Floats | None, labels: Ints, about: Floats) -> Moments:
    """Moments of rows in their clusters about ``about`` (C, D)."""
    found = Moments.zero(*about.shape)
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(len(about) + 1))
    for c in range(len(about)):
        rows = order[bounds[c] : bounds[c + 1]]
        away = Z[rows] - about[c]
        counted = away if weights is None else weights[rows, None] * away
        found.counts[c] = len(rows) if weights is None else weights[rows].sum()
        found.firsts[c] = counted.sum(axis=0)
        found.seconds[c] = away.T @ counted
    return found


def means_of(Z: Floats, weights: Floats, labels: Ints, C: int) -> Floats:
    """Means (C, D) of rows in their clusters; of a cluster without rows that of all."""
    share = weights / weights.sum()
    out = np.tile(share @ Z, (C, 1))
    counts = np.bincount(labels, weights, C)
    for column in range(Z.shape[1]):
        sums = np.bincount(labels, weights * Z[:, column], C)
        np.divide(sums, counts, out=out[:, column], where=counts > 0)
    return out


def scatter(moments: Moments) -> tuple[Floats, Floats]:
    """Where the means lie from the places that moments are about (C, D), and the scatter about the means (C, D, D)."""
    counts = np.where(moments.counts > 0, moments.counts, 1.0)
    away = moments.firsts / counts[:, None]
    return away, moments.seconds - moments.counts[:, None, None] * np.einsum("ci,cj->cij", away, away)


def best_ellipsoids(moments: Moments, about: Floats, common: Floats) -> Ellipsoids:
    """The means and covariances of least objective for clusters of these moments: Σ_c = (S_c + νW)/(n_c + ν)."""
    away, S = scatter(moments)
    prior = float(len(common))
    covariances = (S + prior * common) / (moments.counts + prior)[:, None, None]
    return Ellipsoids(about + away, (covariances + covariances.transpose(0, 2, 1)) / 2, common)


def pooled(Z: Floats, weights: Floats, labels: Ints, C: int) -> Floats:
    """The covariance within clusters, of all together, drawn towards a ball as rows are few (Chen et al., OAS)."""
    moments = moments_of(Z, weights, labels, means_of(Z, weights, labels, C))
    return drawn_to_ball(scatter(moments)[1].sum(axis=0) / max(float(moments.counts.sum()), 1e-300), len(Z))


def drawn_to_ball(covariance: Floats, n: int) -> Floats:
    """(1 − ρ)·covariance + ρ·mean variance·I, with the ρ of oracle approximating shrinkage for n Gaussian rows."""
    D = len(covariance)
    if not D:
        return covariance
    mean = float(np.trace(covariance)) / D
    alpha = float((covariance**2).mean())
    spread = (n + 1) * (alpha - mean**2 / D)
    share = 1.0 if spread <= 0 else min(1.0, (alpha + mean**2) / spread)
    mean = mean or 1.0  # rows of a cluster that are all equal
    return np.asarray((1 - share) * covariance + (share + SINGULAR) * mean * np.eye(D))


def own_covariances(ellipsoids: Ellipsoids) -> Floats:
    """What of each covariance is the cluster's own (C, D, D): along directions in which both Σ_c and W are diagonal,
    what exceeds W. The rest, Σ_c − own, is common: nowhere does it vary more than W."""
    own = np.empty_like(ellipsoids.covariances)
    for c, covariance in enumerate(ellipsoids.covariances):
        values, vectors = eigh(covariance, ellipsoids.common) if len(covariance) else (np.empty(0), covariance)
        back = ellipsoids.common @ vectors  # vectorsᵀ W vectors = I
        own[c] = (back * np.maximum(values - 1.0, 0.0)) @ back.T
    return own


def own_parts(Z: Floats, labels: Ints, ellipsoids: Ellipsoids, own: Floats) -> Floats:
    """The own part (n, D) of rows in their clusters: the cheapest codes are D_cΣ_c⁻¹(z − m_c), so it is own·Σ_c⁻¹."""
    out = np.zeros_like(Z)
    for c in np.unique(labels):
        rows = labels == c
        through = np.linalg.solve(ellipsoids.covariances[c], own[c])  # Σ⁻¹·own
        out[rows] = (Z[rows] - ellipsoids.means[c]) @ through
    return out


def atoms_of(covariance: Floats, least: float) -> tuple[Floats, Floats]:
    """Orthonormal directions (D, D) of a covariance, those of most variance first, and their variances (D,); one below
    ``least`` is round-off, and its direction is zero."""
    values, vectors = np.linalg.eigh(covariance)
    values = np.where(values[::-1] > least, values[::-1], 0.0)
    return signed(np.ascontiguousarray(vectors[:, ::-1].T)) * (values > 0)[:, None], values
