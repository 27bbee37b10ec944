"""Regressions that are judged by rows they were not learned from: penalties, calibration, doubted labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from pellucid._core.arrays import Floats, Ints, unit_rows
from pellucid._core.callers import outside
from pellucid._core.threads import run_rows
from pellucid.concepts.labels import Indicator
from pellucid.concepts.logistic import Heads, Regressions, Rows, added, logits
from pellucid.rows import Blocks

# each row is judged by regressions that were learned without its fold
FOLDS = 5
# inverse penalties to choose from, the strongest penalty first
STRENGTHS = (1.0, 10.0, 100.0)
# rows that a penalty is chosen on, at most; and rows × concepts from which on two folds must do
CHOICE_ROWS, CHOICE_NUMBERS = 10_000, 200_000
# where there are so many, regressions that only judge stop when their loss could fall by no more than this share of it:
# far less than what it owes to chance
TOL, JUDGE_TOL = 1e-5, 1e-4
# logits are counted in bins of an eighth, from −16 to 16
BINS, PER_UNIT = 256, 8
# how often rows are judged by labels that were put right, and log-odds from which on a label is (four to one)
ROUNDS, TURNED = 3, np.log(4)
# what pulls a calibration to "as it is": as much as one row would
PRIOR = 1.0


@dataclass(frozen=True)
class Judge:
    """Regressions of the rows outside a fold: coefficients (S, d), intercepts (S,)."""

    coef: NDArray[Any]
    intercept: NDArray[Any]


@dataclass(frozen=True)
class Crosswise:
    """Regressions of all rows, and of the rows outside each fold: coefficients (folds, S, d), intercepts (folds, S)."""

    rows: Rows
    fold: NDArray[np.int8]
    whole: Regressions
    coef: NDArray[Any]
    intercept: NDArray[Any]

    def counts(self) -> Ints:
        """Rows by logits that their fold had no part in: (S, 2, BINS)."""
        found: Ints = self.rows.source.total(partial(counted, coef=self.coef, intercept=self.intercept))
        return found

    def logits(self, X: NDArray[Any]) -> NDArray[Any]:
        """These logits, of the rows (n, d) that were learned from."""
        out = np.empty((len(X), self.coef.shape[1]), dtype=X.dtype)
        for k in range(len(self.coef)):
            mine = self.fold == k
            out[mine] = logits(X[mine], self.coef[k], self.intercept[k])
        return out


def learn_crosswise(X: NDArray[Any], Y: Indicator, rng: np.random.RandomState, groups: Ints | None = None) -> Crosswise:
    """Learn regressions on rows of unit length, with penalties chosen for each concept, and again without each fold."""
    S, n_folds = Y.shape[1], min(FOLDS, max(2, len(X)))
    fold = drawn_folds(Y, n_folds, rng, groups)
    penalty, judges = chosen_penalties(X, Y, fold, n_folds, rng)
    rows = Rows(Blocks.held(X), Y, fold, n_folds)
    near = centred(np.mean([judge.coef for judge in judges], axis=0),
                   np.mean([judge.intercept for judge in judges], axis=0), rows.mean)  # fmt: skip
    whole = rows.learn(Heads(np.arange(S), penalty, np.full(S, -1)), near, TOL)
    if len(judges) == n_folds and len(X) <= CHOICE_ROWS:  # they are the regressions that are wanted
        coef, intercept = (np.stack([getattr(judge, name) for judge in judges]) for name in ("coef", "intercept"))
        converged, decrement = whole.converged, whole.decrement
    else:
        others = Heads(np.tile(np.arange(S), n_folds), np.tile(penalty, n_folds), np.repeat(np.arange(n_folds), S))
        start = centred(whole.coef, whole.intercept, rows.mean)
        apart = rows.learn(others, np.tile(start, (n_folds, 1)), JUDGE_TOL)
        coef, intercept = apart.coef.reshape(n_folds, S, -1), apart.intercept.reshape(n_folds, S)
        converged, decrement = whole.converged and apart.converged, max(whole.decrement, apart.decrement)
    if not converged:
        said = f"Presence did not converge: its loss could fall by {decrement:.1g} of itself."
        warnings.warn(said, stacklevel=outside())
    return Crosswise(rows, fold, whole, coef, intercept)


def centred(coef: Floats, intercept: Floats, mean: Floats) -> Floats:
    """Coefficients and, beside them, intercepts for rows whose mean is taken out."""
    return np.column_stack([coef, intercept + coef @ mean])


def doubted(
    X: NDArray[Any], Y: Indicator, rng: np.random.RandomState, groups: Ints | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Logits (n, S) of rows, each by regressions that were learned without it, and log-odds that its label is wrong.

    As if as many rows lacked a label as have one too many: half of the prior comes off. Labels that are very doubtful
    are turned over for the next round, so that they no longer teach what they ought to be judged by; what all rounds
    say counts alike.
    """
    data, believed = unit_rows(X), Y
    odds, against = np.zeros(Y.shape), np.zeros(Y.shape)
    for i in range(ROUNDS):
        found = learn_crosswise(data, believed, rng, groups)
        slope, shift = calibrated(found.counts()).T
        logit = slope * found.logits(data) + shift
        share = (believed.sum(axis=0) + 0.5) / (len(Y) + 1)
        odds += logit / ROUNDS
        against += np.where(Y, -1, 1) * (logit - 0.5 * np.log(share / (1 - share))) / ROUNDS
        turned = against * ROUNDS / (i + 1) > TURNED
        # a concept of which so much would be turned over is not told well enough for that
        known = [(2 * (turned & side).sum(axis=0) <= side.sum(axis=0)) for side in (Y, ~Y)]
        believed = Y ^ (turned & known[0] & known[1])
    return odds, against


def drawn_folds(Y: Indicator, n_folds: int, rng: np.random.RandomState, groups: Ints | None = None) -> NDArray[np.int8]:
    """A fold for each row (n,), or for each group of rows, so that each has its share of every concept, the rarest
    first."""
    if groups is not None:
        some = np.zeros((int(groups.max()) + 1, Y.shape[1]), dtype=bool)
        np.logical_or.at(some, groups, Y)
        return drawn_folds(some, n_folds, rng)[groups]
    fold, turn = np.full(len(Y), -1, dtype=np.int8), 0
    for j in [*np.argsort(Y.sum(axis=0), kind="stable"), None]:
        open_rows = fold < 0 if j is None else (fold < 0) & Y[:, j]
        rows = rng.permutation(np.flatnonzero(open_rows))
        fold[rows] = (turn + np.arange(len(rows))) % n_folds
        turn += len(rows)
    return fold


def chosen_penalties(
    X: NDArray[Any], Y: Indicator, fold: NDArray[np.int8], n_folds: int, rng: np.random.RandomState
) -> tuple[Floats, list[Judge]]:
    """For each concept the strongest penalty whose loss, on rows not learned from, is within a standard error of the
    least; and the regressions with these penalties that judged it, each without a fold."""
    index = np.sort(rng.permutation(len(X))[:CHOICE_ROWS])
    data, has, fold = X[index], Y[index], fold[index]
    S = has.shape[1]
    judges = n_folds if has.size <= CHOICE_NUMBERS else 2
    rows = Rows(Blocks.held(data), has, fold, n_folds)
    tol = TOL if judges == n_folds else JUDGE_TOL
    coef = np.zeros((len(STRENGTHS), judges, S, data.shape[1]))
    intercept = np.zeros((len(STRENGTHS), judges, S))
    open_to = np.arange(S)  # weaker penalties
    for c, strength in enumerate(STRENGTHS):
        left_out, which = (part.ravel() for part in np.indices((judges, len(open_to))))
        concept, before = open_to[which], None
        if c:  # from where the stronger penalty ended, which stays where it judged better
            coef[c], intercept[c] = coef[c - 1], intercept[c - 1]
            before = centred(coef[c, left_out, concept], intercept[c, left_out, concept], rows.mean)
        found = rows.learn(Heads(concept, np.full(len(concept), 1 / strength), left_out), before, tol)
        coef[c, left_out, concept], intercept[c, left_out, concept] = found.coef, found.intercept
        if 0 < c < len(STRENGTHS) - 1:
            sums = sum(
                loss.sum(axis=1) for loss in judged(data, has, fold, coef[c - 1 : c + 1], intercept[c - 1 : c + 1])
            )
            open_to = np.flatnonzero(sums[1] < sums[0])
    sums, squares, n = np.zeros((len(STRENGTHS), S)), np.zeros((len(STRENGTHS), len(STRENGTHS), S)), 0
    for loss in judged(data, has, fold, coef, intercept):
        sums += loss.sum(axis=1)
        squares += np.square(loss[:, None] - loss[None]).sum(axis=2)
        n += loss.shape[1]
    best = sums.argmin(axis=0)
    worse = (sums - sums.min(axis=0)) / n
    spread = np.take_along_axis(squares, best[None, None, :], axis=1)[:, 0] / n - worse**2
    chosen = (worse <= np.sqrt(np.maximum(spread, 0) / n)).argmax(axis=0)
    concepts = np.arange(S)
    return (
        np.asarray(1 / np.array(STRENGTHS)[chosen]),
        [Judge(coef[chosen, k, concepts], intercept[chosen, k, concepts]) for k in range(judges)],
    )


def judged(
    X: NDArray[Any], Y: Indicator, fold: NDArray[np.int8], coef: Floats, intercept: Floats
) -> Iterator[NDArray[Any]]:
    """Losses (C, rows, S) of rows by regressions (C, folds, S, …) that were learned without their fold, some at a
    time."""
    for k in range(coef.shape[1]):
        for mine in np.array_split(np.flatnonzero(fold == k), 1 + Y.size // CHOICE_NUMBERS):
            signs = np.where(Y[mine], -1.0, 1.0)
            yield np.stack([
                np.logaddexp(0, signs * logits(X[mine], w[k], b[k])) for w, b in zip(coef, intercept)
            ])  # fmt: skip


def counted(block: Any, coef: Floats, intercept: Floats) -> Ints:
    """Counts (S, 2, BINS) of a block ((rows, labels), folds) by logits that their fold had no part in."""
    (data, has), fold = block
    S, found = has.shape[1], {}

    def part(start: int, stop: int) -> None:
        total = np.zeros(S * 2 * BINS, dtype=np.int64)
        for k in np.unique(fold[start:stop]):
            mine = start + np.flatnonzero(fold[start:stop] == k)
            cell = bins_of(logits(data[mine], coef[k], intercept[k])) + BINS * (has[mine] + 2 * np.arange(S))
            total += np.bincount(cell.ravel(), minlength=len(total))
        found[start] = total.reshape(S, 2, BINS)

    run_rows(part, len(data), min_rows=1024, max_rows=8192)
    return np.asarray(added(found))


def bins_of(values: NDArray[Any]) -> Ints:
    """The bins of logits; the outermost hold all that is beyond."""
    return np.asarray(np.clip(np.floor(values * PER_UNIT) + BINS // 2, 0, BINS - 1).astype(np.int64))


def bin_centres() -> Floats:
    return (np.arange(BINS) - BINS // 2 + 0.5) / PER_UNIT


def calibrated(counts: Ints, steps: int = 50) -> Floats:
    """Slope and intercept (S, 2) for each concept's logits z: the most likely a·z + b, pulled to a = 1 and b = 0 as by
    a row (Platt's scaling, by Newton's method)."""
    z, (without, having) = bin_centres(), (counts[:, 0], counts[:, 1])
    n = without + having
    found = np.tile([1.0, 0.0], (len(counts), 1))
    design = np.stack([z, np.ones_like(z)])

    def loss(values: Floats) -> Floats:
        line = values @ design
        p = np.clip(expit(line), 1e-12, 1 - 1e-12)
        data = -(xlogy(having, p) + xlog1py(without, -p)).sum(axis=1)
        return np.asarray(data + 0.5 * PRIOR * ((values - [1.0, 0.0]) ** 2).sum(axis=1))

    before, step = loss(found), np.ones(len(counts))
    for _ in range(steps):
        p = expit(found @ design)
        slope = (n * p - having) @ design.T + PRIOR * (found - [1.0, 0.0])
        hessian = np.einsum("sb,ib,jb->sij", n * p * (1 - p), design, design) + PRIOR * np.eye(2)
        move = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        trial = found - step[:, None] * move
        after = loss(trial)
        fell = after <= before
        found, before = np.where(fell[:, None], trial, found), np.where(fell, after, before)
        step = np.where(fell, np.minimum(1.0, 2 * step), 0.5 * step)
        if np.abs(move).max() < 1e-9:
            break
    found[:, 0] = np.maximum(found[:, 0], 0.01)  # logits that mislead count for next to nothing, but keep their order
    return found
