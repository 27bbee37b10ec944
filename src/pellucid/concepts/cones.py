"""Cones at work on rows that are prepared already: codes, components, projections, shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.hints import did_you_mean
from pellucid.concepts.labels import Indicator, align
from pellucid.concepts.learning import atom_mask
from pellucid.solvers import Cone, group_omp, nnls, nonnegative_omp

Names = str | Sequence[str]


@dataclass
class Cones:
    """A positive cone per concept, however learned; every row here is one that the model has prepared.

    Parameters
    ----------
    atoms : (M, d) unit atoms
    groups : (M,) concept of each atom
    names : (S,) concepts
    ridge : weight of ½‖a‖² on the codes
    ready : cones made ready for one query at a time, to be kept while the atoms stay
    """

    atoms: NDArray[Any]
    groups: NDArray[Any]
    names: NDArray[Any]
    ridge: float = 0.0
    ready: dict[Any, Cone] = field(default_factory=dict, repr=False, compare=False)

    # taking apart

    def encode(
        self,
        X: NDArray[Any],
        active: Any = None,
        method: str = "nnls",
        n_nonzero_coefs: int | None = None,
        n_concepts: int | None = None,
    ) -> NDArray[Any]:
        """Codes (n, M) over the atoms of the active concepts; see :meth:`ConceptSubspaces.encode`."""
        atoms = self.atoms.astype(X.dtype)
        if method == "nnls":
            mask = None if active is None else atom_mask(self.active(active, len(X)), self.groups)
            return nnls(X, atoms, mask, ridge=self.ridge).codes
        if active is not None:
            raise ValueError('active goes with method="nnls"; the greedy methods find the concepts themselves.')
        if method == "omp":
            return nonnegative_omp(X, atoms, n_nonzero_coefs or max(1, len(self.groups) // len(self.names))).codes
        if method == "group_omp":
            return group_omp(X, atoms, self.groups, n_concepts or 2).codes
        raise ValueError(f'method must be "nnls", "omp" or "group_omp", got {method!r}.')

    def components(self, X: NDArray[Any], active: Any = None) -> NDArray[Any]:
        """Each row as a sum of one component per concept (Eq. 2): (n, S, d)."""
        codes = self.encode(X, active)
        parts = np.empty((len(codes), len(self.names), self.atoms.shape[1]), dtype=codes.dtype)
        for j in range(len(self.names)):
            mine = self.groups == j
            parts[:, j] = codes[:, mine] @ self.atoms[mine].astype(codes.dtype)
        return parts

    def project(self, X: NDArray[Any], concept: Names) -> NDArray[Any]:
        """The point of the concept's cone nearest to each row (Eq. 3): (n, d); several names share one cone."""
        mine = np.isin(self.groups, self.indices(concept))
        atoms = self.atoms[mine].astype(X.dtype, copy=False)
        # queries come one by one: a cone is made ready once, and again when its atoms have changed
        key = (mine.tobytes(), X.dtype.char)
        cone = self.ready.get(key)
        if cone is None or cone.ridge != self.ridge or not np.array_equal(cone.atoms, atoms):
            cone = self.ready[key] = Cone(atoms, self.ridge)
        return np.asarray(cone.project(X))

    def remove(self, X: NDArray[Any], concept: Names) -> NDArray[Any]:
        """Rows without their projection onto the concept: no atom of it points along what is left."""
        return np.asarray(X - self.project(X, concept))

    def filtered(self, X: NDArray[Any], concept: Names | None, without: Names | None = None) -> NDArray[Any]:
        """Rows with some concepts taken out, then seen through others: what a search by concept looks for."""
        rest = X if without is None else self.remove(X, without)
        return rest if concept is None else self.project(rest, concept)

    def shares(self, X: NDArray[Any], active: Any = None) -> NDArray[Any]:
        """How much of each row is each concept (n, S): v_j·x / ‖x‖²."""
        codes = self.encode(X, active)
        along = self._by_concept(codes * (X @ self.atoms.T.astype(codes.dtype)))
        lengths = np.einsum("ij,ij->i", X, X)[:, None]
        return np.asarray(along / np.where(lengths > 0, lengths, 1))

    def lengths(self, X: NDArray[Any], partial: bool = False) -> NDArray[Any]:
        """Lengths (n, S) of the components of each row; with ``partial`` of its projections, one concept at a time."""
        if not partial:
            return np.asarray(np.sqrt(self._energy(self.encode(X))))
        return np.stack([np.linalg.norm(self.project(X, name), axis=1) for name in self.names], axis=1)

    def _energy(self, codes: NDArray[Any]) -> NDArray[Any]:
        """‖v_j‖² (n, S) from the codes alone, so that no (n, S, d) array is needed."""
        energy = np.empty((len(codes), len(self.names)), dtype=codes.dtype)
        for j in range(len(self.names)):
            mine = self.groups == j
            atoms = self.atoms[mine].astype(codes.dtype)
            energy[:, j] = np.einsum("im,im->i", codes[:, mine] @ (atoms @ atoms.T), codes[:, mine])
        return np.asarray(np.maximum(energy, 0))

    def _by_concept(self, terms: NDArray[Any]) -> NDArray[Any]:
        """Sums (n, S) over the atoms of each concept of terms (n, M)."""
        member = sparse.csr_matrix((np.ones(len(self.groups), terms.dtype), (self.groups, range(len(self.groups)))))
        return np.ascontiguousarray((member @ terms.T).T)

    # names

    def index(self, name: str) -> int:
        """Where a concept stands among the names."""
        matches = np.flatnonzero(self.names == str(name))
        if matches.size:
            return int(matches[0])
        raise ValueError(f"There is no concept {name!r}: {did_you_mean(str(name), self.names)}")

    def indices(self, concept: Names) -> list[int]:
        """Where one or several concepts stand."""
        names = [concept] if isinstance(concept, str) else list(concept)
        if not names:
            raise ValueError("Name at least one concept.")
        return [self.index(name) for name in names]

    def active(self, active: Any, n: int) -> Indicator:
        """(n, S) which concepts each row may use, from names for all rows or an indicator."""
        if are_names(active):
            indicator = np.zeros((n, len(self.names)), dtype=bool)
            indicator[:, self.indices(active)] = True
            return indicator
        indicator = align(active, list(self.names))
        if len(indicator) != n:
            raise ValueError(f"active has {len(indicator)} rows, but X has {n}.")
        return indicator


def are_names(active: Any) -> bool:
    """Whether these are the names of concepts, the same for all rows."""
    return isinstance(active, str) or (len(active) > 0 and all(isinstance(name, str) for name in active))
