"""What is to be erased, as columns of numbers: labels of any form, or quantities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid.concepts.labels import align, as_indicator

Targets = NDArray[np.float64]

# so many different whole numbers in one column look like a quantity more than like classes
MANY_CLASSES = 20


def as_targets(y: Any, names: Sequence[str] | None, kind: str = "auto") -> tuple[Targets, list[str], str]:
    """(n, S) numbers, the S names, and whether they are "labels" or "numbers"; ``kind`` settles what "auto" looks for.

    One column of 0 and 1 stays one column; class labels become a column for each class.
    """
    require_no_gap(y)
    array = plain_numbers(y)
    if kind == "auto":
        kind = "numbers" if array is not None and are_quantities(array) else "labels"
    if kind == "numbers":
        if array is None:
            raise ValueError("y must hold numbers where target='numbers', but it holds names.")
        found = as_numbers(array)
        return found, names_of_columns(y, names, found.shape[1]), kind
    if array is not None and array.ndim == 1 and are_yes_or_no(array) and (names is None or len(names) == 1):
        return array.astype(np.float64)[:, None], names_of_columns(y, names, 1), kind
    if names is not None and are_known_classes(y, names):  # some of them may have no row here
        return align(y, [str(name) for name in names]).astype(np.float64), [str(name) for name in names], kind
    indicator, found_names = as_indicator(y, names)
    return indicator.astype(np.float64), found_names, kind


def later_targets(y: Any, names: Sequence[str], kind: str) -> Targets:
    """More of the same columns: labels are matched by name where they have names."""
    require_no_gap(y)
    array = plain_numbers(y)
    if kind == "numbers" or (array is not None and array.ndim == 1 and len(names) == 1):
        found, _, _ = as_targets(y, list(names), kind)
    else:
        found = align(y, list(names)).astype(np.float64)
    if found.shape[1] != len(names):
        raise ValueError(f"y has {found.shape[1]} columns, but there are {len(names)} concepts.")
    return found


def as_numbers(array: NDArray[Any]) -> Targets:
    """A finite column for each quantity."""
    if array.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, but its shape is {array.shape}.")
    found = np.asarray(array.reshape(len(array), -1), dtype=np.float64)
    bad = ~np.isfinite(found)
    if bad.any():
        row, column = np.unravel_index(int(np.argmax(bad)), found.shape)
        raise ValueError(f"y has {found[row, column]} at row {row}: drop the rows that have no value.")
    return found


def require_no_gap(y: Any) -> None:
    """Refuse None, nan and their like: a row whose concept is not known cannot be counted on either side."""
    if sparse.issparse(y) or not hasattr(y, "__len__"):
        return
    array = y.to_numpy() if hasattr(y, "to_numpy") else y
    if isinstance(array, np.ndarray) and array.dtype.kind in "biuSU":
        return
    if isinstance(array, np.ndarray) and array.dtype.kind == "f":
        gaps = np.isnan(array)
    else:
        rows = array.tolist() if isinstance(array, np.ndarray) else list(array)
        gaps = np.array([is_gap(v) or (isinstance(v, list) and any(map(is_gap, v))) for v in rows], dtype=bool)
    if gaps.any():
        row = int(np.argmax(gaps.reshape(len(gaps), -1).any(axis=1)))
        raise ValueError(f"y has no value (nan) at row {row}: drop the rows that have none.")


def is_gap(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def plain_numbers(y: Any) -> NDArray[Any] | None:
    """y as an array, if it is one of numbers."""
    if sparse.issparse(y):
        return None
    try:
        array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    except ValueError:  # sets and lists of names of different length
        return None
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return array if array.dtype.kind in "biuf" and array.size else None


def are_quantities(array: NDArray[Any]) -> bool:
    """Whether numbers are amounts: something between whole numbers, or a matrix of other numbers than 0 and 1."""
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.round(array))).all():
        return True
    return array.ndim == 2 and not are_yes_or_no(array)


def are_yes_or_no(array: NDArray[Any]) -> bool:
    return bool(np.isin(array, (0, 1)).all())


def are_known_classes(y: Any, names: Sequence[str]) -> bool:
    """Whether y is one column of class labels, all of them among the names."""
    if isinstance(y, (list, tuple)) and not all(isinstance(value, (str, int, float, np.generic)) for value in y):
        return False
    return not sparse.issparse(y) and np.ndim(y) == 1 and {str(value) for value in y} <= {str(name) for name in names}


def names_of_columns(y: Any, names: Sequence[str] | None, width: int) -> list[str]:
    if names is None and hasattr(y, "columns"):
        names = [str(column) for column in y.columns]
    elif names is None and isinstance(getattr(y, "name", None), str):
        names = [y.name]
    found = [f"concept {j}" for j in range(width)] if names is None else [str(name) for name in names]
    return as_indicator(np.zeros((1, width)), found)[1]
