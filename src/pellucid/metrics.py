"""Every figure the papers report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def average_precision(relevance: ArrayLike, k: int = 20) -> NDArray[np.float64]:
    """AP@k of ranked lists: relevance (n, ≥k) of 0/1, best first → (n,).

    Σ over the first k of precision@i·rel_i, divided by the number of relevant ones among the k returned (0 if none).
    """
    ranked = np.asarray(relevance, dtype=np.float64)
    if ranked.ndim != 2:
        raise ValueError(f"relevance must have one ranked list per row, but its shape is {ranked.shape}.")
    ranked = ranked[:, :k]
    precision = np.cumsum(ranked, axis=1) / np.arange(1, ranked.shape[1] + 1)
    return np.asarray((precision * ranked).sum(axis=1) / np.maximum(1.0, ranked.sum(axis=1)))


def mean_average_precision(relevance: ArrayLike, k: int = 20) -> float:
    """Mean of :func:`average_precision` over the lists."""
    return float(average_precision(relevance, k).mean())


def top_k(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Columns of the k largest scores of each row, best first; ties by position."""
    k = min(k, scores.shape[1])
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k] if k < scores.shape[1] else np.argsort(-scores, axis=1)
    best.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(best, order, axis=1))
