"""Filters of the engines that work on the rows themselves: conditions as pyarrow takes them for Parquet files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def matching(where: Any, items: Sequence[Any], n: int) -> NDArray[np.bool_]:
    """Which of n items pass ``where``: a pyarrow expression, a list of ``(column, operator, value)`` that must all hold
    (``=``, ``!=``, ``<``, ``>``, ``<=``, ``>=``, ``in``, ``not in``) or a list of such lists of which one must; or any
    of these lists in JSON."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not items:
        raise ValueError("There are no columns to filter by.")
    columns = sorted({name for table in items for name in table.column_names})
    try:
        wanted = where if isinstance(where, pc.Expression) else _expression(where)
        parts = []
        for table in items:
            # rows of an addition that did not have a column have nothing in it
            for name in set(columns) - set(table.column_names):
                kind = next(t.schema.field(name).type for t in items if name in t.column_names)
                table = table.append_column(name, pa.nulls(table.num_rows, kind))
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


def _expression(where: Any) -> Any:
    import pyarrow.parquet as pq

    conditions = json.loads(where) if isinstance(where, str) else where
    if not isinstance(conditions, list) or not conditions:
        raise ValueError("it must be a list of [column, operator, value].")
    nested = all(isinstance(c, list) and c and not isinstance(c[0], str) for c in conditions)
    either = conditions if nested else [conditions]
    return pq.filters_to_expression([[tuple(condition) for condition in every] for every in either])
