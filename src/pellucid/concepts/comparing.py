"""`pellucid.compare`: two sets of items, the same items over time, or against a target, by the concepts they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from pellucid._core.arrays import Ints
from pellucid._core.checks import check_finite
from pellucid.concepts.comparison import (
    BLOCKS,
    EXAMPLES,
    SHIFT_ROWS,
    Comparison,
    Sides,
    compared,
    taken_apart,
)
from pellucid.concepts.drivers import Drivers, predicting
from pellucid.concepts.trends import Trends, over_time
from pellucid.concepts.words import Vocabulary

# levels that numbers held fixed are cut into
LEVELS = 10


def compare(
    A: Any,
    B: Any = None,
    *,
    model: Any = None,
    names: Sequence[str] | None = None,
    given: Any = None,
    groups: Any = None,
    dates: Any = None,
    n_periods: int | None = None,
    target: Any = None,
    of: Any = None,
    vocabulary: Vocabulary | None = None,
    rate: float = 0.05,
    least: float = 0.0,
    random_state: int | None = 0,
) -> Comparison | Trends | Drivers | list[Drivers]:
    """Say which concepts are more frequent in A than in B, and by how much; or over time, or against a target.

    Presence is what is compared: the calibrated probability that an item has a concept. Differences are tested at a
    false-discovery rate, and those of two concepts that go together are found together.

    Parameters
    ----------
    A : array-like of shape (n, d), or of shape (n, S) without a model
        Raw rows; or which concepts items have, as yes and no or as probabilities.
    B : array-like of shape (m, d) or (m, S), default=None
        The other set; None with ``dates`` or ``target``.
    model : ConceptSubspaces, default=None
        What tells which concepts rows have, fitted to labels or found without; best on other rows than these.
    names : list of str, default=None
        Names of the concepts without a model; numbers if None.
    given : pair of array-like of shape (n,) and (m,), default=None
        What is held fixed, for the rows of A and those of B: classes, or numbers, which are cut into ten levels. The
        comparison is within levels; rows of levels that only one set has do not count.
    groups : pair of array-like of shape (n,) and (m,), default=None
        What rows belong together in, such as authors or patients: groups count, not rows.
    dates : array-like of shape (n,), default=None
        Dates or numbers of the rows of A: how often each concept is found over time.
    n_periods : int, default=None
        Periods with about as many items each; None is 12, or fewer with less than 50 items each.
    target : array-like of shape (n,), default=None
        A number or a class for each row of A: which concepts predict it, each beside the others.
    of : object, default=None
        The class to predict; None takes each, or of two the last.
    vocabulary : Vocabulary, default=None
        Words with vectors, which say what moved beside the concepts.
    rate : float, default=0.05
        The share of findings that may be false, about; intervals and bands hold with 1 − ``rate``.
    least : float, default=0.0
        Differences of two sets below this share of a concept's frequency do not count. Of many thousands of items even
        what a model wrongly takes for a concept is found to differ, where others differ: .05 leaves that out.
    random_state : int, default=0
        Seed of whatever is drawn at random.

    Returns
    -------
    Comparison, Trends, Drivers or list of Drivers
        Of two sets, of ``dates``, of ``target``, of a target with several classes. Print it, plot it, or take
        ``to_frame()``.

    Raises
    ------
    ValueError
        If there is nothing to compare with, or columns do not fit the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import ConceptSubspaces, compare
    >>> from pellucid.datasets import load_scenes
    >>> scenes = load_scenes()
    >>> model = ConceptSubspaces(2).fit(scenes.vectors[:1500], scenes.coarse[:1500], scenes.coarse_names)
    >>> later = scenes.vectors[1500:]
    >>> animal = scenes.coarse[1500:, scenes.coarse_names.index("animal")]
    >>> print(str(compare(later[animal], later[~animal], model=model)).splitlines()[1].split()[0])
    animal
    """
    asked = [name for name, value in (("B", B), ("dates", dates), ("target", target)) if value is not None]
    if len(asked) != 1:
        raise ValueError("Compare A with another set B, over dates=, or against a target=: give one of the three.")
    if not 0 < rate < 1:
        raise ValueError(f"rate must lie between 0 and 1, got {rate}.")
    if not 0 <= least < np.inf:
        raise ValueError(f"least must be 0 or more, got {least}.")
    if B is None and (given is not None or groups is not None):
        raise ValueError("given= and groups= hold something fixed between two sets: give B.")
    rng = check_random_state(random_state)
    here, named = presence(A, model, names, "A")
    if dates is not None:
        return over_time(here, named, dates, rate, n_periods)
    if target is not None:
        return predicting(here, named, target, of, rng)
    there, _ = presence(B, model, names, "B")
    if here.shape[1] != there.shape[1]:
        raise ValueError(f"A has {here.shape[1]} concepts, but B has {there.shape[1]}.")
    P = np.concatenate([here, there])
    in_a = np.arange(len(P)) < len(here)
    level, kept = levels(given, len(here), len(there))
    block, grouped = blocks(groups, in_a, rng)
    at = np.flatnonzero(kept)
    sides = Sides(in_a[kept], np.unique(level[kept], return_inverse=True)[1], block[kept], grouped)
    found = compared(P if kept.all() else P[kept], named, sides, rate, least, rng)
    found = replace(
        found,
        examples_a=[[int(at[row]) for row in rows] for rows in found.examples_a],
        examples_b=[[int(at[int((sides.in_a).sum()) + row] - len(here)) for row in rows] for rows in found.examples_b],
    )
    return found if model is None else with_shift(found, A, B, here, there, model, vocabulary, rng)


def presence(X: Any, model: Any, names: Sequence[str] | None, what: str) -> tuple[NDArray[Any], list[str]]:
    """Which concepts rows have (n, S), and the names of these."""
    if model is not None:
        P, named = np.asarray(model.predict_proba(X)), [str(name) for name in model.concept_names_]
    else:
        P = np.asarray(X)
        if P.ndim != 2 or P.dtype.kind not in "biuf":
            raise ValueError(f"Without a model, {what} must say which concepts items have (n, S), but has {P.shape}.")
        if P.dtype.kind == "f":
            check_finite(P, what)
        if len(P) and (P.min() < 0 or P.max() > 1):
            raise ValueError(f"Without a model, {what} must hold probabilities or 0 and 1: for raw rows give model=.")
        named = [f"concept {j}" for j in range(P.shape[1])] if names is None else [str(name) for name in names]
    if not len(P):
        raise ValueError(f"{what} has no rows.")
    if len(named) != P.shape[1]:
        raise ValueError(f"There are {len(named)} names for {P.shape[1]} concepts.")
    return P, named


def levels(given: Any, n: int, m: int) -> tuple[Ints, NDArray[np.bool_]]:
    """The level of each row of both sets, and which rows have one that both sets have."""
    if given is None:
        return np.zeros(n + m, dtype=np.int64), np.ones(n + m, dtype=bool)
    values = pair(given, n, m, "given")
    if values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > 2 * LEVELS):
        if not np.isfinite(values).all():
            raise ValueError("given has a number that is not finite: fix or drop its row.")
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, LEVELS + 1)[1:-1]))
        level = np.searchsorted(cuts, values, side="right")
    else:
        level = np.unique(values.astype(str), return_inverse=True)[1]
    shared = np.intersect1d(level[:n], level[n:])
    if not len(shared):
        raise ValueError("A and B have no level of given in common, so nothing can be compared within one.")
    return level, np.isin(level, shared)


def blocks(groups: Any, in_a: NDArray[np.bool_], rng: np.random.RandomState) -> tuple[Ints, bool]:
    """The block of each row: its group, or one that is drawn; many of them are put together at random."""
    n = int(in_a.sum())
    if groups is None:
        out = np.empty(len(in_a), dtype=np.int64)
        for rows in (np.flatnonzero(in_a), np.flatnonzero(~in_a)):
            out[rows] = rng.permutation(len(rows)) % min(BLOCKS, len(rows))
        return out, False
    known, number = np.unique(pair(groups, n, len(in_a) - n, "groups").astype(str), return_inverse=True)
    if len(known) < 3:
        raise ValueError(f"{len(known)} groups are too few to tell how much groups differ: give at least 3.")
    return np.asarray(number if len(known) <= BLOCKS else (rng.permutation(len(known)) % BLOCKS)[number]), True


def pair(columns: Any, n: int, m: int, name: str) -> NDArray[Any]:
    """Columns of both sets, one below the other."""
    if not isinstance(columns, (tuple, list)) or len(columns) != 2:
        raise ValueError(f"{name} must be a pair: a column for the rows of A, and one for those of B.")
    first, second = (np.asarray(column) for column in columns)
    if first.shape != (n,) or second.shape != (m,):
        raise ValueError(f"{name} has {first.shape} and {second.shape} values for {n} and {m} rows.")
    return np.concatenate([first, second])


def with_shift(
    found: Comparison, A: Any, B: Any, here: NDArray[Any], there: NDArray[Any], model: Any,
    vocabulary: Vocabulary | None, rng: np.random.RandomState,
) -> Comparison:  # fmt: skip
    """The comparison, with what moved beside the concepts."""
    if min(len(here), len(there)) < 2:
        return found
    some = [np.sort(rng.permutation(len(P))[:SHIFT_ROWS]) for P in (here, there)]
    rows = [np.asarray(model.prepare(np.asarray(X)[at])) for X, at in zip((A, B), some)]
    shift = taken_apart(
        np.concatenate(rows),
        np.concatenate([P[at] for P, at in zip((here, there), some)]),
        np.arange(len(some[0]) + len(some[1])) < len(some[0]),
    )
    typical = [[int(at[i]) for i in np.argsort(-sign * (X @ shift.rest), kind="stable")[:EXAMPLES]]
               for X, at, sign in zip(rows, some, (1, -1))]  # fmt: skip
    words = vocabulary.nearest(shift.rest, EXAMPLES) if vocabulary is not None else []
    return replace(found, explained=shift.explained, else_words=words, else_a=typical[0], else_b=typical[1])
