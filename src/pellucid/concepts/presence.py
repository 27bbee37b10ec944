"""A score beyond the paper's: the candidate's side counts too.

The paper ranks by cos(ṽ_j(x), c): only the query is projected. Two numbers per candidate and concept say the rest: how
long its own projection is, and how likely it has the concept at all. All rows here are prepared already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.cones import Cones, Names
from pellucid.concepts.labels import Indicator

# a projection shorter than this is mostly noise, so its direction is not trusted
SHORTEST = 0.1
# rows described at a time
BLOCK_ROWS = 16_384


def gate_features(cones: Cones, X: NDArray[Any]) -> NDArray[Any]:
    """What a gate looks at (n, d + 2S): the unit row, the lengths of its components and of its projections."""
    rows = unit_rows(X)
    return np.hstack([rows, cones.lengths(rows), cones.lengths(rows, partial=True)])


def learn_gates(features: NDArray[Any], Y: Indicator, C: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A logistic regression per concept: coefficients (S, d + 2S) and intercepts (S,)."""
    from sklearn.linear_model import LogisticRegression

    coef, intercept = np.zeros((Y.shape[1], features.shape[1])), np.empty(Y.shape[1])
    for j, has in enumerate(Y.T):
        if has.all() or not has.any():  # nothing to tell apart: the same odds for everyone (rule of succession)
            intercept[j] = np.log((has.sum() + 1) / ((~has).sum() + 1))
            continue
        with one_blas_thread():  # many products of one vector: a second thread only gets in the way
            regression = LogisticRegression(C=C, max_iter=2000).fit(features, has)
        coef[j], intercept[j] = regression.coef_[0], regression.intercept_[0]
    return coef, intercept


@dataclass(frozen=True)
class Gates:
    """How likely a row has each concept, and the score that asks for it.

    cones : the cones
    coef, intercept : (S, d + 2S), (S,) a logistic regression per concept on :func:`gate_features`
    mix, weight : the share μ of the plain cosine, and the weight λ of the likelihood
    """

    cones: Cones
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    mix: float
    weight: float

    def describe(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Likelihood of each concept, then length of each projection, of the unit rows: (n, 2S)."""
        S = len(self.cones.names)
        out = np.empty((len(X), 2 * S), dtype=np.float32)
        for start in range(0, len(X), BLOCK_ROWS):
            features = gate_features(self.cones, X[start : start + BLOCK_ROWS])
            block = out[start : start + BLOCK_ROWS]
            block[:, :S] = expit(features @ self.coef.T + self.intercept)
            block[:, S:] = features[:, -S:]
        return out

    def terms(
        self, X: NDArray[Any], concept: Names, candidates: NDArray[Any], described: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The two terms (n, n_candidates) that a score is the sum of, means over the concepts: how close rows and
        candidates are, μ·cos(x, c) + (1 − μ)·cos(ṽ_j(x), c)/‖ṽ_j(c)‖, and how likely a candidate has the concept,
        λ·p_j(c).

        The second cosine stands for that of both projections: c less its projection makes no acute angle with the
        cone, so ṽ_j(x)·c ≤ ṽ_j(x)·ṽ_j(c), and the two are equal if x uses only atoms that c uses.
        """
        S, indices = len(self.cones.names), self.cones.indices(concept)
        pool = unit_rows(candidates)
        close = self.mix * (unit_rows(X) @ pool.T)
        for j in indices:
            seen = unit_rows(self.cones.project(X, self.cones.names[j])) @ pool.T
            close = close + (1 - self.mix) / len(indices) * seen / np.maximum(described[:, S + j], SHORTEST)
        likely = self.weight * described[:, indices].mean(axis=1)
        return np.asarray(close), np.broadcast_to(likely, close.shape)

    def scores(
        self, X: NDArray[Any], concept: Names, candidates: NDArray[Any], described: NDArray[Any]
    ) -> NDArray[Any]:
        """Scores (n, n_candidates) of candidates for one concept of each row, or the mean over several."""
        close, likely = self.terms(X, concept, candidates, described)
        return np.asarray(close + likely)
