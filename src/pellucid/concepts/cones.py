"""Fitted cones at work: codes, components, projections, and what the cones hold in words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid.concepts.labels import Indicator, align
from pellucid.concepts.learning import atom_mask
from pellucid.preprocessing import CenteredNormalizer
from pellucid.rows import is_lazy, lazily
from pellucid.solvers import Cone, group_omp, nnls, nonnegative_omp

Names = str | Sequence[str]


class Cones(TransformerMixin, BaseEstimator):
    """What can be done with ``atoms_`` (M, d), ``groups_`` (M,) and ``concept_names_`` (S,), however learned.

    ``transform``, ``encode``, ``shares``, ``project`` and ``remove`` also take blocks, and give blocks.
    """

    atoms_: NDArray[Any]
    groups_: NDArray[Any]
    concept_names_: NDArray[Any]
    n_features_in_: int
    ridge: float

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
        n_nonzero: int | None = None,
        n_concepts: int | None = None,
    ) -> Any:
        """Codes (n, M) of rows X over the atoms of the active concepts.

        ``active`` names the concepts of all rows, or holds an indicator (n, S); None allows all. ``method`` is "nnls"
        (Eq. 2), or where concepts are not known "omp" (at most ``n_nonzero`` atoms) or "group_omp" (at most
        ``n_concepts`` concepts, two if not said).
        """
        check_is_fitted(self, "atoms_")
        if is_lazy(X):
            if active is not None and not _are_names(active):
                raise ValueError("Of blocks, active must name the concepts of all rows.")
            how = partial(Cones.encode, active=active, method=method, n_nonzero=n_nonzero, n_concepts=n_concepts)
            return self._lazily(how, X, len(self.atoms_))
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

    def project(self, X: Any, concept: Names) -> Any:
        """The point of the concept's cone nearest to each row (Eq. 3): (n, d); several names share one cone."""
        check_is_fitted(self, "atoms_")
        if is_lazy(X):
            self._indices(concept)
            return self._lazily(partial(Cones.project, concept=concept), X, self.n_features_in_)
        mine = np.zeros(len(self.groups_), dtype=bool)
        for j in self._indices(concept):
            mine |= self.groups_ == j
        data = self._rows(X)
        atoms = self.atoms_[mine].astype(data.dtype, copy=False)
        # queries come one by one: a cone is made ready once, and again when its atoms have changed
        ready: dict[Any, Cone] = self.__dict__.setdefault("_ready", {})
        key = (mine.tobytes(), data.dtype.char)
        cone = ready.get(key)
        if cone is None or cone.ridge != self.ridge or not np.array_equal(cone.atoms, atoms):
            cone = ready[key] = Cone(atoms, self.ridge)
        return np.asarray(cone.project(data))

    def remove(self, X: Any, concept: Names) -> Any:
        """Rows without their projection onto the concept: no atom of it points along what is left."""
        if is_lazy(X):
            self._indices(concept)
            return self._lazily(partial(Cones.remove, concept=concept), X, self.n_features_in_)
        return np.asarray(self._rows(X) - self.project(X, concept))

    def inverse_transform(self, codes: ArrayLike) -> NDArray[Any]:
        """Rows (n, d) from codes (n, M)."""
        check_is_fitted(self, "atoms_")
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(self.atoms_):
            raise ValueError(f"codes must have {len(self.atoms_)} columns, one per atom, but are {array.shape}.")
        return np.asarray(array @ self.atoms_)

    def shares(self, X: Any, active: Any = None) -> Any:
        """How much of each row is each concept (n, S): v_j·x / ‖x‖², the concept's term in x·x.

        The shares of a row add up to what its components explain of it; the rest is in no concept. Components that take
        away from each other count once, so a share can be negative. ``active`` as in :meth:`encode`.
        """
        if is_lazy(X):
            return self._lazily(partial(Cones.shares, active=active), X, len(self.concept_names_))
        codes, data = self.encode(X, active), self._rows(X)
        along = self._by_concept(codes * (data @ self.atoms_.T.astype(codes.dtype)))
        lengths = np.einsum("ij,ij->i", data, data)[:, None]
        return np.asarray(along / np.where(lengths > 0, lengths, 1))

    def lengths(self, X: ArrayLike, partial: bool = False) -> NDArray[Any]:
        """Lengths (n, S) of the components of each row; with ``partial`` of its projections, one concept at a time."""
        if not partial:
            return np.asarray(np.sqrt(self._energy(self.encode(X))))
        check_is_fitted(self, "atoms_")
        data = self._rows(X)
        return np.stack([np.linalg.norm(self.project(data, name), axis=1) for name in self.concept_names_], axis=1)

    def _energy(self, codes: NDArray[Any]) -> NDArray[Any]:
        """‖v_j‖² (n, S) from the codes alone, so that no (n, S, d) array is needed."""
        energy = np.empty((len(codes), len(self.concept_names_)), dtype=codes.dtype)
        for j in range(len(self.concept_names_)):
            mine = self.groups_ == j
            atoms = self.atoms_[mine].astype(codes.dtype)
            energy[:, j] = np.einsum("im,im->i", codes[:, mine] @ (atoms @ atoms.T), codes[:, mine])
        return np.asarray(np.maximum(energy, 0))

    def _by_concept(self, terms: NDArray[Any]) -> NDArray[Any]:
        """Sums (n, S) over the atoms of each concept of terms (n, M)."""
        member = sparse.csr_matrix((np.ones(len(self.groups_), terms.dtype), (self.groups_, range(len(self.groups_)))))
        return np.ascontiguousarray((member @ terms.T).T)

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

    def _lazily(self, method: Callable[..., NDArray[Any]], X: Any, width: int) -> Any:
        """What a method makes of blocks, when they are asked for, and with the model as it is now."""
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was fitted on {self.n_features_in_}.")
        now = copy(self)
        now.__dict__.pop("_ready", None)
        now.atoms_ = self.atoms_.copy()
        return lazily(partial(method, now), X, width)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
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
        if _are_names(active):
            indicator = np.zeros((n, len(self.concept_names_)), dtype=bool)
            indicator[:, self._indices(active)] = True
            return indicator
        indicator = align(active, list(self.concept_names_))
        if len(indicator) != n:
            raise ValueError(f"active has {len(indicator)} rows, but X has {n}.")
        return indicator


def _are_names(active: Any) -> bool:
    return isinstance(active, str) or (len(active) > 0 and all(isinstance(name, str) for name in active))
