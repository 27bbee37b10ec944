"""What a search looks for: s(c) = Σ_a q_a·c + Σ_j u_j p_j(c), for candidates c of unit length.

Each aspect a of the query is a vector q_a; p_j(c) is the probability that c has concept j. All rows here are prepared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid.concepts import Cones
from pellucid.concepts.presence import Presence

Names = str | Sequence[str]

# the share of the whole row in a score that asks for concepts and for presence
WHOLE = 0.25
# what the whole of a row is called among its aspects
ALL_OF_IT = "all of it"


class Seen(Protocol):
    """A concept as a query meets it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def index(self) -> int | None:
        """Where it stands in a model that knows presence."""

    def part(self, X: NDArray[Any]) -> NDArray[Any]:
        """The part of rows that lies in it."""

    def looked_for(self, X: NDArray[Any]) -> NDArray[Any]:
        """What a search for it looks for in rows, at unit length."""


@dataclass(frozen=True)
class Learned:
    """A concept, or several as one, of a model."""

    name: str
    cones: Cones
    names: list[str]
    index: int | None

    def part(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.cones.project(X, self.names)

    def looked_for(self, X: NDArray[Any]) -> NDArray[Any]:
        return unit_rows(self.part(X))


@dataclass(frozen=True)
class Asked:
    """What is asked of every query row: weights of concepts, those to keep out positive too, and the kind of score."""

    towards: list[tuple[Seen, float]]
    away: list[tuple[Seen, float]]
    with_presence: bool

    @property
    def names(self) -> list[str]:
        """The concepts of the model that are looked for."""
        return [name for seen, _ in self.towards if isinstance(seen, Learned) for name in seen.names]


@dataclass(frozen=True)
class Wanted:
    """The aspects of each query row (n, d), and the weights u_j of probabilities, with the names that they go under."""

    aspects: list[tuple[str, NDArray[Any]]]
    likely: list[tuple[str, int, float]]

    @property
    def vectors(self) -> NDArray[Any]:
        """Σ_a q_a of each query row."""
        return np.asarray(sum(rows for _, rows in self.aspects))

    def row(self, i: int) -> Wanted:
        """What one query row asks for."""
        return Wanted([(name, rows[i : i + 1]) for name, rows in self.aspects], self.likely)

    def at_unit_length(self) -> Wanted:
        """The same up to a factor, so that the scores are cosines."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        scale = 1 / np.where(lengths > 0, lengths, 1)
        return Wanted([(name, (rows * scale).astype(rows.dtype)) for name, rows in self.aspects], self.likely)

    def shortlist_vectors(self, presence: Presence) -> NDArray[Any]:
        """One vector for each query row whose products with candidates are nearest to the scores: what any engine can
        look for."""
        which = np.array([j for _, j, _ in self.likely])
        weights = np.array([weight for *_, weight in self.likely])
        return np.asarray(self.vectors + weights @ presence.directions(which))

    def terms(self, candidates: NDArray[Any], presence: Presence | None) -> dict[str, NDArray[Any]]:
        """What each aspect adds to the scores (n, c) of candidates; a concept's probability counts to its aspect."""
        pool = unit_rows(candidates)
        found: dict[str, Any] = {}
        for name, rows in self.aspects:
            found[name] = found.get(name, 0) + rows @ pool.T
        for (name, *_), more in zip(self.likely, self._likely_terms(candidates, presence)):
            found[name] = found.get(name, 0) + more[None]
        n = len(self.aspects[0][1])
        return {name: np.broadcast_to(term, (n, len(pool))) for name, term in found.items()}

    def presence(self, candidate: NDArray[Any], presence: Presence | None) -> float:
        """What probabilities add to the score of one candidate (1, d): Σ_j u_j p_j."""
        return float(self.presence_of(candidate, presence)[0])

    def presence_of(self, candidates: NDArray[Any], presence: Presence | None) -> NDArray[Any]:
        """The same of many (n, d)."""
        return np.asarray(sum(self._likely_terms(candidates, presence), np.zeros(len(candidates))))

    @property
    def is_whole(self) -> bool:
        """Whether all of a row is looked for, and nothing else."""
        return len(self.aspects) == 1 and self.aspects[0][0] == ALL_OF_IT and not self.likely

    def _likely_terms(self, candidates: NDArray[Any], presence: Presence | None) -> list[NDArray[Any]]:
        if not self.likely:
            return []
        assert presence is not None
        p = presence.probabilities(candidates, np.array([j for _, j, _ in self.likely]))
        return [weight * column for (*_, weight), column in zip(self.likely, p.T)]

    def scores(self, candidates: NDArray[Any], presence: Presence | None) -> NDArray[Any]:
        """The scores (n, c) of candidates."""
        return np.asarray(sum(self.terms(candidates, presence).values()))


def wanted(X: NDArray[Any], asked: Asked, presence: Presence | None) -> Wanted:
    """What query rows ask for: parts of concepts, without those of others, and how much presence counts."""
    rest = X if not asked.away else without(X, [seen for seen, _ in asked.away])
    weigh = presence is not None and asked.with_presence
    if not asked.towards:
        aspects = [(named("without", asked.away) if asked.away else ALL_OF_IT, unit_rows(rest))]
    else:
        total = sum(weight for _, weight in asked.towards)
        whole = WHOLE if weigh and any(seen.index is not None for seen, _ in asked.towards) else 0.0
        aspects = [
            (seen.name, ((1 - whole) * weight / total * seen.looked_for(rest)).astype(X.dtype))
            for seen, weight in asked.towards
        ]
        if whole:
            aspects.append((ALL_OF_IT, (whole * unit_rows(rest)).astype(X.dtype)))
    likely = presence_terms(asked, presence) if weigh and presence is not None else []
    found = Wanted(aspects, likely)
    return found if likely else found.at_unit_length()


def presence_terms(asked: Asked, presence: Presence) -> list[tuple[str, int, float]]:
    """λ of what is looked for, shared out by weight, and −λ for each concept to keep out."""
    unit, total = float(presence.weight[0]), sum(weight for _, weight in asked.towards)
    more = [(seen.name, seen.index, unit * weight / total) for seen, weight in asked.towards if seen.index is not None]
    less = [
        (named("without", [(seen, weight)]), seen.index, -unit * weight)
        for seen, weight in asked.away
        if seen.index is not None
    ]
    return more + less


def composed(parts: list[tuple[NDArray[Any], Asked]], weights: list[float], presence: Presence | None) -> Wanted:
    """The parts of several rows (1, d) as one query; the part that a negative weight names is taken out of the sum."""
    total = sum(weight for weight in weights if weight > 0)
    aspects: list[tuple[str, NDArray[Any]]] = []
    likely: list[tuple[str, int, float]] = []
    for (row, asked), weight in zip(parts, weights):
        share = weight / total
        if not asked.towards:
            aspects.append((ALL_OF_IT, share * unit_rows(row)))
            continue
        for seen, _ in asked.towards:
            name = seen.name if weight > 0 else named("without", [(seen, -weight)])
            aspects.append((name, share * (seen.looked_for(row) if weight > 0 else seen.part(unit_rows(row)))))
            if presence is not None and seen.index is not None:
                likely.append((name, seen.index, share * float(presence.weight[0])))
    found = Wanted(aspects, likely)
    return found if likely else found.at_unit_length()


def without(X: NDArray[Any], away: list[Seen]) -> NDArray[Any]:
    """Rows less their parts in some concepts; those of one model together have one cone."""
    learned = [seen for seen in away if isinstance(seen, Learned)]
    if learned:
        X = learned[0].cones.remove(X, [name for seen in learned for name in seen.names])
    for seen in away:
        if not isinstance(seen, Learned):
            X = X - seen.part(X)
    return X


def named(before: str, concepts: Sequence[tuple[Seen, float]]) -> str:
    return f"{before} {', '.join(seen.name for seen, _ in concepts)}"


def weights_of(concept: Any) -> list[tuple[Any, float]]:
    """Concepts with their weights, from a name, several, or a mapping."""
    if concept is None:
        return []
    if isinstance(concept, Mapping):
        pairs = list(concept.items())
        if not pairs:
            raise ValueError("Name at least one concept.")
        for name, weight in pairs:
            if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)) or not np.isfinite(weight):
                raise ValueError(f"The weight of {name!r} must be a finite number, got {weight!r}.")
        found = [(name, float(weight)) for name, weight in pairs if weight != 0]
        if not found:
            raise ValueError("Every concept has the weight 0: give at least one another.")
        return found
    if isinstance(concept, str) or not isinstance(concept, Sequence):
        return [(concept, 1.0)]
    if not concept:
        raise ValueError("Name at least one concept.")
    return [(name, 1.0) for name in concept]
