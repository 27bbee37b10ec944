"""Why an item was retrieved or not, and the smallest change of the search that would bring it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid._core.plain import plain
from pellucid._core.tables import data_frame
from pellucid.search.causes import Cause, judged, missing, suspects
from pellucid.search.changes import Change, changes
from pellucid.search.hits import Hit
from pellucid.search.ranking import Case, Ranking

if TYPE_CHECKING:
    from pellucid.search.query import ConceptSearch

# lines of terms, ids, causes and changes that are printed, at most
PRINTED = 4


@dataclass(frozen=True)
class TracedItem:
    """What became of one expected item.

    Attributes
    ----------
    id : str
        The item.
    position : int or None
        Where it stands in the collection; None if it is not there.
    rank : int or None
        Where it stands among all items, by score: 1 is the best. None if it is not among those that were ranked.
    score : float or None
        What the search gives it.
    shown : bool
        Whether it is among the hits.
    terms : dict of str to float
        What each concept adds to the score, with what none accounts for; without a model, what each aspect of the query
        adds. They add up to ``score``.
    behind : dict of str to float
        The mean terms of the hits that stand before it less its own; they add up to how far it is behind them. Empty if
        there are none.
    displaced_by : list of str
        Ids of these hits, the best first.
    causes : list of Cause
        Why it stands where it does, the first cause first.
    changes : list of Change
        What would bring it in, the smallest change first; each was tried. Empty if it is shown.
    """

    id: str
    position: int | None
    rank: int | None
    score: float | None
    shown: bool
    terms: dict[str, float]
    behind: dict[str, float]
    displaced_by: list[str]
    causes: list[Cause]
    changes: list[Change]

    @property
    def cause(self) -> Cause:
        """The first cause."""
        return self.causes[0]

    def __str__(self) -> str:
        place = "is not ranked" if self.rank is None else f"rank {self.rank:,}".replace(",", " ")
        lines = [f"{self.id}: {place}" + ("" if self.score is None else f", score {self.score:+.3f}")]
        lines += [f"  {'why:' if i == 0 else 'also:':6}{cause.says}" for i, cause in enumerate(self.causes[:PRINTED])]
        if self.terms:
            lines.append("  its score: " + _sum(self.terms))
        if self.behind:
            lines.append(f"  behind the {len(self.displaced_by)} before it: " + _sum(self.behind))
        for change in self.changes[:PRINTED]:
            lines.append(f"  try:  {change.says}: rank {change.rank}, {change.kept} of the hits stay")
        if not self.changes and not self.shown and self.position is not None:
            lines.append("  try:  none of the changes that were tried brings it in")
        return "\n".join(lines)


@dataclass(frozen=True)
class Trace:
    """What became of the items that a search should have found.

    Attributes
    ----------
    items : list of TracedItem
        One for each expected item, in the order asked for.
    hits : list of Hit
        What the search shows.
    k : int
        How many it was asked for.
    ranked : int
        How many items were ranked: all that pass the filter, unless there are very many.
    options : dict
        What the search was asked, beside the query.

    See Also
    --------
    ConceptSearch.trace : Makes it.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid.search import Collection, ConceptSearch
    >>> search = ConceptSearch(Collection.create(mkdtemp(), [[9, 1], [8, 5], [5, 8], [1, 9]]))
    >>> print(search.trace([1, 0], ["1", "3"], k=2))  # doctest: +ELLIPSIS
    1: rank 2, score +0.848
      why:  It is among the hits.
    ...
    """

    items: list[TracedItem]
    hits: list[Hit] = field(repr=False)
    k: int
    ranked: int
    options: dict[str, Any]

    def __str__(self) -> str:
        return "\n".join(map(str, self.items))

    def to_dict(self) -> dict[str, Any]:
        """All of it in terms of JSON.

        Returns
        -------
        dict
            The search, its hits, and what became of each item.
        """
        return {
            "k": self.k,
            "ranked": self.ranked,
            "options": {name: plain(value) for name, value in self.options.items()},
            "hits": [{"rank": hit.rank, "score": hit.score, "id": hit.id} for hit in self.hits],
            "items": [
                {
                    "id": item.id,
                    "rank": item.rank,
                    "score": item.score,
                    "shown": item.shown,
                    "terms": item.terms,
                    "behind": item.behind,
                    "displaced_by": item.displaced_by,
                    "causes": [cause.to_dict() for cause in item.causes],
                    "changes": [change.to_dict() for change in item.changes],
                }
                for item in self.items
            ],
        }

    def to_frame(self) -> Any:
        """Make a table of the items.

        Returns
        -------
        pandas.DataFrame
            A row for each: id, rank, score, shown, the first cause with what it is about and what it says, and the
            smallest change with the rank that it brings.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        names = ("id", "rank", "score", "shown", "cause", "about", "says", "change", "new_rank")
        rows = []
        for item in self.items:
            change = item.changes[0] if item.changes else None
            said = (item.cause.kind, item.cause.about, item.cause.says)
            best = (None, None) if change is None else (change.says, change.rank)
            rows.append(dict(zip(names, (item.id, item.rank, item.score, item.shown, *said, *best))))
        return data_frame(rows, names)


def trace(
    search: ConceptSearch,
    query: Any,
    expected: str | Sequence[str],
    *,
    k: int = 20,
    diverse: bool = False,
    source: str | None = None,
    **asked: Any,
) -> Trace:
    """Say why expected items were found or not; see :meth:`ConceptSearch.trace`.

    Parameters
    ----------
    search : ConceptSearch
        What was searched with.
    query : str, array-like of shape (d,), or list of tuple
        What was searched for.
    expected : str or list of str
        Ids of the items that should have been found.
    k : int, default=20
        Most hits.
    diverse : bool, default=False
        Whether they were chosen so that they differ.
    source : str, default=None
        The column that says where items come from.
    **asked : dict
        ``concept``, ``without``, ``score`` and ``where``, as for :meth:`ConceptSearch.search`.

    Returns
    -------
    Trace
        Rank, score, terms, causes and changes of each item.

    Raises
    ------
    ValueError
        If the query is a batch, no item is named, or something of the search is not known.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid.search import Collection, ConceptSearch, trace
    >>> search = ConceptSearch(Collection.create(mkdtemp(), [[9, 1], [8, 5], [5, 8], [1, 9]]))
    >>> trace(search, [1, 0], "2", k=3).items[0].shown
    True
    """
    ids = [expected] if isinstance(expected, str) else [str(one) for one in expected]
    if not ids:
        raise ValueError("Name at least one expected item.")
    if not isinstance(query, (str, list)) and np.ndim(query) != 1:
        raise ValueError(f"A trace is of one query, but this one has shape {np.shape(query)}.")
    options = {"k": k, "diverse": diverse, **asked}
    ranking = Ranking.of(search, query, options, source)
    return Trace([_traced(ranking, one) for one in ids], ranking.hits, k, len(ranking.positions), options)


def _traced(ranking: Ranking, name: str) -> TracedItem:
    collection = ranking.search.collection
    if name not in collection:
        return TracedItem(name, None, None, None, False, {}, {}, [], [missing(ranking, name)], [])
    case = Case.of(ranking, collection.position(name))
    found = suspects(case) if not case.shown else []
    tried = changes(case, found) if not case.shown else []
    return TracedItem(
        name,
        case.position,
        case.rank,
        case.score,
        case.shown,
        dict(zip(ranking.names, case.terms.tolist())),
        dict(zip(ranking.names, case.behind.tolist())) if len(case.before) else {},
        [hit.id for hit in ranking.hits if hit.position in case.before],
        judged(case, found, tried),
        tried,
    )


def _sum(terms: dict[str, float]) -> str:
    """The largest terms, and the rest of them as one."""
    order = sorted(terms, key=lambda name: -abs(terms[name]))
    told = [name for name in order[:PRINTED] if abs(terms[name]) >= 0.0005]
    rest = sum(terms.values()) - sum(terms[name] for name in told)
    parts = [f"{terms[name]:+.3f} {name}" for name in told]
    return f"{sum(terms.values()):+.3f} = " + ", ".join(parts + ([f"{rest:+.3f} else"] if abs(rest) >= 0.0005 else []))
