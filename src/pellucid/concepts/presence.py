"""A score beyond the paper's: the candidate's side counts too.

The paper ranks by cos(ṽ_j(x), c): only the query is projected. Two numbers per candidate and concept say the rest: how
long its own projection is, and how likely it has the concept at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.labels import Indicator

if TYPE_CHECKING:
    from pellucid.concepts.estimator import ConceptSubspaces

# a projection shorter than this is mostly noise, so its direction is not trusted
SHORTEST = 0.1
# rows described at a time
BLOCK_ROWS = 16_384


def gate_features(model: ConceptSubspaces, X: NDArray[Any]) -> NDArray[Any]:
    """What a gate looks at (n, d + 2S): the unit row, the lengths of its components and of its projections."""
    rows = unit_rows(X)
    return np.hstack([rows, model.lengths(rows), model.lengths(rows, partial=True)])


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


def describe(model: ConceptSubspaces, X: NDArray[Any]) -> NDArray[np.float32]:
    """Likelihood of each concept, then length of each projection, of the unit rows: (n, 2S)."""
    S = len(model.concept_names_)
    out = np.empty((len(X), 2 * S), dtype=np.float32)
    for start in range(0, len(X), BLOCK_ROWS):
        features = gate_features(model, X[start : start + BLOCK_ROWS])
        block = out[start : start + BLOCK_ROWS]
        block[:, :S] = expit(features @ model.gate_coef_.T + model.gate_intercept_)
        block[:, S:] = features[:, -S:]
    return out


def gated_scores(
    model: ConceptSubspaces, X: NDArray[Any], j: int, candidates: NDArray[Any], described: NDArray[Any]
) -> NDArray[Any]:
    """μ·cos(x, c) + (1 − μ)·cos(ṽ_j(x), c)/‖ṽ_j(c)‖ + λ·p_j(c).

    The middle term stands for the cosine of both projections: c less its projection makes no acute angle with the
    cone, so ṽ_j(x)·c ≤ ṽ_j(x)·ṽ_j(c), and the two are equal if x uses only atoms that c uses.
    """
    mix, weight = model.gate_weights_
    S = len(model.concept_names_)
    pool = unit_rows(candidates)
    plain = unit_rows(X) @ pool.T
    seen = unit_rows(model.project(X, model.concept_names_[j])) @ pool.T
    length = np.maximum(described[:, S + j], SHORTEST)
    return np.asarray(mix * plain + (1 - mix) * seen / length + weight * described[:, j])
