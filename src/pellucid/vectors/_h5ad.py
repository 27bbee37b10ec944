"""Reader of AnnData's .h5ad: X or an entry of obsm, with obs beside it."""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from pellucid._core.extras import require
from pellucid.vectors._common import (
    VectorFile,
    as_floats,
    as_ids,
    byte_count,
    check_expansion,
    check_kind,
    check_matrix,
    check_room,
    choose,
    fail,
    fitness,
    leave_out,
    listed,
    map_or_load,
)

DENSE_LIMIT = 2**30  # a sparse matrix that takes more than this as a dense one is refused
HEAP_CHECK_LIMIT = 64 * 2**20  # larger files would take too long to look through


def read_h5ad(path: Path, column: str | None) -> VectorFile:
    h5py = require("h5py", "anndata")
    _check_heaps(path)
    with h5py.File(path, "r") as file:
        obsm = _child(path, file, "obsm") if "obsm" in file else {}
        nodes = {key: _child(path, obsm, key) for key in obsm}
        if "X" in file:
            nodes = {"X": _child(path, file, "X"), **nodes}
        name = "X" if column is None and "X" in nodes else choose(path, column, _fitnesses(nodes))
        vectors = _matrix(path, name, nodes)
        ids, columns = _obs(path, file, len(vectors))
    return VectorFile(vectors, name, ids, columns)


def _check_heaps(path: Path) -> None:
    """Refuse heaps of texts on which libhdf5 would loop for ever (HDFGroup/hdf5 issue 1707)."""
    if path.stat().st_size > HEAP_CHECK_LIMIT:
        return
    content = path.read_bytes()
    place = content.find(b"GCOL\x01")
    while place >= 0:
        end = place + int.from_bytes(content[place + 8 : place + 16], "little")
        place += 16
        while place + 16 <= min(end, len(content)):
            index, size = struct.unpack_from("<H6xQ", content, place)
            step = 16 + (size + 7) // 8 * 8 if index else size  # index 0 is free space, counted with its own header
            if step == 0:
                fail(path, "has a damaged heap of texts: write or download it again.")
            place += step
        place = content.find(b"GCOL\x01", place)


def _child(path: Path, group: Any, key: str) -> Any:
    """What lies in the file under that name; a link could lead to another file."""
    h5py = require("h5py", "anndata")
    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        fail(path, f"keeps {key!r} as a link, which Pellucid does not follow: write the data into the file itself.")
    return group[key]


def _is_dataset(node: Any) -> bool:
    return hasattr(node, "dtype")


def _is_plain(node: Any) -> bool:
    """Numbers or text; libhdf5 can crash on what else a damaged type description may say."""
    h5py = require("h5py", "anndata")
    return node.dtype.kind in "fiubS" or h5py.check_string_dtype(node.dtype) is not None


def _attribute(path: Path, node: Any, key: str, default: Any = None) -> Any:
    if key not in node.attrs:
        return default
    if not _is_plain(node.attrs.get_id(key)):
        fail(path, f"has a damaged attribute {key!r}: write or download it again.")
    return node.attrs[key]


def _fitnesses(nodes: dict[str, Any]) -> Any:
    # groups are sparse matrices or data frames: the matrix among them is judged when it is asked for
    return {k: fitness(n.dtype.kind, len(n.shape)) if _is_dataset(n) else "number" for k, n in nodes.items()}


def _matrix(path: Path, name: str, nodes: dict[str, Any]) -> np.ndarray:
    node = nodes[name]
    if _is_dataset(node):
        check_kind(path, name, node.dtype)
        check_matrix(path, name, node.shape)
        return as_floats(_values(path, name, node))
    encoding = _attribute(path, node, "encoding-type", "unknown")
    if encoding not in ("csr_matrix", "csc_matrix"):
        fail(path, f"keeps {name!r} as {encoding!r}, not as a matrix: pass column= with one of {listed(nodes)}.")
    return _dense(path, name, node, encoding, [key for key in nodes if key != name])


def _values(path: Path, name: str, dataset: Any) -> np.ndarray:
    """All values of a dataset: mapped if they lie in the file as they are, read otherwise."""
    if dataset.external or dataset.is_virtual:
        fail(path, f"keeps {name!r} in another file, which is not opened: write the data into the file itself.")
    if not _is_plain(dataset):
        fail(path, f"keeps {name!r} as neither numbers nor text: write or download it again.")
    size, stored = path.stat().st_size, dataset.id.get_storage_size()
    nbytes = byte_count(path, name, tuple(map(int, dataset.shape)), dataset.dtype.itemsize)
    check_room(path, name, stored, min(stored, size))
    chunk = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize  # libhdf5 unpacks a chunk as a whole
    check_expansion(path, name, stored, max(nbytes, chunk))
    offset = dataset.id.get_offset() if dataset.chunks is None and dataset.file.userblock_size == 0 else None
    if offset is None or dataset.dtype.kind not in "fiu":
        return np.asarray(dataset[()])
    check_room(path, name, nbytes, min(nbytes, size - offset))
    return map_or_load(path, dataset.dtype, dataset.shape, offset)


def _dense(path: Path, name: str, group: Any, encoding: str, others: list[str]) -> np.ndarray:
    import scipy.sparse

    shape = tuple(int(n) for n in _attribute(path, group, "shape", ()))
    stored = {key: _child(path, group, key) for key in ("data", "indices", "indptr")}
    check_matrix(path, name, shape)
    lines = shape[0 if encoding == "csr_matrix" else 1]
    if stored["data"].shape != stored["indices"].shape or stored["indptr"].shape != (lines + 1,):
        fail(path, f"keeps {name!r} sparse in parts that do not fit together: write or download it again.")
    check_kind(path, name, stored["data"].dtype)
    nbytes = byte_count(path, name, shape, 8 if stored["data"].dtype.itemsize > 4 else 4)
    if nbytes > DENSE_LIMIT:
        instead = f"pass column= with one of {listed(others)}" if others else "store a dense reduction of it in obsm"
        fail(path, f"keeps {name!r} sparse, and {shape[0]:,} × {shape[1]:,} takes {nbytes:,} bytes dense: {instead}.")
    parts = [_values(path, f"{name}/{key}", dataset) for key, dataset in stored.items()]
    check_expansion(path, name, sum(part.nbytes for part in parts), nbytes)
    data = as_floats(parts[0])
    data = data.astype(np.promote_types(data.dtype, np.float32))  # scipy has no sparse float16
    kind = scipy.sparse.csr_matrix if encoding == "csr_matrix" else scipy.sparse.csc_matrix
    matrix = kind((data, parts[1], parts[2]), shape=shape)
    matrix.check_format(full_check=True)  # indices outside the matrix would be written outside its memory
    dense: np.ndarray = matrix.toarray()
    return dense


def _obs(path: Path, file: Any, rows: int) -> tuple[list[str] | None, dict[str, Any]]:
    if "obs" not in file:
        return None, {}
    obs = _child(path, file, "obs")
    if _is_dataset(obs):
        leave_out(path, "obs", "is laid out as anndata before 0.7 did (read and write it once with anndata)")
        return None, {}
    index = _attribute(path, obs, "_index", "_index")
    columns = {}
    for key in obs:
        values = _column(path, key, _child(path, obs, key))
        if values is None:
            leave_out(path, key, "is of a kind Pellucid does not know")
        elif len(values) != rows:
            fail(path, f"has {len(values):,} rows in obs[{key!r}] and {rows:,} vectors: write or download it again.")
        else:
            columns[key] = values
    ids = as_ids(path, columns.pop(index).tolist()) if index in columns else None
    return ids, columns


def _column(path: Path, key: str, node: Any) -> Any:
    """A column of obs as an array, decoded if it is categorical or has missing values; None if it is neither."""
    import pyarrow as pa

    if _is_dataset(node):
        return _plain_column(path, key, node) if _is_plain(node) else None
    encoding = _attribute(path, node, "encoding-type", "")
    if encoding == "categorical":
        codes = _values(path, f"{key}/codes", _child(path, node, "codes"))
        categories = _plain_column(path, f"{key}/categories", _child(path, node, "categories"))
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(categories)).dictionary_decode()
    if encoding.startswith("nullable-"):
        values = _plain_column(path, f"{key}/values", _child(path, node, "values"))
        mask = _values(path, f"{key}/mask", _child(path, node, "mask")).astype(bool)
        return pa.array(np.asarray(values), mask=mask)
    return None


def _plain_column(path: Path, key: str, dataset: Any) -> Any:
    import pyarrow as pa

    values = _values(path, key, dataset)
    if values.ndim != 1:
        fail(path, f"has {values.ndim} dimensions in obs[{key!r}] where a column has one: write or download it again.")
    if values.dtype.kind != "O":
        return values
    return pa.array([text.decode() if isinstance(text, bytes) else str(text) for text in values], pa.string())
