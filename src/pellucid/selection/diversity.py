"""k of many rows that are relevant and unlike each other, in any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core import deadline
from pellucid._core.arrays import Ints, unit_rows
from pellucid._core.checks import as_matrix, as_vector, check_finite, working_dtype
from pellucid._core.tables import as_rows

# at diversity ½ the least relevant row is this much behind the most relevant, against ½log(1 + 1) for a new direction:
# ten of a hundred results then keep about 95 % of the plain list's mean cosine
STEEP = 0.12
# any diversity below this puts relevance first
LEAST = 1e-9


def diversify(X: ArrayLike, k: int, relevance: ArrayLike | None = None, *, diversity: float = 0.5) -> NDArray[np.int64]:
    """Positions of k rows that are relevant and unlike each other, in the order of choice.

    Rows count by their direction. Each next row adds most to ½log det(I + CᵀC) of the chosen rows C, what they tell
    about an unknown direction when each is seen with noise of variance 1, less what it lacks in relevance. A row that
    repeats a chosen one tells little, one that repeats two tells less; k may exceed the dimension. Rows of zeros come
    last. Every beginning of the list is diverse, too.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows to choose from.
    k : int
        How many to choose; all n rows come back, in order, if there are no more.
    relevance : array-like of shape (n,) or None, default=None
        Numbers on any scale, larger is better; all rows are equally relevant if None.
    diversity : float, default=0.5
        0 returns the k most relevant, 1 looks at the directions alone.

    Returns
    -------
    ndarray of shape (min(k, n),), dtype int64
        Positions of the chosen rows.

    Raises
    ------
    ValueError
        If X or ``relevance`` is not finite, k is no positive whole number, or ``diversity`` is not between 0 and 1.

    Examples
    --------
    >>> from pellucid.selection import diversify
    >>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> diversify(X, 2, relevance=[0.9, 0.8, 0.5])
    array([0, 2])
    >>> diversify(X, 2, relevance=[0.9, 0.8, 0.5], diversity=0)
    array([0, 1])
    """
    rows = as_matrix(as_rows(X), "X")
    check_finite(rows, "X")
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
    units = unit_rows(rows.astype(working_dtype(rows), copy=False))
    empty = np.flatnonzero(~units.any(axis=1))
    chosen = _most_told(units, _shortfall(score, float(diversity)), empty, min(k, len(rows) - len(empty)))
    rest = by_relevance[np.isin(by_relevance, empty)]
    return np.concatenate([chosen, rest[: k - len(chosen)]]).astype(np.int64)


def _shortfall(relevance: NDArray[np.float64], diversity: float) -> NDArray[np.float64]:
    """What each row lacks in relevance: 0 for the most relevant, the same for the least, whatever the scale."""
    half = relevance / 2  # differences of halves cannot overflow
    if half.min() == half.max():
        return np.zeros(len(half))
    behind = (half.max() - half) / (half.max() - half.min())
    return np.asarray(behind * STEEP * (1 / max(diversity, LEAST) - 1))


def _most_told(units: NDArray[Any], shortfall: NDArray[np.float64], left_out: Ints, k: int) -> Ints:
    """k rows, each with the largest ½log(1 + x(I + XᵀX)⁻¹xᵀ) less its shortfall given the rows X before it.

    1 + x(I + XᵀX)⁻¹xᵀ is a pivot of the Cholesky factor of I + units·unitsᵀ, of which one row is computed a choice.
    """
    pivots = np.full(len(units), 2.0)
    factor = np.empty((k, len(units)))
    chosen = np.empty(k, dtype=np.int64)
    closed = shortfall.copy()
    closed[left_out] = np.inf
    for i in range(k):
        deadline.check()
        best = chosen[i] = int(np.argmax(0.5 * np.log(pivots) - closed))
        row = np.asarray(units @ units[best], dtype=np.float64)
        factor[i] = (row - factor[:i].T @ factor[:i, best]) / np.sqrt(pivots[best])
        pivots = np.maximum(pivots - factor[i] ** 2, 1.0)
        closed[best] = np.inf
    return chosen
