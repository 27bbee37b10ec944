"""Means, covariance and cross-covariance of rows and numbers beside them, as sums that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.threads import run_rows
from pellucid.solvers.erasing import NO_SPREAD

# rows of a block that are summed up at a time, on a thread each: fewer would make more (d, d) sums than pay
CHUNK_ROWS = 4096


@dataclass
class Moments:
    """Sums of ``count`` rows x and numbers z, each about its own mean, so that a mean far from zero costs no digits."""

    count: int
    mean: Floats  # (d,)
    targets_mean: Floats  # (S,)
    scatter: Floats  # (d, d): Σ (x − mean)(x − mean)ᵀ
    cross: Floats  # (d, S): Σ (x − mean)(z − mean)ᵀ
    targets_scatter: Floats  # (S,): Σ (z − mean)²

    def __iadd__(self, other: Moments) -> Moments:
        """The sums of both sets of rows, by Chan, Golub and LeVeque's update."""
        count = self.count + other.count
        step, targets_step = other.mean - self.mean, other.targets_mean - self.targets_mean
        weight = self.count * other.count / count
        self.scatter += other.scatter + weight * np.outer(step, step)
        self.cross += other.cross + weight * np.outer(step, targets_step)
        self.targets_scatter += other.targets_scatter + weight * targets_step**2
        self.mean += other.count / count * step
        self.targets_mean += other.count / count * targets_step
        self.count = count
        return self


def moments_of(pair: tuple[NDArray[Any], NDArray[Any]]) -> Moments:
    """The sums of a block of rows and the numbers beside them; the number of threads changes no bit of them."""
    rows, targets = pair
    found: dict[int, Moments] = {}

    def part(start: int, stop: int) -> None:
        found[start] = _of_chunk(rows[start:stop], targets[start:stop])

    run_rows(part, len(rows), min_rows=CHUNK_ROWS)
    first, *others = (found[start] for start in sorted(found))
    for other in others:
        first += other
    return first


def _of_chunk(rows: NDArray[Any], targets: NDArray[Any]) -> Moments:
    X, Z = rows.astype(np.float64), targets.astype(np.float64)
    mean, targets_mean = X.mean(axis=0), Z.mean(axis=0)
    X -= mean
    Z -= targets_mean
    return Moments(len(X), mean, targets_mean, X.T @ X, X.T @ Z, np.einsum("ij,ij->j", Z, Z))


def targets_spread(sums: Moments) -> Floats:
    """Standard deviations of the concepts, 0 where there is nothing but round-off."""
    spread = np.sqrt(sums.targets_scatter / sums.count)
    return np.asarray(np.where(spread > NO_SPREAD * np.abs(sums.targets_mean), spread, 0.0))
