"""How sure a fitted model of clusters is: chances of the clusters, and rows that are unusual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from pellucid.clusters.certainty import QUANTILES, chances, usual_scores
from pellucid.clusters.fits import certainty_of, placing_of, reading_of


def has_likelihood(model: Any) -> bool:
    """Whether costs are a likelihood, which chances and scores come from."""
    if model.reading == "paper":
        raise AttributeError('Chances and scores need the default reading: reading="paper" has no likelihood.')
    return True


class SaysHowSure:
    """Chances and scores of raw rows, by a fitted model of the default reading."""

    reading: str

    if TYPE_CHECKING:

        def prepare(self, X: ArrayLike) -> NDArray[Any]: ...

    @available_if(has_likelihood)
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Chances (n, n_clusters) that rows belong to clusters.

        They fall with what a row costs in a cluster, neighbours included, as steeply as is right for rows that the
        clusters' shapes were not learned from.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_clusters)
            Chances, which add up to 1 for each row; the largest is that of :meth:`predict`.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from pellucid import CommonalityClustering
        >>> model = CommonalityClustering(3, random_state=0).fit(load_iris().data)
        >>> model.predict_proba([[5.0, 3.4, 1.5, 0.2]]).max() > 0.9
        np.True_
        """
        data, certainty = self.prepare(X), certainty_of(self)
        costs = np.asarray(reading_of(self).costs(data), dtype=np.float64)
        return chances(costs, certainty.sharpness).astype(data.dtype)

    @available_if(has_likelihood)
    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """How usual rows are: the logarithm of their density under all clusters together.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Scores; the lower, the more unusual.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from pellucid import CommonalityClustering
        >>> model = CommonalityClustering(3, random_state=0).fit(load_iris().data)
        >>> usual, odd = model.score_samples([[5.0, 3.4, 1.5, 0.2], [9.0, 0.4, 1.5, 5.2]])
        >>> bool(usual > odd)
        True
        """
        data, certainty = self.prepare(X), certainty_of(self)
        placing = placing_of(self)
        return usual_scores(placing.ellipsoids, certainty, placing.directions, data)

    @available_if(has_likelihood)
    def outliers(self, X: ArrayLike, rate: float = 0.01) -> NDArray[np.bool_]:
        """Which rows are more unusual than all but a share ``rate`` of rows like those of the fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        rate : float, default=0.01
            The share of rows like those of the fit that are called outliers, judged by rows that the clusters' shapes
            were not learned from.

        Returns
        -------
        ndarray of bool of shape (n,)
            Whether the row is an outlier.

        Raises
        ------
        ValueError
            If ``rate`` is not between 0 and 1, X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from pellucid import CommonalityClustering
        >>> model = CommonalityClustering(3, random_state=0).fit(load_iris().data)
        >>> model.outliers([[5.0, 3.4, 1.5, 0.2], [9.0, 0.4, 1.5, 5.2]])
        array([False,  True])
        """
        if not 0 < rate < 1:
            raise ValueError(f"rate must lie between 0 and 1, got {rate}.")
        scores = self.score_samples(X)
        return np.asarray(scores < np.interp(rate, QUANTILES, certainty_of(self).quantiles))
