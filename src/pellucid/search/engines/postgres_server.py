"""Connections to PostgreSQL: as many as there are threads that ask at once."""

from __future__ import annotations

import queue
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from pellucid._core.extras import require
from pellucid.search.engines import EngineError

# what a server says that lets somebody in, but not this one: no sense in trying again
REFUSED = ("authentication failed", "does not exist", "no password supplied", "pg_hba.conf", "permission denied")


class PostgresServer:
    """Where a database is, and the idle connections to it.

    Parameters
    ----------
    dsn : str
        Connection string of libpq.
    timeout : int
        Seconds to wait for a connection or an answer.
    set_up : callable
        What is done with each new connection.
    """

    def __init__(self, dsn: str, timeout: int, set_up: Callable[[Any], None]) -> None:
        self.psycopg = require("psycopg", "postgres")
        self.sql = require("psycopg.sql", "postgres")
        try:
            told = require("psycopg.conninfo", "postgres").conninfo_to_dict(dsn)
        except self.psycopg.ProgrammingError as error:
            raise ValueError(f"The dsn cannot be read: {str(error).strip()}") from None
        self.address = f"{told.get('host', 'localhost')}:{told.get('port', 5432)}"
        self.place = f"The PostgreSQL server at {self.address}"
        self.dsn, self.timeout, self._set_up = dsn, timeout, set_up
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        weakref.finalize(self, _close, self._idle)

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection within a transaction."""
        with self._held() as connection, connection.transaction():
            yield connection

    def answers(self, *asked: tuple[Any, Sequence[Any]]) -> list[list[Any]]:
        """Rows that queries with their values give, in binary form: one transaction, and one round trip for all."""
        together = self.psycopg.Pipeline.is_supported()
        with self._held() as connection:
            with connection.pipeline() if together else nullcontext(), connection.transaction():
                told = [connection.execute(query, values, binary=True, prepare=False) for query, values in asked]
            return [cursor.fetchall() for cursor in told]

    @contextmanager
    def _held(self) -> Iterator[Any]:
        """An idle connection or a new one; closed if anything goes wrong."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self.connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)

    def connect(self) -> Any:
        """A connection of one's own."""
        try:
            connection = self.psycopg.connect(
                self.dsn, connect_timeout=self.timeout, tcp_user_timeout=1000 * self.timeout, autocommit=True,
                application_name="pellucid",
            )  # fmt: skip
        except self.psycopg.OperationalError as error:
            if self.lost(error):
                raise
            reason = str(error).strip().splitlines()[0].rpartition("FATAL:")[2].strip().rstrip(".")
            raise EngineError(f"{self.place} does not let you in: {reason}.") from error
        self._set_up(connection)
        return connection

    def forget(self) -> None:
        """Close all that are idle."""
        _close(self._idle)

    def lost(self, error: Exception) -> bool:
        """Whether an error means that the connection is gone, and trying again may help."""
        if not isinstance(error, (self.psycopg.OperationalError, self.psycopg.InterfaceError)):
            return False
        code = getattr(error, "sqlstate", None)
        if code is None:  # the connection itself, unless a server that runs refuses it
            return not any(words in str(error) for words in REFUSED)
        # 08: connection exceptions; 57P: the server shuts down, crashed or starts up
        return bool(code.startswith("08") or code in ("57P01", "57P02", "57P03"))


def condition_of(where: Any, more: str = "") -> tuple[str | None, list[Any]]:
    """A filter in SQL with the values to bind."""
    if where is None or isinstance(where, str):
        return where, []
    if isinstance(where, (list, tuple)) and len(where) == 2:
        condition, values = where
        if isinstance(condition, str) and isinstance(values, (list, tuple)):
            return condition, list(values)
    raise ValueError(
        f"PostgreSQL cannot filter by {where!r}: give a condition in SQL, or a pair of one with %s in it and the "
        f"values{more}."
    )


def _close(idle: queue.LifoQueue[Any]) -> None:
    while True:
        try:
            idle.get_nowait().close()
        except queue.Empty:
            return
