"""What texts say that others do not: words and phrases, those that share a stem as one.

A word is a list of tokens joined by blanks, so a phrase of two is a word too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# words that something is named by, and candidates for them
WORDS, CANDIDATES = 5, 30
# a word that is in a larger share of all texts says nothing of any of them; of few texts none is left out
COMMON_SHARE, COMMON_TEXTS = 0.5, 20
# texts that have a word, at least, where there are many texts
LEAST_TEXTS = 2
# a phrase takes the place of one of its words if it is in this share of the texts of the concept that have the word
PHRASE_SHARE = 0.6

# vowel signs and points, which Python takes for no part of a word: of Hebrew, Arabic, the scripts of India, Thai, Lao,
# Tibetan, Burmese and Khmer, accents on their own, and what joins letters; but no danda, which ends a sentence
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ece\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
TOKEN = re.compile(rf"[^\W\d_](?:[\w{MARKS}'’-]*[\w{MARKS}])?")
# tokens that end a phrase
BREAK = re.compile(r"[.,;:!?()\[\]\"“”/|\n]")


def stop_words() -> frozenset[str]:
    """English words that say nothing by themselves; scikit-learn's list, and what is left of contractions."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    more = "s t don doesn didn isn aren wasn weren won wouldn couldn it's that's there's he's she's don't ll ve re"
    return frozenset(ENGLISH_STOP_WORDS) | set(more.split())


def stem(word: str) -> str:
    """What a word and its plural or its other forms have in common, by endings alone; of a phrase, of each word."""
    return " ".join(map(_stem, word.lower().split()))


def _stem(token: str) -> str:
    token = token.removesuffix("'s").removesuffix("’s")
    if len(token) > 4 and token.endswith("ies"):
        return token[:-3] + "y"
    if len(token) > 4 and token.endswith(("ses", "shes", "ches", "xes", "zes")):
        return token[:-2]
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
        token = token[:-1]
    for ending in ("ing", "ed"):
        base = token.removesuffix(ending)
        if base != token and len(base) >= 3 and re.search("[aeiouy]", base):
            doubled = base[-1] == base[-2] and base[-1] not in "lsz"
            return (base[:-1] if doubled else base).removesuffix("e")
    return token.removesuffix("e") if len(token) > 4 else token


def words_of(text: str, stops: frozenset[str]) -> Iterator[str]:
    """Words of a text, and phrases of two that stand side by side."""
    for piece in BREAK.split(text.lower()):
        tokens = TOKEN.findall(piece)
        told = [len(token) > 1 and token not in stops for token in tokens]
        yield from (token for token, tells in zip(tokens, told) if tells)
        yield from (f"{a} {b}" for (a, b), both in zip(pairwise(tokens), map(all, pairwise(told))) if both)


class TextWords:
    """Words of texts, those that share a stem as one, and which texts have which.

    Parameters
    ----------
    texts : sequence of str
        A text for each row.

    Attributes
    ----------
    words : list of str
        The most frequent form of each.
    has : sparse matrix of shape (n, n_words)
        1 where a text has a word.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        stops, forms = stop_words(), Counter[str]()
        rows: list[set[str]] = []
        for text in texts:
            said = set(words_of(str(text), stops))
            forms.update(said)
            rows.append({stem(word) for word in said})
        counts = Counter(word for row in rows for word in row)
        least = LEAST_TEXTS if len(rows) >= COMMON_TEXTS else 1
        most = COMMON_SHARE * len(rows) if len(rows) >= COMMON_TEXTS else len(rows)
        kept = sorted(word for word, n in counts.items() if least <= n <= most)
        best: dict[str, str] = {}
        for form, n in forms.items():
            other = best.get(stem(form))
            if other is None or (-n, len(form), form) < (-forms[other], len(other), other):
                best[stem(form)] = form
        self.stems, self.words = kept, [best[word] for word in kept]
        place = {word: i for i, word in enumerate(kept)}
        found = [sorted(place[word] for word in row if word in place) for row in rows]
        ends = np.cumsum([0, *map(len, found)])
        index = np.fromiter((i for row in found for i in row), dtype=np.int64, count=int(ends[-1]))
        self.has = sparse.csr_array((np.ones(len(index)), index, ends), shape=(len(rows), len(kept)))

    def distinctive(self, weights: NDArray[Any], most: int = CANDIDATES) -> list[list[str]]:
        """For each group the words that its rows have and those of other groups have not: class-based TF-IDF.

        Parameters
        ----------
        weights : ndarray of shape (n, S)
            How much of each row each group is.
        most : int, default=CANDIDATES
            Words for each group, at most.

        Returns
        -------
        list of list of str
            The most distinctive first.
        """
        total = weights.sum(axis=0)
        share = np.asarray(self.has.T @ (weights / np.where(total > 0, total, 1)))  # (words, S)
        # a phrase must show in more than a row or two: what one row says is not what a group is
        score = share * np.log1p(weights.shape[1] / np.maximum(share.sum(axis=1, keepdims=True), 1e-12))
        found = []
        for j in range(weights.shape[1]):
            order = np.lexsort((np.arange(len(score)), -score[:, j]))[:most]
            found.append(self._phrased([int(i) for i in order if score[i, j] > 0], share[:, j]))
        return found

    def _phrased(self, order: list[int], share: NDArray[Any]) -> list[str]:
        """Words in their order; one that mostly stands in a phrase gives its place to it."""
        places = {self.stems[i]: i for i in order}
        phrases = [i for i in order if " " in self.stems[i]]
        stands_for: dict[int, int] = {}
        for i in phrases:
            for part in self.stems[i].split():
                word = places.get(part)
                if word is not None and share[i] >= PHRASE_SHARE * share[word]:
                    stands_for.setdefault(word, i)
        chosen: list[int] = []
        for i in order:
            new = stands_for.get(i, i)
            parts = self.stems[new].split()
            said = any(set(parts) & set(self.stems[k].split()) for k in chosen)
            if new not in chosen and not (said and len(parts) > 1):
                chosen.append(new)
        return [self.words[i] for i in chosen]


def folded(words: Sequence[str], most: int = WORDS) -> list[str]:
    """Words in their order, of those that share a stem the first."""
    seen: set[str] = set()
    kept = []
    for word in words:
        if word.strip() and stem(word) not in seen:
            seen.add(stem(word))
            kept.append(word)
    return kept[:most]
