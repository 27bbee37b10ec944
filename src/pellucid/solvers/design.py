"""Multitask basis pursuit as an optimal design (paper 5, Eq. 21): one D×D unknown instead of P×D.

The pursuit   min ‖β‖₁,₂ : Wβ = I   and its penalised form   min ‖β‖₁,₂ + ‖I − Wβ‖²/(2λ)   share one dual,

    max  tr V − λ/2 ‖V‖²   over symmetric V with ‖V w_p‖ ≤ 1 for every column,

whose multipliers η ≥ 0 are the weights of an A-optimal design: M = Σ η_p w_p w_pᵀ + λI, V = M⁻¹, β_p = η_p V w_p.
The dual is followed along its central path by Newton steps on the D(D+1)/2 entries of V. Only columns that have once
been in the way take part in a step; all of them limit its length, so V is feasible, and its value a bound, throughout.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from pellucid.solvers._cholesky import Floats, Ints, kernel
from pellucid.solvers._threads import one_blas_thread, run_rows

# columns looked at together: the block and its product stay in the cache
BLOCK = 1 << 13
# numbers in a block of gradients
CHUNK = 1 << 20
# a step ends where the nearest constraint keeps this share of its slack
KEPT_SLACK = 0.02
# and this share of the way to a column that has not taken part
RETREAT = 0.7
# every product of weight and slack stays above this share of their mean
CENTRED = 1e-3
# a step shorter than this leads nowhere
SHORTEST = 1e-8
# a column with less than this share of the mean weight may be let go
IDLE = 1e-2
# columns of this length lead to systems that one thread solves faster
SMALL = 24


class Columns:
    """The columns w_p = scale_p·x_p of X (D, P), never copied as a whole unless they are few."""

    def __init__(self, X: NDArray[Any], scale: Floats) -> None:
        self.X, self.scale = X, scale
        self.dimension, self.count = X.shape
        self.few: Floats | None = self.take(slice(None)) if self.count <= BLOCK else None

    def take(self, index: Ints | slice) -> Floats:
        return np.asarray(self.X[:, index] * self.scale[index], dtype=np.float64)

    def lengths(self, V: Floats) -> Floats:
        """‖V w_p‖² of every column."""
        if self.few is not None:
            return _squares(V @ self.few)
        out = np.empty(self.count)

        def part(start: int, stop: int) -> None:
            product = V @ self.take(slice(start, stop))
            np.einsum("ij,ij->j", product, product, out=out[start:stop])

        run_rows(part, self.count, min_rows=BLOCK, max_rows=BLOCK)
        return out

    def second_moment(self) -> Floats:
        """Σ w_p w_pᵀ."""
        total = np.zeros((self.dimension, self.dimension))
        for start in range(0, self.count, BLOCK):
            block = self.take(slice(start, start + BLOCK))
            total += block @ block.T
        return total


@dataclass(frozen=True)
class Design:
    """A solution of the dual with its certificate.

    V : (D, D) symmetric, ‖V w_p‖ ≤ 1 for all columns
    index, weights : the columns that took part and their η
    objective : value of the primal solution that the weights make, β_p = η_p M⁻¹w_p
    gap : how much of it, at most, is above the optimum (relative)
    history : the objective after each Newton step
    """

    V: Floats
    index: Ints
    weights: Floats
    objective: float
    gap: float
    history: tuple[float, ...]


class Symmetric:
    """Symmetric D×D matrices as vectors of their D(D+1)/2 entries, with the same inner product."""

    def __init__(self, dimension: int) -> None:
        self.i, self.j = np.triu_indices(dimension)
        self.factor = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        self.size = len(self.i)

    def vector(self, matrix: Floats) -> Floats:
        return np.asarray(matrix[self.i, self.j] * self.factor)

    def matrix(self, vector: Floats, dimension: int) -> Floats:
        out = np.empty((dimension, dimension))
        out[self.i, self.j] = out[self.j, self.i] = vector / self.factor
        return out

    def products(self, A: Floats, B: Floats) -> Floats:
        """½(a bᵀ + b aᵀ) of the columns of A and B, one vector a column: (size, n)."""
        out = A[self.i] * B[self.j]
        out += A[self.j] * B[self.i]
        out *= 0.5 * self.factor[:, None]
        return np.asarray(out)


class Gradients:
    """The symmetric matrices ½(v_p w_pᵀ + w_p v_pᵀ) as rows of a matrix B (n, D(D+1)/2) that is never stored whole.
    With v = Vw they are half the gradients of ‖V w_p‖²."""

    def __init__(self, symmetric: Symmetric, v: Floats, w: Floats) -> None:
        self.symmetric, self.v, self.w = symmetric, v, w
        self.rows = max(64, CHUNK // symmetric.size)

    def gram(self, weights: Floats) -> Floats:
        """Upper triangle of Bᵀ diag(weights) B."""
        total = np.zeros((self.symmetric.size, self.symmetric.size), order="F")
        root = np.sqrt(weights)
        for start in range(0, len(weights), self.rows):
            part = slice(start, start + self.rows)
            block = self.symmetric.products(self.v[:, part] * root[part], self.w[:, part])
            total = dsyrk(1.0, block.T, trans=1, beta=1.0, c=total, overwrite_c=True)
        return total

    def sum(self, weights: Floats) -> Floats:
        """Bᵀ weights."""
        total = (self.v * weights) @ self.w.T
        return self.symmetric.vector(0.5 * (total + total.T))

    def dot(self, vector: Floats) -> Floats:
        """B vector."""
        return np.asarray(np.einsum("ij,ij->j", self.v, self.symmetric.matrix(vector, len(self.v)) @ self.w))


@kernel
def moment(W: Floats, weights: Floats, ridge: float) -> Floats:
    """M = Σ η_p w_p w_pᵀ + λI."""
    M: Floats = (W * weights) @ W.T
    for i in range(len(M)):
        M[i, i] += ridge
    return M


@kernel
def primal_value(W: Floats, weights: Floats, ridge: float) -> float:
    """‖β‖₁,₂ (+ ‖I − Wβ‖²/2λ) of β_p = η_p M⁻¹w_p, for which I − Wβ = λM⁻¹."""
    values, vectors = np.linalg.eigh(moment(W, weights, ridge))
    if values[0] <= 1e-15 * values[-1]:
        return np.inf
    inverse = (vectors / values) @ vectors.T
    rows = inverse @ W
    total = 0.0
    for p in range(len(weights)):
        total += weights[p] * np.sqrt((rows[:, p] ** 2).sum())
    return float(total + 0.5 * ridge * (inverse**2).sum())


def dual_value(V: Floats, ridge: float) -> float:
    return float(np.trace(V) - 0.5 * ridge * np.square(V).sum())


def blas_threads(dimension: int) -> AbstractContextManager[None]:
    """Small systems are solved faster by one thread."""
    return one_blas_thread() if dimension <= SMALL else nullcontext()


@functools.cache
def symmetric_matrices(dimension: int) -> Symmetric:
    return Symmetric(dimension)


def follow_path(
    columns: Columns, ridge: float = 0.0, tol: float = 1e-9, max_iter: int = 200, start: Design | None = None
) -> Design:
    """Solve the dual to a relative gap of ``tol``; the columns must span the space unless ``ridge`` is positive.
    ``start`` is a point on the path from which to go on."""
    most = max(columns.dimension * (columns.dimension + 1), 256)
    if start is None:
        start = _start(columns, ridge, most)
    V, index, weights, history = start.V, start.index, start.weights, start.history
    W = columns.take(index)
    z = 1.0 - _squares(V @ W)
    best = start
    for _ in range(max_iter):
        try:
            towards, away = directions(V, W, weights, 2 * weights / z, 1 / z, ridge)
        except LinAlgError:  # no longer solvable in this precision: the last point is as good as it gets
            break
        dV, change, length = _step(V, W, weights, z, towards, away)
        V_new = V + length * dV
        s = columns.lengths(V_new)
        blocking = np.empty(0, dtype=np.int64)
        while s.max() >= 1.0 and length > SHORTEST:  # columns that do not take part are in the way: let them in
            worst = _largest(np.flatnonzero(s >= 1.0), s, most)
            length = RETREAT * _first_reached(V, dV, columns.take(worst))
            V_new = V + length * dV
            s = columns.lengths(V_new)
            blocking = np.union1d(blocking, worst)
        if length <= SHORTEST:  # at the boundary to within round-off
            break
        V, weights = V_new, weights + length * change
        if index.size < columns.count:
            index, weights = _change_of_staff(index, weights, np.setdiff1d(blocking, index), s, most)
            W = columns.take(index)
        z = 1.0 - s[index]
        objective = primal_value(W, weights, ridge)
        history += (objective,)
        gap = max(0.0, 1.0 - dual_value(V, ridge) / objective)
        if gap < best.gap:
            best = Design(V, index, weights, objective, gap, history)
        if gap <= tol or z.min() <= 1e-15:
            break
    return best


def _start(columns: Columns, ridge: float, most: int) -> Design:
    """A feasible V, shaped as the inverse of the columns' second moment, halfway to the nearest constraint; the columns
    nearest to theirs take part, all if they are few."""
    values, vectors = np.linalg.eigh(columns.second_moment() / columns.count)
    V = (vectors / np.maximum(values, 1e-3 * values[-1])) @ vectors.T
    s = columns.lengths(V)
    shrink = np.sqrt(0.5 / s.max())
    if ridge:  # past 1/λ the dual falls again
        shrink = min(shrink, 0.5 / (ridge * np.linalg.norm(V, 2)))
    V *= shrink
    everyone = columns.count <= max(2 * most, 1000)
    index = np.arange(columns.count) if everyone else np.sort(np.argpartition(s, -most)[-most:])
    W = columns.take(index)
    weights = 1.0 / (1.0 - _squares(V @ W))
    weights *= (columns.dimension - ridge * np.trace(V)) / (weights @ np.einsum("ij,ij->j", W, V @ W))
    return Design(V, index, weights, np.inf, np.inf, ())


def _squares(W: Floats) -> Floats:
    """Squared lengths of columns."""
    return np.asarray(np.einsum("ij,ij->j", W, W))


def directions(
    V: Floats, W: Floats, weights: Floats, curvature: Floats, pull: Floats, ridge: float
) -> tuple[Floats, Floats]:
    """Two solutions X of ½(MX + XM) + Σ curvature_p ⟨B_p, X⟩ B_p = R, with 2B_p the gradient of ‖V w_p‖²: for
    R = I − λV and for R = Σ pull_p B_p.

    With curvature 2η/z and pull 1/z the Newton direction towards ½(MV + VM) = I, η_p z_p = μ is the first minus μ times
    the second. In the eigenbasis of M the first term is diagonal.
    """
    symmetric = symmetric_matrices(len(V))
    if len(V) <= SMALL:
        return _small_directions(V, W, weights, curvature, pull, ridge, symmetric.i, symmetric.j, symmetric.factor)
    values, Q = np.linalg.eigh(moment(W, weights, ridge))
    B = Gradients(symmetric, Q.T @ V @ W, Q.T @ W)
    H = B.gram(curvature)
    H[np.diag_indices_from(H)] += 0.5 * (values[symmetric.i] + values[symmetric.j])
    right = np.column_stack([symmetric.vector(np.eye(len(V)) - ridge * (Q.T @ V @ Q)), B.sum(pull)])
    solved = cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), right, check_finite=False)
    first, second = (Q @ symmetric.matrix(part, len(V)) @ Q.T for part in solved.T)
    return first, second


@kernel
def _small_directions(
    V: Floats,
    W: Floats,
    weights: Floats,
    curvature: Floats,
    pull: Floats,
    ridge: float,
    first: Ints,
    second: Ints,
    factor: Floats,
) -> tuple[Floats, Floats]:
    """The same in one compiled piece, since small systems cost less than the calls that set them up."""
    D, n, size = len(V), len(pull), len(first)
    values, Q = np.linalg.eigh(moment(W, weights, ridge))
    w = Q.T @ W
    rotated = Q.T @ V @ Q
    v = rotated @ w
    B = np.empty((size, n))
    right = np.zeros((size, 2))
    for k in range(size):
        i, j = first[k], second[k]
        right[k, 0] = factor[k] * ((1.0 if i == j else 0.0) - ridge * rotated[i, j])
        for p in range(n):
            entry = 0.5 * factor[k] * (v[i, p] * w[j, p] + v[j, p] * w[i, p])
            right[k, 1] += entry * pull[p]
            B[k, p] = entry * np.sqrt(curvature[p])
    H = B @ B.T
    for k in range(size):
        H[k, k] += 0.5 * (values[first[k]] + values[second[k]])
    solved = np.linalg.solve(H, right)
    towards, away = np.empty((D, D)), np.empty((D, D))
    for k in range(size):
        i, j = first[k], second[k]
        towards[i, j] = towards[j, i] = solved[k, 0] / factor[k]
        away[i, j] = away[j, i] = solved[k, 1] / factor[k]
    return Q @ towards @ Q.T, Q @ away @ Q.T


@kernel
def _step(
    V: Floats, W: Floats, weights: Floats, z: Floats, towards: Floats, away: Floats
) -> tuple[Floats, Floats, float]:
    """Direction of V and of the weights for a μ that a trial step towards μ = 0 suggests, and how far to go: inside
    all constraints of these columns, and not too far from the central path."""
    n = len(z)
    mu = 0.0
    for p in range(n):
        mu += weights[p] * z[p] / n
    now = V @ W
    dV = towards
    target = 0.0
    change = np.empty(n)
    for attempt in range(2):
        if attempt:
            dV = towards - target * away
        ahead = dV @ W
        square, cross = np.zeros(n), np.zeros(n)
        for k in range(len(V)):
            for p in range(n):
                square[p] += ahead[k, p] * ahead[k, p]
                cross[p] += now[k, p] * ahead[k, p]
        length = 1.0
        for p in range(n):
            change[p] = (target - weights[p] * z[p] + 2 * weights[p] * cross[p]) / z[p]
            length = min(length, (1 - KEPT_SLACK) * reach(square[p], cross[p], z[p]))
            if change[p] < 0:
                length = min(length, -0.995 * weights[p] / change[p])
        if attempt == 0:
            reached = 0.0
            for p in range(n):
                reached += (weights[p] + length * change[p]) * (z[p] - length * (2 * cross[p] + length * square[p])) / n
            target = mu * max(min(1.0, abs(reached) / mu) ** 3, 1e-6)
    for _ in range(30):
        least, mean = np.inf, 0.0
        for p in range(n):
            product = (weights[p] + length * change[p]) * (z[p] - length * (2 * cross[p] + length * square[p]))
            least = min(least, product)
            mean += product / n
        if least >= CENTRED * mean:
            break
        length *= 0.8
    return dV, change, length


@kernel
def reach(square: float, cross: float, slack: float) -> float:
    """The t > 0 at which slack − 2t·cross − t²·square = 0."""
    root = np.sqrt(max(cross * cross + square * slack, 0.0))
    if cross > 0:
        return float(slack / (cross + root))
    return float((root - cross) / square) if square > 0 else np.inf


def _first_reached(V: Floats, dV: Floats, W: Floats) -> float:
    """The t at which the first of these columns meets ‖(V + t dV)w‖ = 1."""
    now, ahead = V @ W, dV @ W
    parts = (np.einsum("ij,ij->j", *pair) for pair in ((ahead, ahead), (now, ahead), (now, now)))
    return min(reach(square, cross, 1.0 - s) for square, cross, s in zip(*parts))


def _largest(index: Ints, s: Floats, most: int) -> Ints:
    return index if index.size <= most else index[np.argpartition(-s[index], most)[:most]]


def _change_of_staff(index: Ints, weights: Floats, fresh: Ints, s: Floats, most: int) -> tuple[Ints, Floats]:
    """Let in the ``fresh`` columns with about the weights that the central path would give them, and let go of those
    that have next to none; one that was let go wrongly will be in the way again."""
    mu = float(weights @ (1.0 - s[index])) / len(index)
    keep = np.ones(len(index), dtype=bool) if index.size < most // 2 else weights > IDLE * weights.mean()
    start = np.minimum(mu / (1.0 - s[fresh]), 0.1 * weights.mean())  # more would upset the others
    joined = np.concatenate([index[keep], fresh])
    order = np.argsort(joined)
    return joined[order], np.concatenate([weights[keep], start])[order]
