"""The seam between collections and whatever ranks vectors. An engine sees vectors and positions, nothing else."""

from __future__ import annotations

import difflib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# name -> where its class lives; imported when it is asked for
ENGINES = {
    "exact": "pellucid.search.exact:ExactEngine",
}


class Engine(ABC):
    """Ranks rows by cosine. ``segments`` are the blocks of rows (n, d) of a collection, in order; ``alive`` (n_total,)
    says which rows still count."""

    @abstractmethod
    def load(self, segments: Sequence[NDArray[Any]], alive: NDArray[np.bool_]) -> None:
        """Take over the rows; called again whenever the collection has changed."""

    @abstractmethod
    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and cosines (q, min(k, alive rows)) of the nearest rows, best first."""


def make_engine(name: str) -> Engine:
    """The engine of that name."""
    if name not in ENGINES:
        near = difflib.get_close_matches(name, ENGINES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, ENGINES))}."
        raise ValueError(f"There is no engine {name!r}: {hint}")
    module, _, cls = ENGINES[name].partition(":")
    engine: Engine = getattr(importlib.import_module(module), cls)()
    return engine
