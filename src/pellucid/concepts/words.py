"""Concepts that are named when they are asked for: a cone of words in place of one that was learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite
from pellucid._core.hints import did_you_mean
from pellucid.preparation import CenteredNormalizer
from pellucid.solvers import Cone

# what the row itself counts for beside its part in a cone of words, and the concept's own word
WHOLE = 0.85


@dataclass(frozen=True, eq=False, repr=False)
class WordConcept:
    """A concept made of words, which can stand wherever a search takes the name of one.

    Parameters
    ----------
    name : str
        What it is called.
    vectors : ndarray of shape (k, d)
        Prepared vectors of the words that span its cone; none for a single word.
    direction : ndarray of shape (d,)
        Prepared vector of the concept's own word.

    See Also
    --------
    Vocabulary.concept : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import WordConcept
    >>> pets = WordConcept("pet", np.eye(3)[:2], np.array([0.6, 0.8, 0.0]))
    >>> pets.part(np.array([[3.0, 4.0, 5.0]])).tolist()
    [[3.0, 4.0, 0.0]]
    """

    name: str
    vectors: NDArray[Any]
    direction: NDArray[Any]

    def __repr__(self) -> str:
        made = f"cone of {len(self.vectors)} words" if len(self.vectors) else "one word"
        return f"WordConcept({self.name!r}: {made})"

    @property
    def index(self) -> None:
        """It has no place in a model that knows presence."""
        return None

    @cached_property
    def _cone(self) -> Cone:
        return Cone(self.vectors if len(self.vectors) else self.direction[None])

    def part(self, X: NDArray[Any]) -> NDArray[Any]:
        """Project prepared rows onto the cone of the words.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.

        Returns
        -------
        ndarray of shape (n, d)
            The part of each that lies in it.
        """
        return np.asarray(self._cone.project(X.astype(self._cone.atoms.dtype, copy=False)), dtype=X.dtype)

    def looked_for(self, X: NDArray[Any]) -> NDArray[Any]:
        """What a search by the concept looks for: the part and the row itself, moved towards the concept's word.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.

        Returns
        -------
        ndarray of shape (n, d)
            Rows of unit length.
        """
        rows, word = unit_rows(X), self.direction.astype(X.dtype)
        return unit_rows(WHOLE * rows + word + unit_rows(self.part(X)) if len(self.vectors) else rows + word)


class Vocabulary:
    """Words with their vectors, to name parts with and to make concepts of.

    Parameters
    ----------
    words : list of str
        The words.
    vectors : array-like of shape (n_words, d)
        Their vectors as they come, from the encoder of the items (or from the text tower that goes with it). They are
        centred by their own mean, since words lie elsewhere than texts or images.

    Raises
    ------
    ValueError
        If there are not as many vectors as words, or a number is not finite.

    Examples
    --------
    >>> from pellucid.concepts import Vocabulary
    >>> from pellucid.datasets import load_scenes
    >>> scenes = load_scenes()
    >>> vocabulary = Vocabulary(scenes.words, scenes.word_vectors)
    >>> vocabulary.concept("animal", ["dog", "cat", "horse"])
    WordConcept('animal': cone of 3 words)
    >>> vocabulary.nearest(vocabulary["kitten"], 3)
    ['kitten', 'cat', 'puppy']
    """

    def __init__(self, words: Sequence[str], vectors: ArrayLike) -> None:
        given = as_matrix(vectors, "vectors")
        check_finite(given, "vectors")
        if len(given) != len(words):
            raise ValueError(f"There are {len(words)} words, but {len(given)} vectors.")
        self.words = [str(word) for word in words]
        self.preparation = CenteredNormalizer().fit(given)
        self.vectors: NDArray[Any] = self.preparation.transform(given)
        self._places = {word: i for i, word in reversed(list(enumerate(self.words)))}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._places

    def __getitem__(self, word: str) -> NDArray[Any]:
        if word not in self._places:
            raise ValueError(f"There is no word {word!r}: {did_you_mean(word, self.words)}")
        return np.asarray(self.vectors[self._places[word]])

    def concept(
        self, name: str, words: Sequence[str] | None = None, *, vectors: ArrayLike | None = None
    ) -> WordConcept:
        """Make a concept of a word, or better of a list of words that are kinds of it.

        Parameters
        ----------
        name : str
            The concept's own word; if the vocabulary does not have it, the mean of the list stands for it.
        words : list of str, default=None
            Kinds or examples of the concept, which span its cone.
        vectors : array-like of shape (k, d), default=None
            Vectors as they come of more words or phrases that the vocabulary does not have.

        Returns
        -------
        WordConcept
            The concept.

        Raises
        ------
        ValueError
            If a word is not known, or there is neither a known word nor a list.

        Examples
        --------
        >>> from pellucid.concepts import Vocabulary
        >>> words = Vocabulary(["cat", "dog", "car"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> words.concept("pet", ["cat", "dog"])
        WordConcept('pet': cone of 2 words)
        """
        spanning = [self[word] for word in words or ()]
        if vectors is not None:
            more = as_matrix(vectors, "vectors")
            check_finite(more, "vectors")
            spanning += list(self.preparation.transform(more).astype(self.vectors.dtype))
        if name not in self and not spanning:
            raise ValueError(f"There is no word {name!r}: {did_you_mean(name, self.words)}")
        cone = np.array(spanning, dtype=self.vectors.dtype).reshape(len(spanning), self.vectors.shape[1])
        own = self[name] if name in self else unit_rows(cone.mean(axis=0, keepdims=True))[0]
        return WordConcept(name, cone, own)

    def nearest(self, row: NDArray[Any], k: int = 5) -> list[str]:
        """Name a prepared row by the nearest words.

        Parameters
        ----------
        row : ndarray of shape (d,)
            A prepared row, or a part of one.
        k : int, default=5
            How many words.

        Returns
        -------
        list of str
            Nearest first; none for a row of zeros.
        """
        close = self.vectors @ np.asarray(row, dtype=self.vectors.dtype)
        if not close.any():
            return []
        k = min(k, len(close))
        best = np.argpartition(-close, k - 1)[:k]
        return [self.words[i] for i in best[np.lexsort((best, -close[best]))]]
