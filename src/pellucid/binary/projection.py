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
    """Sub-concepts: the ways in which concepts split a few items, strongest first.

    patterns : (k, q) value for each of the items; 0 for the first of them
    weights : (k,) summed weights of the concepts that split the items so
    counts : (k,) how many concepts those are
    scores : (p, k) for every item of the fit, the mean of those concepts, between 0 and 1
    """

    patterns: Bits
    weights: Floats
    counts: NDArray[np.int64]
    scores: Floats


def concept_projection(model: Any, items: ArrayLike) -> SubConcepts:
    """Group the concepts of a fitted model by how they split ``items`` (positions of items of the fit), and score all
    items by the mean of each group; concepts that do not split them are left out."""
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
    return SubConcepts(patterns[split], weights[split], counts, scores)
