"""What the gated score needs of each item, computed once per model and block of rows and kept beside the vectors."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from pellucid._atomic import atomic_path
from pellucid.concepts import ConceptSubspaces
from pellucid.search._rows import Rows
from pellucid.search.collection import Collection

FOLDER = "described"
# rows described at a time
BLOCK_ROWS = 65_536


class Described:
    """``model.describe`` of a collection's rows, in the collection's folder; files there can be removed at any time."""

    def __init__(self, collection: Collection, model: ConceptSubspaces) -> None:
        self.collection, self.model = collection, model
        self._seen: dict[str, NDArray[np.float32]] = {}

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Descriptions (n, 2S) of the items at these positions."""
        mark = fingerprint(self.model)
        blocks = [self._block(mark, key, rows) for key, rows in self.collection.segments]
        return np.asarray(Rows(blocks).take(positions))

    def _block(self, mark: str, key: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        name = f"{mark}-{key}.npy"
        if name not in self._seen:
            path = self.collection.folder / FOLDER / name
            if not path.is_file():
                path.parent.mkdir(exist_ok=True)
                blocks = (rows[i : i + BLOCK_ROWS] for i in range(0, len(rows), BLOCK_ROWS))
                described = [self.model.describe(np.asarray(block, dtype=np.float32)) for block in blocks]
                with atomic_path(path) as temporary:
                    np.save(temporary, np.concatenate(described))
            self._seen[name] = np.load(path, mmap_mode="r", allow_pickle=False)
        return self._seen[name]


def fingerprint(model: ConceptSubspaces) -> str:
    """Differs where the cones or gates of two models do."""
    digest = hashlib.sha256()
    for attribute in ("atoms_", "groups_", "gate_coef_", "gate_intercept_"):
        digest.update(np.ascontiguousarray(getattr(model, attribute, np.empty(0))).data)
    return digest.hexdigest()[:16]
