"""Codes of rows under every cluster, the cluster of least cost, and the sums over rows that atom steps need.

For one cluster the code a over its own atoms is known in closed form once a₀ is (Eq. 7), which leaves a lasso over the
common atoms with one Gram matrix for all rows (Eq. 8). All of it follows from the products of rows and atoms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, pinvh

from pellucid._core.checks import attainable, warn_unconverged
from pellucid._core.threads import run_rows
from pellucid.clusters.objective import Dictionary, Floats, Penalties
from pellucid.solvers.batch import BoundedQuadratic

Labels = NDArray[np.int64]

# rows that are coded before their sums are taken, so that a memory map is never read as a whole
BLOCK_ROWS = 32_768
# rows of one cluster that are gathered at a time for its sums
GATHER_ROWS = 2_048
TOL = 1e-8
# eigenvalues of a cluster's Gram matrix below this share of the largest are round-off: its atoms depend on each other
DEPENDENT = 1e-12
# what keeps the Gram matrix of common atoms definite where cluster atoms explain them wholly
LIFT = 1e-12


class ClusterCoder:
    """The lasso that is left for one cluster: its Gram matrix, and how to get into it and back."""

    def __init__(self, stacked: Floats, own: slice, shared: slice, penalties: Penalties) -> None:
        self.own, self.shared, self.kind, self.sparsity = own, shared, penalties.codes, penalties.sparsity
        atoms = np.concatenate([stacked[own], stacked[shared]])
        G, k = atoms @ atoms.T, own.stop - own.start
        inner, cross, common = G[:k, :k], G[:k, k:], G[k:, k:]
        if self.kind == "ridge":
            self.inverse = pinvh(inner + penalties.ridge * np.eye(k), rtol=DEPENDENT)
            self.through = self.inverse @ cross  # G_i of Eq. 8
            self.gram = common - cross.T @ self.through
        elif self.kind == "one":
            self.offset, self.length = cross[0], float(inner[0, 0])
            self.gram = common
        else:
            self.gram = G
        self.gram = (self.gram + self.gram.T) / 2
        self.problem = None
        if len(self.gram):
            values, vectors = eigh(self.gram)
            lift = LIFT - min(0.0, float(values[0]))  # nearly equal atoms leave round-off that is more than LIFT
            self.gram += lift * np.eye(len(self.gram))
            self.whiten = vectors / np.sqrt(values + lift)  # ‖v·whiten‖² is vᵀG⁻¹v, never below 0
            self.problem = BoundedQuadratic(self.gram, 0.0, penalties.sparsity / 2, -np.inf, np.inf, TOL, 10_000)

    def reduce(self, C: NDArray[Any], norms: Floats) -> tuple[NDArray[Any], Floats]:
        """Correlations and squared norms of the lasso, from those of rows and all atoms."""
        mine, common = C[:, self.own], C[:, self.shared]
        if self.kind == "ridge":
            fitted = mine @ self.inverse.astype(C.dtype)
            kept = norms - np.einsum("ij,ij->i", fitted, mine, dtype=np.float64)
            return common - mine @ self.through.astype(C.dtype), np.maximum(kept, 0.0)
        if self.kind == "one":
            kept = norms - 2.0 * mine[:, 0] + self.length
            return common - self.offset.astype(C.dtype), np.maximum(kept, 0.0)
        return np.hstack([mine, common]), norms

    def start(self, common: NDArray[Any]) -> NDArray[Any]:
        """A starting point of the lasso from a code over the common atoms."""
        z = np.zeros((len(common), len(self.gram)), dtype=common.dtype)
        z[:, z.shape[1] - common.shape[1] :] = common
        return z

    def cost(self, z: NDArray[Any], R: NDArray[Any], kept: Floats) -> Floats:
        """‖x − aD − a₀D₀‖² with its penalties, for z any code of the lasso with correlations R."""
        if self.problem is None:
            return kept
        wide = z.astype(np.float64, copy=False)
        twice = 2.0 * R - wide @ self.gram
        return np.asarray(kept - np.einsum("ij,ij->i", wide, twice) + self.sparsity * np.abs(wide).sum(axis=1))

    def bound(self, z: NDArray[Any], R: NDArray[Any], kept: Floats) -> Floats:
        """A cost that no code goes below: for every w with |w| ≤ λ₂/2 it is kept − (R − w)ᵀG⁻¹(R − w).

        Where z is the best code w = R − zG is the best w; here each entry of it that is too large is cut by itself.
        """
        if self.problem is None:
            return kept
        fitted = z.astype(np.float64, copy=False) @ self.gram
        v = R - np.clip(R - fitted, -self.sparsity / 2, self.sparsity / 2)
        return np.asarray(kept - np.square(v @ self.whiten).sum(axis=1))

    def solve(self, z: NDArray[Any], R: NDArray[Any], kept: Floats) -> Floats:
        """Overwrite z by the best codes, and return their costs."""
        if self.problem is not None and len(z):
            kkt = np.empty(len(z))
            self.problem.solve(np.ascontiguousarray(R), np.ones((1, z.shape[1]), dtype=np.bool_), z, kkt)
            limit = attainable(TOL, z.dtype)
            late = int(np.count_nonzero(~(kkt <= limit)))
            if late:
                warn_unconverged("the lasso of a cluster", "KKT residual", float(kkt.max()), limit, late, len(z))
        return self.cost(z, R, kept)

    def expand(self, z: NDArray[Any], C: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Codes over the cluster's atoms (Eq. 7) and over the common ones."""
        if self.kind == "ridge":
            own = C[:, self.own] @ self.inverse.astype(C.dtype) - z @ self.through.T.astype(C.dtype)
            return own, z
        if self.kind == "one":
            return np.ones((len(z), 1), dtype=z.dtype), z
        k = self.own.stop - self.own.start
        return z[:, :k], z[:, k:]


class Coder:
    """Everything that the atoms alone decide, computed once for all rows."""

    def __init__(self, dictionary: Dictionary, penalties: Penalties, dtype: Any) -> None:
        self.C, self.k, _ = dictionary.atoms.shape
        self.n_common = len(dictionary.common)
        self.stacked = np.ascontiguousarray(dictionary.stacked, dtype=dtype)
        wide = self.stacked.astype(np.float64)
        shared = slice(self.C * self.k, len(wide))
        own = [slice(c * self.k, (c + 1) * self.k) for c in range(self.C)]
        self.clusters = [ClusterCoder(wide, mine, shared, penalties) for mine in own]

    def products(self, X: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
        """Rows times atoms (n, Ck + K₀), and squared norms (n,)."""
        return X @ self.stacked.T, np.einsum("ij,ij->i", X, X, dtype=np.float64)

    def costs(self, X: NDArray[Any]) -> Floats:
        """The cost of every row under every cluster (n, C)."""
        C, norms = self.products(X)
        out = np.empty((len(X), self.C))
        for c, cluster in enumerate(self.clusters):
            R, kept = cluster.reduce(C, norms)
            out[:, c] = cluster.solve(cluster.start(np.zeros((len(X), self.n_common), dtype=C.dtype)), R, kept)
        return out

    def assign(self, X: NDArray[Any], guess: Labels | None) -> Coded:
        """The cluster of least cost for every row, with its codes.

        A row's lasso is solved for the cluster that is guessed first; another cluster is left alone where the dual
        bound at the same common code already exceeds the cost.
        """
        C, norms = self.products(X)
        reduced = [cluster.reduce(C, norms) for cluster in self.clusters]
        if guess is None:  # least cost without the common atoms
            guess = np.argmin([kept for _, kept in reduced], axis=0)
        coded = self._coded(C, norms, guess)
        for c, cluster in enumerate(self.clusters):
            rows = np.flatnonzero(guess != c)
            R, kept = reduced[c]
            z = cluster.start(coded.common[rows])
            # rows that may be tied stay open, so that round-off does not decide
            open_rows = cluster.bound(z, R[rows], kept[rows]) <= coded.costs[rows] + TOL * norms[rows]
            rows, z = rows[open_rows], z[open_rows]
            costs = cluster.solve(z, R[rows], kept[rows])
            best = coded.costs[rows]
            won = (costs < best) | ((costs == best) & (c < coded.labels[rows]))
            rows = rows[won]
            coded.put(rows, c, costs[won], *cluster.expand(z[won], C[rows]))
        return coded

    def stay(self, X: NDArray[Any], labels: Labels) -> Coded:
        """Codes of rows under the clusters that they have."""
        return self._coded(*self.products(X), labels)

    def _coded(self, C: NDArray[Any], norms: Floats, labels: Labels) -> Coded:
        coded = Coded.empty(len(C), self.k, self.n_common, C.dtype)
        for c in np.unique(labels):
            cluster, rows = self.clusters[c], np.flatnonzero(labels == c)
            mine = C[rows]
            z = cluster.start(np.zeros((len(rows), self.n_common), dtype=C.dtype))
            coded.put(rows, c, cluster.solve(z, *cluster.reduce(mine, norms[rows])), *cluster.expand(z, mine))
        return coded


@dataclass(frozen=True)
class Coded:
    """Rows under their clusters: labels (n,), codes (n, k) and (n, K₀), costs (n,)."""

    labels: Labels
    own: NDArray[Any]
    common: NDArray[Any]
    costs: Floats

    @staticmethod
    def empty(n: int, k: int, n_common: int, dtype: Any) -> Coded:
        own, common = np.zeros((n, k), dtype=dtype), np.zeros((n, n_common), dtype=dtype)
        return Coded(np.zeros(n, dtype=np.int64), own, common, np.full(n, np.inf))

    def put(self, rows: Labels, c: int, costs: Floats, own: NDArray[Any], common: NDArray[Any]) -> None:
        self.labels[rows], self.costs[rows] = c, costs
        self.own[rows], self.common[rows] = own, common

    def take(self, rows: Labels) -> Coded:
        return Coded(self.labels[rows], self.own[rows], self.common[rows], self.costs[rows])


def code_rows(X: NDArray[Any], coder: Coder, guess: Labels | None) -> Coded:
    """``Coder.assign`` for any number of rows, on all threads."""
    coded = Coded.empty(len(X), coder.k, coder.n_common, coder.stacked.dtype)

    def part(start: int, stop: int) -> None:
        found = coder.assign(np.ascontiguousarray(X[start:stop]), None if guess is None else guess[start:stop])
        coded.labels[start:stop], coded.costs[start:stop] = found.labels, found.costs
        coded.own[start:stop], coded.common[start:stop] = found.own, found.common

    run_rows(part, len(X), max_rows=BLOCK_ROWS // 32)
    return coded


def row_costs(X: NDArray[Any], coder: Coder) -> Floats:
    """``Coder.costs`` for any number of rows, on all threads."""
    out = np.empty((len(X), coder.C))

    def part(start: int, stop: int) -> None:
        out[start:stop] = coder.costs(np.ascontiguousarray(X[start:stop]))

    run_rows(part, len(X), max_rows=BLOCK_ROWS // 32)
    return out


@dataclass
class Sums:
    """What atom steps need to know of the rows, cluster by cluster; sums of blocks of rows add up.

    counts : (C,) rows
    products : (C, k + K₀, d) codes × rows
    grams : (C, k + K₀, k + K₀) codes × codes
    cost : Σ of the rows' costs
    """

    counts: Floats
    products: Floats
    grams: Floats
    cost: float

    @staticmethod
    def zero(dictionary: Dictionary) -> Sums:
        """Of no rows."""
        C, k, d = dictionary.atoms.shape
        return Sums.of_shape(C, k + len(dictionary.common), d)

    @staticmethod
    def of_shape(C: int, size: int, d: int) -> Sums:
        return Sums(np.zeros(C), np.zeros((C, size, d)), np.zeros((C, size, size)), 0.0)

    def copy(self) -> Sums:
        return Sums(self.counts.copy(), self.products.copy(), self.grams.copy(), self.cost)

    def clear(self, clusters: NDArray[np.bool_]) -> None:
        """No rows at all, where taking the last of them away has left round-off."""
        self.products[clusters] = self.grams[clusters] = 0.0

    def add(self, other: Sums, weight: float = 1.0) -> None:
        """Take other rows in, each of which counts ``weight``."""
        self.counts += weight * other.counts
        self.products += weight * other.products
        self.grams += weight * other.grams
        self.cost += weight * other.cost


def sums_of(X: NDArray[Any], coded: Coded, C: int) -> Sums:
    """The sums of one block; each cluster's in one order, whatever the number of threads."""
    codes = np.hstack([coded.own, coded.common])
    sums = Sums.of_shape(C, codes.shape[1], X.shape[1])
    sums.cost = float(coded.costs.sum())
    order = np.argsort(coded.labels, kind="stable")
    ends = np.searchsorted(coded.labels[order], np.arange(C + 1))

    def part(first: int, last: int) -> None:
        for c in range(first, last):
            members = order[ends[c] : ends[c + 1]]
            sums.counts[c] = len(members)
            for start in range(0, len(members), GATHER_ROWS):
                rows = members[start : start + GATHER_ROWS]
                sums.products[c] += codes[rows].T @ X[rows]
                sums.grams[c] += codes[rows].T @ codes[rows]

    run_rows(part, C, min_rows=1)
    return sums


def code_pass(X: NDArray[Any], coder: Coder, labels: Labels | None) -> tuple[Sums, Labels, Floats]:
    """One pass over all rows, block by block: their sums, labels and costs."""
    total: Sums | None = None
    new, costs = np.empty(len(X), dtype=np.int64), np.empty(len(X))
    for rows in row_blocks(len(X)):
        block = np.asarray(X[rows])
        coded = code_rows(block, coder, None if labels is None else labels[rows])
        part = sums_of(block, coded, coder.C)
        if total is None:
            total = part
        else:
            total.add(part)
        new[rows], costs[rows] = coded.labels, coded.costs
    assert total is not None
    return total, new, costs


def row_blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, BLOCK_ROWS):
        yield slice(start, min(n, start + BLOCK_ROWS))
