"""What can be drawn of a model's concepts: the analogram of a few items, or of all, by the strongest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import Floats
from pellucid.binary.analogram import Analogram
from pellucid.binary.projection import concept_projection


@dataclass(frozen=True)
class View:
    """graph : the analogram
    weights : (b,) of its concepts, strongest first
    counts : (b,) how many concepts of the model split the items as each of them does
    share : of the weight of all concepts that tell the items apart, the part that is in the graph
    """

    graph: Analogram
    weights: Floats
    counts: NDArray[np.int64]
    share: float


def analogram_of(
    model: Any,
    items: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    *,
    max_concepts: int | None = None,
    max_nodes: int = 100,
) -> View:
    """The graph of items of a fitted model, by as many of the strongest concepts as it can be read with.

    Parameters
    ----------
    model : fitted ``BinaryAutoencoder`` or ``IterativeAssignment``
    items : positions of items of the fit, at least two; all if None
    names : of these items; their positions if None
    max_concepts : take no more than that many
    max_nodes : take no more concepts than give a graph of this size
    """
    check_is_fitted(model, "concepts_")
    rows = np.arange(len(model.concepts_)) if items is None else np.asarray(items)
    found = concept_projection(model, rows)
    count = len(found.patterns) if max_concepts is None else min(max_concepts, len(found.patterns))
    if not count:
        raise ValueError("No concept tells these items apart, so there is no graph to draw.")
    called = [str(row) for row in rows] if names is None else list(names)
    S = found.patterns.T
    best = Analogram(S[:, :1], called)
    most, few = count, 1
    while few < most:  # more concepts never give fewer nodes of the closure, so that halving finds the number
        middle = (few + most + 1) // 2
        graph = _at_most(S[:, :middle], called, max_nodes)
        if graph is None:
            most = middle - 1
        else:
            best, few = graph, middle
    share = float(found.weights[:few].sum() / max(found.weights.sum(), np.finfo(float).tiny))
    return View(best, found.weights[:few], found.counts[:few], share)


def _at_most(S: NDArray[np.uint8], names: list[str], max_nodes: int) -> Analogram | None:
    """The graph, or None if it has more nodes than that, or than can be made."""
    try:
        graph = Analogram(S, names)
    except ValueError:
        return None
    return graph if len(graph.nodes) <= max_nodes else None
