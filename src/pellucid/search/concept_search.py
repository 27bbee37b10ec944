"""Search a collection by one concept of the query: the query is projected, the collection is searched as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.concepts import ConceptSubspaces
from pellucid.search.collection import Collection
from pellucid.search.explanation import Explanation, explain
from pellucid.search.score_cache import Described
from pellucid.selection import diversify

# a diverse list is chosen from this many times as many hits, and at least from so many
DIVERSE_FROM, DIVERSE_LEAST = 5, 50
# hits of the plain and of the projected query that the gated score looks at
SHORTLIST = 1000

Names = str | Sequence[str]


@dataclass(frozen=True)
class Hit:
    """One result: where it ranks, how close it is, which item it is; :meth:`explain` says why."""

    rank: int
    score: float
    position: int
    item: dict[str, Any]
    why: Callable[..., Explanation] | None = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> str:
        return str(self.item["id"])

    def explain(self, **vocabulary: Any) -> Explanation:
        """Why this item is close to what was searched for; see :meth:`ConceptSearch.explain`."""
        if self.why is None:
            raise ValueError("Only a hit that ConceptSearch.search returned knows what was searched for.")
        return self.why(**vocabulary)


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
        self._described = Described(collection, model)

    def search(
        self,
        x: Any,
        concept: Names | None = None,
        k: int = 20,
        diverse: bool = False,
        *,
        without: Names | None = None,
        score: str = "cosine",
        where: Any = None,
    ) -> list[Hit] | list[list[Hit]]:
        """The k items nearest to x as seen through a concept, or several together; all of x if None.

        Parameters
        ----------
        x : a vector, the id of an item (which is then left out of its own results), a text if ``embed`` was given, or
            a batch of vectors (a list of hits each)
        diverse : choose the k among a longer list so that they differ, in the concept if one is given
        without : concepts to take out of the query first
        score : "cosine" of the projected query and an item (the paper's), or "gated", which also asks how much of the
            concept the item has (``model.fit_gate`` first; see ``ConceptSubspaces.gated_scores``)
        where : a filter on the columns of the items, in the language of the collection's engine; see
            ``Collection.search``
        """
        query, own = self._query(x)
        if score not in ("cosine", "gated"):
            raise ValueError(f'score must be "cosine" or "gated", got {score!r}.')
        if score == "gated" and concept is None:
            raise ValueError('score="gated" asks how much of a concept an item has: name the concept.')
        wanted = max(DIVERSE_FROM * k, DIVERSE_LEAST) if diverse else k
        rest = query if without is None else self.model.remove(query, without)
        if score == "gated":
            ranked = [self._gated(row, concept, wanted + 1, where) for row in rest]  # type: ignore[arg-type]
        else:
            asked, length = self.filter(rest, concept), wanted + (own is not None)
            ranked = list(zip(*self.collection.search(asked, length, where=where)))
        results = []
        for x_row, (positions, scores) in zip(query, ranked):
            others = positions != own
            positions, scores = positions[others][:wanted], scores[others][:wanted]
            if diverse and len(positions):
                rows = np.asarray(self.collection.vectors(positions), dtype=np.float32)
                chosen = diversify(self.filter(rows, concept), k, scores)
                positions, scores = positions[chosen], scores[chosen]
            results.append(
                [
                    Hit(
                        rank,
                        float(close),
                        int(position),
                        self.collection.item(int(position)),
                        partial(self._why, x_row, int(position)),
                    )
                    for rank, (position, close) in enumerate(zip(positions[:k], scores[:k]), start=1)
                ]
            )
        return results if np.ndim(x) == 2 else results[0]

    def _gated(self, x: NDArray[Any], concept: Names, k: int, where: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The k best of those that the engine finds near the query or near its projection, by the gated score."""
        looked_for = np.vstack([x[None], self.filter(x[None], concept)])
        near, _ = self.collection.search(looked_for, max(SHORTLIST, 10 * k), where=where)
        positions = np.unique(near)
        stored = self._described.rows(positions)
        rows = np.asarray(self.collection.vectors(positions), dtype=np.float32)
        scores = self.model.gated_scores(x[None], concept, rows, stored)[0]
        best = np.argsort(-scores, kind="stable")[:k]
        return positions[best], scores[best]

    def filter(self, query: NDArray[Any], concept: Names | None, without: Names | None = None) -> NDArray[Any]:
        """The query vectors (n, d) that are searched for."""
        rest = query if without is None else self.model.remove(query, without)
        return rest if concept is None else self.model.project(rest, concept)

    def explain(self, x: Any, y: Any, **vocabulary: Any) -> Explanation:
        """Why two items, vectors or texts are close; ``words`` and ``word_vectors`` let it name the terms."""
        return explain(self.model, self._query(x)[0][0], self._query(y)[0][0], **vocabulary)

    def _why(self, query: NDArray[Any], position: int, **vocabulary: Any) -> Explanation:
        return explain(self.model, query, self.collection.vectors([position])[0], **vocabulary)

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
