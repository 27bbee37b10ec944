"""What all retrievers share: the search they ask, and what their documents say of themselves."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pellucid._core.hints import did_you_mean
from pellucid._core.plain import plain
from pellucid.search import ConceptSearch, Hit

# shares of an item that are too small to be told
LEAST_SHARE = 0.005
TEXT_COLUMNS = ("text", "content", "body", "caption", "title")
# what documents say beside the columns of their items; a column of the same name gets this before it
OWN, THEIRS = ("id", "rank", "score", "parts", "explanation"), "item_"


@dataclass(frozen=True)
class FoundDocument:
    """An item that a retriever found.

    Attributes
    ----------
    id : str
        The item.
    text : str
        What it says.
    score : float
        How close it is.
    metadata : dict
        Its columns, with ``rank``, ``score``, ``parts`` (how much of the item each concept is) and ``explanation``
        (what each concept adds to the score), in terms of JSON.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Retrieval:
    """A search by concept with all that is asked of it but the query.

    Parameters
    ----------
    search : ConceptSearch
        What is searched, with an encoder if queries are texts.
    concept : str, list or dict, default=None
        What to look for; a dict gives weights.
    without : str or list, default=None
        Concepts that documents are not to have.
    k : int, default=10
        Most documents.
    diverse : bool, default=False
        Choose documents that differ.
    where : object, default=None
        A filter on the columns.
    score : {"presence", "projection"}, default=None
        How concepts count.
    explain : bool, default=True
        Whether documents say why they score so, where there is a model.
    text_column : str, default=None
        The column with the texts; None takes the first of ``text``, ``content``, ``body``, ``caption`` and ``title``.

    See Also
    --------
    ConceptSearch.search : What the parameters mean.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid.integrations import Retrieval
    >>> from pellucid.search import Collection, ConceptSearch
    >>> collection = Collection.create(mkdtemp(), [[1, 0], [0, 1], [3, 4]], text=["purr", "bark", "both"])
    >>> Retrieval(ConceptSearch(collection), k=1).documents([0.1, 1])[0].text
    'bark'
    """

    search: ConceptSearch
    concept: Any = None
    without: Any = None
    k: int = 10
    diverse: bool = False
    where: Any = None
    score: str | None = None
    explain: bool = True
    text_column: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.search, ConceptSearch):
            raise TypeError(f"search must be a ConceptSearch, got {type(self.search).__name__}.")

    def changed(self, **given: Any) -> Retrieval:
        """Ask something else for once.

        Parameters
        ----------
        **given : object
            Parameters in place of those that it was made with; ``None`` keeps them.

        Returns
        -------
        Retrieval
            With these parameters.

        Raises
        ------
        TypeError
            If there is no such parameter.
        """
        known = [field.name for field in fields(self) if field.name != "search"]
        for name in given:
            if name not in known:
                raise TypeError(f"A retriever has no parameter {name!r}: {did_you_mean(name, known)}")
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    def documents(self, query: Any) -> list[FoundDocument]:
        """Find documents.

        Parameters
        ----------
        query : str or array-like of shape (d,)
            A text, the id of an item, or a vector.

        Returns
        -------
        list of FoundDocument
            What :meth:`ConceptSearch.search` finds, in the same order.
        """
        hits: Any = self.search.search(
            query, self.concept, self.k, self.diverse, without=self.without, score=self.score, where=self.where
        )
        shares = self._shares(hits)
        return [self.document(hit, parts) for hit, parts in zip(hits, shares)]

    def document(self, hit: Hit, parts: dict[str, float] | None = None) -> FoundDocument:
        """Make a document of a hit.

        Parameters
        ----------
        hit : Hit
            A result of a search.
        parts : dict of str to float, default=None
            How much of it each concept is.

        Returns
        -------
        FoundDocument
            The item with what is known of it.
        """
        item = {name: value for name, value in hit.item.items() if not isinstance(value, bytes)}
        column = self._text_column(item)
        said = {(f"{THEIRS}{name}" if name in OWN else name): plain(value) for name, value in item.items()
                if name not in ("id", column)}  # fmt: skip
        said |= {"id": hit.id, "rank": hit.rank, "score": hit.score}
        if parts is not None:
            said["parts"] = parts
        if self.explain and hit.why is not None:
            said["explanation"] = hit.explain().to_dict()
        return FoundDocument(hit.id, "" if column is None else str(item.get(column) or ""), hit.score, said)

    def _text_column(self, item: dict[str, Any]) -> str | None:
        if self.text_column is not None:
            if self.text_column not in item:
                raise ValueError(f"There is no column {self.text_column!r}: {did_you_mean(self.text_column, item)}")
            return self.text_column
        return next((name for name in TEXT_COLUMNS if isinstance(item.get(name), str)), None)

    def _shares(self, hits: list[Hit]) -> list[dict[str, float] | None]:
        stored = self.search.stored
        if stored is None or not hits:
            return [None] * len(hits)
        rows = np.asarray(self.search.collection.vectors([hit.position for hit in hits]), dtype=np.float64)
        return [parts_of(stored.concept_names_, row) for row in stored.shares(rows)]


def parts_of(names: Any, shares: Any) -> dict[str, float]:
    """Shares by concept, the largest first, without those that are next to nothing."""
    order = np.argsort(-np.asarray(shares), kind="stable")
    return {str(names[j]): round(float(shares[j]), 4) for j in order if shares[j] >= LEAST_SHARE}
