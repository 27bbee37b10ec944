"""A collection as embedding-atlas reads it: a Parquet with places on a map, texts, and the concepts of each item."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pellucid._core.atomic import atomic_path
from pellucid.search import Collection, stored_model

__all__ = ["COLUMNS", "atlas_command", "write_atlas"]

# what embedding-atlas is told of each of our columns: its options are named the same
COLUMNS = ("x", "y", "text", "features")
# items at a time, and the share from which on a concept counts where a model does not know which ones an item has
BLOCK_ROWS, LEAST_SHARE = 4096, 0.1


def write_atlas(
    path: str | os.PathLike[str],
    collection: Collection,
    places: ArrayLike,
    model: Any = None,
    *,
    text: str | None = None,
) -> list[str]:
    """Write the Parquet that embedding-atlas reads.

    Its columns are ``id``, ``x`` and ``y``, ``text``, with a model ``features`` (the concepts that an item has, the
    likeliest first, as a list of texts), and whatever else belongs to the items but pictures. A column of the items
    that has one of these names gets a ``_`` behind it.

    Parameters
    ----------
    path : str or Path
        Ends in .parquet. It appears whole or not at all.
    collection : Collection
        The items.
    places : array-like of shape (n, 2)
        Where they stand on the map, such as ``pellucid.explorer.places`` says.
    model : ConceptSubspaces, default=None
        A fitted model. One that knows presence says which concepts an item has; of another those count that are at
        least a tenth of it.
    text : str, default=None
        The column with the texts; None takes "text", or else the ids.

    Returns
    -------
    list of str
        The columns that were written.

    Raises
    ------
    ValueError
        If there is not one place for each item, or no such column.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.explorer import places
    >>> from pellucid.integrations.atlas import write_atlas
    >>> from pellucid.search import Collection
    >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
    >>> pets = Collection.create(mkdtemp(), X, text=y)
    >>> write_atlas("pets.parquet", pets, places(pets, "pca"), ConceptSubspaces(1, center=False).fit(X, y))
    ['id', 'x', 'y', 'text', 'features']
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    where = np.asarray(places, dtype=np.float32)
    if where.shape != (len(collection), 2):
        raise ValueError(
            f"There must be a place (x, y) for each of {len(collection)} items, but these are {where.shape}."
        )
    positions = np.array([collection.position(name) for name in collection.ids], dtype=np.int64)
    rows = [collection.item(int(position)) for position in positions]
    kept = _plain_columns(rows)
    source = text or ("text" if "text" in kept else "id")
    if source not in (*kept, "id"):
        raise ValueError(f"There is no column {source!r} of texts; there are {', '.join(map(repr, kept)) or 'none'}.")
    columns: dict[str, Any] = {
        "id": pa.array([str(row["id"]) for row in rows], pa.string()),
        "x": where[:, 0],
        "y": where[:, 1],
        "text": pa.array([None if row.get(source) is None else str(row[source]) for row in rows], pa.string()),
    }
    if model is not None:
        columns["features"] = pa.array(
            _features(stored_model(model, collection), collection, positions), pa.list_(pa.string())
        )
    for name in kept:
        if name == source:
            continue
        free = name
        while free in columns or free in COLUMNS:
            free += "_"
        columns[free] = pa.array([row.get(name) for row in rows])
    with atomic_path(Path(path)) as temporary:
        pq.write_table(pa.table(columns), temporary)
    return list(columns)


def atlas_command(path: str | os.PathLike[str], columns: list[str]) -> str:
    """Say how embedding-atlas is started with a file that was written.

    Parameters
    ----------
    path : str or Path
        The file.
    columns : list of str
        Its columns, as :func:`write_atlas` returned them.

    Returns
    -------
    str
        A command line.

    Examples
    --------
    >>> from pellucid.integrations.atlas import atlas_command
    >>> atlas_command("pets.parquet", ["id", "x", "y", "text"])
    'embedding-atlas pets.parquet --x x --y y --text text'
    """
    import shlex

    options = " ".join(f"--{name} {name}" for name in COLUMNS if name in columns)
    return f"embedding-atlas {shlex.quote(str(path))} {options}"


def _features(model: Any, collection: Collection, positions: Any) -> list[list[str]]:
    names = [str(name) for name in model.concept_names_]
    found: list[list[str]] = []
    for start in range(0, len(positions), BLOCK_ROWS):
        rows = np.asarray(collection.vectors(positions[start : start + BLOCK_ROWS]), dtype=np.float32)
        if model.knows_presence:
            score = np.asarray(model.predict_proba(rows))
            has = np.asarray(model.predict(rows))
        else:
            score = np.asarray(model.shares(rows))
            has = score >= LEAST_SHARE
        for order, mine in zip(np.argsort(-score, axis=1, kind="stable"), has):
            found.append([names[j] for j in order if mine[j]])
    return found


def _plain_columns(rows: list[dict[str, Any]]) -> list[str]:
    """Columns other than the id that hold no bytes."""
    names = dict.fromkeys(name for row in rows for name in row if name != "id")
    return [name for name in names if not any(isinstance(row.get(name), bytes) for row in rows)]
