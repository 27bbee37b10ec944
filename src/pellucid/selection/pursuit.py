"""Isometry pursuit (paper 5): the rows that are as orthonormal as possible.

The paper chooses columns of a wide matrix (D, P). Here, as everywhere, the items are rows: X is (P, D), its transpose.
Inside, where the paper's formulas stand, columns stay columns.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import Floats, Ints
from pellucid._core.checks import as_matrix, check_finite
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows
from pellucid.rows import Blocks, is_lazy
from pellucid.selection.blockwise import BlockColumns
from pellucid.selection.losses import BASIS_PURSUIT, ISOMETRY, column_lengths, log_symmetric_length
from pellucid.selection.search import Choice, Objective, best_choice, exhaustive, greedy, swap, time_limit
from pellucid.solvers.basis_pursuit import basis_pursuit
from pellucid.solvers.design import Columns

# normalised columns are at least exp of this as long as the longest: below, double precision would lose them
LOG_FLOOR = -11.0
# eigenvalues of the second moment below this share of the largest are zero
RANK = 1e-12
# weights that would overflow when brought to the paper's scale are cut at exp(600)
LARGEST_LOG = 600.0
# more subsets than anyone will wait for
UNLIMITED = 2**62
# losses of one round of exchanges over all rows, beyond which "auto" keeps to the candidates
LOOKED_AT = 100_000


class IsometryPursuit(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """Choose as many rows of X (P, D) as it has rank, so that they are as orthonormal as possible.

    Stage one normalises every row so that length 1 becomes the longest, and solves min ‖β‖₁,₂ : Wβ = I over the columns
    of W, which are the normalised rows, with a certificate. Every orthonormal choice that exists is among the rows that
    its solutions use. Stage two finds the best of those. Where X has rank below D, the space that its rows span takes
    the place of R^D.

    Parameters
    ----------
    power : float, default=1.0
        The c of the normalisation and of the loss; larger punishes lengths other than 1 more.
    penalty : float, default=0.0
        0 solves Wβ = I exactly; a number below 1 solves the multitask lasso instead, ‖I − Wβ‖²/2 + λ‖β‖₁,₂ with λ this
        share of the smallest for which β = 0 (for noisy rows: fewer are used).
    tol : float, default=1e-9
        Relative duality gap of stage one.
    second_stage : {"auto", "candidates", "exhaustive", "swap", "global"}, default="auto"
        How to search for the best choice:

        - "auto": as "global" where rows are few enough for it (k times their number at most 100 000), else as
          "candidates";
        - "candidates": the paper's second stage, the rows that stage one uses, by branch and bound, and where that
          takes too long by swaps;
        - "exhaustive": every subset of them;
        - "swap": only exchange rows;
        - "global": all rows, starting from what stage one and greedy search find, so it is never worse than either.
    second_stage_loss : {"isometry", "basis_pursuit"}, default="isometry"
        "isometry" (Eq. 6), or the ‖β‖₁,₂ of the chosen rows (section 6.4).
    max_subsets : int, default=10_000_000
        How many losses stage two may compute before it gives up the proof.
    max_seconds : float or None, default=5.0
        How long stage two may take before it ends with the best that it has, and with ``bound_`` for what is not
        proven. A fit that this stops may differ from the next one; None leaves it to ``max_subsets``.
    random_state : int, RandomState or None, default=None
        For the random starts of stage two where nothing is proven.

    Attributes
    ----------
    selected_ : ndarray of shape (k,)
        Numbers of the chosen rows, ascending.
    components_ : ndarray of shape (k, D)
        The chosen rows.
    loss_ : float
        Their loss.
    bound_ : float
        No choice of as many rows has a smaller loss, among the rows that stage two looked at.
    optimal_ : bool
        Whether that is the loss of the choice, so that none of those is better.
    candidates_ : ndarray of int
        Rows that some optimal solution of stage one uses, ascending.
    min_norm_support_ : ndarray of int
        Rows that the solution of least Frobenius norm uses (Eq. 22).
    support_coef_ : ndarray of shape (number of rows in ``min_norm_support_``, D)
        That solution on these rows.
    coef_ : csr_array of shape (P, D)
        That solution.
    weights_ : ndarray of shape (P,)
        Lengths of its rows.
    objective_ : ndarray
        ‖β‖₁,₂ (plus the lasso's term) after each Newton step, and at the end.
    duality_gap_ : float
        How much of it, at most, is above the optimum (relative).
    rank_ : int
        The rank k of the rows, and the number of those chosen.
    n_samples_seen_ : int
        The number P of rows to choose from.
    n_features_in_ : int
        The length D of a row.

    See Also
    --------
    greedy_isometry : A choice row by row; fast, not the best.
    brute_isometry : The best of all choices, for few rows.
    diversify : Any number of rows, relevant and unlike each other.

    Examples
    --------
    >>> from pellucid import IsometryPursuit
    >>> X = [[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> IsometryPursuit().fit(X).selected_
    array([1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "power": [Interval(Real, 0, None, closed="neither")],
        "penalty": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "second_stage": [StrOptions({"auto", "candidates", "exhaustive", "swap", "global"})],
        "second_stage_loss": [StrOptions({"isometry", "basis_pursuit"})],
        "max_subsets": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "selected_": Fitted("i", ("rank_",)),
        "components_": Fitted("f", ("rank_", "n_features_in_"), optional=True),  # files of 0.1.0.dev0 lack them
        "candidates_": Fitted("i", ("candidates",)),
        "min_norm_support_": Fitted("i", ("support",)),
        "support_coef_": Fitted("f", ("support", "n_features_in_")),
        "objective_": Fitted("f", ("steps",)),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {
        "n_features_in_": int,
        "n_samples_seen_": int,
        "rank_": int,
        "loss_": float,
        "bound_": float,
        "optimal_": bool,
        "duality_gap_": float,
    }

    _lacking_values: ClassVar[dict[str, Any]] = {"bound_": 0.0}  # which files of 0.1.0.dev0 lack

    def __init__(
        self,
        power: float = 1.0,
        *,
        penalty: float = 0.0,
        tol: float = 1e-9,
        second_stage: str = "auto",
        second_stage_loss: str = "isometry",
        max_subsets: int = 10_000_000,
        max_seconds: float | None = 5.0,
        random_state: Any = None,
    ) -> None:
        self.power = power
        self.penalty = penalty
        self.tol = tol
        self.second_stage = second_stage
        self.second_stage_loss = second_stage_loss
        self.max_subsets = max_subsets
        self.max_seconds = max_seconds
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> IsometryPursuit:
        """Choose among the rows of X.

        Parameters
        ----------
        X : array-like, dask.array or pellucid.rows.Blocks of shape (P, D)
            P candidates of D numbers each. The passes over blocks go through one at a time, and only rows that a
            solution may use are held.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        IsometryPursuit
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is not finite or has only zeros, the power makes every row infinitely far from length 1, or an
            "exhaustive" search would try more than ``max_subsets`` choices.

        Examples
        --------
        >>> from pellucid import IsometryPursuit
        >>> X = [[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
        >>> model = IsometryPursuit(second_stage="global").fit(X)
        >>> round(model.loss_, 6), model.optimal_
        (2.0, True)
        """
        self._validate_params()
        columns = self._columns(X)
        space = Normalised(columns, float(self.power))
        try:
            found = basis_pursuit(space.scaled, ridge=float(self.penalty), tol=float(self.tol))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"X has {self.n_samples_seen_} rows among which none can be preferred in this precision: give each "
                "different row once (numpy.unique(X, axis=0)), or set a penalty."
            ) from error
        used = found.weights > 0
        self.candidates_ = found.candidates
        self.min_norm_support_ = found.candidates[used]
        rows = found.weights[used, None] * (found.V @ space.take(self.min_norm_support_)).T  # β_p = η_p V w_p
        self.support_coef_ = space.enlarge * space.rotate_back(rows)
        self.objective_ = space.enlarge * found.objective
        self.duality_gap_ = float(found.duality_gap)
        choice, among = self._second_stage(space)
        self.selected_ = among[choice.columns]
        self.rank_ = len(self.selected_)
        self.components_ = np.ascontiguousarray(columns.take(self.selected_).T)
        shift = space.log_enlarge if self.second_stage_loss == "basis_pursuit" else 0.0
        with np.errstate(over="ignore"):
            self.loss_ = float(np.exp(choice.log_loss + shift))
            self.bound_ = self.loss_ if choice.proven else float(np.exp(choice.log_bound + shift))
        self.optimal_ = choice.proven
        if 1 < self.rank_ == self.n_samples_seen_ < self.n_features_in_:
            warnings.warn(
                f"X has {self.n_samples_seen_} rows of {self.n_features_in_} numbers, and all of them are chosen: "
                f"none depends on the others. Rows are chosen here: if yours are columns, pass X.T.",
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> Floats:
        """Coordinates (n, k) of rows in the k chosen ones: the C with least ‖X − C·B‖, B the chosen rows.

        As the chosen rows are nearly orthonormal, distances stay nearly what they were.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows of the same kind.

        Returns
        -------
        ndarray of shape (n, k)
            The coordinates.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> from pellucid import IsometryPursuit
        >>> model = IsometryPursuit().fit([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
        >>> model.transform([[3.0, 4.0]]).round(6)
        array([[3., 4.]])
        """
        check_is_fitted(self, "selected_")
        if not hasattr(self, "components_"):
            raise AttributeError("This model comes from a file without its chosen rows; fit it again to transform.")
        rows = validate_data(self, as_rows(X), dtype=np.float64, reset=False)
        scale = float(np.abs(self.components_).max()) or 1.0  # whose inverse may be more than a number can be
        return np.asarray((rows / scale) @ np.linalg.pinv(self.components_ / scale))

    @property
    def _n_features_out(self) -> int:
        return self.rank_

    def _columns(self, X: Any) -> Columns:
        if is_lazy(X):
            blocks = X if isinstance(X, Blocks) else Blocks(X)
            self.__dict__.pop("feature_names_in_", None)
            self.n_samples_seen_, self.n_features_in_ = blocks.shape
            return BlockColumns(blocks)
        half = getattr(X, "dtype", None) == np.float16
        rows = validate_data(self, as_rows(X), dtype=np.float32 if half else [np.float64, np.float32])
        self.n_samples_seen_ = len(rows)
        return Columns(rows.T)

    def _second_stage(self, space: Normalised) -> tuple[Choice, Ints]:
        """The choice, as positions in the columns that it was made from, and those columns."""
        kind = BASIS_PURSUIT if self.second_stage_loss == "basis_pursuit" else ISOMETRY
        among = space.objective(self.candidates_, kind)
        rng, begun = check_random_state(self.random_state), time.monotonic()
        if self.second_stage == "exhaustive":
            return exhaustive(among, self.max_subsets), self.candidates_
        every = self.second_stage == "global" or self._looks_at_all(space, among)
        # the candidates' best is where the search of all rows starts, so that half of the time is enough for it
        share = None if self.max_seconds is None else self.max_seconds / (2 if every else 1)
        with time_limit(share) as halt, time_limit(share and share / 2) as proof:
            among = replace(among, halt=halt)
            if self.second_stage == "swap":
                return swap(among, greedy(among).columns, self.max_subsets), self.candidates_
            choice = best_choice(among, self.max_subsets, rng, halt_proof=proof)
        if not every:
            return choice, self.candidates_
        left = None if self.max_seconds is None else self.max_seconds - (time.monotonic() - begun)
        start = np.searchsorted(space.nonzero, self.candidates_[choice.columns])
        with time_limit(left) as halt, time_limit(left and left / 2) as proof:
            everywhere = replace(space.objective(space.nonzero, kind, among.size), halt=halt)
            return best_choice(everywhere, self.max_subsets, rng, (start,), proof), space.nonzero

    def _looks_at_all(self, space: Normalised, among: Objective) -> bool:
        """Whether "auto" searches all rows, of which there are then few enough to be held."""
        return self.second_stage == "auto" and among.size * len(space.nonzero) <= LOOKED_AT

    @property
    def coef_(self) -> csr_array:
        """The solution β of stage one that has the least Frobenius norm.

        It is that of Eq. 22; there may be others as good.

        Returns
        -------
        csr_array of shape (P, D)
            A row for each row of the fit, zeros for those that it does not use.

        Examples
        --------
        >>> from pellucid import IsometryPursuit
        >>> model = IsometryPursuit().fit([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
        >>> model.coef_.shape, model.coef_.nnz
        ((4, 2), 4)
        """
        check_is_fitted(self, "support_coef_")
        count, dimension = self.support_coef_.shape
        pointers = np.zeros(self.n_samples_seen_ + 1, dtype=np.int64)
        pointers[self.min_norm_support_ + 1] = dimension
        np.cumsum(pointers, out=pointers)
        index = np.tile(np.arange(dimension), count)
        return csr_array((self.support_coef_.ravel(), index, pointers), shape=(self.n_samples_seen_, dimension))

    @property
    def weights_(self) -> Floats:
        """Lengths of the rows of ``coef_``: how much stage one uses each row.

        Returns
        -------
        ndarray of shape (P,)
            A length for each row of the fit.

        Examples
        --------
        >>> from pellucid import IsometryPursuit
        >>> model = IsometryPursuit().fit([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
        >>> model.weights_.round(6)
        array([0., 1., 1., 0.])
        """
        check_is_fitted(self, "support_coef_")
        weights = np.zeros(self.n_samples_seen_)
        weights[self.min_norm_support_] = np.linalg.norm(self.support_coef_, axis=1)
        return weights


class Normalised:
    """Columns x_p and the factors that normalise them, in coordinates of the space that they span.

    n(v) = v / (‖v‖ g(‖v‖)) (Eq. 14 with Eq. 18 the right way up), divided by the longest n(v), so that no length and
    no power over- or underflows; ``enlarge`` brings β back to the paper's scale. Columns that would be shorter than
    exp(LOG_FLOOR) of the longest keep that length: they are used only where nothing else points their way.
    """

    def __init__(self, columns: Columns, power: float) -> None:
        self.power = power
        lengths = columns.raw_lengths() if isinstance(columns, BlockColumns) else column_lengths(columns.X)
        if not lengths.any():
            raise ValueError("X has only zeros, so there is no row to choose.")
        logs = log_symmetric_length(lengths, power)
        self.log_enlarge = float(logs.min())
        if np.isinf(self.log_enlarge):
            raise ValueError(
                f"The power {power:g} makes every row infinitely far from length 1; scale X, or lower the power."
            )
        self.enlarge = float(np.exp(min(self.log_enlarge, LARGEST_LOG)))
        inverse = np.divide(1.0, lengths, out=lengths, where=lengths > 0)  # in place: these are as many as columns
        values, vectors = np.linalg.eigh(columns.scaled(inverse).moment())
        np.subtract(self.log_enlarge, logs, out=logs)
        self.scale = np.exp(np.maximum(logs, LOG_FLOOR, out=logs), out=logs)
        self.scale *= inverse
        kept = values > RANK * values[-1]
        self.rank = int(kept.sum())
        self.basis = None if kept.all() else vectors[:, kept]
        self.plain = columns if self.basis is None else columns.rotated(self.basis)
        self.scaled = self.plain.scaled(self.scale)

    @property
    def nonzero(self) -> Ints:
        return np.flatnonzero(self.scale)

    def take(self, index: Ints) -> Floats:
        return self.scaled.take(index)

    def rotate_back(self, rows: Floats) -> Floats:
        return rows if self.basis is None else rows @ self.basis.T

    def objective(self, index: Ints, kind: int, size: int | None = None) -> Objective:
        """The search for ``size`` of the columns ``index``, by default as many as their rank."""
        if size is None:
            values = np.linalg.eigvalsh(self.scaled.subset(index).moment())
            size = int((values > RANK * values[-1]).sum())
        chosen = (self.scaled if kind == BASIS_PURSUIT else self.plain).take(index)
        floor = 1.0 if kind == ISOMETRY else 1.0 / float(np.linalg.norm(chosen, axis=0).max())
        return Objective(np.ascontiguousarray(chosen.T), size, kind, self.power, floor)


def greedy_isometry(X: ArrayLike, power: float = 1.0) -> Ints:
    """Paper 5's GreedySearch: row after row, each time the one that keeps the isometry loss of all so far the smallest.

    Parameters
    ----------
    X : array-like of shape (P, D)
        P candidates of D numbers each.
    power : float, default=1.0
        The c of the loss; see :func:`pellucid.metrics.isometry_loss`.

    Returns
    -------
    ndarray of shape (rank of X,)
        Numbers of the chosen rows, in the order of choice.

    Raises
    ------
    ValueError
        If X is not finite or has only zeros, or ``power`` is not a positive number.

    See Also
    --------
    IsometryPursuit : A convex programme with a certificate, then the best of the rows it uses.
    brute_isometry : The best of all choices.

    Examples
    --------
    >>> from pellucid.selection import greedy_isometry
    >>> greedy_isometry([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    array([1, 2])
    """
    space = _space(X, power)
    return np.asarray(space.nonzero[greedy(space.objective(space.nonzero, ISOMETRY, space.rank)).columns])


def brute_isometry(X: ArrayLike, power: float = 1.0) -> Ints:
    """Paper 5's BruteSearch: the rows, as many as X has rank, with the smallest isometry loss of all choices.

    Found by branch and bound, so most choices are never looked at; the answer is the same.

    Parameters
    ----------
    X : array-like of shape (P, D)
        P candidates of D numbers each.
    power : float, default=1.0
        The c of the loss; see :func:`pellucid.metrics.isometry_loss`.

    Returns
    -------
    ndarray of shape (rank of X,)
        Numbers of the chosen rows, ascending.

    Raises
    ------
    ValueError
        If X is not finite or has only zeros, or ``power`` is not a positive number.

    See Also
    --------
    IsometryPursuit : For many rows, where this would take too long.

    Examples
    --------
    >>> from pellucid.selection import brute_isometry
    >>> brute_isometry([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    array([1, 2])
    """
    space = _space(X, power)
    objective = space.objective(space.nonzero, ISOMETRY, space.rank)
    return np.asarray(space.nonzero[best_choice(objective, UNLIMITED, np.random.RandomState(0)).columns])


def _space(X: ArrayLike, power: float) -> Normalised:
    data = as_matrix(as_rows(X), "X")
    check_finite(data, "X")
    if not isinstance(power, (int, float, np.number)) or not 0 < power < np.inf:
        raise ValueError(f"power must be a positive number, got {power!r}.")
    return Normalised(Columns(data.T), float(power))
