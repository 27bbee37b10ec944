"""What can be done with fitted cones, however learned: every method takes raw rows and prepares them itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid.concepts.cones import Cones
from pellucid.concepts.labels import Indicator, align
from pellucid.concepts.naming import Names, are_names
from pellucid.preparation import PreparesRows
from pellucid.rows import is_lazy
from pellucid.rows.lazy import map_blocks

# what names every concept at once
ALL = "all"
# cones with what they made ready for queries, beside the models, so that using one does not change it
_CONES: WeakKeyDictionary[Any, Cones] = WeakKeyDictionary()


class ConceptModel(PreparesRows, TransformerMixin, BaseEstimator):
    """Fitted ``atoms_`` (M, d), ``groups_`` (M,) and ``concept_names_`` (S,) at work on raw rows.

    Components, projections and what is left of rows lie in the space of prepared rows: see :meth:`prepare`.
    ``prepare``, ``transform``, ``encode``, ``shares``, ``project`` and ``remove`` also take blocks, and give blocks.
    """

    atoms_: NDArray[Any]
    groups_: NDArray[Any]
    concept_names_: NDArray[Any]
    n_features_in_: int
    ridge: float

    @property
    def cones(self) -> Cones:
        """The cones themselves, for rows that are prepared already."""
        self._check_fitted()
        cones = _CONES.get(self)
        now = (self.atoms_, self.groups_, self.concept_names_, self.ridge)
        if cones is None or any(a is not b for a, b in zip(now, (cones.atoms, cones.groups, cones.names, cones.ridge))):
            cones = _CONES[self] = Cones(*now)
        return cones

    def prepare(self, X: Any) -> Any:
        """Prepare raw rows as the cones see them: normalised, centred and normalised again if ``center`` is set.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.

        Returns
        -------
        ndarray of shape (n, d), or Blocks
            The rows in the space of the cones.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> model = ConceptSubspaces(1).fit([[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"])
        >>> model.prepare([[3, 4]]).round(2).tolist()
        [[0.32, 0.95]]
        """
        self._check_fitted()
        if not is_lazy(X):
            return self._prepared(self._rows(X))
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was fitted on {self.n_features_in_}.")
        return X if self.preparation_ is None else self.preparation_.transform(X)

    # taking apart

    def transform(self, X: Any) -> Any:
        """Non-negative codes (n, M) of rows over the atoms of the concepts they have: :meth:`encode` with its defaults.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.

        Returns
        -------
        ndarray of shape (n, M), or Blocks
            Non-negative codes.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> ConceptSubspaces(1, center=False).fit(X, y).transform([[3, 4]]).round(2).tolist()  # it is more of a dog
        [[0.0, 4.0]]
        """
        return self.encode(X)

    def encode(
        self,
        X: Any,
        active: Any = None,
        method: str = "nnls",
        *,
        n_nonzero_coefs: int | None = None,
        n_concepts: int | None = None,
    ) -> Any:
        """Code rows over the atoms of the active concepts.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        active : str, list of str or array-like of shape (n, S), default=None
            Names of the concepts that all rows may use, or an indicator of those that each row may. None takes the
            concepts that each row has by :meth:`predict`, or all of a model without presence; "all" takes all.
        method : {"nnls", "omp", "group_omp"}, default="nnls"
            Least squares over the active atoms (Eq. 2), or where concepts are not known a greedy choice of atoms or
            concepts.
        n_nonzero_coefs : int, default=None
            Most atoms that "omp" may use for a row; None takes the mean number of atoms per concept.
        n_concepts : int, default=None
            Most concepts that "group_omp" may use for a row; None takes 2.

        Returns
        -------
        ndarray of shape (n, M), or Blocks
            Non-negative codes.

        Raises
        ------
        ValueError
            If a concept is not known, or ``active`` comes with a greedy method.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y)
        >>> model.encode([[3, 4]], active="cat").round(2).tolist()
        [[3.0, 0.0]]
        """
        if method != "nnls" and active is None:
            active = ALL  # the greedy methods find the concepts themselves
        more = {"method": method, "n_nonzero_coefs": n_nonzero_coefs, "n_concepts": n_concepts}
        return self._of_rows(self._parts(Cones.encode, X, active, **more), X, len(self.cones.atoms))

    def components(self, X: ArrayLike, active: Any = None) -> NDArray[Any]:
        """Split each row into a sum of one component per concept (Eq. 2).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may use; see :meth:`encode`.

        Returns
        -------
        ndarray of shape (n, S, d)
            The components, in the space of prepared rows.

        See Also
        --------
        shares : How much of a row each component is, without an array of this size.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y)
        >>> model.components([[3, 4]], "all").round(2).tolist()
        [[[3.0, 0.0], [0.0, 4.0]]]
        """
        return np.asarray(self._parts(Cones.components, X, active)(self.cones, self.prepare(X)))

    def project(self, X: Any, concept: Names) -> Any:
        """Project each row onto a concept: the point of its cone that is nearest (Eq. 3).

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        concept : str or list of str
            Name of the concept; several names share one cone.

        Returns
        -------
        ndarray of shape (n, d), or Blocks
            The projections, in the space of prepared rows.

        Raises
        ------
        ValueError
            If a concept is not known.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y)
        >>> model.project([[3, 4]], "dog").round(2).tolist()
        [[0.0, 4.0]]
        """
        if is_lazy(X):
            self.cones.indices(concept)  # a wrong name is said now, not when blocks are asked for
        return self._of_rows(partial(Cones.project, concept=concept), X, self.n_features_in_)

    def remove(self, X: Any, concept: Names) -> Any:
        """Take the part out of each row that a concept's cone explains: no atom of it points along what is left.

        This is not erasure: a linear probe still reads the concept off what is left.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        concept : str or list of str
            Name of the concept; several names share one cone.

        Returns
        -------
        ndarray of shape (n, d), or Blocks
            Prepared rows without their projections.

        Raises
        ------
        ValueError
            If a concept is not known.

        See Also
        --------
        pellucid.concepts.ConceptErasure : Leaves nothing that a linear predictor could tell the concept by.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y)
        >>> np.allclose(model.remove([[3, 4]], "dog"), [[3, 0]])
        True
        """
        if is_lazy(X):
            self.cones.indices(concept)
        return self._of_rows(partial(Cones.remove, concept=concept), X, self.n_features_in_)

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Put rows together again from their codes.

        Parameters
        ----------
        X : array-like of shape (n, M)
            Codes.

        Returns
        -------
        ndarray of shape (n, d)
            Rows as they are when prepared.

        Raises
        ------
        ValueError
            If there is not one column per atom.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y)
        >>> model.inverse_transform([[3, 4]]).round(2).tolist()
        [[3.0, 4.0]]
        """
        check_is_fitted(self, "atoms_")
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(self.atoms_):
            raise ValueError(f"X must have {len(self.atoms_)} columns, one per atom, but is {array.shape}.")
        return np.asarray(array @ self.atoms_)

    def shares(self, X: Any, active: Any = None) -> Any:
        """Say how much of each row is each concept: v_j·x / ‖x‖², the concept's term in x·x.

        The shares of a row add up to what its components explain of it; the rest is in no concept. Components that take
        away from each other count once, so a share can be negative.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may use; see :meth:`encode`.

        Returns
        -------
        ndarray of shape (n, S), or Blocks
            The shares.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y)
        >>> model.shares([[3, 4]], "all").round(2).tolist()
        [[0.36, 0.64]]
        """
        return self._of_rows(self._parts(Cones.shares, X, active), X, len(self.cones.names))

    def lengths(self, X: ArrayLike, partial: bool = False, active: Any = None) -> NDArray[Any]:
        """Measure the component of each concept in each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        partial : bool, default=False
            Measure the projections, one concept at a time, instead of the components.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may have components of; see :meth:`encode`.

        Returns
        -------
        ndarray of shape (n, S)
            Lengths in the space of prepared rows.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> ConceptSubspaces(1, center=False).fit(X, y).lengths([[3, 4]], active="all").round(2).tolist()
        [[3.0, 4.0]]
        """
        return np.asarray(self._parts(Cones.lengths, X, active, partial=partial)(self.cones, self.prepare(X)))

    # the small print

    def _parts(self, split: Callable[..., NDArray[Any]], X: Any, active: Any, **more: Any) -> Callable[..., Any]:
        """A method of the cones for the active concepts of rows; for blocks, something that workers can be sent."""
        if active is not None and is_lazy(X) and not are_names(active):
            raise ValueError("Of blocks, active must name the concepts of all rows.")
        everything = isinstance(active, str) and active == ALL
        who = self._told_by if active is None else None
        return partial(_of_active, split, who, None if everything else active, more)

    @property
    def _told_by(self) -> Callable[[NDArray[Any]], Indicator] | None:
        """What tells which concepts prepared rows have, if anything does."""
        return None

    def _of_rows(self, method: Callable[..., NDArray[Any]], X: Any, width: int) -> Any:
        """What a method of the cones makes of raw rows; of blocks when they are asked for, with the cones as now."""
        if not is_lazy(X):
            return method(self.cones, self._prepared(self._rows(X)))
        now = Cones(self.atoms_.copy(), self.groups_, self.concept_names_, self.ridge)
        return map_blocks(partial(method, now), self.prepare(X), width)

    def _check_fitted(self) -> None:
        if not hasattr(self, "atoms_"):  # scikit-learn's own check takes longer than a projection
            check_is_fitted(self, "atoms_")

    def _labelled(self, X: ArrayLike, y: Any) -> tuple[NDArray[Any], Indicator]:
        """More rows, prepared, with the concepts the model already has."""
        rows = self._prepared(self._rows(X))
        return rows, self._known_concepts(y, len(rows))

    def _known_concepts(self, y: Any, n: int) -> Indicator:
        """Labels (n, S) over the concepts the model already has."""
        indicator = align(y, list(self.concept_names_))
        if indicator.shape != (n, len(self.concept_names_)):
            raise ValueError(f"y must have {n} rows and {len(self.concept_names_)} concepts, but is {indicator.shape}.")
        return indicator

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Name the codes: concept, and number within it.

        Parameters
        ----------
        input_features : object, default=None
            Ignored; here because scikit-learn passes it.

        Returns
        -------
        ndarray of shape (M,)
            Names, of dtype object.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> model = ConceptSubspaces([1, 2]).fit([[1, 0, 1], [3, 0, 1], [0, 2, 1], [0, 1, 2]], list("aabb"))
        >>> model.get_feature_names_out().tolist()
        ['a_0', 'b_0', 'b_1']
        """
        check_is_fitted(self, "atoms_")
        within = np.concatenate([np.arange(n) for n in np.bincount(self.groups_, minlength=len(self.concept_names_))])
        return np.array([f"{self.concept_names_[g]}_{i}" for g, i in zip(self.groups_, within)], dtype=object)

    def _rows(self, X: ArrayLike, reset: bool = False) -> NDArray[Any]:
        """X as float rows. One query comes as a plain array of the right width: the general checks would take longer
        than the projection."""
        if (
            not reset
            and type(X) is np.ndarray
            and X.dtype in (np.float32, np.float64)
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and np.isfinite(X.sum())
        ):
            return X
        half = getattr(X, "dtype", None) == np.float16
        data: NDArray[Any] = validate_data(self, X, dtype=np.float32 if half else [np.float64, np.float32], reset=reset)
        return data


def _of_active(
    split: Callable[..., NDArray[Any]], who: Any, active: Any, more: dict[str, Any], cones: Cones, rows: NDArray[Any]
) -> NDArray[Any]:
    return split(cones, rows, active=active if who is None else who(rows), **more)
