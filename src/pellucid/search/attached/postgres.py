"""Tables, views and materialised views of PostgreSQL with a column of pgvector, read in transactions that may only
read."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.hints import did_you_mean
from pellucid.search._folder import CollectionError
from pellucid.search.attached.source import (
    LONGER,
    LOOKED_AT,
    Asked,
    Found,
    Page,
    Source,
    check_columns,
    even,
    listed,
    slots,
)
from pellucid.search.engines import EngineError
from pellucid.search.engines.postgres_server import PostgresServer, condition_of

# how numbers come in the binary form of each type, after four bytes of header
FORMS = {"vector": ">f4", "halfvec": ">f2"}
OPERATORS = {"<=>": "cosine", "<#>": "dot", "<->": "l2"}
CLASSES = {"cosine": "cosine_ops", "dot": "ip_ops", "l2": "l2_ops"}
# the widest rows that pgvector indexes of each type
INDEXED = {"vector": 2000, "halfvec": 4000}
# the most rows that a walk keeps in view
EF = 1000
# types whose values come as they are, also in lists; all others as texts
PLAIN = {
    "text", "character varying", "bpchar", "name", "smallint", "integer", "bigint", "real", "double precision",
    "numeric", "boolean", "date", "timestamp without time zone", "timestamp with time zone", "bytea", "json", "jsonb",
}  # fmt: skip
# share of the lists of an IVFFlat index that are looked at, and the least number of them
PROBED, PROBES = 0.2, 10

# operators of the conditions that a collection of our own takes, in SQL
SIGNS = {
    **{sign: f"{{}} {sign} %s" for sign in ("=", "!=", "<", ">", "<=", ">=")}, "==": "{} = %s",
    "in": "{} = ANY(%s)", "not in": "{} <> ALL(%s)", "has": "%s = ANY({})", "has not": "%s <> ALL({})",
}  # fmt: skip

COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, a.atttypmod, format_type(a.atttypid, -1)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
TABLES = """
SELECT DISTINCT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE t.typname IN ('vector', 'halfvec') AND c.relkind IN ('r', 'v', 'm', 'p', 'f') ORDER BY 1
"""
# a hash of the ids tells which rows are in a sample, out of so many
HASHED = 1 << 20


class PostgresSource(Source):
    """See :class:`~pellucid.search.attached.source.Source`."""

    engine = "postgres"

    def __init__(self, dsn: str, asked: Asked, timeout: int) -> None:
        self._server = PostgresServer(dsn, timeout, self._set_up)
        self._sql, self._errors = self._server.sql, self._server.psycopg.errors
        self.place, self.timeout = self._server.place, timeout
        if asked.table is None:
            raise CollectionError(f"Name the table: {self.retry(self._tables_there)}")
        self.name = asked.table
        self.retry(lambda: self._look(asked))

    def _lost(self, error: Exception) -> bool:
        return self._server.lost(error)

    def _forget(self) -> None:
        self._server.forget()

    # what is there

    def _set_up(self, connection: Any) -> None:
        """Types and operators of pgvector are found wherever they are."""
        connection.read_only = True
        told = connection.execute(
            "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        ).fetchone()
        if told is None:
            raise EngineError(
                f"{self.place} has no pgvector in this database: let an administrator run CREATE EXTENSION vector."
            )
        connection.execute(
            "SELECT set_config('search_path', current_setting('search_path') || ', ' || quote_ident(%s), false)",
            (told[0],),
        )
        self._iterative = tuple(map(int, told[1].split(".")[:2])) >= (0, 8)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        """A connection in a transaction that may only read; what goes wrong is said in a sentence."""
        with self._said(), self._server.connection() as connection:
            yield connection

    def _answers(self, *asked: tuple[Any, Sequence[Any]]) -> list[list[Any]]:
        """The same for queries whose answers come together."""
        with self._said():
            return self._server.answers(*asked)

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except self._errors.InsufficientPrivilege as error:
            raise EngineError(self._no_privilege(error)) from error
        except self._errors.QueryCanceled as error:
            raise EngineError(f"{self.place} gave no answer within {self.timeout} seconds.") from error

    def _no_privilege(self, error: Exception) -> str:
        role = self._server.psycopg.conninfo.conninfo_to_dict(self._server.dsn).get("user", "your role")
        return (
            f"{self.place} does not let you read {self.name} ({str(error).splitlines()[0]}): let its owner run "
            f"GRANT SELECT ON {self.name} TO {role}."
        )

    def _tables_there(self) -> str:
        with self._reading() as connection:
            names = [row[0] for row in connection.execute(TABLES).fetchall()]
        return f"those with vectors are {listed(names)}." if names else "none in this database has vectors."

    def _look(self, asked: Asked) -> None:
        with self._reading() as connection:
            oid, self._table = self._find(connection, asked.table or "")
            if oid is None:
                names = [row[0] for row in connection.execute(TABLES).fetchall()]
                hint = did_you_mean(self.name, names, f"those with vectors are {listed(names)}." if names else
                                    "no table there has vectors.")  # fmt: skip
                raise CollectionError(
                    f"There is no table {self.name!r} in the database at {self._server.address}: {hint}"
                )
            found = connection.execute(COLUMNS, (oid,)).fetchall()
            database = connection.execute("SELECT current_database(), relkind FROM pg_class WHERE oid = %s::oid",
                                          (oid,)).fetchone()  # fmt: skip
            self._kind = database[1].decode() if isinstance(database[1], bytes) else database[1]
            self.address = f"postgresql://{self._server.address}/{database[0]}"
            types = {name: kind for name, kind, *_ in found}
            vectors = [name for name, _, base, *_ in found if base in FORMS]
            check_columns(asked, types, f"the table {self.name}", vectors)
            base, width = next((base, width) for name, _, base, width, _ in found if name == asked.vector)
            self._base, self._key_type = base, next(whole for name, *_, whole in found if name == asked.id)
            self._take(asked, types, vectors)
            self.dimension = width if width > 0 else self._width(connection)
            self._find_index(connection)

    def _find(self, connection: Any, name: str) -> tuple[Any, Any]:
        """A table by its name as it is written there, with a schema or without, or as SQL reads it."""
        schema, dot, rest = name.partition(".")
        tried: list[tuple[str, ...]] = [(name,), *([(schema, rest)] if dot else [])]
        parts = re.findall(r'"((?:[^"]|"")+)"|([^".]+)', name)
        tried.append(tuple(quoted.replace('""', '"') or plain.lower() for quoted, plain in parts))
        for names in tried:
            identifier = self._sql.Identifier(*names)
            oid = connection.execute("SELECT to_regclass(%s)::oid", (identifier.as_string(connection),)).fetchone()[0]
            if oid is not None:
                return oid, identifier
        return None, None

    def _take(self, asked: Asked, types: dict[str, str], vectors: list[str]) -> None:
        """Which columns make an item, and how they are asked for."""
        text = asked.text_among([name for name in types if types[name] in ("text", "character varying")])
        there = [name for name in types if name not in vectors and (types[name] != "bytea" or name == "thumbnail")]
        self._parts = slots(there, asked, text)
        self.columns, self.has_thumbnails = tuple(self._parts), "thumbnail" in self._parts
        self._cast = {name: cast_of(types[name]) for name in self._parts.values()}
        self._id, self._vector = asked.id, asked.vector

    def _asking(self, text: str, **more: Any) -> Any:
        """A query with names in it, whose percent signs count double since values are bound."""
        names = {
            "table": self._table, "id": self._sql.Identifier(self._id), "v": self._sql.Identifier(self._vector),
            "key_type": self._sql.SQL(self._key_type), "send": self._sql.SQL(f"{self._base}_send"), **more,
        }  # fmt: skip
        doubled = {key: self._sql.SQL(part.as_string(None).replace("%", "%%")) for key, part in names.items()}
        return self._sql.SQL(text).format(**doubled)

    def _run(self, connection: Any, query: Any, values: Sequence[Any] = ()) -> Any:
        return connection.execute(query, values, binary=True, prepare=False)

    def _shown_name(self, name: str) -> str:
        return str(self._sql.Identifier(name).as_string(None))

    def _width(self, connection: Any) -> int:
        asking = "SELECT vector_dims({v}) FROM {table} WHERE {v} IS NOT NULL LIMIT 1"
        found = self._run(connection, self._asking(asking)).fetchone()
        if found is None:
            raise ValueError(
                f"The column {self._vector!r} of {self.name} has no vectors yet, so their dimension is not known."
            )
        return int(found[0])

    def _find_index(self, connection: Any) -> None:
        """How the table's index compares vectors: the planner tells by which operator it would be used, through views
        and partitions, too. Without one all rows are compared by cosine."""
        column = self._sql.Identifier(self._vector)
        ways = [(column, self._base)]
        if self._base == "vector":  # wide ones are often indexed as halves
            ways.append((column + self._sql.SQL(f"::halfvec({self.dimension})"), "halfvec"))
        self._by, self._to, self._operator, self.metric, self.index = *ways[0], "<=>", "cosine", None
        for (by, to), operator in ((way, operator) for way in ways for operator in OPERATORS):
            with connection.transaction(force_rollback=True):
                connection.execute("SET LOCAL enable_seqscan = off")
                connection.execute("SET LOCAL enable_sort = off")
                query = self._asking(
                    "EXPLAIN (FORMAT JSON) SELECT 1 FROM {table} WHERE {v} IS NOT NULL ORDER BY {by} {op} "
                    "(SELECT {by} FROM {table} WHERE {v} IS NOT NULL LIMIT 1) LIMIT 1",
                    by=by, op=self._sql.SQL(operator),
                )  # fmt: skip
                plan = self._run(connection, query).fetchone()[0]
            index = index_in(plan if isinstance(plan, list) else json.loads(plan))
            if index is not None and OPERATORS[operator] != "cosine" and not self._even(connection):
                warnings.warn(
                    f"The index {index} of {self.name} compares by {operator}, but the vectors differ in length, so it "
                    f"does not find the nearest by cosine: every search reads all rows. {self._advice()}",
                    stacklevel=2,
                )
                self._probes = None
                return
            if index is not None:
                self._by, self._to, self._operator = by, to, operator
                self.metric, self.index = OPERATORS[operator], index
                told = connection.execute("SELECT reloptions FROM pg_class WHERE relname = %s", (index,)).fetchone()
                lists = [int(option[6:]) for option in (told and told[0]) or () if option.startswith("lists=")]
                self._probes = max(PROBES, int(PROBED * lists[0])) if lists else None
                return
        self._probes = None
        warnings.warn(
            f"{self.name} has no index on {self._vector!r}, so every search reads all rows: it works, but slowly once "
            f"there are many. {self._advice()}",
            stacklevel=2,
        )

    def _even(self, connection: Any) -> bool:
        """Whether all vectors have one length, by some of them: then every operator ranks as cosine does."""
        query = self._asking("SELECT {id}::text, {send}({v}) FROM {table} WHERE {v} IS NOT NULL LIMIT %s")
        found = self._unpacked(self._run(connection, query, (LOOKED_AT,)).fetchall())
        return even(found.rows)

    def _advice(self) -> str:
        by, kind = self._shown_name(self._vector), self._base
        if self.dimension > INDEXED[kind]:
            if self.dimension > INDEXED["halfvec"]:
                return f"pgvector indexes up to {INDEXED['halfvec']} dimensions, these are {self.dimension}."
            by, kind = f"({by}::halfvec({self.dimension}))", "halfvec"
        table = "<the table behind it>" if self._kind in ("v", b"v") else self._table.as_string(None)
        return f"Its owner can run: CREATE INDEX ON {table} USING hnsw ({by} {kind}_{CLASSES['cosine']});"

    # reading

    def count(self) -> int:
        query = self._asking("SELECT count(*) FROM {table} WHERE {v} IS NOT NULL AND {id} IS NOT NULL")
        return int(self.retry(lambda: self._one(query)))

    def missing(self) -> int:
        query = self._asking("SELECT count(*) FROM {table} WHERE {v} IS NULL OR {id} IS NULL")
        return int(self.retry(lambda: self._one(query)))

    def _one(self, query: Any) -> Any:
        return self._answers((query, ()))[0][0][0]

    def _all(self, query: Any, values: Sequence[Any]) -> list[Any]:
        return self.retry(lambda: self._answers((query, values))[0])

    def nearest(
        self, queries: NDArray[np.float32], k: int, where: Any, center: NDArray[np.float64] | None, exact: bool
    ) -> list[Found]:
        condition, values = self._condition(where)
        # a condition without values is taken as it stands; where there are some, its percent signs count double already
        narrowed = self._sql.SQL("" if condition is None else f"AND ({condition})")
        parts = {"by": self._by, "op": self._sql.SQL(self._operator), "to": self._sql.SQL(self._to)}
        text = self._asking(
            "SELECT {id}::text, {send}({v}) FROM (SELECT {id}, {v} FROM {table} WHERE {v} IS NOT NULL AND "
            "{id} IS NOT NULL {where} ORDER BY {by} {op} %s::{to} LIMIT %s) AS near",
            where=self._sql.SQL("{where}"), **parts,
        )  # fmt: skip
        if not values:
            narrowed = self._sql.SQL(narrowed.as_string(None).replace("%", "%%"))
        text = self._sql.SQL(text.as_string(None)).format(where=narrowed)
        try:
            settings = (self._settings(k, exact), ())
            _, *found = self._answers(settings, *((text, (*values, as_text(query), k)) for query in queries))
        except (self._server.psycopg.ProgrammingError, self._server.psycopg.DataError,
                self._errors.InternalError) as error:  # fmt: skip
            reason = str(error).splitlines()[0].rstrip(".")
            if "different vector dimensions" in str(error):
                raise EngineError(
                    f"The column {self._vector!r} of {self.name} has vectors of different dimensions ({reason}): "
                    f"attach a view of those with vector_dims({self._vector}) = {self.dimension}."
                ) from error
            if where is None:
                raise EngineError(f"{self.place} cannot search {self.name}: {reason}.") from error
            raise ValueError(f"PostgreSQL cannot filter by {where!r}: {reason}.") from error
        return [self._unpacked(rows) for rows in found]

    def _condition(self, where: Any) -> tuple[str | None, list[Any]]:
        """A filter in SQL with the values to bind: as it came, or of the conditions that a collection takes."""
        told = conditions_in(where)
        if told is None:
            return condition_of(where, ', or conditions such as [("year", ">", 1999)]')
        return self._of_conditions(told)

    def _of_conditions(self, either: list[list[Sequence[Any]]]) -> tuple[str, list[Any]]:
        values: list[Any] = []
        parts = []
        for every in either:
            made = []
            for name, sign, value in every:
                column = self._id if name == "id" else self._parts.get(name)
                if column is None:
                    raise ValueError(f"There is no column {name!r}: {did_you_mean(str(name), ['id', *self.columns])}")
                if sign not in SIGNS:
                    raise ValueError(f"No operator {sign!r} is known: {did_you_mean(str(sign), SIGNS)}")
                made.append(SIGNS[sign].format(self._shown_name(column).replace("%", "%%")))
                values.append(list(value) if isinstance(value, (set, tuple)) else value)
            parts.append(" AND ".join(made))
        return "(" + ") OR (".join(parts) + ")", values

    def _settings(self, k: int, exact: bool) -> str:
        """What holds for this one transaction."""
        told = {"statement_timeout": str(1000 * self.timeout)}
        if exact:
            told |= {"enable_indexscan": "off"}
        elif self.index is not None:
            told |= {"hnsw.ef_search": str(min(EF, max(40, k)))}
            if self._iterative:
                told |= {"hnsw.iterative_scan": "strict_order"}
            if self._probes is not None:
                told |= {"ivfflat.probes": str(self._probes)}
                if self._iterative:
                    told |= {"ivfflat.iterative_scan": "relaxed_order"}
        return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in told.items())

    def _unpacked(self, rows: list[tuple[str, bytes]]) -> Found:
        """Keys and vectors as the server sends them."""
        wide = 4 + np.dtype(FORMS[self._base]).itemsize * self.dimension
        odd = next((row for row in rows if len(row[1]) != wide), None)
        if odd is not None:
            numbers = (len(odd[1]) - 4) // np.dtype(FORMS[self._base]).itemsize
            raise EngineError(
                f"The row {odd[0]!r} of {self.name} has a vector of {numbers} numbers where others have "
                f"{self.dimension}: attach a view of those with vector_dims({self._vector}) = {self.dimension}."
            )
        whole = np.frombuffer(b"".join([row[1] for row in rows]), dtype=np.uint8).reshape(len(rows), wide)
        vectors = np.ascontiguousarray(whole[:, 4:]).view(FORMS[self._base])
        return Found([row[0] for row in rows], vectors.astype(np.float32))

    def rows(self, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        query = self._asking(
            "SELECT {id}::text, {send}({v}) FROM {table} WHERE {id} = ANY(%s::text[]::{key_type}[]) AND {v} IS NOT NULL"
        )
        found = self._unpacked(self._all(query, (list(keys),)))
        return dict(zip(found.keys, found.rows))

    def items(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        query = self._asking(
            "SELECT {id}::text, {columns} FROM {table} WHERE {id} = ANY(%s::text[]::{key_type}[])",
            columns=self._columns(self.columns),
        )
        found = self._all(query, (list(keys),))
        return {key: dict(zip(self.columns, map(shown, values))) for key, _, *values in found}

    def _columns(self, columns: Sequence[str]) -> Any:
        parts = [self._sql.SQL("NULL")]
        for name in columns:
            column = self._parts[name]
            parts.append(self._sql.Identifier(column) + self._sql.SQL(self._cast[column]))
        return self._sql.SQL(", ").join(parts)

    def known(self, key: str) -> str | None:
        found = self._row_of(key, "NULL")
        return None if found is None else str(found[0])

    def look_up(self, key: str) -> tuple[str, NDArray[Any] | None] | None:
        found = self._row_of(key, "{send}({v})")
        if found is None:
            return None
        return str(found[0]), None if found[1] is None else self._unpacked([found]).rows[0]

    def _row_of(self, key: str, what: str) -> Any:
        where = " FROM {table} WHERE {id} = %s::text::{key_type} LIMIT 1"
        query = self._asking("SELECT {id}::text, " + what + where)
        try:
            return next(iter(self._all(query, (key,))), None)
        except self._server.psycopg.DataError:  # an id that cannot be one, such as a word where numbers are
            return None

    def leaving_out(self, column: str, value: Any) -> Any:
        name = self._id if column == "id" else self._parts[column]
        return f"{self._shown_name(name).replace('%', '%%')} IS DISTINCT FROM %s", [value]

    # long reads

    def pages(
        self,
        size: int,
        *,
        vectors: bool = True,
        columns: Sequence[str] | None = None,
        after: str | None = None,
        upto: str | None = None,
    ) -> Iterator[Page]:
        wanted = self.columns if columns is None else tuple(columns)
        done: list[str | None] = [after]
        open_reads: list[Iterator[Page]] = []

        def next_page() -> Page | None:
            if not open_reads:
                open_reads.append(self._streamed(size, vectors, wanted, done[0], upto))
            try:
                return next(open_reads[0], None)
            except BaseException:
                open_reads.clear()
                raise

        while True:
            page = self.retry(next_page, LONGER)
            if page is None:
                return
            done[0] = page.keys[-1]
            yield page

    def _streamed(
        self, size: int, vectors: bool, columns: Sequence[str], after: str | None, upto: str | None
    ) -> Iterator[Page]:
        """Rows of one cursor of the server, in the order of their ids, so that another can go on after any of them."""
        bounds, values = "", []
        for key, sign in ((after, ">"), (upto, "<=")):
            if key is not None:
                bounds += f" AND {{id}} {sign} %s::text::{{key_type}}"
                values.append(key)
        query = self._asking(
            "SELECT {id}::text AS pellucid_key, {vector}, {columns} FROM {table} "  # not id, which ORDER BY would mean
            "WHERE {v} IS NOT NULL AND {id} IS NOT NULL" + bounds + " ORDER BY {id}",
            vector=self._sql.SQL(f"{self._base}_send({self._shown_name(self._vector)})" if vectors else "NULL"),
            columns=self._columns(columns),
        )
        connection = self._server.connect()
        try:
            with connection.transaction(), connection.cursor(name="pellucid") as cursor:
                cursor.execute(query, values, binary=True)
                while rows := cursor.fetchmany(size):
                    yield self._page(rows, vectors, columns)
        except self._errors.InsufficientPrivilege as error:
            raise EngineError(self._no_privilege(error)) from error
        finally:
            connection.close()

    def _page(self, rows: list[Any], vectors: bool, columns: Sequence[str]) -> Page:
        keys = [row[0] for row in rows]
        numbers = self._unpacked([(row[0], row[1]) for row in rows]).rows if vectors else None
        return Page(keys, numbers, [dict(zip(columns, map(shown, row[3:]))) for row in rows])

    def sample(self, rows: int) -> NDArray[Any]:
        share = min(1.0, rows / max(1, self.count()))
        query = self._asking(
            "SELECT {id}::text AS pellucid_key, {send}({v}) FROM {table} WHERE {v} IS NOT NULL AND {id} IS NOT NULL "
            f"AND (hashtextextended({{id}}::text, 0) & {HASHED - 1}) < %s ORDER BY {{id}}"
        )
        return self._unpacked(self._all(query, (int(share * HASHED),))).rows


def conditions_in(where: Any) -> list[list[Any]] | None:
    """Lists of conditions, of which all of one must hold; None if a filter is something else."""
    if isinstance(where, str):
        if not where.lstrip().startswith("["):
            return None
        try:
            where = json.loads(where)
        except ValueError:
            return None
    if not isinstance(where, list) or not where or not all(isinstance(one, (list, tuple)) for one in where):
        return None
    nested = [list(one) for one in where] if isinstance(where[0], list) and not _is_condition(where[0]) else [where]
    return nested if all(every and all(map(_is_condition, every)) for every in nested) else None


def _is_condition(told: Any) -> bool:
    return isinstance(told, (list, tuple)) and len(told) == 3 and all(isinstance(part, str) for part in told[:2])


def as_text(query: NDArray[np.float32]) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(map(repr, query.tolist())) + "]"


def cast_of(kind: str) -> str:
    """What is written behind a column so that its values come in a form that is known."""
    plain = re.sub(r"\([^)]*\)", "", kind).strip()
    many = plain.endswith("[]")
    base = plain.removesuffix("[]")
    if base in PLAIN or base == "character":
        return ""
    return "::text[]" if many else "::text"


def index_in(plan: Any) -> str | None:
    """The index by which a plan walks in order, if it does."""
    if isinstance(plan, list):
        return next((found for part in plan if (found := index_in(part)) is not None), None)
    if not isinstance(plan, dict):
        return None
    if "Index Name" in plan and "Order By" in plan:
        return str(plan["Index Name"])
    return index_in([part for key, part in plan.items() if key in ("Plan", "Plans")])


def shown(value: Any) -> Any:
    """A value of a column in plain terms."""
    if value is None or isinstance(value, (str, int, float, bool, bytes, list, dict)):
        return value
    if isinstance(value, memoryview):
        return value.tobytes()
    if type(value).__name__ == "Decimal":
        return float(value)
    return value if hasattr(value, "isoformat") else str(value)


def dsn_of(client: Any) -> str:
    """Where a connection or a pool of them leads: rows are read over connections of our own, so that nothing of the
    client's transactions is touched."""
    if hasattr(client, "conninfo"):
        return str(client.conninfo)
    info = client.info
    told = {**info.get_parameters(), **({"password": info.password} if info.password else {})}
    from psycopg.conninfo import make_conninfo

    return str(make_conninfo(**told))
