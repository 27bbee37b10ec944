"""Array types, and the small linear algebra that every room needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FloatMatrix = NDArray[np.floating[Any]]


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Rows of unit length; rows of zeros stay as they are."""
    # a row of huge or tiny numbers would over- or underflow when squared
    largest = np.abs(X).max(axis=-1, keepdims=True, initial=0.0)
    scaled = X / np.where(largest > 0, largest, 1).astype(X.dtype)
    lengths = np.sqrt(np.einsum("...i,...i->...", scaled, scaled, dtype=np.float64))[..., None]
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1).astype(X.dtype))


def normalised_or(vector: NDArray[Any], otherwise: NDArray[Any]) -> NDArray[Any]:
    """The vector at unit length, or ``otherwise`` where it has none."""
    length = np.linalg.norm(vector)
    return np.asarray(vector / length, dtype=otherwise.dtype) if length > 0 else otherwise
