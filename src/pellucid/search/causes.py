"""Causes for the place of an item in a ranking. Each is judged by where the item would stand were it set aside."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from pellucid._core.hints import did_you_mean
from pellucid.search.explanation import IN_NONE
from pellucid.search.ranking import SAMPLE, Case, Ranking
from pellucid.search.wanted import ALL_OF_IT

# the share of the hits that repeat others from which on these are a flood
REPEATED = 0.25
# a source is one when it has this share of the hits, and would have so many by chance this seldom
SOURCE_SHARE, CHANCE = 0.5, 1e-3


@dataclass(frozen=True)
class Cause:
    """Why an item stands where it does.

    Attributes
    ----------
    kind : str
        "shown", "missing", "query" (a query is left out of its own hits), "filter", "shortlist" (the index did not
        offer it), "diversity", "vector" (it is stored with a vector that is not its own), "near-duplicates", "source",
        "concept", or "further away": nothing is wrong.
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


def causes(case: Case) -> list[Cause]:
    """Why the item stands where it does: what settles it, or else what would bring it in were it set aside, or else
    that it is further away, and what adds to that."""
    settled = _settled(case)
    if settled is not None:
        return [settled]
    k = case.ranking.k
    found = [cause for cause in (_vector(case), _duplicates(case), _source(case), _concept(case)) if cause is not None]
    enough = [cause for cause in found if cause.rank is not None and cause.rank <= k]
    return enough + ([] if enough else [_further(case)]) + [cause for cause in found if cause not in enough]


def missing(ranking: Ranking, name: str) -> Cause:
    """An item that is not in the collection."""
    hint = did_you_mean(name, ranking.search.collection.ids, "look whether it was ever added, or was deleted.")
    return Cause("missing", None, f"It is not in the collection: {hint}")


def _settled(case: Case) -> Cause | None:
    ranking, k = case.ranking, case.ranking.k
    if case.shown:
        return Cause("shown", None, "It is among the hits.", case.rank)
    if case.position in ranking.own:
        return Cause("query", None, "The query is made of it, and an item is left out of its own hits.")
    if (
        case.rank is None
        and ranking.options.get("where") is not None
        and case.score >= ranking.scores[-1:].min(initial=1)
    ):
        return Cause("filter", None, "It does not pass the filter.")
    if case.rank is not None and case.rank <= k and not ranking.options["diverse"]:
        says = f"By its score it is {case.rank} of all, but the index did not offer it among the candidates."
        return Cause("shortlist", None, says, case.rank)
    return None


def _further(case: Case) -> Cause:
    ranking = case.ranking
    if case.rank is None:
        return Cause(
            "further away", None, f"Nothing is wrong: it is not among the first {len(ranking.positions)} items."
        )
    last = float(ranking.scores[min(ranking.k, len(ranking.scores)) - 1])
    return Cause(
        "further away", None,
        f"Nothing is wrong: it is simply further away, {last - case.score:.3f} behind the last of {ranking.k} hits.",
    )  # fmt: skip


def _vector(case: Case) -> Cause | None:
    judged = case.ranking.own_vectors.judge(case.position, case.row, case.item)
    if judged is None:
        return None
    says, likely = judged
    rank = None
    if likely is not None:
        score = float(case.ranking.want.scores(likely, case.ranking.search._presence)[0, 0])
        rank = 1 + int((case.ranking.scores > score).sum())
    return Cause("vector", None, says, 1 if rank is None else rank)


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
            if n >= SOURCE_SHARE * len(cells) and p < CHANCE and (best is None or p < best[0]):
                best = (p, name, value, n, len(cells), usual)
    if best is None or case.rank is None:
        return None
    _, name, value, n, of, usual = best
    says = (
        f"{n} of {of} hits have {name} {value!r}, as {usual:.0%} of all items do; this one has {case.item.get(name)!r}."
    )
    above = [item.get(name) == value for item in ranking.items(ranking.top[: case.n_above])]
    return Cause("source", f"{name}={value}", says, case.rank - round(max(0.0, sum(above) - usual * len(above))))


def _concept(case: Case) -> Cause | None:
    """The part of the query but for which the item would stand before those that are shown."""
    ranking = case.ranking
    if not len(case.before) or case.rank is None:
        return None
    names, theirs, mine = (
        ranking.part_names,
        ranking.parts_of(ranking.rows[: case.n_above]),
        ranking.parts_of(case.row)[0],
    )
    gaps = theirs[: ranking.k].mean(axis=0) - mine
    which = [j for j, name in enumerate(names) if name not in (IN_NONE, ALL_OF_IT)]
    if not which:
        return None
    j = max(which, key=lambda j: gaps[j])
    ahead = float(gaps[j] - gaps.sum())
    if ahead <= 0:
        return None
    rest = theirs.sum(axis=1) - theirs[:, j]
    above = int((rest > mine.sum() - mine[j]).sum())
    shown = float(gaps[j] + mine[j])
    says = (
        f"{names[j]} counts {shown:+.3f} for those before it and {mine[j]:+.3f} here; "
        f"in all else it is {ahead:.3f} ahead."
    )
    return Cause("concept", names[j], says, above + case.rank - case.n_above)
