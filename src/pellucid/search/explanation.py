"""Why two items are close: their cosine as a sum of one term per concept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid.concepts import ConceptSubspaces
from pellucid.preprocessing import CenteredNormalizer


@dataclass(frozen=True)
class Explanation:
    """cosine = Σ terms + residual.

    names : (S,) concepts
    terms : (S,) what each concept contributes, ½(v_j(x)·y + v_j(y)·x) for unit x and y
    residual : what no concept accounts for
    cosine : of the two vectors
    words : for each concept the words nearest to what the two have in common in it (empty without a vocabulary)
    """

    names: list[str]
    terms: NDArray[np.float64]
    residual: float
    cosine: float
    words: list[list[str]]

    @property
    def residual_share(self) -> float:
        """Size of the residual as a share of the sizes of all parts."""
        total = float(np.abs(self.terms).sum() + abs(self.residual))
        return abs(self.residual) / total if total > 0 else 0.0

    def plot(self, ax: Any = None) -> Any:
        """A step per concept, up to the cosine; see :func:`pellucid.plots.explanation`."""
        from pellucid.plots import explanation

        return explanation(self, ax=ax)

    def __str__(self) -> str:
        lines = [f"cosine {self.cosine:+.3f}"]
        for j in np.argsort(-np.abs(self.terms), kind="stable"):
            if abs(self.terms[j]) >= 0.0005:  # what rounds to nothing is left out
                about = f"  ({', '.join(self.words[j])})" if self.words[j] else ""
                lines.append(f"  {self.terms[j]:+.3f}  {self.names[j]}{about}")
        lines.append(f"  {self.residual:+.3f}  not in any concept ({self.residual_share:.0%} of all parts)")
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
    """Split the cosine of two vectors (d,) by concept; with a vocabulary, name what each term is about."""
    pair = unit_rows(np.vstack([np.asarray(x, dtype=np.float64).ravel(), np.asarray(y, dtype=np.float64).ravel()]))
    parts = model.components(pair)
    terms = 0.5 * (parts[0] @ pair[1] + parts[1] @ pair[0])
    cosine = float(pair[0] @ pair[1])
    named: list[list[str]] = [[] for _ in model.concept_names_]
    if words is not None and word_vectors is not None:
        vocabulary = CenteredNormalizer().fit_transform(np.asarray(word_vectors, dtype=np.float64))
        shared: NDArray[Any] = parts[0] + parts[1]
        nearest = np.argsort(-(unit_rows(shared) @ vocabulary.T), axis=1, kind="stable")[:, :top]
        named = [[str(words[i]) for i in row] if terms[j] > 0 else [] for j, row in enumerate(nearest)]
    return Explanation(list(model.concept_names_), terms, cosine - float(terms.sum()), cosine, named)
