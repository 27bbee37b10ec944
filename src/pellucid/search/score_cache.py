"""What the gated score needs of each item, computed once per model and block of rows and kept beside the vectors."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from pellucid._core.atomic import save_array
from pellucid._core.checkpoint import fingerprint
from pellucid.concepts import ConceptSubspaces
from pellucid.search._rows import Rows
from pellucid.search.collection import Collection
from pellucid.vectors import VectorFileError, read_npy

FOLDER = "described"
# rows described at a time
BLOCK_ROWS = 65_536


class ScoreCache:
    """What the model's gates say of a collection's rows, in its folder; files there can be removed at any time."""

    def __init__(self, collection: Collection, model: ConceptSubspaces) -> None:
        self.collection, self.model = collection, model
        self._seen: dict[str, NDArray[np.float32]] = {}

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Descriptions (n, 2S) of the items at these positions."""
        mark = model_mark(self.model)
        blocks = [self._block(mark, key, rows) for key, rows in self.collection.segments]
        return np.asarray(Rows(blocks).take(positions))

    def _block(self, mark: str, key: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        name = f"{mark}-{key}.npy"
        if name not in self._seen:
            path = self.collection.folder / FOLDER / name
            try:
                self._seen[name] = read_npy(path, None).vectors
            except (FileNotFoundError, VectorFileError):
                self._seen[name] = self._described(rows)
                with suppress(OSError):  # a folder that cannot be written costs only time
                    path.parent.mkdir(exist_ok=True)
                    save_array(path, self._seen[name])
        return self._seen[name]

    def _described(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        blocks = (rows[i : i + BLOCK_ROWS] for i in range(0, len(rows), BLOCK_ROWS))
        return np.concatenate([self.model.describe(np.asarray(block, dtype=np.float32)) for block in blocks])


def model_mark(model: ConceptSubspaces) -> str:
    """Differs where the cones or gates of two models do."""
    names = ("atoms_", "groups_", "gate_coef_", "gate_intercept_")
    center = None if model.preparation_ is None else model.preparation_.mean_
    return fingerprint(*(getattr(model, name, None) for name in names), center)[:16]
