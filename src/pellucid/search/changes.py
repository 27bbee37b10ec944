"""Changes of a search that bring an item in: each is tried by searching again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid._core import deadline
from pellucid._core.plain import plain
from pellucid.search.explanation import IN_NONE, LIKELY

if TYPE_CHECKING:
    from pellucid.search.causes import Cause
    from pellucid.search.ranking import Case

# the longest list that is suggested, in lists of the length asked for; concepts to ask for that are tried
LONGEST, CONCEPTS = 50, 4


@dataclass(frozen=True)
class Change:
    """A change of a search that brings an item in, as searching again has shown.

    Attributes
    ----------
    says : str
        What to change.
    options : dict
        What to give to :meth:`ConceptSearch.search` instead of what was given.
    rank : int
        Where the item then stands among the hits.
    kept : int
        How many of the hits before are hits again.
    cost : float
        How much the list changes: the share of the hits that go, and of those that are read beside.
    """

    says: str
    options: dict[str, Any]
    rank: int
    kept: int
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """All of it in terms of JSON.

        Returns
        -------
        dict
            Its attributes.
        """
        return {**asdict(self), "options": {name: plain(value) for name, value in self.options.items()}}


def changes(case: Case, causes: list[Cause]) -> list[Change]:
    """The changes that bring the item in, the one that changes the list least first."""
    ranking, found = case.ranking, []
    before = set(ranking.shown.tolist())
    for says, options in _candidates(case, causes):
        deadline.check()
        now = [hit.position for hit in ranking.again(options)]
        if case.position not in now:
            continue
        kept = len(before & set(now))
        more = max(0, len(now) - len(before)) / ranking.k
        cost = 1 - kept / max(1, len(before)) + more
        found.append(Change(says, options, now.index(case.position) + 1, kept, cost))
    return sorted(found, key=lambda change: change.cost)


def _candidates(case: Case, causes: list[Cause]) -> Iterator[tuple[str, dict[str, Any]]]:
    ranking, options = case.ranking, case.ranking.options
    search = ranking.search
    composed = not isinstance(ranking.query, str) and len(np.shape(ranking.query)) != 1
    if case.rank is not None and ranking.k < case.rank <= LONGEST * ranking.k:
        yield f"ask for {case.rank} hits", {"k": case.rank}
    yield ("choose by score alone", {"diverse": False}) if options["diverse"] else (
        "ask for hits that differ", {"diverse": True}
    )  # fmt: skip
    if options.get("where") is not None:
        yield "drop the filter", {"where": None}
    for cause in causes:
        if cause.kind == "source" and options.get("where") is None:
            column, _, value = str(cause.about).partition("=")
            told = next((item[column] for item in ranking.top_items if str(item.get(column)) == value), value)
            yield f"leave out {column} {value!r}", {"where": search.collection.leaving_out(column, told)}
    if composed or (search.stored is None and options.get("concept") is None):
        return
    yield from _by_concept(case)


def _by_concept(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fewer concepts asked for or kept out, one that the query and the item share, or without what puts it behind."""
    ranking, options = case.ranking, case.ranking.options
    concept, without = options.get("concept"), options.get("without")
    if concept is not None:
        yield "compare items as wholes", {"concept": None}
        if ranking.want.likely:
            yield "ask what items are like, not what they have", {"score": "projection"}
    if without is not None:
        yield "keep nothing out", {"without": None}
    if ranking.search.stored is None:
        return
    names = [name for name in ranking.names if name not in (IN_NONE, LIKELY)]
    terms, behind = case.terms[: len(names)], case.behind[: len(names)]
    asked = list(concept) if isinstance(concept, (list, tuple, Mapping)) else [concept]
    for j in np.argsort(-terms, kind="stable")[:CONCEPTS]:
        if terms[j] > 0 and asked != [names[j]]:
            yield f"ask for {names[j]}", {"concept": names[j]}
    worst = int(behind.argmax())
    if behind[worst] > 0 and names[worst] not in asked:
        kept_out = [] if without is None else [without] if isinstance(without, str) else list(without)
        yield f"keep {names[worst]} out", {"without": [*kept_out, names[worst]]}
