"""Nearest rows by cosine, and the labels that they vote for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite, check_width
from pellucid._core.threads import run_rows
from pellucid.metrics.retrieval import top_k


def cosine_neighbours(
    train: ArrayLike, test: ArrayLike, n_neighbors: int = 30, *, block: int = 1 << 24
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Training rows nearest to each test row, and their cosines.

    Products are made in float32 and in blocks, so float16 and memory-mapped rows cost no copy of the whole. Of equal
    cosines the earlier row comes first; a row of zeros has the cosine 0 with all.

    Parameters
    ----------
    train : array-like of shape (n, d)
        Rows to find.
    test : array-like of shape (m, d)
        Rows whose neighbours are wanted.
    n_neighbors : int, default=30
        Neighbours of each, k.
    block : int, default=1 << 24
        Most numbers of ``train`` that are held in float32 at a time.

    Returns
    -------
    which : ndarray of shape (m, k)
        Rows of ``train``, nearest first.
    cosines : ndarray of shape (m, k)
        Their cosines, float32.

    Examples
    --------
    >>> from pellucid.metrics import cosine_neighbours
    >>> which, cosines = cosine_neighbours([[1, 0], [0, 1], [1, 1]], [[2, 0]], n_neighbors=2)
    >>> which.tolist(), [f"{cosine:.3f}" for cosine in cosines[0]]
    ([[0, 2]], ['1.000', '0.707'])
    """
    rows, queries = as_matrix(train, "train"), as_matrix(test, "test")
    check_width(queries, rows.shape[1], "test", "train")
    k = n_neighbors
    if not 1 <= k <= len(rows):
        raise ValueError(f"n_neighbors must be from 1 to the number of training rows, {len(rows)}, but is {k}.")
    which = np.zeros((len(queries), k), dtype=np.int64)
    best = np.full((len(queries), k), -np.inf, dtype=np.float32)
    height = max(k, min(len(rows), block // rows.shape[1], 8192))
    for first in range(0, len(queries), height):
        check_finite(queries[first : first + height], "test", first)
    for first in range(0, len(rows), height):
        check_finite(rows[first : first + height], "train", first)
        known = unit_rows(np.asarray(rows[first : first + height], dtype=np.float32))
        merge_neighbours(which, best, known, np.arange(first, first + len(known)), queries)
    return which, best


def merge_neighbours(
    which: NDArray[np.int64],
    best: NDArray[np.float32],
    known: NDArray[Any],
    names: NDArray[np.int64],
    queries: NDArray[Any],
) -> None:
    """Let more training rows ``known`` (n, d), of unit length, take the place of farther neighbours, for rows that come
    block by block. What the neighbours so far are called (``which``, m × k) and their cosines (``best``, float32, −∞ to
    start with) are overwritten; ``names`` (n,) says what to call the new rows."""
    k = which.shape[1]

    def part(start: int, stop: int) -> None:
        cosines = unit_rows(np.asarray(queries[start:stop], dtype=np.float32)) @ known.T
        near = top_k(cosines, k)
        # those found before come first, so that ties stay in order
        values = np.hstack([best[start:stop], np.take_along_axis(cosines, near, axis=1)])
        called = np.hstack([which[start:stop], names[near]])
        chosen = top_k(values, k)
        best[start:stop] = np.take_along_axis(values, chosen, axis=1)
        which[start:stop] = np.take_along_axis(called, chosen, axis=1)

    run_rows(part, len(queries), max_rows=512)


def neighbour_vote(
    labels: ArrayLike, cosines: ArrayLike, temperature: float = 0.03, hard: bool = False
) -> NDArray[Any]:
    """The label that the neighbours of each item vote for.

    A vote weighs exp(cosine / temperature), or 1 if ``hard``. (Paper 4's Appendix J prints a vote that the temperature
    has no influence on; this is what its figures need.) Of equal sums the smaller label wins.

    Parameters
    ----------
    labels : array-like of shape (m, k)
        Labels of the neighbours.
    cosines : array-like of shape (m, k)
        Their cosines.
    temperature : float, default=0.03
        The smaller, the more the nearest count.
    hard : bool, default=False
        Count every neighbour alike.

    Returns
    -------
    ndarray of shape (m,)
        The label of each item.

    Examples
    --------
    >>> from pellucid.metrics import neighbour_vote
    >>> neighbour_vote([["a", "b", "b"]], [[0.9, 0.5, 0.4]]).tolist()
    ['a']
    >>> neighbour_vote([["a", "b", "b"]], [[0.9, 0.5, 0.4]], hard=True).tolist()
    ['b']
    """
    names, of = np.unique(np.asarray(labels), return_inverse=True)
    near = np.asarray(cosines, dtype=np.float64)
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, but is {temperature}.")
    weights = np.ones(near.shape) if hard else np.exp((near - near.max(axis=1, keepdims=True)) / temperature)
    votes = np.zeros((len(near), len(names)))
    np.add.at(votes, (np.arange(len(near))[:, None], of.reshape(near.shape)), weights)
    return np.asarray(names[votes.argmax(axis=1)])


def soft_knn_accuracy(
    train: ArrayLike,
    train_labels: ArrayLike,
    test: ArrayLike,
    test_labels: ArrayLike,
    n_neighbors: int = 30,
    temperature: float = 0.03,
    *,
    hard: bool = False,
) -> float:
    """Share of test rows whose label the nearest training rows by cosine vote for (paper 4, Appendix J).

    Parameters
    ----------
    train : array-like of shape (n, d)
        Rows with known labels.
    train_labels : array-like of shape (n,)
        Their labels.
    test : array-like of shape (m, d)
        Rows to label.
    test_labels : array-like of shape (m,)
        The labels they should get.
    n_neighbors : int, default=30
        Voters of each row; all training rows if there are fewer.
    temperature : float, default=0.03
        As for :func:`neighbour_vote`.
    hard : bool, default=False
        As for :func:`neighbour_vote`.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from pellucid.metrics import soft_knn_accuracy
    >>> train, test = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.1], [0.2, 1.0]]
    >>> soft_knn_accuracy(train, ["a", "b"], test, ["a", "a"], n_neighbors=2)
    0.5
    """
    known, truth = np.asarray(train_labels), np.asarray(test_labels)
    for name, labels, rows in (("train", known, train), ("test", truth, test)):
        if labels.shape != (len(np.asarray(rows)),):
            raise ValueError(
                f"There must be one label for each of the {len(np.asarray(rows))} rows of {name}, but the labels have "
                f"shape {labels.shape}."
            )
    which, cosines = cosine_neighbours(train, test, min(n_neighbors, len(known)))
    return float(np.mean(neighbour_vote(known[which], cosines, temperature, hard) == truth))
