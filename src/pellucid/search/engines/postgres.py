"""Search by PostgreSQL with pgvector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pellucid._core.extras import require
from pellucid.search._rows import Positions, Singles
from pellucid.search.engines import EngineError, check_counts, check_kind
from pellucid.search.engines.database import DatabaseEngine, DatabaseState, LoadedRows, plain_items
from pellucid.search.engines.postgres_server import PostgresServer, condition_of

# PostgreSQL cuts longer names, and two of ours might become one
LONGEST_NAME = 63 - len("_state")
# the largest vectors that pgvector puts into an index
INDEXED = 2000


class PostgresEngine(DatabaseEngine):
    """Inner products of unit vectors in a table of PostgreSQL with pgvector.

    ``where`` is a condition in SQL on the column ``item`` (jsonb), or a pair of a condition with ``%s`` in it and the
    values to bind.

    Parameters
    ----------
    dsn : str
        Connection string of libpq; a password in it is not kept with the collection (use PGPASSWORD or a password
        file).
    table : str, default=None
        Name of the table, with a schema before a dot if you like; made from the first rows if None.
    kind : {"hnsw", "flat"}, default="hnsw"
        A graph of neighbours is walked, or all rows are looked at.
    links : int, default=16
        Neighbours of a row in the graph.
    ef_construction : int, default=64
        How many rows are looked at to find them.
    ef_search : int, default=80
        How many rows a walk keeps in view, at most 1000.
    timeout : int, default=30
        Seconds to wait for a connection or an answer.
    """

    def __init__(
        self,
        dsn: str,
        table: str | None = None,
        kind: str = "hnsw",
        *,
        links: int = 16,
        ef_construction: int = 64,
        ef_search: int = 80,
        timeout: int = 30,
    ) -> None:
        super().__init__(table)
        check_kind(kind, ("flat", "hnsw"))
        check_counts(links=links, ef_construction=ef_construction, ef_search=ef_search, timeout=timeout)
        for part in (table or "").split(".", 1):
            if len(part.encode()) > LONGEST_NAME:
                raise ValueError(f"table must have at most {LONGEST_NAME} bytes, since PostgreSQL cuts longer names.")
        self._pgvector = require("pgvector.psycopg", "postgres")
        self._server = PostgresServer(dsn, timeout, self._set_up)
        self._psycopg, self._sql, self.place = self._server.psycopg, self._server.sql, self._server.place
        self.dsn, self.kind, self.links, self.ef_construction = dsn, kind, links, ef_construction
        self.ef_search, self.timeout = min(ef_search, 1000), timeout

    @classmethod
    def storable_options(cls, options: Any) -> dict[str, Any]:
        info = require("psycopg.conninfo", "postgres")
        told = info.conninfo_to_dict(options["dsn"])
        if "password" not in told:
            return dict(options)
        return {**options, "dsn": info.make_conninfo(**{key: v for key, v in told.items() if key != "password"})}

    def ready(self) -> None:
        self.retry(self._reach)

    def _reach(self) -> None:
        with self._connection() as connection:
            found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        if found is None:
            raise EngineError(
                f"{self.place} has no pgvector in this database: let an administrator run CREATE EXTENSION vector."
            )

    @property
    def index_spec(self) -> str:
        return "flat" if self.kind == "flat" else f"hnsw-{self.links}-{self.ef_construction}"

    @property
    def _connection(self) -> Any:
        return self._server.connection

    def _set_up(self, connection: Any) -> None:
        version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        if version is not None:
            self._pgvector.register_vector(connection)
            self._iterative = tuple(map(int, version[0].split(".")[:2])) >= (0, 8)

    def _forget(self) -> None:
        self._server.forget()

    def _lost(self, error: Exception) -> bool:
        return self._server.lost(error)

    # the table

    def _names(self, bound: bool = True) -> dict[str, Any]:
        """Quoted names; where values are bound, percent signs count double."""
        schema, _, name = (self.name.replace("%", "%%") if bound else self.name).rpartition(".")
        before = [schema] if schema else []
        return {
            "table": self._sql.Identifier(*before, name),
            "state": self._sql.Identifier(*before, f"{name}_state"),
            "index": self._sql.Identifier(f"{name}_index"),
            "dropped": self._sql.Identifier(*before, f"{name}_index"),
        }

    def _run(self, connection: Any, text: str, *values: Any, **names: Any) -> Any:
        try:
            return connection.execute(self._sql.SQL(text).format(**self._names(), **names), values)
        except self._psycopg.errors.InsufficientPrivilege as error:
            raise EngineError(f"{self.place} does not allow this: {str(error).splitlines()[0]}.") from error

    def _state(self) -> DatabaseState | None:
        self._reach()
        with self._connection() as connection:
            state = self._names(bound=False)["state"].as_string(connection)
            if self._run(connection, "SELECT to_regclass(%s)", state).fetchone()[0] is None:
                return None
            found = self._run(connection, "SELECT told FROM {state}").fetchone()
            return None if found is None else DatabaseState.parse(found[0])

    def _create(self, dimension: int) -> None:
        if self.kind == "hnsw" and dimension > INDEXED:
            raise ValueError(f"pgvector indexes up to {INDEXED} dimensions, these are {dimension}: take kind='flat'.")
        with self._connection() as connection:
            # two that create the same table at once would trip over each other
            self._run(connection, "SELECT pg_advisory_xact_lock(hashtext(%s))", self.name)
            self._run(
                connection,
                "CREATE TABLE IF NOT EXISTS {table} "
                "(position bigint PRIMARY KEY, vector vector({d}) NOT NULL, item jsonb)",
                d=self._sql.Literal(dimension),
            )
            self._run(connection, "CREATE TABLE IF NOT EXISTS {state} (one int PRIMARY KEY CHECK (one = 1), told text)")
            text = DatabaseState().text()
            self._run(connection, "INSERT INTO {state} VALUES (1, %s) ON CONFLICT DO NOTHING", text)

    def _clear(self) -> None:
        with self._connection() as connection:
            self._run(connection, "DROP TABLE IF EXISTS {table}, {state}")

    @contextmanager
    def _changing(self, before: DatabaseState) -> Iterator[Any]:
        """A transaction that nobody else changes the table beside; None if somebody was quicker."""
        with self._connection() as connection:
            told = self._run(connection, "SELECT told FROM {state} FOR UPDATE").fetchone()[0]
            yield connection if DatabaseState.parse(told) == before else None

    def _record(self, connection: Any, after: DatabaseState) -> None:
        self._run(connection, "UPDATE {state} SET told = %s", after.text())

    def _add(self, held: LoadedRows, s: int, before: DatabaseState, after: DatabaseState) -> None:
        with self._changing(before) as connection:
            if connection is None:
                return
            jsonb = require("psycopg.types.json", "postgres").Jsonb
            copy = self._sql.SQL("COPY {table} (position, vector, item) FROM STDIN (FORMAT binary)")
            with connection.cursor().copy(copy.format(**self._names(bound=False))) as rows:
                rows.set_types(["int8", "vector", "jsonb"])
                for first, block, items in held.blocks(s):
                    beside = plain_items(items) if items is not None else [{}] * len(block)
                    for i, (vector, item) in enumerate(zip(block, beside), first):
                        rows.write_row((i, vector, jsonb(item)))
            self._record(connection, after)

    def _delete(self, positions: Positions, before: DatabaseState, after: DatabaseState) -> None:
        with self._changing(before) as connection:
            if connection is None:
                return
            self._run(connection, "DELETE FROM {table} WHERE position = ANY(%s)", positions.tolist())
            self._record(connection, after)

    def _build(self, held: LoadedRows, before: DatabaseState, after: DatabaseState) -> None:
        with self._changing(before) as connection:
            if connection is None:
                return
            self._run(connection, "DROP INDEX IF EXISTS {dropped}")
            if self.kind == "hnsw":
                self._run(
                    connection,
                    "CREATE INDEX {index} ON {table} USING hnsw (vector vector_ip_ops) "
                    "WITH (m = {m}, ef_construction = {ef})",
                    m=self._sql.Literal(self.links), ef=self._sql.Literal(self.ef_construction),
                )  # fmt: skip
            self._record(connection, after)

    # searching

    def leaving_out(self, column: str, value: Any) -> Any:
        told = str(value).lower() if isinstance(value, bool) else str(value)  # as jsonb has it
        return "item->>%s IS DISTINCT FROM %s", [column, told]

    def _nearest(self, queries: Singles, k: int, where: Any, exact: bool) -> list[Positions]:
        condition, values = condition_of(where)
        # a condition without values is taken as it stands, percent signs too
        literal = condition if condition is None or values else condition.replace("%", "%%")
        text = self._sql.SQL("SELECT position FROM {table} {where} ORDER BY vector <#> %s LIMIT %s").format(
            **self._names(), where=self._sql.SQL("" if literal is None else f"WHERE ({literal})")
        )
        try:
            with self._connection() as connection:
                connection.execute("SET TRANSACTION READ ONLY")
                connection.execute(f"SET LOCAL statement_timeout = {1000 * self.timeout}")
                if exact or self.kind == "flat":
                    connection.execute("SET LOCAL enable_indexscan = off")
                else:
                    connection.execute(f"SET LOCAL hnsw.ef_search = {self.ef_search}")
                    if self._iterative:
                        connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
                found = [connection.execute(text, (*values, query, k)).fetchall() for query in queries]
        except self._psycopg.errors.QueryCanceled as error:
            raise EngineError(f"{self.place} gave no answer within {self.timeout} seconds.") from error
        except self._psycopg.errors.InsufficientPrivilege as error:
            raise EngineError(f"{self.place} does not allow this: {str(error).splitlines()[0]}.") from error
        except (self._psycopg.ProgrammingError, self._psycopg.DataError, self._psycopg.errors.InternalError) as error:
            if where is None:
                raise EngineError(f"{self.place} cannot search: {str(error).splitlines()[0]}.") from error
            raise ValueError(f"PostgreSQL cannot filter by {where!r}: {str(error).splitlines()[0]}.") from error
        return [np.array([row[0] for row in rows], dtype=np.int64) for rows in found]
