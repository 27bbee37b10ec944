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
from pellucid.clusters.coding import Coder, Labels, code_rows, row_blocks, row_costs
from pellucid.clusters.objective import Dictionary, Penalties
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
    >>> model = CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X)
    >>> model.encode(X).labels
    array([0, 0, 1, 1])
    """

    labels: Labels
    codes: NDArray[Any]
    common: NDArray[Any]


class ClusterModel(PreparesRows, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator):
    """Fitted ``atoms_`` (C, k, d) and ``common_atoms_`` (K₀, d) at work on raw rows, with the penalties of the fit."""

    atoms_: NDArray[Any]
    common_atoms_: NDArray[Any]
    ridge: float
    sparsity: float
    incoherence: float
    common_incoherence: float | None
    codes: str
    incoherence_between: str

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
        >>> model = CommonalityClustering(2, 1, 0, normalize=True, init=[0, 0, 1, 1], random_state=0).fit(X)
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
        >>> model = CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.predict([[0.1, 3.0], [3.0, 0.1]])
        array([1, 0])
        """
        if is_lazy(X):
            check_is_fitted(self, "atoms_")
            return map_blocks(copy(self).predict, X, None, np.int64)
        return self.encode(X).labels

    def transform(self, X: Any) -> Any:
        """Costs (n, n_clusters) of rows in each cluster: squared errors with the penalties of the codes.

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
        >>> model = CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.transform([[0.0, 3.0]]).round(1)
        array([[9. , 0.1]])
        """
        if is_lazy(X):
            check_is_fitted(self, "atoms_")
            return map_blocks(copy(self).transform, X, len(self.atoms_))
        data = self.prepare(X)
        costs = np.empty((len(data), len(self.atoms_)), dtype=data.dtype)
        coder = self._coder(data.dtype)
        for rows in row_blocks(len(data)):
            costs[rows] = row_costs(np.asarray(data[rows]), coder)
        return costs

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
        >>> model = CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> round(model.score(X), 2)
        -0.1
        """
        data = self.prepare(X)
        coder = self._coder(data.dtype)
        return -float(sum(code_rows(np.asarray(data[rows]), coder, None).costs.sum() for rows in row_blocks(len(data))))

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
        >>> model = CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> labels, codes, common = model.encode(X)
        >>> codes.shape, common.shape
        ((4, 1), (4, 0))
        """
        data = self.prepare(X)
        coder = self._coder(data.dtype)
        parts = [code_rows(np.asarray(data[rows]), coder, None) for rows in row_blocks(len(data))]
        return Encoded(*(np.concatenate(column) for column in zip(*((p.labels, p.own, p.common) for p in parts))))

    def reconstruct(self, X: ArrayLike, parts: str = "both") -> NDArray[Any]:
        """Rows as their codes say.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        parts : {"both", "cluster", "common"}, default="both"
            By the "cluster" atoms, by the "common" ones, or by "both", their sum.

        Returns
        -------
        ndarray of shape (n, d)
            The rows, or the part of them, that the atoms make up, as the dictionaries see rows: see :meth:`prepare`.

        Raises
        ------
        ValueError
            If ``parts`` is none of these, or X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> model = CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X)
        >>> model.reconstruct([[3.0, 0.0]]).round(1)
        array([[3., 0.]])
        """
        if parts not in ("cluster", "common", "both"):
            raise ValueError(f'parts must be "cluster", "common" or "both", got {parts!r}.')
        found = self.encode(X)
        out = np.zeros((len(found.labels), self.atoms_.shape[2]), dtype=found.codes.dtype)
        if parts != "common":
            for c, atoms in enumerate(self.atoms_):
                mine = found.labels == c
                out[mine] = found.codes[mine] @ atoms.astype(out.dtype)
        if parts != "cluster":
            out += found.common @ self.common_atoms_.astype(out.dtype)
        return out

    def shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Shares (n, 2) of rows: how much of each is its cluster's own, and how much is common.

        For either part v of a row x that is v·x/‖x‖². With what is in neither they add up to 1.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Share of the cluster's atoms, and share of the common ones.

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
        >>> model = CommonalityClustering(3, 1, 1, n_init=1, random_state=0).fit(X)
        >>> model.shares([[1.0, 0.0, 0.0, 1.0]]).round(1)
        array([[0.5, 0.5]])
        """
        rows = self.prepare(X)
        lengths = np.maximum(np.einsum("ij,ij->i", rows, rows, dtype=np.float64), np.finfo(np.float64).tiny)
        parts = (self.reconstruct(X, parts=part) for part in ("cluster", "common"))
        return np.stack([np.einsum("ij,ij->i", v, rows, dtype=np.float64) / lengths for v in parts], axis=1)

    # pictures

    def plot_parts(self, X: ArrayLike, shape: tuple[int, ...], ax: Any = None) -> Any:
        """Rows that are images, as what their cluster and what all clusters have in common.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        shape : tuple of int
            Height and width of an image, and its channels if it has several; their product is d.
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        See Also
        --------
        pellucid.plots.cluster_parts : The function that draws.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CommonalityClustering
        >>> model = CommonalityClustering(3, 1, 0, n_init=1, random_state=0).fit(np.eye(4)[np.arange(60) % 3])
        >>> ax = model.plot_parts(np.eye(4)[:2], shape=(2, 2))
        """
        from pellucid.plots import cluster_parts

        return cluster_parts(self, X, shape, ax=ax)

    def plot_objective(self, ax: Any = None) -> Any:
        """The objective after each sweep.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        See Also
        --------
        pellucid.plots.objective : The function that draws.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CommonalityClustering
        >>> model = CommonalityClustering(3, 1, 0, n_init=1, random_state=0).fit(np.eye(4)[np.arange(60) % 3])
        >>> ax = model.plot_objective()
        """
        from pellucid.plots import objective

        return objective(self, ax=ax)

    # the small print

    def _rows(self, X: ArrayLike, reset: bool = False) -> NDArray[Any]:
        data: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)
        if not self.normalize:
            check_squares(data, "X")
        return data

    def _penalties(self) -> Penalties:
        across = self.incoherence if self.common_incoherence is None else self.common_incoherence
        return Penalties(
            float(self.ridge),
            float(self.sparsity),
            float(self.incoherence),
            float(across),
            self.codes,
            self.incoherence_between == "all",
        )

    def _coder(self, dtype: Any) -> Coder:
        return Coder(Dictionary(self.atoms_, self.common_atoms_), self._penalties(), dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
