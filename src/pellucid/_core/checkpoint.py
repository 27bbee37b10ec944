"""Long fits that survive the end of their process: the state after each sweep in one file, which is whole or old."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.atomic import atomic_path

KEY = "pellucid-checkpoint"
FORMAT = 1


def fingerprint(*facts: Any) -> str:
    """A short name for what a fit is made of: parameters, shapes, some of the numbers."""
    digest = hashlib.sha256()
    for fact in facts:
        plain = np.ascontiguousarray(fact).tobytes() if isinstance(fact, np.ndarray) else repr(fact).encode()
        digest.update(hashlib.sha256(plain).digest())
    return digest.hexdigest()


class Checkpoint:
    """Arrays and plain values of a fit under way, in a safetensors file at ``path``; ``mark`` says which fit it is."""

    def __init__(self, path: str | os.PathLike[str], mark: str) -> None:
        self.path, self.mark = Path(path), mark
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path.parent} does not exist, so no checkpoint can be written there.")

    def save(self, arrays: dict[str, NDArray[Any]], values: dict[str, Any], rng: np.random.RandomState) -> None:
        from safetensors.numpy import save_file

        _, keys, position, has_gauss, gauss = rng.get_state(legacy=True)
        header = {"format": FORMAT, "mark": self.mark, "values": values, "random": [position, has_gauss, gauss]}
        tensors = {name: np.ascontiguousarray(array) for name, array in {**arrays, "random": keys}.items()}
        with atomic_path(self.path) as temporary:
            save_file(tensors, temporary, metadata={KEY: json.dumps(header)})

    def load(self, rng: np.random.RandomState) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """What was saved, if there is anything, with ``rng`` put where it was."""
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                header = json.loads((file.metadata() or {})[KEY])
                form, mark, values, random = (header[key] for key in ("format", "mark", "values", "random"))
                if form == FORMAT and mark == self.mark:
                    arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 not a mapping
                    rng.set_state(("MT19937", arrays.pop("random"), *random))
                    return arrays, dict(values)
        except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{self.path} is damaged or no checkpoint ({error}): remove it to begin again, or name another file."
            ) from error
        raise ValueError(
            f"{self.path} belongs to another fit (other data, other parameters, or another version): remove it to "
            "begin again, or name another file."
        )
