"""What the engines share that walk a graph on a server or, without an address, in the collection's own folder."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from pellucid._core.addresses import without_password as without_password
from pellucid.search.engines import check_counts, check_kind
from pellucid.search.engines.database import DatabaseEngine

TOKEN = "PELLUCID_ENGINE_TOKEN"


class GraphEngine(DatabaseEngine):
    """An engine with a graph of neighbours: it keeps the options, and what is secret out of the collection.

    Parameters
    ----------
    dsn : str, default=None
        Address of the server; in the collection's own folder if None.
    table : str, default=None
        Where the rows are on the server; a name made from the first rows if None.
    kind : {"hnsw", "flat"}, default="hnsw"
        A graph of neighbours is walked, or all rows are looked at.
    links : int, default=16
        Neighbours of a row in the graph.
    ef_construction : int, default=64
        How many rows are looked at to find them.
    ef_search : int, default=80
        How many rows a walk keeps in view.
    timeout : int, default=30
        Seconds to wait for an answer.
    token : str, default=None
        What the server knows you by; not kept with the collection (set PELLUCID_ENGINE_TOKEN).
    """

    def __init__(
        self,
        dsn: str | None = None,
        table: str | None = None,
        kind: str = "hnsw",
        *,
        links: int = 16,
        ef_construction: int = 64,
        ef_search: int = 80,
        timeout: int = 30,
        token: str | None = None,
    ) -> None:
        super().__init__(table)
        check_kind(kind, ("flat", "hnsw"))
        check_counts(links=links, ef_construction=ef_construction, ef_search=ef_search, timeout=timeout)
        self.dsn, self.kind, self.links, self.ef_construction = dsn, kind, links, ef_construction
        self.ef_search, self.timeout, self._token = ef_search, timeout, token or os.environ.get(TOKEN, "")
        self._client: Any = None
        self._set_up()

    @abstractmethod
    def _set_up(self) -> None:
        """Import what is needed, and say how the place is called."""

    @classmethod
    def storable_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in options.items() if name != "token"}
        return {**kept, "dsn": without_password(kept["dsn"])} if kept.get("dsn") else kept

    @property
    def index_spec(self) -> str:
        return "flat" if self.kind == "flat" else f"hnsw-{self.links}-{self.ef_construction}"

    def _forget(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
