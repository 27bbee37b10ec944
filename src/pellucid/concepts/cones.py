"""Cones at work on rows that are prepared already: codes, components, projections, shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.arrays import unit_rows
from pellucid.concepts.coding import solve_codes
from pellucid.concepts.naming import NamedConcepts, Names
from pellucid.solvers import Cone, group_omp, nnls, nonnegative_omp

# numbers in the codes of the rows that are taken apart at a time
CODE_NUMBERS = 1 << 22


@dataclass
class Cones(NamedConcepts):
    """A positive cone per concept, however learned; every row here is one that the model has prepared.

    Parameters
    ----------
    atoms : ndarray of shape (M, d)
        Unit atoms.
    groups : ndarray of shape (M,)
        Index of the concept of each atom.
    names : ndarray of shape (S,)
        Names of the concepts.
    ridge : float, default=0.0
        Weight of ½‖a‖² on the codes.
    ready : dict, optional
        Cones made ready for one query at a time, to be kept while the atoms stay.

    See Also
    --------
    ConceptSubspaces : Learns cones, prepares raw rows and has the same methods for them.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import Cones
    >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
    >>> cones.shares(np.array([[3.0, 4.0]])).round(3).tolist()
    [[0.36, 0.64]]
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
        """Code rows over the atoms of the active concepts.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may use, by name for all or as an indicator; None allows all.
        method : {"nnls", "omp", "group_omp"}, default="nnls"
            Least squares over the active atoms, or a greedy choice of atoms or of concepts.
        n_nonzero_coefs : int, default=None
            Most atoms that "omp" may use for a row; None takes the mean number of atoms per concept.
        n_concepts : int, default=None
            Most concepts that "group_omp" may use for a row; None takes 2.

        Returns
        -------
        ndarray of shape (n, M)
            Non-negative codes.

        Raises
        ------
        ValueError
            If a concept or the method is not known, or ``active`` comes with a greedy method.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.encode(np.array([[3.0, 4.0]]), active="cat").tolist()
        [[3.0, 0.0]]
        """
        if method == "nnls" and active is not None:
            allowed, atoms = self.active(active, len(X)), self.atoms.astype(X.dtype, copy=False)
            return np.asarray(solve_codes(X, allowed, atoms, self.groups, self.ridge))
        atoms = self.atoms.astype(X.dtype, copy=False)
        if method == "nnls":
            return nnls(X, atoms, ridge=self.ridge).codes
        if active is not None:
            raise ValueError('active goes with method="nnls"; the greedy methods find the concepts themselves.')
        if method == "omp":
            return nonnegative_omp(X, atoms, n_nonzero_coefs or max(1, len(self.groups) // len(self.names))).codes
        if method == "group_omp":
            return group_omp(X, atoms, self.groups, n_concepts or 2).codes
        raise ValueError(f'method must be "nnls", "omp" or "group_omp", got {method!r}.')

    def components(self, X: NDArray[Any], active: Any = None) -> NDArray[Any]:
        """Split each row into a sum of one component per concept (Eq. 2).

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may use; see :meth:`encode`.

        Returns
        -------
        ndarray of shape (n, S, d)
            The components.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.components(np.array([[3.0, 4.0]])).tolist()
        [[[3.0, 0.0], [0.0, 4.0]]]
        """
        codes = self.encode(X, active)
        parts = np.empty((len(codes), len(self.names), self.atoms.shape[1]), dtype=codes.dtype)
        for j in range(len(self.names)):
            mine = self.groups == j
            parts[:, j] = codes[:, mine] @ self.atoms[mine].astype(codes.dtype)
        return parts

    def project(self, X: NDArray[Any], concept: Names) -> NDArray[Any]:
        """Project each row onto a concept: the point of its cone that is nearest (Eq. 3).

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        concept : str or list of str
            Name of the concept; several names share one cone.

        Returns
        -------
        ndarray of shape (n, d)
            The projections.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.project(np.array([[3.0, 4.0]]), "dog").tolist()
        [[0.0, 4.0]]
        """
        mine = np.zeros(len(self.groups), dtype=bool)
        for j in self.indices(concept):
            mine |= self.groups == j
        atoms = self.atoms[mine].astype(X.dtype, copy=False)
        # queries come one by one: a cone is made ready once, and again when its atoms have changed
        key = (mine.tobytes(), X.dtype.char)
        cone = self.ready.get(key)
        if cone is None or cone.ridge != self.ridge or not np.array_equal(cone.atoms, atoms):
            cone = self.ready[key] = Cone(atoms, self.ridge)
        return np.asarray(cone.project(X))

    def remove(self, X: NDArray[Any], concept: Names) -> NDArray[Any]:
        """Take a concept out of each row: no atom of it points along what is left.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        concept : str or list of str
            Name of the concept; several names share one cone.

        Returns
        -------
        ndarray of shape (n, d)
            Rows without their projections.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.remove(np.array([[3.0, 4.0]]), "dog").tolist()
        [[3.0, 0.0]]
        """
        return np.asarray(X - self.project(X, concept))

    def filtered(self, X: NDArray[Any], concept: Names | None, without: Names | None = None) -> NDArray[Any]:
        """Take some concepts out of rows, then project them onto others: what a search by concept looks for.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        concept : str, list of str or None
            Concepts to project onto; None leaves rows whole.
        without : str, list of str or None, default=None
            Concepts to take out first.

        Returns
        -------
        ndarray of shape (n, d)
            What is left.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.filtered(np.array([[3.0, 4.0]]), None, without="cat").tolist()
        [[0.0, 4.0]]
        """
        rest = X if without is None else self.remove(X, without)
        return rest if concept is None else self.project(rest, concept)

    def shares(self, X: NDArray[Any], active: Any = None) -> NDArray[Any]:
        """Say how much of each row is each concept: v_j·x / ‖x‖².

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may use; see :meth:`encode`.

        Returns
        -------
        ndarray of shape (n, S)
            The shares.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.shares(np.array([[3.0, 4.0]])).round(3).tolist()
        [[0.36, 0.64]]
        """
        allowed = None if active is None else self.active(active, len(X))
        out = np.empty((len(X), len(self.names)), dtype=X.dtype)
        size = max(1, CODE_NUMBERS // len(self.groups))
        for start in range(0, len(X), size):
            rows = unit_rows(X[start : start + size])  # of which squares neither over- nor underflow
            codes = self.encode(rows, None if allowed is None else allowed[start : start + size])
            out[start : start + size] = self.terms(rows, rows, codes)
        return out

    def terms(self, X: NDArray[Any], Y: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
        """Multiply each concept's component of one row with another row: v_j(x)·y.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        Y : ndarray of shape (n, d)
            A row for each.
        codes : ndarray of shape (n, M)
            The codes of X.

        Returns
        -------
        ndarray of shape (n, S)
            The products.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones, x, y = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"])), [[3.0, 4.0]], [[1.0, 2.0]]
        >>> cones.terms(np.array(x), np.array(y), cones.encode(np.array(x))).tolist()
        [[3.0, 8.0]]
        """
        out = np.zeros((len(X), len(self.names)), dtype=codes.dtype)
        used = sparse.coo_matrix(codes)
        # a few rows use few atoms; many rows use all of them, and one product is faster than many
        if used.nnz * 8 < codes.size:
            along = np.einsum("ij,ij->i", Y[used.row], self.atoms[used.col].astype(codes.dtype, copy=False))
            np.add.at(out, (used.row, self.groups[used.col]), used.data * along)
            return out
        return self._by_concept(codes * (Y @ self.atoms.T.astype(codes.dtype, copy=False)))

    def lengths(self, X: NDArray[Any], partial: bool = False, active: Any = None) -> NDArray[Any]:
        """Measure the component of each concept in each row.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        partial : bool, default=False
            Measure the projections, one concept at a time, instead of the components.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may have components of; see :meth:`encode`.

        Returns
        -------
        ndarray of shape (n, S)
            The lengths.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> cones = Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"]))
        >>> cones.lengths(np.array([[3.0, 4.0]])).tolist()
        [[3.0, 4.0]]
        """
        if not partial:
            return np.asarray(np.sqrt(self._energy(self.encode(X, active))))
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
