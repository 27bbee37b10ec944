"""Vectors from files and to files.

`read` takes .npy, .npz, .parquet, .safetensors, .h5ad, .csv and .tsv, and maps the file into memory where the
format allows it; `blocks` reads the same a block of rows at a time; `write` makes .npy and .parquet; `summary` says
what vectors are like. Nothing in a file is ever executed, and a file that cannot be read is refused in one sentence
that says what to do.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pellucid._core.hints import did_you_mean
from pellucid.vectors._arrays import NPY_MAGIC, read_npy, read_npz, read_safetensors
from pellucid.vectors._columns import Wanted
from pellucid.vectors._common import VectorFile, VectorFileError, fail
from pellucid.vectors._h5ad import read_h5ad
from pellucid.vectors._summary import Summary, summary
from pellucid.vectors._tables import parquet_blocks, read_csv, read_parquet, row_groups
from pellucid.vectors._write import write

__all__ = ["Summary", "VectorFile", "VectorFileError", "blocks", "read", "summary", "write"]

BLOCK_ROWS = 65_536

_READERS: dict[str, Callable[..., VectorFile]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".safetensors": read_safetensors,
    ".h5ad": read_h5ad,
    ".csv": read_csv,
    ".tsv": read_csv,
}

# how files begin, and the suffix that such a file should have
_BEGINNINGS = {
    NPY_MAGIC: ".npy",
    b"PK\x03\x04": ".npz",
    b"PK\x05\x06": ".npz",  # of no arrays
    b"PAR1": ".parquet",
    b"\x89HDF\r\n\x1a\n": ".h5ad",
}
_PICKLE = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def read(
    path: str | os.PathLike[str],
    column: str | None = None,
    *,
    labels: Collection[str] = (),
    columns: Sequence[str] | None = None,
    exclude: Collection[str] = (),
) -> VectorFile:
    """Read vectors, and the ids and labels beside them.

    Parameters
    ----------
    path : str or Path
        A .npy, .npz, .parquet, .safetensors, .h5ad, .csv or .tsv file, or a folder of .parquet files.
    column : str or None, default=None
        The array, list column or ``obsm`` key to take. None is the one named vectors, vector, embedding, embeddings, X
        or emb, or else the only 2-D array of floats; ``X`` in an .h5ad. A table without list columns gives its numeric
        columns as one array, except ids and what looks like labels: columns named label, labels, target, class or y
        (without an x), or else the last one if it holds few different whole numbers beside fractions; a warning names
        them. They come along beside the vectors.
    labels : collection of str, default=()
        Numeric columns of such a table that are no part of the vectors, but come along beside them. Names that it does
        not have are passed over.
    columns : list of str, default=None
        The columns of a table to take, in this order, whatever they are named and whether or not it has list columns;
        the others come along. None takes them as above.
    exclude : collection of str, default=()
        Columns of a table that are no part of the vectors, which it must have.

    Returns
    -------
    VectorFile
        Its ``vectors`` are 2-D and float: float16, float32 and float64 stay as they are; bool and whole numbers become
        float32, or float64 if some exceed 2**24 in size. NaN is left for the estimators to judge. An .npy, an
        uncompressed .npz, a .safetensors and a contiguous .h5ad are memory-mapped if their numbers are in native
        byte order and aligned in the file; everything else is in memory.

    Raises
    ------
    VectorFileError
        The file is damaged, of another kind, or has no vectors or no such columns in it.
    FileNotFoundError
        There is no such file.
    ImportError
        An .h5ad needs the extra ``pellucid[anndata]``.

    Examples
    --------
    >>> from pellucid import vectors
    >>> vectors.write("few.parquet", [[1.0, 0.0], [0.0, 1.0]], ids=["a", "b"])
    >>> found = vectors.read("few.parquet")
    >>> found.vectors.shape, found.ids
    ((2, 2), ['a', 'b'])
    """
    path, wanted = Path(path), Wanted(column, labels, columns, exclude)
    reader = _reader(path)
    with _readable(path):
        if reader in (read_parquet, read_csv):
            return reader(path, wanted)
        wanted.check(path, is_table=False)
        return reader(path, column)


def blocks(
    path: str | os.PathLike[str],
    column: str | None = None,
    *,
    labels: Collection[str] = (),
    columns: Sequence[str] | None = None,
    exclude: Collection[str] = (),
    rows: int = BLOCK_ROWS,
) -> Iterator[VectorFile]:
    """Read the same in blocks, in order, for files larger than memory.

    A .parquet file, or a folder of them, is read as the blocks are asked for, and what :func:`read` maps into memory is
    sliced. A compressed .npz and a .csv are in memory as a whole.

    Parameters
    ----------
    path : str or Path
        As for :func:`read`.
    column : str or None, default=None
        As for :func:`read`.
    labels : collection of str, default=()
        As for :func:`read`.
    columns : list of str, default=None
        As for :func:`read`.
    exclude : collection of str, default=()
        As for :func:`read`.
    rows : int, default=65_536
        Rows in a block, about.

    Yields
    ------
    VectorFile
        Some rows, with the ids and labels beside them.

    Examples
    --------
    >>> from pellucid import vectors
    >>> vectors.write("few.npy", [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> [len(block.vectors) for block in vectors.blocks("few.npy", rows=2)]
    [2, 1]
    """
    path = Path(path)
    if _reader(path) is read_parquet:
        with _readable(path):
            yield from parquet_blocks(path, Wanted(column, labels, columns, exclude), rows)
        return
    whole = read(path, column, labels=labels, columns=columns, exclude=exclude)
    for start in range(0, len(whole.vectors), rows):
        part = slice(start, start + rows)
        ids = None if whole.ids is None else whole.ids[part]
        beside = {name: values[part] for name, values in whole.columns.items()}
        yield replace(whole, vectors=whole.vectors[part], ids=ids, columns=beside)


def parquet_groups(path: str | os.PathLike[str]) -> list[tuple[Path, int, int]] | None:
    """File, number and rows of every row group of a .parquet file or a folder of them; None for other files."""
    path = Path(path)
    if _reader(path) is not read_parquet:
        return None
    with _readable(path):
        return row_groups(path)


def group_blocks(
    path: Path, groups: tuple[int, ...], column: str | None, columns: tuple[str, ...] | None, rows: int
) -> Iterator[VectorFile]:
    """The vectors in some row groups of one .parquet file, in blocks of about ``rows`` rows."""
    with _readable(path):
        yield from parquet_blocks(path, Wanted(column, columns=columns), rows, groups)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside is said in a sentence about the file."""
    try:
        yield
    except (VectorFileError, ImportError, PermissionError):
        raise
    except MemoryError as error:
        raise VectorFileError(
            f"{path} asks for more memory than there is: it is damaged, or too large to be read on this machine."
        ) from error
    except Exception as error:  # what parsers of damaged files raise has no common type
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        kind = "parquet" if path.is_dir() else path.suffix
        raise VectorFileError(
            f"{path} cannot be read as {kind} ({reason}): it looks damaged, so write or download it again."
        ) from error


def _missing(path: Path) -> str:
    if not path.parent.is_dir():
        return f"{path} does not exist, nor does the folder {path.parent}: check the path."
    return f"{path} does not exist: {did_you_mean(path.name, sorted(os.listdir(path.parent)), 'check the name.')}"


def _reader(path: Path) -> Callable[..., VectorFile]:
    """The reader for the file's suffix, once its first bytes do not speak against it."""
    if not path.exists():
        raise FileNotFoundError(_missing(path))
    if path.is_dir():
        return read_parquet
    if not path.is_file():
        fail(path, "is neither a file nor a folder: name a file.")
    if path.stat().st_size == 0:
        fail(path, "is empty (0 bytes): write or download it again.")
    suffix = path.suffix.lower()
    with path.open("rb") as stream:
        head = stream.read(16)
    looks = next((kind for beginning, kind in _BEGINNINGS.items() if head.startswith(beginning)), None)
    if suffix in (".csv", ".tsv") and all(byte >= 32 or byte in b"\t\r\n" for byte in head):
        looks = None  # a table may well have a column named PAR1
    if head.startswith(_PICKLE) and suffix != ".safetensors":  # a safetensors file may begin with any byte
        fail(path, "is a Python pickle, and opening one can run code, so Pellucid never does: use numpy.save instead.")
    if suffix not in _READERS:
        hint = f"its content looks like {looks}, so rename it if it is one" if looks else "convert it to one of them"
        fail(path, f"has no suffix that Pellucid reads ({', '.join(_READERS)}): {hint}.")
    if looks not in (None, suffix):
        fail(path, f"is not what its suffix {suffix} says: it begins as {looks} files do, so rename it to {looks}.")
    if looks is None and suffix in _BEGINNINGS.values():
        fail(path, f"does not begin as {suffix} files do: it is damaged or of another kind, so write it again.")
    return _READERS[suffix]
