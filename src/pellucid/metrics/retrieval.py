"""How well ranked lists put first what is relevant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows


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
