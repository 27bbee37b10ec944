"""Every figure the papers report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite, check_width

__all__ = [
    "Recovery",
    "Retrieval",
    "average_precision",
    "binary_recovery",
    "cka",
    "clustering_error",
    "concept_retrieval",
    "cosine_neighbours",
    "isometry_loss",
    "matched_labels",
    "mean_average_precision",
    "merge_neighbours",
    "neighbour_vote",
    "soft_knn_accuracy",
    "top_k",
]


def average_precision(relevance: ArrayLike, k: int = 20) -> NDArray[np.float64]:
    """Average precision of ranked lists, AP@k.

    The sum of precision@i over the relevant ones among the first k, divided by how many those are (0 if none).

    Parameters
    ----------
    relevance : array-like of shape (n, length)
        Whether each item of a list is relevant, 0 or 1, best first; one list per row.
    k : int, default=20
        How far down the lists to look.

    Returns
    -------
    ndarray of shape (n,)
        AP@k of each list.

    Examples
    --------
    >>> from pellucid.metrics import average_precision
    >>> average_precision([[1, 0, 1, 0], [0, 0, 0, 1]]).round(3).tolist()
    [0.833, 0.25]
    """
    ranked = np.asarray(relevance, dtype=np.float64)
    if ranked.ndim != 2:
        raise ValueError(f"relevance must have one ranked list per row, but its shape is {ranked.shape}.")
    ranked = ranked[:, :k]
    precision = np.cumsum(ranked, axis=1) / np.arange(1, ranked.shape[1] + 1)
    return np.asarray((precision * ranked).sum(axis=1) / np.maximum(1.0, ranked.sum(axis=1)))


def mean_average_precision(relevance: ArrayLike, k: int = 20) -> float:
    """Mean of :func:`average_precision` over the lists, mAP@k.

    Parameters
    ----------
    relevance : array-like of shape (n, length)
        Whether each item of a list is relevant, 0 or 1, best first; one list per row.
    k : int, default=20
        How far down the lists to look.

    Returns
    -------
    float
        The mean of AP@k.

    Examples
    --------
    >>> from pellucid.metrics import mean_average_precision
    >>> mean_average_precision([[1, 1, 0, 0], [0, 1, 0, 0]])
    0.75
    """
    return float(average_precision(relevance, k).mean())


def top_k(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Columns of the k largest scores of each row, best first.

    Parameters
    ----------
    scores : ndarray of shape (n, m)
        Of equal scores the one further left comes first.
    k : int
        How many; all if there are fewer.

    Returns
    -------
    ndarray of shape (n, min(k, m))
        Numbers of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.metrics import top_k
    >>> top_k(np.array([[0.1, 0.9, 0.9, 0.4]]), 3).tolist()
    [[1, 2, 3]]
    """
    k = min(k, scores.shape[1])
    if k < scores.shape[1]:
        parted = np.argpartition(-scores, k, axis=1)
        best = parted[:, :k]
        last = np.take_along_axis(scores, best, axis=1).min(axis=1)
        following = np.take_along_axis(scores, parted[:, k, None], axis=1)[:, 0]
        for row in np.flatnonzero(last == following):  # which of the equals it took is chance
            above = np.flatnonzero(scores[row] > last[row])
            best[row] = np.concatenate([above, np.flatnonzero(scores[row] == last[row])[: k - len(above)]])
    else:
        best = np.argsort(-scores, axis=1)
    best.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(best, order, axis=1))


@dataclass(frozen=True)
class Retrieval:
    """How well one concept at a time retrieves: mAP@k, the mean over all pairs of a query and a concept that it has.

    Attributes
    ----------
    general : float
        Where a candidate is relevant if it has the concept.
    sub : float
        Where a candidate is relevant if it shares one of the query's fine labels under the concept; nan without them.
    per_concept : ndarray of shape (S, 2)
        The same two for each concept; nan where no query has it.
    pairs : int
        Number of pairs.
    """

    general: float
    sub: float
    per_concept: NDArray[np.float64]
    pairs: int


def concept_retrieval(
    model: Any,
    queries: ArrayLike,
    candidates: ArrayLike,
    query_concepts: ArrayLike,
    candidate_concepts: ArrayLike,
    *,
    query_fine: ArrayLike | None = None,
    candidate_fine: ArrayLike | None = None,
    fine_to_coarse: ArrayLike | None = None,
    k: int = 20,
    score: Callable[[NDArray[Any], int], NDArray[Any]] | None = None,
) -> Retrieval:
    """Rank candidates by each concept that a query has, and see which have it too (paper 1, Tables 2 to 4).

    Parameters
    ----------
    model : ConceptSubspaces or None
        Fitted; it projects the queries onto the concept. None ranks by the plain cosine.
    queries : array-like of shape (n, d)
        Raw rows: the model prepares them.
    candidates : array-like of shape (n_candidates, d)
        Raw rows, too.
    query_concepts : array-like of shape (n, S)
        Which concepts each query has, 0 or 1.
    candidate_concepts : array-like of shape (n_candidates, S)
        Which concepts each candidate has, 0 or 1.
    query_fine : array-like of shape (n, F) or None, default=None
        Fine labels of the queries, 0 or 1; the three that follow go together.
    candidate_fine : array-like of shape (n_candidates, F) or None, default=None
        Fine labels of the candidates.
    fine_to_coarse : array-like of shape (F,) or None, default=None
        The concept that each fine label belongs to.
    k : int, default=20
        Length of the lists.
    score : callable or None, default=None
        Called with the queries (q, d) that have a concept and its number, returns scores (q, n_candidates). None is the
        cosine of projection and candidate.

    Returns
    -------
    Retrieval
        mAP@k in general, by fine label, and for each concept.

    Raises
    ------
    ValueError
        No query has any concept.

    Examples
    --------
    >>> from pellucid.metrics import concept_retrieval
    >>> X, has = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [[1, 0], [1, 0], [0, 1]]
    >>> found = concept_retrieval(None, X, X, has, has, k=2)
    >>> found.general, found.pairs
    (1.0, 3)
    """
    X = np.asarray(queries)
    has, relevant = np.asarray(query_concepts, dtype=bool), np.asarray(candidate_concepts, dtype=bool)
    pool = unit_rows(np.asarray(candidates if model is None else model.prepare(candidates)))

    def cosine(rows: NDArray[Any], j: int) -> NDArray[Any]:
        filtered = rows if model is None else model.project(rows, model.concept_names_[j])
        return np.asarray(unit_rows(filtered) @ pool.T)

    fine = None
    if query_fine is not None and candidate_fine is not None and fine_to_coarse is not None:
        fine = (
            np.asarray(query_fine, dtype=np.float32),
            np.asarray(candidate_fine, dtype=np.float32),
            np.asarray(fine_to_coarse),
        )
    general: list[NDArray[np.float64]] = []
    sub: list[NDArray[np.float64]] = []
    for j in range(has.shape[1]):
        rows = np.flatnonzero(has[:, j])
        if not rows.size:
            general.append(np.empty(0))
            sub.append(np.empty(0))
            continue
        best = top_k(np.asarray((score or cosine)(X[rows], j)), k)
        general.append(average_precision(relevant[best, j], k))
        if fine is not None:
            under = fine[2] == j
            shared = fine[0][rows][:, under] @ fine[1][:, under].T > 0
            sub.append(average_precision(np.take_along_axis(shared, best, axis=1), k))
        else:
            sub.append(np.full(len(rows), np.nan))
    means = [[float(np.mean(part)) if len(part) else np.nan for part in kind] for kind in (general, sub)]
    joined = np.concatenate(general), np.concatenate(sub)
    if not joined[0].size:
        raise ValueError("No query has any concept, so there is nothing to retrieve.")
    return Retrieval(float(joined[0].mean()), float(joined[1].mean()), np.array(means).T, len(joined[0]))


def isometry_loss(X: ArrayLike, power: float = 1.0) -> Any:
    """Paper 5's loss of rows: k for k orthonormal ones and more for all others; infinite where it overflows.

    Σ g(σ), g(t) = (exp(t^c) + exp(t^−c)) / 2e, over the k singular values (Eq. 6 and 8).

    Parameters
    ----------
    X : array-like of shape (..., k, D)
        At most as many rows as they have numbers, k ≤ D; or many such sets at once.
    power : float, default=1.0
        The c of the formula; larger punishes lengths other than 1 more.

    Returns
    -------
    float or ndarray of shape (...)
        The loss of each set.

    Raises
    ------
    ValueError
        There are more rows than they have numbers.

    Examples
    --------
    >>> from pellucid.metrics import isometry_loss
    >>> float(isometry_loss([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    2.0
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim < 2 or rows.shape[-2] > rows.shape[-1]:
        raise ValueError(
            f"isometry_loss takes at most as many rows as they have numbers, but the shape is {rows.shape}; if the "
            f"vectors are columns, pass X.T."
        )
    with np.errstate(divide="ignore", over="ignore"):
        raised = np.power(np.linalg.svd(rows, compute_uv=False), power)
        return ((np.exp(raised - 1.0) + np.exp(1.0 / raised - 1.0)) / 2.0).sum(axis=-1)


def cka(X: ArrayLike, Y: ArrayLike) -> float:
    """Centred kernel alignment of two descriptions of the same items (paper 2, Eq. 2).

    It is 1 for the same geometry up to scale, rotation and shift, and 0 where either has all items in one place.

    Parameters
    ----------
    X : array-like of shape (n, d)
        One description, an item in each row.
    Y : array-like of shape (n, e)
        The other one. For binary concepts S with weights π this is ``S * np.sqrt(weights)``.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from pellucid.metrics import cka
    >>> round(cka([[0, 0], [1, 0], [0, 1]], [[5, 5], [5, 3], [7, 5]]), 6)
    1.0
    """
    a, b = (unit_scale(np.asarray(rows, dtype=np.float64)) for rows in (X, Y))
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(
            f"X and Y must describe the same items in their rows, but their shapes are {a.shape}, {b.shape}."
        )
    if max(a.shape[1], b.shape[1]) > len(a):  # the kernels are the smaller matrices
        first, second = a @ a.T, b @ b.T
        inner, norms = np.sum(first * second), np.linalg.norm(first) * np.linalg.norm(second)
    else:
        inner, norms = np.sum((a.T @ b) ** 2), np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)
    return float(inner / norms) if norms > 0 else 0.0


def unit_scale(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows without their mean, and with 1 as the largest number."""
    shifted = rows - rows.mean(axis=0)
    largest = np.abs(shifted).max(initial=0.0)
    # what is left of a constant column is round-off
    return np.asarray(shifted / largest) if largest > 1e-14 * np.abs(rows).max(initial=0.0) else np.zeros_like(rows)


@dataclass(frozen=True)
class Recovery:
    """How well binary concepts were recovered; true and found ones are matched one to one, and complements are equal.

    Attributes
    ----------
    distances : ndarray of shape (b,)
        Bits wrong in each true concept; those of a constant where nothing is matched to it.
    exact : int
        Number of true concepts without a wrong bit.
    near : int
        Number of those whose distance is below half of a constant's.
    false : int
        Number of found concepts that are near no true one of their own.
    """

    distances: NDArray[np.int64]
    exact: int
    near: int
    false: int


def binary_recovery(found: ArrayLike, truth: ArrayLike) -> Recovery:
    """Compare binary concepts that were found with the true ones.

    Parameters
    ----------
    found : array-like of shape (p, f)
        Items in rows, concepts in columns, in any order and up to complement; 0 and 1 only.
    truth : array-like of shape (p, b)
        The true concepts of the same items.

    Returns
    -------
    Recovery
        Wrong bits of each true concept, and how many were found exactly, nearly and falsely.

    Examples
    --------
    >>> from pellucid.metrics import binary_recovery
    >>> truth = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> found = [[1, 1], [0, 1], [1, 0], [0, 0]]
    >>> binary_recovery(found, truth).exact
    2
    """
    from scipy.optimize import linear_sum_assignment

    a, b = np.asarray(found), np.asarray(truth)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(f"found and truth must describe the same items, but their shapes are {a.shape} and {b.shape}.")
    if not all(((bits == 0) | (bits == 1)).all() for bits in (a, b)):
        raise ValueError("found and truth must hold 0 and 1 only.")
    wanted, signs = 2.0 * b - 1.0, 2.0 * a - 1.0
    distances = np.rint((len(a) - np.abs(wanted.T @ signs)) / 2).astype(np.int64)
    nothing = np.rint((len(a) - np.abs(wanted.sum(axis=0))) / 2).astype(np.int64)
    # as good as a constant is as good as unmatched: a column per true concept stands for that
    rows, columns = linear_sum_assignment(np.hstack([distances, np.tile(nothing[:, None], (1, b.shape[1]))]))
    best = nothing.copy()
    matched = columns < a.shape[1]
    best[rows[matched]] = distances[rows[matched], columns[matched]]
    near = int((2 * best < nothing).sum())
    return Recovery(best, int((best == 0).sum()), near, a.shape[1] - near)


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
    """Let more training rows take the place of farther neighbours, for rows that come block by block.

    Parameters
    ----------
    which : ndarray of shape (m, k)
        Names of the neighbours so far, of which anything to start with; overwritten.
    best : ndarray of shape (m, k)
        Their cosines, float32, −∞ to start with; overwritten.
    known : ndarray of shape (n, d)
        More training rows, of unit length.
    names : ndarray of shape (n,)
        What to call them, for instance their row numbers.
    queries : ndarray of shape (m, d)
        Rows whose neighbours are wanted.

    See Also
    --------
    cosine_neighbours : The same for training rows at hand.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.metrics import merge_neighbours
    >>> which, best = np.zeros((1, 1), dtype=np.int64), np.full((1, 1), -np.inf, dtype=np.float32)
    >>> for name, row in enumerate(np.eye(3, dtype=np.float32)):
    ...     merge_neighbours(which, best, row[None], np.array([name]), np.array([[0.1, 0.9, 0.0]]))
    >>> which.tolist()
    [[1]]
    """
    from pellucid._core.threads import run_rows

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


def matched_labels(labels: ArrayLike, truth: ArrayLike) -> NDArray[np.int64]:
    """Call each cluster by the class that it matches, in the one-to-one matching that agrees on most items.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters, whole numbers from 0.
    truth : array-like of shape (n,)
        Classes of the same items, whole numbers from 0.

    Returns
    -------
    ndarray of shape (n,)
        The clusters, renumbered; clusters without a class get numbers after the last one.

    Examples
    --------
    >>> from pellucid.metrics import matched_labels
    >>> matched_labels([1, 1, 0, 2], [0, 0, 1, 1]).tolist()
    [0, 0, 1, 2]
    """
    from scipy.optimize import linear_sum_assignment

    found, classes = np.asarray(labels), np.asarray(truth)
    if found.ndim != 1 or found.shape != classes.shape or not found.size:
        raise ValueError(
            f"labels and truth must name the same items, but their shapes are {found.shape}, {classes.shape}."
        )
    if any(a.dtype.kind not in "iu" or a.min() < 0 for a in (found, classes)):
        raise ValueError("labels and truth must be whole numbers of at least 0.")
    size = int(max(found.max(), classes.max())) + 1
    table = np.zeros((size, size), dtype=np.int64)
    np.add.at(table, (found, classes), 1)
    return np.asarray(linear_sum_assignment(table, maximize=True)[1][found])


def clustering_error(labels: ArrayLike, truth: ArrayLike) -> float:
    """Share of items in the wrong cluster after the best one-to-one matching of clusters with classes (paper 3).

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters, whole numbers from 0.
    truth : array-like of shape (n,)
        Classes of the same items, whole numbers from 0.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from pellucid.metrics import clustering_error
    >>> clustering_error([1, 1, 0, 0], [0, 0, 1, 0])
    0.25
    """
    return float(np.mean(matched_labels(labels, truth) != np.asarray(truth)))
