"""Which concepts a row has: a calibrated probability for each. All rows here are prepared already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pellucid._core.arrays import Floats, Ints, unit_rows
from pellucid.concepts.crosswise import BINS, PER_UNIT, bin_centres, bins_of, calibrated, learn_crosswise
from pellucid.concepts.labels import Indicator
from pellucid.concepts.logistic import logits
from pellucid.rows import Blocks

# numbers in the rows that presence is learned from, at most: more rows would tell little more
NUMBERS = 1 << 26
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


def learn_presence(X: Blocks, Y: Any, rng: np.random.RandomState, groups: Ints | None = None) -> Presence:
    """Learn the regressions, and what rows that they were not learned from say of them.

    Parameters
    ----------
    X : Blocks of shape (n, d)
        Prepared rows; of more than ``NUMBERS`` numbers, some rows that are drawn at random.
    Y : ndarray of bool of shape (n, S) or Blocks
        Their concepts.
    rng : numpy.random.RandomState
        Draws rows and folds.
    groups : ndarray of int of shape (n,), default=None
        Rows of one group are never on both sides of a fold.

    Returns
    -------
    Presence
        Regressions, calibration, thresholds and counts.
    """
    data, has, groups = drawn_rows(X, Y, rng, groups)
    found = learn_crosswise(data, has, rng, groups)
    whole, counts = found.whole, found.counts()
    calibration = calibrated(counts)
    threshold = best_thresholds(counts, calibration)
    some = data[np.sort(rng.permutation(len(data))[:COSINE_ROWS])]
    return Presence(
        whole.coef, whole.intercept, calibration, threshold, counts, np.array([WEIGHT * cosine_spread(some)])
    )


def drawn_rows(
    X: Blocks, Y: Any, rng: np.random.RandomState, groups: Ints | None = None
) -> tuple[NDArray[Any], Indicator, Ints | None]:
    """Rows at unit length, as many as there is room for, their concepts and groups."""
    most = max(1, NUMBERS // X.shape[1])
    index = np.arange(len(X)) if len(X) <= most else np.sort(rng.permutation(len(X))[:most])
    has = Y.take(index) != 0 if isinstance(Y, Blocks) else Y[index]
    return unit_rows(X.take(index)), has, None if groups is None else groups[index]


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
