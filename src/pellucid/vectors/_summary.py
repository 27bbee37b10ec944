"""What is in many vectors: how long they are, which of them occur again, and which labels stand beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.vectors._common import LABEL_NAMES, VectorFile

# rows that are looked at together, and bytes by which a row is known again: in a hundred million rows two that differ
# are taken for one with a chance of one in three thousand
ROWS, MARK = 4096, 8
# a column with more names than that holds texts, not labels
MOST_LABELS = 10_000
# the name under which columns of 0 and 1 are counted together
YES_NO = "columns of 0 and 1"


@dataclass(frozen=True)
class Summary:
    """What many vectors are like, and what stands beside them.

    Attributes
    ----------
    rows : int
        How many vectors there are.
    dimensions : int
        Numbers in each of them.
    shortest : float
        The least length of a vector; NaN if none is finite, as are the next two.
    longest : float
        The greatest.
    mean_length : float
        Their mean.
    zeros : int
        Vectors that are zero all through.
    not_finite : int
        Vectors with a number that is NaN or infinite, which have no length and equal no other.
    duplicates : int
        Vectors that are equal to an earlier one, number by number.
    labels : dict of str to dict of str to int
        For each column of labels how many rows have each of them, the most frequent first: columns of lists of names,
        columns whose name says that they hold labels, and all columns of 0 and 1 together.
    uncounted : tuple of str
        Columns with so many different names that they were not counted.
    """

    rows: int
    dimensions: int
    shortest: float
    longest: float
    mean_length: float
    zeros: int
    not_finite: int
    duplicates: int
    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()


def summary(blocks: Iterable[VectorFile]) -> Summary:
    """Look at vectors once, block by block: what is kept of a row is a mark of eight bytes.

    Parameters
    ----------
    blocks : iterable of VectorFile
        Some vectors each, with what stands beside them, as :func:`blocks` gives them.

    Returns
    -------
    Summary
        What they are like.

    Raises
    ------
    ValueError
        If there are no blocks.

    Examples
    --------
    >>> from pellucid import vectors
    >>> vectors.write("few.parquet", [[3.0, 4.0], [0.0, 0.0], [3.0, 4.0]], columns={"label": ["cat", "dog", "cat"]})
    >>> found = vectors.summary(vectors.blocks("few.parquet"))
    >>> found.longest, found.zeros, found.duplicates, found.labels
    (5.0, 1, 1, {'label': {'cat': 2, 'dog': 1}})
    """
    rows, lengths, labels = None, _Lengths(), _Labels()
    for block in blocks:
        rows = (rows or 0) + len(block.vectors)
        dimensions = block.vectors.shape[1]
        for start in range(0, len(block.vectors), ROWS):
            lengths.add(block.vectors[start : start + ROWS])
        for name, values in block.columns.items():
            labels.add(name, values)
    if rows is None:
        raise ValueError("There are no blocks of vectors to look at; give at least one.")
    told = lengths.finite
    return Summary(
        rows, dimensions, float(lengths.shortest) if told else np.nan, float(lengths.longest) if told else np.nan,
        float(lengths.total / told) if told else np.nan, lengths.zeros, rows - told, lengths.duplicates(),
        labels.counts(), tuple(labels.uncounted),
    )  # fmt: skip


class _Lengths:
    """What is kept of the vectors."""

    def __init__(self) -> None:
        self.finite = self.zeros = 0
        self.total, self.shortest, self.longest = 0.0, np.inf, 0.0
        self.marks: list[NDArray[np.uint64]] = []

    def add(self, given: NDArray[Any]) -> None:
        # equal numbers have equal bytes in float64, once the zero with a sign has lost it
        rows = np.ascontiguousarray(given, dtype=np.float64) + 0.0
        largest = np.abs(rows).max(axis=1)
        fine = np.isfinite(largest)
        rows, largest = rows[fine], largest[fine]
        if not len(rows):
            return
        scaled = rows / np.where(largest > 0, largest, 1)[:, None]  # squares of huge numbers would overflow
        lengths = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        self.finite += len(rows)
        self.zeros += int(np.count_nonzero(largest == 0))
        self.total += float(lengths.sum())
        self.shortest, self.longest = min(self.shortest, lengths.min()), max(self.longest, lengths.max())
        marks = b"".join(blake2b(row, digest_size=MARK).digest() for row in rows)
        self.marks.append(np.frombuffer(marks, np.uint64))

    def duplicates(self) -> int:
        return self.finite - len(np.unique(np.concatenate(self.marks))) if self.marks else 0


class _Labels:
    """How often each label was met, by column."""

    def __init__(self) -> None:
        self.named: dict[str, Counter[str]] = {}
        self.yes: dict[str, int] = {}  # columns of 0 and 1 so far
        self.other: set[str] = set()
        self.uncounted: list[str] = []

    def add(self, name: str, given: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as types

        if name in self.other or name in self.uncounted or getattr(given, "ndim", 1) != 1:
            return
        values = given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given)
        values = values.cast(values.type.value_type) if types.is_dictionary(values.type) else values
        kind = values.type
        if types.is_null(kind):
            return
        lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        if lists and _is_name(kind.value_type):
            self._count(name, pc.list_flatten(values))
        elif name.lower() in LABEL_NAMES and (_is_name(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            self._count(name, values)
        elif types.is_boolean(kind) or types.is_integer(kind):
            self._count_yes(name, values)
        elif not (lists and types.is_null(kind.value_type)):
            self.other.add(name)

    def _count(self, name: str, values: Any) -> None:
        import pyarrow.compute as pc

        counter = self.named.setdefault(name, Counter())
        for entry in pc.value_counts(values.drop_null()).to_pylist():
            counter[str(entry["values"])] += entry["counts"]
        if len(counter) > MOST_LABELS:
            del self.named[name]
            self.uncounted.append(name)

    def _count_yes(self, name: str, values: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.min_max(values).as_py()
        if found["min"] is not None and (found["min"] < 0 or found["max"] > 1):
            self.other.add(name)
            self.yes.pop(name, None)
            return
        ones = pc.sum(values.cast(pa.int64())).as_py() or 0
        self.yes[name] = self.yes.get(name, 0) + ones

    def counts(self) -> dict[str, dict[str, int]]:
        found = {name: _by_frequency(counter) for name, counter in self.named.items()}
        return {**found, YES_NO: _by_frequency(self.yes)} if self.yes else found


def _is_name(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind))


def _by_frequency(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
