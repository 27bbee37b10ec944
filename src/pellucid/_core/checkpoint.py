"""Long fits that survive the end of their process: the state after each step in one file, which is whole or old."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.atomic import atomic_path

KEY = "pellucid-checkpoint"
FORMAT = 2
# metadata of a state's field that the next step does not need: it is not kept, and has a default
TRANSIENT = {"transient": True}


def fingerprint(*facts: Any) -> str:
    """A short name for what something is made of: parameters, shapes, arrays; lists of these too."""
    digest = hashlib.sha256()
    for fact in facts:
        if isinstance(fact, np.ndarray) and fact.dtype != object:
            plain = f"{fact.dtype}{fact.shape}".encode() + np.ascontiguousarray(fact).tobytes()
        else:
            plain = fingerprint(*fact).encode() if isinstance(fact, (list, tuple)) else repr(fact).encode()
        digest.update(hashlib.sha256(plain).digest())
    return digest.hexdigest()


class Checkpoint:
    """The state of a fit under way, in a safetensors file at ``path``; ``mark`` says which fit it is.

    A state is made of arrays, sparse matrices, numbers, words, lists, dictionaries and dataclasses, of which ``kinds``
    names all that are used. With it goes where ``rng`` is, if the fit draws.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mark: str,
        kinds: Iterable[type],
        rng: np.random.RandomState | None = None,
    ) -> None:
        self.path, self.mark, self.rng = Path(path), mark, rng
        self.kinds = {kind.__name__: kind for kind in kinds}
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path.parent} does not exist, so no checkpoint can be written there.")

    def save(self, state: Any) -> None:
        from safetensors.numpy import save_file

        arrays: dict[str, NDArray[Any]] = {}
        drawn = None if self.rng is None else self.rng.get_state(legacy=True)
        header = {"format": FORMAT, "mark": self.mark, "state": _plain(state, arrays), "random": _plain(drawn, arrays)}
        with atomic_path(self.path) as temporary:
            save_file(arrays, temporary, metadata={KEY: json.dumps(header)})

    def load(self) -> Any:
        """The state that was saved, or None, with the ``rng`` put where it was."""
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                header = json.loads((file.metadata() or {})[KEY])
                if header["format"] == FORMAT and header["mark"] == self.mark:
                    state, random = (self._back(header[key], file.get_tensor) for key in ("state", "random"))
                    if self.rng is not None:
                        self.rng.set_state(tuple(random))
                    return state
        except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{self.path} is damaged or no checkpoint ({error}): remove it to begin again, or name another file."
            ) from error
        raise ValueError(
            f"{self.path} belongs to another fit (other data, other parameters, or another version): remove it to "
            "begin again, or name another file."
        )

    def _back(self, value: Any, array: Any) -> Any:
        """The reverse of ``_plain``."""
        if isinstance(value, list):
            return [self._back(item, array) for item in value]
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return array(value["array"])
        inside = {name: self._back(item, array) for name, item in value["fields"].items()}
        if value["kind"] == "sparse":
            return sparse.csr_array(tuple(inside["parts"]), shape=tuple(inside["shape"]))
        return inside if value["kind"] == "dict" else self.kinds[value["kind"]](**inside)


def _plain(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """What JSON can say of a state; arrays are put aside and named."""
    if isinstance(value, np.ndarray):
        name = f"array {len(arrays)}"
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item, arrays) for item in value]
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        inside, kind = {"parts": (rows.data, rows.indices, rows.indptr), "shape": rows.shape}, "sparse"
    elif is_dataclass(value):
        inside = {f.name: getattr(value, f.name) for f in fields(value) if not f.metadata.get("transient")}
        kind = type(value).__name__
    elif isinstance(value, dict):
        inside, kind = value, "dict"
    else:
        return value
    return {"kind": kind, "fields": {name: _plain(item, arrays) for name, item in inside.items()}}
