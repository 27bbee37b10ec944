"""The seam between collections and whatever ranks vectors. An engine sees vectors, positions, and the columns of the
items, which a filter may ask for."""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.hints import did_you_mean

# name -> where its class lives; imported when it is asked for
ENGINES = {
    "exact": "pellucid.search.engines.exact:ExactEngine",
    "faiss": "pellucid.search.engines.faiss:FaissEngine",
    "lance": "pellucid.search.engines.lance:LanceEngine",
    "postgres": "pellucid.search.engines.postgres:PostgresEngine",
    "milvus": "pellucid.search.engines.milvus:MilvusEngine",
    "qdrant": "pellucid.search.engines.qdrant:QdrantEngine",
}


class EngineError(RuntimeError):
    """A server that does not answer, refuses, or holds something else; what to do about it."""


class Engine(ABC):
    """Ranks rows by cosine. The keywords of an engine's constructor are its options: plain values, since a collection
    writes them into its manifest."""

    @classmethod
    def storable_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options as a collection may write them down: without passwords."""
        return dict(options)

    def ready(self) -> None:  # noqa: B027 most engines are
        """Raise `EngineError` if what the engine needs, such as a server, cannot be reached."""

    @abstractmethod
    def load(
        self,
        segments: Sequence[NDArray[Any]],
        alive: NDArray[np.bool_],
        keys: Sequence[str] = (),
        folder: Path | None = None,
        items: Sequence[Any] = (),
    ) -> None:
        """Take over the rows; called again, before the next search, whenever the collection has changed.

        Parameters
        ----------
        segments : the blocks of rows (n, d) of a collection, in order; a block never changes, new ones come at the end
        alive : (n_total,) which rows still count
        keys : one for each block, none if nothing is known about them. Blocks with the same key hold the same rows:
            an engine that has seen the first of them before, in this session or another, need only take in the rest
        folder : where the engine may keep files of its own; what is there is a copy of what the rows say, never more
        items : for each block a pyarrow table with the columns of its items; none if nobody will filter
        """

    @abstractmethod
    def search(
        self, queries: NDArray[Any], k: int, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and cosines (q, min(k, alive rows)) of the nearest rows, best first; from any number of threads.

        ``where`` is a filter in the engine's own language; only rows that pass it count. With a ``center`` μ (d,) the
        cosines are those of (ĉ − μ) for the rows ĉ at unit length: what a model sees of raw rows that it centres. An
        index that cannot know the centre finds a longer list by ĉ·q, which is then ranked exactly.
        """


def make_engine(name: str, /, **options: Any) -> Engine:
    """The engine of that name with these options."""
    factory = engine_class(name)
    known = inspect.signature(factory).parameters
    for option in options:
        if option not in known:
            raise ValueError(f"The engine {name!r} has no option {option!r}: {did_you_mean(option, known)}")
    missing = [n for n, p in known.items() if p.default is p.empty and n not in options]
    if missing:
        raise ValueError(f"The engine {name!r} needs the option {missing[0]!r}.")
    return factory(**options)


def engine_class(name: str) -> type[Engine]:
    """The class behind a name."""
    if name not in ENGINES:
        raise ValueError(f"There is no engine {name!r}: {did_you_mean(name, ENGINES)}")
    module, _, cls = ENGINES[name].partition(":")
    found: type[Engine] = getattr(importlib.import_module(module), cls)
    return found


def check_kind(kind: Any, kinds: Sequence[str]) -> None:
    """Refuse a kind of index that an engine does not have."""
    if kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(map(repr, kinds))}, got {kind!r}.")


def check_counts(least: int = 1, /, **counts: Any) -> None:
    """Refuse options that are no whole numbers, or too small; None stands for what the engine chooses."""
    for name, value in counts.items():
        if value is not None and (type(value) is not int or value < least):
            raise ValueError(f"{name} must be a whole number of at least {least}.")
