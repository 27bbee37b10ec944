"""What was found beside the truth, matched one to one: binary concepts and clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


def matched_labels(labels: ArrayLike, truth: ArrayLike) -> NDArray[np.int64]:
    """Call each cluster by the class that it matches, in the one-to-one matching that agrees on most items.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters, whole numbers from 0; −1 is an item in no cluster, which is wrong everywhere.
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
    >>> matched_labels([1, 1, -1, 0], [0, 0, 1, 1]).tolist()
    [0, 0, -1, 1]
    """
    from scipy.optimize import linear_sum_assignment

    found, classes = np.asarray(labels), np.asarray(truth)
    if found.ndim != 1 or found.shape != classes.shape or not found.size:
        raise ValueError(
            f"labels and truth must name the same items, but their shapes are {found.shape}, {classes.shape}."
        )
    if any(a.dtype.kind not in "iu" or a.min() < least for a, least in ((found, -1), (classes, 0))):
        raise ValueError("labels must be whole numbers of at least -1, and truth of at least 0.")
    size, somewhere = int(max(found.max(), classes.max())) + 1, found >= 0
    table = np.zeros((size, size), dtype=np.int64)
    np.add.at(table, (found[somewhere], classes[somewhere]), 1)
    return np.where(somewhere, linear_sum_assignment(table, maximize=True)[1][found], -1)


def clustering_error(labels: ArrayLike, truth: ArrayLike) -> float:
    """Share of items in the wrong cluster after the best one-to-one matching of clusters with classes (paper 3).

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters, whole numbers from 0; −1 is an item in no cluster, which is wrong everywhere.
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
