"""Rows that come in a column of a data frame or an Arrow table, one list or array in each of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

# what Arrow's data, polars and recent pandas have; older pandas is known by its name
CAPSULES = ("__arrow_c_stream__", "__arrow_c_array__")


def as_rows(X: Any, name: str = "X") -> Any:
    """A matrix of the vectors that a data frame, a series, an Arrow table or an Arrow array holds in its cells. What
    holds none, such as an array or a frame of numbers, stays as it is."""
    if isinstance(X, (np.ndarray, list, tuple)) or not (_is_pandas(X) or any(hasattr(X, c) for c in CAPSULES)):
        return X
    if hasattr(X, "columns"):
        column, label = _only_column(X, name)
    else:
        column, label = (_array(X, name) if _may_hold_lists(X) else None), name
    if column is None or not _holds_vectors(column.type):
        return X

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"{name} {what}")

    blocks: list[NDArray[Any]] = []
    for chunk in column.chunks:
        if len(chunk):
            width = blocks[0].shape[1] if blocks else None
            blocks.append(list_matrix(chunk, label, sum(map(len, blocks)), width, refuse))
    if not blocks:
        refuse(f"has no rows in {label!r}: give at least one.")
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def takes_tables(check: Callable[..., Any]) -> Callable[..., Any]:
    """A method that checks rows, for rows that may come in a column of a table."""

    @wraps(check)
    def checked(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        return check(self, as_rows(X), *args, **kwargs)

    return checked


def list_matrix(
    lists: pa.Array, name: str, first_row: int, width: int | None, refuse: Callable[[str], NoReturn]
) -> NDArray[Any]:
    """Lists of numbers, of which none may be missing, as a matrix without a copy where Arrow allows it. Whatever is
    wrong is handed to ``refuse`` with the row where it is."""
    import pyarrow.compute as pc

    lists = getattr(lists, "storage", lists)  # a tensor column is a fixed-size list underneath
    check_full(lists, name, first_row, 1, refuse)
    lengths = pc.list_value_length(lists)
    width = lengths[0].as_py() if width is None else width
    odd = pc.index(pc.not_equal(lengths, width), True).as_py()
    if odd >= 0:
        refuse(
            f"has {lengths[odd].as_py()} numbers in row {first_row + odd} of {name!r} (counting from 0) where the "
            f"rows before have {width}: give all rows the same width."
        )
    values = lists.flatten()
    check_full(values, name, first_row, max(1, width), refuse)
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(lists), width)


def check_full(values: pa.Array, name: str, first_row: int, width: int, refuse: Callable[[str], NoReturn]) -> None:
    import pyarrow.compute as pc

    if values.null_count:
        row = first_row + pc.index(values.is_null(), True).as_py() // width
        refuse(f"has an empty value in row {row} of {name!r} (counting from 0): fill it or drop the row.")


def _only_column(X: Any, name: str) -> tuple[pa.ChunkedArray | None, str]:
    """The one column of vectors in a frame or table, and what it is called."""
    columns: Iterable[tuple[str, Any]]
    if _is_pandas(X):
        series = [(str(label), X.iloc[:, j]) for j, label in enumerate(X.columns)]
        columns = [(label, _array(values, name)) for label, values in series if _may_hold_lists(values)]
    else:
        import pyarrow as pa

        table = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else pa.table(X)
        columns = zip(table.column_names, table.columns)
    found = [(label, column) for label, column in columns if _holds_vectors(column.type)]
    if len(found) > 1:
        names = ", ".join(repr(label) for label, _ in found)
        raise ValueError(f"{name} has several columns of vectors, {names}: hand over one of them.")
    return (found[0][1], found[0][0]) if found else (None, name)


def _array(series: Any, name: str) -> pa.ChunkedArray:
    """A column as Arrow has it."""
    import pyarrow as pa

    try:
        if not _is_pandas(series):
            return pa.chunked_array(series) if hasattr(series, CAPSULES[0]) else pa.chunked_array([pa.array(series)])
        made = pa.Array.from_pandas(series)
        return made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made])
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{name} cannot be read as a column of vectors ({reason}): give each row a list.") from error


def _is_pandas(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pandas"


def _may_hold_lists(series: Any) -> bool:
    """Whether a look at the cells is worth it: most columns of a data frame tell by their type that it is not."""
    if not _is_pandas(series):
        return True
    if series.dtype != object:
        return "list" in str(series.dtype)
    first = next((cell for cell in series if cell is not None), None)
    return isinstance(first, (list, tuple, np.ndarray))


def _holds_vectors(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    kind = getattr(kind, "storage_type", kind)
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


def check_full_numbers(X: Any, name: str = "X") -> None:
    """Refuse a table with a column that is no numbers, or a table or array with a number missing, each by its place and
    with what to do; anything else that is wrong is left to checks that come after."""
    if hasattr(X, "columns") and hasattr(X, "shape") and len(X.shape) == 2:
        for j, label in enumerate(X.columns):
            values = np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[label])
            if values.dtype.kind in "biuf":
                _check_known(values[:, None], name, lambda _, label=label: repr(label))  # type: ignore[misc]
            elif values.dtype.kind != "O" or any(isinstance(cell, str) for cell in values[:100]):
                shown = next((cell for cell in values if isinstance(cell, str)), values[0] if len(values) else "")
                raise ValueError(
                    f"Column {str(label)!r} of {name} holds {str(shown)[:40]!r}, which is no number: leave it out, or "
                    "make it numbers first (a category: a column of 0 and 1 for each value, as by pandas.get_dummies)."
                )
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        _check_known(X, name, str)


def _check_known(values: NDArray[Any], name: str, called: Callable[[int], str]) -> None:
    if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
        return
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        (row, column), others = missing[0], len(np.unique(missing[:, 0])) - 1
        more = f", and in {others} more row{'s' if others > 1 else ''}" if others else ""
        raise ValueError(
            f"{name} contains NaN in row {row}, column {called(column)} (counting from 0){more}: "
            "drop such rows, or fill them in, as by scikit-learn's SimpleImputer."
        )
    endless = np.argwhere(np.isinf(values))
    if len(endless):
        row, column = endless[0]
        raise ValueError(
            f"{name} contains infinity in row {row}, column {called(column)} (counting from 0): put a number there, or "
            "drop the row."
        )


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """A pandas.DataFrame of records, which needs pandas; ``columns`` names them where there may be no record."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("A table needs pandas, which cannot be imported: pip install pandas") from error
    return pandas.DataFrame.from_records(list(rows), columns=None if columns is None else list(columns))
