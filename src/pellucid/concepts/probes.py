"""Linear probes: how well a line drawn through some rows tells a concept of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from pellucid._core.arrays import Floats

# penalties that a probe chooses from, as shares of the mean squared singular value of its rows
PENALTIES = np.logspace(-4, 3, 15)
# singular values below this share of the largest are round-off
ROUND_OFF = 1e-7


def probed(X: NDArray[Any], Z: Floats, n_splits: int, random_state: Any) -> Floats:
    """(S,) areas under the curve of probes, trained on all folds but one and asked on that one: means over folds."""
    order = check_random_state(random_state).permutation(len(X))
    folds = [fold for fold in np.array_split(order, min(n_splits, len(X))) if len(fold)]
    found = []
    for fold in folds:
        rest = np.setdiff1d(order, fold)
        if len(rest):
            scores = ridge_scores(X[rest], Z[rest], X[fold])
            found.append([concordance(z, score) for z, score in zip(Z[fold].T, scores.T)])
    values = np.array(found).reshape(-1, Z.shape[1])
    known = np.isfinite(values)
    sums = np.where(known, values, 0).sum(axis=0)
    return np.asarray(np.where(known.any(axis=0), sums / np.maximum(known.sum(axis=0), 1), np.nan))


def ridge_scores(X: NDArray[Any], Z: Floats, new: NDArray[Any]) -> Floats:
    """(m, S) values on new rows of a ridge regression for each column of Z, its penalty the one of ``PENALTIES`` with
    the least squared error when each row is left out in turn; one decomposition serves all."""
    mean = X.mean(axis=0, dtype=np.float64)
    A, z = X - mean, Z - Z.mean(axis=0)
    if len(A) >= A.shape[1]:
        squares, V = np.linalg.eigh(A.T @ A)
        kept = squares > ROUND_OFF**2 * max(squares[-1], 0)
        squares, V = squares[kept], V[:, kept]
        U = A @ V / np.sqrt(squares)
    else:
        squares, U = np.linalg.eigh(A @ A.T)
        kept = squares > ROUND_OFF**2 * max(squares[-1], 0)
        squares, U = squares[kept], U[:, kept]
        V = A.T @ U / np.sqrt(squares)
    if not len(squares):
        return np.zeros((len(new), Z.shape[1]))
    along = U.T @ z
    penalties = PENALTIES * squares.mean()
    errors = np.empty((len(penalties), Z.shape[1]))
    for i, penalty in enumerate(penalties):
        kept_share = squares / (squares + penalty)
        leverage = np.minimum(1 / len(A) + (U * U) @ kept_share, 1 - 1e-9)
        errors[i] = np.square((z - U @ (kept_share[:, None] * along)) / (1 - leverage)[:, None]).sum(axis=0)
    chosen = penalties[errors.argmin(axis=0)]
    weights = np.sqrt(squares)[:, None] / (squares[:, None] + chosen) * along
    return np.asarray((new - mean) @ (V @ weights))


def concordance(z: Floats, score: Floats) -> float:
    """Of all pairs of rows with different z, the share whose scores are ordered alike; ties count half. Where z is yes
    or no this is the area under the ROC curve; nan where z is constant."""
    values, counts = np.unique(z, return_counts=True)
    if len(values) < 2:
        return float("nan")
    if len(values) == 2:
        return float(roc_auc_score(z == values[1], score))
    pairs = len(z) * (len(z) - 1) / 2
    different = pairs - (counts * (counts - 1) / 2).sum()
    _, tied = np.unique(score, return_counts=True)
    apart = pairs - (tied * (tied - 1) / 2).sum()
    if apart == 0:
        return 0.5
    tau = float(kendalltau(z, score, variant="b").statistic)
    return 0.5 + 0.5 * tau * float(np.sqrt(apart / different))


def chance(z: Floats) -> float:
    """Standard deviation of the area under the curve of scores that know nothing of z."""
    values, counts = np.unique(z, return_counts=True)
    n = len(z)
    if len(values) < 2:
        return float("nan")
    if len(values) == 2:
        return float(np.sqrt((n + 1) / (12 * counts[0] * counts[1])))
    return float(np.sqrt((2 * n + 5) / (18 * n * (n - 1))))
