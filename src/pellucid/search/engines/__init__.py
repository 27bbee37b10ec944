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

# rows of a shortlist, at least: an index that knows no centre is asked for about so many for a few hits anyway
ROUGHLY = 188


class EngineError(RuntimeError):
    """A server that does not answer, refuses, or holds something else; what to do about it."""


class Engine(ABC):
    """What ranks rows by cosine.

    The keywords of an engine's constructor are its options: plain values, since a collection writes them into its
    manifest.

    See Also
    --------
    make_engine : Makes one by its name.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.search import make_engine
    >>> engine = make_engine("exact")
    >>> engine.load([np.eye(3)], np.ones(3, dtype=bool))
    >>> engine.search(np.array([[1.0, 2.0, 0.0]]), k=1)[0].tolist()
    [[1]]
    """

    @classmethod
    def storable_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Give the options as a collection may write them down: without passwords.

        Parameters
        ----------
        options : dict
            Keywords of the constructor.

        Returns
        -------
        dict
            What may be kept.
        """
        return dict(options)

    def ready(self) -> None:  # noqa: B027 most engines are
        """Raise :class:`EngineError` if what the engine needs, such as a server, cannot be reached."""

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
        segments : list of ndarray of shape (n, d)
            The blocks of rows of a collection, in order; a block never changes, new ones come at the end.
        alive : ndarray of shape (n_total,)
            Which rows still count.
        keys : list of str, default=()
            One for each block, none if nothing is known about them. Blocks with the same key hold the same rows: an
            engine that has seen the first of them before, in this session or another, need only take in the rest.
        folder : Path, default=None
            Where the engine may keep files of its own; what is there is a copy of what the rows say, never more.
        items : list of pyarrow.Table, default=()
            For each block the columns of its items; none if nobody will filter.
        """

    @abstractmethod
    def search(
        self, queries: NDArray[Any], k: int, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the nearest rows; from any number of threads.

        Parameters
        ----------
        queries : ndarray of shape (q, d)
            What to look for.
        k : int
            Most rows per query.
        where : object, default=None
            A filter in the engine's own language; only rows that pass it count.
        center : ndarray of shape (d,), default=None
            With a centre μ the cosines are those of (ĉ − μ) for the rows ĉ at unit length: what a model sees of raw
            rows that it centres. An index that cannot know the centre finds a longer list by ĉ·q, which is then ranked
            exactly.

        Returns
        -------
        positions : ndarray of shape (q, min(k, alive rows))
            Which rows, best first.
        cosines : ndarray of the same shape
            How close they are.
        """

    def shortlist(
        self, queries: NDArray[Any], k: int, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> NDArray[np.int64]:
        """Find rows for somebody who ranks them again, in the time that a search for a few hits takes.

        Parameters
        ----------
        queries : ndarray of shape (q, d)
            What to look for.
        k : int
            Least rows per query, if there are so many.
        where : object, default=None
            A filter in the engine's own language.
        center : ndarray of shape (d,), default=None
            As for :meth:`search`.

        Returns
        -------
        ndarray of shape (q, at least min(k, alive rows))
            Which rows.
        """
        return self.search(queries, k if center is None else max(k, ROUGHLY), where)[0]

    def leaving_out(self, column: str, value: Any) -> Any:
        """Write a filter that lets all items pass but those with a value in a column.

        Parameters
        ----------
        column : str
            The column.
        value : str, int, float or bool
            The value.

        Returns
        -------
        object
            What :meth:`search` takes as ``where``, in the engine's own language.
        """
        return [(column, "!=", value)]


def make_engine(name: str, /, **options: Any) -> Engine:
    """Make the engine of that name.

    Parameters
    ----------
    name : str
        One of ``ENGINES``.
    **options : object
        Keywords of its constructor.

    Returns
    -------
    Engine
        The engine, without rows.

    Raises
    ------
    ValueError
        If there is no such engine, it has no such option, or it needs one that is not given.

    Examples
    --------
    >>> from pellucid.search import make_engine
    >>> type(make_engine("exact")).__name__
    'ExactEngine'
    """
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
    """Find the class behind a name.

    Parameters
    ----------
    name : str
        One of ``ENGINES``.

    Returns
    -------
    type
        A subclass of :class:`Engine`, imported now.

    Raises
    ------
    ValueError
        If there is no such engine.
    """
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
