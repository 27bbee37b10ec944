"""A search laid open: the whole ranking behind its hits, what makes up each score, and one item's place in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.hints import did_you_mean
from pellucid.search.explanation import IN_NONE, score_terms
from pellucid.search.own_vector import OwnVectors

if TYPE_CHECKING:
    from pellucid.search.hits import Hit
    from pellucid.search.query import ConceptSearch
    from pellucid.search.wanted import Wanted

# numbers in the rows that are ranked, at most, and rows at least
NUMBERS, RANKED_LEAST = 1 << 26, 10_000
# of the items before one, so many are looked at one by one
LOOKED_AT = 300
# items that tell what is usual in a collection
SAMPLE = 2000
# cosine of prepared rows from which on one repeats the other
NEAR = 0.9
# a column of more different values than this share of the sample says nothing about where items come from
DIFFERENT = 0.1


@dataclass
class Ranking:
    """A search, its hits, and the ranking behind them.

    positions, scores : of all items that were ranked, best first, without those the query is made of
    own : positions of the items that the query is made of
    """

    search: ConceptSearch
    query: Any
    options: dict[str, Any]
    source: str | None
    want: Wanted
    own: list[int]
    hits: list[Hit]
    positions: NDArray[np.int64]
    scores: NDArray[Any]

    @classmethod
    def of(cls, search: ConceptSearch, query: Any, options: dict[str, Any], source: str | None) -> Ranking:
        asked = [options.get(name) for name in ("concept", "without", "score")]
        want, own, *_ = search._looked_for(query, *asked)
        hits, where = found_by(search, query, options), options.get("where")
        here = [position for position in own if position is not None]
        most = min(len(search.collection), max(NUMBERS // search.collection.dimension, RANKED_LEAST))
        ((positions, scores),) = search._ranked(want, most, where)
        others = ~np.isin(positions, here)
        return cls(search, query, options, source, want, here, hits, positions[others], scores[others])

    def again(self, options: dict[str, Any]) -> list[Hit]:
        """The hits of the same search, but for some options."""
        return found_by(self.search, self.query, {**self.options, **options})

    @property
    def k(self) -> int:
        return int(self.options["k"])

    @cached_property
    def shown(self) -> NDArray[np.int64]:
        """Positions of the hits."""
        return np.array([hit.position for hit in self.hits], dtype=np.int64)

    @cached_property
    def top(self) -> NDArray[np.int64]:
        """The best by score, those of them that are looked at one by one."""
        return self.positions[: max(LOOKED_AT, 2 * self.k)]

    @cached_property
    def rows(self) -> NDArray[Any]:
        """Their prepared rows."""
        return self.search._rows(self.top)

    @property
    def names(self) -> list[str]:
        """What the terms of a score are called."""
        return self._told[0]

    @cached_property
    def _told(self) -> tuple[list[str], NDArray[np.float64]]:
        return self.terms_of(self.rows)

    @property
    def terms(self) -> NDArray[np.float64]:
        """Terms of the scores of the best (n, T)."""
        return self._told[1]

    def terms_of(self, rows: NDArray[Any]) -> tuple[list[str], NDArray[np.float64]]:
        """Names and terms of the scores of prepared rows: by concept, or without a model by aspect."""
        if self.search.stored is not None:
            return score_terms(self.search.stored.cones, self.want, rows, self.search._presence)
        told = self.want.terms(rows, None)
        return list(told), np.column_stack([term[0] for term in told.values()]).astype(np.float64)

    @cached_property
    def _parts(self) -> tuple[list[str], NDArray[np.float64]]:
        """The concepts of a query that looks for all of a row, and what none of them has: vectors that add up to it."""
        q = unit_rows(self.want.vectors.astype(np.float64))
        cones, presence = self.search.stored.cones, self.search._presence
        parts = cones.components(q, None if presence is None else presence.has(q))[0]
        return [*map(str, cones.names), IN_NONE], np.vstack([parts, q - parts.sum(axis=0)])

    @cached_property
    def part_names(self) -> list[str]:
        """What the query is made of: its concepts if all of a row is looked for, or else what was asked for."""
        if self.want.is_whole and self.search.stored is not None:
            return self._parts[0]
        return list(self.want.terms(self.rows[:1], self.search._presence))

    @cached_property
    def part_shares(self) -> dict[str, float]:
        """How much of a query that looks for all of a row each of its concepts is; empty for other queries."""
        if not self.want.is_whole or self.search.stored is None:
            return {}
        names, parts = self._parts
        return dict(zip(names, (parts @ parts.sum(axis=0)).tolist()))

    def parts_of(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """What each part of the query adds to the scores of prepared rows (n, P)."""
        if self.want.is_whole and self.search.stored is not None:
            return np.asarray(unit_rows(rows.astype(np.float64)) @ self._parts[1].T)
        told = self.want.terms(rows, self.search._presence)
        return np.column_stack([term[0] for term in told.values()]).astype(np.float64)

    @cached_property
    def repeats(self) -> NDArray[np.int64]:
        """For each of the best the first one before it that it repeats; itself if it repeats none."""
        units = unit_rows(self.rows.astype(np.float64))
        near = units @ units.T >= NEAR
        return np.where(units.any(axis=1), near.argmax(axis=1), np.arange(len(near)))

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """Positions of some items that tell what is usual."""
        if len(self.positions) <= SAMPLE:
            return self.positions
        return self.positions[np.sort(np.random.default_rng(0).choice(len(self.positions), SAMPLE, replace=False))]

    @cached_property
    def sampled_items(self) -> list[dict[str, Any]]:
        return self.items(self.sample)

    def items(self, positions: NDArray[np.int64]) -> list[dict[str, Any]]:
        read = self.search.collection.reader(positions.tolist())
        return [read(position) for position in positions.tolist()]

    @cached_property
    def top_items(self) -> list[dict[str, Any]]:
        return self.items(self.top[: self.k])

    @cached_property
    def sources(self) -> dict[str, dict[Any, float]]:
        """The columns that may say where items come from, with the share of each value."""
        found = {}
        for name in _columns(self.sampled_items):
            if self.source not in (None, name):
                continue
            cells = [row.get(name) for row in self.sampled_items]
            known = [cell for cell in cells if isinstance(cell, (str, int, bool))]
            counts = {value: known.count(value) for value in set(known)}
            few = 2 <= len(counts) <= max(2, DIFFERENT * len(cells)) and len(known) == len(cells) - cells.count(None)
            if few or (self.source == name and counts):
                found[name] = {value: count / len(cells) for value, count in counts.items()}
        if self.source is not None and self.source not in found:
            there = _columns(self.sampled_items)
            raise ValueError(
                f"No column {self.source!r} says where items come from: {did_you_mean(self.source, there)}"
            )
        return found

    def is_concept(self, column: str, value: Any, least: float) -> bool:
        """Whether the items with a value in a column are much those that have some concept."""
        presence = self.search._presence
        if presence is None:
            return False
        has = presence.has(self.own_vectors.rows).astype(np.float64)
        mine = np.array([item.get(column) == value for item in self.sampled_items], dtype=np.float64)
        has, mine = has - has.mean(axis=0), mine - mine.mean()
        spread = np.sqrt((has**2).sum(axis=0) * (mine**2).sum())
        return bool((has.T @ mine > least * np.where(spread > 0, spread, np.inf)).any())

    @cached_property
    def own_vectors(self) -> OwnVectors:
        return OwnVectors(self.search, self.sample, self.sampled_items)


@dataclass
class Case:
    """One item in a ranking.

    rank : among all that were ranked; None if it is not among them
    terms : of its score, which they add up to
    before : positions of the hits that stand before it
    behind : the mean terms of these less its own
    """

    ranking: Ranking
    position: int
    rank: int | None
    score: float
    row: NDArray[Any]
    terms: NDArray[np.float64]

    @classmethod
    def of(cls, ranking: Ranking, position: int) -> Case:
        row = ranking.search._rows([position])
        score = float(ranking.want.scores(row, ranking.search._presence)[0, 0])
        found = np.flatnonzero(ranking.positions == position)
        terms = ranking.terms_of(row)[1][0]
        return cls(ranking, position, int(found[0]) + 1 if len(found) else None, score, row, terms)

    @cached_property
    def shown(self) -> bool:
        return bool((self.ranking.shown == self.position).any())

    @cached_property
    def n_above(self) -> int:
        """How many of the best that are looked at stand above it."""
        return len(self.ranking.top) if self.rank is None else min(self.rank - 1, len(self.ranking.top))

    @cached_property
    def before(self) -> NDArray[np.int64]:
        shown = self.ranking.shown
        mine = np.flatnonzero(shown == self.position)
        return shown[: mine[0]] if len(mine) else shown

    @cached_property
    def behind(self) -> NDArray[np.float64]:
        if not len(self.before):
            return np.zeros(len(self.terms))
        known = {int(p): i for i, p in enumerate(self.ranking.top)}
        rows = [known.get(int(p)) for p in self.before]
        if None in rows:
            told = self.ranking.terms_of(self.ranking.search._rows(self.before))[1]
        else:
            told = self.ranking.terms[np.array(rows)]
        return np.asarray(told.mean(axis=0) - self.terms)

    @cached_property
    def item(self) -> dict[str, Any]:
        return self.ranking.search.collection.item(self.position)


def found_by(search: ConceptSearch, query: Any, options: dict[str, Any]) -> list[Hit]:
    """What a search finds, without a word on how sensible it is to search so."""
    asked = [options.get(name) for name in ("concept", "without", "score")]
    want, own, names, _ = search._looked_for(query, *asked)
    hits: Any = search._searched(query, want, own, names, options["k"], options["diverse"], options.get("where"))
    return hits  # type: ignore[no-any-return]


def _columns(items: list[dict[str, Any]]) -> list[str]:
    return [name for name in dict.fromkeys(name for item in items for name in item) if name != "id"]
