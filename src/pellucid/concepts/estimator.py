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
from sklearn.utils.validation import check_is_fitted

from pellucid._core.checkpoint import Checkpoint
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid.concepts.base import ConceptModel
from pellucid.concepts.cones import Names
from pellucid.concepts.labels import Indicator, align, as_indicator, require_members
from pellucid.concepts.model_selection import AtomCounts, select_n_atoms
from pellucid.concepts.presence import Gates, gate_features, learn_gates
from pellucid.concepts.stability import Stability, stability
from pellucid.concepts.sweeps import Learned, Learner, Sweeps
from pellucid.rows import Blocks, as_blocks, is_lazy
from pellucid.rows.fitting import checkpoint_of, first_state, known_rows, run


class ConceptSubspaces(ConceptModel, SavedMixin):
    """One positive cone per concept, learned so that rows are sums of components from the cones of their concepts.

    Rows are taken raw: fitting, taking apart and searching all prepare them in the same way.

    Parameters
    ----------
    n_atoms : int, atoms per concept; a list, one number per concept; or a float below 1, as many as keep that share
        of each concept's energy
    center : bool, normalise rows, subtract the mean of the normalised training rows and normalise again (paper 1,
        section 4.1), in every method; False takes rows as they are
    max_iter : int, sweeps over codes and atoms; 0 keeps the start (with ``init="svd"`` the S-SVD baseline)
    init : "svd" or "sample", start from each concept's singular vectors or from random rows
    update : "svd" (the paper's), "bcd" (its Eq. 14-15) or "power" (Eq. 19), how an atom is improved
    monotone : bool, skip atom updates that would raise the error (Eq. 13), so that ``objective_`` never rises
    batch_size : int or None, rows per mini-batch, reshuffled every sweep (of blocks: within each); None uses all rows
        at once
    ridge : float, weight of ½‖a‖² on the codes
    tol : float, stop when the error improves by less than this share, or no atom moves by more
    random_state : int or None
    verbose : int, show a bar while fitting if positive (on a terminal)

    Attributes
    ----------
    preparation_ : fitted ``CenteredNormalizer`` that every method applies to its rows, or None without ``center``
    atoms_ : (M, d) unit atoms, concept after concept
    groups_ : (M,) index of the concept of each atom
    concept_names_ : (S,) names
    objective_ : (sweeps + 1,) mean squared error per row (plus ridge term): at the start and after each sweep
    n_iter_ : int, sweeps made
    n_dead_ : int, atoms that no row used in the last sweep; each was given a new direction
    gate_coef_, gate_intercept_, gate_weights_ : what :meth:`fit_gate` learned, if it was called
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "atoms_": Fitted("f", ("M", "n_features_in_")),
        "groups_": Fitted("i", ("M",)),
        "concept_names_": Fitted("U", ("S",)),
        "objective_": Fitted("f", ("T",)),
        "gate_coef_": Fitted("f", ("S", "gate_features"), optional=True),
        "gate_intercept_": Fitted("f", ("S",), optional=True),
        "gate_weights_": Fitted("f", (2,), optional=True),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int, "n_iter_": int, "n_dead_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_atoms": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            list,
            tuple,
            np.ndarray,
        ],
        "center": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "init": [StrOptions({"svd", "sample"})],
        "update": [StrOptions({"svd", "bcd", "power"})],
        "monotone": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_atoms: int | Sequence[int] | float = 8,
        *,
        center: bool = True,
        max_iter: int = 10,
        init: str = "svd",
        update: str = "svd",
        monotone: bool = False,
        batch_size: int | None = None,
        ridge: float = 0.0,
        tol: float = 1e-4,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_atoms = n_atoms
        self.center = center
        self.max_iter = max_iter
        self.init = init
        self.update = update
        self.monotone = monotone
        self.batch_size = batch_size
        self.ridge = ridge
        self.tol = tol
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
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> ConceptSubspaces:
        """Learn the cones from rows X (n, d) and their concepts y.

        y is an indicator array (n, S), class labels (n,), a sparse matrix, a dataframe whose columns are the names, or
        a list of sets of names. With ``validation=(X, y)`` learning stops when the error on those rows rises, and
        keeps the atoms from before.

        X may be :class:`pellucid.rows.Blocks` or a ``dask.array``, and y, as an indicator, too: the rows are then
        gone through block by block, and never held as a whole. ``update="bcd"`` takes one pass a sweep, on all workers;
        other updates, or a ``batch_size``, go through mini-batches one after the other.

        ``checkpoint`` names a file that is written after every sweep. The same call finds it there, goes on from it
        after a crash, and ends with the same bits.
        """
        rows = self._start(X, y, concept_names)
        rng = check_random_state(self.random_state)
        if validation is not None:
            rows.validation = self._labelled(*validation)
        kept = self._checkpoint(checkpoint, rows, rng)
        state, _ = run(
            first_state(lambda: rows.begin(self._sizes(len(rows.members)), self.init, rng), kept),
            lambda state: rows.sweep(state, rng),
            lambda state: state.done or len(state.history) > self.max_iter,
            kept=kept,
            bar=("learning concepts", self.max_iter, self.verbose),
            say=lambda state: f"error {state.history[-1]:.4g}",
            stopped=lambda state: f"Stopped after {len(state.history) - 1} sweeps; what was learned is usable.",
        )
        self.atoms_, self.groups_, self.n_dead_ = state.atoms, state.groups, state.reseeded
        self.objective_ = np.array(state.history)
        self.n_iter_ = len(state.history) - 1
        return self

    def _learner(self, atoms: NDArray[Any], groups: NDArray[np.int64]) -> Learner:
        return Learner(atoms, groups, self.update, self.monotone, float(self.ridge))

    def _checkpoint(
        self, path: str | os.PathLike[str] | None, rows: Sweeps, rng: np.random.RandomState
    ) -> Checkpoint | None:
        """Where states are kept, if anywhere; how far to go is no part of what it must agree with."""
        if path is None:
            return None
        labels = known_rows(rows.Y if isinstance(rows.Y, Blocks) else Blocks.held(rows.Y))
        facts = list(self.concept_names_), labels, rows.members, rows.validation
        return checkpoint_of(path, self, rows.X, (Learned,), *facts, silent=("max_iter", "verbose"), rng=rng)

    def partial_fit(self, X: ArrayLike, y: Any, concept_names: Sequence[str] | None = None) -> ConceptSubspaces:
        """One mini-batch step of Algorithm 1: codes of these rows, then every atom that is active on them.

        The first call starts the atoms from its rows and takes their mean, so give it some of every concept.
        """
        if not hasattr(self, "atoms_"):
            rows = self._start(X, y, concept_names)
            if rows.X.array is None:
                raise ValueError("partial_fit takes rows in memory; fit goes through blocks by itself.")
            data, indicator = rows.X.array, rows.Y
            rng = check_random_state(self.random_state)
            self.atoms_, self.groups_ = rows.initial(self._sizes(indicator.shape[1]), self.init, rng)
            self.objective_, self.n_iter_, self.n_dead_ = np.empty(0), 0, 0
        else:
            data, indicator = self._labelled(X, y)
        self._forget_gate()
        learner = self._learner(self.atoms_, self.groups_)
        sweep = learner.step(data, indicator, learner.codes(data, indicator), reseed=False)
        self.n_iter_ += 1
        self.objective_ = np.append(self.objective_, (sweep.squared_error + sweep.penalty) / len(data))
        return self

    def _start(self, X: Any, y: Any, concept_names: Sequence[str] | None) -> Sweeps:
        self._validate_params()
        if y is None:
            raise ValueError("ConceptSubspaces requires y to be passed, but the target y is None.")
        lazy = is_lazy(X)
        data: Any = self._blocks(X) if lazy else self._rows(X, reset=True)
        data = self._learn_preparation(data, in_batches=self.batch_size is not None)
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
        rows = Sweeps(source, indicator, self._learner, self.batch_size, self.update == "bcd", float(self.tol))
        require_members(rows.members, names)
        self.concept_names_ = np.array(names, dtype=object)
        self._forget_gate()
        return rows

    def _blocks(self, X: Any) -> Blocks:
        blocks = as_blocks(X)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = blocks.shape[1]
        return blocks

    def _forget_gate(self) -> None:
        """A gate belongs to the cones it was fitted with."""
        for attribute in ("gate_coef_", "gate_intercept_", "gate_weights_"):
            if hasattr(self, attribute):
                delattr(self, attribute)

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

    def _sizes(self, n_concepts: int) -> list[int] | float:
        if isinstance(self.n_atoms, (float, np.floating)):
            return float(self.n_atoms)
        sizes: list[Any] = [self.n_atoms] * n_concepts if np.ndim(self.n_atoms) == 0 else list(self.n_atoms)  # type: ignore[arg-type]
        if len(sizes) != n_concepts or any(int(size) != size or size < 1 for size in sizes):
            raise ValueError(f"n_atoms must be a positive whole number, or one for each of {n_concepts} concepts.")
        return [int(size) for size in sizes]

    # is it any good

    def select_n_atoms(
        self,
        X: ArrayLike,
        y: Any,
        queries: ArrayLike,
        candidates: ArrayLike,
        query_concepts: ArrayLike,
        candidate_concepts: ArrayLike,
        *,
        sizes: Sequence[int] = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20),
        n_jobs: int | None = None,
        **evaluation: Any,
    ) -> AtomCounts:
        """Fit on X and y with each number of atoms, and see how well validation queries find candidates (Figure 6).

        From ``queries`` on, the arguments are those of :func:`pellucid.metrics.concept_retrieval`. This estimator's
        other parameters are used and stay as they are; ``n_jobs`` fits run at the same time.
        """
        return select_n_atoms(
            self, X, y, (queries, candidates, query_concepts, candidate_concepts), evaluation, sizes, n_jobs
        )

    def stability(
        self,
        X: ArrayLike,
        y: Any,
        n_runs: int = 10,
        *,
        held_out: tuple[ArrayLike, Any] | None = None,
        n_jobs: int | None = None,
    ) -> Stability:
        """Refit on resampled rows: how much of this fitted model would come out again, and how well it tells concepts
        apart on rows it has not seen (``held_out``, or the rows that a resample left out)."""
        check_is_fitted(self, "atoms_")
        raw, *unseen = (
            (self._rows(rows), self._known_concepts(labels, len(rows)))  # type: ignore[arg-type]
            for rows, labels in ((X, y), *([held_out] if held_out else []))
        )
        return stability(self, *raw, n_runs, unseen[0] if unseen else None, n_jobs)

    # beyond the paper

    def fit_gate(
        self, X: ArrayLike, y: Any, *, mix: float = 0.5, weight: float = 3.0, C: float = 10.0
    ) -> ConceptSubspaces:
        """Learn, for the score "gated", how likely a row has each concept: a logistic regression on the row and the
        lengths of its components and projections.

        ``mix`` is the share of the plain cosine, ``weight`` that of the likelihood, ``C`` the regression's inverse
        regularisation; :meth:`gated_scores` has the formula.
        """
        check_is_fitted(self, "atoms_")
        if not (0 <= mix <= 1 and 0 <= weight < np.inf and 0 < C < np.inf):
            raise ValueError(f"mix must lie in [0, 1], weight be ≥ 0 and C > 0, got {mix}, {weight} and {C}.")
        data, indicator = self._labelled(X, y)
        self.gate_coef_, self.gate_intercept_ = learn_gates(gate_features(self.cones, data), indicator, C)
        self.gate_weights_ = np.array([mix, weight], dtype=np.float64)
        return self

    def describe(self, X: ArrayLike) -> NDArray[np.float32]:
        """What the score "gated" needs of each candidate: (n, 2S), its likelihood of each concept, and the lengths of
        its unit vector's projections. Stored once, beside the vectors."""
        return self.gates.describe(self.prepare(X))

    @property
    def gates(self) -> Gates:
        """What :meth:`fit_gate` learned, for rows that are prepared already."""
        check_is_fitted(self, "gate_coef_", msg="Call fit_gate(X, y) first: there is no gate yet.")
        return Gates(self.cones, self.gate_coef_, self.gate_intercept_, *map(float, self.gate_weights_))

    def gated_scores(
        self, X: ArrayLike, concept: Names, candidates: ArrayLike, described: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Scores (n, n_candidates) for ranking candidates by one concept of each row, or by the mean over several.

        s_j(x, c) = μ·cos(x, c) + (1 − μ)·cos(ṽ_j(x), c)/‖ṽ_j(c)‖ + λ·p_j(c), where p_j(c) is the gate's likelihood
        that c has concept j; ``described`` is ``describe(candidates)``, if it was stored.
        """
        gates, pool = self.gates, self.prepare(candidates)
        return gates.scores(self.prepare(X), concept, pool, gates.describe(pool) if described is None else described)

    # pictures

    def plot_components(self, x: ArrayLike, ax: Any = None) -> Any:
        """One row's parts as bars; see :func:`pellucid.plots.component_bars`."""
        from pellucid.plots import component_bars

        return component_bars(self, x, ax=ax)

    def plot_objective(self, ax: Any = None) -> Any:
        """The error after each sweep; see :func:`pellucid.plots.objective`."""
        from pellucid.plots import objective

        return objective(self, ax=ax)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
