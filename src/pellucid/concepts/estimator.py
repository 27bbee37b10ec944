"""ConceptSubspaces: learn a positive cone per concept, split vectors into components, project onto one concept."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._base import NAMES_IN, Fitted, SavedMixin
from pellucid.concepts.labels import Indicator, align, as_indicator, require_members
from pellucid.concepts.learning import (
    Sweep,
    atom_mask,
    batches,
    initial_atoms,
    mean_error,
    solve_codes,
    update_atoms,
)
from pellucid.preprocessing import CenteredNormalizer
from pellucid.solvers import group_omp, nnls, nonnegative_omp

Names = str | Sequence[str]


class ConceptSubspaces(SavedMixin, TransformerMixin, BaseEstimator):
    """One positive cone per concept, learned so that rows are sums of components from the cones of their concepts.

    Parameters
    ----------
    n_atoms : int, atoms per concept; a list, one number per concept; or a float below 1, as many as keep that share
        of each concept's energy
    max_iter : int, sweeps over codes and atoms; 0 keeps the start (with ``init="svd"`` the S-SVD baseline)
    init : "svd" or "sample", start from each concept's singular vectors or from random rows
    update : "svd" (the paper's), "bcd" (its Eq. 14-15) or "power" (Eq. 19), how an atom is improved
    monotone : bool, skip atom updates that would raise the error (Eq. 13), so that ``objective_`` never rises
    batch_size : int or None, rows per mini-batch, reshuffled every sweep; None uses all rows at once
    ridge : float, weight of ½‖a‖² on the codes
    tol : float, stop when the error improves by less than this share, or no atom moves by more
    random_state : int or None
    verbose : int, print the error after each sweep if positive

    Attributes
    ----------
    atoms_ : (M, d) unit atoms, concept after concept
    groups_ : (M,) index of the concept of each atom
    concept_names_ : (S,) names
    objective_ : (sweeps + 1,) mean squared error per row (plus ridge term): at the start and after each sweep
    n_iter_ : int, sweeps made
    n_dead_ : int, atoms that no row used in the last sweep; each was given a new direction
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "atoms_": Fitted("f", ("M", "n_features_in_")),
        "groups_": Fitted("i", ("M",)),
        "concept_names_": Fitted("U", ("S",)),
        "objective_": Fitted("f", ("T",)),
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
        X: ArrayLike,
        Y: Any,
        concept_names: Sequence[str] | None = None,
        *,
        validation: tuple[ArrayLike, Any] | None = None,
    ) -> ConceptSubspaces:
        """Learn the cones from rows X (n, d) and their concepts Y.

        Y is an indicator array (n, S), class labels (n,), a sparse matrix, a dataframe whose columns are the names, or
        a list of sets of names. With ``validation=(X, Y)`` learning stops when the error on those rows rises, and
        keeps the atoms from before.
        """
        data, indicator = self._start(X, Y, concept_names)
        rng = check_random_state(self.random_state)
        size = self._sizes(indicator.shape[1])
        self.atoms_, self.groups_ = initial_atoms(data, indicator, size, self.init, rng)
        held_out = None if validation is None else self._labelled(*validation)
        history = [self._error(data, indicator)]
        best = (np.inf if held_out is None else self._error(*held_out), self.atoms_.copy())
        self.n_iter_ = self.n_dead_ = 0
        codes: NDArray[Any] | None = None
        try:
            for _ in range(self.max_iter):
                sweep, codes = self._sweep(data, indicator, codes, rng)
                self.n_iter_ += 1
                self.n_dead_ = sweep.reseeded
                history.append((sweep.squared_error + sweep.penalty) / len(data))
                if self.verbose:
                    print(f"sweep {self.n_iter_}: error {history[-1]:.6g}")
                if held_out is not None:
                    error = self._error(*held_out)
                    if error > best[0]:
                        self.atoms_ = best[1]
                        break
                    best = (error, self.atoms_.copy())
                change = abs(history[-2] - history[-1])
                if self.batch_size is None and (change <= self.tol * history[-2] or sweep.largest_change <= self.tol):
                    break
        except KeyboardInterrupt:
            warnings.warn(f"Stopped after {self.n_iter_} sweeps; what was learned is usable.", stacklevel=2)
        self.objective_ = np.array(history)
        return self

    def partial_fit(self, X: ArrayLike, Y: Any, concept_names: Sequence[str] | None = None) -> ConceptSubspaces:
        """One mini-batch step of Algorithm 1: codes of these rows, then every atom that is active on them.

        The first call starts the atoms from its rows, so give it some of every concept.
        """
        if not hasattr(self, "atoms_"):
            data, indicator = self._start(X, Y, concept_names)
            rng = check_random_state(self.random_state)
            self.atoms_, self.groups_ = initial_atoms(data, indicator, self._sizes(indicator.shape[1]), self.init, rng)
            self.objective_, self.n_iter_, self.n_dead_ = np.empty(0), 0, 0
        else:
            data, indicator = self._labelled(X, Y)
        codes = solve_codes(data, indicator, self.atoms_, self.groups_, self.ridge)
        sweep = self._update(data, indicator, codes, reseed=False)
        self.n_iter_ += 1
        self.objective_ = np.append(self.objective_, (sweep.squared_error + sweep.penalty) / len(data))
        return self

    def _start(self, X: ArrayLike, Y: Any, concept_names: Sequence[str] | None) -> tuple[NDArray[Any], Indicator]:
        self._validate_params()
        if Y is None:
            raise ValueError("ConceptSubspaces requires y to be passed, but the target y is None.")
        data = self._rows(X, reset=True)
        indicator, names = as_indicator(Y, concept_names)
        if len(indicator) != len(data):
            raise ValueError(f"X has {len(data)} rows, but Y has {len(indicator)}.")
        require_members(indicator, names)
        self.concept_names_ = np.array(names, dtype=object)
        return data, indicator

    def _labelled(self, X: ArrayLike, Y: Any) -> tuple[NDArray[Any], Indicator]:
        """More rows with the concepts the model already has."""
        data = self._rows(X)
        indicator = align(Y, list(self.concept_names_))
        if indicator.shape != (len(data), len(self.concept_names_)):
            raise ValueError(
                f"Y must have {len(data)} rows and {len(self.concept_names_)} concepts, but is {indicator.shape}."
            )
        return data, indicator

    def _sizes(self, n_concepts: int) -> list[int] | float:
        if isinstance(self.n_atoms, (float, np.floating)):
            return float(self.n_atoms)
        sizes: list[Any] = [self.n_atoms] * n_concepts if np.ndim(self.n_atoms) == 0 else list(self.n_atoms)  # type: ignore[arg-type]
        if len(sizes) != n_concepts or any(int(size) != size or size < 1 for size in sizes):
            raise ValueError(f"n_atoms must be a positive whole number, or one for each of {n_concepts} concepts.")
        return [int(size) for size in sizes]

    def _sweep(
        self, X: NDArray[Any], Y: Indicator, codes: NDArray[Any] | None, rng: np.random.RandomState
    ) -> tuple[Sweep, NDArray[Any] | None]:
        if self.batch_size is None:
            codes = solve_codes(X, Y, self.atoms_, self.groups_, self.ridge, codes)
            return self._update(X, Y, codes), codes
        total = Sweep(0.0, 0.0, 0, 0.0)
        for rows in batches(len(X), self.batch_size, rng):
            codes = solve_codes(X[rows], Y[rows], self.atoms_, self.groups_, self.ridge)
            part = self._update(X[rows], Y[rows], codes, reseed=False)
            total.squared_error += part.squared_error
            total.penalty += part.penalty
            total.largest_change = max(total.largest_change, part.largest_change)
        return total, None

    def _update(self, X: NDArray[Any], Y: Indicator, codes: NDArray[Any], reseed: bool = True) -> Sweep:
        return update_atoms(
            X, Y, self.atoms_, self.groups_, codes, self.update, self.monotone, self.ridge, reseed=reseed
        )

    def _error(self, X: NDArray[Any], Y: Indicator) -> float:
        return mean_error(X, Y, self.atoms_, self.groups_, self.ridge)

    # taking apart

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Non-negative codes of rows X (n, d) over all atoms (n, M)."""
        return self.encode(X)

    def encode(
        self,
        X: ArrayLike,
        active: Any = None,
        method: str = "nnls",
        *,
        n_nonzero: int | None = None,
        n_concepts: int | None = None,
    ) -> NDArray[Any]:
        """Codes (n, M) of rows X over the atoms of the active concepts.

        ``active`` names the concepts of all rows, or holds an indicator (n, S); None allows all. ``method`` is "nnls"
        (Eq. 2), or where concepts are not known "omp" (at most ``n_nonzero`` atoms) or "group_omp" (at most
        ``n_concepts`` concepts, two if not said).
        """
        check_is_fitted(self, "atoms_")
        data = self._rows(X)
        if method == "nnls":
            mask = None if active is None else atom_mask(self._active(active, len(data)), self.groups_)
            return nnls(data, self.atoms_.astype(data.dtype), mask, ridge=self.ridge).codes
        if active is not None:
            raise ValueError('active goes with method="nnls"; the greedy methods find the concepts themselves.')
        if method == "omp":
            count = n_nonzero or max(1, len(self.groups_) // len(self.concept_names_))
            return nonnegative_omp(data, self.atoms_.astype(data.dtype), count).codes
        if method == "group_omp":
            return group_omp(data, self.atoms_.astype(data.dtype), self.groups_, n_concepts or 2).codes
        raise ValueError(f'method must be "nnls", "omp" or "group_omp", got {method!r}.')

    def components(self, X: ArrayLike, active: Any = None) -> NDArray[Any]:
        """Each row as a sum of one component per concept (Eq. 2): (n, S, d)."""
        codes = self.encode(X, active)
        parts = np.empty((len(codes), len(self.concept_names_), self.atoms_.shape[1]), dtype=codes.dtype)
        for j in range(len(self.concept_names_)):
            mine = self.groups_ == j
            parts[:, j] = codes[:, mine] @ self.atoms_[mine].astype(codes.dtype)
        return parts

    def project(self, X: ArrayLike, concept: Names) -> NDArray[Any]:
        """The point of the concept's cone nearest to each row (Eq. 3): (n, d); several names share one cone."""
        check_is_fitted(self, "atoms_")
        mine = np.zeros(len(self.groups_), dtype=bool)
        for j in self._indices(concept):
            mine |= self.groups_ == j
        data = self._rows(X)
        atoms = self.atoms_[mine].astype(data.dtype)
        return np.asarray(nnls(data, atoms, ridge=self.ridge).codes @ atoms)

    def remove(self, X: ArrayLike, concept: Names) -> NDArray[Any]:
        """Rows without their projection onto the concept: no atom of it points along what is left."""
        return np.asarray(self._rows(X) - self.project(X, concept))

    def inverse_transform(self, codes: ArrayLike) -> NDArray[Any]:
        """Rows (n, d) from codes (n, M)."""
        check_is_fitted(self, "atoms_")
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(self.atoms_):
            raise ValueError(f"codes must have {len(self.atoms_)} columns, one per atom, but are {array.shape}.")
        return np.asarray(array @ self.atoms_)

    def activity(self, X: ArrayLike, kind: str = "energy", active: Any = None) -> NDArray[Any]:
        """How much of each row is each concept (n, S).

        "energy": ‖v_j‖² as a share of Σ‖v_k‖² (zero for a row without components); "cosine": cos(v_j, x), by which the
        paper's figures rank concepts.
        """
        parts = self.components(X, active)
        energy = np.einsum("ijk,ijk->ij", parts, parts)
        if kind == "energy":
            total = energy.sum(axis=1, keepdims=True)
            return np.asarray(energy / np.where(total > 0, total, 1))
        if kind == "cosine":
            data = self._rows(X)
            lengths = np.sqrt(energy) * np.linalg.norm(data, axis=1, keepdims=True)
            return np.asarray(np.einsum("ijk,ik->ij", parts, data) / np.where(lengths > 0, lengths, 1))
        raise ValueError(f'kind must be "energy" or "cosine", got {kind!r}.')

    # saying what it holds

    def captions(self, words: Sequence[str], vectors: ArrayLike, top: int = 5) -> dict[str, list[tuple[str, float]]]:
        """For each concept the words its cone holds best, with the length of what is left of their unit vectors.

        The vocabulary is normalised, centred with its own mean and normalised again (paper 1, section 3.6).
        """
        check_is_fitted(self, "atoms_")
        vocabulary = CenteredNormalizer().fit_transform(self._rows(vectors))
        if len(vocabulary) != len(words):
            raise ValueError(f"There are {len(words)} words, but {len(vocabulary)} vectors.")
        described = {}
        for name in self.concept_names_:
            left = np.linalg.norm(vocabulary - self.project(vocabulary, name), axis=1)
            best = np.argsort(left, kind="stable")[:top]
            described[name] = [(str(words[i]), float(left[i])) for i in best]
        return described

    def cooccurrence(self, X: ArrayLike, n_nonzero: int | None = None) -> NDArray[np.float64]:
        """How often atoms are used together (M, M) in greedy codes of X, each row divided by its diagonal (Fig. 5)."""
        on = (self.encode(X, method="omp", n_nonzero=n_nonzero) > 0).astype(np.float64)
        counts = on.T @ on
        return np.asarray(counts / np.maximum(counts.diagonal()[:, None], 1.0))

    def coherence(self) -> NDArray[np.float64]:
        """Cosines between all atoms (M, M) (Fig. 5)."""
        check_is_fitted(self, "atoms_")
        atoms = self.atoms_.astype(np.float64)
        return np.asarray(atoms @ atoms.T)

    # the small print

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        check_is_fitted(self, "atoms_")
        within = np.concatenate([np.arange(n) for n in np.bincount(self.groups_, minlength=len(self.concept_names_))])
        return np.array([f"{self.concept_names_[g]}_{i}" for g, i in zip(self.groups_, within)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

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

    def _index(self, name: str) -> int:
        matches = np.flatnonzero(self.concept_names_ == str(name))
        if matches.size:
            return int(matches[0])
        near = difflib.get_close_matches(str(name), list(self.concept_names_), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, self.concept_names_))}."
        raise ValueError(f"There is no concept {name!r}: {hint}")

    def _indices(self, concept: Names) -> list[int]:
        names = [concept] if isinstance(concept, str) else list(concept)
        if not names:
            raise ValueError("Name at least one concept.")
        return [self._index(name) for name in names]

    def _active(self, active: Any, n: int) -> Indicator:
        if isinstance(active, str) or (len(active) and all(isinstance(name, str) for name in active)):
            indicator = np.zeros((n, len(self.concept_names_)), dtype=bool)
            indicator[:, self._indices(active)] = True
            return indicator
        indicator = align(active, list(self.concept_names_))
        if len(indicator) != n:
            raise ValueError(f"active has {len(indicator)} rows, but X has {n}.")
        return indicator
