"""Points in the plane that keep their neighbours: springs between neighbours, a push between random pairs.

The objective is UMAP's (McInnes, Healy and Melville, 2018): cross-entropy between how much two points are neighbours in
the data, w, and how near they lie in the plane, 1 / (1 + a·distance^(2b)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from pellucid._core.kernels import pull_and_push

NEIGHBOURS = 15
EPOCHS = 300
KNOWN = 0.15  # of the time goes into finding neighbours
BLOCK = 1_024


def nearest(
    points: NDArray[np.float32], k: int, progress: Callable[[float], None]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Distances (n, k) to the nearest others of each point, and which they are."""
    n = len(points)
    index = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(points)
    distances, found = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
    for start in range(0, n, BLOCK):
        rows = np.arange(start, min(n, start + BLOCK))
        away, others = index.kneighbors(points[rows])
        # of points that lie on each other one may not be listed among its own nearest: then the last one goes
        own = others == rows[:, None]
        own[~own.any(axis=1), -1] = True
        distances[rows], found[rows] = away[~own].reshape(-1, k), others[~own].reshape(-1, k)
        progress(min(1.0, (start + BLOCK) / n))
    return distances, found


def edges(found: NDArray[np.int64], distances: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Pairs of neighbours and how much they are that: exp(-(d - nearest) / width), the width such that the weights of a
    point add up to log2(k); a pair counts if either sees the other as a neighbour."""
    n, k = found.shape
    beyond = distances - distances[:, :1]
    low, high = np.full(n, 1e-6), np.full(n, np.maximum(distances.max(), 1e-6) * 20)
    for _ in range(40):
        middle = np.sqrt(low * high)
        too_wide = np.exp(-beyond / middle[:, None]).sum(axis=1) > np.log2(k)
        high, low = np.where(too_wide, middle, high), np.where(too_wide, low, middle)
    weight = np.exp(-beyond / high[:, None])
    one_way = scipy.sparse.csr_matrix((weight.ravel(), (np.repeat(np.arange(n), k), found.ravel())), shape=(n, n))
    both = one_way + one_way.T - one_way.multiply(one_way.T)
    pairs = both.tocoo()
    kept = pairs.data > 0.02  # weaker ones would hardly be pulled once
    return pairs.row[kept].astype(np.int64), pairs.col[kept].astype(np.int64), pairs.data[kept]


def embed(
    points: NDArray[np.float32], start: NDArray[np.float32], progress: Callable[[float], None]
) -> NDArray[np.float32]:
    """Places (n, 2) of the points, from where ``start`` (within -1 to 1) puts them."""
    k = min(NEIGHBOURS, len(points) - 1)
    distances, found = nearest(points, k, lambda done: progress(KNOWN * done))
    head, tail, weight = edges(found, distances)
    places = 10 * start.astype(np.float64, order="C") + np.random.default_rng(0).normal(0, 1e-3, start.shape)
    share = weight / weight.max()
    due = 1 / share
    for first in range(0, EPOCHS, 10):
        pull_and_push(places, head, tail, share, due, first, first + 10, EPOCHS)
        progress(KNOWN + (1 - KNOWN) * (first + 10) / EPOCHS)
    return places.astype(np.float32)
