"""The one query path: whole or by concept, without some, diverse, filtered, and why. Queries and stored rows are raw;
the model prepares both."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core import deadline
from pellucid._core.arrays import unit_rows
from pellucid.concepts import ConceptSubspaces, Vocabulary, WordConcept
from pellucid.preparation import CenteredNormalizer
from pellucid.search._folder import CollectionError
from pellucid.search.explanation import Explanation, explain_cosine, explain_wanted
from pellucid.search.hits import Hit
from pellucid.search.readable import ReadableCollection
from pellucid.search.stored import stored_model
from pellucid.search.texts import Text, TextQueries, text_encoder
from pellucid.search.wanted import Asked, Learned, Names, Seen, Wanted, composed, wanted, weights_of
from pellucid.selection import diversify

if TYPE_CHECKING:
    from pellucid.search.tracing import Trace

# a diverse list is chosen from this many times as many hits, and at least from so many
DIVERSE_FROM, DIVERSE_LEAST = 5, 50
# so many times as many hits of the linear query are ranked again by presence, and at least so many: of 11 500 captions
# that finds 99 % of the precision that ranking all of them does, and takes half a millisecond
SHORTLIST_FROM, SHORTLIST_LEAST = 10, 200
# rows that tell the mean of a collection without a model
MEAN_ROWS = 50_000
SCORES = ("presence", "projection")
# multiplications that take as long as reading an item and showing it
HIT = 2e6


class ConceptSearch:
    """Ask a collection for more like an item, or like one part of it.

    Parameters
    ----------
    collection : Collection or AttachedCollection
        The items, with their vectors as they came.
    model : ConceptSubspaces, default=None
        A fitted model; without one, items are compared as wholes.
    encoder : TextEncoder, str, callable or object, default=None
        What makes vectors of texts, for searching by text: see :class:`TextEncoder`.
    vocabulary : Vocabulary, default=None
        Words of the same encoder. Any of them can then stand where the name of a concept can, without a model even, and
        they name the parts in explanations.

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
        collection: ReadableCollection,
        model: ConceptSubspaces | None = None,
        encoder: Any = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        if vocabulary is not None and vocabulary.vectors.shape[1] != collection.dimension:
            raise ValueError(
                f"The words' vectors have {vocabulary.vectors.shape[1]} dimensions, but the collection has "
                f"{collection.dimension}."
            )
        if model is not None and model.atoms_.shape[1] != collection.dimension:
            raise ValueError(
                f"The model was fitted on {model.atoms_.shape[1]} dimensions, but the collection has "
                f"{collection.dimension}."
            )
        self.collection, self.model, self.vocabulary = collection, model, vocabulary
        self.encoder = text_encoder(encoder)
        self.stored = stored_model(model, collection)

    def search(
        self,
        x: Any,
        concept: Any = None,
        k: int = 20,
        diverse: bool = False,
        *,
        without: Any = None,
        score: str | None = None,
        where: Any = None,
        notes: list[str] | None = None,
    ) -> list[Hit] | list[list[Hit]]:
        """Find the items nearest to x as seen through a concept, or several together.

        Parameters
        ----------
        x : str, array-like of shape (d,) or (q, d), or list of tuple
            The id of an item (which is then left out of its own results), a text if there is an encoder (a
            :class:`Text` is one even if an item has it for an id), a vector, or a batch of vectors. Or parts of
            several: tuples of an item, text or vector, a concept (None for all of it), and a weight; a negative weight
            takes the part out.
        concept : str, WordConcept, list or dict, default=None
            What to look for in x; None takes all of it. A dict gives weights; those of concepts to keep out are
            negative.
        k : int, default=20
            Most hits.
        diverse : bool, default=False
            Choose the k among a longer list so that they differ, in the concept if one is given.
        without : str, WordConcept or list, default=None
            Concepts that the hits are not to have.
        score : {"presence", "projection"}, default=None
            How concepts count. "projection" is the cosine of the query's projection and an item (the paper's).
            "presence" also asks how likely the item has the concepts, and is what None takes if the model knows.
        where : object, default=None
            A filter on the columns of the items, in the language of the collection's engine; see
            :meth:`Collection.search`.
        notes : list of str or None, default=None
            Where to put what has to be known of the hits (see :meth:`notes`); None warns of it.

        Returns
        -------
        list of Hit, or list of list of Hit
            Best first; for a batch a list each.

        Raises
        ------
        ValueError
            If a concept or an item is not known, or there is no model that knows concepts.
        """
        want, own, names, told = self._looked_for(x, concept, without, score)
        for note in told:
            if notes is None:
                warnings.warn(note, stacklevel=2)
            else:
                notes.append(note)
        return self._searched(x, want, own, names, k, diverse, where)

    def notes(self, x: Any, concept: Any = None, *, score: str | None = None) -> list[str]:
        """Say which items that a search starts from probably lack what they are searched by.

        :meth:`search` warns of the same.

        Parameters
        ----------
        x : str, array-like of shape (d,) or (q, d), or list of tuple
            The query, as for :meth:`search`.
        concept : str, WordConcept, list or dict, default=None
            As for :meth:`search`.
        score : {"presence", "projection"}, default=None
            As for :meth:`search`.

        Returns
        -------
        list of str
            A sentence for each item and concept; empty for texts, vectors and what the model cannot tell.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid import ConceptSubspaces
        >>> from pellucid.search import Collection, ConceptSearch
        >>> X, pets = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 9, ["cat", "cat", "dog", "dog"] * 9
        >>> search = ConceptSearch(Collection.create(mkdtemp(), X), ConceptSubspaces(1).fit(X, pets))
        >>> search.notes("0", "cat"), search.notes("0", "dog")[0][:33]
        ([], "The item '0' probably has no dog:")
        """
        if is_composed(x):
            return self._composed(x, score)[2]
        found = self.collection.look_up(x) if isinstance(x, str) and not isinstance(x, Text) else None
        return [] if found is None else self._lacking(x, self._prepared(found[1]), self._asked(concept, None, score))

    def _searched(
        self, x: Any, want: Wanted, own: list[int | None], names: list[str], k: int, diverse: bool, where: Any
    ) -> list[Hit] | list[list[Hit]]:
        most = listed(k, diverse)
        here = [position for position in own if position is not None]
        results = []
        for i, (positions, scores) in enumerate(self._ranked(want, most + len(here), where)):
            deadline.check()
            others = ~np.isin(positions, here)
            positions, scores = positions[others][:most], scores[others][:most]
            if diverse and len(positions):
                chosen = diversify(self._rows(positions, names or None), k, scores)
                positions, scores = positions[chosen], scores[chosen]
            results.append(self._hits(want.row(i), positions[:k], scores[:k]))
        batch = not isinstance(x, str) and not is_composed(x) and np.ndim(x) == 2
        return results if batch else results[0]

    def rerank(
        self,
        x: Any,
        candidates: Sequence[Any],
        *,
        concept: Any = None,
        k: int | None = None,
        diverse: bool = False,
        without: Any = None,
        score: str | None = None,
    ) -> list[Hit]:
        """Rank items that somebody else found as a search for x would.

        Parameters
        ----------
        x : str, array-like of shape (d,), or list of tuple
            The query, as for :meth:`search`.
        candidates : list of str or of array-like of shape (d,)
            What to rank: ids of items, texts or vectors.
        concept : str, WordConcept, list or dict, default=None
            As for :meth:`search`; so are the next but k.
        k : int, default=None
            Most hits; None takes all.
        diverse : bool, default=False
            Choose the k so that they differ.
        without : str, WordConcept or list, default=None
            Concepts that the hits are not to have.
        score : {"presence", "projection"}, default=None
            How concepts count.

        Returns
        -------
        list of Hit
            Best first; ``position`` is the place among the candidates.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid.search import Collection, ConceptSearch
        >>> search = ConceptSearch(Collection.create(mkdtemp(), [[1, 0], [0, 1], [3, 4]], ["purr", "bark", "both"]))
        >>> [hit.id for hit in search.rerank([0, 1], ["purr", "both"])]
        ['both', 'purr']
        """
        from pellucid.search.reranking import rerank

        asked = {"concept": concept, "k": k, "diverse": diverse, "without": without, "score": score}
        return rerank(self, x, candidates, **asked)

    def work(self, queries: int, k: int, diverse: bool = False) -> float:
        """Estimate what a search costs, before it is begun.

        Parameters
        ----------
        queries : int
            How many vectors are searched for.
        k : int
            Most hits of each.
        diverse : bool, default=False
            Whether they are chosen so that they differ.

        Returns
        -------
        float
            Multiplications, about; a hit that is read and shown counts as many as take as long.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid.search import Collection, ConceptSearch
        >>> search = ConceptSearch(Collection.create(mkdtemp(), [[1, 0], [0, 1], [3, 4]]))
        >>> search.work(64, 2, diverse=True) > 64 * search.work(1, 2)
        True
        """
        n, d = len(self.collection), self.collection.dimension
        most = listed(k, diverse)
        ranked = max(SHORTLIST_LEAST, SHORTLIST_FROM * most) if self._presence is not None else most
        chosen = min(most, n) * min(k, n) * (d + min(k, n) / 2) if diverse else 0.0
        return queries * (n * d + min(ranked, n) * d + chosen + HIT * min(k, n))

    def swap(
        self, x: Any, y: Any, concept: str, k: int = 20, *, score: str | None = None, where: Any = None
    ) -> list[Hit]:
        """Find what is like x, but with y's part of a concept in place of its own.

        Parameters
        ----------
        x : str or array-like of shape (d,)
            What to be like: an item, a text or a vector.
        y : str or array-like of shape (d,)
            Whose part to take: the same.
        concept : str
            The concept.
        k : int, default=20
            Most hits.
        score : {"presence", "projection"}, default=None
            As for :meth:`search`.
        where : object, default=None
            A filter; see :meth:`Collection.search`.

        Returns
        -------
        list of Hit
            Best first; neither x nor y is among them.

        Raises
        ------
        ValueError
            If the concept or an item is not known.
        """
        asked = self._asked(concept, None, score)
        (first, mine), (second, theirs) = self._query(x), self._query(y)
        ((seen, _),) = asked.towards
        first, second = unit_rows(first), unit_rows(second)
        kept, taken = first - seen.part(first), seen.part(second)
        presence = self._presence if asked.with_presence else None
        likely = []
        if presence is not None and seen.index is not None:
            likely = [(seen.name, seen.index, float(presence.weight[0]))]
        want = Wanted([(f"without its own {seen.name}", kept), (seen.name, taken)], likely).at_unit_length()
        own = [position for position in (mine, theirs) if position is not None]
        ((positions, scores),) = self._ranked(want, k + len(own), where)
        others = ~np.isin(positions, own)
        return self._hits(want, positions[others][:k], scores[others][:k])

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
        want = wanted(np.asarray(points), Asked([], [], False), None)
        return [self._hits(want.row(i), *found) for i, found in enumerate(self._ranked(want, k, where))]

    def explain(
        self,
        x: Any,
        y: Any,
        *,
        concept: Any = None,
        without: Any = None,
        score: str | None = None,
        vocabulary: Vocabulary | None = None,
        top: int = 3,
        active: Any = None,
    ) -> Explanation:
        """Say which concepts make up the score that a search for x gives y.

        Parameters
        ----------
        x : str, array-like of shape (d,), or list of tuple
            The query, as for :meth:`search`.
        y : str or array-like of shape (d,)
            What it is compared with: an item, a text or a vector.
        concept : str, WordConcept, list or dict, default=None
            What was searched by.
        without : str, WordConcept or list, default=None
            What was kept out.
        score : {"presence", "projection"}, default=None
            Which score to explain.
        vocabulary : Vocabulary, default=None
            Words that name the concepts' parts; None takes those of the search.
        top : int, default=3
            How many of them.
        active : str, list of str or array-like, default=None
            The concepts that may have parts; see :func:`explain`.

        Returns
        -------
        Explanation
            One term per concept; print it for a table.

        Raises
        ------
        ValueError
            If there is no model, or a concept or an item is not known.
        """
        if is_composed(x):
            want = self._composed(x, score)[0]
        else:
            want = wanted(self._query(x)[0], self._asked(concept, without, score), self._presence)
        return self._explained(want, self._query(y)[0], vocabulary, top, active)

    def trace(
        self,
        query: Any,
        expected: Any,
        concept: Any = None,
        k: int = 20,
        diverse: bool = False,
        *,
        without: Any = None,
        score: str | None = None,
        where: Any = None,
        source: str | None = None,
    ) -> Trace:
        """Say why expected items were found or not, and the smallest change that would bring each in.

        Parameters
        ----------
        query : str, array-like of shape (d,), or list of tuple
            What was searched for: one query, as for :meth:`search`.
        expected : str or list of str
            Ids of the items that should have been found.
        concept : str, WordConcept, list or dict, default=None
            As in that search; so are the next five.
        k : int, default=20
            Most hits.
        diverse : bool, default=False
            Whether they were chosen so that they differ.
        without : str, WordConcept or list, default=None
            Concepts that were kept out.
        score : {"presence", "projection"}, default=None
            How concepts counted.
        where : object, default=None
            The filter.
        source : str, default=None
            The column that says where items come from. None looks at each column of few different values.

        Returns
        -------
        Trace
            Rank, score, terms, causes and changes of each expected item; print it.

        Raises
        ------
        ValueError
            If the query is a batch, or something of the search is not known.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from pellucid.search import Collection, ConceptSearch
        >>> search = ConceptSearch(Collection.create(mkdtemp(), [[9, 1], [8, 5], [5, 8], [1, 9]]))
        >>> found = search.trace([1, 0], "3", k=3).items[0]
        >>> found.rank, found.cause.kind, found.changes[0].options
        (4, 'further away', {'k': 4})
        """
        from pellucid.search.tracing import trace

        asked = {"concept": concept, "without": without, "score": score, "where": where}
        return trace(self, query, expected, k=k, diverse=diverse, source=source, **asked)

    def _looked_for(
        self, x: Any, concept: Any, without: Any, score: str | None
    ) -> tuple[Wanted, list[int | None], list[str], list[str]]:
        """What a search looks for, the positions of the items it starts from, the model's concepts it goes by, and
        what is to be said of it."""
        if is_composed(x):
            if concept is not None or without is not None:
                raise ValueError("A query made of parts names its concepts in the parts.")
            want, own, notes = self._composed(x, score)
            return want, own, [], notes
        asked = self._asked(concept, without, score)
        query, position = self._query(x)
        notes = self._lacking(x, query, asked) if position is not None else []
        return wanted(query, asked, self._presence), [position], asked.names, notes

    def _lacking(self, item: str, row: NDArray[Any], asked: Asked) -> list[str]:
        """A sentence for each concept that is looked for in an item (1, d) which probably does not have it."""
        if self._presence is None or not asked.names:
            return []
        which = np.array(self.stored.cones.indices(asked.names))
        likely, least = self._presence.probabilities(row, which)[0], self._presence.threshold[which]
        return [
            f"The item {str(item)!r} probably has no {name}: the model gives it {p:.0%}, and counts an item as having "
            f"it from {t:.0%} on. Start from an item that has it."
            for name, p, t in zip(asked.names, likely, least) if p < t
        ]  # fmt: skip

    # ranking

    def _ranked(self, want: Wanted, k: int, where: Any) -> list[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Positions and scores for each query, best first; where presence counts, of the engine's shortlist."""
        if not want.likely:
            return list(zip(*self.collection.search(want.vectors, k, where=where, center=self._center)))
        assert self._presence is not None
        vectors, length = want.shortlist_vectors(self._presence), max(SHORTLIST_FROM * k, SHORTLIST_LEAST)
        listed = self.collection.candidates(vectors, length, where=where, center=self._center)
        found = []
        for i, (positions, raw) in enumerate(listed):
            deadline.check()
            scores = want.row(i).scores(self._prepared(raw), self._presence)[0]
            best = np.lexsort((positions, -scores))[:k]
            found.append((positions[best], scores[best]))
        return found

    @cached_property
    def texts(self) -> TextQueries:
        """What makes queries of texts."""
        assert self.encoder is not None
        return TextQueries(self.encoder, self.collection, self._preparation)

    @property
    def _presence(self) -> Any:
        """What tells which concepts a row has, if the model knows."""
        return self.stored.presence_model if self.stored is not None and self.stored.knows_presence else None

    @cached_property
    def _before(self) -> CenteredNormalizer | None:
        """What is done to raw rows: by the model, or where words alone name concepts, their mean is taken out."""
        if self.stored is not None:
            return self.stored.preparation_  # type: ignore[no-any-return]
        if self.vocabulary is None or self.collection.preparation is not None or not len(self.collection):
            return None
        return CenteredNormalizer().fit(np.asarray(self.collection.sample(MEAN_ROWS), dtype=np.float32))

    @property
    def _center(self) -> NDArray[np.float64] | None:
        """What is taken out of the stored rows before they are compared."""
        return None if self._before is None or not self._before.center else self._before.mean_

    # hits, and why

    def _hits(self, want: Wanted, positions: Any, scores: Any) -> list[Hit]:
        found, where = [], positions.tolist()
        read, rows, ids = self.collection.reader(where), HitRows(self, where), self.collection.known_ids(where)
        for i, (position, close) in enumerate(zip(where, scores.tolist())):
            why = None if self.stored is None else partial(self._why, want, rows, i)
            split = partial(self._split, want, rows, i) if len(want.aspects) > 1 or want.likely else None
            known = None if ids is None else ids[i]
            found.append(Hit(i + 1, float(close), position, partial(read, position), why, split, known))
        return found

    def _why(self, want: Wanted, rows: HitRows, i: int, **more: Any) -> Explanation:
        return self._explained(want, rows[i], **more)

    def _split(self, want: Wanted, rows: HitRows, i: int) -> dict[str, float]:
        terms = want.terms(rows[i], self._presence)
        return {name: float(term[0, 0]) for name, term in terms.items()}

    def _explained(
        self,
        want: Wanted,
        row: NDArray[Any],
        vocabulary: Vocabulary | None = None,
        top: int = 3,
        active: Any = None,
    ) -> Explanation:
        """The score of what is wanted and a prepared row (1, d) as a sum over concepts."""
        if self.stored is None:
            raise ValueError("There is no model: concepts are needed to say why two items are close.")
        cones, presence, words = self.stored.cones, self._presence, vocabulary or self.vocabulary
        if want.is_whole:
            return explain_cosine(cones, want.vectors, row, presence, active, words, top)
        return explain_wanted(cones, want, row, presence, active, words, top)

    def _asked(self, concept: Any, without: Any, score: str | None) -> Asked:
        if score is not None and score not in SCORES:
            raise ValueError(f'score must be "presence" or "projection", got {score!r}.')
        if score == "presence" and self.stored is not None:
            assert self.stored.presence_model is not None  # says so if it does not know
        weigh = score != "projection" and self._presence is not None
        pairs = weights_of(concept)
        away = [(name, 1.0) for name, _ in weights_of(without)] + [(name, -w) for name, w in pairs if w < 0]
        towards = [(name, w) for name, w in pairs if w > 0]
        plain = [name for name, w in towards if w == 1 and isinstance(name, str)]
        if not weigh and len(towards) > 1 and len(plain) == len(towards):
            found: list[tuple[Seen, float]] = [
                (self._seen(plain), 1.0)
            ]  # as in the paper: several names share one cone
        else:
            found = [(self._seen(name), w) for name, w in towards]
        return Asked(found, [(self._seen(name), w) for name, w in away], weigh)

    def _seen(self, concept: Any) -> Seen:
        """A concept by name, several as one, or one that brings its own way of being seen."""
        if isinstance(concept, WordConcept):
            return concept
        known = () if self.stored is None else self.stored.concept_names_
        if isinstance(concept, str) and self.vocabulary is not None and concept not in known:
            return self.vocabulary.concept(concept)
        if self.stored is None:
            raise ValueError("There is no model: to search by concept, give one that knows the concepts.")
        names, cones = [concept] if isinstance(concept, str) else concept, self.stored.cones
        index = cones.indices(names)[0]
        return Learned(", ".join(names), cones, names, index if len(names) == 1 else None)

    def _composed(self, x: Any, score: str | None) -> tuple[Wanted, list[int | None], list[str]]:
        """A query of parts (item, concept, weight), the positions of its items, and what is to be said of it."""
        parts, weights, own, notes = [], [], [], list[str]()
        for item, concept, weight in x:
            if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)) or not np.isfinite(weight):
                raise ValueError(f"A part's weight must be a finite number, got {weight!r}.")
            row, position = self._query(item)
            parts.append((row, self._asked(concept, None, score)))
            if position is not None and weight > 0:
                notes += self._lacking(item, *parts[-1])
            weights.append(float(weight))
            own.append(position)
        if not any(weight > 0 for weight in weights):
            raise ValueError("At least one part of a query needs a positive weight.")
        presence = self._presence if any(asked.with_presence for _, asked in parts) else None
        return composed(parts, weights, presence), own, notes

    def _query(self, x: Any) -> tuple[NDArray[Any], int | None]:
        """The query as prepared rows, and the position of the item it is, if it is one."""
        if isinstance(x, str):
            found = None if isinstance(x, Text) else self.collection.look_up(x)
            if found is not None:
                return self._prepared(found[1]), found[0]
            if self.encoder is None:
                missing = "" if isinstance(x, Text) else f"There is no item {x!r}; "
                raise ValueError(
                    f"{missing}to search by text, give the encoder that made the collection's vectors (encoder=, "
                    "--encoder)."
                )
            return np.asarray(self.texts.prepared([x])), None
        rows = np.atleast_2d(np.asarray(x))
        if rows.ndim != 2 or rows.shape[1] != self.collection.dimension:
            raise ValueError(f"A query has {self.collection.dimension} numbers, but this one has shape {np.shape(x)}.")
        if self.model is not None:
            return np.asarray(self.model.prepare(rows)), None
        before = self._preparation
        return np.asarray(rows if before is None else before.transform(rows)), None

    @property
    def _preparation(self) -> CenteredNormalizer | None:
        """What is done to raw queries."""
        if self.model is not None:
            return self.model.preparation_
        return self.collection.preparation or self._before

    def _rows(self, positions: Any, concept: Names | None = None) -> NDArray[Any]:
        """Rows of the collection (n, d), prepared, and seen through a concept if one is named."""
        return self._prepared(self.collection.vectors(positions), concept)

    def _prepared(self, raw: NDArray[Any], concept: Names | None = None) -> NDArray[Any]:
        """Raw rows (n, d) as the model sees them, through a concept if one is named."""
        rows = np.asarray(raw, dtype=np.float32)
        if self.stored is None:
            return rows if self._before is None else np.asarray(self._before.transform(rows))
        return np.asarray(self.stored.cones.filtered(self.stored.prepare(rows), concept or None))


class HitRows:
    """The prepared rows of hits, which are read together when the first is asked for: a database may be far."""

    def __init__(self, search: ConceptSearch, positions: list[int]) -> None:
        self._search, self._positions = search, positions

    @cached_property
    def _all(self) -> NDArray[Any] | None:
        try:
            return self._search._rows(self._positions)
        except CollectionError:  # one of them is gone: that one says so when it is asked for
            return None

    def __getitem__(self, i: int) -> NDArray[Any]:
        return self._search._rows([self._positions[i]]) if self._all is None else self._all[i : i + 1]


def listed(k: int, diverse: bool) -> int:
    """How many hits a list of k is chosen from."""
    return max(DIVERSE_FROM * k, DIVERSE_LEAST) if diverse else k


def is_composed(x: Any) -> bool:
    """Whether a query is a list of parts: (item, concept, weight)."""
    return (
        isinstance(x, list)
        and len(x) > 0
        and all(isinstance(part, tuple) and len(part) == 3 for part in x)
        and any(isinstance(part[0], str) or np.ndim(part[0]) > 0 for part in x)
    )
