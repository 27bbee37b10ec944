"""Sparse features f(x) of paper 4: nearest atom, all atoms above a threshold, and sparse coding."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import unit_rows
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows
from pellucid.manifold.kmeans import SphericalKMeans
from pellucid.manifold.nearest import build_cells, nearest_atoms
from pellucid.solvers import lasso

# rows whose products with all atoms are made at once
BLOCK = 2048


class Code(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """A dictionary of atoms, and sparse codes (n, K) over it."""

    n_atoms: int
    dictionary: str
    random_state: Any

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {"atoms_": Fitted("f", ("atoms", "n_features_in_")), **NAMES_IN}
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "dictionary": [StrOptions({"kmeans", "sample"})],
        "random_state": ["random_state"],
    }
    _cosine = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: ArrayLike, y: object = None) -> Any:
        """Make the dictionary from rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        Code
            The fitted code itself.

        Raises
        ------
        ValueError
            If X is not finite, a parameter is out of its range, or codes go by cosine and every row is zero.

        Examples
        --------
        >>> from pellucid.manifold import NearestCode
        >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
        >>> NearestCode(2, random_state=0).fit(X).atoms_.shape
        (2, 2)
        """
        self._validate_params()
        data = validate_data(self, as_rows(X), dtype=[np.float64, np.float32])
        if self._cosine:
            data = unit_rows(data)
            data = data[data.any(axis=1)]
            if not len(data):
                raise ValueError("Every row is zero, so none has a direction that could become an atom.")
        self.atoms_ = make_dictionary(
            data, self.n_atoms, self.dictionary, self._cosine, check_random_state(self.random_state)
        )
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)

    def _rows(self, X: ArrayLike) -> NDArray[Any]:
        check_is_fitted(self)
        data = validate_data(self, as_rows(X), reset=False, dtype=[np.float64, np.float32])
        return unit_rows(data) if self._cosine else np.asarray(data)


def make_dictionary(
    data: NDArray[Any], n_atoms: int, dictionary: str, cosine: bool, seed: np.random.RandomState
) -> NDArray[Any]:
    """Atoms: rows drawn without repetition, or centres of k-means; all different rows, if they are no more."""
    different = np.sort(np.unique(data, axis=0, return_index=True)[1]) if len(data) <= 16 * n_atoms else None
    if different is not None and len(different) <= n_atoms:
        return np.ascontiguousarray(data[different])
    if dictionary == "sample":
        among = np.arange(len(data)) if different is None else different
        return np.ascontiguousarray(data[np.sort(seed.permutation(among)[:n_atoms])])
    if cosine:
        return np.asarray(SphericalKMeans(n_atoms, random_state=seed).fit(data).cluster_centers_)
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(n_atoms, n_init=1, random_state=seed).fit(data).cluster_centers_)


def in_blocks(rows: NDArray[Any], code: Callable[[NDArray[Any]], NDArray[Any]]) -> sparse.csr_array:
    """Codes of rows that are dense when they are made, so that few are made at once."""
    parts = [sparse.csr_array(code(rows[start : start + BLOCK])) for start in range(0, len(rows), BLOCK)]
    return sparse.csr_array(sparse.vstack(parts))


class NearestCode(Code):
    """One-hot codes: 1 at the nearest atom (f_vq of paper 4).

    Parameters
    ----------
    n_atoms : int, default=256
        Size of the dictionary; smaller if there are fewer different rows.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" is for rows whose length says nothing; a row of zeros then has no code.
    dictionary : {"kmeans", "sample"}, default="kmeans"
        Centres of k-means (on the sphere for the cosine), or rows themselves.
    exact : bool, default=True
        False lets a search by cosine among 2 048 or more atoms miss the nearest of about one row in a hundred.
    random_state : int, RandomState or None, default=None
        Seed of the dictionary.

    Attributes
    ----------
    atoms_ : ndarray of shape (K, d)
        The dictionary, K atoms.
    n_features_in_ : int
        Numbers per row, d.

    See Also
    --------
    ThresholdCode : All atoms that are near.
    LassoCode : Sparse coding.

    Examples
    --------
    >>> from pellucid.manifold import NearestCode
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> NearestCode(2, random_state=0).fit_transform(X).toarray()
    array([[0., 1.],
           [0., 1.],
           [1., 0.],
           [1., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Code._parameter_constraints,
        "metric": [StrOptions({"euclidean", "cosine"})],
        "exact": ["boolean"],
    }

    def __init__(
        self,
        n_atoms: int = 256,
        *,
        metric: str = "euclidean",
        dictionary: str = "kmeans",
        exact: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.metric = metric
        self.dictionary = dictionary
        self.exact = exact
        self.random_state = random_state

    @property
    def _cosine(self) -> bool:  # type: ignore[override]
        return self.metric == "cosine"

    def transform(self, X: ArrayLike) -> Any:
        """One-hot codes (n, K) of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        csr_array of shape (n, K)
            A single 1 a row, at the nearest atom.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid.manifold import NearestCode
        >>> code = NearestCode(2, random_state=0).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> code.transform([[0.0, 5.0]]).toarray()
        array([[1., 0.]])
        """
        data = self._rows(X)
        found = self.predict(data)
        present = data.any(axis=1) if self._cosine else np.ones(len(data), dtype=bool)
        pointers = np.concatenate([[0], np.cumsum(present)])
        return sparse.csr_array(
            (np.ones(int(present.sum())), found[present], pointers), shape=(len(data), len(self.atoms_))
        )

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Number of the atom nearest to each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,), dtype int64
            Numbers of the atoms, counted from 0.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid.manifold import NearestCode
        >>> code = NearestCode(2, random_state=0).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> code.predict([[0.0, 5.0], [5.0, 0.0]])
        array([0, 1])
        """
        data = self._rows(X)
        if not self._cosine:
            from sklearn.metrics import pairwise_distances_argmin

            return np.asarray(pairwise_distances_argmin(data, self.atoms_), dtype=np.int64)
        atoms = self.atoms_.astype(np.float32)
        return nearest_atoms(data.astype(np.float32), atoms, build_cells(atoms, self.exact))[0]


class ThresholdCode(Code):
    """Codes that are 1 at every atom whose cosine with the row reaches a threshold (f_gq of paper 4).

    Parameters
    ----------
    n_atoms : int, default=256
        Size of the dictionary; smaller if there are fewer different rows.
    threshold : float, default=0.3
        Smallest cosine of an active atom.
    dictionary : {"sample", "kmeans"}, default="sample"
        Rows themselves as in the paper, or centres of k-means on the sphere.
    random_state : int, RandomState or None, default=None
        Seed of the dictionary.

    Attributes
    ----------
    atoms_ : ndarray of shape (K, d)
        The dictionary, K atoms of unit length.
    n_features_in_ : int
        Numbers per row, d.

    See Also
    --------
    NearestCode : The nearest atom alone.
    LassoCode : Sparse coding.

    Examples
    --------
    >>> from pellucid.manifold import ThresholdCode
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> ThresholdCode(3, threshold=0.9, random_state=0).fit_transform(X).toarray()
    array([[1., 0., 0.],
           [1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Code._parameter_constraints,
        "threshold": [Interval(Real, -1, 1, closed="both")],
    }

    def __init__(
        self, n_atoms: int = 256, *, threshold: float = 0.3, dictionary: str = "sample", random_state: Any = None
    ) -> None:
        self.n_atoms = n_atoms
        self.threshold = threshold
        self.dictionary = dictionary
        self.random_state = random_state

    def transform(self, X: ArrayLike) -> Any:
        """Codes (n, K) of 0 and 1, 1 where the cosine reaches the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        csr_array of shape (n, K)
            The codes; a row may have none.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid.manifold import ThresholdCode
        >>> code = ThresholdCode(4, threshold=0.9).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> code.transform([[0.0, 5.0]]).toarray()
        array([[0., 0., 1., 1.]])
        """
        return in_blocks(self._rows(X), self._active).astype(np.float64)

    def _active(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        present = np.asarray(rows.any(axis=1))[:, None]
        return np.asarray((rows @ self.atoms_.T >= self.threshold) & present)


class LassoCode(Code):
    """Non-negative sparse coding: ½‖x − aB‖² + α‖a‖₁ over unit atoms.

    Parameters
    ----------
    n_atoms : int, default=256
        Size of the dictionary; smaller if there are fewer different rows.
    alpha : float, default=0.1
        Weight of the ℓ1 term; rows are taken at unit length.
    dictionary : {"kmeans", "sample"}, default="kmeans"
        Centres of k-means on the sphere, or rows themselves.
    random_state : int, RandomState or None, default=None
        Seed of the dictionary.

    Attributes
    ----------
    atoms_ : ndarray of shape (K, d)
        The dictionary, K atoms of unit length.
    n_features_in_ : int
        Numbers per row, d.

    See Also
    --------
    pellucid.solvers.lasso : The solver.
    NearestCode : The nearest atom alone.

    Examples
    --------
    >>> from pellucid.manifold import LassoCode
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> LassoCode(2, alpha=0.1, random_state=0).fit_transform(X).toarray().round(1)
    array([[0. , 0.9],
           [0. , 0.9],
           [0.9, 0. ],
           [0.9, 0. ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Code._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self, n_atoms: int = 256, *, alpha: float = 0.1, dictionary: str = "kmeans", random_state: Any = None
    ) -> None:
        self.n_atoms = n_atoms
        self.alpha = alpha
        self.dictionary = dictionary
        self.random_state = random_state

    def transform(self, X: ArrayLike) -> Any:
        """Sparse codes (n, K) of rows, by the non-negative lasso.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        csr_array of shape (n, K)
            The codes, non-negative.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid.manifold import LassoCode
        >>> code = LassoCode(2, random_state=0).fit([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> code.transform([[0.0, 5.0]]).toarray().round(1)
        array([[0.9, 0. ]])
        """
        return in_blocks(self._rows(X), lambda rows: lasso(rows, self.atoms_, float(self.alpha), positive=True).codes)
