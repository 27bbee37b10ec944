"""How far columns are from orthonormal: paper 5's loss, its normalisation, and what both do to part of a choice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid._core.kernels import log_losses
from pellucid.solvers.design import columns_in_a_block, mmap_zeros

# kinds of losses, as column_loss.h has them, too
ISOMETRY, BASIS_PURSUIT = 0, 1
# logarithms that are taken together
LOGS = 1 << 13


def column_lengths(X: NDArray[Any]) -> Floats:
    """‖x_p‖ of the columns of X (D, P), without overflow."""
    lengths, block = mmap_zeros(X.shape[1]), columns_in_a_block(len(X))
    for start in range(0, X.shape[1], block):
        part = np.ascontiguousarray(X[:, start : start + block], dtype=np.float64)
        largest = np.abs(part).max(axis=0)
        lengths[start : start + block] = largest * np.linalg.norm(part / np.where(largest > 0, largest, 1), axis=0)
    return lengths


def log_symmetric_length(lengths: Floats, power: float) -> Floats:
    """log g(t), g(t) = (exp(t^c) + exp(t^−c)) / 2e (Eq. 8): 0 at t = 1, more elsewhere, infinite at t = 0."""
    out = mmap_zeros(len(lengths))
    with np.errstate(divide="ignore", over="ignore"):
        for start in range(0, len(lengths), LOGS):
            logs = power * np.log(lengths[start : start + LOGS])
            out[start : start + LOGS] = np.logaddexp(np.exp(logs), np.exp(-logs)) - np.log(2) - 1
    return out


def log_loss(columns: Floats, subsets: Ints, kind: int, power: float) -> Floats:
    """Logarithms of the losses of choices of columns, which stand in the rows of an array (n, D); a choice is a row of
    ``subsets`` (count, size).

    ISOMETRY: Σ g(σ_d) of their singular values (Eq. 6). BASIS_PURSUIT: Σ ‖row of the pseudo-inverse‖ (section 6.4).
    Neither falls when a column is added, and each further column adds at least what it would add alone.
    """
    losses = np.empty(len(subsets))
    log_losses(columns, subsets, kind, power, losses)
    return losses
