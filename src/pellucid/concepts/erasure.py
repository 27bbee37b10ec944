"""Least-squares concept erasure (LEACE): the smallest affine change after which no linear predictor knows a concept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.interrupts import unchanged_by_failure
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.certificate import ErasureCertificate, judged, mean_certificate
from pellucid.concepts.moments import Moments, moments_of, targets_spread
from pellucid.concepts.targets import MANY_CLASSES, as_numbers, as_targets, later_targets, plain_numbers
from pellucid.rows import Blocks, as_blocks, is_lazy
from pellucid.rows.lazy import map_blocks
from pellucid.solvers.erasing import NO_SPREAD, eraser, live, oracle_shrinkage

# numbers of a block that transform works on at a time, in float64
BLOCK_NUMBERS = 1 << 22


class ConceptErasure(SavedMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Change rows as little as possible, so that no linear predictor can tell a concept from them any more.

    The closed form of least-squares concept erasure (LEACE; Belrose et al. 2023): x − Σ^½ P Σ^−½ (x − μ), where P
    projects onto the columns of Σ^−½ Σ_xz. Among all affine maps that leave no cross-covariance with the concepts it
    changes the rows of the fit least. On these rows no linear predictor does better after it than a constant. On other
    rows that holds as far as the rows of the fit tell where the concept lies: :meth:`certify` measures it.

    Rows are taken as they are. Sums are of float64, and add up over blocks.

    Parameters
    ----------
    shrinkage : "auto" or float, default="auto"
        How far the covariance is drawn towards that of a ball before it is inverted, from 0 to 1. "auto" is the oracle
        approximating rule (Chen et al. 2010), which looks at no label: less is then changed in rows that were not seen,
        where there are few rows. With 0 the change of the fitted rows is least. What is erased does not depend on it.
    target : {"auto", "labels", "numbers"}, default="auto"
        What y holds: labels, of which each is a concept, or numbers, of which a column is a quantity. "auto" takes
        numbers between whole numbers, and a matrix of other numbers than 0 and 1, for quantities.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the rows, which stays as it is.
    left_ : ndarray of shape (d, r)
        With ``right_`` what is taken from a row: ``left_ @ right_ @ (x - mean_)``.
    right_ : ndarray of shape (r, d)
        What is measured of a row.
    covariance_ : ndarray of shape (d, d)
        Covariance of the rows before erasure.
    cross_covariance_before_ : ndarray of shape (d, S)
        Of the rows and the concepts, before erasure.
    cross_covariance_ : ndarray of shape (d, S)
        The same after erasure: zero but for round-off.
    targets_mean_ : ndarray of shape (S,)
        Mean of each concept.
    targets_variance_ : ndarray of shape (S,)
        Variance of each concept.
    concept_names_ : ndarray of shape (S,)
        Names of the concepts.
    target_ : str
        What y was taken for: "labels" or "numbers".
    residual_ : float
        Norm of the cross-covariance after erasure, as a share of that before.
    squared_change_ : float
        Mean squared change of a row.
    relative_change_ : float
        The same as a share of the rows' variance.
    shrinkage_ : float
        The shrinkage that was used.
    rank_ : int
        Dimensions in which the rows vary.
    n_samples_seen_ : int
        Rows that were fitted to.
    n_features_in_ : int
        Numbers in a row, d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where X had names.

    See Also
    --------
    pellucid.concepts.ConceptSubspaces.remove : Takes the part out that a cone explains, which is not erasure.
    pellucid.search.ConceptSearch : Finds what is like an item without a concept, which erasure does less well.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import ConceptErasure
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [4.0, 1.0], [5.0, 3.0]])
    >>> eraser = ConceptErasure(shrinkage=0).fit(X, ["a", "a", "b", "b"])
    >>> eraser.transform(X).round(6).tolist()
    [[2.0, 1.0], [3.0, 3.0], [2.0, 1.0], [3.0, 3.0]]
    >>> eraser.residual_ < 1e-12
    True
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "mean_": Fitted("f", ("n_features_in_",)),
        "left_": Fitted("f", ("n_features_in_", "directions")),
        "right_": Fitted("f", ("directions", "n_features_in_")),
        "covariance_": Fitted("f", ("n_features_in_", "n_features_in_")),
        "cross_covariance_before_": Fitted("f", ("n_features_in_", "concepts")),
        "cross_covariance_": Fitted("f", ("n_features_in_", "concepts")),
        "targets_mean_": Fitted("f", ("concepts",)),
        "targets_variance_": Fitted("f", ("concepts",)),
        "concept_names_": Fitted("U", ("concepts",)),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {
        "n_features_in_": int,
        "n_samples_seen_": int,
        "rank_": int,
        "shrinkage_": float,
        "residual_": float,
        "squared_change_": float,
        "relative_change_": float,
        "target_": str,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "target": [StrOptions({"auto", "labels", "numbers"})],
    }

    def __init__(self, *, shrinkage: str | float = "auto", target: str = "auto") -> None:
        self.shrinkage = shrinkage
        self.target = target

    # learning

    @unchanged_by_failure
    def fit(self, X: Any, y: Any, concept_names: Sequence[str] | None = None) -> ConceptErasure:
        """Learn what to take out of rows.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask.array
            Rows as they are; blocks are gone through once.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe, list of sets, or Blocks
            The concepts of each row: class labels, an indicator of 0 and 1, sets of names, or quantities.
        concept_names : list of str, default=None
            Names of the columns of y; numbers if None.

        Returns
        -------
        ConceptErasure
            Itself, fitted.

        Raises
        ------
        ValueError
            If y has a gap or does not fit the rows, or numbers are too large to be squared.

        Warns
        -----
        UserWarning
            If there is nothing to erase: one row, rows that are all alike, a concept that is the same in all rows; if
            nothing is left; or if y looks like a quantity and was taken for classes.

        Examples
        --------
        >>> from pellucid import ConceptErasure
        >>> eraser = ConceptErasure().fit([[0.0, 1.0], [1.0, 3.0], [4.0, 1.0], [5.0, 3.0]], [0, 0, 1, 1], ["late"])
        >>> eraser.concept_names_.tolist(), eraser.left_.shape
        (['late'], (2, 1))
        """
        self._forget()
        self._take_in(X, y, concept_names)
        self._say_what_is_odd()
        return self

    @unchanged_by_failure
    def partial_fit(self, X: ArrayLike, y: Any, concept_names: Sequence[str] | None = None) -> ConceptErasure:
        """Take more rows in; the result is that of one fit to all.

        Each call solves an eigenproblem of size d, so give it thousands of rows at a time, or ``fit`` blocks.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows as they are.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            The concepts of each row; see :meth:`fit`.
        concept_names : list of str, default=None
            Names of all classes or columns, for the first call.

        Returns
        -------
        ConceptErasure
            Itself, fitted.

        Raises
        ------
        ValueError
            If y has concepts that the first call did not have.

        Examples
        --------
        >>> from pellucid import ConceptErasure
        >>> eraser = ConceptErasure().partial_fit([[0.0, 1.0], [4.0, 1.0]], [0, 1])
        >>> eraser.partial_fit([[1.0, 3.0], [5.0, 3.0]], [0, 1]).n_samples_seen_
        4
        """
        self._take_in(X, y, concept_names)
        return self

    def _take_in(self, X: Any, y: Any, concept_names: Sequence[str] | None) -> None:
        self._validate_params()
        if y is None:
            raise ValueError("ConceptErasure requires y to be passed, but the target y is None.")
        first = not hasattr(self, "mean_")
        before = None if first else self._moments()
        if is_lazy(X):
            source = as_blocks(X)
            self._check_width(source.shape[1], first)
        else:
            rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=first)
            source = Blocks(rows)
        targets = self._targets(y, concept_names, first)
        if len(targets) != len(source):
            raise ValueError(f"X has {len(source)} rows, but y has {len(targets)}.")
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            found: Moments = source.beside(targets).total(moments_of)
        if before is not None:
            before += found
            found = before
        self._learn(found)

    def _check_width(self, width: int, first: bool) -> None:
        if first:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = width
        elif width != self.n_features_in_:
            raise ValueError(f"X has {width} columns, but the eraser was fitted on {self.n_features_in_}.")

    def _targets(self, y: Any, names: Sequence[str] | None, first: bool) -> Any:
        if is_lazy(y):
            blocks = as_blocks(y)
            if first:
                _, known, _ = as_targets(np.zeros((1, blocks.shape[1])), names)
                kind = "numbers" if self.target == "auto" else self.target
                self.concept_names_, self.target_ = np.array(known, dtype=object), kind
            return blocks.map(as_numbers, blocks.shape[1], np.float64)
        if not first:
            return later_targets(y, list(self.concept_names_), self.target_)
        targets, known, self.target_ = as_targets(y, names, self.target)
        self.concept_names_ = np.array(known, dtype=object)
        if self.target == "auto" and self.target_ == "labels" and targets.shape[1] > MANY_CLASSES:
            array = plain_numbers(y)
            if array is not None and array.ndim == 1:
                warnings.warn(
                    f"y has {targets.shape[1]} different whole numbers, each taken for a class of its own; with "
                    f"target='numbers' they are one quantity.",
                    stacklevel=5,
                )
        return targets

    def _forget(self) -> None:
        for name in [*self._fitted_arrays, *self._fitted_values]:
            self.__dict__.pop(name, None)

    def _moments(self) -> Moments:
        """The sums that the fitted attributes are of."""
        n = self.n_samples_seen_
        scatters = n * self.covariance_, n * self.cross_covariance_before_, n * self.targets_variance_
        return Moments(n, self.mean_.copy(), self.targets_mean_.copy(), *scatters)

    def _learn(self, sums: Moments) -> None:
        n = sums.count
        covariance, cross = sums.scatter / n, sums.cross / n
        if not (np.isfinite(covariance).all() and np.isfinite(cross).all()):
            raise ValueError("X has numbers too large to be squared: divide all rows by one number first.")
        with one_blas_thread():  # the number of threads changes no bit
            spread = targets_spread(sums)
            self.shrinkage_ = 0.0 if self.shrinkage != "auto" else oracle_shrinkage(covariance, n)
            if self.shrinkage != "auto":
                self.shrinkage_ = float(self.shrinkage)
            noise = np.finfo(np.float64).eps * np.linalg.norm(sums.mean)
            found, self.rank_ = eraser(covariance, cross, spread, self.shrinkage_, noise)
            after = cross - found.left @ (found.right @ cross)
            inside = found.right @ covariance @ found.right.T
            self.squared_change_ = max(float(np.sum(found.left.T @ found.left * inside)), 0.0)
        variance, size = float(np.trace(covariance)), float(np.linalg.norm(cross / live(spread)))
        self.relative_change_ = self.squared_change_ / variance if variance > 0 else 0.0
        self.residual_ = float(np.linalg.norm(after / live(spread))) / size if size > 0 else 0.0
        self.left_, self.right_ = found
        self.n_samples_seen_, self.mean_, self.covariance_ = n, sums.mean, covariance
        self.cross_covariance_before_, self.cross_covariance_ = cross, after
        self.targets_mean_, self.targets_variance_ = sums.targets_mean, sums.targets_scatter / n

    def _say_what_is_odd(self) -> None:
        if self.n_samples_seen_ == 1:
            said = "One row has no covariance, so nothing is erased: give more rows."
        elif self.rank_ == 0:
            said = "All rows are alike, so nothing is erased."
        elif not self.left_.shape[1]:
            said = "No concept is correlated with the rows, so nothing is erased."
            constant = self._constant()
            if len(constant) == len(self.concept_names_):
                said = f"The concept {constant[0]!r} is the same in all rows, so nothing is erased."
        elif self.left_.shape[1] >= self.rank_:
            said = (
                f"The concepts take up all {self.rank_} dimensions in which the rows vary, so nothing but the mean is "
                "left: erase fewer, or give more rows."
            )
        elif self._constant():
            said = f"The concept {self._constant()[0]!r} is the same in all rows: there is nothing of it to erase."
        else:
            return
        warnings.warn(said, stacklevel=4)

    def _constant(self) -> list[str]:
        spread = np.sqrt(self.targets_variance_)
        return [str(name) for name in self.concept_names_[spread <= NO_SPREAD * np.abs(self.targets_mean_)]]

    # at work

    def transform(self, X: Any) -> Any:
        """Rows (n, d) without what tells the concepts, each changed as little as can be.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask.array
            Rows as they are.

        Returns
        -------
        ndarray of shape (n, d), Blocks or dask.array
            The rows without the concepts, in the precision of X; as X is.

        Examples
        --------
        >>> from pellucid import ConceptErasure
        >>> eraser = ConceptErasure().fit([[0.0, 1.0], [1.0, 3.0], [4.0, 1.0], [5.0, 3.0]], [0, 0, 1, 1])
        >>> eraser.transform([[0.0, 2.0], [9.0, 2.0]]).round(6).tolist()
        [[2.5, 2.0], [2.5, 2.0]]
        """
        check_is_fitted(self, "mean_")
        if is_lazy(X):
            self._check_width(X.shape[1], first=False)
            return map_blocks(copy(self)._erased, X, self.n_features_in_)
        return self._erased(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _erased(self, X: NDArray[Any]) -> NDArray[Any]:
        out = np.empty(X.shape, dtype=X.dtype)
        size = max(1, BLOCK_NUMBERS // X.shape[1])
        for start in range(0, len(X), size):
            rows = X[start : start + size].astype(np.float64)
            out[start : start + size] = rows - ((rows - self.mean_) @ self.right_.T) @ self.left_.T
        return out

    def certify(
        self, X: ArrayLike, y: Any, *, refit: bool = False, n_splits: int = 5, random_state: int | None = 0
    ) -> ErasureCertificate:
        """Measure on rows that the eraser was not fitted to what linear probes still tell.

        The probes are trained on some of these rows and asked on others, so that they may find what the eraser could
        not know of. They are ridge regressions, their penalty chosen for each concept by leaving rows out.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows as they are, other ones than in ``fit``; or with ``refit`` rows of the fit.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            Their concepts; see :meth:`fit`.
        refit : bool, default=False
            Fit an eraser like this one to each half of the rows, and measure on the other half.
        n_splits : int, default=5
            Folds into which the rows are cut: the probes are trained on all but one.
        random_state : int or None, default=0
            Draws the folds.

        Returns
        -------
        ErasureCertificate
            Areas under the curve before and after, and how much was changed.

        Raises
        ------
        ValueError
            If there are too few rows to train on some and ask on others.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import ConceptErasure
        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(600) < 0.5
        >>> X = rng.normal(size=(600, 4)) + 2 * y[:, None]
        >>> found = ConceptErasure().fit(X[:300], y[:300]).certify(X[300:], y[300:])
        >>> found.before.round(2).tolist(), bool(abs(found.after[0] - 0.5) < 3 * found.chance[0])
        ([1.0], True)
        """
        check_is_fitted(self, "mean_")
        if n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {n_splits}.")
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        Z = later_targets(y, list(self.concept_names_), self.target_)
        if len(Z) != len(rows):
            raise ValueError(f"X has {len(rows)} rows, but y has {len(Z)}.")
        if len(rows) < (8 if refit else 4):
            raise ValueError(f"A certificate needs at least {8 if refit else 4} rows, but X has {len(rows)}.")
        rng = check_random_state(random_state)
        if not refit:
            return judged(self, rows, Z, n_splits, rng)
        halves = np.array_split(rng.permutation(len(rows)), 2)
        found = []
        for mine, other in (halves, halves[::-1]):
            half = clone(self)
            half.n_features_in_, half.target_, half.concept_names_ = rows.shape[1], self.target_, self.concept_names_
            half._learn(Blocks(rows[mine]).beside(Z[mine]).total(moments_of))
            found.append(judged(half, rows[other], Z[other], n_splits, rng))
        return mean_certificate(found)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
