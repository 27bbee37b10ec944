"""What a few items have in common and apart, read off all concepts (paper 2, Figure 5d and e)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import Floats
from pellucid.binary.packed_bits import Bits


@dataclass(frozen=True)
class SubConcepts:
    """The ways in which concepts split a few items, as :func:`concept_projection` returns them.

    Attributes
    ----------
    patterns : ndarray of shape (k, q), dtype uint8
        The sub-concepts, strongest first: a value for each of the q items, 0 for the first of them.
    weights : ndarray of shape (k,)
        Summed weights of the concepts that split the items so.
    counts : ndarray of shape (k,)
        How many concepts those are.
    scores : ndarray of shape (p, k)
        For every item of the fit, the mean of those concepts, between 0 and 1.
    coefficients : ndarray of shape (k, b)
        How the concepts make the scores, up to a constant, by which ``remove`` of the model takes them out.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import BinaryAutoencoder, concept_projection
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> found = concept_projection(BinaryAutoencoder(random_state=0).fit(X), [0, 6])
    >>> found.patterns.tolist(), found.counts.tolist()  # items 0 and 6 differ in two concepts
    ([[0, 1]], [2])
    >>> found.coefficients.tolist()
    [[0.5, 0.5, 0.0]]
    """

    patterns: Bits
    weights: Floats
    counts: NDArray[np.int64]
    scores: Floats
    coefficients: Floats


def concept_projection(model: Any, items: ArrayLike) -> SubConcepts:
    """Group the concepts of a fitted model by how they split a few items, and score all items by each group.

    Concepts that do not split these items are left out.

    Parameters
    ----------
    model : BinaryAutoencoder, IterativeAssignment or CombinedConcepts
        A fitted model.
    items : array-like of int of shape (q,)
        Positions of at least two items of the fit.

    Returns
    -------
    SubConcepts
        The ways in which the items are split, strongest first.

    Raises
    ------
    ValueError
        If ``items`` are not at least two positions of items of the fit.

    See Also
    --------
    analogram_of : The same as a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import BinaryAutoencoder, concept_projection
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
    >>> found = concept_projection(BinaryAutoencoder(random_state=0).fit(X), [0, 4, 6])
    >>> found.patterns
    array([[0, 1, 1],
           [0, 0, 1]], dtype=uint8)
    >>> found.weights.round(2)
    array([9., 4.])
    """
    check_is_fitted(model, "concepts_")
    rows = np.asarray(items)
    count = len(model.concepts_)
    if rows.ndim != 1 or rows.size < 2 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= count:
        raise ValueError(f"items must be at least two positions of the {count} items of the fit, counted from 0.")
    S = model.concepts_ ^ model.concepts_[rows[0]]  # the first of the items has none
    patterns, group = np.unique(S[rows].T, axis=0, return_inverse=True)
    split = np.flatnonzero(patterns.any(axis=1))
    weights = np.bincount(group, model.weights_, len(patterns)).astype(np.float64)
    split = split[np.argsort(-weights[split], kind="stable")]
    counts = np.bincount(group, minlength=len(patterns))[split]
    scores = np.stack([S[:, group == k].mean(axis=1) for k in split], axis=1) if split.size else np.zeros((count, 0))
    signs = 1.0 - 2.0 * model.concepts_[rows[0]]
    coefficients = (group == split[:, None]) * signs / np.maximum(counts, 1)[:, None]
    return SubConcepts(patterns[split], weights[split], counts, scores, coefficients)
