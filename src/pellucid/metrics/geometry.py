"""How alike two geometries are, and how far rows are from orthonormal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def cka(X: ArrayLike, Y: ArrayLike) -> float:
    """Centred kernel alignment of two descriptions of the same items (paper 2, Eq. 2).

    It is 1 for the same geometry up to scale, rotation and shift, and 0 where either has all items in one place.

    Parameters
    ----------
    X : array-like of shape (n, d)
        One description, an item in each row.
    Y : array-like of shape (n, e)
        The other one. For binary concepts S with weights π this is ``S * np.sqrt(weights)``.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from pellucid.metrics import cka
    >>> round(cka([[0, 0], [1, 0], [0, 1]], [[5, 5], [5, 3], [7, 5]]), 6)
    1.0
    """
    a, b = (unit_scale(np.asarray(rows, dtype=np.float64)) for rows in (X, Y))
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(
            f"X and Y must describe the same items in their rows, but their shapes are {a.shape}, {b.shape}."
        )
    if max(a.shape[1], b.shape[1]) > len(a):  # the kernels are the smaller matrices
        first, second = a @ a.T, b @ b.T
        inner, norms = np.sum(first * second), np.linalg.norm(first) * np.linalg.norm(second)
    else:
        inner, norms = np.sum((a.T @ b) ** 2), np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)
    return float(inner / norms) if norms > 0 else 0.0


def unit_scale(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows without their mean, and with 1 as the largest number."""
    shifted = rows - rows.mean(axis=0)
    largest = np.abs(shifted).max(initial=0.0)
    # what is left of a constant column is round-off
    return np.asarray(shifted / largest) if largest > 1e-14 * np.abs(rows).max(initial=0.0) else np.zeros_like(rows)


def isometry_loss(X: ArrayLike, power: float = 1.0) -> Any:
    """Paper 5's loss of rows: k for k orthonormal ones and more for all others; infinite where it overflows.

    Σ g(σ), g(t) = (exp(t^c) + exp(t^−c)) / 2e, over the k singular values (Eq. 6 and 8).

    Parameters
    ----------
    X : array-like of shape (..., k, D)
        At most as many rows as they have numbers, k ≤ D; or many such sets at once.
    power : float, default=1.0
        The c of the formula; larger punishes lengths other than 1 more.

    Returns
    -------
    float or ndarray of shape (...)
        The loss of each set.

    Raises
    ------
    ValueError
        There are more rows than they have numbers.

    Examples
    --------
    >>> from pellucid.metrics import isometry_loss
    >>> float(isometry_loss([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    2.0
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim < 2 or rows.shape[-2] > rows.shape[-1]:
        raise ValueError(
            f"isometry_loss takes at most as many rows as they have numbers, but the shape is {rows.shape}; if the "
            f"vectors are columns, pass X.T."
        )
    with np.errstate(divide="ignore", over="ignore"):
        raised = np.power(np.linalg.svd(rows, compute_uv=False), power)
        return ((np.exp(raised - 1.0) + np.exp(1.0 / raised - 1.0)) / 2.0).sum(axis=-1)
