"""Names for concepts that nobody named: the words nearest to them, and what their items' texts alone say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.text_words import CANDIDATES, WORDS, TextWords, folded, stem, stop_words

# what a word of one source counts for, by its place there: 1/(place + RANKED)
RANKED = 2.0


def nearest_words(directions: NDArray[Any], vocabulary: Any, most: int = CANDIDATES) -> list[list[str]]:
    """For each direction (S, d) the words of a vocabulary that are nearest to it; none that says nothing by itself."""
    stops = stop_words()
    told = np.array([word.lower() not in stops for word in vocabulary.words])
    words = [word for word, tells in zip(vocabulary.words, told) if tells]
    close = np.asarray(directions, dtype=vocabulary.vectors.dtype) @ vocabulary.vectors[told].T
    order = np.argsort(-close, axis=1, kind="stable")[:, :most]
    return [[words[i] for i in row] if there.any() else [] for row, there in zip(order, close)]


def general_words(
    directions: NDArray[Any], fine: NDArray[Any], under: NDArray[np.bool_], vocabulary: Any
) -> list[list[str]]:
    """Words for coarse concepts: near to where each points (C, d), and to all fine ones (S, d) that it holds (S, C).

    What texts say of a coarse concept are the fine ones again: few say that a cat is an animal."""
    held = under.astype(fine.dtype).T @ fine / np.maximum(under.sum(axis=0), 1)[:, None]
    middle = np.where(under.sum(axis=0)[:, None] > 0, held, directions)
    lists = zip(nearest_words(middle, vocabulary), nearest_words(directions, vocabulary))
    return [both(first, second)[:WORDS] for first, second in lists]


def both(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Words of two lists in one order: those that stand high in either, and before them those that do in both."""
    score: dict[str, float] = {}
    form: dict[str, str] = {}
    for words in (first, second):
        for place, word in enumerate(folded(words, len(words))):
            form.setdefault(stem(word), word)
            score[stem(word)] = score.get(stem(word), 0.0) + 1 / (place + RANKED)
    return [form[key] for key in sorted(score, key=lambda key: (-score[key], list(form).index(key)))]


def told_apart(lists: Sequence[Sequence[str]], taken: Sequence[str] = ()) -> list[str]:
    """A name for each list of words, all different: its first word, where that is taken with the next in brackets; a
    number where there is none."""
    seen, names = set(taken), []
    for number, words in enumerate(lists):
        first = words[0] if words else f"concept {number}"
        tries = [first, *(f"{first} ({more})" for more in words[1:])]
        name = next((each for each in tries if each not in seen), "")
        count = 2
        while not name or name in seen:
            name, count = f"{first} {count}", count + 1
        seen.add(name)
        names.append(name)
    return names


@dataclass(frozen=True)
class Names:
    """What a concept can be named by; a function of one's own is given this.

    Attributes
    ----------
    words : list of str
        The words that are nearest to it, or that its items' texts say; the best first, perhaps none.
    name : str
        What it is called without such a function.
    share : float
        The share of the items that have it.
    example_rows : list of int
        Numbers of the items that hold most of it, the most first.
    example_texts : list of str
        Their texts, where there are any.

    See Also
    --------
    pellucid.ConceptDiscovery : Finds concepts, and calls the function.

    Examples
    --------
    >>> from pellucid.concepts import Names
    >>> Names(["cat", "kitten"], "cat", 0.1, [4], ["A black kitten."]).name
    'cat'
    """

    words: list[str]
    name: str
    share: float
    example_rows: list[int]
    example_texts: list[str]


def named(
    directions: NDArray[Any], weights: NDArray[Any], texts: Sequence[str] | None, vocabulary: Any
) -> list[list[str]]:
    """For each concept its words: of a vocabulary by its direction (S, d), of the texts of rows by how much of each row
    it is (n, S), or of both; none where there is neither."""
    near = None if vocabulary is None else nearest_words(directions, vocabulary)
    said = None if texts is None else TextWords(texts).distinctive(weights)
    if near is None and said is None:
        return [[] for _ in directions]
    if near is None or said is None:
        return [folded(words) for words in (near or said or [])]
    return [both(words, more)[:WORDS] for words, more in zip(said, near)]
