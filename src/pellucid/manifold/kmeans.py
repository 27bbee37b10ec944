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
from pellucid.manifold.nearest import Floats32, Integers, build_cells, mean_directions, nearest_atoms


class SphericalKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SavedMixin, BaseEstimator):
    """k-means by cosine, for very many centroids: rows and centroids have unit length.

    Centroids that no row is nearest to go to the rows that are worst represented. Rows of zeros have no direction;
    they take no part, and belong to the first centroid.

    Parameters
    ----------
    n_clusters : number of centroids; rows, if there are fewer of them
    max_iter : largest number of iterations
    tol : stop when the mean cosine of rows and their centroids rises by less than this in an iteration
    random_state : seed of the rows that the centroids start from
    verbose : show progress, on a terminal

    Attributes
    ----------
    cluster_centers_ : (n_clusters, d) float32, unit rows
    labels_ : (n,) nearest centroid of each row
    objective_ : (iterations + 1,) mean cosine of rows and centroids, before each iteration and at the end
    n_iter_ : number of iterations
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
        """Find centroids of the rows (n, d)."""
        self._validate_params()
        rows = unit_rows(validate_data(self, X, dtype=[np.float32, np.float64])).astype(np.float32)
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
        return unit_rows(validate_data(self, X, reset=False, dtype=[np.float32, np.float64])).astype(np.float32)

    def predict(self, X: ArrayLike) -> Integers:
        """Nearest centroid (n,) of each row."""
        rows = self._unit(X)
        return nearest_atoms(rows, self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> Floats32:
        """Cosines (n, n_clusters) with the centroids."""
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
