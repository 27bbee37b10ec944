"""Items that somebody else found, in the order in which a search by concept would have them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.search.hits import Hit
from pellucid.selection import diversify

if TYPE_CHECKING:
    from pellucid.search.query import ConceptSearch


def rerank(
    search: ConceptSearch,
    x: Any,
    candidates: Sequence[Any],
    *,
    concept: Any = None,
    k: int | None = None,
    diverse: bool = False,
    without: Any = None,
    score: str | None = None,
) -> list[Hit]:
    """Rank candidates as a search for x would; see :meth:`ConceptSearch.rerank`."""
    if not len(candidates):
        return []
    most = len(candidates) if k is None else k
    if most < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    want, _, names, _ = search._looked_for(x, concept, without, score)
    asked = [search._query(candidate) for candidate in candidates]
    rows = np.vstack([row for row, _ in asked])
    scores = want.row(0).scores(rows, search._presence)[0]
    order = np.lexsort((np.arange(len(scores)), -scores))
    if diverse:
        seen = rows if search.stored is None else search.stored.cones.filtered(rows, names or None)
        order = order[diversify(np.asarray(seen)[order], min(most, len(order)), scores[order])]
    found, read = [], search.collection.reader([at for _, at in asked if at is not None])
    for rank, i in enumerate(order[:most].tolist(), start=1):
        at, row = asked[i][1], rows[i : i + 1]
        item = partial(_unknown, i) if at is None else partial(read, at)
        why = None if search.stored is None else partial(search._explained, want.row(0), row)
        found.append(Hit(rank, float(scores[i]), i, item, why))
    return found


def _unknown(i: int) -> dict[str, Any]:
    """What stands for a candidate that is no item of the collection."""
    return {"id": f"candidate {i}"}
