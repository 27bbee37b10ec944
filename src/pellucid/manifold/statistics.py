"""What a fit needs to know of the data, as sums: blocks of rows, or machines, can be added up in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True)
class Statistics:
    """What a fit needs to know of any codes with any neighbours; statistics of parts of the data add up.

    They are sums over items of codes A (n, K) with neighbours D (n, M), in rows where the paper has columns.

    Attributes
    ----------
    cost : csr_array or ndarray of shape (K, K)
        AᵀDDᵀA.
    second : csr_array or ndarray of shape (K, K)
        AᵀA, the items weighted.
    total : ndarray of shape (K,)
        Sum of the weighted codes.
    weight : float
        Sum of the weights.

    See Also
    --------
    GraphStatistics : The same for one-hot codes.
    PairStatistics : The same for codes with many active atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import SparseManifoldTransform
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> statistics = SparseManifoldTransform(1, n_atoms=5, random_state=0).fit(X).statistics_
    >>> statistics.cost.shape, (statistics + statistics).weight
    ((5, 5), 80.0)
    """

    cost: Any
    second: Any
    total: NDArray[np.float64]
    weight: float

    def __add__(self, other: Statistics) -> Statistics:
        check_same_atoms(len(self.total), len(other.total))
        return Statistics(
            self.cost + other.cost, self.second + other.second, self.total + other.total, self.weight + other.weight
        )


@dataclass(frozen=True)
class GraphStatistics:
    """What a fit needs to know of one-hot codes, whose cost is the Laplacian of a graph and whose V is diagonal.

    Attributes
    ----------
    together : csr_array of shape (K, K)
        How often two atoms are neighbours (ordered pairs, so symmetric; an atom may be its own).
    counts : ndarray of shape (K,)
        How often each atom is active.

    See Also
    --------
    Statistics : The same for any codes.

    Examples
    --------
    >>> from pellucid import WordManifoldTransform
    >>> model = WordManifoldTransform(1, window=1, min_count=1).fit(["sun and moon", "moon and stars"])
    >>> model.vocabulary_.tolist(), model.statistics_.counts.tolist()
    (['and', 'moon', 'stars', 'sun'], [2.0, 2.0, 1.0, 1.0])
    >>> model.statistics_.together.toarray()[0].tolist()  # neighbours of "and"
    [0.0, 2.0, 1.0, 1.0]
    """

    together: Any
    counts: NDArray[np.float64]

    def __add__(self, other: GraphStatistics) -> GraphStatistics:
        check_same_atoms(len(self.counts), len(other.counts))
        return GraphStatistics(self.together + other.together, self.counts + other.counts)


@dataclass(frozen=True)
class PairStatistics:
    """What a fit needs to know of codes with many active atoms, dense; the cost is second − together.

    Attributes
    ----------
    together : ndarray of shape (K, K)
        Sum of ααᵀ over pairs of neighbours, an item being its own.
    second : ndarray of shape (K, K)
        Sum of ααᵀ over items, each times the number of its neighbours.

    See Also
    --------
    Statistics : The same for any codes.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.manifold import PairStatistics
    >>> some, more = PairStatistics(np.eye(2), np.eye(2)), PairStatistics(np.eye(2), 2 * np.eye(2))
    >>> (some + more).second
    array([[3., 0.],
           [0., 3.]])
    """

    together: NDArray[np.float64]
    second: NDArray[np.float64]

    def __add__(self, other: PairStatistics) -> PairStatistics:
        check_same_atoms(len(self.second), len(other.second))
        return PairStatistics(self.together + other.together, self.second + other.second)

    def __iadd__(self, other: PairStatistics) -> PairStatistics:
        """In place: two more dense matrices may not fit."""
        check_same_atoms(len(self.second), len(other.second))
        np.add(self.together, other.together, out=self.together)
        np.add(self.second, other.second, out=self.second)
        return self


def refuse_loaded(model: Any, fitted: str) -> None:
    """A file keeps what was solved, not what was added up: a model that has the former alone can add no more."""
    if hasattr(model, fitted) and not hasattr(model, "statistics_"):
        raise ValueError("A model that was loaded holds no statistics to add to: call fit instead.")


def check_same_atoms(first: int, second: int) -> None:
    if first != second:
        raise ValueError(
            f"Statistics of {first} and of {second} atoms cannot be added: make both with the same dictionary."
        )


def code_statistics(codes: Any, D: Any, constraint: str) -> Statistics:
    """Statistics of codes (n, K), sparse or dense, under the difference operator D (n, M).

    ``constraint`` weighs the items in V: "frequency" all alike, as in the paper, "degree" by how many differences
    each takes part in (the diagonal of DDᵀ), which for one-hot codes is the degree in the graph.
    """
    A = sparse.csr_array(codes, dtype=np.float64)
    weights = np.ones(A.shape[0]) if constraint == "frequency" else np.asarray((D.multiply(D)).sum(axis=1)).ravel()
    differences = sparse.csr_array(D.T @ A)
    weighted = sparse.diags_array(weights) @ A
    return Statistics(
        sparse.csr_array(differences.T @ differences),
        sparse.csr_array(A.T @ weighted),
        np.asarray(weighted.sum(axis=0)).ravel(),
        float(weights.sum()),
    )
