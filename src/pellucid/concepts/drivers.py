"""Which concepts predict a target, each beside all others: sparse regression that holds on halves of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid._core.tables import data_frame

# pairs of halves, the share of halves in which a concept must be chosen, and concepts chosen from each half: by Shah
# and Samworth (2013) fewer than CHOSEN² / ((2·OFTEN − 1)·S) of those found are expected to be chance
HALVES, OFTEN = 50, 0.8
FOLDS = 5
# rows of the selection, at most
ROWS = 20_000


@dataclass(frozen=True)
class Drivers:
    """Which concepts predict a target.

    Attributes
    ----------
    concepts : list of str
        The S concepts, the most often chosen first.
    frequency : ndarray of shape (S,)
        The share of random halves of the items in which a sparse regression chose each.
    effect : ndarray of shape (S,)
        How much larger the target is (of a class: how much likelier) with the concept than without, all others chosen
        being equal; zero for those not found.
    found : ndarray of bool of shape (S,)
        Whether it was chosen often enough.
    score : float
        R² of a number, area under the ROC curve of a class, on items that neither choice nor regression saw.
    measure : str
        "R²" or "AUC".
    target : str
        The class, if the target is one.
    n : int
        Items.

    See Also
    --------
    pellucid.compare : Makes it, of ``target=``.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import compare
    >>> rng = np.random.default_rng(0)
    >>> P = rng.random((400, 6)) < 0.5
    >>> found = compare(P, target=3.0 * P[:, 2] + 0.1 * rng.standard_normal(400), names=list("abcdef"))
    >>> [name for name, sure in zip(found.concepts, found.found) if sure], round(found.effect[0])
    (['c'], 3)
    """

    concepts: list[str]
    frequency: NDArray[np.float64]
    effect: NDArray[np.float64]
    found: NDArray[np.bool_]
    score: float
    measure: str
    target: str
    n: int

    def to_frame(self) -> Any:
        """Make a table of the concepts.

        Returns
        -------
        pandas.DataFrame
            A row for each, the most often chosen first.
        """
        names = ("concepts", "frequency", "effect", "found")
        return data_frame([dict(zip(names, row)) for row in zip(*(list(getattr(self, name)) for name in names))], names)

    def plot(self, ax: Any = None, most: int = 20) -> Any:
        """Draw the effects of the concepts that were found.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        most : int, default=20
            Concepts that are drawn, at most.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        from pellucid.plots import drivers

        return drivers(self, ax=ax, most=most)

    def __str__(self) -> str:
        count = int(self.found.sum())
        of = f" of {self.target!r}" if self.target else ""
        lines = [
            f"{count} of {len(self.concepts)} concepts predict the target{of}: {self.measure} {self.score:.2f} on "
            f"items not seen, of {self.n}."
        ]
        width = max((len(name) for name, found in zip(self.concepts, self.found) if found), default=0)
        lines += [
            f"{self.concepts[j]:{width}}  {self.effect[j]:+.3g}, chosen in {self.frequency[j]:.0%} of halves"
            for j in np.flatnonzero(self.found)
        ]
        return "\n".join(lines)


def predicting(
    P: NDArray[Any], names: Sequence[str], target: Any, of: Any, rng: np.random.RandomState
) -> Drivers | list[Drivers]:
    """What predicts a target (n,): a number, or classes, of which one may be named; of more than two all are told."""
    values = np.asarray(target)
    if values.shape != (len(P),):
        raise ValueError(f"There are {len(P)} rows, but a target of shape {values.shape}.")
    P = np.asarray(P, dtype=np.float64)
    if values.dtype.kind in "fiu" and len(np.unique(values)) > 2 and of is None:
        if not np.isfinite(values).all():
            raise ValueError("A target is missing: leave its row out.")
        return _of_numbers(P, names, values.astype(np.float64), "R²", "", rng)
    classes = np.unique(values.astype(str))
    if len(classes) < 2:
        raise ValueError(f"All rows have the target {classes[0]!r}, so nothing predicts it.")
    wanted = [str(of)] if of is not None else [classes[-1]] if len(classes) == 2 else list(classes)
    if wanted[0] not in classes:
        raise ValueError(f"No row has the target {wanted[0]!r}: there are {', '.join(map(repr, classes[:10]))}.")
    each = [_of_numbers(P, names, (values.astype(str) == name).astype(float), "AUC", str(name), rng) for name in wanted]
    return each[0] if len(each) == 1 else each


def _of_numbers(
    P: Floats, names: Sequence[str], y: Floats, measure: str, label: str, rng: np.random.RandomState
) -> Drivers:
    some = np.sort(rng.permutation(len(y))[:ROWS])
    frequency = chosen_often(P[some], y[some], rng)
    found = frequency >= OFTEN
    effect = np.zeros(P.shape[1])
    effect[found] = _regressed(P[:, found], y)[1:]
    order = np.lexsort((-np.abs(effect), -frequency))
    score = _unseen(P[some], y[some], measure, rng)
    return Drivers(
        [str(names[j]) for j in order], frequency[order], effect[order], found[order], score, measure, label, len(y)
    )


def chosen_often(P: Floats, y: Floats, rng: np.random.RandomState, halves: int = HALVES) -> Floats:
    """The share of halves (S,) of the rows in which the lasso has each concept among its first few.

    So many are chosen from a half that fewer than one is expected to be found by chance.
    """
    S, n = P.shape[1], len(P)
    most = max(1, int(np.sqrt((2 * OFTEN - 1) * S)))
    counts = np.zeros(S)
    for _ in range(halves):
        order = rng.permutation(n)
        for half in (order[: n // 2], order[n // 2 : 2 * (n // 2)]):
            counts[_first_chosen(P[half], y[half], most)] += 1
    return counts / (2 * halves)


def _first_chosen(P: Floats, y: Floats, most: int) -> Ints:
    """The concepts that the lasso takes first on its way from nothing."""
    from sklearn.linear_model import lars_path_gram

    spread = P.std(axis=0)
    there = np.flatnonzero(spread > 1e-12)
    if not len(there) or y.std() <= 1e-12:
        return np.empty(0, dtype=np.int64)
    Z = (P[:, there] - P[:, there].mean(axis=0)) / spread[there]
    _, active, _ = lars_path_gram(
        Z.T @ (y - y.mean()), Z.T @ Z, n_samples=len(y), method="lasso", max_iter=min(most, len(there))
    )
    return np.asarray(there[np.asarray(active, dtype=np.int64)[:most]])


def _regressed(P: Floats, y: Floats) -> Floats:
    """Intercept and coefficients of least squares."""
    return np.asarray(np.linalg.lstsq(np.column_stack([np.ones(len(P)), P]), y, rcond=None)[0])


def _unseen(P: Floats, y: Floats, measure: str, rng: np.random.RandomState) -> float:
    """How well concepts that are chosen on some folds predict the others."""
    from sklearn.metrics import r2_score, roc_auc_score

    fold = rng.permutation(len(y)) % FOLDS
    guess = np.full(len(y), y.mean())
    for k in range(FOLDS):
        rest = fold != k
        found = chosen_often(P[rest], y[rest], rng, max(5, HALVES // 5)) >= OFTEN
        coef = _regressed(P[rest][:, found], y[rest])
        guess[~rest] = coef[0] + P[~rest][:, found] @ coef[1:]
    return float(r2_score(y, guess) if measure == "R²" else roc_auc_score(y, guess))
