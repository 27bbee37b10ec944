"""Logistic regressions for many concepts and folds at once: every pass over the rows serves all of them.

A *head* is one regression: min over (w, b) of Σ_i log(1 + exp(−s_i(w·x_i + b))) + ½λ‖w‖², s_i = ±1, over the rows that
are not in its fold. Rows x_i have unit length.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.rows import Blocks
from pellucid.solvers.quasi_newton import Minima, minimise_many

# a chunk of rows times heads has about this many numbers, and at most so many rows
CHUNK_NUMBERS, CHUNK_ROWS = 1 << 19, 2048
# rows that are too few for several threads of BLAS
FEW_ROWS = 512
# heads that are learned together: more would need more memory and be no faster
HEADS = 2048
# columns up to which all of the rows' covariance preconditions, not its diagonal alone
DECOMPOSED = 3072
# least mean of p(1 − p) that the preconditioner reckons with: where all rows are told apart it falls to nothing
LEAST_CURVATURE = 1e-3


@dataclass(frozen=True)
class Heads:
    """What is to be learned: for each head its concept, its penalty λ, and the fold that it leaves out (−1: none)."""

    concept: Ints
    penalty: Floats
    left_out: Ints

    def some(self, which: Ints) -> Heads:
        return Heads(self.concept[which], self.penalty[which], self.left_out[which])

    def __len__(self) -> int:
        return len(self.concept)


@dataclass(frozen=True)
class Regressions:
    """Coefficients (H, d) and intercepts (H,) of heads, with the largest decrement that is left."""

    coef: Floats
    intercept: Floats
    decrement: float
    passes: int
    converged: bool


@dataclass
class RowSums:
    """Of rows: their number, sum and scatter about zero (or its diagonal), and counts by fold and concept."""

    count: Ints  # (folds,)
    members: Ints  # (folds, S)
    total: Floats  # (d,)
    squares: Floats  # (d, d) or (d,)

    def __iadd__(self, other: RowSums) -> RowSums:
        self.count += other.count
        self.members += other.members
        self.total += other.total
        self.squares += other.squares
        return self


@dataclass
class LossSums:
    """Of rows: each head's loss, its gradient, and Σ p(1 − p), the curvature."""

    loss: Floats
    gradient: Floats
    offset: Floats
    curvature: Floats

    def __iadd__(self, other: LossSums) -> LossSums:
        self.loss += other.loss
        self.gradient += other.gradient
        self.offset += other.offset
        self.curvature += other.curvature
        return self


class Rows:
    """Rows (n, d), who has which concept (n, S), and the fold of each row (n,), in blocks that go together."""

    def __init__(self, X: Blocks, Y: Any, fold: NDArray[np.int8], n_folds: int) -> None:
        self.source = X.beside(Y).beside(fold)
        self.width, self.n_folds = X.shape[1], n_folds
        sums: RowSums = self.source.total(partial(row_sums, n_folds=n_folds, whole=self.width <= DECOMPOSED))
        self.count, self.members = sums.count, sums.members
        n = int(sums.count.sum())
        self.mean = sums.total / n
        self.axes: Floats | None = None
        if sums.squares.ndim == 2:
            with one_blas_thread():
                spread, self.axes = np.linalg.eigh(sums.squares - n * np.outer(self.mean, self.mean))
        else:
            spread = sums.squares - n * self.mean**2
        self.spread = np.maximum(spread, 0)

    def having(self, heads: Heads) -> tuple[Ints, Ints]:
        """For each head, how many of its rows have the concept, and how many rows it has."""
        count, members = self.count.sum(), self.members.sum(axis=0)[heads.concept]
        inside = heads.left_out >= 0
        fold = np.maximum(heads.left_out, 0)
        return (
            members - np.where(inside, self.members[fold, heads.concept], 0),
            count - np.where(inside, self.count[fold], 0),
        )

    def learn(self, heads: Heads, start: Floats | None = None, tol: float = 1e-5) -> Regressions:
        """Learn all heads, so many at a time; those with nothing to tell apart have the same odds for everyone.
        ``start`` has coefficients, and intercepts for rows whose mean is taken out."""
        has, n = self.having(heads)
        found = np.zeros((len(heads), self.width + 1)) if start is None else np.array(start, dtype=np.float64)
        one_sided = (has == 0) | (has == n)
        found[one_sided] = 0
        found[:, -1] = np.where(one_sided | (start is None), np.log((has + 1) / (n - has + 1)), found[:, -1])
        decrement, passes, converged = 0.0, 0, True
        open_heads = np.flatnonzero(~one_sided)
        for part in np.array_split(open_heads, -(-len(open_heads) // HEADS)) if len(open_heads) else ():
            minima = self._minimise(heads.some(part), found[part], has[part] / n[part], n[part], tol)
            found[part] = minima.points
            decrement = max(decrement, float((minima.decrements / minima.values).max()))
            passes, converged = passes + minima.passes, converged and minima.converged
        coef = found[:, :-1]
        return Regressions(coef, found[:, -1] - coef @ self.mean, decrement, passes, converged)

    def _minimise(self, heads: Heads, start: Floats, rate: Floats, n: Ints, tol: float) -> Minima:
        """In centred rows, where coefficients and intercepts hardly meet: z = w·(x − mean) + b."""

        def evaluate(points: Floats, which: Ints) -> tuple[Floats, Floats]:
            coef, asked = points[:, :-1], heads.some(which)
            offset = points[:, -1] - coef @ self.mean
            sums: LossSums = self.source.total(partial(loss_sums, coef=coef, offset=offset, heads=asked))
            weight[which] = np.maximum(sums.curvature / n[which], LEAST_CURVATURE * rate[which] * (1 - rate[which]))
            value = sums.loss + 0.5 * asked.penalty * np.einsum("hd,hd->h", coef, coef)
            slope = sums.gradient - sums.offset[:, None] * self.mean + asked.penalty[:, None] * coef
            return value, np.column_stack([slope, sums.offset])

        weight = np.empty(len(heads))  # mean p(1 − p) of each head where it was evaluated last
        share = n / max(int(self.count.sum()), 1)

        def precondition(gradients: Floats, which: Ints) -> Floats:
            curvature = weight[which, None] * share[which, None] * self.spread + heads.penalty[which, None]
            slope = gradients[:, :-1]
            with one_blas_thread():
                inside = slope / curvature if self.axes is None else ((slope @ self.axes) / curvature) @ self.axes.T
            return np.column_stack([inside, gradients[:, -1] / (weight * n)[which]])

        return minimise_many(evaluate, start, precondition, tol=tol)


def row_sums(block: Any, n_folds: int, whole: bool) -> RowSums:
    """What preconditioning needs of a block ((rows, labels), folds)."""
    (rows, has), fold = block
    found: dict[int, RowSums] = {}

    def part(start: int, stop: int) -> None:
        X, Y, k = rows[start:stop].astype(np.float64), has[start:stop], fold[start:stop]
        members = np.stack([Y[k == i].sum(axis=0, dtype=np.int64) for i in range(n_folds)])
        squares = X.T @ X if whole else np.einsum("ij,ij->j", X, X)
        found[start] = RowSums(np.bincount(k, minlength=n_folds), members, X.sum(axis=0), squares)

    run_rows(part, len(rows), min_rows=4096)
    total: RowSums = added(found)
    return total


def loss_sums(block: Any, coef: Floats, offset: Floats, heads: Heads) -> LossSums:
    """Loss and gradient of every head on a block; the number of threads changes no bit."""
    (rows, has), fold = block
    W, b = coef.T.astype(rows.dtype), offset.astype(rows.dtype)
    found: dict[int, LossSums] = {}

    def part(start: int, stop: int) -> None:
        X = rows[start:stop]
        Z = X @ W
        Z += b
        label = has[start:stop][:, heads.concept]
        loss, wrong = losses(Z, label)
        for k in np.unique(heads.left_out[heads.left_out >= 0]):
            outside = np.ix_(np.flatnonzero(fold[start:stop] == k), np.flatnonzero(heads.left_out == k))
            loss[outside], wrong[outside] = 0, 0
        curvature = np.abs(wrong)
        offset = wrong.sum(axis=0, dtype=np.float64)
        curvature -= curvature**2
        gradient = (wrong.T @ X).astype(np.float64)
        found[start] = LossSums(
            loss.sum(axis=0, dtype=np.float64), gradient, offset, curvature.sum(axis=0, dtype=np.float64)
        )

    size = int(np.clip(CHUNK_NUMBERS // max(1, len(b)), 256, CHUNK_ROWS))
    with one_blas_thread():
        run_rows(part, len(rows), min_rows=size, max_rows=size)
    sums: LossSums = added(found)
    return sums


def losses(Z: NDArray[Any], has: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """log(1 + exp(−sz)) and its derivative by z, for s = 1 where a row has the concept and −1 elsewhere."""
    np.negative(Z, out=Z, where=has)  # now −sz
    small = np.exp(-np.abs(Z))
    near = 1 / (1 + small)  # the probability of the likelier side
    loss = np.maximum(Z, 0) - np.log(near)
    wrong = np.where(Z >= 0, near, small * near)
    np.negative(wrong, out=wrong, where=has)
    return loss, wrong


def added(found: dict[int, Any]) -> Any:
    first, *others = (found[start] for start in sorted(found))
    for other in others:
        first += other
    return first


def logits(X: NDArray[Any], coef: NDArray[Any], intercept: NDArray[Any]) -> NDArray[Any]:
    """w·x + b for rows and heads (n, H)."""
    with one_blas_thread() if len(X) < FEW_ROWS else nullcontext():  # threads would take longer to come and go
        return np.asarray(X @ coef.T.astype(X.dtype) + intercept.astype(X.dtype))
