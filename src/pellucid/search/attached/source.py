"""The seam between an attached collection and whatever holds the rows: each engine reads, and nothing else."""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.hints import did_you_mean
from pellucid.search._folder import CollectionError
from pellucid.search.engines.database import Patient

# numbers that are fetched at a time when many rows are read
NUMBERS = 1 << 20
# pauses, beside the usual ones, after which a long read goes on where it was: a server may be started again meanwhile
LONGER = (3.0, 5.0, 10.0, 20.0)
# rows by which it is told whether all vectors have one length, and how far lengths may be apart then
LOOKED_AT, APART = 1000, 0.01
# how many times as many rows are asked for where the measure of an index is not the cosine
WIDENED = 10
# what a column of texts is usually called, if nobody says
TEXTS = ("text", "body")


@dataclass(frozen=True)
class Asked:
    """What somebody said of their table: which columns are the vector, the id, the text, and what else belongs to an
    item (None for all that is plain)."""

    table: str | None
    vector: str
    id: str
    text: str | None
    columns: tuple[str, ...] | None

    def text_among(self, names: Sequence[str]) -> str | None:
        """The column of texts: the one that was named, or one with a usual name."""
        if self.text is not None:
            return self.text
        return next((name for name in TEXTS if name in names), None)


@dataclass(frozen=True)
class Found:
    """Some rows: their keys as texts, and their vectors (n, d)."""

    keys: list[str]
    rows: NDArray[Any]

    @classmethod
    def of(cls, keys: Sequence[Any], rows: Sequence[Any] | NDArray[Any], dimension: int) -> Found:
        """Rows that came as lists."""
        return cls([str(key) for key in keys], np.asarray(rows, dtype=np.float32).reshape(len(keys), dimension))


@dataclass(frozen=True)
class Page:
    """Some rows in the order of their keys, with their items; no vectors if nobody asked for them."""

    keys: list[str]
    rows: NDArray[Any] | None
    items: list[dict[str, Any]]


class Source(Patient):
    """A table somebody else made.

    Attributes
    ----------
    engine : str
        What holds it: "postgres", "qdrant", …
    place : str
        What holds it, as a sentence begins.
    address : str
        Where that is, without a password.
    name : str
        The table.
    dimension : int
        Numbers in a vector.
    metric : {"cosine", "dot", "l2"}
        How it compares vectors.
    columns : tuple of str
        Columns of its items, beside the id.
    index : str or None
        What finds neighbours without looking at all rows.
    """

    engine: str
    address: str
    name: str
    dimension: int
    metric: str
    columns: tuple[str, ...]
    has_thumbnails = False
    widen = 1
    index: str | None = None

    def _lost(self, error: Exception) -> bool:
        return False

    @abstractmethod
    def count(self) -> int:
        """How many rows have an id and a vector."""

    @abstractmethod
    def nearest(
        self, queries: NDArray[np.float32], k: int, where: Any, center: NDArray[np.float64] | None, exact: bool
    ) -> list[Found]:
        """Up to k rows near to each query, by the index that is there, or of all rows if ``exact``. What knows how to
        take a centre out of the rows does; all else finds them by ĉ·q."""

    @abstractmethod
    def known(self, key: str) -> str | None:
        """The key of a row as it is written everywhere here, if there is one that is meant by ``key``."""

    def look_up(self, key: str) -> tuple[str, NDArray[Any] | None] | None:
        """The key as :meth:`known` has it, and the row's vector if it has one."""
        found = self.known(key)
        return None if found is None else (found, self.rows([found]).get(found))

    @abstractmethod
    def rows(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        """The vectors of those that are there and have one."""

    @abstractmethod
    def items(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The columns of those that are there."""

    @abstractmethod
    def pages(
        self,
        size: int,
        *,
        vectors: bool = True,
        columns: Sequence[str] | None = None,
        after: str | None = None,
        upto: str | None = None,
    ) -> Iterator[Page]:
        """All rows with an id and a vector in the order of their keys, ``size`` at a time; after one key and up to
        another, if they are given. A read that is interrupted goes on where it was, or ends with an
        :class:`EngineError`."""

    @abstractmethod
    def leaving_out(self, column: str, value: Any) -> Any:
        """A filter that lets all items pass but those with that value in a column."""

    @abstractmethod
    def sample(self, rows: int) -> NDArray[Any]:
        """The vectors of about so many rows from all over the table."""

    def missing(self) -> int:
        """How many rows have no vector or no id, and so are left out."""
        return 0

    def note_lengths(self) -> None:
        """Say that an index which does not compare by cosine finds other rows where lengths differ, and ask it for
        more of them."""
        first = None if self.metric == "cosine" else next(self.pages(LOOKED_AT, columns=()), None)
        if first is not None and first.rows is not None and not even(first.rows):
            self.widen = WIDENED
            warnings.warn(
                f"{self.name} compares by {self.metric}, but the vectors differ in length, so it does not find the "
                f"nearest by cosine: it is asked for {WIDENED} times as many rows, and may still miss some.",
                stacklevel=2,
            )

    def rows_at_once(self) -> int:
        """How many rows are worth one answer."""
        return max(64, NUMBERS // max(1, self.dimension))


def check_columns(asked: Asked, names: Mapping[str, Any], where: str, vectors: Sequence[str]) -> None:
    """Refuse columns that are not there, with those that are."""
    if asked.vector not in names:
        other = f"its columns of vectors are {listed(vectors)}" if vectors else "it has no column of vectors"
        raise CollectionError(f"{capital(where)} has no column {asked.vector!r}: {other}. Name one as the vector.")
    if asked.vector not in vectors:
        other = f"those that do are {listed(vectors)}" if vectors else "no other does"
        raise CollectionError(
            f"The column {asked.vector!r} of {where} holds {names[asked.vector]}, no vectors; {other}. Name one as "
            "the vector."
        )
    for role, name in (("id", asked.id), ("text", asked.text), *(("columns", c) for c in asked.columns or ())):
        if name is not None and name not in names:
            said = did_you_mean(name, names)
            raise CollectionError(f"{capital(where)} has no column {name!r}, which was named as {role}: {said}")


def slots(there: Sequence[str], asked: Asked, text: str | None) -> dict[str, str]:
    """What an item is made of: a name in it, and the column. A text goes by the name of "text", whatever its column is
    called, and so stands for a column of that name."""
    more = [name for name in there if name not in (asked.id, text)] if asked.columns is None else list(asked.columns)
    first = {} if text is None else {"text": text}
    return {**first, **{name: name for name in more if name not in ("id", *first)}}


def even(rows: NDArray[Any]) -> bool:
    """Whether rows have one length, up to what rounding to halves does."""
    lengths = np.linalg.norm(rows, axis=1)
    return len(lengths) == 0 or bool(lengths.max() <= (1 + APART) * lengths.min())


def capital(sentence: str) -> str:
    """As a sentence begins."""
    return sentence[:1].upper() + sentence[1:]


def listed(names: Sequence[str]) -> str:
    """Names in a row."""
    return ", ".join(map(repr, names))


def arrow_columns(items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """The items' values as Arrow has them; a column of mixed values is one of texts."""
    import pyarrow as pa

    made = {}
    for name in columns:
        values = [item.get(name) for item in items]
        try:
            made[name] = pa.array([json.dumps(v) if isinstance(v, dict) else v for v in values])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            made[name] = pa.array([None if value is None else str(value) for value in values], pa.string())
    return made
