"""What has to happen to vectors before they can be taken apart."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import unit_rows
from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid.rows import as_blocks, is_lazy, lazily

# rows that are normalised at a time, so that a memory map is never copied whole
BLOCK_ROWS = 65_536


class CenteredNormalizer(SavedMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Normalise rows, subtract the mean of the normalised training rows, normalise again (paper 1, section 4.1).

    Embeddings of one model crowd around their mean; what tells items apart is what is left without it.

    Parameters
    ----------
    center : bool, subtract the mean (without it this is plain normalisation)
    n_tokens : int, a row is that many token vectors laid end to end, each normalised on its own in the first step

    Attributes
    ----------
    mean_ : (d,) mean of the normalised training rows (zero if ``center`` is False)
    n_samples_seen_ : int
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "mean_": Fitted("f", ("n_features_in_",)),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int, "n_samples_seen_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "center": ["boolean"],
        "n_tokens": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, center: bool = True, n_tokens: int = 1) -> None:
        self.center = center
        self.n_tokens = n_tokens

    @unchanged_by_failure
    def fit(self, X: Any, y: object = None) -> CenteredNormalizer:
        """Learn the mean from X (n, d), which may be blocks."""
        self.__dict__.pop("mean_", None)
        if is_lazy(X):
            self._validate_params()
            blocks = as_blocks(X)
            self._check_tokens(blocks.shape[1])
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_, self.n_samples_seen_ = blocks.shape[1], len(blocks)
            self.mean_ = np.zeros(blocks.shape[1])
            if self.center:
                self.mean_ = np.asarray(blocks.total(self._sum_normalized) / len(blocks))
            return self
        return self.partial_fit(X)

    @unchanged_by_failure
    def partial_fit(self, X: ArrayLike, y: object = None) -> CenteredNormalizer:
        """Take more rows into the mean."""
        self._validate_params()
        first = not hasattr(self, "mean_")
        data = self._validated(X, reset=first)
        self._check_tokens(data.shape[1])
        if first:
            self.mean_ = np.zeros(data.shape[1])
            self.n_samples_seen_ = 0
        if self.center:
            total = self.mean_ * self.n_samples_seen_
            for start in range(0, len(data), BLOCK_ROWS):
                total += self._sum_normalized(data[start : start + BLOCK_ROWS])
            self.mean_ = total / (self.n_samples_seen_ + len(data))
        self.n_samples_seen_ += len(data)
        return self

    def transform(self, X: Any) -> Any:
        """Rows of unit length with the mean taken out (n, d); a row of zeros gives the direction opposite the mean.
        Blocks give blocks."""
        check_is_fitted(self, "mean_")
        if is_lazy(X):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} columns, but the mean was learned from {self.n_features_in_}.")
            return lazily(copy(self).transform, X, self.n_features_in_)
        data = self._validated(X, reset=False)
        out = np.empty(data.shape, dtype=data.dtype)
        for start in range(0, len(data), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            out[rows] = unit_rows(self._normalized(data[rows]) - self.mean_.astype(data.dtype))
        return out

    def _validated(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        data: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)
        return data

    def _check_tokens(self, width: int) -> None:
        if width % self.n_tokens:
            raise ValueError(f"A row of {width} numbers cannot be split into n_tokens={self.n_tokens} tokens.")

    def _sum_normalized(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self._normalized(X).sum(axis=0, dtype=np.float64))

    def _normalized(self, X: NDArray[Any]) -> NDArray[Any]:
        n, d = X.shape
        return unit_rows(X.reshape(n, self.n_tokens, d // self.n_tokens)).reshape(n, d)


def zero_shot_labels(X: ArrayLike, concept_vectors: ArrayLike, n_active: int = 2) -> NDArray[np.bool_]:
    """Labels from words alone (paper 1, section 3.4): the ``n_active`` concepts whose vectors are nearest to each row.

    X (n, d) and concept_vectors (S, d) are embeddings of one model as they come, before any centring. Returns (n, S).
    """
    rows, words = unit_rows(_matrix(X, "X")), unit_rows(_matrix(concept_vectors, "concept_vectors"))
    if rows.shape[1] != words.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, but concept_vectors has {words.shape[1]}.")
    if not 1 <= n_active <= len(words):
        raise ValueError(f"n_active must be between 1 and the number of concepts, {len(words)}, got {n_active}.")
    labels = np.zeros((len(rows), len(words)), dtype=bool)
    for start in range(0, len(rows), BLOCK_ROWS):
        cosines = rows[start : start + BLOCK_ROWS] @ words.T
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :n_active]
        np.put_along_axis(labels[start : start + BLOCK_ROWS], nearest, True, axis=1)
    return labels


def procrustes(source: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """The orthogonal map Q (d, e) that minimises ‖source·Q − target‖, from paired rows (n, d) and (n, e).

    For d ≠ e, Q has orthonormal columns or rows. ``vectors @ Q`` takes any vector of the first space to the second.
    """
    A, B = _matrix(source, "source").astype(np.float64), _matrix(target, "target").astype(np.float64)
    if len(A) != len(B):
        raise ValueError(f"Rows must be paired, but source has {len(A)} and target has {len(B)}.")
    left, _, right = np.linalg.svd(A.T @ B, full_matrices=False)
    return np.asarray(left @ right)


def _matrix(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix of numbers, but is {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        row = int(np.argmax(~np.isfinite(array).all(axis=1)))
        raise ValueError(f"{name} has a value that is not finite in row {row}.")
    return array if array.dtype in (np.dtype(np.float32), np.dtype(np.float64)) else array.astype(np.float32)
