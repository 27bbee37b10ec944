"""Labels from words alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite, working_dtype

# rows that are compared with the words at a time
BLOCK_ROWS = 65_536


def zero_shot_labels(X: ArrayLike, concept_vectors: ArrayLike, n_active: int = 2) -> NDArray[np.bool_]:
    """Label rows from words alone: the concepts whose vectors are nearest to each (paper 1, section 3.4).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings as they come, before any centring.
    concept_vectors : array-like of shape (S, d)
        Embeddings of the concepts' names by the same model.
    n_active : int, default=2
        Concepts per row.

    Returns
    -------
    ndarray of shape (n, S)
        Booleans, ``n_active`` of them True in each row.

    Raises
    ------
    ValueError
        If the two have different widths, or ``n_active`` is not between 1 and S.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import zero_shot_labels
    >>> zero_shot_labels([[3, 4, 0]], np.eye(3), n_active=1).tolist()
    [[False, True, False]]
    """
    rows, words = _units(X, "X"), _units(concept_vectors, "concept_vectors")
    if rows.shape[1] != words.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, but concept_vectors has {words.shape[1]}.")
    if not 1 <= n_active <= len(words):
        raise ValueError(f"n_active must be between 1 and the number of concepts, {len(words)}, got {n_active}.")
    labels = np.zeros((len(rows), len(words)), dtype=bool)
    for start in range(0, len(rows), BLOCK_ROWS):
        cosines = rows[start : start + BLOCK_ROWS] @ words.T
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :n_active]
        np.put_along_axis(labels[start : start + BLOCK_ROWS], nearest, True, axis=1)
    return labels


def _units(values: ArrayLike, name: str) -> NDArray[Any]:
    rows = as_matrix(values, name)
    check_finite(rows, name)
    return unit_rows(rows.astype(working_dtype(rows), copy=False))
