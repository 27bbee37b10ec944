"""Labels as people keep them beside vectors: columns of 0 and 1, a column of names, a column of lists, a file."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._common import STANDARD, readable

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from pellucid.vectors import VectorFile

TABLES = (".csv", ".tsv", ".parquet")
ID_NAMES = ("id", "ids", "key", "index")

labels_option = click.option(
    "--labels",
    "labels",
    multiple=True,
    metavar="LABELS",
    help="Columns of the vectors file, separated by commas: one with a list of names or a name per row, or several of "
    "0 and 1; or a file with a row for each vector: .csv, .tsv, .parquet, .npy, or .txt (- too) with names separated "
    "by commas.",
)
names_option = click.option("--names", help="Concepts in a .npy file of labels, separated by commas.")


class Labels:
    """Which concept each row has, gathered block by block."""

    def __init__(self, given: Sequence[str], names: str | None = None) -> None:
        self.file = self._as_file(given)
        self.columns = [] if self.file else [c.strip() for part in given for c in part.split(",") if c.strip()]
        self.names = [n.strip() for n in names.split(",")] if names else None
        self.found = _Pairs()
        self.ids: list[str] = []
        self.rows = 0

    @staticmethod
    def _as_file(given: Sequence[str]) -> Path | None:
        if len(given) == 1 and (given[0] == str(STANDARD) or Path(given[0]).is_file()):
            return Path(given[0])
        return None

    def add(self, block: VectorFile) -> None:
        """Take the labels of one more block of the vectors file."""
        if self.file is None:
            missing = [c for c in self.columns if c not in block.columns]
            if missing:
                there = ", ".join(map(repr, block.columns)) or "none"
                raise click.UsageError(f"There is no file or column {missing[0]!r} of labels; columns are: {there}.")
            self.found.add([(c, block.columns[c]) for c in self.columns], self.rows)
        elif block.ids is not None:
            self.ids += block.ids
        self.rows += len(block.vectors)

    def result(self) -> tuple[NDArray[Any], list[str]]:
        """Indicator (n, S) and the names of the concepts."""
        if self.file is None:
            return self.found.indicator(self.rows)
        if self.file.suffix == ".npy":
            indicator, names = self._array(self.file)
        else:
            indicator, names = self._table(self.file)
        if len(indicator) != self.rows:
            raise ValueError(f"{self.file} has labels for {len(indicator)} rows, but there are {self.rows} vectors.")
        return indicator, names

    def _array(self, file: Path) -> tuple[NDArray[Any], list[str]]:
        import numpy as np

        from pellucid.concepts.labels import as_indicator

        return as_indicator(np.load(file, allow_pickle=False), self.names)

    def _table(self, file: Path) -> tuple[NDArray[Any], list[str]]:
        import numpy as np

        with readable(file) as source:
            columns = _read_table(source) if file.suffix in TABLES else {"labels": _read_lines(source)}
        key = next((name for name in columns if name.lower() in ID_NAMES), None)
        ids = None if key is None else [str(i) for i in columns.pop(key).to_pylist()]
        if not columns:
            raise ValueError(f"{file} has no column of labels.")
        pairs = _Pairs()
        pairs.add(list(columns.items()), 0)
        indicator, names = pairs.indicator(len(next(iter(columns.values()))))
        if ids is None or not self.ids:
            return indicator, names
        place = {name: row for row, name in enumerate(ids)}
        order = [place.get(name, -1) for name in self.ids]
        if all(row < 0 for row in order):
            raise ValueError(f"No id in {file} is an id of a vector.")
        return np.vstack([indicator, np.zeros((1, len(names)), dtype=bool)])[order], names


def label_lists(block: VectorFile, columns: Sequence[str]) -> list[list[str]]:
    """The names of each row's concepts."""
    pairs = _Pairs()
    pairs.add([(name, block.columns[name]) for name in columns], 0)
    if pairs.is_empty():
        return [[] for _ in block.vectors]
    indicator, names = pairs.indicator(len(block.vectors))
    return [[names[j] for j in row.nonzero()[0]] for row in indicator]


class _Pairs:
    """Pairs of a row and a concept, by which labels of any form can be told, a few bytes each."""

    def __init__(self) -> None:
        self.pairs: list[tuple[NDArray[Any], pa.DictionaryArray]] = []
        self.numbers: dict[str, list[NDArray[Any]]] = {}

    def add(self, columns: Sequence[tuple[str, Any]], first: int) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as types

        for name, given in columns:
            values = given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given)
            values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            values = values.dictionary_decode() if types.is_dictionary(values.type) else values
            kind = values.type
            if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
                rows = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
                self._add_names(name, rows + first, pc.list_flatten(values))
            elif types.is_string(kind) or types.is_large_string(kind):
                self._add_names(name, np.arange(first, first + len(values)), values)
            elif types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
                if values.null_count:
                    gap = first + pc.index(values.is_null(), True).as_py()
                    raise ValueError(f"The labels {name!r} have an empty value in row {gap}, where 0 or 1 belongs.")
                self.numbers.setdefault(name, []).append(values.to_numpy(zero_copy_only=False))
            else:
                raise ValueError(f"The labels {name!r} hold {kind} values, where names or 0 and 1 belong.")

    def _add_names(self, name: str, rows: NDArray[Any], values: Any) -> None:
        import pyarrow.types as types

        if not (types.is_string(values.type) or types.is_large_string(values.type)):
            raise ValueError(f"The labels {name!r} hold lists of {values.type}, where lists of names are needed.")
        there = values.is_valid().to_numpy(zero_copy_only=False)
        self.pairs.append((rows[there], values.drop_null().dictionary_encode()))

    def is_empty(self) -> bool:
        return not self.numbers and not any(len(rows) for rows, _ in self.pairs)

    def indicator(self, rows: int) -> tuple[NDArray[Any], list[str]]:
        """Columns of 0 and 1 in their order, then names in alphabetical order."""
        import numpy as np

        from pellucid.concepts.labels import as_indicator

        columns = {name: np.concatenate(parts) for name, parts in self.numbers.items()}
        if len(columns) == 1 and not self.pairs:
            (classes,) = columns.values()
            if classes.dtype.kind in "iu" and not np.isin(classes, (0, 1)).all():  # a number per row: its class
                return as_indicator(classes)
        for name, values in columns.items():
            wrong = ~np.isin(values, (0, 1))
            if wrong.any():
                first = int(np.argmax(wrong))
                raise ValueError(f"The labels {name!r} have {values[first]} in row {first}, where 0 or 1 belongs.")
        named = {str(n) for _, concepts in self.pairs for n in concepts.dictionary.to_pylist()}
        names = [*columns, *sorted(named - set(columns))]
        if not names:
            raise ValueError("No row has any label.")
        place = {name: j for j, name in enumerate(names)}
        indicator = np.zeros((rows, len(names)), dtype=bool)
        for j, values in enumerate(columns.values()):
            indicator[:, j] = values == 1
        for row, concepts in self.pairs:
            known = np.array([place[str(n)] for n in concepts.dictionary.to_pylist()], dtype=np.int64)
            indicator[row, known[concepts.indices.to_numpy(zero_copy_only=False)]] = True
        return indicator, names


def _read_table(path: Path) -> dict[str, Any]:
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        table = pq.read_table(path)
    else:
        options = arrow_csv.ParseOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
        table = arrow_csv.read_csv(path, parse_options=options)
    return {name: table.column(name) for name in table.column_names}


def _read_lines(path: Path) -> pa.Array:
    """A list of names per line; an empty line is a row without concepts."""
    import pyarrow as pa

    return pa.array(list(_lines(path)), pa.list_(pa.string()))


def _lines(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        for line in text.read().splitlines():
            yield [name.strip() for row in csv.reader([line]) for name in row if name.strip()]
