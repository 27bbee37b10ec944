"""A model of concepts that also tells which of them a row has."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pellucid._core.interrupts import SecondInterrupt, dealt_with
from pellucid.concepts.base import ConceptModel
from pellucid.concepts.crosswise import doubted
from pellucid.concepts.labels import Indicator
from pellucid.concepts.presence import Presence, learn_presence
from pellucid.rows import Blocks, as_blocks, is_lazy
from pellucid.rows.lazy import map_blocks

Model = TypeVar("Model", bound="PredictedConcepts")

# a concept with fewer rows, or that fewer rows lack, is known from too little
FEW_ROWS = 5


@dataclass(frozen=True)
class LabelErrors:
    """Labels that are likely wrong, the most doubtful first.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Numbers of the rows.
    concepts : ndarray of shape (m,)
        Names of the concepts.
    given : ndarray of bool of shape (m,)
        What the labels say.
    likely : ndarray of shape (m,)
        How likely the row has the concept.
    doubt : ndarray of shape (m,)
        What they are ranked by, between 0 and 1: from ½ on more speaks against the label than for it.

    See Also
    --------
    ConceptSubspaces.label_errors : Finds them.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import LabelErrors
    >>> print(LabelErrors(np.array([3]), np.array(["cat"]), np.array([True]), np.array([0.03]), np.array([0.9])))
    row 3 is labelled 'cat', which is 3% likely
    """

    rows: NDArray[np.int64]
    concepts: NDArray[Any]
    given: NDArray[np.bool_]
    likely: NDArray[Any]
    doubt: NDArray[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return "\n".join(
            f"row {row} is {'' if has else 'not '}labelled {str(name)!r}, which is {likely:.0%} likely"
            for row, name, has, likely in zip(self.rows, self.concepts, self.given, self.likely)
        )


class PredictedConcepts(ConceptModel):
    """Presence: which concepts a row has at all, beside what it is made of."""

    presence_coef_: NDArray[Any]
    presence_intercept_: NDArray[Any]
    presence_calibration_: NDArray[Any]
    presence_threshold_: NDArray[Any]
    presence_counts_: NDArray[Any]
    presence_weight_: NDArray[Any]
    random_state: Any
    # what tells which concepts a row has; its fields are the attributes presence_…_
    _presence_type: ClassVar[type[Presence]] = Presence

    @property
    def presence_model(self) -> Presence:
        """What tells which concepts a row has, for rows that are prepared already."""
        check_is_fitted(self, "atoms_")
        if not self.knows_presence:
            raise ValueError("This model does not know which concepts a row has: call fit_presence(X, y) first.")
        return self._presence_type(*(getattr(self, f"presence_{name}_") for name in self._presence_names()))

    @property
    def knows_presence(self) -> bool:
        """Whether it was learned which concepts a row has."""
        return hasattr(self, "presence_coef_")

    def fit_presence(self: Model, X: Any, y: Any, *, groups: ArrayLike | None = None) -> Model:
        """Learn which concepts rows have, for cones that were fitted without, or on other rows.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets, or Blocks
            Their concepts.
        groups : array-like of shape (n,), default=None
            Which rows come from the same source, such as parts of a text or captions of an image: they are then never
            on both sides of a fold, so that what is told of new sources is not too sure.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If the labels or groups do not fit the rows.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> model = ConceptSubspaces(1, presence=False).fit(X, y)
        >>> model.fit_presence(X, y).predict([[2, 1]]).tolist()
        [[True, False]]
        """
        self._check_fitted()
        data = self.prepare(X)
        rows = data if isinstance(data, Blocks) else Blocks.held(data)
        has = as_blocks(y) if is_lazy(y) else self._known_concepts(y, len(rows))
        self._learn_presence(rows, has, as_groups(groups, len(rows)))
        return self

    def predict_proba(self, X: Any) -> Any:
        """Say how likely each row has each concept.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.

        Returns
        -------
        ndarray of shape (n, S), or Blocks
            Calibrated probabilities; a row can have several concepts or none, so they need not add up to 1.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> model = ConceptSubspaces(1).fit(X, y)
        >>> (model.predict_proba([[2, 1], [1, 2]]) > 0.5).tolist()
        [[True, False], [False, True]]
        """
        return self._with_presence(self.presence_model.probabilities, X)

    def predict(self, X: Any) -> Any:
        """Say which concepts each row has.

        Parameters
        ----------
        X : array-like of shape (n, d), Blocks or dask array
            Raw rows.

        Returns
        -------
        ndarray of bool of shape (n, S), or Blocks
            Whether a concept's probability reaches its ``presence_threshold_``, which has the best F1 on rows that were
            not learned from.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> ConceptSubspaces(1).fit(X, y).predict([[2, 1], [1, 2]]).tolist()
        [[True, False], [False, True]]
        """
        return self._with_presence(self.presence_model.has, X, dtype=bool)

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Say which answers, no and yes, cannot be ruled out: both where the model cannot tell.

        Of the rows that have a concept, at least about this share keep "yes", and of those that lack it "no"
        (class-conditional conformal prediction from cross-fitted logits), if new rows come from where the training
        rows came from.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        coverage : float, default=0.9
            How often the right answer is to be among those that stay, between 0 and 1.

        Returns
        -------
        ndarray of bool of shape (n, S, 2)
            Whether "no" and whether "yes" stays; neither does for a row that looks like no other.

        Raises
        ------
        ValueError
            If the coverage does not lie between 0 and 1.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> ConceptSubspaces(1).fit(X, y).predict_set([[2, 0], [1, 2]], coverage=0.95)[:, 0].tolist()
        [[True, True], [True, True]]
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage}.")
        return self.presence_model.sets(self.prepare(X), coverage)

    def score(self, X: ArrayLike, y: Any) -> float:
        """Measure how well presence tells rows with a concept from rows without it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            Their concepts.

        Returns
        -------
        float
            Area under the ROC curve, the mean over the concepts that some of these rows have and some lack; nan if
            there is none.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> ConceptSubspaces(1).fit(X, y).score([[2, 1], [1, 2]], ["cat", "dog"])
        1.0
        """
        from sklearn.metrics import roc_auc_score

        data, has = self._labelled(X, y)
        told = np.flatnonzero(has.any(axis=0) & ~has.all(axis=0))
        if not len(told):
            return float("nan")
        likely = self.presence_model.probabilities(data)
        return float(np.mean([roc_auc_score(has[:, j], likely[:, j]) for j in told]))

    def label_errors(self, X: ArrayLike, y: Any, least: float = 0.5, *, groups: ArrayLike | None = None) -> LabelErrors:
        """Find labels that are likely wrong: those that rows like theirs speak against.

        Every row is judged by regressions that were learned without it, first from the labels as they are, then from
        labels of which the most doubtful were turned over. They are ranked as if as many rows lacked a label as have
        one too many: of a rare concept, a row with its label is doubted no sooner than one without.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            Their labels.
        least : float, default=0.5
            Labels of more doubt are named: by default those that more speaks against than for. 0 ranks all.
        groups : array-like of shape (n,), default=None
            Which rows come from the same source, such as parts of a text or captions of an image: they are then never
            on both sides of a fold, so that what is told of new sources is not too sure.

        Returns
        -------
        LabelErrors
            Pairs of a row and a concept, the most doubtful first.

        Raises
        ------
        ValueError
            If ``least`` is not between 0 and 1, or the labels do not fit the rows.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 9, ["cat", "cat", "dog", "dog"] * 9
        >>> model = ConceptSubspaces(1).fit(X, y)
        >>> found = model.label_errors(X, ["dog", *y[1:]])
        >>> found.rows[:2].tolist(), sorted(found.concepts[:2].tolist())
        ([0, 0], ['cat', 'dog'])
        """
        if not 0 <= least <= 1:
            raise ValueError(f"least must be between 0 and 1, got {least!r}.")
        data, has = self._labelled(X, y)
        odds, against = doubted(data, has, check_random_state(self.random_state), as_groups(groups, len(data)))
        doubt = expit(against)
        rows, columns = np.nonzero((doubt > least) | (least == 0))
        order = np.argsort(-doubt[rows, columns], kind="stable")
        at = rows[order], columns[order]
        return LabelErrors(at[0], self.concept_names_[at[1]], has[at], expit(odds[at]), doubt[at])

    # the small print

    @property
    def _told_by(self) -> Callable[[NDArray[Any]], Indicator] | None:
        return self.presence_model.has if self.knows_presence else None

    def _with_presence(self, method: Any, X: Any, dtype: Any = None) -> Any:
        if not is_lazy(X):
            return method(self._prepared(self._rows(X)))
        return map_blocks(method, self.prepare(X), len(self.concept_names_), dtype)

    def _learn_presence(self, rows: Blocks, has: Any, groups: Any = None) -> None:
        """Learn from prepared rows; at Ctrl-C go on without."""
        self._forget_presence()
        try:
            members = has.total(partial(np.sum, axis=0)) if isinstance(has, Blocks) else has.sum(axis=0)
            warn_of_few(members.astype(int), len(rows), self.concept_names_)
            found = self._presence_of(rows, has, groups)
        except SecondInterrupt:
            raise
        except KeyboardInterrupt:
            dealt_with()
            warnings.warn("Stopped before it was learned which concepts a row has; the cones are usable.", stacklevel=3)
            return
        for name in self._presence_names():
            setattr(self, f"presence_{name}_", getattr(found, name))

    def _presence_of(self, rows: Blocks, has: Any, groups: Any = None) -> Presence:
        return learn_presence(rows, has, check_random_state(self.random_state), groups)

    @classmethod
    def _presence_names(cls) -> list[str]:
        return [field.name for field in fields(cls._presence_type)]

    def _forget_presence(self) -> None:
        for name in self._presence_names():
            if hasattr(self, f"presence_{name}_"):
                delattr(self, f"presence_{name}_")


def as_groups(groups: ArrayLike | None, n: int) -> Any:
    """Numbers (n,) of groups of any kind."""
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(f"groups must have one entry for each of {n} rows, got shape {given.shape}.")
    gone = np.flatnonzero([each is None or each != each for each in given.tolist()])
    if len(gone):
        raise ValueError(f"Row {gone[0]} has no group: give it one of its own if it is from no other's source.")
    known, numbers = np.unique(given, return_inverse=True)
    if len(known) < 2:
        raise ValueError(f"All {n} rows are of one group, so nothing is left to judge them by: leave groups out.")
    return numbers.astype(np.int64)


def warn_of_few(members: NDArray[Any], n: int, names: NDArray[Any]) -> None:
    """Say which concepts so few rows have, or lack, that their presence is a guess."""
    few = np.flatnonzero((members < FEW_ROWS) | (n - members < FEW_ROWS))
    if n < 4 * FEW_ROWS or not len(few):  # of so few rows all is a guess
        return
    counts = ["all rows" if members[j] == n else "1 row" if members[j] == 1 else f"{members[j]} rows" for j in few]
    listed = ", ".join(f"{str(names[j])!r} ({count})" for j, count in zip(few[:5], counts))
    more = f" and {len(few) - 5} more" if len(few) > 5 else ""
    warnings.warn(
        f"Of {n} rows, too few have or lack {listed}{more} to tell well which others do: label more, or leave these "
        "concepts out.",
        stacklevel=4,
    )
