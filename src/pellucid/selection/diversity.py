"""k of many rows that are relevant and unlike each other, in any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._base import unit_rows
from pellucid.solvers._checks import as_matrix, as_vector, check_finite, working_dtype

# what is left of a unit row once the chosen ones are taken out, below which it only repeats them
REPEATED = 1e-5
# at diversity ½ the least relevant row is made exp(−STEEP) long
STEEP = 0.5
# any diversity below this puts relevance first
LEAST = 1e-9


def diversify(
    items: ArrayLike, k: int, relevance: ArrayLike | None = None, *, diversity: float = 0.5
) -> NDArray[np.int64]:
    """Positions of k rows that are unlike each other, in the order of choice: every beginning of it is diverse too.

    Rows count by their direction. Once the chosen rows span all others, the next ones are chosen afresh among those
    that remain, so k may exceed the dimension; rows that repeat a chosen one, and rows of zeros, come last.

    Parameters
    ----------
    items : (n, d) array
    k : how many to choose; all n rows come back, in order, if there are no more
    relevance : (n,) numbers, larger is better, on any scale; all rows are equally relevant if None
    diversity : 0 returns the k most relevant, 1 looks at the directions alone
    """
    rows = as_matrix(items, "items")
    check_finite(rows, "items")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k must be a positive whole number, got {k!r}.")
    if not isinstance(diversity, (int, float, np.number)) or not 0 <= diversity <= 1:
        raise ValueError(f"diversity must lie between 0 and 1, got {diversity!r}.")
    k = min(int(k), len(rows))
    score = np.zeros(len(rows)) if relevance is None else as_vector(relevance, "relevance", len(rows), "item")
    check_finite(score, "relevance")
    by_relevance = np.argsort(-score, kind="stable")
    if diversity == 0:
        return np.asarray(by_relevance[:k], dtype=np.int64)
    weight = _log_weights(score, float(diversity))
    units = unit_rows(rows.astype(working_dtype(rows), copy=False))
    open_: NDArray[np.bool_] = np.asarray(units.any(axis=1))
    chosen: list[int] = []
    while len(chosen) < k and open_.any():
        found = _spread(units, np.where(open_, weight, -np.inf), k - len(chosen))
        open_[found] = False
        chosen += found
    rest = by_relevance[~np.isin(by_relevance, chosen)]
    return np.concatenate([np.array(chosen, dtype=np.int64), rest[: k - len(chosen)]])


def _log_weights(relevance: NDArray[np.float64], diversity: float) -> NDArray[np.float64]:
    """Logarithm of the length that each unit row is given: 0 for the most relevant, the same below for the least,
    whatever the scale of relevance."""
    half = relevance / 2  # differences of halves cannot overflow
    if half.min() == half.max():
        return np.zeros(len(half))
    behind = (half.max() - half) / (half.max() - half.min())
    return np.asarray(behind * STEEP * (1 - 1 / max(diversity, LEAST)))


def _spread(units: NDArray[Any], log_weight: NDArray[np.float64], k: int) -> list[int]:
    """Up to k rows, each the one that, scaled by its weight, sticks out most from the span of those before it; stops
    where no row of positive weight sticks out."""
    left = units.copy()
    out = np.where(log_weight > -np.inf, 1.0, 0.0)
    chosen: list[int] = []
    while len(chosen) < min(k, units.shape[1]) and out.max() > REPEATED**2:
        score = np.where(out > REPEATED**2, 0.5 * np.log(np.maximum(out, REPEATED**2)) + log_weight, -np.inf)
        best = int(np.argmax(score))
        chosen.append(best)
        direction = left[best] / np.linalg.norm(left[best])
        left -= np.outer(left @ direction, direction)
        out = np.where(log_weight > -np.inf, np.einsum("ij,ij->i", left, left, dtype=np.float64), 0.0)
    return chosen
