"""How far columns are from orthonormal: paper 5's loss, its normalisation, and what both do to part of a choice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid._core.jit import kernel
from pellucid.solvers.design import columns_in_a_block, mmap_zeros

ISOMETRY, BASIS_PURSUIT = 0, 1
# least eigenvalue: a column that depends on the others has an enormous loss, but one that compares
SMALLEST = 1e-300
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


@kernel
def log_loss(columns: Floats, chosen: Ints, count: int, kind: int, power: float) -> float:
    """Logarithm of the loss of the first ``count`` chosen columns, which stand in the rows of an array.

    ISOMETRY: Σ g(σ_d) of their singular values (Eq. 6). BASIS_PURSUIT: Σ ‖row of the pseudo-inverse‖ (section 6.4).
    Neither falls when a column is added, and each further column adds at least what it would add alone.
    """
    square = np.empty((count, count))
    for i in range(count):
        for j in range(i + 1):
            total = 0.0
            for k in range(columns.shape[1]):
                total += columns[chosen[i], k] * columns[chosen[j], k]
            square[i, j] = square[j, i] = total
    if kind == BASIS_PURSUIT:
        values, vectors = np.linalg.eigh(square)
        if values[0] <= 1e-15 * values[count - 1]:
            return np.inf
        total = 0.0
        for i in range(count):
            row = 0.0
            for j in range(count):
                row += vectors[i, j] * vectors[i, j] / values[j]
            total += np.sqrt(row)
        return float(np.log(total))
    values = np.linalg.eigvalsh(square)
    largest = 0.0
    for i in range(count):
        exponent = 0.5 * power * np.log(max(values[i], SMALLEST))
        values[i] = exponent
        largest = max(largest, np.exp(abs(exponent)))
    if np.isinf(largest):
        return np.inf
    total = 0.0
    for i in range(count):
        total += np.exp(np.exp(values[i]) - largest) + np.exp(np.exp(-values[i]) - largest)
    return float(np.log(total) + largest - np.log(2.0) - 1.0)
