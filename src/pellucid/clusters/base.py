"""What a fitted model of clusters does with rows: clusters, costs, codes, and the parts that these make up."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.checks import check_squares
from pellucid._core.tables import check_full_numbers
from pellucid.clusters.coding import Labels
from pellucid.clusters.fits import placing_of, reading_of
from pellucid.clusters.sure import SaysHowSure
from pellucid.clusters.told import TellsOfClusters
from pellucid.preparation import PreparesRows
from pellucid.rows import is_lazy
from pellucid.rows.lazy import map_blocks


class Encoded(NamedTuple):
    """Rows in terms of a fitted model, as :meth:`CommonalityClustering.encode` returns them.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each row.
    codes : ndarray of shape (n, k)
        Codes over the k atoms of that cluster.
    common : ndarray of shape (n, K₀)
        Codes over the K₀ common atoms.

    Examples
    --------
    >>> from pellucid import CommonalityClustering
    >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> model = CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X)
    >>> model.encode(X).labels
    array([0, 0, 1, 1])
    """

    labels: Labels
    codes: NDArray[Any]
    common: NDArray[Any]


class ClusterModel(
    SaysHowSure,
    TellsOfClusters,
    PreparesRows,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Fitted ``atoms_`` (C, k, d) and ``common_atoms_`` (K₀, d) at work on raw rows."""

    atoms_: NDArray[Any]
    common_atoms_: NDArray[Any]
    mean_: NDArray[np.float64]
    places_: NDArray[np.float64]
    reading: str
    random_state: Any

    @property
    def n_atoms_(self) -> int:
        """How many atoms each cluster has."""
        return int(self.atoms_.shape[1])

    @property
    def n_common_(self) -> int:
        """How many common atoms there are."""
        return len(self.common_atoms_)

    @property
    def means_(self) -> NDArray[np.float64]:
        """Means (C, d) of the clusters, of prepared rows."""
        return np.asarray(self.mean_ + placing_of(self).directions.back(self.places_))

    def prepare(self, X: ArrayLike) -> NDArray[Any]:
        """Raw rows (n, d) as the dictionaries see them: normalised, or centred too, if the model asks for it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.

        Returns
        -------
        ndarray of shape (n, d)
            The prepared rows.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, normalize=True, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.prepare([[0.0, 3.0]])
        array([[0., 1.]])
        """
        check_is_fitted(self, "atoms_")
        return np.asarray(self._prepared(self._rows(X)))

    def predict(self, X: Any) -> Any:
        """The cluster of least cost for each row.

        Parameters
        ----------
        X : array-like, dask.array or pellucid.rows.Blocks of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,), dtype int64
            The clusters, counted from 0. A ``dask.array`` gives a ``dask.array``, Blocks give Blocks (n, 1).

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.predict([[0.1, 3.0], [3.0, 0.1]])
        array([1, 0])
        """
        if is_lazy(X):
            check_is_fitted(self, "atoms_")
            return map_blocks(copy(self).predict, X, None, np.int64)
        return self.encode(X).labels

    def transform(self, X: Any) -> Any:
        """Costs (n, n_clusters) of rows in each cluster.

        By default that is minus twice a log-likelihood for each direction, up to a constant, less what neighbours pull;
        it may be negative. In the paper's reading it is the squared error with the penalties of the codes.

        Parameters
        ----------
        X : array-like, dask.array or pellucid.rows.Blocks of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_clusters)
            The costs. A ``dask.array`` gives a ``dask.array``, Blocks give Blocks.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.transform([[0.0, 3.0]]).argmin(axis=1)
        array([1])
        """
        if is_lazy(X):
            check_is_fitted(self, "atoms_")
            return map_blocks(copy(self).transform, X, len(self.atoms_))
        data = self.prepare(X)
        return np.asarray(reading_of(self).costs(data), dtype=data.dtype)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the sum of the rows' costs in their clusters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        float
            The score; larger is better.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.score(X) > model.score([[1.0, 1.0]] * 4)
        True
        """
        data = self.prepare(X)
        return -float(reading_of(self).costs(data).min(axis=1).sum(dtype=np.float64))

    def encode(self, X: ArrayLike) -> Encoded:
        """Clusters of rows, and their codes over the cluster's atoms and over the common ones.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        Encoded
            Labels (n,), codes (n, n_atoms) and common codes (n, n_common).

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> labels, codes, common = model.encode(X)
        >>> codes.shape, common.shape
        ((4, 1), (4, 2))
        """
        data = self.prepare(X)
        return Encoded(*reading_of(self).encode(data))

    def reconstruct(self, X: ArrayLike, parts: str = "all") -> NDArray[Any]:
        """Rows as the model says them: mean + own + common.

        By default that is the row itself, to round-off. The cluster's mean comes first; of what is left, what the
        cluster varies in more than all do is its own, and the rest is common. The paper's clusters have no mean, and
        leave a rest.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        parts : {"all", "mean", "own", "common"}, default="all"
            Which of these parts, or their sum.

        Returns
        -------
        ndarray of shape (n, d)
            The rows, or the part of them, as the model sees rows: see :meth:`prepare`.

        Raises
        ------
        ValueError
            If ``parts`` is none of these, or X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.reconstruct([[3.0, 0.0]], parts="mean").round(1)
        array([[1.5, 0. ]])
        >>> model.reconstruct([[3.0, 0.0]]).round(1)
        array([[3., 0.]])
        """
        if parts not in ("all", "mean", "own", "common"):
            raise ValueError(f'parts must be "all", "mean", "own" or "common", got {parts!r}.')
        data = self.prepare(X)
        found = reading_of(self).parts(data)
        return found.mean + found.own + found.common if parts == "all" else np.asarray(getattr(found, parts))

    def shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Shares (n, 3) of rows: of the cluster's mean, of what is the cluster's own, and of what is common.

        For each part v of a row's difference x from the mean of all rows, in the units that columns were brought to,
        that is v·x/‖x‖². By default they add up to 1; in the paper's reading, which counts from zero, with what is in
        no part. A share may be negative where parts of a row take from each other.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 3)
            Shares of the cluster's mean, of its own part and of the common one.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CommonalityClustering
        >>> X = np.eye(4)[np.arange(60) % 3]
        >>> X[:, 3] = 0.5 * np.random.default_rng(0).standard_normal(60)
        >>> model = CommonalityClustering(3, n_init=1, random_state=0).fit(X)
        >>> float(model.shares([[1.0, 0.0, 0.0, 1.0]]).sum().round(6))
        1.0
        """
        rows, reading = self.prepare(X), reading_of(self)
        middle, units = reading.middle()
        parts = reading.parts(rows)
        away = (rows - middle) / units
        lengths = np.maximum(np.einsum("ij,ij->i", away, away), np.finfo(np.float64).tiny)
        each = ((parts.mean - middle) / units, parts.own / units, parts.common / units)
        return np.stack([np.einsum("ij,ij->i", v, away) / lengths for v in each], axis=1)

    # the small print

    def _rows(self, X: ArrayLike, reset: bool = False) -> NDArray[Any]:
        check_full_numbers(X)
        data: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)
        if self.reading == "paper" and not self.normalize:
            check_squares(data, "X")
        return data

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
