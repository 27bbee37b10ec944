"""Causes for the place of an item in a ranking. Each is judged by where the item would stand were it set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from pellucid._core.arrays import unit_rows
from pellucid._core.hints import did_you_mean
from pellucid.search.explanation import IN_NONE
from pellucid.search.ranking import SAMPLE, Case, Ranking
from pellucid.search.wanted import ALL_OF_IT, Asked, wanted

if TYPE_CHECKING:
    from pellucid.search.changes import Change

# the share of the hits that repeat others from which on these are a flood
REPEATED = 0.25
# a source is one when it has this share of the hits, and would have so many by chance this seldom
SOURCE_SHARE, CHANCE = 0.5, 0.01
# a value goes with a concept from this correlation on: it then says what items are about, not where they come from
GOES_WITH = 0.5
# the share of what is looked for from which on a concept dominates; and the share of the distance that a concept which
# was asked for has to explain, where the item has at most so much of what the hits have of it
DOMINATING, EXPLAINED, LACKING = 0.4, 0.9, 0.5
# so many of the items most like one that passes a filter are itself, or have its very vector
ITSELF = 50


@dataclass(frozen=True)
class Cause:
    """Why an item stands where it does.

    Attributes
    ----------
    kind : str
        "shown", "missing", "query" (a query is left out of its own hits), "filter", "shortlist" (the index did not
        offer it), "diversity" (hits are to differ), "vector" (it is stored with a vector that is not its
        own), "near-duplicates", "source", "concept", or "further away": nothing is wrong.
    about : str or None
        The concept, the source as "column=value", the item whose repeats take the places.
    says : str
        A sentence.
    rank : int or None
        Where the item would stand without it; None where that cannot be told.
    """

    kind: str
    about: str | None
    says: str
    rank: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it in terms of JSON.

        Returns
        -------
        dict
            Its attributes.
        """
        return asdict(self)


def suspects(case: Case) -> list[Cause]:
    """What may have put the item where it is, the one that explains most by itself first."""
    found = (_vector(case), _duplicates(case), _source(case), _concept(case))
    return [cause for cause in found if cause is not None]


def judged(case: Case, found: list[Cause], tried: Sequence[Change]) -> list[Cause]:
    """Why the item stands where it does: what settles it; or else those suspects without which it would be among the
    hits; or else that it is further away. Other suspects come last."""
    settled = _settled(case)
    if settled is not None:
        return [settled]
    asked = _asked(case, tried)
    if asked is not None:
        found = [cause for cause in found if cause.kind != "concept"] + [asked]
    enough = [cause for cause in found if cause is asked or cause.kind == "vector" or _enough(case, cause)]
    return enough + ([] if enough else [_further(case)]) + [cause for cause in found if cause not in enough]


def missing(ranking: Ranking, name: str) -> Cause:
    """An item that is not in the collection."""
    hint = did_you_mean(name, ranking.search.collection.ids, "look whether it was ever added, or was deleted.")
    return Cause("missing", None, f"It is not in the collection: {hint}")


def _enough(case: Case, cause: Cause) -> bool:
    """Whether the item would be among the hits without that; without a source, also half as far down."""
    if cause.rank is None or case.rank is None:
        return False
    if cause.rank > case.ranking.k:
        return cause.kind == "source" and 2 * cause.rank <= case.rank
    return cause.kind != "concept" or case.ranking.part_shares.get(str(cause.about), 0.0) >= DOMINATING


def _settled(case: Case) -> Cause | None:
    ranking, k = case.ranking, case.ranking.k
    if case.shown:
        return Cause("shown", None, "It is among the hits.", case.rank)
    if case.position in ranking.own:
        return Cause("query", None, "The query is made of it, and an item is left out of its own hits.")
    if case.rank is None and ranking.options.get("where") is not None:
        ((near, _),) = ranking.search._ranked(
            wanted(case.row, Asked([], [], False), None), ITSELF, ranking.options["where"]
        )
        if case.position not in near:
            return Cause("filter", None, "It does not pass the filter.")
    if case.rank is None or case.rank > k:
        return None
    if not ranking.options["diverse"]:
        says = f"By its score it is {case.rank} of all, but the index did not offer it among the candidates."
        return Cause("shortlist", None, says, case.rank)
    hits = ranking.search._rows(ranking.shown)
    close = unit_rows(hits.astype(np.float64)) @ unit_rows(case.row.astype(np.float64))[0]
    name = ranking.hits[int(close.argmax())].id
    says = f"By its score it is {case.rank} of all; but hits are to differ, and {name} is like it ({close.max():.2f})."
    return Cause("diversity", name, says, case.rank)


def _further(case: Case) -> Cause:
    ranking = case.ranking
    if case.rank is None:
        says = f"Nothing is wrong: it is simply further away, not among the first {len(ranking.positions)} items."
        return Cause("further away", None, says)
    last = float(ranking.scores[min(ranking.k, len(ranking.scores)) - 1])
    says = f"Nothing is wrong: it is simply further away, {last - case.score:.3f} behind the last of {ranking.k} hits."
    return Cause("further away", None, says)


def _vector(case: Case) -> Cause | None:
    found = case.ranking.own_vectors.judge(case.position, case.row, case.item)
    if found is None:
        return None
    says, likely = found
    if likely is None:
        return Cause("vector", None, says)
    score = float(case.ranking.want.scores(likely, case.ranking.search._presence)[0, 0])
    rank = 1 + int((case.ranking.scores > score).sum())
    return Cause("vector", None, says, rank)


def _duplicates(case: Case) -> Cause | None:
    ranking = case.ranking
    repeats = ranking.repeats[: case.n_above]
    again = repeats != np.arange(len(repeats))
    shown = again[: ranking.k]
    if case.rank is None or shown.sum() < max(2, REPEATED * ranking.k):
        return None
    first = int(np.bincount(repeats[: ranking.k][shown]).argmax())
    name = str(ranking.items(ranking.top[[first]])[0]["id"])
    says = f"{int(shown.sum())} of the first {len(shown)} nearly repeat another of them, most of them {name}."
    return Cause("near-duplicates", name, says, case.rank - int(again.sum()))


def _source(case: Case) -> Cause | None:
    """A value of a column that has far more of the hits than of the items, and not this one; repeats count once."""
    ranking, best = case.ranking, None
    count = min(case.n_above, ranking.k)
    single = np.flatnonzero(ranking.repeats[:count] == np.arange(count))
    tested = sum(len(shares) for shares in ranking.sources.values())
    for name, shares in ranking.sources.items():
        cells = [ranking.top_items[i].get(name) for i in single]
        for value in set(cells) - {case.item.get(name), None}:
            n, usual = cells.count(value), max(shares.get(value, 0.0), 1 / SAMPLE)
            p = float(binom.sf(n - 1, len(cells), usual)) * tested
            if n < SOURCE_SHARE * len(cells) or p >= CHANCE or (best is not None and p >= best[0]):
                continue
            if not ranking.is_concept(name, value, GOES_WITH):
                best = (p, name, value, n, len(cells), usual)
    if best is None or case.rank is None:
        return None
    _, name, value, n, of, usual = best
    says = (
        f"{n} of {of} hits have {name} {value!r}, as {usual:.0%} of all items do; this one has {case.item.get(name)!r}."
    )
    above = sum(item.get(name) == value for item in ranking.items(ranking.top[: case.n_above]))
    return Cause("source", f"{name}={value}", says, case.rank - above)


def _concept(case: Case) -> Cause | None:
    """The part of the query but for which the item would stand before those that are shown."""
    ranking = case.ranking
    if not len(case.before) or case.rank is None or not case.n_above:
        return None
    names = ranking.part_names
    theirs, mine = ranking.parts_of(ranking.rows[: case.n_above]), ranking.parts_of(case.row)[0]
    shown = theirs[: ranking.k].mean(axis=0)
    gaps = shown - mine
    which = [j for j, name in enumerate(names) if name not in (IN_NONE, ALL_OF_IT)]
    if not which:
        return None
    j = max(which, key=lambda j: gaps[j])
    if gaps[j] < max(gaps.sum(), 0):
        return None
    ahead = max(0.0, float(gaps[j] - gaps.sum()))
    rest = theirs.sum(axis=1) - theirs[:, j]
    above = int((rest > mine.sum() - mine[j]).sum())
    says = (
        f"{names[j]} counts {shown[j]:+.3f} for those before it and {mine[j]:+.3f} here; "
        f"in all else it is {ahead:.3f} ahead."
    )
    return Cause("concept", names[j], says, above + case.rank - case.n_above)


def _asked(case: Case, tried: Sequence[Change]) -> Cause | None:
    """What was asked for or kept out, if the item is behind for that, and a search without it finds the item."""
    options = case.ranking.options
    for name in ("concept", "without"):
        found = next((change for change in tried if change.options == {name: None}), None)
        if options.get(name) is None or found is None:
            continue
        names, theirs = case.ranking.part_names, case.ranking.parts_of(case.ranking.rows[: case.ranking.k]).mean(axis=0)
        gaps = theirs - case.ranking.parts_of(case.row)[0]
        which = [j for j, part in enumerate(names) if part != ALL_OF_IT]
        if not which:
            continue
        j = max(which, key=lambda j: gaps[j])
        if gaps[j] >= EXPLAINED * gaps.sum() and theirs[j] - gaps[j] <= LACKING * theirs[j]:
            says = (
                f"{names[j]} was asked for, and counts {theirs[j]:+.3f} for the hits and {theirs[j] - gaps[j]:+.3f} "
                "here; without that it is among them."
            )
            return Cause("concept", names[j], says, found.rank)
    return None
