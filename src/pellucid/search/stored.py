"""A model as it meets the rows of a collection."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from pellucid.search.readable import ReadableCollection


def stored_model(model: Any, collection: ReadableCollection) -> Any:
    """Give the model as it meets the rows of a collection: the same, unless an earlier version prepared them already.

    Parameters
    ----------
    model : ConceptSubspaces or None
        A fitted model.
    collection : Collection or AttachedCollection
        The items.

    Returns
    -------
    ConceptSubspaces or None
        The model, or a copy that prepares nothing.

    Raises
    ------
    ValueError
        If the rows were prepared for another model.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.search import Collection, stored_model
    >>> model = ConceptSubspaces(1).fit([[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"])
    >>> stored_model(model, Collection.create(mkdtemp(), [[1, 0], [0, 1]])) is model
    True
    """
    kept = collection.preparation
    before = getattr(model, "preparation_", None)
    if before is None or not before.center:  # to normalise once more changes nothing
        return model
    if kept is None:
        if before.n_tokens > 1:
            raise ValueError("The model normalises tokens on their own, which a search of raw vectors cannot do.")
        return model
    if not np.array_equal(before.mean_, kept.mean_):
        raise ValueError(f"{collection.place} was prepared for another model: index its vectors again.")
    met = copy(model)
    met.center, met.preparation_ = False, None
    return met
