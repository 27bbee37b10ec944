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

from pellucid._core.jit import kernel

NEIGHBOURS = 15
PUSHES = 5  # random points that an edge pushes away
# 1 / (1 + a·d^(2b)) falls from 1 as exp(0.1 - d) does: points come no closer than about a tenth
CURVE_A, CURVE_B = 1.577, 0.8951
EPOCHS = 300


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
    distances, found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points).kneighbors()
    head, tail, weight = edges(found, distances)
    places = 10 * start.astype(np.float64) + np.random.default_rng(0).normal(0, 1e-3, start.shape)
    share = weight / weight.max()
    due = 1 / share
    for first in range(0, EPOCHS, 10):
        pull_and_push(places, head, tail, share, due, first, first + 10)
        progress((first + 10) / EPOCHS)
    return places.astype(np.float32)


@kernel
def pull_and_push(
    places: NDArray[np.float64],
    head: NDArray[np.int64],
    tail: NDArray[np.int64],
    share: NDArray[np.float64],
    due: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """Epochs first to last of stochastic gradient descent, with steps that shrink to nothing. An edge takes part in its
    share of them: it is ``due``."""
    n = np.uint64(places.shape[0])
    state = np.uint64(88172645463325252 + first)
    for epoch in range(first, last):
        step = 1.0 - epoch / EPOCHS
        for e in range(head.size):
            if due[e] > epoch + 1:
                continue
            due[e] += 1.0 / share[e]
            i, j = head[e], tail[e]
            dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            squared = dx * dx + dy * dy
            if squared > 0.0:
                powered = CURVE_A * squared**CURVE_B
                pull = -2.0 * CURVE_B * powered / (squared * (1.0 + powered))
                mx, my = clip(pull * dx) * step, clip(pull * dy) * step
                places[i, 0] += mx
                places[i, 1] += my
                places[j, 0] -= mx
                places[j, 1] -= my
            for _ in range(PUSHES):
                state ^= state << np.uint64(13)  # xorshift
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                other = np.int64(state % n)
                dx, dy = places[i, 0] - places[other, 0], places[i, 1] - places[other, 1]
                squared = dx * dx + dy * dy
                if other == i or squared == 0.0:
                    continue
                push = 2.0 * CURVE_B / ((0.001 + squared) * (1.0 + CURVE_A * squared**CURVE_B))
                places[i, 0] += clip(push * dx) * step
                places[i, 1] += clip(push * dy) * step


@kernel
def clip(value: float) -> float:
    return min(4.0, max(-4.0, value))
