"""The closed form of least-squares concept erasure (LEACE, Belrose et al. 2023), from moments alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pellucid._core.arrays import Floats

# directions whose correlation with every concept is below this are round-off
SAME_DIRECTION = 1e-8
# a standard deviation below this share of the mean is round-off
NO_SPREAD = 1e-12
# readers whose readings depend on others to this degree add nothing
DEPENDENT = 1e-9


class Map(NamedTuple):
    """What is taken from a row x: ``left @ (right @ (x − mean))``."""

    left: Floats  # (d, r)
    right: Floats  # (r, d)


def eraser(covariance: Floats, cross: Floats, spread: Floats, shrinkage: float, noise: float = 0.0) -> tuple[Map, int]:
    """What is to be taken from rows with this covariance (d, d) and cross-covariance (d, S) with concepts of this
    spread (S,), and the rank. ``noise`` is the round-off in a coordinate.

    Σ^½ P Σ^−½ is ``left @ right``: with U an orthonormal basis of the columns of Σ^−½ Σ_xz, left = Σ^½ U and
    right = Uᵀ Σ^−½. Eigenvalues below d · eps times the largest count as zero (a pseudo-inverse).
    """
    d = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    cut = max(d * np.finfo(np.float64).eps * values[-1], d * (8 * noise) ** 2)
    rank = int((values > cut).sum())
    if rank == 0:
        return Map(np.zeros((d, 0)), np.zeros((0, d))), 0
    # the trace, and so the shrunk covariance, scale as the rows do
    shrunk = (1 - shrinkage) * np.maximum(values, 0) + shrinkage * float(np.trace(covariance)) / d
    kept = values > cut  # outside of them rows do not vary, and so do not tell anything
    root, V = np.sqrt(shrunk[kept]), vectors[:, kept]
    whitened = (V.T @ (cross / live(spread))) / root[:, None]
    U, sizes, _ = np.linalg.svd(whitened[:, spread > 0], full_matrices=False)
    U = U[:, sizes > SAME_DIRECTION]
    return Map(V @ (root[:, None] * U), (V @ (U / root[:, None])).T), rank


def oracle_shrinkage(covariance: Floats, n: int) -> float:
    """The oracle approximating shrinkage (Chen, Wiesel, Eldar and Hero 2010, Eq. 23), from 0 to 1."""
    d = len(covariance)
    if d == 1:
        return 0.0
    scale = float(np.trace(covariance))
    if scale <= 0:
        return 0.0
    squared = float(np.square(covariance / scale).sum())  # of a covariance with the trace 1
    beyond = (n + 1 - 2 / d) * (squared - 1 / d)
    return float(min(1.0, ((1 - 2 / d) * squared + 1) / beyond)) if beyond > 0 else 1.0


def live(spread: Floats) -> Floats:
    """To divide by: a concept that is constant has no covariance anyway."""
    return np.asarray(np.where(spread > 0, spread, 1.0))


class ReadersMap(NamedTuple):
    """What is taken from a row x: ``left @ (right @ (x − mean) − level)``."""

    left: Floats  # (d, r)
    right: Floats  # (r, d)
    level: Floats  # (r,)


def eraser_of_readers(readers: Floats, covariances: Floats, level: Floats) -> ReadersMap:
    """What is to be taken from rows so that linear readers (r, d) of concepts measure the same of all, ``level`` more
    than of the mean row, and nothing of the rows is correlated with the concepts, whose covariances with the rows are
    given (r, d).

    For regressions, readers = covariances · Σ⁻¹, it is the least change, which :func:`eraser` finds from Σ.
    """
    length, size = np.linalg.norm(readers, axis=1), np.linalg.norm(covariances, axis=1)
    told = np.flatnonzero((length > 0) & (size > 0))
    right, left = readers[told] / length[told, None], covariances[told] / size[told, None]
    return ReadersMap(left.T @ np.linalg.pinv(right @ left.T, rcond=DEPENDENT), right, level[told] / length[told])
