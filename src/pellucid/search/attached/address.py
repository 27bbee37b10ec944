"""What a table is attached by: an address, a client, a file, or something that speaks Arrow."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pellucid._core.addresses import is_address, without_password
from pellucid._core.extras import require
from pellucid.search.attached.collection import AttachedCollection
from pellucid.search.attached.source import Asked, Source
from pellucid.search.engines import EngineError
from pellucid.search.engines.graph import TOKEN

SCHEMES = {
    "postgresql": "postgres", "postgres": "postgres", "qdrant": "qdrant", "milvus": "milvus", "lance": "lance",
    "lancedb": "lance", "s3": "lance", "gs": "lance", "az": "lance",
}  # fmt: skip
LANCE = ".lance"
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
    if home == "qdrant_client":
        from pellucid.search.attached.qdrant import QdrantSource

        return QdrantSource(given, "qdrant", asked, timeout)
    if home == "pymilvus":
        from pellucid.search.attached.milvus import MilvusSource

        return MilvusSource(given, "milvus", asked, timeout)
    if home == "lancedb":
        from pellucid.search.attached.lance import LanceSource, open_table

        if hasattr(given, "open_table"):
            return LanceSource(open_table(given, asked.table, "the database"), "the database", asked)
        return LanceSource(given, "the database", asked)
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
    if engine == "qdrant":
        return _qdrant(address, asked, timeout, token or os.environ.get(TOKEN) or None)
    if engine == "milvus":
        return _milvus(address, asked, timeout, token or os.environ.get(TOKEN, ""))
    if engine == "lance":
        return _lance(address, asked)
    from pellucid.search.attached.memory import MemorySource, read_table

    path = Path(address)
    return MemorySource(read_table(path), asked, asked.table or path.name, str(path))


def _qdrant(address: str, asked: Asked, timeout: int, token: str | None) -> Source:
    from pellucid.search.attached.qdrant import QdrantSource

    client = require("qdrant_client", "qdrant").QdrantClient
    if is_address(address):
        url = re.sub(r"^qdrant(\+https?)?://", lambda found: f"{(found[1] or '+http')[1:]}://", address)
        return QdrantSource(client(url=url, api_key=token, timeout=timeout, check_compatibility=False), url, asked,
                            timeout)  # fmt: skip
    return QdrantSource(client(path=address), address, asked, timeout)


def _milvus(address: str, asked: Asked, timeout: int, token: str) -> Source:
    from pellucid.search.attached.milvus import MilvusSource

    milvus = require("pymilvus", "milvus")
    url = re.sub(r"^milvus(\+https?)?://", lambda found: f"{(found[1] or '+http')[1:]}://", address)
    try:
        client = milvus.MilvusClient(url, token=token, timeout=timeout)
    except milvus.MilvusException as error:
        raise EngineError(
            f"The Milvus server at {without_password(url)} does not answer ({str(error.message).splitlines()[0]}): "
            "check that it runs and can be reached, then try again; nothing was lost."
        ) from error
    return MilvusSource(client, url, asked, timeout)


def _lance(address: str, asked: Asked) -> Source:
    from pellucid.search.attached.lance import LanceSource, connect, open_table

    place = re.sub(r"^lance(db)?://", "", address).rstrip("/")
    if place.endswith(LANCE):  # a table in the folder of its database
        folder, _, name = place.rpartition("/")
        return LanceSource(open_table(connect(folder or "."), name.removesuffix(LANCE), folder or "."), place, asked)
    return LanceSource(open_table(connect(place), asked.table, place), place, asked)


def engine_at(address: str) -> str:
    """What is at an address, by the way it is written or by what is in the folder."""
    if is_address(address):
        told = urlsplit(address)
        scheme = told.scheme.lower().partition("+")[0]
        if scheme in SCHEMES:
            return SCHEMES[scheme]
        if scheme in HTTP and told.port in PORTS:
            return PORTS[told.port]
        raise ValueError(
            f"It cannot be told what is at {without_password(address)}: write postgresql://…, qdrant://…, milvus://… "
            "or lance://…, or name the engine."
        )
    path = Path(address)
    if address.endswith(".db"):
        return "milvus"
    if path.is_dir() and (address.rstrip("/").endswith(LANCE) or any(path.glob(f"*{LANCE}"))):
        return "lance"
    return "qdrant" if (path / "meta.json").is_file() and (path / "collection").is_dir() else "arrow"
