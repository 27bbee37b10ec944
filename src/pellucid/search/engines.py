"""The seam between collections and whatever ranks vectors. An engine sees vectors and positions, nothing else."""

from __future__ import annotations

import difflib
import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# name -> where its class lives; imported when it is asked for
ENGINES = {
    "exact": "pellucid.search.exact:ExactEngine",
    "faiss": "pellucid.search.faiss_engine:FaissEngine",
}


class Engine(ABC):
    """Ranks rows by cosine. The keywords of an engine's constructor are its options: plain values, since a collection
    writes them into its manifest."""

    @abstractmethod
    def load(
        self,
        segments: Sequence[NDArray[Any]],
        alive: NDArray[np.bool_],
        keys: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        """Take over the rows; called again, before the next search, whenever the collection has changed.

        Parameters
        ----------
        segments : the blocks of rows (n, d) of a collection, in order; a block never changes, new ones come at the end
        alive : (n_total,) which rows still count
        keys : one for each block, none if nothing is known about them. Blocks with the same key hold the same rows:
            an engine that has seen the first of them before, in this session or another, need only take in the rest
        folder : where the engine may keep files of its own; what is there is a copy of what the rows say, never more
        """

    @abstractmethod
    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and cosines (q, min(k, alive rows)) of the nearest rows, best first; from any number of threads."""


def make_engine(name: str, /, **options: Any) -> Engine:
    """The engine of that name with these options."""
    if name not in ENGINES:
        raise ValueError(f"There is no engine {name!r}: {_hint(name, ENGINES)}")
    module, _, cls = ENGINES[name].partition(":")
    factory = getattr(importlib.import_module(module), cls)
    known = inspect.signature(factory).parameters
    for option in options:
        if option not in known:
            raise ValueError(f"The engine {name!r} has no option {option!r}: {_hint(option, known)}")
    engine: Engine = factory(**options)
    return engine


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known)) or 'none'}."
