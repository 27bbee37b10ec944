"""Filters of the engines that work on the rows themselves: conditions as pyarrow takes them for Parquet files, and two
on lists, of which pyarrow's expressions know nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# what a list of labels can be asked
HAS, HAS_NOT = "has", "has not"


def matching(where: Any, items: Sequence[Any], n: int) -> NDArray[np.bool_]:
    """Which of n items pass ``where``: a pyarrow expression, a list of ``(column, operator, value)`` that must all hold
    (``=``, ``!=``, ``<``, ``>``, ``<=``, ``>=``, ``in``, ``not in``; ``has`` and ``has not`` of a column of lists) or a
    list of such lists of which one must; or any of these lists in JSON."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not items:
        raise ValueError("There are no columns to filter by.")
    columns = sorted({name for table in items for name in table.column_names})
    try:
        wanted, asked = (where, []) if isinstance(where, pc.Expression) else _expression(where)
        parts = []
        for table in items:
            # rows of an addition that did not have a column have nothing in it
            for name in set(columns) - set(table.column_names):
                kind = next(t.schema.field(name).type for t in items if name in t.column_names)
                table = table.append_column(name, pa.nulls(table.num_rows, kind))
            for i, (name, value) in enumerate(asked):
                table = table.append_column(_answer(i), _has(table, name, value))
            position = pa.array(np.arange(table.num_rows))
            found = table.append_column("\0position", position).filter(wanted).column("\0position").to_numpy()
            parts.append(np.isin(np.arange(table.num_rows), found))
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"The filter {where!r} does not fit the columns {', '.join(map(repr, columns))}: {reason}"
        ) from error
    passed: NDArray[np.bool_] = np.concatenate(parts)
    if len(passed) != n:
        raise ValueError(f"There are {len(passed)} items for {n} vectors.")
    return passed


def _expression(where: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """The expression, and what it asks of lists: each such (column, value) becomes a column of yes and no first."""
    import pyarrow.parquet as pq

    conditions = json.loads(where) if isinstance(where, str) else where
    if not isinstance(conditions, list) or not conditions:
        raise ValueError("it must be a list of [column, operator, value].")
    nested = all(isinstance(c, list) and c and not isinstance(c[0], str) for c in conditions)
    asked: list[tuple[str, Any]] = []

    def plain(condition: Any) -> tuple[Any, ...]:
        told = tuple(condition)
        if len(told) != 3 or told[1] not in (HAS, HAS_NOT):
            return told
        asked.append((told[0], told[2]))
        return _answer(len(asked) - 1), "=", told[1] == HAS

    either = conditions if nested else [conditions]
    return pq.filters_to_expression([[plain(condition) for condition in every] for every in either]), asked


def _answer(i: int) -> str:
    return f"\0has {i}"


def _has(table: Any, name: str, value: Any) -> Any:
    """For each row whether its list has that value in it; a single name counts as a list of one."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    if not isinstance(value, (str, int, float, bool)):
        raise ValueError(f"{HAS!r} asks for one value, got {value!r}: write a condition for each.")
    if name not in table.column_names:
        raise ValueError(f"there is no column {name!r}.")
    kind = table.schema.field(name).type
    found = np.zeros(table.num_rows, dtype=bool)
    first = 0
    for chunk in table.column(name).chunks:
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            if not types.is_null(kind.value_type):  # lists that are all empty
                same = pc.fill_null(pc.equal(pc.list_flatten(chunk), value), False)
                found[first + pc.list_parent_indices(chunk).to_numpy()[same.to_numpy(zero_copy_only=False)]] = True
        elif types.is_string(kind) or types.is_large_string(kind):
            found[first : first + len(chunk)] = pc.fill_null(pc.equal(chunk, value), False)
        elif not types.is_null(kind):
            raise ValueError(f"{name!r} holds {kind} values, no lists: compare them with '='.")
        first += len(chunk)
    return pa.array(found)
