"""Search a collection by one concept of the query: the query is projected, the collection is searched as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.concepts import ConceptSubspaces
from pellucid.search.collection import Collection
from pellucid.search.explanation import Explanation, explain

Names = str | Sequence[str]


@dataclass(frozen=True)
class Hit:
    """One result: where it ranks, how close it is, which item it is."""

    rank: int
    score: float
    position: int
    item: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.item["id"])


class ConceptSearch:
    """Ask a collection for more like one part of an item.

    Parameters
    ----------
    collection : the items, in the space the model was fitted in (normalised and centred, if the model was)
    model : fitted ``ConceptSubspaces``
    embed : function from a list of texts to vectors (n, d) in that space, for searching by text
    """

    def __init__(
        self, collection: Collection, model: ConceptSubspaces, embed: Callable[[list[str]], Any] | None = None
    ) -> None:
        if model.atoms_.shape[1] != collection.dimension:
            raise ValueError(
                f"The model was fitted on {model.atoms_.shape[1]} dimensions, but the collection has "
                f"{collection.dimension}."
            )
        self.collection, self.model, self.embed = collection, model, embed

    def search(
        self, x: Any, concept: Names | None = None, k: int = 20, *, without: Names | None = None
    ) -> list[Hit] | list[list[Hit]]:
        """The k items nearest to x as seen through a concept, or several together; all of x if None.

        ``x`` is a vector, the id of an item (which is then left out of its own results), a text if ``embed`` was
        given, or a batch of vectors (a list of hits each). ``without`` takes concepts out of the query first.
        """
        query, own = self._query(x)
        filtered = self.filter(query, concept, without)
        positions, scores = self.collection.search(filtered, k + (own is not None))
        results = [
            [
                Hit(rank, float(score), int(position), self.collection.item(int(position)))
                for rank, (position, score) in enumerate(
                    [(p, s) for p, s in zip(row, close) if own is None or p != own][:k], start=1
                )
            ]
            for row, close in zip(positions, scores)
        ]
        return results if np.ndim(x) == 2 else results[0]

    def filter(self, query: NDArray[Any], concept: Names | None, without: Names | None = None) -> NDArray[Any]:
        """The query vectors (n, d) that are searched for."""
        rest = query if without is None else self.model.remove(query, without)
        return rest if concept is None else self.model.project(rest, concept)

    def explain(self, x: Any, y: Any, **vocabulary: Any) -> Explanation:
        """Why two items, vectors or texts are close; ``words`` and ``word_vectors`` let it name the terms."""
        return explain(self.model, self._query(x)[0][0], self._query(y)[0][0], **vocabulary)

    def _query(self, x: Any) -> tuple[NDArray[Any], int | None]:
        """The query as rows, and the position of the item it is, if it is one."""
        if isinstance(x, str):
            if x in self.collection:
                position = self.collection.position(x)
                return np.asarray(self.collection.vectors([position]), dtype=np.float32), position
            if self.embed is None:
                raise ValueError(f"There is no item {x!r}; to search by text, give ConceptSearch an embed function.")
            return np.atleast_2d(np.asarray(self.embed([x]))), None
        rows = np.atleast_2d(np.asarray(x))
        if rows.ndim != 2 or rows.shape[1] != self.collection.dimension:
            raise ValueError(f"A query has {self.collection.dimension} numbers, but this one has shape {np.shape(x)}.")
        return rows, None
