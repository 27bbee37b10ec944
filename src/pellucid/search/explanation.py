"""Why an item scores as it does: the score as a sum of one term per concept. All rows here are prepared already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid.concepts import ConceptSubspaces, Cones, Vocabulary
from pellucid.concepts.base import ALL
from pellucid.concepts.presence import Presence
from pellucid.search.wanted import Wanted

# what the last lines of an explanation are called
IN_NONE, LIKELY = "not in any concept", "how likely it has what was asked for"


@dataclass(frozen=True)
class Explanation:
    """A score as a sum: score = Σ terms + residual + presence.

    Attributes
    ----------
    names : list of str
        The S concepts.
    terms : ndarray of shape (S,)
        What each concept contributes.
    residual : float
        What no concept accounts for.
    score : float
        Of the pair, as a search shows it.
    words : list of list of str
        For each concept the words nearest to what counts in it; empty without a vocabulary.
    presence : float
        What the probabilities that the item has the concepts asked for add to it, or take away.

    See Also
    --------
    explain : Explains a pair of vectors.
    Hit.explain : Explains a result of a search.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.search import Explanation
    >>> print(Explanation(["cat", "dog"], np.array([0.1, 0.5]), 0.2, 0.8, [[], ["bark"]]))
    score +0.800
      +0.500  dog  (bark)
      +0.100  cat
      +0.200  not in any concept (25% of all parts)
    """

    names: list[str]
    terms: NDArray[np.float64]
    residual: float
    score: float
    words: list[list[str]]
    presence: float = 0.0

    @property
    def residual_share(self) -> float:
        """Size of the residual as a share of the sizes of all parts."""
        total = float(np.abs(self.terms).sum() + abs(self.residual))
        return abs(self.residual) / total if total > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All of it in terms of JSON.

        Returns
        -------
        dict
            ``score``, ``terms`` by concept, ``residual``, ``presence``, and ``words`` of the concepts that have any.
        """
        return {
            "score": float(self.score),
            "terms": dict(zip(self.names, self.terms.tolist())),
            "residual": float(self.residual),
            "presence": float(self.presence),
            "words": {name: near for name, near in zip(self.names, self.words) if near},
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw a step per concept, up to the score.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        See Also
        --------
        pellucid.plots.explanation : The same with more options.
        """
        from pellucid.plots import explanation

        return explanation(self, ax=ax)

    def __str__(self) -> str:
        lines = [f"score {self.score:+.3f}"]
        for j in np.argsort(-np.abs(self.terms), kind="stable"):
            if abs(self.terms[j]) >= 0.0005:  # what rounds to nothing is left out
                about = f"  ({', '.join(self.words[j])})" if self.words[j] else ""
                lines.append(f"  {self.terms[j]:+.3f}  {self.names[j]}{about}")
        lines.append(f"  {self.residual:+.3f}  {IN_NONE} ({self.residual_share:.0%} of all parts)")
        if self.presence:
            lines.append(f"  {self.presence:+.3f}  {LIKELY}")
        return "\n".join(lines)


def explain(
    model: ConceptSubspaces,
    x: ArrayLike,
    y: ArrayLike,
    *,
    vocabulary: Vocabulary | None = None,
    top: int = 3,
    active: Any = None,
) -> Explanation:
    """Split the cosine of two vectors, as the model sees them, by concept.

    Parameters
    ----------
    model : ConceptSubspaces
        A fitted model.
    x : array-like of shape (d,)
        A raw vector.
    y : array-like of shape (d,)
        Another.
    vocabulary : Vocabulary, default=None
        Words that name the terms.
    top : int, default=3
        Words per concept.
    active : str, list of str or array-like of shape (2, S), default=None
        The concepts that the two may have parts of. None takes those that each has by ``model.predict``, or all of a
        model without presence; "all" takes all.

    Returns
    -------
    Explanation
        One term per concept; print it for a table.

    See Also
    --------
    ConceptSearch.explain : The same for items of a collection, and for every kind of score.

    Examples
    --------
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.search import explain
    >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
    >>> found = explain(ConceptSubspaces(1, center=False).fit(X, y), [3, 4], [1, 1], active="all")
    >>> found.terms.round(2).tolist()
    [0.42, 0.57]
    """
    pair = model.prepare(np.vstack([np.asarray(row, dtype=np.float64).ravel() for row in (x, y)]))
    presence = model.presence_model if model.knows_presence else None
    return explain_cosine(model.cones, pair[:1], pair[1:], presence, active, vocabulary, top)


def explain_cosine(
    cones: Cones,
    x: NDArray[Any],
    y: NDArray[Any],
    presence: Presence | None,
    active: Any = None,
    vocabulary: Vocabulary | None = None,
    top: int = 3,
) -> Explanation:
    """cos(x, y) of rows (1, d): ½(v_j(x)·y + v_j(y)·x) for each concept, the same from either side, over the concepts
    that each of the two has."""
    pair = _unit_pair(x, y)
    codes = cones.encode(pair, _active(pair, presence, active))
    terms = 0.5 * cones.terms(pair, pair[::-1], codes).sum(axis=0)
    score = float(pair[0] @ pair[1])
    words = _named(cones, terms, codes.sum(axis=0), vocabulary, top)
    return Explanation(list(cones.names), terms, score - float(terms.sum()), score, words)


def explain_wanted(
    cones: Cones,
    want: Wanted,
    y: NDArray[Any],
    presence: Presence | None,
    active: Any = None,
    vocabulary: Vocabulary | None = None,
    top: int = 3,
) -> Explanation:
    """Σ_a q_a·y + Σ_j u_j p_j(y) of what is wanted of an item (1, d): q·v_j(y) for each concept that the item has or
    that was asked for, and the probabilities as a term of their own."""
    item = unit_rows(y.astype(np.float64))
    q = want.vectors.astype(np.float64)
    allowed = _active(item, presence, active)
    if isinstance(allowed, np.ndarray):
        allowed[:, [j for _, j, _ in want.likely]] = True
    codes = cones.encode(item, allowed)
    terms, close = cones.terms(item, q, codes)[0], float(q[0] @ item[0])
    likely = want.presence(y, presence)
    words = _named(cones, terms, codes[0], vocabulary, top)
    return Explanation(list(cones.names), terms, close - float(terms.sum()), close + likely, words, likely)


def score_terms(
    cones: Cones, want: Wanted, rows: NDArray[Any], presence: Presence | None
) -> tuple[list[str], NDArray[np.float64]]:
    """The same sums for many items (n, d): what each line of an explanation is called, and its terms (n, S + 2), whose
    last two columns are what no concept accounts for, and the probabilities."""
    items = unit_rows(rows.astype(np.float64))
    q = want.vectors.astype(np.float64)
    whole = want.is_whole
    q = unit_rows(q) if whole else q
    allowed = _active(items, presence, None)
    if isinstance(allowed, np.ndarray):
        allowed[:, [j for _, j, _ in want.likely]] = True
    queries = np.broadcast_to(q, items.shape)
    terms = cones.terms(items, queries, cones.encode(items, allowed))
    if whole:
        codes = cones.encode(q, _active(q, presence, None))
        terms = 0.5 * (terms + cones.terms(queries, items, np.broadcast_to(codes, (len(items), codes.shape[1]))))
    rest = items @ q[0] - terms.sum(axis=1)
    likely = want.presence_of(rows, presence)
    return [*map(str, cones.names), IN_NONE, LIKELY], np.column_stack([terms, rest, likely])


def _active(rows: NDArray[Any], presence: Presence | None, active: Any) -> Any:
    """The concepts that rows may have parts of: those given, or those that they have; None is all."""
    if active is not None:
        return None if isinstance(active, str) and active == ALL else active
    return None if presence is None else presence.has(rows)


def _unit_pair(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    return unit_rows(np.vstack([x, y]).astype(np.float64))


def _named(
    cones: Cones, terms: NDArray[Any], codes: NDArray[Any], vocabulary: Vocabulary | None, top: int
) -> list[list[str]]:
    """For each concept that adds to the score, the words nearest to its part, which has these codes (M,)."""
    found: list[list[str]] = [[] for _ in terms]
    if vocabulary is not None:
        for j in np.flatnonzero(terms > 0):
            mine = np.flatnonzero((cones.groups == j) & (codes > 0))
            found[j] = vocabulary.nearest(codes[mine] @ cones.atoms[mine], top)
    return found
