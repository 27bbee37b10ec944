"""How often concepts are found over time: shares by period with their bands, and where they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, kstwobign, norm

from pellucid._core.arrays import Floats
from pellucid._core.tables import data_frame

# periods, where it is not said how many, and items in one, about
PERIODS, PERIOD_ITEMS = 12, 50
# changes of one concept, at most, and items on either side of one, at least
CHANGES, LEAST_SIDE = 5, 10


@dataclass(frozen=True)
class Trends:
    """How often concepts are found over time.

    Attributes
    ----------
    concepts : list of str
        The S concepts, the surest change first.
    starts, ends : ndarray of shape (T,)
        The first and the last date of each period.
    counts : ndarray of shape (T,)
        Items in each.
    shares : ndarray of shape (S, T)
        The expected share of a period's items that have each concept.
    low, high : ndarray of shape (S, T)
        Their bands.
    p, q : ndarray of shape (S,)
        How likely items in any other order would drift apart as far, and the least false-discovery rate at which a
        change would be found.
    found : ndarray of bool of shape (S,)
        Whether it is, at the rate asked for.
    changes : list of list
        For each concept that changes the dates from which on its share is another one.
    rate : float
        The false-discovery rate.

    See Also
    --------
    pellucid.compare : Makes it, of ``dates=``.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import compare
    >>> rain = (np.arange(400) >= 250)[:, None]
    >>> found = compare(rain, dates=np.arange(400), names=["rain"])
    >>> found.changes
    [[250]]
    """

    concepts: list[str]
    starts: NDArray[Any]
    ends: NDArray[Any]
    counts: NDArray[np.int64]
    shares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    found: NDArray[np.bool_]
    changes: list[list[Any]]
    rate: float

    def to_frame(self) -> Any:
        """Make a table of concepts by periods.

        Returns
        -------
        pandas.DataFrame
            A row for each concept and period.
        """
        names = ("concept", "start", "end", "items", "share", "low", "high")
        rows = [
            (name, self.starts[t], self.ends[t], int(self.counts[t]), *(float(Z[j, t]) for Z in self._bands()))
            for j, name in enumerate(self.concepts)
            for t in range(len(self.starts))
        ]
        return data_frame([dict(zip(names, row)) for row in rows], names)

    def plot(self, ax: Any = None, most: int = 6) -> Any:
        """Draw shares over time with their bands and changes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        most : int, default=6
            Concepts that are drawn, at most.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        from pellucid.plots import trends

        return trends(self, ax=ax, most=most)

    def __str__(self) -> str:
        count = int(self.found.sum())
        lines = [
            f"{count} of {len(self.concepts)} concepts change over {len(self.starts)} periods (false-discovery rate "
            f"{self.rate:.0%})."
        ]
        lines += [
            f"{self.concepts[j]}: {self.shares[j, 0]:.1%} at first, {self.shares[j, -1]:.1%} at last; changes at "
            f"{', '.join(str(date) for date in self.changes[j])}"
            for j in np.flatnonzero(self.found)
        ]
        return "\n".join(lines)

    def _bands(self) -> tuple[Floats, Floats, Floats]:
        return self.shares, self.low, self.high


def over_time(P: NDArray[Any], names: Sequence[str], dates: Any, rate: float, n_periods: int | None) -> Trends:
    """Presence (n, S) of rows by their dates: periods with about as many items each, dates kept whole."""
    when = np.asarray(dates)
    if when.shape != (len(P),):
        raise ValueError(f"There are {len(P)} rows, but dates of shape {when.shape}.")
    if when.dtype.kind == "O":
        when = np.array([str(date) for date in when])
    missing = (
        np.isnat(when) if when.dtype.kind == "M" else when != when
    )  # only what is not a number differs from itself
    if missing.any():
        raise ValueError("A date is missing: leave its row out.")
    order = np.argsort(when, kind="stable")
    when, values = when[order], np.asarray(P, dtype=np.float64)[order]
    known, first = np.unique(when, return_index=True)
    if len(known) < 2:
        raise ValueError(f"All rows have the date {known[0]}, so nothing can change: compare two sets instead.")
    wanted = n_periods or max(2, min(PERIODS, len(when) // PERIOD_ITEMS))
    cuts = np.unique(
        first[np.searchsorted(first, np.linspace(0, len(when), wanted + 1)[1:-1]).clip(max=len(first) - 1)]
    )
    cuts = np.concatenate([[0], cuts[cuts > 0], [len(when)]])
    periods = [values[a:b] for a, b in pairwise(cuts)]
    share = np.stack([rows.mean(axis=0) for rows in periods], axis=1)
    counts = np.diff(cuts)
    # Wilson's bands, which stay between 0 and 1 where a share is near either
    z = float(norm.ppf(1 - rate / 2))
    wide = 1 + z**2 / counts
    middle = (share + z**2 / (2 * counts)) / wide
    half = z / wide * np.sqrt(share * (1 - share) / counts + z**2 / (4 * counts**2))
    p = np.array([drift(column, first)[1] for column in values.T])
    q = false_discovery_control(p)
    sure = np.lexsort((np.arange(len(p)), p))
    changes = [
        [when[k].item() if when.dtype.kind != "M" else when[k] for k in breaks(values[:, j], first, rate)]
        if q[j] <= rate
        else []
        for j in sure
    ]
    return Trends(
        [str(names[j]) for j in sure], when[cuts[:-1]], when[cuts[1:] - 1], counts, share[sure],
        np.maximum(middle - half, 0)[sure], np.minimum(middle + half, 1)[sure], p[sure], q[sure], q[sure] <= rate,
        changes, rate,
    )  # fmt: skip


def drift(values: Floats, first: NDArray[np.int64]) -> tuple[int, float]:
    """Where the sum of deviations from the mean is furthest from zero between two dates, whose rows begin at ``first``,
    and how likely it would be as far in any other order: the distribution of Kolmogorov."""
    n, spread = len(values), float(values.std())
    between = first[(first > 0) & (first < n)]
    if spread <= 1e-12 or not len(between):
        return 0, 1.0
    walk = np.abs(np.cumsum(values - values.mean()))[between - 1] / (spread * np.sqrt(n))
    k = int(np.argmax(walk))
    return int(between[k]), float(kstwobign.sf(walk[k]))


def breaks(values: Floats, first: NDArray[np.int64], rate: float) -> list[int]:
    """The rows at which the mean changes, by taking the surest change and looking on in both parts."""
    found: list[int] = []
    parts = [(0, len(values))]
    while parts and len(found) < CHANGES:
        start, stop = parts.pop(0)
        k, p = drift(values[start:stop], first[(first >= start) & (first < stop)] - start)
        if p <= rate and min(k, stop - start - k) >= LEAST_SIDE:
            found.append(start + k)
            parts += [(start, start + k), (start + k, stop)]
    return sorted(found)
