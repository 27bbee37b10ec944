"""What a fitted model of clusters tells of them: in words, in pictures, and as concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pellucid._core.tables import as_rows
from pellucid.clusters.describing import TABLE_COLUMNS, ClusterDescription, describe
from pellucid.clusters.fits import placing_of, reading_of


class TellsOfClusters:
    """Descriptions, pictures and concepts of the clusters of a fitted model."""

    atoms_: NDArray[Any]
    reading: str
    random_state: Any

    if TYPE_CHECKING:

        def prepare(self, X: ArrayLike) -> NDArray[Any]: ...

        def predict(self, X: Any) -> Any: ...

    def describe(
        self,
        X: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        titles: Sequence[str] | None = None,
    ) -> ClusterDescription:
        """What each cluster is: what sets it apart, its words, its typical and its borderline rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, of the fit or others.
        feature_names : sequence of str, default=None
            What the columns are called. None takes the names of a data frame that the model was fitted to, and of up to
            50 columns without names their numbers; wider rows have no features that could be named.
        texts : sequence of str, default=None
            A text for each row, from which clusters take their words.
        titles : sequence of str, default=None
            What rows are called, for clusters with neither features nor words.

        Returns
        -------
        ClusterDescription
            A card for each cluster, and what is common to all.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit, or names or texts are not as many.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from pellucid import CommonalityClustering
        >>> wine = load_wine(as_frame=True).data
        >>> told = CommonalityClustering(3, random_state=0).fit(wine).describe(wine)
        >>> print(told.clusters[0].name, *told.clusters[0].features[:2], sep="; ")
        low alcohol, low proline; low alcohol (-2.2); low proline (-2.1)
        """
        check_is_fitted(self, "atoms_")
        data = self.prepare(X)
        for what, given, wanted in (
            ("feature_names", feature_names, data.shape[1]),
            ("texts", texts, len(data)),
            ("titles", titles, len(data)),
        ):
            if given is not None and len(given) != wanted:
                raise ValueError(f"{what} holds {len(given)}, but there are {wanted}.")
        names = feature_names
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        if names is None and data.shape[1] <= TABLE_COLUMNS and texts is None:
            names = [f"column {i}" for i in range(data.shape[1])]
        reading = reading_of(self)
        costs = np.asarray(reading.costs(data))
        own_costs, common = costs, np.zeros(data.shape[1])
        if self.reading != "paper":
            placing = placing_of(self)
            own_costs = placing.ellipsoids.costs(np.ascontiguousarray(placing.directions.into(data)[:, : placing.D]))
            common = shared_deviations(self, placing)
        return describe(np.asarray(data), costs.argmin(axis=1), costs, own_costs, common, names, texts, titles)

    def to_concepts(self, X: ArrayLike, *, names: Sequence[str] | None = None, **settings: Any) -> Any:
        """The clusters as concepts, each with a cone of its own, for search, exclusion and the explorer.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows; each has the concept of its cluster.
        names : sequence of str, default=None
            What the concepts are called; None takes the names of :meth:`describe`.
        **settings : Any
            For :class:`pellucid.ConceptSubspaces`.

        Returns
        -------
        ConceptSubspaces
            Fitted to these rows and their clusters.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit, or names are not as many as clusters.

        See Also
        --------
        pellucid.ConceptSubspaces : What it returns.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from pellucid import CommonalityClustering
        >>> X = load_digits(n_class=3).data
        >>> model = CommonalityClustering(3, random_state=0).fit(X)
        >>> concepts = model.to_concepts(X, names=["a", "b", "c"], random_state=0)
        >>> list(concepts.concept_names_)
        ['a', 'b', 'c']
        """
        from pellucid import ConceptSubspaces

        labels = np.asarray(self.predict(X))
        C = len(self.atoms_)
        if names is None:
            names = [card.name for card in self.describe(X).clusters]
        if len(names) != C:
            raise ValueError(f"names holds {len(names)}, but there are {C} clusters.")
        has = labels[:, None] == np.arange(C)
        settings = {"random_state": self.random_state, **settings}
        model: Any = ConceptSubspaces(**settings)
        return model.fit(as_rows(X), has, concept_names=told_apart(names))

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


def shared_deviations(model: Any, placing: Any) -> NDArray[np.float64]:
    """The deviation (d,) of each feature within clusters that all share, as a share of its deviation in all."""
    D, basis = placing.D, placing.directions.basis
    within = np.einsum("gi,gh,hi->i", basis[:D], model.common_covariance_, basis[:D])
    return np.asarray(np.sqrt(np.maximum(within, 0.0)))


def told_apart(names: Sequence[str]) -> list[str]:
    """Names, all different: one that occurs again gets a number."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return out
