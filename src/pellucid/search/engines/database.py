"""Rows in a database: it is sent what it lacks, asked for neighbours, and what it finds is ranked again from the rows.

What a database holds is told by a state that is written after the rows it speaks of: the keys of the blocks it has, how
many deletions it has seen, and how its index was made. Rows are written under their positions, so writing some of them
twice changes nothing, and whatever stops in the middle is done again from the last state.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.plain import plain
from pellucid.search._lock import Locked, locked
from pellucid.search._rows import Positions, Rows, Singles
from pellucid.search.engines import Engine, EngineError
from pellucid.search.engines.exact import rank, shortlist_length

T = TypeVar("T")

# seconds to wait after each lost connection; then it is an error
PAUSES = (0.1, 0.4, 1.6)
# numbers and rows that are sent at a time, and queries that are asked at a time
NUMBERS, ROWS, QUERIES = 1 << 20, 1000, 100
# how long to wait for another process that fills the same folder
PATIENCE = 600.0


@dataclass(frozen=True)
class DatabaseState:
    """What a database holds."""

    keys: tuple[str, ...] = ()
    deleted: int = 0
    index: str = ""

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> DatabaseState:
        found = json.loads(text)
        return cls(tuple(found["keys"]), int(found["deleted"]), str(found["index"]))


@dataclass(frozen=True)
class LoadedRows:
    """The rows of a collection as an engine was last given them."""

    rows: Rows
    alive: NDArray[np.bool_]
    keys: tuple[str, ...]
    items: Sequence[Any]
    count: int

    def blocks(self, s: int) -> Iterator[tuple[int, Singles, Any]]:
        """(position of the first row, unit rows, their items) of a segment, a piece at a time."""
        start, stop = int(self.rows.starts[s]), int(self.rows.starts[s + 1])
        size = max(1, min(ROWS, NUMBERS // self.rows.segments[s].shape[1]))
        for first, block in self.rows.blocks(start, stop, size):
            beside = self.items[s].slice(first - start, len(block)) if self.items else None
            yield first, np.ascontiguousarray(unit_rows(block)), beside


class Patient(ABC):
    """What asks a server, and asks again when the connection is lost."""

    place = "The database"  # as it is called in messages

    @abstractmethod
    def _lost(self, error: Exception) -> bool:
        """Whether an error means that the connection is gone, and trying again may help."""

    def _forget(self) -> None:  # noqa: B027 not all keep connections
        """Drop connections that may be broken."""

    def retry(self, call: Callable[[], T], longer: Sequence[float] = ()) -> T:
        """Call, and again after a pause when the connection is lost; after ``longer`` pauses, too, in a long read."""
        for pause in (*PAUSES, *longer, None):
            try:
                return call()
            except Exception as error:
                if not self._lost(error):
                    raise
                self._forget()
                if pause is None:
                    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
                    raise EngineError(
                        f"{self.place} does not answer ({reason}): check that it runs and can be reached, then try "
                        "again; nothing was lost."
                    ) from error
                time.sleep(pause)
        raise AssertionError


class DatabaseEngine(Patient, Engine):
    """What the engines that keep the rows elsewhere share.

    Parameters
    ----------
    table : str or None
        Where the rows are in the database; a name made from the first rows if None.
    """

    dsn: str | None  # where it is; None for the collection's own folder

    def __init__(self, table: str | None) -> None:
        if table is not None and (not isinstance(table, str) or not table):
            raise ValueError("table must be a name.")
        self.table = table
        self._folder: Path | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def local(self) -> bool:
        """Whether the database lives in the collection's own folder, and is ours to build again."""
        return self.dsn is None

    # what each database does in its own way

    @property
    @abstractmethod
    def index_spec(self) -> str:
        """How the index is made; another specification, another index."""

    @abstractmethod
    def _state(self) -> DatabaseState | None:
        """What is there; None if nothing is."""

    @abstractmethod
    def _create(self, dimension: int) -> None:
        """Make an empty table with an empty state."""

    @abstractmethod
    def _clear(self) -> None:
        """Remove the table."""

    @abstractmethod
    def _add(self, held: LoadedRows, s: int, before: DatabaseState, after: DatabaseState) -> None:
        """Write segment s, which may be there in part, and then the state."""

    @abstractmethod
    def _delete(self, positions: Positions, before: DatabaseState, after: DatabaseState) -> None:
        """Take rows out, some of which may be gone already, and then write the state."""

    @abstractmethod
    def _build(self, held: LoadedRows, before: DatabaseState, after: DatabaseState) -> None:
        """Make the index, and then write the state."""

    @abstractmethod
    def _nearest(self, queries: Singles, k: int, where: Any, exact: bool) -> list[Positions]:
        """Positions of up to k rows with the largest inner products with each query; of all rows if ``exact``."""

    # what they share

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table or f"pellucid_{hashlib.sha256(self._held.keys[0].encode()).hexdigest()[:12]}"

    def load(
        self,
        segments: Sequence[NDArray[Any]],
        alive: NDArray[np.bool_],
        keys: Sequence[str] = (),
        folder: Path | None = None,
        items: Sequence[Any] = (),
    ) -> None:
        rows = Rows(segments)
        named = tuple(keys) or tuple(f"{len(s)}-{zlib.crc32(np.ascontiguousarray(s).data):08x}" for s in rows.segments)
        self._held = LoadedRows(rows, alive, named, items, int(np.count_nonzero(alive)))
        if self.local and folder is None and self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="pellucid-")
        place = folder if self._temporary is None else Path(self._temporary.name)
        with self._alone(place):
            while self.retry(self._step):
                pass

    @contextmanager
    def _alone(self, folder: Path | None) -> Iterator[None]:
        """In the collection's own folder, one process at a time; servers keep order themselves."""
        if not self.local or folder is None:
            yield
            return
        self._folder = folder
        try:
            if self._up_to_date():  # readers need not wait, nor be allowed to write
                yield
                return
            folder.mkdir(exist_ok=True)
            with locked(folder, PATIENCE):
                yield
        except Locked as holder:
            raise EngineError(f"{folder} is being filled by {holder}; try again when it is done.") from None
        except OSError as error:
            raise EngineError(f"The index cannot be kept in {folder}: {error.strerror or error}.") from error

    def _up_to_date(self) -> bool:
        assert self._folder is not None
        if not self._folder.is_dir():
            return False
        state = self.retry(self._state)
        held = self._held
        return state == DatabaseState(held.keys, len(held.alive) - held.count, self.index_spec)

    def _step(self) -> bool:
        """Bring the database one step nearer to what the collection is now; False if it is there."""
        held, state = self._held, self._state()
        if state is None:
            self._create(held.rows.segments[0].shape[1])
            state = DatabaseState()
        done = len(state.keys)
        if held.keys[:done] != state.keys[: len(held.keys)]:
            if not self.local:
                raise EngineError(
                    f"{self.place} has rows of another collection in {self.name!r}: name another table, or drop it."
                )
            self._clear()
            return True
        if done > len(held.keys):  # opened before somebody added to it
            return False
        if done < len(held.keys):
            self._add(held, done, state, DatabaseState(held.keys[: done + 1], state.deleted))
            return True
        dead = np.flatnonzero(~held.alive)
        if len(dead) > state.deleted:
            self._delete(dead, state, replace(state, deleted=len(dead)))
        elif state.index != self.index_spec:
            self._build(held, state, replace(state, index=self.index_spec))
        else:
            return False
        return True

    def search(
        self, queries: NDArray[Any], k: int, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> tuple[Positions, NDArray[np.float64]]:
        held = self._held
        wanted = unit_rows(np.asarray(queries, dtype=np.float64))
        k = min(k, held.count)
        if k == 0:
            return np.empty((len(wanted), 0), dtype=np.int64), np.empty((len(wanted), 0))
        found: list[Positions] = []
        for start in range(0, len(wanted), QUERIES):
            found += self._found(
                held, wanted[start : start + QUERIES].astype(np.float32), k, where, shortlist_length(k, center)
            )
        k = min(k, *map(len, found))
        positions, scores = np.empty((len(wanted), k), dtype=np.int64), np.empty((len(wanted), k))
        for i, candidates in enumerate(found):
            positions[i], scores[i] = rank(held.rows, candidates, wanted[i], k, center)
        return positions, scores

    def _found(self, held: LoadedRows, queries: Singles, k: int, where: Any, length: int) -> list[Positions]:
        """For each query at least k positions of up to ``length``, if there are so many that count."""
        for exact in (False, True):
            found = self.retry(partial(self._nearest, queries, length, where, exact))
            # a row that came or went since the collection was opened does not count
            found = [places[(places >= 0) & (places < len(held.alive))] for places in found]
            found = [places[held.alive[places]] for places in found]
            if min(map(len, found)) >= k:
                break
        return found


def plain_items(table: Any) -> list[dict[str, Any]]:
    """Items as JSON can say them: no bytes, dates as text, and nothing where a number is not finite."""
    kept = [name for name, kind in zip(table.column_names, table.schema.types) if "binary" not in str(kind)]
    return [plain(row, _without_nul) for row in table.select(kept).to_pylist()]


def _without_nul(text: str) -> str:
    """Not every database can hold the character."""
    return text.replace("\0", "")
