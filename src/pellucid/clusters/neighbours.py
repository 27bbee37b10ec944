"""What its neighbours say about a row: the Potts term of the objective, and the same for rows that come later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from pellucid._core.arrays import Floats, Ints
from pellucid.clusters.communities import NEIGHBOURS, aggregate, as_graph, falling, own_scale

# rows whose neighbours are looked for at a time
BLOCK_ROWS = 16_384


def balanced(graph: sparse.csr_matrix) -> sparse.csr_matrix:
    """h_ij = w_ij/√(deg_i·deg_j): neighbours of one row weigh about 1 together."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = sparse.diags(1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
    return as_graph(root @ graph @ root)


def cut(graph: sparse.csr_matrix, labels: Ints) -> float:
    """Σ_{i<j} h_ij [c_i ≠ c_j]."""
    i = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return float(graph.data[labels[i] != labels[graph.indices]].sum()) / 2


def leaks(graph: sparse.csr_matrix, labels: Ints, C: int) -> Floats:
    """The share (C,) of each community's weight that goes out of it."""
    between = aggregate(graph, labels)
    total = np.asarray(between.sum(axis=1)).ravel()
    return np.asarray(1.0 - between.diagonal() / np.where(total > 0, total, 1.0))[:C] * (total > 0)[:C]


@dataclass(frozen=True)
class Neighbours:
    """Rows whose clusters are known, which pull rows near them there.

    places (m, G), labels (m,), scale (m,), degree (m,) : of these rows, as in the graph that they were learned with
    pull : γ, what agreement with all neighbours is worth
    """

    places: Floats
    labels: Ints
    scale: Floats
    degree: Floats
    pull: float

    def pulls(self, Z: Floats, C: int) -> Floats:
        """γ Σ_j h_ij [c_j = c] for rows (n, G) and clusters: (n, C)."""
        out = np.zeros((len(Z), C))
        k = min(NEIGHBOURS, len(self.places))
        if self.pull == 0 or k < 1:
            return out
        search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.places)
        for start in range(0, len(Z), BLOCK_ROWS):
            distances, near = search.kneighbors(Z[start : start + BLOCK_ROWS])
            distances = distances.astype(np.float64)
            # in the graph an edge has the weights of both its ends
            weights = 2 * falling(distances, own_scale(distances), self.scale[near])
            degree = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            shares = weights / np.sqrt(degree * np.maximum(self.degree[near], np.finfo(np.float64).tiny))
            rows = start + np.repeat(np.arange(len(near)), k)
            np.add.at(out, (rows, self.labels[near].ravel()), self.pull * shares.ravel())
        return out
