"""Who is whose neighbour, and the differential operators D of paper 4 (Optimizations 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Pairs = NDArray[np.int64]


def first_differences(pairs: Pairs, n: int) -> Any:
    """D (n, M) of Optimization 1: column k is 1 at one item of pair k and −1 at the other."""
    m = len(pairs)
    columns = np.concatenate([np.arange(m), np.arange(m)])
    values = np.concatenate([np.ones(m), -np.ones(m)])
    # an item paired with itself cancels out
    return sparse.csc_array((values, (pairs.T.ravel(), columns)), shape=(n, m))


def second_differences(pairs: Pairs, weights: NDArray[np.float64], n: int) -> Any:
    """D (n, n) of Optimization 2: column i is 1 at item i and −w(i, j) at its neighbours; empty where it has none."""
    with_neighbours = np.unique(pairs[:, 0])
    rows = np.concatenate([with_neighbours, pairs[:, 1]])
    columns = np.concatenate([with_neighbours, pairs[:, 0]])
    values = np.concatenate([np.ones(len(with_neighbours)), -weights])
    return sparse.csc_array((values, (rows, columns)), shape=(n, n))


def metric_pairs(X: NDArray[Any], k: int) -> Pairs:
    """(i, j) for the k nearest j of every item i, by Euclidean distance."""
    from sklearn.neighbors import NearestNeighbors

    k = min(k, len(X) - 1)
    if k < 1:  # a row alone, as a block may be
        return np.empty((0, 2), dtype=np.int64)
    # rows that occur more than k times have each other; a tree of all of them would be gone through for each
    groups = _equal_rows(X)
    near = np.empty((len(X), k), dtype=np.int64)
    for group in groups:
        if len(group) > k:
            places = (np.arange(len(group))[:, None] + np.arange(1, k + 1)) % len(group)
            near[group] = group[places]
    kept = np.sort(np.concatenate([group[: k + 1] for group in groups]))
    few = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *(group for group in groups if len(group) <= k)]))
    if len(few):
        found = NearestNeighbors(n_neighbors=k).fit(X[kept]).kneighbors(return_distance=False)
        near[few] = kept[found[np.searchsorted(kept, few)]]
    return np.stack([np.repeat(np.arange(len(X)), k), near.ravel()], axis=1)


def _equal_rows(X: NDArray[Any]) -> list[NDArray[np.int64]]:
    """The rows, in groups of those that are the same."""
    plain = np.ascontiguousarray(X + 0.0)  # which makes a zero of a negative zero
    cells = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    _, place, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.split(np.argsort(place, kind="stable"), np.cumsum(counts)[:-1])


def temporal_pairs(n: int, groups: ArrayLike | None, order: int) -> Pairs:
    """(i, i + 1) within a sequence; for order 2 (i, i − 1) and (i, i + 1) of every item that has both.

    ``groups`` (n,) names the sequence of each item; None makes all items one sequence.
    """
    follows = np.ones(max(n - 1, 0), dtype=bool)
    if groups is not None:
        names = np.asarray(groups)
        if names.shape != (n,):
            raise ValueError(f"groups must name the sequence of each of the {n} rows, but has shape {names.shape}.")
        follows = names[1:] == names[:-1]
    if order == 1:
        first = np.flatnonzero(follows)
        return np.stack([first, first + 1], axis=1)
    middle = np.flatnonzero(follows[1:] & follows[:-1]) + 1
    return np.stack([np.repeat(middle, 2), np.stack([middle - 1, middle + 1], axis=1).ravel()], axis=1)


def check_pairs(pairs: ArrayLike, n: int) -> Pairs:
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(f"pairs must be two columns of row numbers, but has shape {array.shape} of {array.dtype}.")
    wrong = np.flatnonzero(((array < 0) | (array >= n)).any(axis=1))
    if wrong.size:
        raise ValueError(f"pairs has {array[wrong[0]].tolist()} at row {wrong[0]}, but the rows go from 0 to {n - 1}.")
    return array.astype(np.int64)


def mean_weights(pairs: Pairs, n: int) -> NDArray[np.float64]:
    """1 / number of neighbours: temporal or spatial interpolation."""
    return np.asarray(1.0 / np.bincount(pairs[:, 0], minlength=n)[pairs[:, 0]])


def local_weights(X: NDArray[Any], pairs: Pairs, ridge: float = 1e-3) -> NDArray[np.float64]:
    """Weights that sum to 1 and rebuild each item from its neighbours best (locally linear), one for each pair."""
    weights = np.empty(len(pairs))
    order = np.argsort(pairs[:, 0], kind="stable")
    items, starts = np.unique(pairs[order, 0], return_index=True)
    for item, own in zip(items, np.split(order, starts[1:])):
        away = X[pairs[own, 1]].astype(np.float64) - X[item]
        gram = away @ away.T
        # more neighbours than dimensions leave weights open; so much of the trace decides among them
        lift = ridge * np.trace(gram) if gram.any() else 1.0
        w = np.linalg.solve(gram + lift * np.eye(len(own)), np.ones(len(own)))
        weights[own] = w / w.sum()
    return weights
