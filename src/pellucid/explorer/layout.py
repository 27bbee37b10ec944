"""Two dimensions for the map: principal components at once, neighbourhoods when they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from pellucid._core.arrays import unit_rows
from pellucid.explorer.neighbourhoods import embed
from pellucid.search import ReadableCollection

Places = NDArray[np.float32]
Progress = Callable[[float], None]

SAMPLE = 20_000  # rows that the principal components are learned from
ANCHORS = 10_000  # rows whose neighbourhoods are laid out; the others go between their nearest anchors
NEAR = 6
DIMENSIONS = 48  # kept for judging neighbourhoods
BLOCK = 8_192
FEW_ROWS = 2_048  # after which what is shown moves on


def unheard(share: float) -> None:
    """For who does not ask how far it is."""


class Axes:
    """Principal axes of the collection's unit vectors, learned from a sample."""

    def __init__(
        self, collection: ReadableCollection, positions: NDArray[np.int64], progress: Progress = unheard
    ) -> None:
        chosen = sample(len(positions), SAMPLE)
        rows = unit_rows(collection.vectors(positions[chosen]).astype(np.float32))
        progress(0.1)
        self.mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        count = min(DIMENSIONS, *rows.shape)
        covariance = np.zeros((rows.shape[1], rows.shape[1]))
        for start in range(0, len(rows), FEW_ROWS):
            part = rows[start : start + FEW_ROWS].astype(np.float64) - self.mean
            covariance += part.T @ part
            progress(0.1 + 0.4 * min(1.0, (start + FEW_ROWS) / len(rows)))
        covariance /= max(1, len(rows))
        axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :count]
        # a sign convention makes the picture the same on every machine
        largest = np.abs(axes).argmax(axis=0)
        self.axes = (axes * np.sign(axes[largest, np.arange(count)])).astype(np.float32)

    def blocks(
        self, collection: ReadableCollection, positions: NDArray[np.int64]
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Coordinates (rows, DIMENSIONS) of all items, block after block."""
        for start in range(0, len(positions), BLOCK):
            rows = slice(start, start + BLOCK)
            yield rows, (unit_rows(collection.vectors(positions[rows]).astype(np.float32)) - self.mean) @ self.axes


def sample(n: int, size: int) -> NDArray[np.int64]:
    """Row numbers of a fixed random sample, in order."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size, replace=False))


def pca(collection: ReadableCollection, positions: NDArray[np.int64], axes: Axes, progress: Progress) -> Places:
    places = np.zeros((len(positions), 2), dtype=np.float32)
    for rows, coordinates in axes.blocks(collection, positions):
        places[rows, : min(2, coordinates.shape[1])] = coordinates[:, :2]
        progress(0.5 + 0.5 * min(1.0, rows.stop / len(positions)))
    return fit(places)


def neighbours(
    collection: ReadableCollection, positions: NDArray[np.int64], axes: Axes, start: Places, progress: Progress
) -> Places:
    """Neighbourhoods of a sample, from where ``start`` puts it; everything else goes between its nearest anchors."""
    n = len(positions)
    if n < 12:  # no neighbourhoods to speak of
        return start
    chosen = sample(n, ANCHORS)
    anchors = np.empty((len(chosen), axes.axes.shape[1]), dtype=np.float32)
    for rows, coordinates in axes.blocks(collection, positions[chosen]):
        anchors[rows] = coordinates
    rest = 0.4 if n > len(chosen) else 0.0
    placed = embed(anchors, start[chosen], lambda done: progress((1 - rest) * done))
    if n == len(chosen):
        return fit(placed)
    index = NearestNeighbors(n_neighbors=NEAR, algorithm="brute").fit(anchors)
    places = np.empty((n, 2), dtype=np.float32)
    for rows, coordinates in axes.blocks(collection, positions):
        places[rows] = between(coordinates, index, placed, seed=rows.start)
        progress(1 - rest + rest * min(1.0, rows.stop / n))
    places[chosen] = placed
    return fit(places)


def between(rows: NDArray[Any], index: Any, placed: Places, seed: int) -> Places:
    """A place for each row among its nearest anchors, scattered as far as those are apart."""
    distance, near = index.kneighbors(rows)
    distance = distance**2 - distance[:, :1] ** 2
    weight = np.exp(-distance / np.maximum(distance.mean(axis=1, keepdims=True), 1e-12))
    weight /= weight.sum(axis=1, keepdims=True)
    # anchors that lie far apart pull to places where neither is: only those around the strongest count
    first = placed[near[np.arange(len(near)), weight.argmax(axis=1)]]
    away = np.linalg.norm(placed[near] - first[:, None], axis=2)
    typical = np.median(away, axis=1, keepdims=True)
    weight = np.where(away <= np.minimum(typical, 4 * np.median(typical)), weight, 0)
    weight /= weight.sum(axis=1, keepdims=True)
    middle = np.einsum("ij,ijk->ik", weight, placed[near])
    spread = np.sqrt(np.einsum("ij,ij->i", weight, ((placed[near] - middle[:, None]) ** 2).sum(axis=2)))
    noise = np.random.default_rng(seed).standard_normal(middle.shape)
    return np.asarray(middle + 0.5 * spread[:, None] * noise, dtype=np.float32)


def fit(places: NDArray[Any]) -> Places:
    """Centred in the square from -1 to 1."""
    low, high = places.min(axis=0), places.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-12)
    return np.asarray((places - (low + high) / 2) / half, dtype=np.float32)
