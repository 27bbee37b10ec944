"""Finding and checking the archives of real data: where they are, whether they are what they should be."""

from __future__ import annotations

import hashlib
import os
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproductions.data.catalogue import CATALOGUE, Facts

VARIABLE = "PELLUCID_DATA"


class DatasetNotFound(FileNotFoundError):
    """The file of a data set is not in the folder; the message says where the data live and on what terms."""


class DatasetDamaged(ValueError):
    """The file is there, but its checksum, its arrays or their shapes are not those of the data set."""


def read(file: str, folder: str | os.PathLike[str] | None) -> dict[str, NDArray[Any]]:
    """The arrays of the archive ``file``, checked against the catalogue; float16 becomes float32."""
    facts = CATALOGUE[file]
    path = _locate(file, facts, folder)
    _check_sum(path, facts)
    try:
        # pickle would let a data file run code
        with np.load(path, allow_pickle=False) as stored:
            missing = [name for name in facts.arrays if name not in stored.files]
            if missing:
                raise DatasetDamaged(
                    f"{path} has no array named {' or '.join(missing)}; it has {', '.join(stored.files)}."
                )
            arrays = {name: stored[name] for name in facts.arrays}
    except DatasetDamaged:
        raise
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise DatasetDamaged(f"{path} cannot be read as a NumPy archive ({error}): fetch it again.") from error
    except (ValueError, AttributeError, TypeError) as error:
        # a lone array or bytes that are no archive have neither names nor a place in a with statement
        refused = "pickle" in str(error).lower()
        reason = "it is no NumPy archive, or holds pickled Python objects, which are refused" if refused else error
        raise DatasetDamaged(f"{path} cannot be used: {reason}.") from error
    for name, array in arrays.items():
        _check_array(path, name, array, *facts.arrays[name])
    return {name: a.astype(np.float32) if a.dtype == np.float16 else a for name, a in arrays.items()}


def _locate(file: str, facts: Facts, folder: str | os.PathLike[str] | None) -> Path:
    given = folder if folder is not None else os.environ.get(VARIABLE)
    source = f"The data are {facts.origin}, {facts.home} (terms: {facts.terms})."
    if not given:
        raise DatasetNotFound(
            f"{file} was looked for, but no folder is known: set {VARIABLE} to the folder that holds it, "
            f"or pass folder=. {source}"
        )
    path = Path(given).expanduser() / file
    if not path.is_file():
        raise DatasetNotFound(
            f"{file} is not in {path.parent}: put it there, or set {VARIABLE} (or folder=) "
            f"to the folder that holds it. {source}"
        )
    return path


def _check_sum(path: Path, facts: Facts) -> None:
    if facts.sha256 is None:
        return
    status = path.stat()
    found = _sha256(str(path.resolve()), status.st_mtime_ns, status.st_size)
    if found != facts.sha256:
        raise DatasetDamaged(
            f"{path} is not the file that was expected: its sha256 starts with {found[:12]}, not {facts.sha256[:12]}; "
            "it was cut short, changed, or is another version: fetch it again."
        )


@lru_cache(maxsize=64)
def _sha256(path: str, modified: int, size: int) -> str:
    """Checksum of the file; time and size are there so that a file that changed is read again."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _check_array(path: Path, name: str, array: NDArray[Any], kind: str, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise DatasetDamaged(f"The array {name} of {path} has the shape {array.shape}; {shape} was expected.")
    # any width of text will do
    matches = array.dtype.kind == "U" if kind == "str" else array.dtype == np.dtype(kind)
    if not matches:
        raise DatasetDamaged(f"The array {name} of {path} has the type {array.dtype}; {kind} was expected.")
