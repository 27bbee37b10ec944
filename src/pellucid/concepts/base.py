"""What can be done with fitted cones, however learned: every method takes raw rows and prepares them itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid.concepts.cones import Cones, Names, are_names
from pellucid.preparation import CenteredNormalizer, PreparesRows
from pellucid.rows import is_lazy, lazily

# cones made ready for queries, beside the models, so that using one does not change it
_READY: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


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
        check_is_fitted(self, "atoms_")
        return Cones(self.atoms_, self.groups_, self.concept_names_, self.ridge, _READY.setdefault(self, {}))

    def prepare(self, X: Any) -> Any:
        """Raw rows (n, d) as the cones see them: normalised, centred and normalised again if ``center`` is set."""
        check_is_fitted(self, "atoms_")
        if not is_lazy(X):
            return self._prepared(self._rows(X))
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was fitted on {self.n_features_in_}.")
        return X if self.preparation_ is None else self.preparation_.transform(X)

    # taking apart

    def transform(self, X: Any) -> Any:
        """Non-negative codes of rows X (n, d) over all atoms (n, M)."""
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
        """Codes (n, M) of rows X over the atoms of the active concepts.

        ``active`` names the concepts of all rows, or holds an indicator (n, S); None allows all. ``method`` is "nnls"
        (Eq. 2), or where concepts are not known "omp" (at most ``n_nonzero_coefs`` atoms) or "group_omp" (at most
        ``n_concepts`` concepts, two if not said).
        """
        if is_lazy(X) and active is not None and not are_names(active):
            raise ValueError("Of blocks, active must name the concepts of all rows.")
        how = partial(
            Cones.encode, active=active, method=method, n_nonzero_coefs=n_nonzero_coefs, n_concepts=n_concepts
        )
        return self._of_rows(how, X, len(self.cones.atoms))

    def components(self, X: ArrayLike, active: Any = None) -> NDArray[Any]:
        """Each row as a sum of one component per concept (Eq. 2): (n, S, d)."""
        return self.cones.components(self.prepare(X), active)

    def project(self, X: Any, concept: Names) -> Any:
        """The point of the concept's cone nearest to each row (Eq. 3): (n, d); several names share one cone."""
        self.cones.indices(concept)
        return self._of_rows(partial(Cones.project, concept=concept), X, self.n_features_in_)

    def remove(self, X: Any, concept: Names) -> Any:
        """Rows without their projection onto the concept: no atom of it points along what is left."""
        self.cones.indices(concept)
        return self._of_rows(partial(Cones.remove, concept=concept), X, self.n_features_in_)

    def inverse_transform(self, X: ArrayLike) -> NDArray[Any]:
        """Rows (n, d), as they are when prepared, from codes (n, M)."""
        check_is_fitted(self, "atoms_")
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(self.atoms_):
            raise ValueError(f"X must have {len(self.atoms_)} columns, one per atom, but is {array.shape}.")
        return np.asarray(array @ self.atoms_)

    def shares(self, X: Any, active: Any = None) -> Any:
        """How much of each row is each concept (n, S): v_j·x / ‖x‖², the concept's term in x·x.

        The shares of a row add up to what its components explain of it; the rest is in no concept. Components that take
        away from each other count once, so a share can be negative. ``active`` as in :meth:`encode`.
        """
        return self._of_rows(partial(Cones.shares, active=active), X, len(self.cones.names))

    def lengths(self, X: ArrayLike, partial: bool = False) -> NDArray[Any]:
        """Lengths (n, S) of the components of each row; with ``partial`` of its projections, one concept at a time."""
        return self.cones.lengths(self.prepare(X), partial)

    # saying what it holds

    def captions(self, words: Sequence[str], vectors: ArrayLike, top: int = 5) -> dict[str, list[tuple[str, float]]]:
        """For each concept the words its cone holds best, with the length of what is left of their unit vectors.

        The vocabulary is normalised, centred with its own mean and normalised again (paper 1, section 3.6).
        """
        cones = self.cones
        vocabulary = CenteredNormalizer().fit_transform(self._rows(vectors))
        if len(vocabulary) != len(words):
            raise ValueError(f"There are {len(words)} words, but {len(vocabulary)} vectors.")
        described = {}
        for name in self.concept_names_:
            left = np.linalg.norm(cones.remove(vocabulary, name), axis=1)
            best = np.argsort(left, kind="stable")[:top]
            described[name] = [(str(words[i]), float(left[i])) for i in best]
        return described

    def cooccurrence(self, X: ArrayLike, n_nonzero_coefs: int | None = None) -> NDArray[np.float64]:
        """How often atoms are used together (M, M) in greedy codes of X, each row divided by its diagonal (Fig. 5)."""
        on = (self.encode(X, method="omp", n_nonzero_coefs=n_nonzero_coefs) > 0).astype(np.float64)
        counts = on.T @ on
        return np.asarray(counts / np.maximum(counts.diagonal()[:, None], 1.0))

    def coherence(self) -> NDArray[np.float64]:
        """Cosines between all atoms (M, M) (Fig. 5)."""
        atoms = self.cones.atoms.astype(np.float64)
        return np.asarray(atoms @ atoms.T)

    # the small print

    def _of_rows(self, method: Callable[..., NDArray[Any]], X: Any, width: int) -> Any:
        """What a method of the cones makes of raw rows; of blocks when they are asked for, with the cones as now."""
        prepared = self.prepare(X)
        if not is_lazy(X):
            return method(self.cones, prepared)
        now = Cones(self.atoms_.copy(), self.groups_, self.concept_names_, self.ridge)
        return lazily(partial(method, now), prepared, width)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Names of the codes (M,): concept and number within it."""
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
