"""ConceptSubspaces: learn a positive cone per concept, split vectors into components, project onto one concept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from pellucid._core.checkpoint import Checkpoint
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid.concepts.editing import EditedConcepts
from pellucid.concepts.inspection import InspectedConcepts
from pellucid.concepts.labels import as_indicator, require_members
from pellucid.concepts.online import (
    ATOMS,
    COSINE_ROWS,
    TOL,
    OnlineSweeps,
    Streamed,
    atoms_that_hold,
    chosen_sparsity,
    taken_step,
)
from pellucid.concepts.predicting import as_groups
from pellucid.concepts.sweeps import Learned, Learner, Sweeps
from pellucid.rows import Blocks, as_blocks, is_lazy
from pellucid.rows.fitting import checkpoint_of, first_state, known_rows, run
from pellucid.rows.lazy import fitted_blocks


class ConceptSubspaces(EditedConcepts, InspectedConcepts, SavedMixin):
    """One positive cone per concept, learned so that rows are sums of components from the cones of their concepts.

    Rows are taken raw: fitting, taking apart and searching all prepare them in the same way.

    Parameters
    ----------
    n_atoms : int, float, "auto" or array-like of shape (S,), default="auto"
        Atoms per concept, or one number for each concept; a float below 1 takes as many as keep that share of each
        concept's energy. "auto" learns ten and keeps those that hold at least a twentieth of what their concept's codes
        hold; it is 10 for other updates than "online", and in :meth:`partial_fit`.
    center : bool, default=True
        Normalise rows, subtract the mean of the normalised training rows and normalise again (paper 1, section 4.1), in
        every method; False takes rows as they are.
    max_iter : int, default=10
        Sweeps over codes and atoms; 0 keeps the start (with ``init="svd"`` the S-SVD baseline).
    init : {"sample", "svd"}, default=None
        Start from rows of each concept that lie apart or from its singular vectors; None is "sample" for
        ``update="online"`` and "svd", as in the paper, for the others.
    update : {"online", "svd", "bcd", "power"}, default="online"
        How atoms are learned: from sums over batches of sparse codes, or by the paper's Algorithm 1 with its own step
        ("svd"), Eq. 14-15 ("bcd") or Eq. 19 ("power").
    sparsity : float, default=None
        What a coefficient costs while learning, α‖x‖ in ½‖x − aB‖² + α‖x‖·Σa; None is chosen from the rows for
        ``update="online"`` and 0, as in the paper, for the others.
    monotone : bool, default=False
        Skip atom updates that would raise the error (Eq. 13), so that ``objective_`` never rises; not for "online".
    batch_size : int, default=None
        Rows per mini-batch, reshuffled every sweep (of blocks: within each); None uses all rows at once, or for
        "online" so many that each concept has some.
    ridge : float, default=0.0
        Weight of ½‖a‖² on the codes.
    tol : float, default=None
        Stop when the error improves by less than this share, or (not for "online") no atom moves by more; None is 2e-3
        for "online" and 1e-4 for the others.
    presence : bool, default=True
        Also learn which concepts a row has, for :meth:`predict` and what builds on it.
    random_state : int, default=0
        Seed of whatever is drawn at random; the same seed gives the same bits, None other ones each time.
    verbose : int, default=0
        Show a bar while fitting if positive (on a terminal).

    Attributes
    ----------
    preparation_ : CenteredNormalizer or None
        What every method does to its rows first; None without ``center``.
    atoms_ : ndarray of shape (M, d)
        Unit atoms, concept after concept.
    groups_ : ndarray of shape (M,)
        Index of the concept of each atom.
    concept_names_ : ndarray of shape (S,)
        Names.
    label_names_ : ndarray of shape (S,)
        What the labels are called that the concepts were learned from; only where one was renamed since.
    objective_ : ndarray of shape (sweeps + 1,)
        Mean squared error per row, plus ridge term and twice the price of the codes: at the start and after each sweep.
        For "online" it is that of the first batch, and in each sweep that of every batch before it was learned from.
    usage_ : ndarray of shape (M,)
        Energy of each atom's codes in the rows that are remembered; for "online".
    sparsity_ : float
        The α that was used.
    n_iter_ : int
        Sweeps made.
    n_dead_ : int
        Atoms that no row used in the last sweep; each was given a new direction.
    n_features_in_ : int
        Columns of the training rows.
    presence_coef_ : ndarray of shape (S, d)
        Coefficients of the logistic regressions that tell which concepts a row has; with ``presence``, as all below.
    presence_intercept_ : ndarray of shape (S,)
        Their intercepts.
    presence_calibration_ : ndarray of shape (S, 2)
        Slope and intercept that make their logits hold on rows that were not learned from.
    presence_threshold_ : ndarray of shape (S,)
        Probabilities from which on :meth:`predict` says yes.
    presence_counts_ : ndarray of shape (S, 2, bins)
        Training rows without each concept, and with it, by cross-fitted logit.
    presence_weight_ : ndarray of shape (1,)
        What a probability counts for beside a cosine, in a search.

    See Also
    --------
    pellucid.search.ConceptSearch : Searches a collection by one concept of an item.
    pellucid.concepts.zero_shot_labels : Labels from words alone, where there are no others.

    Examples
    --------
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.datasets import load_scenes
    >>> scenes = load_scenes()
    >>> model = ConceptSubspaces(4, max_iter=1).fit(scenes.vectors, scenes.coarse, scenes.coarse_names)
    >>> model
    ConceptSubspaces(max_iter=1, n_atoms=4)
    >>> model.shares(scenes.vectors[:5]).shape
    (5, 12)
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "atoms_": Fitted("f", ("M", "n_features_in_")),
        "groups_": Fitted("i", ("M",)),
        "concept_names_": Fitted("U", ("S",)),
        "objective_": Fitted("f", ("T",)),
        "usage_": Fitted("f", ("M",), optional=True),
        "presence_coef_": Fitted("f", ("S", "n_features_in_"), optional=True),
        "presence_intercept_": Fitted("f", ("S",), optional=True),
        "presence_calibration_": Fitted("f", ("S", 2), optional=True),
        "presence_threshold_": Fitted("f", ("S",), optional=True),
        "presence_counts_": Fitted("i", ("S", 2, "bins"), optional=True),
        "presence_weight_": Fitted("f", (1,), optional=True),
        "label_names_": Fitted("U", ("S",), optional=True),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {
        "n_features_in_": int, "n_iter_": int, "n_dead_": int, "sparsity_": float,
    }  # fmt: skip
    _lacking_values: ClassVar[dict[str, Any]] = {"sparsity_": 0.0}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_atoms": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            list,
            tuple,
            np.ndarray,
        ],
        "center": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "init": [StrOptions({"svd", "sample"}), None],
        "update": [StrOptions({"online", "svd", "bcd", "power"})],
        "sparsity": [Interval(Real, 0, None, closed="left"), None],
        "monotone": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "presence": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_atoms: int | Sequence[int] | float | str = "auto",
        *,
        center: bool = True,
        max_iter: int = 10,
        init: str | None = None,
        update: str = "online",
        sparsity: float | None = None,
        monotone: bool = False,
        batch_size: int | None = None,
        ridge: float = 0.0,
        tol: float | None = None,
        presence: bool = True,
        random_state: int | None = 0,
        verbose: int = 0,
    ) -> None:
        self.n_atoms = n_atoms
        self.center = center
        self.max_iter = max_iter
        self.init = init
        self.update = update
        self.sparsity = sparsity
        self.monotone = monotone
        self.batch_size = batch_size
        self.ridge = ridge
        self.tol = tol
        self.presence = presence
        self.random_state = random_state
        self.verbose = verbose

    # learning

    def fit(
        self,
        X: Any,
        y: Any,
        concept_names: Sequence[str] | None = None,
        *,
        validation: tuple[ArrayLike, Any] | None = None,
        groups: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> ConceptSubspaces:
        """Learn the cones from rows and their concepts.

        Blocks are gone through one by one, and never held as a whole. ``update="bcd"`` takes one pass a sweep, on all
        workers; other updates, or a ``batch_size``, go through mini-batches one after the other.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe, list of sets, or Blocks
            The concepts of each row: an indicator of 0 and 1, class labels, a dataframe whose columns are the names, or
            sets of names. Of blocks of rows also an indicator in blocks.
        concept_names : list of str, default=None
            Names of the columns of an indicator; numbers if None.
        validation : tuple of (X, y), default=None
            More rows: learning stops when the error on them rises, and keeps the atoms from before.
        groups : array-like of shape (n,), default=None
            Which rows come from the same source, such as parts of a text or captions of an image: they are then never
            on both sides of a fold, so that presence is not too sure of new sources.
        checkpoint : str or path, default=None
            File that is written after every sweep. The same call finds it there, goes on from it after a crash, and
            ends with the same bits.

        Returns
        -------
        ConceptSubspaces
            The fitted model itself.

        Raises
        ------
        ValueError
            If the labels do not fit the rows, or a concept has no row.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], [{"cat"}, {"cat"}, {"dog"}, {"dog"}]
        >>> ConceptSubspaces(1).fit(X, y).concept_names_.tolist()
        ['cat', 'dog']
        """
        rows = self._start(X, y, concept_names)
        self.__dict__.pop("label_names_", None)
        together, rng = as_groups(groups, len(rows)), check_random_state(self.random_state)
        if validation is not None:
            rows.validation = self._labelled(*validation)
        kept = self._checkpoint(checkpoint, rows, rng)
        state, stopped = run(
            first_state(lambda: rows.begin(self._sizes(rows), self._init, rng), kept),
            lambda state: rows.sweep(state, rng),
            lambda state: state.done or len(state.history) > self.max_iter,
            kept=kept,
            bar=("learning concepts", self.max_iter, self.verbose),
            say=lambda state: f"error {state.history[-1]:.4g}",
            stopped=lambda state: f"Stopped after {sweeps(len(state.history) - 1)}; what was learned is usable.",
        )
        self.atoms_, self.groups_, self.n_dead_ = state.atoms, state.groups, state.reseeded
        if isinstance(state, Streamed):
            self.usage_ = np.asarray(state.grams.diagonal())
            if isinstance(self.n_atoms, str):
                kept_atoms = atoms_that_hold(self.usage_, self.groups_)
                self.atoms_, self.groups_, self.usage_ = (
                    part[kept_atoms] for part in (self.atoms_, self.groups_, self.usage_)
                )
        self.objective_ = np.array(state.history)
        self.n_iter_ = len(state.history) - 1
        if self.presence and not stopped:
            self._learn_presence(rows.X, rows.Y, together)
        return self

    def _learner(self, atoms: NDArray[Any], groups: NDArray[np.int64]) -> Learner:
        return Learner(atoms, groups, self.update, self.monotone, float(self.ridge), self.sparsity_)

    @property
    def _init(self) -> str:
        return self.init or ("sample" if self.update == "online" else "svd")

    def _checkpoint(
        self, path: str | os.PathLike[str] | None, rows: Sweeps, rng: np.random.RandomState
    ) -> Checkpoint | None:
        """Where states are kept, if anywhere; how far to go is no part of what it must agree with."""
        if path is None:
            return None
        labels = known_rows(rows.Y if isinstance(rows.Y, Blocks) else Blocks.held(rows.Y))
        facts = list(self.concept_names_), labels, rows.members, rows.validation
        return checkpoint_of(path, self, rows.X, (Learned, Streamed), *facts, silent=("max_iter", "verbose"), rng=rng)

    def partial_fit(self, X: ArrayLike, y: Any, concept_names: Sequence[str] | None = None) -> ConceptSubspaces:
        """Learn from one more batch: codes of these rows, then every atom that is active on them.

        The first call starts the atoms from its rows and takes their mean, so give it some of every concept. With
        ``update="online"`` atoms remember what they were learned from, also after a model was loaded; else it is one
        mini-batch step of Algorithm 1.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            The concepts of each row; see :meth:`fit`.
        concept_names : list of str, default=None
            Names of the columns of an indicator, for the first call.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If rows come in blocks, or have concepts that the first call did not have.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> ConceptSubspaces(1).partial_fit(X, y).partial_fit(X[:2], y[:2]).n_iter_
        2
        """
        if not hasattr(self, "atoms_"):
            rows = self._start(X, y, concept_names)
            if rows.X.array is None:
                raise ValueError("partial_fit takes rows in memory; fit goes through blocks by itself.")
            data, indicator = rows.X.array, rows.Y
            rng = check_random_state(self.random_state)
            self.atoms_, self.groups_ = rows.initial(self._sizes(rows), self._init, rng)
            self.usage_ = np.zeros(len(self.atoms_))
            self.objective_, self.n_iter_, self.n_dead_ = np.empty(0), 0, 0
        else:
            data, indicator = self._labelled(X, y)
        self._forget_presence()
        learner = self._learner(self.atoms_, self.groups_)
        if self.update == "online":
            self.usage_, found = taken_step(learner, data, indicator, self.usage_, self.n_iter_)
            error = found.error + found.price + learner.ridge * float(found.grams.diagonal().sum())
        else:
            sweep = learner.step(data, indicator, learner.codes(data, indicator), reseed=False)
            error = sweep.squared_error + sweep.penalty
        self.n_iter_ += 1
        self.objective_ = np.append(self.objective_, error / len(data))
        return self

    def _start(self, X: Any, y: Any, concept_names: Sequence[str] | None) -> Sweeps:
        self._validate_params()
        if y is None:
            raise ValueError("ConceptSubspaces requires y to be passed, but the target y is None.")
        lazy = is_lazy(X)
        data: Any = fitted_blocks(self, X) if lazy else self._rows(X, reset=True)
        data = self._learn_preparation(data, in_batches=self.batch_size is not None or self.update == "online")
        indicator: Any
        if is_lazy(y):
            if not lazy:
                raise ValueError("y is in blocks, but X is not: give X as blocks too, or y as an array.")
            indicator = as_blocks(y)
            names = [f"concept {j}" for j in range(indicator.shape[1])] if concept_names is None else concept_names
            names = as_indicator(np.zeros((1, indicator.shape[1])), names)[1]
        else:
            indicator, names = as_indicator(y, concept_names)
        if len(indicator) != len(data):
            raise ValueError(f"X has {len(data)} rows, but y has {len(indicator)}.")
        source = data if isinstance(data, Blocks) else Blocks.held(data)
        self.sparsity_ = self._sparsity(source)
        kind, tol = (OnlineSweeps, TOL) if self.update == "online" else (Sweeps, 1e-4)
        tol = tol if self.tol is None else float(self.tol)
        rows = kind(source, indicator, self._learner, self.batch_size, self.update == "bcd", tol)
        require_members(rows.members, names)
        self.concept_names_ = np.array(names, dtype=object)
        self._forget_presence()
        return rows

    def _sparsity(self, rows: Blocks) -> float:
        if self.sparsity is not None or self.update != "online":
            return float(self.sparsity or 0.0)
        return chosen_sparsity(rows.take(np.unique(np.linspace(0, len(rows) - 1, COSINE_ROWS).astype(np.int64))))

    def _sizes(self, rows: Sweeps) -> list[int] | float:
        given, n_concepts = self.n_atoms, len(rows.members)
        if isinstance(given, str):
            return [ATOMS] * n_concepts
        if isinstance(given, (float, np.floating)):
            return float(given)
        sizes: list[Any] = [given] * n_concepts if np.ndim(given) == 0 else list(given)
        if len(sizes) != n_concepts or any(int(size) != size or size < 1 for size in sizes):
            raise ValueError(f"n_atoms must be a positive whole number, or one for each of {n_concepts} concepts.")
        return [int(size) for size in sizes]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def sweeps(count: int) -> str:
    return "1 sweep" if count == 1 else f"{count} sweeps"
