"""Clusters of directions: k-means on the unit sphere (paper 4, Algorithm 1, with argmin where it prints argmax)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import unit_rows
from pellucid._core.progress import progress
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows
from pellucid.manifold.nearest import Floats32, Integers, build_cells, mean_directions, nearest_atoms


class SphericalKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SavedMixin, BaseEstimator):
    """Spherical k-means, by cosine, for very many centroids: rows and centroids have unit length.

    Centroids that no row is nearest to go to the rows that are worst represented. Rows of zeros have no direction;
    they take no part, and belong to the first centroid.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centroids; that of the rows, if they are fewer.
    max_iter : int, default=20
        Largest number of iterations.
    tol : float, default=1e-4
        Stop when the mean cosine of rows and their centroids rises by less than this in an iteration.
    random_state : int, RandomState or None, default=None
        Seed of the rows that the centroids start from.
    verbose : int, default=0
        Show progress if positive (on a terminal).

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, d), dtype float32
        Centroids, of unit length.
    labels_ : ndarray of shape (n,), dtype int64
        Nearest centroid of each row.
    objective_ : ndarray of shape (iterations + 1,)
        Mean cosine of rows and centroids, before each iteration and at the end.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Numbers per row, d.

    See Also
    --------
    NearestCode : One-hot codes over centroids.

    Examples
    --------
    >>> from pellucid.manifold import SphericalKMeans
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> model = SphericalKMeans(2, random_state=0).fit(X)
    >>> model.labels_
    array([1, 1, 0, 0])
    >>> model.cluster_centers_.round(1)
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "cluster_centers_": Fitted("f", ("clusters", "n_features_in_")),
        "labels_": Fitted("i", ("rows",)),
        "objective_": Fitted("f", ("iterations",)),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int, "n_iter_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self, n_clusters: int = 8, *, max_iter: int = 20, tol: float = 1e-4, random_state: Any = None, verbose: int = 0
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def fit(self, X: ArrayLike, y: object = None) -> SphericalKMeans:
        """Find centroids of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; only their directions count.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        SphericalKMeans
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is not finite, every row is zero, or a parameter is out of its range.

        Examples
        --------
        >>> from pellucid.manifold import SphericalKMeans
        >>> SphericalKMeans(2, random_state=0).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]).labels_
        array([1, 1, 0, 0])
        """
        self._validate_params()
        rows = unit_rows(validate_data(self, as_rows(X), dtype=[np.float32, np.float64])).astype(np.float32)
        present = rows.any(axis=1)
        if not present.any():
            raise ValueError("Every row is zero, so none has a direction to cluster.")
        seed = check_random_state(self.random_state)
        with progress("k-means", self.max_iter, bool(self.verbose)) as step:
            centres, labels, objective = spherical_kmeans(
                rows[present], self.n_clusters, self.max_iter, float(self.tol), seed, step
            )
        self.cluster_centers_ = centres
        self.labels_ = np.zeros(len(rows), dtype=np.int64)
        self.labels_[present] = labels
        self.objective_ = np.array(objective)
        self.n_iter_ = len(objective) - 1
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _unit(self, X: ArrayLike) -> Floats32:
        check_is_fitted(self)
        return unit_rows(validate_data(self, as_rows(X), reset=False, dtype=[np.float32, np.float64])).astype(
            np.float32
        )

    def predict(self, X: ArrayLike) -> Integers:
        """Nearest centroid of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,), dtype int64
            Numbers of the centroids, counted from 0.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid.manifold import SphericalKMeans
        >>> model = SphericalKMeans(2, random_state=0).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> model.predict([[0.0, 5.0], [5.0, 0.0]])
        array([0, 1])
        """
        rows = self._unit(X)
        return nearest_atoms(rows, self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> Floats32:
        """Cosines (n, n_clusters) of rows with the centroids.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_clusters), dtype float32
            The cosines; zeros for a row of zeros.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid.manifold import SphericalKMeans
        >>> model = SphericalKMeans(2, random_state=0).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> model.transform([[0.0, 5.0]]).round(1)
        array([[1., 0.]], dtype=float32)
        """
        return np.asarray(self._unit(X) @ self.cluster_centers_.T)


def spherical_kmeans(
    X: Floats32,
    n_clusters: int,
    max_iter: int,
    tol: float,
    seed: np.random.RandomState,
    step: Any = None,
    exact: bool = True,
) -> tuple[Floats32, Integers, list[float]]:
    """Centroids, labels, and the mean cosine before each iteration and at the end, of unit rows."""
    n_clusters = min(n_clusters, len(X))
    centres = np.ascontiguousarray(X[np.sort(seed.permutation(len(X))[:n_clusters])])
    labels, cosines = nearest_atoms(X, centres, build_cells(centres, exact))
    objective = [float(cosines.mean(dtype=np.float64))]
    for _ in range(max_iter):
        moved, counts = mean_directions(X, labels, centres)
        moved = reseeded(moved, counts, X, cosines)
        found, near = nearest_atoms(X, moved, build_cells(moved, exact))
        value = float(near.mean(dtype=np.float64))
        if value < objective[-1]:  # only where centroids moved to far rows and lost more than they gained
            break
        gain = value - objective[-1]
        centres, labels, cosines = moved, found, near
        objective.append(value)
        if step is not None:
            step(f"mean cosine {value:.4f}")
        if gain <= tol:
            break
    return centres, labels, objective


def reseeded(centres: Floats32, counts: Integers, X: Floats32, cosines: NDArray[Any]) -> Floats32:
    """Centroids without a row moved onto the rows farthest from theirs, as long as those are not on theirs already."""
    empty = np.flatnonzero(counts == 0)
    if not empty.size:
        return centres
    far = np.argsort(cosines, kind="stable")[: len(empty)]
    far = far[cosines[far] < 1 - 1e-6]
    centres = centres.copy()
    centres[empty[: len(far)]] = X[far]
    return centres
