"""Why an item scores as it does: the score as a sum of one term per concept. All rows here are prepared already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid.concepts import ConceptSubspaces, Cones
from pellucid.concepts.presence import SHORTEST, Gates
from pellucid.preparation import CenteredNormalizer


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
        Of the pair, as a search shows it: the cosine of the two, or of the filtered query and the item, or "gated".
    words : list of list of str
        For each concept the words nearest to what counts in it; empty without a vocabulary.
    presence : float
        What the likelihood that the item has the concept adds to the score "gated".

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
        lines.append(f"  {self.residual:+.3f}  not in any concept ({self.residual_share:.0%} of all parts)")
        if self.presence:
            lines.append(f"  {self.presence:+.3f}  how likely it has the concept")
        return "\n".join(lines)


def explain(
    model: ConceptSubspaces,
    x: ArrayLike,
    y: ArrayLike,
    *,
    words: Sequence[str] | None = None,
    word_vectors: ArrayLike | None = None,
    top: int = 3,
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
    words : list of str, default=None
        A vocabulary that names the terms.
    word_vectors : array-like of shape (n_words, d), default=None
        Its vectors, from the same model as x and y.
    top : int, default=3
        Words per concept.

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
    >>> found = explain(ConceptSubspaces(1, center=False).fit(X, y), [3, 4], [1, 1])
    >>> found.terms.round(2).tolist()
    [0.42, 0.57]
    """
    pair = model.prepare(np.vstack([np.asarray(row, dtype=np.float64).ravel() for row in (x, y)]))
    return explain_cosine(model.cones, pair[:1], pair[1:], words=words, word_vectors=word_vectors, top=top)


def explain_cosine(cones: Cones, x: NDArray[Any], y: NDArray[Any], **vocabulary: Any) -> Explanation:
    """cos(x, y) of rows (1, d): ½(v_j(x)·y + v_j(y)·x) for each concept, the same from either side."""
    pair = _unit_pair(x, y)
    parts = cones.components(pair)
    terms = 0.5 * (parts[0] @ pair[1] + parts[1] @ pair[0])
    score = float(pair[0] @ pair[1])
    named = _named(terms, parts[0] + parts[1], **vocabulary)
    return Explanation(list(cones.names), terms, score - float(terms.sum()), score, named)


def explain_filtered(cones: Cones, query: NDArray[Any], y: NDArray[Any], **vocabulary: Any) -> Explanation:
    """cos(q, y) of a query (1, d) seen through concepts: q·v_j(y), the item's parts along what was searched for."""
    q, item = _unit_pair(query, y)
    parts = cones.components(item[None])[0]
    terms, score = parts @ q, float(q @ item)
    return Explanation(list(cones.names), terms, score - float(terms.sum()), score, _named(terms, parts, **vocabulary))


def explain_gated(
    gates: Gates, x: NDArray[Any], y: NDArray[Any], concept: Any, described: NDArray[Any], **vocabulary: Any
) -> Explanation:
    """The score "gated": μ times the plain cosine's terms, 1 − μ times those of each projection over its length in the
    item, and the likelihood as a term of its own."""
    cones, S = gates.cones, len(gates.cones.names)
    indices = cones.indices(concept)
    plain = explain_cosine(cones, x, y, **vocabulary)
    terms, residual = gates.mix * plain.terms, gates.mix * plain.residual
    for j in indices:
        seen = explain_filtered(cones, cones.project(x, cones.names[j]), y)
        share = (1 - gates.mix) / len(indices) / max(float(described[0, S + j]), SHORTEST)
        terms, residual = terms + share * seen.terms, residual + share * seen.residual
    presence = gates.weight * float(described[0, indices].mean())
    score = float(terms.sum()) + residual + presence
    return Explanation(plain.names, terms, residual, score, plain.words, presence)


def _unit_pair(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    return unit_rows(np.vstack([x, y]).astype(np.float64))


def _named(
    terms: NDArray[Any],
    parts: NDArray[Any],
    words: Sequence[str] | None = None,
    word_vectors: ArrayLike | None = None,
    top: int = 3,
) -> list[list[str]]:
    """For each concept that adds to the score, the words nearest to its part (S, d)."""
    if words is None or word_vectors is None:
        return [[] for _ in terms]
    vocabulary = CenteredNormalizer().fit_transform(np.asarray(word_vectors, dtype=np.float64))
    nearest = np.argsort(-(unit_rows(parts) @ vocabulary.T), axis=1, kind="stable")[:, :top]
    return [[str(words[i]) for i in row] if term > 0 else [] for term, row in zip(terms, nearest)]
