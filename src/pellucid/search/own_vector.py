"""Whether an item is stored with its own vector: what its columns say, against where its vector lies."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows

if TYPE_CHECKING:
    from pellucid.search.query import ConceptSearch

# items whose words are most like an item's, which say where its vector should lie
ALIKE = 10
# items that it is judged by, at least
LEAST = 50
# a vector is not an item's own if it fits worse than is usual by so many deviations, and as ill as most shuffled ones
# do; medians are what is usual even where a block of rows has slipped
DEVIATIONS, ILL = 3.0, 0.9


class OwnVectors:
    """What is usual in a collection: how well the vectors of items fit the words in their columns.

    An item should lie where those of most similar words lie. How far that holds is measured on the sample itself, and
    on the same items with their vectors shuffled: if that makes no difference, words say nothing and nothing is said.
    """

    def __init__(self, search: ConceptSearch, positions: NDArray[np.int64], items: list[dict[str, Any]]) -> None:
        self.search, self.positions, self.items = search, positions, items

    @cached_property
    def rows(self) -> NDArray[np.float64]:
        return np.asarray(unit_rows(self.search._rows(self.positions).astype(np.float64)))

    @cached_property
    def _words(self) -> Any:
        """A vectoriser of words and the matrix of those of the sample; None if there are none."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        told = [words_of(item) for item in self.items]
        if len(told) < LEAST or sum(map(bool, told)) < LEAST:
            return None
        made = TfidfVectorizer(analyzer=lambda words: words, sublinear_tf=True)
        return made, made.fit_transform(told)

    def _expected(self, words: Any, left_out: NDArray[np.int64]) -> NDArray[np.float64]:
        """Where rows of words (m, w) should lie, by the items of most similar words, item left_out[i] aside."""
        likeness = np.asarray((words @ self._words[1].T).todense())
        there = left_out >= 0
        likeness[np.flatnonzero(there), left_out[there]] = -1
        near = np.argpartition(-likeness, ALIKE, axis=1)[:, :ALIKE]
        weight = np.maximum(np.take_along_axis(likeness, near, axis=1), 0)
        return np.asarray(unit_rows(np.einsum("ij,ijd->id", weight, self.rows[near])))

    @cached_property
    def _usual(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How well vectors fit their words, and how well shuffled ones do."""
        expected = self._expected(self._words[1], np.arange(len(self.items)))
        fits = (expected * self.rows).sum(axis=1)
        shuffled = (expected * np.roll(self.rows, len(self.rows) // 2, axis=0)).sum(axis=1)
        return fits, shuffled

    def judge(self, position: int, row: NDArray[Any], item: dict[str, Any]) -> tuple[str, NDArray[Any] | None] | None:
        """What is wrong with the vector of an item, and where it should lie (1, d); None if nothing is seen."""
        if not row.any():
            return "Its vector is zero, or what the model takes out of all vectors: it has no direction.", None
        if self._words is None:
            return None
        words = self._words[0].transform([words_of(item)])
        expected = self._expected(
            words, np.where(self.positions == position)[0][:1] if position in self.positions else np.array([-1])
        )
        if not expected.any():
            return None
        fits, shuffled = self._usual
        if np.median(fits) <= np.quantile(shuffled, 0.95):  # words do not tell where vectors lie
            return None
        mine = float(expected[0] @ unit_rows(row.astype(np.float64))[0])
        usual = float(np.median(fits))
        deviation = 1.4826 * float(np.median(np.abs(fits - usual)))
        if mine >= usual - DEVIATIONS * deviation or mine > np.quantile(shuffled, ILL):
            return None
        says = (
            f"Its vector is likely not its own: its cosine with items of the same words is {mine:.2f}, and "
            f"{usual:.2f} is usual. Embed it again."
        )
        return says, expected.astype(row.dtype)


def words_of(item: dict[str, Any]) -> list[str]:
    """The words in the texts and labels of an item."""
    import re

    found: list[str] = []
    for name, value in item.items():
        if name == "id":
            continue
        if isinstance(value, str):
            found += re.findall(r"\w+", value.lower())
        elif isinstance(value, (list, tuple)):
            found += [f"{name}={one}" for one in value if isinstance(one, str)]
    return found
