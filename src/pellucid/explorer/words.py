"""A vocabulary from the items' own texts: a word's vector is the mean of the items that use it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.explorer.items import Items
from pellucid.explorer.layout import sample

TEXTS = 20_000
WORDS = 5_000


def texts_of(items: Items, rows: NDArray[np.int64]) -> list[str] | None:
    """The texts of rows of the map, if there are any."""
    if items.text_column is None:
        return None
    return [text or "" for text in items.table.column(items.text_column).take(rows).to_pylist()]


def words_used(items: Items) -> tuple[NDArray[np.int64], list[str], Any]:
    """Rows that were looked at, words that several, but not most, of their texts use, and who uses which, sparse
    (rows, words); None if there are no texts."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    rows = sample(len(items), TEXTS)
    if items.text_column is None:
        return rows, [], None
    texts = texts_of(items, rows) or []
    counter = CountVectorizer(binary=True, min_df=min(5, len(texts)), max_df=0.2, max_features=WORDS,
                              token_pattern=r"(?u)\b[^\W\d_]{3,}\b", dtype=np.float32)  # fmt: skip
    try:
        used = counter.fit_transform(texts)
    except ValueError:  # no word is left
        return rows, [], None
    words = counter.get_feature_names_out()
    telling = np.array([word not in ENGLISH_STOP_WORDS for word in words])
    return rows, list(words[telling]), used[:, telling]


def words_of_texts(items: Items) -> tuple[list[str], NDArray[Any] | None]:
    """Words that several, but not most, of the texts use, and a vector (d,) for each; None if there are no texts."""
    rows, words, used = words_used(items)
    if used is None or not words:
        return [], None
    vectors = items.collection.vectors(items.positions[rows]).astype(np.float32)
    counts = np.asarray(used.sum(axis=0)).ravel()
    return words, np.asarray(used.T @ vectors) / counts[:, None]
