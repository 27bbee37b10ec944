"""What estimators do with rows that come in blocks: know them, note them in a fit, and answer in blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pellucid.rows.blocks import Blocks
from pellucid.rows.parts import Array, is_dask, single_column, whole_rows


def is_lazy(X: Any) -> bool:
    """Whether X is to be gone through block by block.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    bool
        True for :class:`Blocks` and a ``dask.array``.

    Examples
    --------
    >>> from pellucid.rows import Blocks, is_lazy
    >>> is_lazy(Blocks([[1.0, 2.0]])), is_lazy([[1.0, 2.0]])
    (True, False)
    """
    return isinstance(X, Blocks) or is_dask(X)


def as_blocks(X: Any) -> Blocks:
    """Rows of vectors in blocks.

    Parameters
    ----------
    X : Blocks or array-like of shape (n, d), dask.array, str or Path
        Blocks stay as they are; :class:`Blocks` takes the others.

    Returns
    -------
    Blocks
        With two dimensions.

    Raises
    ------
    ValueError
        These are not rows of vectors.

    Examples
    --------
    >>> from pellucid.rows import as_blocks
    >>> as_blocks([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2)
    """
    blocks = X if isinstance(X, Blocks) else Blocks(X)
    if blocks.ndim != 2:
        raise ValueError(f"Blocks of vectors are needed here, one row each, but these have shape {blocks.shape}.")
    return blocks


def fitted_blocks(model: Any, X: Any) -> Blocks:
    """The rows that a model is fitted to, as blocks; it notes what scikit-learn's ``validate_data`` notes of an array,
    and blocks have no names of columns."""
    blocks = as_blocks(X)
    model.__dict__.pop("feature_names_in_", None)
    model.n_features_in_ = blocks.shape[1]
    return blocks


def map_blocks(function: Callable[[Array], Array], X: Any, width: int | None, dtype: Any = None) -> Any:
    """What a function makes of every block of X, each when it is asked for: Blocks of Blocks, a dask.array of one.

    It is called with a block (m, d) and returns one (m, ``width``), or (m,) where ``width`` is None, of ``dtype``, or
    of the same as before.
    """
    if isinstance(X, Blocks):
        if width is not None:
            return X.map(function, width, dtype)
        return X.map(partial(single_column, function), 1, dtype)
    whole = whole_rows(X)
    kind = np.dtype(dtype or (X.dtype if X.dtype in (np.float32, np.float64) else np.float64))
    if width is None:
        return whole.map_blocks(function, dtype=kind, drop_axis=1, meta=np.empty(0, kind))
    chunks, gone = (whole.chunks[0], (width,)), list(range(2, X.ndim))
    return whole.map_blocks(function, dtype=kind, chunks=chunks, drop_axis=gone, meta=np.empty((0, 0), kind))
