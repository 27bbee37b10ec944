"""Which columns of a table make up the vectors: those that were asked for, or what a table can be seen to mean."""

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.vectors._common import ID_NAMES, LABEL_NAMES, Fitness, choose, fail, listed

if TYPE_CHECKING:
    import pyarrow as pa

# rows that are looked at to tell labels, and the most different values that labels without a name have
SAMPLE, FEW = 4096, 32


@dataclass(frozen=True)
class Wanted:
    """What was asked of a table."""

    column: str | None = None
    labels: Collection[str] = ()
    columns: Sequence[str] | None = None
    exclude: Collection[str] = ()

    def check(self, path: Path, is_table: bool) -> None:
        for name, given in (("columns", self.columns), ("exclude", self.exclude), ("labels", self.labels)):
            if isinstance(given, str):
                raise TypeError(f"{name} is a list of names of columns, got the text {given!r}: put it into a list.")
        for name, asked in (("columns=", self.columns is not None), ("exclude=", bool(self.exclude))):
            if asked and not is_table:
                fail(path, f"is no table with columns of numbers: leave {name} out.")
            if asked and self.column is not None:
                fail(path, f"is asked for the one column {self.column!r} and by {name} for several: name one of both.")
        if self.columns is not None and not self.columns:
            fail(path, "is asked for no columns at all: name at least one in columns=.")


@dataclass(frozen=True)
class Split:
    """Numeric columns that make up the vectors, in order, and those that look like labels, with the reason."""

    taken: tuple[str, ...]
    set_aside: dict[str, str]

    def warn(self, path: Path) -> None:
        for name, reason in self.set_aside.items():
            warnings.warn(
                f"{path}: the column {name!r} {reason}, so it stays beside the vectors: name it in exclude= "
                "(--exclude) if that is right, or all that you want in columns= (--columns) if not.",
                stacklevel=5,
            )  # fmt: skip


def split_columns(
    path: Path, kinds: "dict[str, pa.DataType]", wanted: Wanted, sample: "Callable[[list[str]], pa.RecordBatch]"
) -> Split:
    """The columns of numbers that vectors are made of, where no column holds whole vectors."""
    for name in (*(wanted.columns or ()), *wanted.exclude):
        if name not in kinds:
            fail(path, f"has no column {name!r}: its columns are {listed(kinds)}.")
    if wanted.columns is not None:
        for name in wanted.columns:
            if not (_is_number(kinds[name]) or _is_boolean(kinds[name])):
                fail(path, f"holds {kinds[name]} values in {name!r}, not numbers: leave it out of columns=.")
        twice = {name for name in wanted.columns if list(wanted.columns).count(name) > 1} | {
            name for name in wanted.columns if name in wanted.exclude
        }
        if twice:
            fail(path, f"is asked for the column {min(twice)!r} twice, or both with and without it: name it once.")
        return Split(tuple(wanted.columns), {})
    apart = {*wanted.labels, *wanted.exclude, *(name for name in kinds if name.lower() in ID_NAMES)}
    numeric = [name for name, kind in kinds.items() if _is_number(kind) and name not in apart]
    if not numeric:
        fail(path, f"has no columns of numbers among {listed(kinds)}: write the vectors as lists or numeric columns.")
    labels = [name for name in numeric if _named_like_labels(name, kinds)]
    aside = dict.fromkeys(labels, "is named as labels are")
    # who has named a column of labels has no other
    if not aside and not apart.intersection(wanted.labels, kinds) and len(numeric) > 1:
        reason = _looks_like_labels(sample(numeric), numeric)
        aside = {numeric[-1]: reason} if reason and numeric[-1] == [*kinds][-1] else {}
    taken = tuple(name for name in numeric if name not in aside)
    return Split(taken, aside) if taken else Split(tuple(numeric), {})  # all there is cannot be labels


def _named_like_labels(name: str, names: Iterable[str]) -> bool:
    # y beside x is a coordinate
    return name.lower() in LABEL_NAMES and not (name.lower() == "y" and "x" in map(str.lower, names))


def _looks_like_labels(sample: "pa.RecordBatch", numeric: list[str]) -> str | None:
    """Why the last column looks like labels: few whole numbers, beside columns of which most hold fractions."""
    values = [sample.column(name).to_numpy(zero_copy_only=False) for name in numeric]
    *others, last = [column[np.isfinite(column)] for column in values]
    different = len(np.unique(last))
    if not len(last) or different > min(FEW, len(last) // 2) or (last % 1).any():
        return None
    fractions = sum(bool((column % 1).any()) for column in others)
    if 2 * fractions <= len(others):
        return None
    return f"stands last and holds {different} different whole number{'' if different == 1 else 's'} beside fractions"


def list_column(path: Path, column: str | None, schema: "pa.Schema") -> str | None:
    """The column whose cells are whole vectors, or None when plain numeric columns make up the vectors."""
    found: dict[str, Fitness] = {name: _list_fitness(kind) for name, kind in types_of(schema).items() if is_list(kind)}
    if column is None:
        return choose(path, None, found) if set(found.values()) - {"other"} else None
    if column in schema.names and column not in found:
        what = "one number" if _is_number(schema.field(column).type) else "no numbers"
        fail(path, f"has {what} per row in {column!r}, from row 0 on: pass column= with a column of lists of numbers.")
    if not found:
        fail(path, f"has no column {column!r} and no columns of lists: leave column= out to take the numeric columns.")
    name = choose(path, column, found)
    if found[name] == "other":
        fail(path, f"holds lists without numbers in {name!r}, from row 0 on: pass column= with lists of numbers.")
    return name


def types_of(schema: "pa.Schema") -> "dict[str, pa.DataType]":
    return {field.name: field.type for field in schema}


def storage_of(kind: "pa.DataType") -> "pa.DataType":
    return getattr(kind, "storage_type", kind)  # a tensor column is a fixed-size list underneath


def is_list(kind: "pa.DataType") -> bool:
    import pyarrow.types as types

    kind = storage_of(kind)
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_vector(kind: "pa.DataType") -> bool:
    """Lists of numbers are other vectors, not labels: they stay in the file."""
    return is_list(kind) and _list_fitness(kind) != "other"


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_floating(kind) or types.is_integer(kind))


def _is_boolean(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_boolean(kind))


def _list_fitness(kind: "pa.DataType") -> Fitness:
    import pyarrow.types as types

    value = storage_of(kind).value_type
    if types.is_floating(value):
        return "float"
    return "number" if types.is_integer(value) or types.is_boolean(value) else "other"
