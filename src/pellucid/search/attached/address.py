"""What a table is attached by: an address, a client, a file, or something that speaks Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pellucid._core.addresses import is_address
from pellucid.search.attached.collection import AttachedCollection
from pellucid.search.attached.source import Asked, Source

POSTGRES = ("postgresql", "postgres")
# ports at which servers with an address in HTTP usually listen
PORTS = {6333: "qdrant", 6334: "qdrant", 19530: "milvus"}
HTTP = ("http", "https")
ENGINES = ("postgres", "qdrant", "milvus", "lance", "arrow")


def attach(
    url_or_client: Any,
    table: str | None = None,
    *,
    vector: str = "embedding",
    id: str = "id",
    text: str | None = None,
    columns: Sequence[str] | None = None,
    engine: str | None = None,
    timeout: int = 30,
    token: str | None = None,
) -> AttachedCollection:
    """Attach a table of vectors that somebody else made, to search it where it is; nothing is ever written to it.

    Parameters
    ----------
    url_or_client : str, path, client, data frame or table
        Where the table is: ``postgresql://…``, ``qdrant://host:6333``, ``milvus://host:19530``, the folder of a LanceDB
        database or of a Lance table, a file of Parquet or Arrow; a client of psycopg, Qdrant, Milvus or LanceDB; or
        whatever speaks Arrow (pandas, polars, DuckDB, pyarrow).
    table : str, default=None
        The table, view or collection: with its schema before a dot if it has one, in quotes if you like.
    vector : str, default="embedding"
        The column or the named vector with the vectors.
    id : str, default="id"
        The column with the ids, of any type; of Qdrant also the points' own ids.
    text : str, default=None
        The column with the texts; None takes one that is called text or body.
    columns : list of str, default=None
        What else belongs to an item; None takes all other columns but vectors and bytes.
    engine : {"postgres", "qdrant", "milvus", "lance", "arrow"}, default=None
        What is there, where the address does not tell.
    timeout : int, default=30
        Seconds to wait for a server.
    token : str, default=None
        What a server knows you by; None takes the variable PELLUCID_ENGINE_TOKEN.

    Returns
    -------
    AttachedCollection
        The table, to be searched and read.

    Raises
    ------
    ValueError
        If it cannot be told what is there.
    CollectionError
        If there is no such table or column.
    EngineError
        If a server does not answer, or does not let you read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pellucid.search import ConceptSearch, attach
    >>> table = pa.table({"key": [7, 8], "emb": [[1.0, 0.0], [0.0, 1.0]], "body": ["one", "two"]})
    >>> collection = attach(table, id="key", vector="emb")
    >>> [hit.id for hit in ConceptSearch(collection).search([0, 1], k=1)]
    ['8']
    """
    if columns is not None and isinstance(columns, str):
        raise TypeError(f"columns takes a list of names, got {columns!r}: put a single one into a list.")
    asked = Asked(table, vector, id, text, None if columns is None else tuple(columns))
    return AttachedCollection(source_of(url_or_client, asked, engine, timeout, token))


def source_of(given: Any, asked: Asked, engine: str | None, timeout: int, token: str | None) -> Source:
    """What reads the table."""
    if engine is not None and engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {engine!r}.")
    if isinstance(given, (str, Path)):
        return _by_address(str(given), asked, engine, timeout, token)
    home = type(given).__module__.partition(".")[0]
    if home in ("psycopg", "psycopg_pool"):
        from pellucid.search.attached.postgres import PostgresSource, dsn_of

        return PostgresSource(dsn_of(given), asked, timeout)
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__") or home == "pandas":
        from pellucid.search.attached.memory import MemorySource, as_table

        return MemorySource(as_table(given), asked, asked.table or type(given).__name__, "memory")
    raise TypeError(
        f"{type(given).__name__} cannot be attached: give an address such as postgresql://host/database, a client of "
        "psycopg, Qdrant, Milvus or LanceDB, or a data frame or table that speaks Arrow."
    )


def _by_address(address: str, asked: Asked, engine: str | None, timeout: int, token: str | None) -> Source:
    engine = engine or engine_at(address)
    if engine == "postgres":
        from pellucid.search.attached.postgres import PostgresSource

        return PostgresSource(address, asked, timeout)
    from pellucid.search.attached.memory import MemorySource, read_table

    path = Path(address)
    return MemorySource(read_table(path), asked, asked.table or path.name, str(path))


def engine_at(address: str) -> str:
    """What is at an address, by the way it is written or by what is in the folder."""
    scheme = urlsplit(address).scheme.lower() if is_address(address) else ""
    if scheme in POSTGRES:
        return "postgres"
    return "arrow"
