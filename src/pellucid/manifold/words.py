"""Word vectors by the sparse manifold transform: one-hot tokens, neighbours in the text (paper 4, section 2)."""

from __future__ import annotations

import operator
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache, partial, reduce
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import unit_rows
from pellucid._core.hints import did_you_mean
from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.saved import Fitted, SavedMixin
from pellucid.manifold.spectral import solve_graph
from pellucid.manifold.statistics import GraphStatistics, refuse_loaded
from pellucid.rows.fitting import Added, add_parts, checkpoint_of, first_state
from pellucid.rows.texts import TextBlocks, is_texts

# combining marks are in these ranges of characters
MARKS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))


class WordManifoldTransform(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """Word vectors from the words around: words that occur in the same surroundings get similar vectors.

    Parameters
    ----------
    n_components : int, default=100
        Length of the vectors.
    window : int, default=4
        How many words before and after a word are its neighbours, within a text.
    vocabulary_size : int, default=10_000
        How many of the most frequent words get a vector; others are passed over as if they were not there.
    min_count : int, default=5
        How often a word must occur.
    constraint : {"frequency", "degree"}, default="frequency"
        What has unit covariance: words as they come, as in the paper, or each weighed by how many neighbours it has.
    skip : {"constant"} or int, default="constant"
        Leave out the constant function, or that many of the first dimensions.

    Attributes
    ----------
    vocabulary_ : ndarray of str of shape (K,)
        Words, most frequent first.
    vectors_ : ndarray of shape (K, n_components)
        A vector of unit length for each word; zeros for a word that never has a neighbour.
    counts_ : ndarray of shape (K,), dtype int64
        How often each word occurs.
    eigenvalues_ : ndarray of shape (n_components,)
        What each dimension adds to the cost, smallest first.
    statistics_ : GraphStatistics
        What was added up (not saved).

    See Also
    --------
    SparseManifoldTransform : For rows of any kind.

    Examples
    --------
    >>> from pellucid import WordManifoldTransform
    >>> texts = ["we drink hot tea", "we drink hot coffee", "dogs chase small mice", "we chase cats"]
    >>> model = WordManifoldTransform(n_components=1, min_count=1).fit(texts)
    >>> model.most_similar("tea", k=4)
    [('we', 1.0), ('drink', 1.0), ('hot', 1.0), ('coffee', 1.0)]
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "vocabulary_": Fitted("U", ("words",)),
        "vectors_": Fitted("f", ("words", "components")),
        "counts_": Fitted("i", ("words",)),
        "eigenvalues_": Fitted("f", ("components",)),
    }
    _fitted_values: ClassVar[dict[str, type]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Integral, 1, None, closed="left")],
        "vocabulary_size": [Interval(Integral, 2, None, closed="left")],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "constraint": [StrOptions({"frequency", "degree"})],
        "skip": [StrOptions({"constant"}), Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 100,
        window: int = 4,
        vocabulary_size: int = 10_000,
        *,
        min_count: int = 5,
        constraint: str = "frequency",
        skip: str | int = "constant",
    ) -> None:
        self.n_components = n_components
        self.window = window
        self.vocabulary_size = vocabulary_size
        self.min_count = min_count
        self.constraint = constraint
        self.skip = skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    @unchanged_by_failure
    def fit(
        self, X: Any, y: object = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> WordManifoldTransform:
        """Count words and their neighbours, and solve.

        Parameters
        ----------
        X : iterable of str or of lists of str, str, pellucid.rows.TextBlocks or dask.bag
            Texts, each a string or a list of tokens; one string is one text. Blocks and bags are gone through twice,
            first for the vocabulary.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.
        checkpoint : str, path or None, default=None
            A file that takes what was added up after each part of the texts, from which the same call goes on when it
            was interrupted.

        Returns
        -------
        WordManifoldTransform
            The fitted model itself.

        Raises
        ------
        ValueError
            If there are no texts, fewer than two words occur ``min_count`` times, no two of them are ever neighbours,
            or a parameter is out of its range.

        Examples
        --------
        >>> from pellucid import WordManifoldTransform
        >>> model = WordManifoldTransform(n_components=2, min_count=1).fit(["sun and moon", "moon and stars"])
        >>> model.vocabulary_.tolist()
        ['and', 'moon', 'stars', 'sun']
        """
        self._validate_params()
        for name in ("statistics_", "vocabulary_"):
            if hasattr(self, name):
                delattr(self, name)
        return self._add(X, checkpoint).solve()

    @unchanged_by_failure
    def partial_fit(self, X: Any, y: object = None) -> WordManifoldTransform:
        """Add the statistics of more texts; the first ones make the vocabulary. ``solve`` finishes.

        Parameters
        ----------
        X : iterable of str or of lists of str, str, pellucid.rows.TextBlocks or dask.bag
            Texts, each a string or a list of tokens.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        WordManifoldTransform
            The model itself.

        Raises
        ------
        ValueError
            If there are no texts, or the model was loaded, so that it holds no statistics to add to.

        Examples
        --------
        >>> from pellucid import WordManifoldTransform
        >>> model = WordManifoldTransform(n_components=2, min_count=1)
        >>> model.partial_fit(["sun and moon", "moon and stars"]).partial_fit(["sun and stars"]).counts_
        array([3, 2, 2, 2])
        """
        self._validate_params()
        refuse_loaded(self, "vocabulary_")
        return self._add(X, None)

    def _add(self, X: Any, checkpoint: str | os.PathLike[str] | None) -> WordManifoldTransform:
        add_texts(self, as_texts(X), checkpoint)
        self.counts_ = self.statistics_.counts.astype(np.int64)
        return self

    def solve(self) -> WordManifoldTransform:
        """Find the vectors for the statistics added up so far.

        Returns
        -------
        WordManifoldTransform
            The model itself, fitted.

        Raises
        ------
        ValueError
            If no text has two different words of the vocabulary near each other, or ``skip`` leaves out all dimensions.

        Examples
        --------
        >>> from pellucid import WordManifoldTransform
        >>> model = WordManifoldTransform(n_components=2, min_count=1).partial_fit(["sun and moon", "moon and stars"])
        >>> model.solve().vectors_.shape
        (4, 2)
        """
        check_is_fitted(self, "statistics_")
        together = self.statistics_.together
        if not (together.sum(axis=1) > together.diagonal()).any():
            raise ValueError(
                "No text has two different words of the vocabulary near each other, so there is nothing to embed: a "
                "text is a string or a list of tokens, and a list of words is as many texts."
            )
        P, self.eigenvalues_ = solve_graph(self.statistics_, self.n_components, self.skip, self.constraint)
        self.vectors_ = unit_rows(np.ascontiguousarray(P.T))
        return self

    def transform(self, X: Any) -> Any:
        """Vectors (n, n_components) of texts: the mean direction of their words.

        Parameters
        ----------
        X : iterable of str or of lists of str, str, pellucid.rows.TextBlocks or dask.bag
            Texts, each a string or a list of tokens.

        Returns
        -------
        ndarray of shape (n, n_components)
            Vectors of unit length; zeros where a text has no word of the vocabulary. Texts in blocks give blocks.

        Raises
        ------
        ValueError
            If there are no texts.

        Examples
        --------
        >>> from pellucid import WordManifoldTransform
        >>> model = WordManifoldTransform(n_components=2, min_count=1).fit(["sun and moon", "moon and stars"])
        >>> model.transform(["stars", "something else"]).any(axis=1)
        array([ True, False])
        """
        check_is_fitted(self, "vectors_")
        if is_texts(X):
            return as_texts(X).map(copy(self).transform, self._n_features_out, self.vectors_.dtype)
        places = self._places()
        rows = [[places[token] for token in text if token in places] for text in tokens_of(X)]
        return unit_rows(np.array([self.vectors_[row].sum(axis=0) for row in rows]))

    def most_similar(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The words whose vectors are most similar to that of a word.

        Parameters
        ----------
        word : str
            A word of the vocabulary.
        k : int, default=10
            How many to return, if there are as many.

        Returns
        -------
        list of tuple of str and float
            Words with their cosines, best first.

        Raises
        ------
        KeyError
            If the word is not in the vocabulary.
        ValueError
            If k is less than 1, or the word never had a neighbour.

        Examples
        --------
        >>> from pellucid import WordManifoldTransform
        >>> texts = ["we drink hot tea", "we drink hot coffee", "dogs chase small mice", "we chase cats"]
        >>> WordManifoldTransform(n_components=1, min_count=1).fit(texts).most_similar("coffee", k=3)
        [('we', 1.0), ('drink', 1.0), ('hot', 1.0)]
        """
        check_is_fitted(self, "vectors_")
        places = self._places()
        if word not in places:
            raise KeyError(f"{word!r} is not in the vocabulary: {did_you_mean(word, self.vocabulary_)}")
        if k < 1:
            raise ValueError(f"k must be at least 1, but is {k}.")
        own = self.vectors_[places[word]]
        if not own.any():
            raise ValueError(f"{word!r} has no neighbours in the texts, so nothing is known of what it is like.")
        cosines = self.vectors_ @ own
        cosines[places[word]] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(cosines) - 1)]
        return [(str(self.vocabulary_[i]), float(cosines[i])) for i in best]

    def _places(self) -> dict[str, int]:
        return {str(word): place for place, word in enumerate(self.vocabulary_)}

    @property
    def _n_features_out(self) -> int:
        return int(self.vectors_.shape[1])


def as_texts(X: Any) -> TextBlocks:
    """Texts in blocks; those in memory are cut into tokens once."""
    if isinstance(X, TextBlocks):
        return X
    return TextBlocks(X if is_texts(X) else tokens_of(X))


def part_counts(blocks: Iterator[list[Any]]) -> Counter[str]:
    return reduce(operator.add, map(token_counts, blocks))


def part_texts(places: dict[str, int], window: int, blocks: Iterator[list[Any]]) -> GraphStatistics:
    return reduce(operator.add, (word_statistics(tokens_of(block), places, window) for block in blocks))


def add_texts(model: WordManifoldTransform, X: TextBlocks, checkpoint: str | os.PathLike[str] | None = None) -> None:
    """Add the statistics of texts in blocks to those of the model, whose vocabulary the first ones make."""
    kept = checkpoint_of(checkpoint, model, X, (Added, GraphStatistics))

    def begin() -> Added:
        if not hasattr(model, "vocabulary_"):
            counts = reduce(operator.add, X.each(part_counts))
            model.vocabulary_ = np.array(frequent(counts, model.vocabulary_size, model.min_count), dtype=object)
        return Added(getattr(model, "statistics_", None), made={"words": list(model.vocabulary_)})

    state = first_state(begin, kept)
    model.vocabulary_ = np.array(state.made["words"], dtype=object)
    function = partial(part_texts, model._places(), model.window)
    model.statistics_ = add_parts(X, function, state, kept=kept)


@cache
def token_pattern() -> re.Pattern[str]:
    """Words with apostrophes inside. To ``\\w`` belong no combining marks, which vowels are in many scripts, nor what
    joins letters or keeps them apart."""
    marks = "".join(chr(i) for span in MARKS for i in span if unicodedata.category(chr(i))[0] == "M")
    word = rf"\w[\w\u200c\u200d{marks}]*"
    return re.compile(rf"{word}(?:['’]{word})*")


def tokens_of(texts: str | Iterable[str | Sequence[str]]) -> list[list[str]]:
    """Each text as tokens: a list as it is, a string cut into its words in lower case."""
    if isinstance(texts, str):
        texts = [texts]
    found: list[list[str]] = []
    for number, text in enumerate(texts):
        if isinstance(text, str):
            found.append(token_pattern().findall(unicodedata.normalize("NFC", text.lower())))
            continue
        words: list[Any] = list(text) if isinstance(text, Iterable) else [None]
        if not all(isinstance(token, str) for token in words):
            raise ValueError(f"Text {number} must be a string or a list of tokens.")
        found.append(words)
    if not found:
        raise ValueError("There are no texts: give at least one.")
    return found


def token_counts(texts: list[Any]) -> Counter[str]:
    return Counter(token for text in tokens_of(texts) for token in text)


def frequent(counts: Counter[str], size: int, min_count: int) -> list[str]:
    """The most frequent words, ties in order of the alphabet."""
    words = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
    if len(words) < 2:
        raise ValueError(f"Fewer than two words occur {min_count} times: give more text or a smaller min_count.")
    return words[:size]


def word_statistics(texts: list[list[str]], places: dict[str, int], window: int) -> GraphStatistics:
    """Statistics of one-hot tokens with neighbours up to ``window`` apart."""
    K = len(places)
    known = [np.array([places[token] for token in text if token in places], dtype=np.int64) for text in texts]
    tokens = np.concatenate(known)
    text = np.repeat(np.arange(len(known)), [len(part) for part in known])
    counts = np.bincount(tokens, minlength=K)
    together = sparse.csr_array((K, K))
    for apart in range(1, window + 1):
        same = text[apart:] == text[:-apart]
        first, second = tokens[:-apart][same], tokens[apart:][same]
        together = together + sparse.coo_array((np.ones(len(first)), (first, second)), shape=(K, K)).tocsr()
    return GraphStatistics(sparse.csr_array(together + together.T), counts.astype(np.float64))
