"""What the gated score needs of each item, computed once per model and block of rows and kept beside the vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pellucid._core.checkpoint import fingerprint
from pellucid.concepts import ConceptSubspaces
from pellucid.search._rows import Rows
from pellucid.search.collection import Collection
from pellucid.search.derived import cone_facts, derived_array

FOLDER = "described"
# rows described at a time
BLOCK_ROWS = 65_536


class ScoreCache:
    """What the model's gates say of a collection's rows."""

    def __init__(self, collection: Collection, model: ConceptSubspaces) -> None:
        self.collection, self.model = collection, model
        self._seen: dict[tuple[str, str], NDArray[np.float32]] = {}

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Descriptions (n, 2S) of the items at these positions."""
        mark = model_mark(self.model)
        blocks = [self._block(mark, key, rows) for key, rows in self.collection.segments]
        return np.asarray(Rows(blocks).take(positions))

    def _block(self, mark: str, key: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        if (mark, key) not in self._seen:
            shape = (len(rows), 2 * len(self.model.concept_names_))
            self._seen[mark, key] = derived_array(
                self.collection.folder / FOLDER, mark, (key,), shape, np.float32, lambda: self._described(rows)
            )
        return self._seen[mark, key]

    def _described(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        blocks = (rows[i : i + BLOCK_ROWS] for i in range(0, len(rows), BLOCK_ROWS))
        return np.concatenate([self.model.describe(np.asarray(block, dtype=np.float32)) for block in blocks])


def model_mark(model: ConceptSubspaces) -> str:
    """Differs where the cones or gates of two models do."""
    gates = (getattr(model, name, None) for name in ("gate_coef_", "gate_intercept_"))
    return fingerprint(*cone_facts(model), *gates)[:16]
