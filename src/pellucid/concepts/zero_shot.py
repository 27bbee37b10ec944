"""Labels from words alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite, working_dtype
from pellucid.concepts.crosswise import calibrated, learn_crosswise
from pellucid.concepts.presence import best_thresholds
from pellucid.preparation import CenteredNormalizer

# rows that are compared with the words at a time
BLOCK_ROWS = 65_536
# rows from which on two groups of scores can be told apart, and rows that are looked at for it
TELLING_ROWS, MIXTURE_ROWS = 20, 20_000
# a concept with fewer rows is not judged again by them
FEW_ROWS = 10


def zero_shot_labels(
    X: ArrayLike, concept_vectors: ArrayLike, n_active: int | str = "auto", *, n_rounds: int = 0
) -> NDArray[np.bool_]:
    """Label rows from words alone: the concepts whose vectors are nearest to each (paper 1, section 3.4).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings as they come, before any centring.
    concept_vectors : array-like of shape (S, d) or (T, S, d)
        Embeddings of the concepts' names by the same model, or of T templates around each ("a photo of a …"), whose
        mean then stands for it.
    n_active : int or "auto", default="auto"
        Concepts per row, as in the paper. "auto" gives each row those it stands out for, by a mixture of two normal
        distributions for each concept; so a row can have none.
    n_rounds : int, default=0
        How often rows are judged again, by regressions that are learned from the labels of other rows.

    Returns
    -------
    ndarray of shape (n, S)
        Booleans.

    Raises
    ------
    ValueError
        If the two have different widths, or ``n_active`` is not between 1 and S.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import zero_shot_labels
    >>> zero_shot_labels([[3, 4, 0]], np.eye(3), n_active=1).tolist()
    [[False, True, False]]
    """
    labels = labels_of_scores(zero_shot_scores(X, concept_vectors), n_active)
    if n_rounds:
        rows, rng = CenteredNormalizer().fit_transform(X), np.random.RandomState(0)
        for _ in range(n_rounds):
            labels = judged_again(np.asarray(rows), labels, rng)
    return labels


def zero_shot_scores(X: ArrayLike, concept_vectors: ArrayLike) -> NDArray[Any]:
    """Say how near rows are to the words for concepts, beside how near they are to words at all.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Embeddings as they come.
    concept_vectors : array-like of shape (S, d) or (T, S, d)
        Embeddings of the concepts' names, or of T templates around each.

    Returns
    -------
    ndarray of shape (n, S)
        Cosines, less the mean of their row. They rank rows; they are no probabilities.

    Raises
    ------
    ValueError
        If the two have different widths.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import zero_shot_scores
    >>> zero_shot_scores([[3, 4]], np.eye(2)).round(2).tolist()
    [[-0.1, 0.1]]
    """
    given = np.asarray(concept_vectors)
    if given.ndim == 3:
        given = unit_rows(np.mean([_units(words, "concept_vectors") for words in given], axis=0))
    rows, words = as_matrix(X, "X"), _units(given, "concept_vectors")
    if rows.shape[1] != words.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, but concept_vectors has {words.shape[1]}.")
    out = np.empty((len(rows), len(words)), dtype=np.result_type(words, working_dtype(rows)))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        out[block] = _units(rows[block], "X") @ words.T
    return np.asarray(out - out.mean(axis=1, keepdims=True))


def labels_of_scores(scores: NDArray[Any], n_active: int | str) -> NDArray[np.bool_]:
    """The concepts of each row, from scores (n, S): so many of the largest, or those that stand out."""
    if isinstance(n_active, str):
        if n_active != "auto":
            raise ValueError(f'n_active must be a whole number or "auto", got {n_active!r}.')
        return np.column_stack([stands_out(column) for column in scores.T])
    if not 1 <= n_active <= scores.shape[1]:
        raise ValueError(f"n_active must be between 1 and the number of concepts, {scores.shape[1]}, got {n_active}.")
    labels = np.zeros(scores.shape, dtype=bool)
    nearest = np.argsort(-scores, axis=1, kind="stable")[:, :n_active]
    np.put_along_axis(labels, nearest, True, axis=1)
    return labels


def stands_out(scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows (n,) belong to the upper of two groups; of few rows, or of equal ones, those above the mean."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    values = np.asarray(scores, dtype=np.float64)
    spread = values.std()
    if len(values) < TELLING_ROWS or spread <= 1e-6 * max(1e-300, np.abs(values).max()):
        return np.asarray(values > values.mean())
    values = ((values - values.mean()) / spread)[:, None]
    some = values[np.unique(np.linspace(0, len(values) - 1, MIXTURE_ROWS).astype(np.int64))]
    begin = [[np.quantile(some, 0.3)], [np.quantile(some, 0.97)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        groups = GaussianMixture(2, means_init=begin, random_state=0).fit(some)
    upper = int(np.argmax(groups.means_[:, 0]))
    # the wider group also claims what lies far below
    return np.asarray((groups.predict(values) == upper) & (values[:, 0] > groups.means_.min()))


def judged_again(X: NDArray[Any], labels: NDArray[np.bool_], rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Labels of rows by regressions that were learned from other rows; those of concepts with few rows stay."""
    counted = labels.sum(axis=0)
    told = np.flatnonzero((counted >= FEW_ROWS) & (len(labels) - counted >= FEW_ROWS))
    if not len(told):
        return labels
    data, new = unit_rows(X), labels.copy()
    found = learn_crosswise(data, labels[:, told], rng)
    counts = found.counts()
    calibration = calibrated(counts)
    slope, shift = calibration.T
    new[:, told] = expit(slope * found.logits(data) + shift) >= best_thresholds(counts, calibration)
    return np.asarray(new)


def _units(values: ArrayLike, name: str) -> NDArray[Any]:
    rows = as_matrix(values, name)
    check_finite(rows, name)
    return unit_rows(rows.astype(working_dtype(rows), copy=False))
