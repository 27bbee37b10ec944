"""A server for agents (Model Context Protocol): ``pip install "pellucid[mcp]"``, ``pellucid mcp COLLECTION --model M``.

Every tool is a line or two over the library, reads only, and has the limits of the explorer.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import numpy as np

from pellucid import __version__
from pellucid._core import deadline
from pellucid._core.extras import require
from pellucid.integrations.retrieval import Retrieval, parts_of
from pellucid.search import Collection, ConceptSearch, Text

require("mcp", "mcp")

from mcp.server import MCPServer  # noqa: E402
from mcp.server.mcpserver.exceptions import ToolError  # noqa: E402
from mcp.server.transport_security import TransportSecuritySettings  # noqa: E402
from mcp.types import ToolAnnotations  # noqa: E402
from pydantic import BaseModel, Field  # noqa: E402

__all__ = ["create_server", "http_app"]

# what one call may ask for: results, items that are explained, traced or compared, letters of a text, seconds
MOST_HITS, MOST_EXPLAINED, MOST_TRACED, MOST_COMPARED = 1000, 64, 8, 1000
LONGEST, SECONDS, BODY = 10_000, 30.0, 1 << 20
# letters of an item's column that are shown: a model's context is dear
SHOWN = 2_000
LOCAL = ("127.0.0.1", "localhost", "[::1]")

Query = Annotated[str, Field(max_length=LONGEST, description="The id of an item to start from, or a text (see kind).")]
Kind = Annotated[
    Literal["auto", "item", "text"],
    Field(description='What query is: "auto" takes it for an item if there is one of that id, else for a text.'),
]
Concept = Annotated[
    str | list[str] | dict[str, float] | None,
    Field(description="Look for this concept of the query, or several; an object gives weights, negative to keep out."),
]
Without = Annotated[str | list[str] | None, Field(description="Concepts that results are not to have.")]
Score = Annotated[
    Literal["presence", "projection"] | None,
    Field(description='"presence" also asks how likely an item has the concepts, and is taken if the model knows.'),
]
Where = Annotated[
    list[list[Any]] | dict[str, Any] | str | None,
    Field(description='A filter on columns, in the engine\'s language: [["year", ">", 1999], ["labels", "has", "x"]].'),
]
Ids = Annotated[list[str], Field(min_length=1, max_length=MOST_COMPARED, description="Ids of items.")]


class Found(BaseModel):
    """An item that was found."""

    id: str
    rank: int
    score: float
    text: str
    columns: dict[str, Any] = Field(description="What else belongs to the item.")
    parts: dict[str, float] = Field(description="How much of the item each concept is, the largest first.")
    explanation: dict[str, Any] | None = Field(description="Which concepts make up the score; null if not asked for.")


class SearchResult(BaseModel):
    """What a search found."""

    hits: list[Found]
    notes: list[str] = Field(description="What to know before the hits are trusted; empty if there is nothing.")


class ExplanationResult(BaseModel):
    """Why an item scores as it does: score = Σ terms + residual + presence."""

    id: str
    score: float
    terms: dict[str, float] = Field(description="What each concept adds.")
    residual: float = Field(description="What no concept accounts for.")
    presence: float = Field(description="What the chance that the item has what was asked for adds.")


class PartsResult(BaseModel):
    """What an item is made of."""

    id: str
    text: str
    columns: dict[str, Any]
    parts: dict[str, float] = Field(description="How much of the item each concept is, the largest first.")
    explained: float = Field(description="How much of it all concepts together account for.")
    presence: dict[str, float] | None = Field(
        description="How likely it has each concept; null if the model does not know."
    )


class ConceptInfo(BaseModel):
    """A concept of the model."""

    name: str
    n_atoms: int
    labelled: int | None = Field(description="Items that have it for a label; null where items have no labels.")


class ConceptList(BaseModel):
    """What the collection holds, and the concepts that can be asked for."""

    items: int
    dimension: int
    columns: list[str]
    searches_text: bool = Field(description="Whether queries may be texts.")
    concepts: list[ConceptInfo]


class Difference(BaseModel):
    """A concept in two sets."""

    concept: str
    share_a: float
    share_b: float
    difference: float
    low: float = Field(description="The interval in which the difference lies, with 95 %: from here ...")
    high: float = Field(description="... to here.")
    found: bool = Field(description="Whether it is a finding, at a false-discovery rate of 5 %.")


class CompareResult(BaseModel):
    """How two sets of items differ, the largest differences first."""

    differences: list[Difference]
    summary: str


class Tools:
    """The tools, on one search; they take turns, as a session asks for one thing after the other."""

    def __init__(self, search: ConceptSearch) -> None:
        self.search_, self._turn = search, threading.Lock()

    def search(
        self,
        query: Query,
        kind: Kind = "auto",
        concept: Concept = None,
        without: Without = None,
        k: Annotated[int, Field(ge=1, le=MOST_HITS, description="Most results.")] = 10,
        diverse: Annotated[bool, Field(description="Choose results that differ from each other.")] = False,
        where: Where = None,
        score: Score = None,
        explain: Annotated[bool, Field(description="Say which concepts make up each score.")] = False,
    ) -> SearchResult:
        """Find the items nearest to an item or a text: as a whole, by one concept of it ("like this, but only its
        animal"), or without a concept ("like this, but no person"). Ask `concepts` first for their names."""
        self._need_model(concept, without, score, explain or None)
        most = MOST_EXPLAINED if explain else MOST_HITS
        if k > most:
            raise ValueError(f"At most {most} results are explained at a time: ask for fewer, or without explanations.")
        retrieval = Retrieval(self.search_, concept, without, k, diverse, self._filter(where), score, explain)
        found = []
        asked = self._query(query, kind)
        for one in retrieval.documents(asked):
            deadline.check()
            columns = dict(one.metadata)
            parts, why = columns.pop("parts", {}), columns.pop("explanation", None)
            found.append(
                Found(
                    id=one.id, rank=columns.pop("rank"), score=columns.pop("score"), text=cut(one.text), parts=parts,
                    columns=shown(columns), explanation=why,
                )
            )  # fmt: skip
        return SearchResult(hits=found, notes=self.search_.notes(asked, concept, score=score))

    def explain(
        self,
        query: Query,
        id: Annotated[str, Field(description="The item whose score is to be explained.")],
        kind: Kind = "auto",
        concept: Concept = None,
        without: Without = None,
        score: Score = None,
    ) -> ExplanationResult:
        """Say why a search gives an item its score: what each concept adds or takes away. Give the search as it was."""
        self._need_model("explain")
        self._position(id)
        why = self.search_.explain(self._query(query, kind), id, concept=concept, without=without, score=score)
        told = why.to_dict()
        return ExplanationResult(id=id, **{name: told[name] for name in ("score", "terms", "residual", "presence")})

    def parts(self, id: Annotated[str, Field(description="The item.")]) -> PartsResult:
        """Say what one item is made of: how much of it each concept is, and how likely it has each."""
        self._need_model("parts")
        stored = self.search_.stored
        row = np.asarray(self.search_.collection.vectors([self._position(id)]), dtype=np.float64)
        shares = stored.shares(row)[0]
        names = [str(name) for name in stored.concept_names_]
        likely = None
        if stored.knows_presence:
            likely = {name: round(float(p), 4) for name, p in zip(names, stored.predict_proba(row)[0])}
        one = Retrieval(self.search_, explain=False).document(self._hit(id))
        columns = {name: value for name, value in one.metadata.items() if name not in ("rank", "score")}
        return PartsResult(
            id=id, text=cut(one.text), columns=shown(columns), parts=parts_of(names, shares),
            explained=float(shares.sum()), presence=likely,
        )  # fmt: skip

    def concepts(self) -> ConceptList:
        """List the concepts that can be asked for, and what the collection holds."""
        collection, stored = self.search_.collection, self.search_.stored
        columns = [name for name in collection.item(self._first()) if name != "id"] if len(collection) else []
        counts = self._labels
        known = []
        if stored is not None:
            for j, name in enumerate(stored.concept_names_):
                n_atoms = int(np.count_nonzero(stored.groups_ == j))
                known.append(ConceptInfo(name=str(name), n_atoms=n_atoms, labelled=counts.get(str(name))))
        return ConceptList(
            items=len(collection), dimension=collection.dimension, columns=columns, concepts=known,
            searches_text=self.search_.encoder is not None,
        )  # fmt: skip

    def trace(
        self,
        query: Query,
        expected: Annotated[
            list[str], Field(min_length=1, max_length=MOST_TRACED, description="Items that should have been found.")
        ],
        kind: Kind = "auto",
        concept: Concept = None,
        without: Without = None,
        k: Annotated[int, Field(ge=1, le=MOST_HITS, description="As in the search.")] = 10,
        diverse: bool = False,
        where: Where = None,
        score: Score = None,
    ) -> dict[str, Any]:
        """Say why a search found items or not: their rank, what displaced them, and the smallest change of the search
        that would bring each in. Give the search as it was."""
        self._need_model(concept, without, score)
        asked: dict[str, Any] = {"concept": concept, "without": without, "score": score, "where": self._filter(where)}
        found = self.search_.trace(self._query(query, kind), expected, k=k, diverse=diverse, **asked)
        return {**found.to_dict(), "summary": str(found)}

    def compare(self, a: Ids, b: Ids) -> CompareResult:
        """Say how two sets of items differ: which concepts are more frequent in the first, and whether that is more
        than chance. Sets of some dozens of items at least."""
        self._need_model("compare")
        from pellucid.concepts import compare

        stored, collection = self.search_.stored, self.search_.collection
        rows = [collection.vectors([self._position(id) for id in ids]).astype(np.float64) for ids in (a, b)]
        found: Any = compare(*rows, model=stored)
        differences = [
            Difference(
                concept=str(name), share_a=float(p), share_b=float(q), difference=float(d), low=float(low),
                high=float(high), found=bool(yes),
            )
            for name, p, q, d, low, high, yes in zip(
                found.concepts, found.share_a, found.share_b, found.difference, found.low, found.high, found.found
            )
        ]  # fmt: skip
        return CompareResult(differences=differences, summary=str(found))

    # what they share

    def _query(self, query: str, kind: str) -> str:
        if kind == "text":
            return Text(query)
        if kind == "item":
            self._position(query)
        return query

    def _position(self, id: str) -> int:
        return self.search_.collection.position(id)

    def _hit(self, id: str) -> Any:
        from functools import partial

        from pellucid.search import Hit

        position = self._position(id)
        return Hit(1, 1.0, position, partial(self.search_.collection.item, position))

    def _first(self) -> int:
        return self._position(next(iter(self.search_.collection.id_pages(1)))[0])

    def _need_model(self, *wants: Any) -> None:
        if any(want is not None for want in wants) and self.search_.stored is None:
            raise ValueError("There is no model: start the server with --model to ask for concepts.")

    def _filter(self, where: Any) -> Any:
        if where is not None and not isinstance(where, list) and self.search_.collection.engine_name == "postgres":
            # a condition in SQL can read whatever the server's owner may
            raise ValueError('Conditions in SQL are not taken from agents: filter by [["year", ">", 1999]].')
        if isinstance(where, list):
            if any(len(condition) != 3 for condition in where):
                raise ValueError('Each condition of where has three parts: ["year", ">", 1999].')
            return [tuple(condition) for condition in where]
        return where

    @property
    def _labels(self) -> dict[str, int]:
        if not hasattr(self, "_counted"):
            here = self.search_.collection
            found = here.summary().labels if isinstance(here, Collection) else {}  # a table may be large
            self._counted = {name: count for column in found.values() for name, count in column.items()}
        return self._counted


def create_server(search: ConceptSearch, *, seconds: float = SECONDS) -> MCPServer:
    """Make the server.

    Parameters
    ----------
    search : ConceptSearch
        What agents may search, with an encoder if by text.
    seconds : float, default=30.0
        Until a call is given up.

    Returns
    -------
    mcp.server.MCPServer
        The server: ``run("stdio")``, or :func:`http_app` for an ASGI server.
    """
    tools = Tools(search)
    server: MCPServer = MCPServer(
        "pellucid", title="Pellucid", version=__version__, log_level="WARNING",
        instructions="Search a collection by concept: call concepts for the names, search, then explain or trace what "
        "was found or missed. A score is a sum over concepts.",
    )  # fmt: skip
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for name in ("search", "explain", "parts", "concepts", "trace", "compare"):
        server.tool(name=name, annotations=reads)(_limited(getattr(tools, name), tools._turn, seconds))

    kind = "application/json"

    @server.resource("pellucid://concepts", mime_type=kind, description="The concepts, and what there is.")
    def concepts() -> str:
        return tools.concepts().model_dump_json(indent=1)

    @server.resource("pellucid://concepts/{name}", mime_type=kind, description="Items that have a concept most.")
    def concept(name: str) -> str:
        return json.dumps(most_of(search, name), ensure_ascii=False, indent=1)

    return server


def most_of(search: ConceptSearch, name: str, k: int = 10) -> dict[str, Any]:
    """A concept, and the items nearest to the middle of its cone."""
    if search.stored is None:
        raise ValueError("There is no model: start the server with --model to ask for concepts.")
    stored = search.stored
    j = stored.cones.index(name)
    middle = stored.atoms_[stored.groups_ == j].mean(axis=0, keepdims=True)
    hits = search.near(middle, k)[0]
    retrieval = Retrieval(search, explain=False)
    items = [retrieval.document(hit) for hit in hits]
    return {"name": name, "items": [{"id": one.id, "score": one.score, "text": cut(one.text)} for one in items]}


def http_app(server: MCPServer, host: str = "127.0.0.1", port: int = 0) -> Any:
    """Make an ASGI application that speaks streamable HTTP under ``/mcp``, to this machine alone.

    Parameters
    ----------
    server : MCPServer
        Of :func:`create_server`.
    host : str, default="127.0.0.1"
        Address that it is served on; one of this machine's own.
    port : int, default=0
        Port that it is served on; 0 for any.

    Returns
    -------
    starlette.applications.Starlette
        It answers requests that name this machine as host, and as origin if they have one.
    """
    at = [f"{name}:{port or '*'}" for name in LOCAL]
    checks = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=at, allowed_origins=[f"http://{name}" for name in at]
    )
    return server.streamable_http_app(
        json_response=True, stateless_http=True, max_request_body_size=BODY, transport_security=checks, host=host
    )


def _limited(tool: Callable[..., Any], turn: Any, seconds: float) -> Callable[..., Any]:
    """A tool that takes its turn, is given up in time, and fails with a sentence."""

    @wraps(tool)
    def call(*given: Any, **asked: Any) -> Any:
        if not turn.acquire(timeout=seconds):
            raise ToolError("The server is busy with another call: try again.")
        try:
            with deadline.Deadline(seconds).held(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # stdout is the protocol's, and agents have no use for them
                return tool(*given, **asked)
        except deadline.Expired as error:
            raise ToolError(f"It took more than {seconds:g} seconds and was given up: ask for less.") from error
        except (ValueError, KeyError, TypeError, RuntimeError, OSError) as error:
            said = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise ToolError(" ".join(str(said).split())) from error
        finally:
            turn.release()

    return call


def cut(text: str) -> str:
    """A text, not longer than is shown."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def shown(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns but the id, without what is too long."""
    return {name: cut(v) if isinstance(v, str) else v for name, v in columns.items() if name != "id"}
