"""The sparse manifold transform in general: any code, any neighbours, first or second differences (paper 4)."""

from __future__ import annotations

import os
from copy import copy, deepcopy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.checks import check_squares
from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows
from pellucid.manifold.codes import LassoCode, NearestCode, ThresholdCode
from pellucid.manifold.row_statistics import part_statistics
from pellucid.manifold.spectral import solve
from pellucid.manifold.statistics import Statistics, refuse_loaded
from pellucid.rows import Blocks, is_lazy
from pellucid.rows.fitting import Added, add_parts, checkpoint_of, first_state
from pellucid.rows.lazy import fitted_blocks, map_blocks

CODES = {"nearest", "threshold", "lasso"}
# rows of blocks that the dictionary is made from
DICTIONARY_ROWS = 65_536


class SparseManifoldTransform(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """A sparse code f, and the linear map P of codes under which neighbours are closest: x ↦ P f(x).

    ``fit`` does all at once. Where the data come in parts, ``partial_fit`` adds each part to the statistics (the first
    one makes the dictionary) and ``solve`` finishes.

    Parameters
    ----------
    n_components : int, default=32
        Dimensions of the embedding.
    code : {"nearest", "threshold", "lasso"} or transformer, default="nearest"
        The sparse code:

        - "nearest": one-hot, Euclidean;
        - "threshold": all atoms of a cosine above ``threshold``;
        - "lasso": sparse coding;
        - any transformer, of which a clone is fitted; its codes may be sparse or dense. With a quadratic expansion and
          temporal neighbours this is slow feature analysis. Only models with a named code can be saved.
    n_atoms : int, default=256
        Size of the dictionary of a named code.
    threshold : float, default=0.3
        Smallest cosine of an active atom, for the code "threshold".
    alpha : float, default=0.1
        Weight of the ℓ1 term, for the code "lasso".
    neighbors : {"metric", "temporal", "noise", "pairs"}, default="metric"
        Which rows are neighbours: the nearest by Euclidean distance, rows that follow each other, two copies of a row
        with Gaussian noise each, or pairs given to ``fit``.
    n_neighbors : int, default=10
        How many are near by metric, and how many noisy pairs are made of a row.
    noise : float, default=0.1
        Standard deviation of the noise.
    order : {1, 2}, default=1
        1, neighbours are to be close (Optimization 1), or 2, an item is to be close to what its neighbours predict
        (Optimization 2).
    interpolation : {"local", "mean"}, default="local"
        For order 2, weights that rebuild the row from its neighbours best, or equal ones (temporal or spatial
        interpolation).
    constraint : {"frequency", "degree"}, default="frequency"
        What has unit covariance: codes as they come, as in the paper, or each weighed by how many neighbours it has.
    skip : {"constant"} or int, default="constant"
        Leave out the constant function if codes can express it, or that many of the first dimensions.
    random_state : int, RandomState or None, default=None
        Seed of the dictionary and of the noise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, K)
        The map P; fewer rows if codes have fewer dimensions.
    eigenvalues_ : ndarray of shape (n_components,)
        What each dimension adds to the cost, smallest first.
    atoms_ : ndarray of shape (K, d)
        The dictionary, if the code has one.
    code_ : transformer
        The fitted code.
    statistics_ : Statistics
        What was added up (not saved).
    n_features_in_ : int
        Numbers per row, d.

    See Also
    --------
    PatchManifoldTransform : For images.
    WordManifoldTransform : For words.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import SparseManifoldTransform
    >>> X = np.linspace(0, 1, 40)[:, None]  # rows along a line
    >>> Z = SparseManifoldTransform(1, n_atoms=5, random_state=0).fit_transform(X)
    >>> steps = np.diff(Z[:, 0])
    >>> bool((steps >= 0).all() or (steps <= 0).all())  # they stay in order
    True
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "components_": Fitted("f", ("components", "atoms")),
        "eigenvalues_": Fitted("f", ("components",)),
        "atoms_": Fitted("f", ("atoms", "n_features_in_")),
        **NAMES_IN,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "code": [StrOptions(CODES), HasMethods(["fit", "transform"])],
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, -1, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "neighbors": [StrOptions({"metric", "temporal", "noise", "pairs"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="neither")],
        "order": [Interval(Integral, 1, 2, closed="both")],
        "interpolation": [StrOptions({"local", "mean"})],
        "constraint": [StrOptions({"frequency", "degree"})],
        "skip": [StrOptions({"constant"}), Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 32,
        *,
        code: Any = "nearest",
        n_atoms: int = 256,
        threshold: float = 0.3,
        alpha: float = 0.1,
        neighbors: str = "metric",
        n_neighbors: int = 10,
        noise: float = 0.1,
        order: int = 1,
        interpolation: str = "local",
        constraint: str = "frequency",
        skip: str | int = "constant",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.code = code
        self.n_atoms = n_atoms
        self.threshold = threshold
        self.alpha = alpha
        self.neighbors = neighbors
        self.n_neighbors = n_neighbors
        self.noise = noise
        self.order = order
        self.interpolation = interpolation
        self.constraint = constraint
        self.skip = skip
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @unchanged_by_failure
    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        pairs: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> SparseManifoldTransform:
        """Make the dictionary, add up the statistics of all rows, and solve.

        Blocks and a ``dask.array`` are never held as a whole: a sample makes the dictionary, neighbours are looked for
        within a block, and one pass adds up the statistics of all blocks.

        Parameters
        ----------
        X : array-like, dask.array or pellucid.rows.Blocks of shape (n, d)
            Rows, at least two.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.
        pairs : array-like of int of shape (m, 2) or None, default=None
            Row numbers of neighbours, for ``neighbors="pairs"``.
        groups : array-like of shape (n,) or None, default=None
            The sequence that each row belongs to, for ``neighbors="temporal"``; all rows are one if None.
        checkpoint : str, path or None, default=None
            A file that takes what was added up after each part, from which the same call goes on; an array is one part.

        Returns
        -------
        SparseManifoldTransform
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is not finite, a parameter is out of its range, ``pairs`` or ``groups`` do not fit the rows or the
            ``neighbors``, or no two rows are neighbours.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import SparseManifoldTransform
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> model = SparseManifoldTransform(2, n_atoms=5, neighbors="temporal", random_state=0)
        >>> model.fit(X, groups=np.repeat([0, 1], 20)).components_.shape
        (2, 5)
        """
        self._forget()
        return self._add(X, pairs, groups, checkpoint).solve()

    @unchanged_by_failure
    def partial_fit(
        self, X: ArrayLike, y: object = None, *, pairs: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> SparseManifoldTransform:
        """Add the statistics of rows, among which neighbours are looked for; ``solve`` finishes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, at least two. The first ones make the dictionary.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.
        pairs : array-like of int of shape (m, 2) or None, default=None
            Row numbers of neighbours, for ``neighbors="pairs"``.
        groups : array-like of shape (n,) or None, default=None
            The sequence that each row belongs to, for ``neighbors="temporal"``; all rows are one if None.

        Returns
        -------
        SparseManifoldTransform
            The model itself.

        Raises
        ------
        ValueError
            If X is not finite or of another width, or the model was loaded, so that it holds no statistics to add to.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import SparseManifoldTransform
        >>> X = np.random.default_rng(0).random((40, 2))
        >>> model = SparseManifoldTransform(2, n_atoms=5, random_state=0)
        >>> model.partial_fit(X[:20]).partial_fit(X[20:]).solve().transform(X).shape
        (40, 2)
        """
        return self._add(X, pairs, groups, None)

    def _add(
        self, X: Any, pairs: Any, groups: Any, checkpoint: str | os.PathLike[str] | None
    ) -> SparseManifoldTransform:
        self._validate_params()
        refuse_loaded(self, "components_")
        first = not hasattr(self, "code_")
        rows = self._source(X, first)
        if rows.array is None and (pairs is not None or groups is not None or self.neighbors == "pairs"):
            raise ValueError("Blocks find their neighbours themselves: pairs and groups need rows in memory.")
        if first or not hasattr(self, "_seed"):
            self._seed = check_random_state(self.random_state)
        facts = np.asarray(pairs), np.asarray(groups)
        kept = checkpoint_of(checkpoint, self, rows, (Added, Statistics), *facts, rng=self._seed)
        state = first_state(lambda: Added(getattr(self, "statistics_", None)), kept)
        if kept is not None:
            kept.rng = deepcopy(self._seed)  # a fit that goes on draws the same again
        if first:
            self.code_ = self._make_code().fit(self._sample(rows))
            if hasattr(self.code_, "atoms_"):
                self.atoms_ = self.code_.atoms_
        function = partial(part_statistics, copy(self), pairs, groups)
        self.statistics_ = add_parts(rows, function, state, kept=kept, given=self._seeds(rows))
        return self

    def _source(self, X: Any, first: bool) -> Blocks:
        if not is_lazy(X):
            rows = validate_data(self, as_rows(X), reset=first, dtype=[np.float64, np.float32], ensure_min_samples=2)
            check_squares(rows, "X")
            return Blocks.held(rows)
        return fitted_blocks(self, X)

    def _sample(self, rows: Blocks) -> NDArray[Any]:
        """What the dictionary is made from."""
        if rows.array is not None:
            return rows.array
        return rows.take(np.sort(self._seed.permutation(len(rows))[:DICTIONARY_ROWS]))

    def _seeds(self, rows: Blocks) -> list[Any]:
        """Where each part draws from: the only one from the model's own generator."""
        if rows.array is not None:
            return [self._seed]
        return [int(seed) for seed in self._seed.randint(2**31 - 1, size=len(rows.parts))]

    def solve(self) -> SparseManifoldTransform:
        """Find the map P for the statistics added up so far.

        Returns
        -------
        SparseManifoldTransform
            The model itself, fitted.

        Raises
        ------
        ValueError
            If no two rows were neighbours, or ``skip`` leaves out all dimensions.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import SparseManifoldTransform
        >>> X = np.random.default_rng(0).random((40, 2))
        >>> model = SparseManifoldTransform(2, n_atoms=5, random_state=0).partial_fit(X)
        >>> model.solve().eigenvalues_.shape
        (2,)
        """
        check_is_fitted(self, "statistics_")
        self.components_, self.eigenvalues_ = solve(self.statistics_, self.n_components, self.skip)
        return self

    def transform(self, X: Any) -> Any:
        """Embeddings (n, n_components) of rows.

        Parameters
        ----------
        X : array-like, dask.array or pellucid.rows.Blocks of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_components)
            P f(x) of each row x. A ``dask.array`` gives a ``dask.array``, Blocks give Blocks.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import SparseManifoldTransform
        >>> X = np.random.default_rng(0).random((40, 2))
        >>> SparseManifoldTransform(2, n_atoms=5, random_state=0).fit(X).transform(X[:3]).shape
        (3, 2)
        """
        check_is_fitted(self, "components_")
        if is_lazy(X):
            return map_blocks(copy(self).transform, X, len(self.components_), np.float64)
        data = validate_data(self, as_rows(X), reset=False, dtype=[np.float64, np.float32])
        check_squares(data, "X")
        return np.asarray(self._fitted_code().transform(data) @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _forget(self) -> None:
        for name in ("code_", "atoms_", "statistics_", "components_", "eigenvalues_"):
            if hasattr(self, name):
                delattr(self, name)

    def _make_code(self) -> Any:
        if not isinstance(self.code, str):
            return clone(self.code)
        if self.code == "nearest":
            return NearestCode(self.n_atoms, random_state=self._seed)
        if self.code == "threshold":
            return ThresholdCode(self.n_atoms, threshold=self.threshold, random_state=self._seed)
        return LassoCode(self.n_atoms, alpha=self.alpha, random_state=self._seed)

    def _fitted_code(self) -> Any:
        """The code; of a model that was loaded, made from its atoms."""
        if not hasattr(self, "code_"):
            self._seed = check_random_state(self.random_state)
            self.code_ = self._make_code()
            self.code_.atoms_, self.code_.n_features_in_ = self.atoms_, self.n_features_in_
        return self.code_
