"""What happens to raw rows before a model looks at them: normalise, take the mean out, normalise again."""

from __future__ import annotations

from copy import copy
from mmap import mmap
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite
from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows, takes_tables
from pellucid.rows import Blocks, is_lazy
from pellucid.rows.lazy import fitted_blocks, map_blocks

__all__ = ["CenteredNormalizer", "procrustes"]

# rows that are prepared at a time, so that a memory map is never copied whole
BLOCK_ROWS = 65_536


class CenteredNormalizer(SavedMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Normalise rows, subtract the mean of the normalised training rows, normalise again (paper 1, section 4.1).

    Embeddings of one model crowd around their mean; what tells items apart is what is left without it.

    Parameters
    ----------
    center : bool, default=True
        Subtract the mean; without it this is plain normalisation.
    n_tokens : int, default=1
        A row is that many token vectors laid end to end, each normalised on its own in the first step.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the normalised training rows; zero if ``center`` is False.
    n_samples_seen_ : int
        Rows that the mean is of.
    n_features_in_ : int
        Numbers in a row, d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where X had names.

    Examples
    --------
    >>> from pellucid.preparation import CenteredNormalizer
    >>> normalizer = CenteredNormalizer().fit([[2.0, 0.0], [0.0, 5.0]])
    >>> normalizer.mean_.tolist(), normalizer.transform([[3.0, 0.0]]).round(3).tolist()
    ([0.5, 0.5], [[0.707, -0.707]])
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
        """Learn the mean.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask.array
            Raw rows.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        CenteredNormalizer
            Itself, fitted.
        """
        self.__dict__.pop("mean_", None)
        if is_lazy(X):
            self._validate_params()
            blocks = fitted_blocks(self, X)
            self._check_tokens(blocks.shape[1])
            self.n_samples_seen_ = len(blocks)
            self.mean_ = np.zeros(blocks.shape[1])
            if self.center:
                self.mean_ = np.asarray(blocks.total(self._sum_normalized) / len(blocks))
            return self
        return self.partial_fit(X)

    @unchanged_by_failure
    def partial_fit(self, X: ArrayLike, y: object = None) -> CenteredNormalizer:
        """Take more rows into the mean.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        CenteredNormalizer
            Itself, fitted.
        """
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
        """Rows (n, d) of unit length with the mean taken out; a row of zeros has no direction and stays zero.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask.array
            Raw rows.

        Returns
        -------
        ndarray of shape (n, d), Blocks or dask.array
            The rows, prepared; as X is.
        """
        check_is_fitted(self, "mean_")
        if is_lazy(X):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} columns, but the mean was learned from {self.n_features_in_}.")
            return map_blocks(copy(self).transform, X, self.n_features_in_)
        return self.apply(self._validated(X, reset=False))

    def apply(self, X: NDArray[Any]) -> NDArray[Any]:
        """As :meth:`transform`, for rows that were checked already.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Floats, all of them finite.

        Returns
        -------
        ndarray of shape (n, d)
            The rows, prepared, in the precision of X.
        """
        out = np.empty(X.shape, dtype=X.dtype)
        mean = self.mean_.astype(X.dtype)
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            units = self._normalized(X[rows])
            out[rows] = unit_rows(units - mean)
            out[rows][~units.any(axis=1)] = 0
        return out

    def _validated(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        data: NDArray[Any] = validate_data(self, as_rows(X), dtype=[np.float64, np.float32], reset=reset)
        return data

    def _check_tokens(self, width: int) -> None:
        if width % self.n_tokens:
            raise ValueError(f"A row of {width} numbers cannot be split into n_tokens={self.n_tokens} tokens.")

    def _sum_normalized(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self._normalized(X).sum(axis=0, dtype=np.float64))

    def _normalized(self, X: NDArray[Any]) -> NDArray[Any]:
        n, d = X.shape
        return unit_rows(X.reshape(n, self.n_tokens, d // self.n_tokens)).reshape(n, d)


class PreparesRows:
    """An estimator that takes raw rows: what it does to them first is learned with it, and kept in its file.

    preparation_ : fitted :class:`CenteredNormalizer`, or None where rows are taken as they are
    """

    _prepares_rows: ClassVar[bool] = True
    preparation_: CenteredNormalizer | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_rows" in vars(cls):  # by which concepts and clusters check all rows that they are given
            cls._rows = takes_tables(vars(cls)["_rows"])  # type: ignore[attr-defined]

    def _preparation(self) -> CenteredNormalizer | None:
        """What the parameters ask for, not fitted yet."""
        center, normalize = (getattr(self, name, False) for name in ("center", "normalize"))
        return CenteredNormalizer(center=center) if center or normalize else None

    def _learn_preparation(self, X: Any, in_batches: bool = False) -> Any:
        """Learn from raw rows, which may be blocks, how to prepare them; the same rows, prepared. Of a file on disk
        that is gone through in batches, a batch is prepared when it is looked at."""
        wanted = self._preparation()
        self.preparation_ = None if wanted is None else wanted.fit(X)
        if self.preparation_ is not None and in_batches and is_mapped(X):
            return PreparedView(X, self.preparation_)
        return self._prepared(X)

    def _prepared(self, X: Any) -> Any:
        """Rows that were checked already, as the model sees them; blocks give blocks."""
        before = self.preparation_
        if before is None:
            return X
        return X.map(copy(before).apply, X.shape[1]) if isinstance(X, Blocks) else before.apply(X)


def is_mapped(X: Any) -> bool:
    """Whether the numbers of an array are in a file, and not in memory."""
    base = X
    while base is not None and not isinstance(base, mmap):
        base = getattr(base, "base", None)
    return base is not None


class PreparedView:
    """Rows of a memory map, prepared when they are looked at: ``view[rows]`` is an array, the view holds none."""

    def __init__(self, X: NDArray[Any], preparation: CenteredNormalizer) -> None:
        self.X, self.preparation = X, preparation
        self.shape, self.dtype, self.ndim = X.shape, X.dtype, X.ndim

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self.preparation.apply(np.asarray(self.X[rows]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:] if dtype is None else self[:].astype(dtype)


def procrustes(source: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """The orthogonal map that takes one space to another, from paired rows.

    It minimises ‖source·Q − target‖; ``vectors @ Q`` takes any vector of the first space to the second.

    Parameters
    ----------
    source : array-like of shape (n, d)
        Rows of the first space.
    target : array-like of shape (n, e)
        The same items in the second space.

    Returns
    -------
    ndarray of shape (d, e)
        The map Q, orthogonal; for d ≠ e it has orthonormal columns or rows.

    Raises
    ------
    ValueError
        The rows are not paired, or a number is not finite.

    Examples
    --------
    >>> from pellucid.preparation import procrustes
    >>> procrustes([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]]).round(6).tolist()
    [[0.0, 1.0], [-1.0, 0.0]]
    """
    A, B = (as_matrix(rows, name).astype(np.float64) for rows, name in ((source, "source"), (target, "target")))
    check_finite(A, "source")
    check_finite(B, "target")
    if len(A) != len(B):
        raise ValueError(f"Rows must be paired, but source has {len(A)} and target has {len(B)}.")
    left, _, right = np.linalg.svd(A.T @ B, full_matrices=False)
    return np.asarray(left @ right)
