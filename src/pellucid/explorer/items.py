"""The items of a collection as the page needs them: rows of the map, columns, search over text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.plain import plain
from pellucid.search import ReadableCollection

MOST_LABELS = 200  # different values that still make a column of labels
NO_LABEL = 65_535
LONGEST = 1_000  # characters of a text in a list
PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


@dataclass(frozen=True)
class Column:
    """kind : "label" (one of few values), "labels" (a list of them), "text", or "other"
    values : the labels, the most frequent first
    counts : how many items have each
    """

    name: str
    kind: str
    values: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


class Items:
    """Items in map order: row r of the map is the r-th item that is there."""

    def __init__(self, collection: ReadableCollection) -> None:
        self.collection = collection
        # one column of a million items has to come out in one piece, which Collection.item cannot do
        self.positions, self.table = collection.table()
        self.has_thumbnails = collection.has_thumbnails
        self.columns = [self._describe(name) for name in self.table.column_names if name != "id"]
        texts = [column.name for column in self.columns if column.kind == "text"]
        self.text_column = "text" if "text" in texts else next(iter(texts), None)

    def __len__(self) -> int:
        return len(self.positions)

    def _describe(self, name: str) -> Column:
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self.table.column(name)
        kind = values.type
        many = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if many:
            values, kind = pc.list_flatten(values), kind.value_type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (text or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            return Column(name, "other")
        most = min(MOST_LABELS, max(2, len(self) // 2))
        if not many and (name == "text" or pc.count_distinct(values).as_py() > most):
            return Column(name, "text" if text else "other")
        found = pc.value_counts(values.cast(pa.string())).to_pylist()
        pairs = sorted(((row["counts"], row["values"]) for row in found if row["values"] is not None), reverse=True)
        pairs = pairs[:MOST_LABELS]
        return Column(name, "labels" if many else "label", [v for _, v in pairs], [n for n, _ in pairs])

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name and column.kind in ("label", "labels"):
                return column
        raise ValueError(f"There is no column of labels {name!r}.")

    def position(self, item: str) -> int:
        if item not in self.collection:
            raise KeyError(f"There is no item {item!r}.")
        return self.collection.position(item)

    def row(self, item: str) -> int:
        """The row of an item on the map."""
        return int(np.searchsorted(self.positions, self.position(item)))

    def rows_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self.positions, positions)

    def show(self, row: int, whole: bool = False) -> dict[str, Any]:
        """An item in terms of JSON; texts in lists are cut."""
        values = self.collection.item(int(self.positions[row]))
        shown = {key: plain(value) for key, value in values.items() if key not in ("id", "thumbnail")}
        for key, value in shown.items():
            if not whole and isinstance(value, str) and len(value) > LONGEST:
                shown[key] = value[:LONGEST] + "…"
        return {"row": int(row), "id": values["id"], "columns": shown}

    def find(self, words: str, limit: int) -> list[int]:
        """Rows whose id or text holds what was typed: those whose id begins with it first."""
        return self.found(words, limit)[0]

    def found(self, words: str, limit: int) -> tuple[list[int], int]:
        """The same, and how many there are in all."""
        import pyarrow.compute as pc

        ids = self.table.column("id")
        begins = pc.starts_with(ids, words, ignore_case=True)
        hit = pc.match_substring(ids, words, ignore_case=True)
        if self.text_column is not None:
            inside = pc.match_substring(self.table.column(self.text_column), words, ignore_case=True)
            hit = pc.or_kleene(hit, inside)
        first = np.flatnonzero(begins.to_numpy())[:limit]
        ids_first = sorted(first, key=lambda row: len(ids[int(row)].as_py()))
        rest = np.setdiff1d(np.flatnonzero(hit.fill_null(False).to_numpy()), first)[: limit - len(first)]
        total = int(np.count_nonzero(hit.fill_null(False).to_numpy()))
        return [int(row) for row in (*ids_first, *rest)], total

    def labels(self, name: str, value: str | None) -> NDArray[np.uint16]:
        """Per row which value the column has (NO_LABEL for none), or, with a value, whether it has that one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column, cells = self.column(name), self.table.column(name)
        if value is not None and value not in column.values:
            raise ValueError(f"The column {name!r} has no label {value!r}.")
        if column.kind == "labels":
            if value is None:
                raise ValueError(f"Items have several values in {name!r}: name one as value.")
            whole = cells.combine_chunks()
            mine = pc.equal(pc.list_flatten(whole).cast(pa.string()), value).fill_null(False).to_numpy(False)
            out = np.zeros(len(self), dtype=np.uint16)
            out[pc.list_parent_indices(whole).to_numpy()[mine]] = 1
            return out
        codes = pc.index_in(cells.cast(pa.string()), pa.array(column.values, pa.string()))
        found: NDArray[np.uint16] = codes.fill_null(NO_LABEL).to_numpy().astype(np.uint16)
        return found if value is None else (found == column.values.index(value)).astype(np.uint16)

    def thumbnail(self, item: str) -> tuple[bytes, str]:
        """The bytes of an item's picture and their kind."""
        data = self.collection.item(self.position(item)).get("thumbnail")
        for start, kind in PICTURES.items():
            if isinstance(data, bytes) and data.startswith(start):
                return data, kind
        raise KeyError(f"The item {item!r} has no thumbnail.")
