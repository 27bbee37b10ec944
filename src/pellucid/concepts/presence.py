"""A score beyond the paper's: the candidate's side counts too.

The paper ranks by cos(ṽ_j(x), c): only the query is projected. Two numbers per candidate and concept say the rest: how
long its own projection is, and how likely it has the concept at all. All rows here are prepared already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.base import ConceptModel
from pellucid.concepts.cones import Cones, Names
from pellucid.concepts.labels import Indicator

Model = TypeVar("Model", bound="GatedConcepts")

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

    Parameters
    ----------
    cones : Cones
        The cones.
    coef : ndarray of shape (S, d + 2S)
        Coefficients of a logistic regression per concept on :func:`gate_features`.
    intercept : ndarray of shape (S,)
        Their intercepts.
    mix : float
        The share μ of the plain cosine.
    weight : float
        The weight λ of the likelihood.
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


class GatedConcepts(ConceptModel):
    """A model of concepts with gates: which concepts an item has at all, beside what it is made of."""

    gate_coef_: NDArray[np.float64]
    gate_intercept_: NDArray[np.float64]
    gate_weights_: NDArray[np.float64]

    def fit_gate(self: Model, X: ArrayLike, y: Any, *, mix: float = 0.5, weight: float = 3.0, C: float = 10.0) -> Model:
        """Learn how likely a row has each concept, for the score "gated".

        A logistic regression per concept looks at the row and the lengths of its components and projections.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            Their concepts.
        mix : float, default=0.5
            Share μ of the plain cosine; :meth:`gated_scores` has the formula.
        weight : float, default=3.0
            Weight λ of the likelihood.
        C : float, default=10.0
            Inverse regularisation of the regression.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If a number is out of its range, or the labels do not fit the rows.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y).fit_gate(X, y)
        >>> model.gate_coef_.shape
        (2, 6)
        """
        check_is_fitted(self, "atoms_")
        if not (0 <= mix <= 1 and 0 <= weight < np.inf and 0 < C < np.inf):
            raise ValueError(f"mix must lie in [0, 1], weight be ≥ 0 and C > 0, got {mix}, {weight} and {C}.")
        data, indicator = self._labelled(X, y)
        self.gate_coef_, self.gate_intercept_ = learn_gates(gate_features(self.cones, data), indicator, C)
        self.gate_weights_ = np.array([mix, weight], dtype=np.float64)
        return self

    def describe(self, X: ArrayLike) -> NDArray[np.float32]:
        """Say of each candidate what the score "gated" needs; to be stored once, beside the vectors.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.

        Returns
        -------
        ndarray of shape (n, 2S)
            Likelihood of each concept, then length of the unit vector's projection onto each, in float32.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y).fit_gate(X, y)
        >>> [round(float(value), 1) for value in model.describe([[3, 4]])[0]]
        [0.4, 0.6, 0.6, 0.8]
        """
        return self.gates.describe(self.prepare(X))

    @property
    def gates(self) -> Gates:
        """What :meth:`fit_gate` learned, for rows that are prepared already."""
        check_is_fitted(self, "gate_coef_", msg="Call fit_gate(X, y) first: there is no gate yet.")
        return Gates(self.cones, self.gate_coef_, self.gate_intercept_, *map(float, self.gate_weights_))

    def gated_scores(
        self, X: ArrayLike, concept: Names, candidates: ArrayLike, described: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Score candidates by one concept of each row, or by the mean over several.

        s_j(x, c) = μ·cos(x, c) + (1 − μ)·cos(ṽ_j(x), c)/‖ṽ_j(c)‖ + λ·p_j(c), where p_j(c) is the gate's likelihood that
        c has concept j.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        concept : str or list of str
            Name of the concept, or several.
        candidates : array-like of shape (c, d)
            Raw rows to be ranked.
        described : ndarray of shape (c, 2S), default=None
            What :meth:`describe` says of the candidates, if it was stored.

        Returns
        -------
        ndarray of shape (n, c)
            The scores; larger is closer.

        Raises
        ------
        ValueError
            If a concept is not known.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False).fit(X, y).fit_gate(X, y)
        >>> model.gated_scores([[3, 4]], "dog", [[0, 1], [1, 0]]).round(1).tolist()
        [[3.8, 0.4]]
        """
        gates, pool = self.gates, self.prepare(candidates)
        return gates.scores(self.prepare(X), concept, pool, gates.describe(pool) if described is None else described)

    def _forget_gate(self) -> None:
        """A gate belongs to the cones it was fitted with."""
        for attribute in ("gate_coef_", "gate_intercept_", "gate_weights_"):
            if hasattr(self, attribute):
                delattr(self, attribute)
