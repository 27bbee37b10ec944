"""Writer of .npy and .parquet, which appear whole or not at all."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid._core.atomic import atomic_path, save_array
from pellucid.vectors._common import VectorFileError, as_floats, fail, listed

GROUP_BYTES = 16 * 2**20  # of vectors in one row group: what a reader holds at once


def write(
    path: str | os.PathLike[str],
    vectors: Any,
    ids: Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Write vectors to .npy, or with ids and columns beside them to .parquet.

    Parameters
    ----------
    path : str or Path
        Ends in .npy or .parquet. A file that is there is replaced once the new one is complete.
    vectors : array-like of shape (n, d)
        Real numbers; a memory-mapped array is written without loading it. Whole numbers are written as floats.
    ids : sequence of str or None, default=None
        One for each row, written as the column ``id``; .parquet only.
    columns : dict of str to array-like of shape (n,) or None, default=None
        Texts or labels beside the vectors; .parquet only.

    Raises
    ------
    VectorFileError
        The arguments do not go together, or the format cannot hold them.
    FileNotFoundError
        The folder of ``path`` does not exist.

    Examples
    --------
    >>> from pellucid import vectors
    >>> vectors.write("news.parquet", [[1.0, 0.0], [0.0, 1.0]], ids=["a", "b"], columns={"topic": ["grain", "earn"]})
    >>> vectors.read("news.parquet").columns["topic"].to_pylist()
    ['grain', 'earn']
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".parquet"):
        fail(path, "does not end in .npy or .parquet, which are what Pellucid writes: choose one of them.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path.parent} does not exist, so {path.name} cannot be written there: create it first."
        )
    array = _checked(path, vectors)
    if suffix == ".parquet":
        _write_parquet(path, array, ids, dict(columns or {}))
        return
    if ids is not None or columns:
        fail(path, "cannot hold ids or columns beside the vectors, because it is an .npy: write a .parquet instead.")
    save_array(path, array)


def _checked(path: Path, vectors: Any) -> np.ndarray:
    advice = "pass a 2-D array of real numbers, one row per item."
    try:
        array = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
    except ValueError as error:
        raise VectorFileError(f"{path} cannot be written, because the rows differ in width: {advice}") from error
    if array.dtype.kind not in "fiub":
        fail(path, f"cannot be written from {array.dtype.name} values: {advice}")
    if array.ndim != 2 or array.shape[1] == 0:
        fail(path, f"cannot be written from an array of shape {array.shape}: {advice}")
    return as_floats(array)


def _write_parquet(path: Path, array: np.ndarray, ids: Sequence[str] | None, columns: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    beside = _beside(path, len(array), ids, columns)
    width = array.shape[1]
    vector = pa.list_(pa.from_numpy_dtype(array.dtype), width)
    schema = pa.schema([("vector", vector), *((name, values.type) for name, values in beside.items())])
    rows = max(1, GROUP_BYTES // (width * array.itemsize))
    # vectors hardly repeat, so only what stands beside them is worth a dictionary
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema, use_dictionary=list(beside)) as writer:
        for start in range(0, len(array), rows):
            block = np.ascontiguousarray(array[start : start + rows])
            lists = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), type=vector)
            others = [values.slice(start, len(block)) for values in beside.values()]
            writer.write_batch(pa.record_batch([lists, *others], schema=schema), row_group_size=rows)


def _beside(path: Path, rows: int, ids: Sequence[str] | None, columns: dict[str, Any]) -> dict[str, Any]:
    """Ids and columns as Arrow arrays of the right length, under names that do not collide."""
    import pyarrow as pa

    taken = [name for name in columns if name == "vector" or (name == "id" and ids is not None)]
    if taken:
        fail(path, f"cannot hold columns named {listed(taken)}, names that the vectors and ids have: rename them.")
    beside = {} if ids is None else {"id": pa.array([str(item) for item in ids], pa.string())}
    for name, values in columns.items():
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        beside[str(name)] = values if isinstance(values, pa.Array) else pa.array(values)
    for name, values in beside.items():
        if len(values) != rows:
            fail(path, f"cannot hold {len(values):,} values of {name!r} beside {rows:,} vectors: give one per vector.")
    return beside
