"""What a cluster is: the features that set it apart, its words, and its typical and borderline rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from pellucid._core.arrays import Floats
from pellucid._core.tables import data_frame
from pellucid._core.text_words import TextWords, folded

# features, and rows of either kind, that a cluster is described by
FEATURES, EXAMPLES = 5, 3
# false discoveries among the features that are named, at most, and the level of the intervals
FALSE_SHARE, LEVEL = 0.05, 0.95
# columns without names are features of a table if they are no more
TABLE_COLUMNS = 50


@dataclass(frozen=True)
class FeatureDifference:
    """How a cluster's mean of a feature differs from that of all other rows, in deviations within clusters.

    Attributes
    ----------
    name : str
        The feature.
    difference : float
        The difference.
    low, high : float
        Its 95 % interval, by Welch's t.
    adjusted_p : float
        The least share of false discoveries at which it would be named (Benjamini and Hochberg), over all clusters and
        features. The clusters were made from these features, so this says which differences are large, not that there
        are clusters.

    Examples
    --------
    >>> from pellucid.clusters import FeatureDifference
    >>> str(FeatureDifference("proline", 2.1, 1.9, 2.3, 1e-9))
    'high proline (+2.1)'
    """

    name: str
    difference: float
    low: float
    high: float
    adjusted_p: float

    def __str__(self) -> str:
        return f"{'high' if self.difference > 0 else 'low'} {self.name} ({self.difference:+.1f})"


@dataclass(frozen=True)
class ClusterCard:
    """One cluster in words.

    Attributes
    ----------
    cluster : int
        Its number.
    name : str
        Its words, or the features that set it apart most, or its most typical row.
    count : int
        Its rows.
    share : float
        Its share of all rows.
    words : list of str
        What its texts say that those of others do not, where there are texts.
    features : list of FeatureDifference
        What sets it apart, the largest difference first, where rows have features.
    typical, borderline : list of int
        Rows that cost least in it, and rows that nearly went elsewhere.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from pellucid import CommonalityClustering
    >>> wine = load_wine(as_frame=True).data
    >>> CommonalityClustering(3, random_state=0).fit(wine).describe(wine).clusters[1].name
    'high flavanoids, high proline'
    """

    cluster: int
    name: str
    count: int
    share: float
    words: list[str]
    features: list[FeatureDifference]
    typical: list[int]
    borderline: list[int]


@dataclass(frozen=True)
class ClusterDescription:
    """What clusters are; ``str`` gives it as lines.

    Attributes
    ----------
    clusters : list of ClusterCard
        One for each cluster.
    common : list of str
        The features in which rows of all clusters vary together most, or nothing where there are none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pellucid import CommonalityClustering
    >>> iris = load_iris(as_frame=True).data
    >>> told = CommonalityClustering(3, random_state=0).fit(iris).describe(iris)
    >>> [card.count for card in told.clusters]
    [60, 50, 40]
    """

    clusters: list[ClusterCard]
    common: list[str]

    def __str__(self) -> str:
        lines = []
        for card in self.clusters:
            more = ", ".join(map(str, card.features)) or ", ".join(card.words)
            lines.append(
                f"{card.cluster}: {card.name}; {card.count} rows ({card.share:.0%}){'; ' + more if more else ''}"
            )
        if self.common:
            lines.append(f"common to all: {', '.join(self.common)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All of it in terms of JSON.

        Returns
        -------
        dict
            Clusters and what is common.

        Examples
        --------
        >>> from pellucid.clusters import ClusterDescription
        >>> ClusterDescription([], ["hue"]).to_dict()
        {'clusters': [], 'common': ['hue']}
        """
        return asdict(self)

    def to_frame(self) -> Any:
        """The features of all clusters as a data frame, a line each.

        Returns
        -------
        pandas.DataFrame
            With the columns cluster, name, feature, difference, low, high and adjusted_p.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from pellucid import CommonalityClustering
        >>> wine = load_wine(as_frame=True).data
        >>> CommonalityClustering(3, random_state=0).fit(wine).describe(wine).to_frame().shape[1]
        7
        """

        lines = [
            {"cluster": card.cluster, **asdict(f), "name": card.name, "feature": f.name}
            for card in self.clusters
            for f in card.features
        ]
        return data_frame(lines, ["cluster", "name", "feature", "difference", "low", "high", "adjusted_p"])

    def plot(self, ax: Any = None) -> Any:
        """The clusters with their sizes, names, and what sets them apart.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        See Also
        --------
        pellucid.plots.cluster_profiles : The function that draws.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from pellucid import CommonalityClustering
        >>> wine = load_wine(as_frame=True).data
        >>> ax = CommonalityClustering(3, random_state=0).fit(wine).describe(wine).plot()
        """
        from pellucid.plots import cluster_profiles

        return cluster_profiles(self, ax=ax)


def describe(
    rows: NDArray[Any],
    labels: NDArray[Any],
    costs: NDArray[Any],
    own_costs: NDArray[Any],
    common: Floats,
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
    titles: Sequence[str] | None,
) -> ClusterDescription:
    """Describe clusters by raw rows (n, d), their labels (n,) and costs (n, C), and what they cost without neighbours;
    ``common`` (d,) is the deviation of each feature within clusters that all share."""
    C = costs.shape[1]
    features = differences(rows, labels, C, names) if names is not None else [[] for _ in range(C)]
    words: list[list[str]] = [[] for _ in range(C)]
    if texts is not None:
        member = np.zeros((len(labels), C))
        member[np.arange(len(labels)), labels] = 1.0
        words = [folded(found) for found in TextWords(texts).distinctive(member)]
    margins = margins_of(costs, labels)
    cards = []
    for c in range(C):
        mine = np.flatnonzero(labels == c)
        typical = mine[np.argsort(own_costs[mine, c], kind="stable")[:EXAMPLES]].tolist()
        borderline = mine[np.argsort(margins[mine], kind="stable")[:EXAMPLES]].tolist() if C > 1 else []
        name = name_of(c, words[c], features[c], typical, titles)
        share = len(mine) / max(1, len(labels))
        cards.append(ClusterCard(c, name, len(mine), share, words[c], features[c], typical, borderline))
    shared = [] if names is None else [str(names[i]) for i in np.argsort(-common, kind="stable")[:FEATURES]]
    return ClusterDescription(cards, shared)


def margins_of(costs: NDArray[Any], labels: NDArray[Any]) -> Floats:
    """How much more the next best cluster costs (n,)."""
    here = np.arange(len(labels)), labels
    others = costs.astype(np.float64)
    own = others[here].copy()
    others[here] = np.inf
    return np.asarray(others.min(axis=1) - own)


def name_of(
    c: int,
    words: list[str],
    features: list[FeatureDifference],
    typical: list[int],
    titles: Sequence[str] | None,
) -> str:
    """What a cluster is called: never a number alone where rows say anything."""
    if words:
        return ", ".join(words[:3])
    if features:
        return ", ".join(str(feature).rsplit(" (", 1)[0] for feature in features[:2])
    if typical:
        return f"like {titles[typical[0]] if titles is not None else f'row {typical[0]}'}"
    return f"cluster {c} (no rows)"


def differences(
    rows: NDArray[Any], labels: NDArray[Any], C: int, names: Sequence[str]
) -> list[list[FeatureDifference]]:
    """For each cluster the features that set it apart, with false discoveries held down over all of them."""
    X = np.asarray(rows, dtype=np.float64)
    counts = np.bincount(labels, minlength=C).astype(np.float64)
    means = np.stack([X[labels == c].mean(axis=0) if counts[c] else np.zeros(X.shape[1]) for c in range(C)])
    within = X - means[labels]
    spread = np.sqrt((within**2).sum(axis=0) / max(1.0, len(X) - C))
    unit = np.where(spread > 0, spread, 1.0)
    found, p_values = [], []
    for c in range(C):
        mine, others = X[labels == c], X[labels != c]
        difference, low, high, p = welch(mine, others)
        found.append((difference / unit, low / unit, high / unit))
        p_values.append(np.where(spread > 0, p, np.where(difference != 0, 0.0, 1.0)))
    adjusted = false_discovery_control(np.ravel(p_values), axis=None).reshape(C, -1)
    told: list[list[FeatureDifference]] = []
    for c, (difference, low, high) in enumerate(found):
        order = [int(i) for i in np.argsort(-np.abs(difference), kind="stable") if adjusted[c, i] <= FALSE_SHARE]
        told.append(
            [
                FeatureDifference(
                    str(names[i]), float(difference[i]), float(low[i]), float(high[i]), float(adjusted[c, i])
                )
                for i in order[:FEATURES]
            ]
        )
    return told


def welch(mine: Floats, others: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Difference of means (d,), its interval and its p-value; of fewer than two rows on a side nothing is known."""
    n, m = len(mine), len(others)
    d = mine.shape[1]
    if n == 0 or m == 0:
        return np.zeros(d), np.zeros(d), np.zeros(d), np.ones(d)
    difference = mine.mean(axis=0) - others.mean(axis=0)
    if n < 2 or m < 2:
        return difference, np.full(d, -np.inf), np.full(d, np.inf), np.ones(d)
    a, b = mine.var(axis=0, ddof=1) / n, others.var(axis=0, ddof=1) / m
    error = np.sqrt(a + b)
    freedom = (a + b) ** 2 / np.maximum(a**2 / (n - 1) + b**2 / (m - 1), 1e-300)
    freedom = np.maximum(freedom, 1.0)
    ratio = np.divide(np.abs(difference), error, out=np.where(difference != 0, np.inf, 0.0), where=error > 0)
    reach = student.ppf((1 + LEVEL) / 2, freedom) * error
    return difference, difference - reach, difference + reach, 2 * student.sf(ratio, freedom)
