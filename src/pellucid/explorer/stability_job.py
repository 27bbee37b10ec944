"""How much of the model would come out again: refits on resampled rows, in the background, when somebody asks."""

from __future__ import annotations

import logging
import math
import threading
from typing import Any

import numpy as np

from pellucid._core.deadline import Deadline, Expired
from pellucid._core.progress import heard
from pellucid._core.threads import aside
from pellucid.concepts import ConceptSubspaces
from pellucid.explorer.background import Background
from pellucid.explorer.items import Items
from pellucid.explorer.layout import sample

LOG = logging.getLogger("pellucid.explorer")
ROWS = 5_000  # that the refits learn from


class Checking:
    """Stability of the model on items whose labels carry the names of the concepts."""

    def __init__(self, items: Items, model: ConceptSubspaces, background: Background) -> None:
        self.items, self.model, self.background = items, model, background
        # concepts may be renamed, the labels of the items stay
        self.names = [str(name) for name in getattr(model, "label_names_", model.concept_names_)]
        self.column = next((c.name for c in items.columns if set(self.names) <= set(c.values)), None)
        self.found: list[dict[str, float | None]] | None = None
        self._lock = threading.Lock()
        self._running = False
        self._ends = Deadline()

    def start(self, n_runs: int, seconds: float | None = None) -> None:
        if self.column is None:
            raise ValueError("To refit the model, the items need labels with the names of all its concepts.")
        with self._lock:
            if not self._running:
                self._running, self._ends = True, Deadline(seconds)
                self.background.failed.pop("stability", None)
                self.background.progress["stability"] = 0.0
                threading.Thread(
                    target=self._run, args=(n_runs, self._ends), name="pellucid-stability", daemon=True
                ).start()

    def stop(self) -> None:
        """Give up what is under way; nothing is said of it any more."""
        with self._lock:
            self._ends.cancel()
            self.background.failed.pop("stability", None)
            if self.background.progress.get("stability", 1.0) < 1:
                del self.background.progress["stability"]

    def _tell(self, share: float) -> None:
        with self._lock:
            if not self._ends.over:
                self.background.progress["stability"] = min(share, 0.99)

    def _run(self, n_runs: int, ends: Deadline) -> None:
        try:
            assert self.column is not None
            rows = sample(len(self.items), ROWS)
            X = self.items.collection.vectors(self.items.positions[rows]).astype(np.float32)
            Y = np.stack([self.items.labels(self.column, name)[rows] for name in self.names], axis=1).astype(bool)
            with aside(), ends.held(), heard(self._tell):
                result = self.model.stability(X, Y, n_runs)
            columns = {"overlap": result.cone_overlap, "auc": result.auc, "auc_random": result.auc_random,
                       "auc_permuted": result.auc_permuted}  # fmt: skip
            self.found = [{key: _known(values[j]) for key, values in columns.items()} for j in range(len(self.names))]
            self.background.progress["stability"] = 1.0
        except Expired as error:
            if not ends.cancelled:
                self.background.failed["stability"] = str(error)
        except Exception as error:
            LOG.exception("The stability could not be computed.")
            self.background.failed["stability"] = f"{type(error).__name__}."
        finally:
            self._running = False


def _known(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
