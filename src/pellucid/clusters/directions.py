"""The few directions in which rows vary most, in units in which they vary alike; and rows that occur again, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from pellucid._core.arrays import Floats, Ints

# directions that neighbours are looked for in, at most, and of these the ones that clusters are told apart by
NEIGHBOUR_DIRECTIONS, CLUSTER_DIRECTIONS = 100, 40
# directions that hold less than this share of the largest one's variance are round-off
ROUND_OFF = 1e-10
# columns whose ranges differ by more than this factor have different units: the tenth from above over that from below
UNITS = 10.0
# rows that are multiplied at a time
BLOCK_ROWS = 8_192


@dataclass(frozen=True)
class Directions:
    """Where a row stands, z = (x − mean)/scale · basisᵀ, in numbers of about 1.

    mean (d,), scale (d,) : of the columns; one number for all where columns keep their units
    basis (G, d) : orthonormal, those that hold most first
    """

    mean: Floats
    scale: Floats
    basis: Floats

    def into(self, X: NDArray[Any]) -> Floats:
        """Places (n, G) of rows (n, d)."""
        out = np.empty((len(X), len(self.basis)))
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            out[rows] = self.standard(X[rows]) @ self.basis.T
        return out

    def standard(self, X: NDArray[Any]) -> Floats:
        """Rows (n, d) as differences from the mean, in these units."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.mean) / self.scale)

    def back(self, Z: Floats) -> Floats:
        """Differences of rows (n, d) from those of places (n, G), or of the first of their numbers."""
        return np.asarray((Z @ self.basis[: Z.shape[1]]) * self.scale)


def find_directions(X: NDArray[Any], weights: Floats, scale: str | bool) -> Directions:
    """The leading directions of weighted rows; ``scale`` is whether columns are brought to one variance ("auto": where
    they have different units)."""
    rows = np.asarray(X, dtype=np.float64)
    share = weights / weights.sum()
    mean = share @ rows
    # numbers of about 1, so that none over- or underflows when squared
    largest = float(np.abs(rows - mean).max(initial=0.0)) or 1.0
    rows = (rows - mean) / largest
    columns = np.full(rows.shape[1], largest)
    if different_units(rows) if scale == "auto" else scale:
        deviation = np.sqrt(share @ rows**2)
        deviation[deviation == 0] = 1.0
        rows /= deviation
        columns *= deviation
    size = np.sqrt(float(share @ np.einsum("ij,ij->i", rows, rows)) / max(1, rows.shape[1])) or 1.0
    basis = leading(rows * np.sqrt(share)[:, None], NEIGHBOUR_DIRECTIONS)
    return Directions(mean, columns * size, basis)


def different_units(rows: Floats) -> bool:
    """Whether the ranges of the columns that vary differ by more than columns of one kind do."""
    ranges = np.ptp(rows, axis=0) if len(rows) else np.zeros(rows.shape[1])
    ranges = ranges[ranges > 0]
    if len(ranges) < 2:
        return False
    low, high = np.quantile(ranges, (0.1, 0.9))
    return bool(high > UNITS * low)


def leading(rows: Floats, most: int) -> Floats:
    """Orthonormal directions (G, d) of the largest sums of squares of rows (n, d), G at most ``most``."""
    n, d = rows.shape
    by_columns = d <= n
    gram = rows.T @ rows if by_columns else rows @ rows.T
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(0, size - most), size - 1])
    kept = np.flatnonzero(values > ROUND_OFF * max(float(values[-1]), 1e-300))[::-1]
    found = vectors[:, kept].T if by_columns else (vectors[:, kept].T @ rows) / np.sqrt(values[kept])[:, None]
    return signed(found)


def signed(vectors: Floats) -> Floats:
    """Each vector with its largest number positive, so that machines agree."""
    if not vectors.size:
        return vectors
    largest = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
    return np.asarray(vectors * np.where(largest < 0, -1.0, 1.0)[:, None])


@dataclass(frozen=True)
class DistinctRows:
    """Rows that differ, in an order that neither the order of all nor a shift or factor changes.

    first (m,) : where each occurs first
    weights (m,) : how often each occurs, in units of the mean, so that a table twice over is the table
    which (n,) : for every row, which of these it is
    """

    first: Ints
    weights: Floats
    which: Ints


def distinct(X: NDArray[Any]) -> DistinctRows:
    """Rows (n, d), each once."""
    rows = np.ascontiguousarray(X) + np.zeros(1, dtype=X.dtype)  # −0 is 0
    names = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, which, times = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(line_up(rows[first]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return DistinctRows(first[order], times[order] / times.mean(), place[which.ravel()])


def line_up(rows: NDArray[Any]) -> Floats:
    """Where rows stand along one direction, drawn once and for all."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    largest = float(np.abs(centred).max(initial=0.0)) or 1.0
    return np.asarray((centred / largest) @ np.random.RandomState(0).standard_normal(rows.shape[1]))
