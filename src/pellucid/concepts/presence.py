"""Which concepts a row has: a calibrated probability for each. All rows here are prepared already."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from pellucid._core.arrays import Floats, Ints, unit_rows
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
# numbers in the rows that presence is learned from, at most: more rows would tell little more
NUMBERS = 1 << 26
# logits are counted in bins of an eighth, from −16 to 16
BINS, PER_UNIT = 256, 8
# what pulls a calibration to "as it is": as much as one row would
PRIOR = 1.0
# what a probability counts for in a search, in standard deviations of the cosine of two rows
WEIGHT = 5.5
# rows whose cosines with each other are looked at
COSINE_ROWS = 1000
# rows whose probabilities are computed at a time
BLOCK_ROWS = 16_384


@dataclass(frozen=True)
class Presence:
    """What tells which concepts a row has.

    Parameters
    ----------
    coef : ndarray of shape (S, d)
        Coefficients of a logistic regression per concept, on rows of unit length.
    intercept : ndarray of shape (S,)
        Their intercepts.
    calibration : ndarray of shape (S, 2)
        Slope and intercept that turn a logit into one that can be taken at its word.
    threshold : ndarray of shape (S,)
        Probability from which on a row counts as having the concept: the best F1 on rows not learned from.
    counts : ndarray of shape (S, 2, BINS)
        Rows by logit, those without the concept and those with it, each by regressions that were learned without it.
    weight : ndarray of shape (1,)
        What a probability counts for beside a cosine, in a search.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts.presence import learn_presence
    >>> from pellucid.rows import Blocks
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]] * 5)
    >>> found = learn_presence(Blocks.held(X), X > 0.5, np.random.RandomState(0))
    >>> found.has(np.array([[1.0, 0.2]])).tolist()
    [[True, False]]
    """

    coef: NDArray[Any]
    intercept: NDArray[Any]
    calibration: NDArray[Any]
    threshold: NDArray[Any]
    counts: NDArray[Any]
    weight: NDArray[Any]

    def logits(self, X: NDArray[Any]) -> NDArray[Any]:
        """Logits (n, S) as the regressions give them."""
        return logits(unit_rows(X), self.coef, self.intercept)

    def probabilities(self, X: NDArray[Any], which: Any = slice(None)) -> NDArray[Any]:
        """Calibrated probabilities (n, S) of rows, or of some concepts only.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Prepared rows.
        which : slice or ndarray of int, default=slice(None)
            The concepts.

        Returns
        -------
        ndarray of shape (n, S)
            Between 0 and 1.
        """
        slope, shift = self.calibration[which].T
        coef = slope[:, None] * self.coef[which]
        return _by_blocks(
            lambda rows: expit(logits(unit_rows(rows), coef, slope * self.intercept[which] + shift)),
            X,
            len(coef),
            X.dtype,
        )

    def has(self, X: NDArray[Any]) -> Indicator:
        """Which concepts rows have (n, S): those at their threshold or above it."""
        return np.asarray(self.probabilities(X) >= self.threshold.astype(X.dtype))

    def sets(self, X: NDArray[Any], coverage: float) -> NDArray[np.bool_]:
        """Which answers, no and yes, cannot be ruled out: (n, S, 2).

        Class-conditional conformal sets: an answer stays unless fewer than 1 − ``coverage`` of the rows for which it is
        right look as odd.
        """
        smaller, larger = self._quantiles()

        def odd(rows: NDArray[Any]) -> NDArray[np.bool_]:
            bins = bins_of(self.logits(rows))
            concept = np.arange(len(self.coef))
            return np.stack([larger[concept, bins], smaller[concept, bins]], axis=2) > 1 - coverage

        return _by_blocks(odd, X, (len(self.coef), 2), bool)

    def directions(self, which: Any = slice(None)) -> NDArray[Any]:
        """Vectors (S, d) whose products with unit rows are nearest to the probabilities, up to a constant, by least
        squares over the training rows."""
        n, z = self.counts[which].sum(axis=1), bin_centres()
        slope, shift = self.calibration[which].T
        likely = expit(slope[:, None] * z + shift[:, None])
        total = np.maximum(n.sum(axis=1, keepdims=True), 1)
        away = z - (n * z).sum(axis=1, keepdims=True) / total
        spread = (n * away**2).sum(axis=1)
        rise = (n * away * likely).sum(axis=1) / np.where(spread > 0, spread, 1)
        return np.asarray(rise[:, None] * self.coef[which])

    def _quantiles(self) -> tuple[Floats, Floats]:
        """For each concept and bin: the share of rows with it whose logit is no larger, and of rows without it whose
        logit is no smaller; the row itself counts in either."""
        total = self.counts.sum(axis=2, keepdims=True)
        below = (np.cumsum(self.counts, axis=2) + 1) / (total + 1)
        above = (np.cumsum(self.counts[:, :, ::-1], axis=2)[:, :, ::-1] + 1) / (total + 1)
        return below[:, 1], above[:, 0]


def learn_presence(X: Blocks, Y: Any, rng: np.random.RandomState) -> Presence:
    """Learn the regressions, and what rows that they were not learned from say of them.

    Parameters
    ----------
    X : Blocks of shape (n, d)
        Prepared rows; of more than ``NUMBERS`` numbers, some rows that are drawn at random.
    Y : ndarray of bool of shape (n, S) or Blocks
        Their concepts.
    rng : numpy.random.RandomState
        Draws rows and folds.

    Returns
    -------
    Presence
        Regressions, calibration, thresholds and counts.
    """
    data, has = drawn_rows(X, Y, rng)
    found = learn_crosswise(data, has, rng)
    whole, counts = found.whole, found.counts()
    calibration = calibrated(counts)
    threshold = best_thresholds(counts, calibration)
    some = data[np.sort(rng.permutation(len(data))[:COSINE_ROWS])]
    return Presence(
        whole.coef, whole.intercept, calibration, threshold, counts, np.array([WEIGHT * cosine_spread(some)])
    )


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


def learn_crosswise(X: NDArray[Any], Y: Indicator, rng: np.random.RandomState) -> Crosswise:
    """Learn regressions on rows of unit length, with penalties chosen for each concept, and again without each fold."""
    S, n_folds = Y.shape[1], min(FOLDS, max(2, len(X)))
    fold = drawn_folds(Y, n_folds, rng)
    penalty = chosen_penalties(X, Y, fold, n_folds, rng)
    rows = Rows(Blocks.held(X), Y, fold, n_folds)
    whole = rows.learn(Heads(np.arange(S), penalty, np.full(S, -1)))
    others = Heads(np.tile(np.arange(S), n_folds), np.tile(penalty, n_folds), np.repeat(np.arange(n_folds), S))
    start = np.column_stack([whole.coef, whole.intercept + whole.coef @ rows.mean])
    apart = rows.learn(others, np.tile(start, (n_folds, 1)))
    if not (whole.converged and apart.converged):
        warnings.warn(
            f"Presence did not converge: its loss could fall by {max(whole.decrement, apart.decrement):.1g} of itself.",
            stacklevel=5,
        )
    return Crosswise(rows, fold, whole, apart.coef.reshape(n_folds, S, -1), apart.intercept.reshape(n_folds, S))


def unseen_logits(X: NDArray[Any], Y: Indicator, rng: np.random.RandomState) -> NDArray[Any]:
    """Calibrated logits (n, S) of rows, each by regressions that were learned without it."""
    data = unit_rows(X)
    found = learn_crosswise(data, Y, rng)
    slope, shift = calibrated(found.counts()).T
    return np.asarray(slope * found.logits(data) + shift)


def drawn_rows(X: Blocks, Y: Any, rng: np.random.RandomState) -> tuple[NDArray[Any], Indicator]:
    """Rows at unit length, as many as there is room for, and their concepts."""
    most = max(1, NUMBERS // X.shape[1])
    index = np.arange(len(X)) if len(X) <= most else np.sort(rng.permutation(len(X))[:most])
    has = Y.take(index) != 0 if isinstance(Y, Blocks) else Y[index]
    return unit_rows(X.take(index)), has


def drawn_folds(Y: Indicator, n_folds: int, rng: np.random.RandomState) -> NDArray[np.int8]:
    """A fold for each row (n,), so that each has its share of every concept, the rarest first."""
    fold, turn = np.full(len(Y), -1, dtype=np.int8), 0
    for j in [*np.argsort(Y.sum(axis=0), kind="stable"), None]:
        open_rows = fold < 0 if j is None else (fold < 0) & Y[:, j]
        rows = rng.permutation(np.flatnonzero(open_rows))
        fold[rows] = (turn + np.arange(len(rows))) % n_folds
        turn += len(rows)
    return fold


def chosen_penalties(
    X: NDArray[Any], Y: Indicator, fold: NDArray[np.int8], n_folds: int, rng: np.random.RandomState
) -> Floats:
    """For each concept the strongest penalty whose loss, on rows not learned from, is within a standard error of the
    least."""
    index = np.sort(rng.permutation(len(X))[:CHOICE_ROWS])
    data, has, fold = X[index], Y[index], fold[index]
    S = has.shape[1]
    judges = n_folds if has.size <= CHOICE_NUMBERS else 2
    rows = Rows(Blocks.held(data), has, fold, n_folds)
    apart = (len(STRENGTHS), judges, S)
    strength, left_out, concept = (part.ravel() for part in np.indices(apart))
    found = rows.learn(Heads(concept, 1 / np.array(STRENGTHS)[strength], left_out))
    coef, intercept = found.coef.reshape(*apart, -1), found.intercept.reshape(apart)
    sums = np.zeros((len(STRENGTHS), S))
    squares, n = np.zeros((len(STRENGTHS), len(STRENGTHS), S)), 0
    for k in range(judges):
        for mine in np.array_split(np.flatnonzero(fold == k), 1 + has.size // CHOICE_NUMBERS):
            signs = np.where(has[mine], -1.0, 1.0)
            loss = np.stack(
                [
                    np.logaddexp(0, signs * logits(data[mine], coef[c, k], intercept[c, k]))
                    for c in range(len(STRENGTHS))
                ]
            )
            sums += loss.sum(axis=1)
            squares += np.square(loss[:, None] - loss[None]).sum(axis=2)
            n += len(mine)
    best = sums.argmin(axis=0)
    worse = (sums - sums.min(axis=0)) / n
    spread = np.take_along_axis(squares, best[None, None, :], axis=1)[:, 0] / n - worse**2
    within = worse <= np.sqrt(np.maximum(spread, 0) / n)
    return np.asarray(1 / np.array(STRENGTHS)[within.argmax(axis=0)])


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


def best_thresholds(counts: Ints, calibration: Floats) -> Floats:
    """The calibrated probability for each concept from which on "yes" has the best F1; of equals the one nearest ½."""
    hits = np.cumsum(counts[:, 1, ::-1], axis=1)[:, ::-1]  # rows with the concept from a bin on
    said = np.cumsum(counts.sum(axis=1)[:, ::-1], axis=1)[:, ::-1]
    having = counts[:, 1].sum(axis=1, keepdims=True)
    f1 = 2 * hits / np.maximum(said + having, 1)
    edges = (np.arange(BINS) - BINS // 2) / PER_UNIT
    lines = calibration[:, :1] * edges + calibration[:, 1:]
    best = np.where(f1 >= f1.max(axis=1, keepdims=True) - 1e-12, np.abs(lines), np.inf).argmin(axis=1)
    return np.asarray(expit(np.take_along_axis(lines, best[:, None], axis=1)[:, 0]))


def cosine_spread(X: NDArray[Any]) -> float:
    """Standard deviation of the cosines of different unit rows; 1 where there is none."""
    cosines = (X @ X.T)[np.triu_indices(len(X), 1)]
    spread = float(cosines.std()) if len(cosines) else 0.0
    return spread if spread > 1e-6 else 1.0


def _by_blocks(function: Any, X: NDArray[Any], width: Any, dtype: Any) -> NDArray[Any]:
    """A function of rows, so many at a time."""
    out = np.empty((len(X), *np.atleast_1d(width)), dtype=dtype)
    for start in range(0, len(X), BLOCK_ROWS):
        out[start : start + BLOCK_ROWS] = function(X[start : start + BLOCK_ROWS])
    return out
