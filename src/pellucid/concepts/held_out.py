"""What concepts that were found are worth: how much of other rows they explain, and which labels they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from pellucid._core.arrays import Floats, Ints
from pellucid._core.tables import data_frame
from pellucid.concepts.labels import Indicator, as_indicator
from pellucid.concepts.stability import SAME_ATOM


@dataclass(frozen=True)
class HeldOut:
    """Concepts judged by rows that they were not found in.

    Attributes
    ----------
    explained : float
        The share of the energy of these rows that is in the concepts they have.
    explained_before : float
        The share of the energy of the rows of the fit that their codes over all concepts explain.
    n_concepts : int
        How many concepts there are.
    again : int
        How many of them would come out again: those whose ``stability_`` is at least .9.
    labels : list of str
        The labels that a concept was matched with, the best told first.
    concepts : list of str
        The concept of each.
    rows : ndarray of shape (L,)
        How many of the judging rows have each label.
    auc : ndarray of shape (L,)
        How often a row with the label is more likely to have the concept than a row without.
    average_precision : ndarray of shape (L,)
        Mean precision along the ranking of rows by how likely they have the concept.

    See Also
    --------
    pellucid.ConceptDiscovery.held_out : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.concepts import HeldOut
    >>> print(HeldOut(0.5, 0.6, 12, 9, [], [], np.empty(0), np.empty(0), np.empty(0)))
    The concepts explain 50% of these rows; 9 of 12 would come out again.
    """

    explained: float
    explained_before: float
    n_concepts: int
    again: int
    labels: list[str]
    concepts: list[str]
    rows: NDArray[np.int64]
    auc: NDArray[np.float64]
    average_precision: NDArray[np.float64]

    def to_frame(self) -> Any:
        """Make a table of the labels.

        Returns
        -------
        pandas.DataFrame
            A row for each label.
        """
        columns = self.labels, self.concepts, self.rows.tolist(), self.auc.tolist(), self.average_precision.tolist()
        names = "label", "concept", "rows", "auc", "average_precision"
        return data_frame([dict(zip(names, row)) for row in zip(*columns)], names)

    def __str__(self) -> str:
        head = (
            f"The concepts explain {self.explained:.0%} of these rows; {self.again} of {self.n_concepts} would come "
            "out again."
        )
        if not self.labels:
            return head
        width, other = (max(map(len, names)) for names in (self.labels, self.concepts))
        lines = [
            f"{label:{width}}  {concept:{other}}  {auc:.3f}  {precision:.3f}"
            for label, concept, auc, precision in zip(self.labels, self.concepts, self.auc, self.average_precision)
        ]
        mean = f"mean AUC {self.auc.mean():.3f}, mean average precision {self.average_precision.mean():.3f}"
        return "\n".join([head, f"{'label':{width}}  {'concept':{other}}  AUC    precision", *lines, mean])


def held_out(
    model: Any, X: ArrayLike, y: Any, label_names: Sequence[str] | None, rng: np.random.RandomState
) -> HeldOut:
    """What the concepts of a fitted model are worth on these rows."""
    labels: list[str] = []
    matched, rows, auc, precision = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0)
    if y is not None:
        has, names = as_indicator(y, label_names)
        likely = np.asarray(model.predict_proba(X), dtype=np.float64)
        if len(has) != len(likely):
            raise ValueError(f"There are {len(likely)} rows, but labels of {len(has)}.")
        some, others = np.array_split(rng.permutation(len(has)), 2)
        counts = [(has[half].sum(axis=0), len(half)) for half in (some, others)]
        both = np.flatnonzero(np.all([(held > 0) & (held < n) for held, n in counts], axis=0))
        which, matched = matching(areas(likely[some], has[np.ix_(some, both)]))
        at = both[which]
        auc = np.diag(areas(likely[others][:, matched], has[np.ix_(others, at)]))
        precision = precisions(likely[others][:, matched], has[np.ix_(others, at)])
        rows = has[np.ix_(others, at)].sum(axis=0)
        order = np.argsort(-auc, kind="stable")
        labels, matched = [names[j] for j in at[order]], matched[order]
        rows, auc, precision = rows[order], auc[order], precision[order]
    return HeldOut(
        model.score(X),
        float(model.explained_),
        len(model.concept_names_),
        int((model.stability_ >= SAME_ATOM).sum()),
        labels,
        [str(model.concept_names_[j]) for j in matched],
        rows,
        auc,
        precision,
    )


def areas(scores: NDArray[Any], has: Indicator) -> Floats:
    """Areas under the ROC curve (S, L) of every score (n, S) for every label (n, L), which some rows have and lack."""
    ranks = rankdata(scores, axis=0)
    having = has.sum(axis=0)
    return np.asarray((ranks.T @ has - having * (having + 1) / 2) / (having * (len(has) - having)))


def matching(auc: Floats) -> tuple[Ints, Ints]:
    """Labels and their concepts, one to one, with the largest sum of areas (S, L)."""
    concepts, labels = linear_sum_assignment(auc, maximize=True)
    return np.asarray(labels), np.asarray(concepts)


def precisions(scores: NDArray[Any], has: Indicator) -> Floats:
    """Average precision of each score (n, L) for its label (n, L)."""
    from sklearn.metrics import average_precision_score

    return np.array([average_precision_score(has[:, j], scores[:, j]) for j in range(has.shape[1])])
