"""The one query path: whole or by concept, without some, diverse, filtered, and why. Queries and stored rows are raw;
the model prepares both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.concepts import ConceptSubspaces
from pellucid.search.collection import Collection
from pellucid.search.explanation import Explanation, explain_cosine, explain_filtered, explain_gated
from pellucid.search.score_cache import ScoreCache
from pellucid.selection import diversify

# a diverse list is chosen from this many times as many hits, and at least from so many
DIVERSE_FROM, DIVERSE_LEAST = 5, 50
# hits of the plain and of the projected query that the gated score looks at
SHORTLIST = 1000
SCORES = ("cosine", "gated")

Names = str | Sequence[str]


@dataclass(frozen=True)
class Hit:
    """One result: where it ranks, how close it is, which item it is; :meth:`explain` says why.

    Attributes
    ----------
    rank : int
        1 for the best.
    score : float
        How close it is.
    position : int
        Where the item stands in the collection.
    read : callable
        Gives the item, which is looked up when it is first asked for.
    why : callable or None
        Explains the score; None without a model.
    """

    rank: int
    score: float
    position: int
    read: Callable[[], dict[str, Any]] = field(repr=False, compare=False)
    why: Callable[..., Explanation] | None = field(default=None, repr=False, compare=False)

    @property
    def item(self) -> dict[str, Any]:
        """Id and columns of the item."""
        kept = self.__dict__  # functools.cached_property takes a lock, and longer than the look-up
        if "_item" not in kept:
            kept["_item"] = self.read()
        return kept["_item"]  # type: ignore[no-any-return]

    @property
    def id(self) -> str:
        """Id of the item."""
        return str(self.item["id"])

    def explain(self, **vocabulary: Any) -> Explanation:
        """Say which concepts make up this score.

        Parameters
        ----------
        **vocabulary : dict
            ``words`` and ``word_vectors`` that name the concepts' parts, and how many of them (``top``).

        Returns
        -------
        Explanation
            One term per concept; print it for a table.

        Raises
        ------
        ValueError
            If the search had no model.
        """
        if self.why is None:
            raise ValueError("Only a hit that a search with a model returned can be explained.")
        return self.why(**vocabulary)


@dataclass(frozen=True)
class _Asked:
    """What a search asks for beside the query."""

    concept: Names | None
    without: Names | None
    score: str


class ConceptSearch:
    """Ask a collection for more like an item, or like one part of it.

    Parameters
    ----------
    collection : Collection
        The items, with their vectors as they came.
    model : ConceptSubspaces, default=None
        A fitted model; without one, items are compared as wholes.
    embed : callable, default=None
        From a list of texts to vectors (n, d) as they come, for searching by text.

    Raises
    ------
    ValueError
        If the model was fitted on another number of dimensions.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.search import Collection, ConceptSearch
    >>> model = ConceptSubspaces(1, center=False).fit([[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"])
    >>> collection = Collection.create(mkdtemp(), [[1, 0], [0, 1], [3, 4]], ["purr", "bark", "both"])
    >>> [hit.id for hit in ConceptSearch(collection, model).search("both", "dog", k=1)]
    ['bark']
    """

    def __init__(
        self,
        collection: Collection,
        model: ConceptSubspaces | None = None,
        embed: Callable[[list[str]], Any] | None = None,
    ) -> None:
        if model is not None and model.atoms_.shape[1] != collection.dimension:
            raise ValueError(
                f"The model was fitted on {model.atoms_.shape[1]} dimensions, but the collection has "
                f"{collection.dimension}."
            )
        self.collection, self.model, self.embed = collection, model, embed
        self.stored = stored_model(model, collection)
        self._cache = None if self.stored is None else ScoreCache(collection, self.stored)

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
        """Find the items nearest to x as seen through a concept, or several together.

        Parameters
        ----------
        x : str, array-like of shape (d,) or (q, d)
            The id of an item (which is then left out of its own results), a text if ``embed`` was given, a vector, or a
            batch of vectors.
        concept : str or list of str, default=None
            What to look for in x; None takes all of it.
        k : int, default=20
            Most hits.
        diverse : bool, default=False
            Choose the k among a longer list so that they differ, in the concept if one is given.
        without : str or list of str, default=None
            Concepts to take out of the query first.
        score : {"cosine", "gated"}, default="cosine"
            The cosine of the projected query and an item (the paper's), or a score that also asks how much of the
            concept the item has (``model.fit_gate`` first; see ``ConceptSubspaces.gated_scores``).
        where : object, default=None
            A filter on the columns of the items, in the language of the collection's engine; see
            :meth:`Collection.search`.

        Returns
        -------
        list of Hit, or list of list of Hit
            Best first; for a batch a list each.

        Raises
        ------
        ValueError
            If a concept or an item is not known, or there is no model that knows concepts.
        """
        asked = self._checked(concept, without, score)
        query, own = self._query(x)
        wanted = max(DIVERSE_FROM * k, DIVERSE_LEAST) if diverse else k
        results = []
        for row, (positions, scores) in zip(query, self._ranked(query, asked, wanted + (own is not None), where)):
            others = positions != own
            positions, scores = positions[others][:wanted], scores[others][:wanted]
            if diverse and len(positions):
                chosen = diversify(self._rows(positions, concept), k, scores)
                positions, scores = positions[chosen], scores[chosen]
            results.append(self._hits(row, asked, positions[:k], scores[:k]))
        return results if not isinstance(x, str) and np.ndim(x) == 2 else results[0]

    def near(self, points: NDArray[Any], k: int = 20, where: Any = None) -> list[list[Hit]]:
        """Find the items nearest to points that are prepared already, such as atoms.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            The points.
        k : int, default=20
            Most hits per point.
        where : object, default=None
            A filter on the columns of the items; see :meth:`Collection.search`.

        Returns
        -------
        list of list of Hit
            A list for each point, best first.
        """
        asked = _Asked(None, None, "cosine")
        return [self._hits(row, asked, *found) for row, found in zip(points, self._ranked(points, asked, k, where))]

    def explain(
        self,
        x: Any,
        y: Any,
        *,
        concept: Names | None = None,
        without: Names | None = None,
        score: str = "cosine",
        **vocabulary: Any,
    ) -> Explanation:
        """Say which concepts make up the score that a search for x gives y.

        Parameters
        ----------
        x : str or array-like of shape (d,)
            The query: an item, a text or a vector.
        y : str or array-like of shape (d,)
            What it is compared with: the same.
        concept : str or list of str, default=None
            The concept that was searched by.
        without : str or list of str, default=None
            Concepts that were taken out of the query first.
        score : {"cosine", "gated"}, default="cosine"
            Which score to explain.
        **vocabulary : dict
            ``words`` and ``word_vectors`` that name the concepts' parts, and how many of them (``top``).

        Returns
        -------
        Explanation
            One term per concept; print it for a table.

        Raises
        ------
        ValueError
            If there is no model, or a concept or an item is not known.
        """
        asked = self._checked(concept, without, score)
        return self._explained(self._query(x)[0], self._query(y)[0], asked, **vocabulary)

    # ranking

    def _ranked(
        self, query: NDArray[Any], asked: _Asked, k: int, where: Any
    ) -> list[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Positions and scores for each query (n, d), best first."""
        if asked.score == "gated":
            return [self._gated(row[None], asked, k, where) for row in query]
        if self.stored is not None:
            query = self.stored.cones.filtered(query, asked.concept, asked.without)
        return list(zip(*self.collection.search(query, k, where=where, center=self._center)))

    def _gated(self, x: NDArray[Any], asked: _Asked, k: int, where: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The k best of those that the engine finds near the query or near its projection, by the gated score."""
        assert self.stored is not None
        assert self._cache is not None
        assert asked.concept is not None
        cones = self.stored.cones
        rest = cones.filtered(x, None, asked.without)
        looked_for = np.vstack([rest, cones.project(rest, asked.concept)])
        near, _ = self.collection.search(looked_for, max(SHORTLIST, 10 * k), where=where, center=self._center)
        positions = np.unique(near)
        scores = self.stored.gates.scores(rest, asked.concept, self._rows(positions), self._cache.rows(positions))[0]
        best = np.argsort(-scores, kind="stable")[:k]
        return positions[best], scores[best]

    @property
    def _center(self) -> NDArray[np.float64] | None:
        """What is taken out of the stored rows before they are compared."""
        before = None if self.stored is None else self.stored.preparation_
        return None if before is None or not before.center else before.mean_

    # hits, and why

    def _hits(self, query: NDArray[Any], asked: _Asked, positions: Any, scores: Any) -> list[Hit]:
        found = []
        for rank, (position, close) in enumerate(zip(positions.tolist(), scores.tolist()), start=1):
            why = None if self.stored is None else partial(self._explained, query[None], position, asked)
            found.append(Hit(rank, float(close), position, partial(self.collection.item, position), why))
        return found

    def _explained(
        self, query: NDArray[Any], other: int | NDArray[Any], asked: _Asked, **vocabulary: Any
    ) -> Explanation:
        """The score of a prepared row (1, d) and another, or that of the item at a position, as a sum over concepts."""
        if self.stored is None or self._cache is None:
            raise ValueError("There is no model: concepts are needed to say why two items are close.")
        cones, gates = self.stored.cones, self.stored.gates if asked.score == "gated" else None
        row = self._rows([other]) if isinstance(other, int) else other
        if gates is not None:
            assert asked.concept is not None
            described = self._cache.rows(np.array([other])) if isinstance(other, int) else gates.describe(row)
            rest = cones.filtered(query, None, asked.without)
            return explain_gated(gates, rest, row, asked.concept, described, **vocabulary)
        if asked.concept is None and asked.without is None:
            return explain_cosine(cones, query, row, **vocabulary)
        return explain_filtered(cones, cones.filtered(query, asked.concept, asked.without), row, **vocabulary)

    # queries

    def _checked(self, concept: Names | None, without: Names | None, score: str) -> _Asked:
        if score not in SCORES:
            raise ValueError(f'score must be "cosine" or "gated", got {score!r}.')
        if score == "gated" and concept is None:
            raise ValueError('score="gated" asks how much of a concept an item has: name the concept.')
        if self.stored is None and (concept is not None or without is not None):
            raise ValueError("There is no model: to search by concept, give one that knows the concepts.")
        if score == "gated" and self.stored is not None:
            assert self.stored.gates is not None  # says so if there is none
        return _Asked(concept, without, score)

    def _query(self, x: Any) -> tuple[NDArray[Any], int | None]:
        """The query as prepared rows, and the position of the item it is, if it is one."""
        if isinstance(x, str):
            if x in self.collection:
                position = self.collection.position(x)
                return self._rows([position]), position
            if self.embed is None:
                raise ValueError(f"There is no item {x!r}; to search by text, give ConceptSearch an embed function.")
            x = self.embed([x])
        rows = np.atleast_2d(np.asarray(x))
        if rows.ndim != 2 or rows.shape[1] != self.collection.dimension:
            raise ValueError(f"A query has {self.collection.dimension} numbers, but this one has shape {np.shape(x)}.")
        if self.model is not None:
            return np.asarray(self.model.prepare(rows)), None
        before = self.collection.preparation
        return np.asarray(rows if before is None else before.transform(rows)), None

    def _rows(self, positions: Any, concept: Names | None = None) -> NDArray[Any]:
        """Rows of the collection (n, d), prepared, and seen through a concept if one is named."""
        rows = np.asarray(self.collection.vectors(positions), dtype=np.float32)
        if self.stored is None:
            return rows
        return np.asarray(self.stored.cones.filtered(self.stored.prepare(rows), concept))


def stored_model(model: Any, collection: Collection) -> Any:
    """Give the model as it meets the rows of a collection: the same, unless an earlier version prepared them already.

    Parameters
    ----------
    model : ConceptSubspaces or None
        A fitted model.
    collection : Collection
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
        raise ValueError(f"{collection.folder} was prepared for another model: index its vectors again.")
    met = copy(model)
    met.center, met.preparation_ = False, None
    return met
