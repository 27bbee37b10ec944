"""What tells which rows have a concept whose members were found rather than given: two directions in closed form.

Members are a function of the rows already, so a regression has nothing to learn beyond the way from the others to them.
Along that way, m, lies also what goes along with the concept: it tells of rows that hold too little of it to show. With
the covariance of the rows taken out the way is sharp, s, and tells rows that clearly have it apart. A row's score is
m + max(0, s − 1), both in standard deviations. One inverse serves all concepts. All rows here are prepared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pellucid._core.arrays import Floats, Ints, unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.crosswise import BINS, FOLDS, bins_of, calibrated, drawn_folds
from pellucid.concepts.labels import Indicator
from pellucid.concepts.logistic import logits
from pellucid.concepts.presence import BLOCK_ROWS, COSINE_ROWS, WEIGHT, Presence, best_thresholds, cosine_spread

# a row has the concepts whose coefficient is at least this share of its largest
SHARE = 0.3
# what the covariance of rows is shrunk by for the sharp way, in units of the mean variance of a column
SHRINKAGE = 1.0
# standard deviations from which on the sharp way counts
STANDS_OUT = 1.0


@dataclass(frozen=True)
class FoundPresence(Presence):
    """Presence of concepts that were found: ``coef`` and ``intercept`` are the way to the members.

    Parameters
    ----------
    coef, intercept, calibration, threshold, counts, weight : ndarray
        As in :class:`pellucid.concepts.presence.Presence`.
    sharp : ndarray of shape (S, d)
        The way to the members with the covariance of the rows taken out.
    sharp_intercept : ndarray of shape (S,)
        What is added to its products.
    """

    sharp: NDArray[Any]
    sharp_intercept: NDArray[Any]

    def logits(self, X: NDArray[Any], which: Any = slice(None)) -> NDArray[Any]:
        """Scores (n, S) of prepared rows, or of some concepts only."""
        rows = unit_rows(X)
        along = logits(rows, self.coef[which], self.intercept[which])
        sharp = logits(rows, self.sharp[which], self.sharp_intercept[which])
        return np.asarray(along + np.maximum(sharp - STANDS_OUT, 0))

    def probabilities(self, X: NDArray[Any], which: Any = slice(None)) -> NDArray[Any]:
        """Calibrated probabilities (n, S) of prepared rows, or of some concepts only."""
        slope, shift = self.calibration[which].T
        out = np.empty((len(X), len(slope)), dtype=X.dtype)
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            out[rows] = expit(slope * self.logits(X[rows], which) + shift)
        return out

    def directions(self, which: Any = slice(None)) -> NDArray[Any]:
        """Vectors (S, d) whose products with unit rows go with the probabilities."""
        one = super().directions(which)
        rise = np.linalg.norm(one, axis=1) / np.maximum(np.linalg.norm(self.coef[which], axis=1), 1e-300)
        return np.asarray(one + rise[:, None] * self.sharp[which])


BothWays = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def used(codes: NDArray[Any]) -> Indicator:
    """Which concepts rows have (n, S), by their codes (n, S)."""
    return np.asarray((codes > 0) & (codes >= SHARE * codes.max(axis=1, keepdims=True)))


def learn_discriminants(
    X: NDArray[Any], Y: Indicator, rng: np.random.RandomState, groups: Ints | None = None
) -> FoundPresence:
    """Learn both ways for each concept, and what a score means on rows whose own fold had no part in them.

    With Σ the covariance of the rows, τ its mean variance and μ_j − μ the way from the mean row to that of a concept's
    members, these are μ_j − μ and (Σ/τ + ρI)⁻¹(μ_j − μ).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Prepared rows.
    Y : ndarray of bool of shape (n, S)
        Which concepts each has.
    rng : numpy.random.RandomState
        Draws folds, and rows whose cosines are looked at.
    groups : ndarray of int of shape (n,), default=None
        Rows of one group are never on both sides of a fold.

    Returns
    -------
    FoundPresence
        Both ways, scaled so that their scores have the mean 0 and the standard deviation 1.
    """
    data, n = unit_rows(np.asarray(X)), len(X)
    n_folds = min(FOLDS, max(2, n))
    fold = drawn_folds(Y, n_folds, rng, groups)
    sums = np.stack([Y[fold == k].T.astype(data.dtype) @ data[fold == k] for k in range(n_folds)]).astype(np.float64)
    members = np.stack([Y[fold == k].sum(axis=0) for k in range(n_folds)]).astype(np.float64)
    ways = Ways(data)
    whole = ways.to(sums.sum(axis=0), members.sum(axis=0))
    counts = np.zeros((Y.shape[1], 2, BINS), dtype=np.int64)
    for k in range(n_folds):
        mine = fold == k
        apart = ways.to(sums.sum(axis=0) - sums[k], members.sum(axis=0) - members[k])
        counts += counted(data[mine], Y[mine], apart)
    calibration = calibrated(counts)
    some = data[np.sort(rng.permutation(n)[:COSINE_ROWS])]
    weight = np.array([WEIGHT * cosine_spread(some)])
    coef, intercept, sharp, shift = whole
    threshold = best_thresholds(counts, calibration)
    return FoundPresence(coef, intercept, calibration, threshold, counts, weight, sharp, shift)


class Ways:
    """Mean and covariance of rows of unit length, and the ways from the mean to that of some of them."""

    def __init__(self, data: NDArray[Any]) -> None:
        self.dtype = data.dtype
        self.mean = data.mean(axis=0, dtype=np.float64)
        self.covariance = np.asarray(data.T @ data, dtype=np.float64) / len(data) - np.outer(self.mean, self.mean)
        scale = float(np.trace(self.covariance)) / len(self.mean)
        with one_blas_thread():
            whole = self.covariance / scale if scale > 0 else np.zeros_like(self.covariance)
            self.inverse = np.linalg.inv(whole + SHRINKAGE * np.eye(len(self.mean)))

    def to(self, sums: Floats, members: Floats) -> BothWays:
        """Coefficients (S, d) and intercepts (S,) of both ways to rows with these sums and numbers."""
        away = np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None] - self.mean, 0.0)
        found = []
        for coef in (away, away @ self.inverse):
            spread = np.sqrt(np.maximum(np.einsum("sd,sd->s", coef @ self.covariance, coef), 0.0))
            unit = coef / np.where(spread > 0, spread, 1)[:, None]
            found += [unit.astype(self.dtype), -(unit @ self.mean).astype(self.dtype)]
        return found[0], found[1], found[2], found[3]


def counted(data: NDArray[Any], has: Indicator, ways: BothWays) -> Ints:
    """Rows without each concept, and with it, by their scores (S, 2, BINS)."""
    coef, intercept, sharp, shift = ways
    nothing = np.empty(0)
    there = FoundPresence(coef, intercept, nothing, nothing, nothing, nothing, sharp, shift)
    S = has.shape[1]
    out = np.zeros(S * 2 * BINS, dtype=np.int64)
    for start in range(0, len(data), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        cell = bins_of(there.logits(data[rows])) + BINS * (has[rows] + 2 * np.arange(S))
        out += np.bincount(cell.ravel(), minlength=len(out))
    return out.reshape(S, 2, BINS)
