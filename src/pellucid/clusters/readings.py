"""The two readings of paper 3's model, at work on prepared rows: clusters with a likelihood, and the paper's own."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid.clusters.coding import Coder, Labels, code_rows, row_blocks, row_costs
from pellucid.clusters.ellipsoids import Ellipsoids, own_covariances, own_parts
from pellucid.clusters.likelihood import Placing
from pellucid.clusters.objective import Dictionary, Penalties


class Parts(NamedTuple):
    """Prepared rows (n, d) taken apart: the cluster's mean, its own part and the common one, which add up to what the
    model says of the row."""

    mean: NDArray[Any]
    own: NDArray[Any]
    common: NDArray[Any]


class Coded(NamedTuple):
    """Clusters (n,) of rows, and their codes over the cluster's atoms (n, k) and the common ones (n, K₀)."""

    labels: Labels
    own: NDArray[Any]
    common: NDArray[Any]


class Reading(Protocol):
    """What a fitted model does with prepared rows X (n, d)."""

    def costs(self, X: NDArray[Any]) -> NDArray[Any]:
        """Costs (n, C) in each cluster."""

    def encode(self, X: NDArray[Any]) -> Coded:
        """Clusters and codes."""

    def parts(self, X: NDArray[Any]) -> Parts:
        """Parts of rows."""

    def middle(self) -> Floats:
        """What shares of a row are counted from (d,), and the units of its numbers (d,)."""


class DictionaryReading:
    """The paper's: atoms (C, k, d) and common atoms (K₀, d), with the penalties of the fit; clusters have no mean."""

    def __init__(self, dictionary: Dictionary, penalties: Penalties) -> None:
        self.dictionary, self.penalties = dictionary, penalties

    def costs(self, X: NDArray[Any]) -> NDArray[Any]:
        out = np.empty((len(X), len(self.dictionary.atoms)), dtype=X.dtype)
        coder = self._coder(X)
        for rows in row_blocks(len(X)):
            out[rows] = row_costs(np.asarray(X[rows]), coder)
        return out

    def encode(self, X: NDArray[Any]) -> Coded:
        coder = self._coder(X)
        parts = [code_rows(np.asarray(X[rows]), coder, None) for rows in row_blocks(len(X))]
        return Coded(*(np.concatenate(column) for column in zip(*((p.labels, p.own, p.common) for p in parts))))

    def parts(self, X: NDArray[Any]) -> Parts:
        found = self.encode(X)
        own = np.zeros((len(X), X.shape[1]), dtype=found.own.dtype)
        for c, atoms in enumerate(self.dictionary.atoms):
            mine = found.labels == c
            own[mine] = found.own[mine] @ atoms.astype(own.dtype)
        return Parts(np.zeros_like(own), own, found.common @ self.dictionary.common.astype(own.dtype))

    def middle(self) -> Floats:
        d = self.dictionary.common.shape[1]
        return np.stack([np.zeros(d), np.ones(d)])

    def _coder(self, X: NDArray[Any]) -> Coder:
        return Coder(self.dictionary, self.penalties, X.dtype)


class LikelihoodReading:
    """The default: each cluster a mean and a covariance, of which what exceeds the common one is its own.

    ``common`` (D, D) is the covariance within clusters, ``atoms`` and ``common_atoms`` are unit directions of rows.
    """

    def __init__(self, placing: Placing, common: Floats, atoms: NDArray[Any], common_atoms: NDArray[Any]) -> None:
        self.placing, self.atoms, self.common_atoms = placing, atoms, common_atoms
        old = placing.ellipsoids
        self.ellipsoids = Ellipsoids(old.means, old.covariances, common)

    def costs(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.placing.costs(X)

    def encode(self, X: NDArray[Any]) -> Coded:
        labels, parts = self._parts(X)
        scale = self.placing.directions.scale
        own, common = np.zeros((len(X), self.atoms.shape[1])), np.zeros((len(X), len(self.common_atoms)))
        for c in np.unique(labels):
            mine = labels == c
            own[mine] = codes_over(parts.own[mine] / scale, self.atoms[c] / scale)
        if len(self.common_atoms):
            common = codes_over(parts.common / scale, self.common_atoms / scale)
        return Coded(labels, own.astype(X.dtype), common.astype(X.dtype))

    def parts(self, X: NDArray[Any]) -> Parts:
        _, found = self._parts(X)
        return Parts(*(part.astype(X.dtype) for part in found))

    def middle(self) -> Floats:
        return np.stack([self.placing.directions.mean, self.placing.directions.scale])

    def _parts(self, X: NDArray[Any]) -> tuple[Labels, Parts]:
        directions, D = self.placing.directions, self.placing.D
        Z = directions.into(X)
        labels = self.placing.costs_at(Z).argmin(axis=1)
        within = own_parts(Z[:, :D], labels, self.ellipsoids, own_covariances(self.ellipsoids))
        mean = directions.mean + directions.back(self.ellipsoids.means)[labels]
        own = directions.back(within)
        # what lies outside of the directions varies alike in all clusters
        return labels, Parts(mean, own, X - mean - own)


def codes_over(rows: Floats, atoms: Floats) -> Floats:
    """Codes (n, k) of rows over orthogonal atoms (k, d), some of which may be zero."""
    lengths = np.einsum("ij,ij->i", atoms, atoms)
    return np.asarray((rows @ atoms.T) / np.where(lengths > 0, lengths, 1.0))
