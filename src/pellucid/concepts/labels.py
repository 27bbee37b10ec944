"""Who has which concept, from any of the forms in which people keep labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Indicator = NDArray[np.bool_]


def as_indicator(Y: Any, concept_names: Sequence[str] | None = None) -> tuple[Indicator, list[str]]:
    """(n, S) booleans and the S names, from an indicator array, class labels, a sparse matrix, a dataframe or sets.

    Rows without any concept are allowed; a concept without any row is not.
    """
    names = None if concept_names is None else [str(name) for name in concept_names]
    if hasattr(Y, "columns") and hasattr(Y, "to_numpy"):
        names = names or [str(column) for column in Y.columns]
        indicator = binary(np.asarray(Y.to_numpy()))
    elif sparse.issparse(Y):
        indicator = binary(np.asarray(Y.toarray()))
    elif _is_list_of_sets(Y):
        indicator, names = _from_sets(Y, names)
    else:
        array = np.asarray(Y)
        if array.ndim == 1:
            indicator, names = _from_classes(array, names)
        elif array.ndim == 2:
            indicator = binary(array)
        else:
            raise ValueError(f"y must have one or two dimensions, but its shape is {array.shape}.")
    names = names or [f"concept {j}" for j in range(indicator.shape[1])]
    if len(names) != indicator.shape[1]:
        raise ValueError(f"There are {len(names)} concept names for {indicator.shape[1]} concepts.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"The concept name {twice!r} occurs twice; names must differ.")
    return indicator, names


def align(Y: Any, names: Sequence[str]) -> Indicator:
    """(n, S) booleans over concepts that are known by name already; Y may hold only some of them, in any order."""
    if not hasattr(Y, "columns") and (sparse.issparse(Y) or _is_list_of_sets(Y) or np.ndim(Y) != 1):
        return as_indicator(Y, names)[0]
    indicator, given = as_indicator(Y)
    place = {name: j for j, name in enumerate(names)}
    full = np.zeros((len(indicator), len(names)), dtype=bool)
    for j, name in enumerate(given):
        if name not in place:
            raise ValueError(f"There is no concept {name!r} among the {len(names)} that are known.")
        full[:, place[name]] = indicator[:, j]
    return full


def require_members(members: NDArray[np.int64], names: Sequence[str]) -> None:
    """A cone cannot be learned from nothing; ``members`` counts the rows of each concept."""
    empty = np.flatnonzero(members == 0)
    if empty.size:
        raise ValueError(f"No row has the concept {names[empty[0]]!r}; leave it out or add rows that have it.")


def binary(array: NDArray[Any]) -> Indicator:
    """0 and 1, and nothing else, as booleans."""
    if array.dtype == bool and array.ndim == 2:
        return array
    if array.dtype.kind not in "buif" or array.ndim != 2:
        raise ValueError(f"y must hold 0 and 1 in a row per item and a column per concept, not {array.dtype} values.")
    wrong = ~np.isin(array, (0, 1))
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), array.shape)
        raise ValueError(f"y must hold only 0 and 1, but has {array[row, column]} at row {row}, column {column}.")
    return array.astype(bool)


def _is_list_of_sets(Y: Any) -> bool:
    return (
        isinstance(Y, Iterable)
        and not isinstance(Y, (str, np.ndarray))
        and all(isinstance(item, (set, frozenset)) or _is_name_list(item) for item in Y)
        and len(list(Y)) > 0
    )


def _is_name_list(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and all(isinstance(name, str) for name in item)


def _from_sets(Y: Any, names: list[str] | None) -> tuple[Indicator, list[str]]:
    known = names or sorted({str(name) for item in Y for name in item})
    column = {name: j for j, name in enumerate(known)}
    indicator = np.zeros((len(Y), len(known)), dtype=bool)
    for row, item in enumerate(Y):
        for name in item:
            if str(name) not in column:
                raise ValueError(f"Row {row} has the concept {name!r}, which is not among the concept names.")
            indicator[row, column[str(name)]] = True
    return indicator, known


def _from_classes(labels: NDArray[Any], names: list[str] | None) -> tuple[Indicator, list[str]]:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y has {labels[~np.isfinite(labels)][0]} at row {int(np.argmax(~np.isfinite(labels)))}.")
    classes, index = np.unique(labels, return_inverse=True)
    indicator = np.zeros((len(labels), len(classes)), dtype=bool)
    indicator[np.arange(len(labels)), index.ravel()] = True
    return indicator, names or [str(c) for c in classes]
