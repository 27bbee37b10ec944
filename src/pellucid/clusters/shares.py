"""How much of a row is its cluster's own, and how much what all clusters share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from pellucid.clusters.estimator import CommonalityClustering


def part_shares(model: CommonalityClustering, X: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares (n,) of the squared length of rows X (n, d) that the cluster's atoms and the common ones make up: v·x/‖x‖²
    for either part v. With what is left in neither they add up to 1."""
    rows = np.asarray(X)
    lengths = np.maximum(np.einsum("ij,ij->i", rows, rows, dtype=np.float64), np.finfo(np.float64).tiny)
    own, common = (
        np.einsum("ij,ij->i", model.reconstruct(rows, parts=part), rows, dtype=np.float64) / lengths
        for part in ("cluster", "common")
    )
    return own, common
