"""Two sets of a collection's items compared: by a filter, a label, a cluster, or ids somebody drew a line around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pellucid._core.hints import did_you_mean
from pellucid.concepts import Comparison, Vocabulary, compare
from pellucid.search.engines._filters import matching
from pellucid.search.readable import ReadableCollection

# what stands for all items that are not in the other set
REST = "rest"


@dataclass(frozen=True)
class ComparedSets:
    """How two sets of a collection's items differ.

    Attributes
    ----------
    found : Comparison
        The differences; its examples are rows of either set.
    ids_a, ids_b : list of str
        The items of either set, in the order of those rows.

    See Also
    --------
    compare_sets : Makes it.
    """

    found: Comparison
    ids_a: list[str]
    ids_b: list[str]

    def examples(self, concept: str) -> tuple[list[str], list[str]]:
        """Items of either set that most likely have a concept.

        Parameters
        ----------
        concept : str
            Its name.

        Returns
        -------
        tuple of list of str
            Ids in A and in B, the likeliest first.

        Raises
        ------
        ValueError
            If there is no such concept.
        """
        if concept not in self.found.concepts:
            raise ValueError(f"There is no concept {concept!r}: {did_you_mean(concept, self.found.concepts)}")
        j = self.found.concepts.index(concept)
        first, second = self.found.examples_a[j], self.found.examples_b[j]
        return [self.ids_a[row] for row in first], [self.ids_b[row] for row in second]

    def something_else(self) -> tuple[list[str], list[str]]:
        """Items of either set that are most typical of what moved beside the concepts.

        Returns
        -------
        tuple of list of str
            Ids in A and in B.
        """
        return [self.ids_a[row] for row in self.found.else_a], [self.ids_b[row] for row in self.found.else_b]


def compare_sets(
    collection: ReadableCollection,
    a: Any,
    b: Any = REST,
    *,
    model: Any,
    clusters: Any = None,
    given: str | None = None,
    groups: str | None = None,
    vocabulary: Vocabulary | None = None,
    rate: float = 0.05,
    least: float = 0.0,
    random_state: int | None = 0,
) -> ComparedSets:
    """Say which concepts are more frequent in one set of a collection's items than in another, and by how much.

    Items that are in both do not count.

    Parameters
    ----------
    collection : Collection or AttachedCollection
        The items; of a table that is attached all columns are read.
    a : list of str, list of conditions, str or dict
        One set: ids of items; a filter ``[(column, operator, value), …]``, also in JSON; ``{"label": name}``,
        what has that value in some column, or in the one of ``{"label": name, "column": column}``; or
        ``{"cluster": name}``, or its number.
    b : list of str, list of conditions, str or dict, default="rest"
        The other set, in the same way; "rest" is all items that are not in A.
    model : ConceptSubspaces
        What tells which concepts items have, fitted to labels or found without.
    clusters : CommonalityClustering, default=None
        Whose clusters are meant.
    given, groups : str, default=None
        Columns: what is held fixed, and what items belong together in; see :func:`pellucid.compare`.
    vocabulary : Vocabulary, default=None
        Words with vectors, which say what moved beside the concepts.
    rate : float, default=0.05
        The share of findings that may be false.
    least : float, default=0.0
        Differences below this share of a concept's frequency do not count.
    random_state : int, default=0
        Seed of whatever is drawn at random.

    Returns
    -------
    ComparedSets
        The comparison, and the ids of both sets.

    Raises
    ------
    ValueError
        If a set is empty or lies in the other, or there is no such label, cluster or column.
    KeyError
        If there is no such item.

    See Also
    --------
    pellucid.compare : Compares rows.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.search import Collection, compare_sets
    >>> X, pets = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 9, ["cat", "cat", "dog", "dog"] * 9
    >>> collection = Collection.create(mkdtemp(), X, year=list(range(36)), pet=pets)
    >>> compared = compare_sets(collection, {"label": "cat"}, model=ConceptSubspaces(1).fit(X, pets))
    >>> bool(compared.found.found.all()), len(compared.ids_a), len(compared.ids_b)
    (True, 18, 18)
    >>> late = compare_sets(collection, [("year", ">", 20)], model=ConceptSubspaces(1).fit(X, pets))
    >>> bool(late.found.found.any()), len(late.ids_a)
    (False, 15)
    """
    every = Listed(collection, *collection.table())
    in_a = items_of(every, a, clusters)
    in_b = ~in_a if isinstance(b, str) and b == REST else items_of(every, b, clusters)
    for name, passed, asked in (("A", in_a, a), ("B", in_b, b)):
        if not passed.any():
            raise ValueError(f"No item is in {name} ({asked!r}): choose another set.")
    chosen = [np.flatnonzero(in_a & ~in_b), np.flatnonzero(in_b & ~in_a)]
    if not (len(chosen[0]) and len(chosen[1])):
        raise ValueError("One of A and B lies in the other: compare it with the rest.")
    held: dict[str, Any] = {
        name: tuple(column_of(every.items, column, rows) for rows in chosen)
        for name, column in (("given", given), ("groups", groups))
        if column is not None
    }
    first, second = (collection.vectors(every.positions[rows]) for rows in chosen)
    found = compare(
        first, second, model=model, vocabulary=vocabulary, rate=rate, least=least, random_state=random_state, **held
    )
    assert isinstance(found, Comparison)
    return ComparedSets(found, *(every.items.column("id").take(pa.array(rows)).to_pylist() for rows in chosen))


@dataclass(frozen=True)
class Listed:
    """All items of a collection: where they stand, and their columns."""

    collection: ReadableCollection
    positions: NDArray[np.int64]
    items: pa.Table


def items_of(every: Listed, wanted: Any, clusters: Any = None) -> NDArray[np.bool_]:
    """Which items are in a set.

    Parameters
    ----------
    every : Listed
        The items.
    wanted : list of str, list of conditions, str or dict
        As :func:`compare_sets` takes either set.
    clusters : CommonalityClustering, default=None
        Whose clusters are meant.

    Returns
    -------
    ndarray of shape (n,)
        Whether each is.

    Raises
    ------
    ValueError
        If it is none of these, or there is no such label or cluster.
    """
    if isinstance(wanted, Mapping):
        kinds = {"label", "cluster"} & set(wanted)
        if len(kinds) != 1 or not set(wanted) <= {"label", "cluster", "column"}:
            raise ValueError(f"A set is {{'label': …}} or {{'cluster': …}}, got {dict(wanted)!r}.")
        if "label" in wanted:
            return labelled(every.items, str(wanted["label"]), wanted.get("column"))
        return in_cluster(every, wanted["cluster"], clusters)
    if not isinstance(wanted, str) and is_list(wanted) and all(isinstance(name, str) for name in wanted):
        ids = every.items.column("id")
        odd = set(wanted).difference(ids.to_pylist())  # which the collection knows in another form, or says that not
        at = [every.collection.position(name) for name in sorted(odd)]
        return np.asarray(pc.is_in(ids, pa.array(wanted, ids.type))) | np.isin(every.positions, at)
    return matching(wanted, [every.items], len(every.positions))


def is_list(wanted: Any) -> bool:
    return isinstance(wanted, (Sequence, np.ndarray))


def labelled(items: pa.Table, label: str, column: str | None) -> NDArray[np.bool_]:
    """Which items have a value, or one in a list, in one column or in any."""
    known = set(items.column_names)
    if column is not None and column not in known:
        raise ValueError(f"There is no column {column!r}: {did_you_mean(column, sorted(known))}")
    wanted = sorted(known - {"id"}) if column is None else [column]
    passed, seen = np.zeros(items.num_rows, dtype=bool), set[str]()
    for name in wanted:
        has, values = having(items.column(name), label)
        passed |= has
        seen |= values
    if not passed.any():
        where = "" if column is None else f" in {column!r}"
        raise ValueError(f"No item has the label {label!r}{where}: {did_you_mean(label, sorted(seen))}")
    return passed


def having(column: Any, label: str) -> tuple[NDArray[np.bool_], set[str]]:
    """Which cells of an Arrow column are that text or a list with it, and some of its values."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    nested = pa.types.is_list(whole.type) or pa.types.is_large_list(whole.type)
    cells = whole.flatten() if nested else whole
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type) or pa.types.is_integer(cells.type)
            or pa.types.is_boolean(cells.type)):  # fmt: skip
        return np.zeros(len(whole), dtype=bool), set()
    said = pc.cast(cells, pa.large_string())
    hit = np.asarray(pc.fill_null(pc.equal(said, label), False))
    some = {value for value in pc.unique(said)[:200].to_pylist() if value is not None}
    if not nested:
        return hit, some
    out = np.zeros(len(whole), dtype=bool)
    out[np.asarray(pc.list_parent_indices(whole))[hit]] = True
    return out, some


def in_cluster(every: Listed, cluster: Any, clusters: Any) -> NDArray[np.bool_]:
    """Which items are in a cluster, by its name or number."""
    if clusters is None:
        raise ValueError("Which clusters are meant? Give a model of clusters.")
    X, count = every.collection.vectors(every.positions), len(clusters.atoms_)
    if str(cluster).removeprefix("-").isdigit() and -1 <= int(cluster) < count:
        number = int(cluster)
    else:
        names = [card.name for card in clusters.describe(X).clusters]
        if str(cluster) not in names:
            raise ValueError(f"There is no cluster {cluster!r}: {did_you_mean(str(cluster), names)}")
        number = names.index(str(cluster))
    return np.asarray(np.asarray(clusters.predict(X)) == number)


def column_of(items: pa.Table, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
    """A column's values of some items."""
    if name not in items.column_names:
        raise ValueError(f"There is no column {name!r}: {did_you_mean(name, items.column_names)}")
    return np.asarray(items.column(name).take(pa.array(rows)).to_pylist())
