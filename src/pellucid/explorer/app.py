"""The HTTP service: routes in the words of the Python API, each a line or two over what `State` answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from pellucid import __version__
from pellucid._core.deadline import Expired
from pellucid.explorer import schemas as s
from pellucid.explorer.background import NotReady
from pellucid.explorer.limits import Limits
from pellucid.explorer.middleware import Guard
from pellucid.explorer.state import Conflict, State
from pellucid.explorer.turns import Busy

PAGE = Path(__file__).parent / "page"
VIEWS = ("/", "/map", "/item", "/concepts", "/structure")
MOST_DRAWN = 48  # items in an analogram: more cannot be read, nor assigned while somebody waits
MOST_TRACED = 16  # items at a time: each is searched for again, several times
LOG = logging.getLogger("pellucid.explorer")
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": s.Problem, "description": text}
    for status, text in {
        400: "The request is not understood.",
        404: "There is no such item.",
        408: "It took too long and was given up.",
        409: "It is still being computed, or somebody else changed it.",
        422: "The request asks for something that cannot be, or for too much.",
        429: "Too many ask for such things at once.",
    }.items()
}
STATUSES = {NotReady: 409, Conflict: 409, KeyError: 404, ValueError: 422, Expired: 408, Busy: 429}
BINARY: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}, **PROBLEMS}
Layout = Literal["pca", "neighbours"]


class Octets(Response):
    """Numbers as they lie in memory, little-endian, one after the other."""

    media_type = "application/octet-stream"


def build(state: State, *, token: str | None, hosts: Sequence[str] | None, limits: Limits) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state.background.start()
        yield
        state.background.stop()

    app = FastAPI(
        title="Pellucid explorer",
        version=__version__,
        description="Search a collection by concept, and see what its items are made of.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # both would load scripts from elsewhere
        redoc_url=None,
        telemetry={
            "auto_configure": False
        },  # nothing is sent anywhere, whatever the environment asks of other services
    )
    app.state.pellucid = state
    _add_reading(app, state, limits)
    _add_searching(app, state, limits)
    _add_concepts(app, state, limits)
    _add_structure(app, state)
    _add_page(app)
    _add_errors(app)
    app.add_middleware(Guard, hosts=hosts, token=token, limits=limits)
    return app


def _add_reading(app: FastAPI, state: State, limits: Limits) -> None:
    @app.get("/api/collection", response_model=s.CollectionInfo)
    def collection() -> Any:
        """What is in the collection, and which concepts the model has."""
        return state.info()

    @app.get("/api/status", response_model=s.Status)
    def status() -> Any:
        """How far the things are that are made in the background."""
        return {"progress": state.background.progress, "failed": state.background.failed}

    @app.get("/api/map", response_class=Octets, responses=BINARY)
    def layout(layout: Layout = "pca") -> Octets:
        """Places of all items on the map: float32 x, y per row, each from -1 to 1."""
        return Octets(_little(state.background.get(layout)))

    @app.get("/api/shares", response_class=Octets, responses=BINARY)
    def shares(concept: s.Name) -> Octets:
        """How much of each item is this concept: float32 per row of the map."""
        model = state._need_model()
        return Octets(_little(state.background.get("shares")[model.cones.index(concept)]))

    @app.get("/api/strongest", response_class=Octets, responses=BINARY)
    def strongest() -> Octets:
        """Which concept is the largest part of each item: uint16 per row, its place in the list of concepts."""
        return Octets(_little(state.strongest()))

    @app.get("/api/labels", response_class=Octets, responses=BINARY)
    def labels(column: s.Name, value: s.Name | None = None) -> Octets:
        """Which label each item has: uint16 per row, its place among the column's values (65535 for none); with a
        value, 1 for the items that have it and 0 for the others."""
        return Octets(_little(state.items.labels(column, value)))

    @app.get("/api/names", response_model=s.MapNames, responses=PROBLEMS)
    def names(layout: Layout = "pca") -> Any:
        """What lies thickest where on the map: concepts or clusters from afar, words of the items from near."""
        return {"names": state.names(layout)}

    @app.get("/api/matches", response_class=Octets, responses=BINARY)
    def matches(find: Annotated[str, Query(min_length=1, max_length=200)]) -> Octets:
        """Which items hold that in their id or text: uint16 per row, 1 or 0."""
        return Octets(_little(state.matching(find)))

    @app.get("/api/items", response_model=s.Found, responses=PROBLEMS)
    def items(
        row: Annotated[list[int] | None, Query(description="Rows of the map.")] = None,
        find: Annotated[str | None, Query(max_length=200, description="Part of an id or of the text.")] = None,
        start: Annotated[int, Query(ge=0, le=2**53)] = 0,
        k: Annotated[int, Query(ge=1)] = 20,
    ) -> Any:
        """Items by their rows, by what their id or text holds, or k of them from a row on."""
        count = len(state.items)
        if k > limits.k:
            raise ValueError(f"k is at most {limits.k}.")
        if row is not None:
            wrong = next((r for r in row if not 0 <= r < count), None)
            if wrong is not None or len(row) > limits.k:
                raise ValueError(f"Rows go from 0 to {count - 1}, and at most {limits.k} at a time.")
            rows = row
        elif find is not None:
            rows, total = state.find(find, k)
            return {"items": [state.items.show(r) for r in rows], "total": total}
        else:
            rows = list(range(min(start, count), min(start + k, count)))
        return {"items": [state.items.show(r) for r in rows], "total": None}

    @app.get("/api/item", response_model=s.Item, responses=PROBLEMS)
    def item(id: s.Id) -> Any:
        """One item with all its columns."""
        return state.items.show(state.items.row(id), whole=True)

    @app.get("/api/thumbnail", response_class=Response, responses={200: {"content": {"image/*": {}}}, **PROBLEMS})
    def thumbnail(id: s.Id) -> Response:
        """The picture of an item."""
        data, kind = state.items.thumbnail(id)
        return Response(data, media_type=kind)

    @app.post("/api/selection", response_model=s.Selection, responses=PROBLEMS)
    def selection(asked: s.SelectionRequest) -> Any:
        """The items within a polygon on the map."""
        if asked.k > limits.k:
            raise ValueError(f"k is at most {limits.k}.")
        return state.select(asked.layout, asked.polygon, asked.k)


def _add_searching(app: FastAPI, state: State, limits: Limits) -> None:
    @app.get("/api/parts", response_model=s.Parts, responses=PROBLEMS)
    def parts(id: s.Id) -> Any:
        """How much of an item each concept is."""
        return state.parts(id)

    @app.post("/api/search", response_model=s.Hits, responses=PROBLEMS)
    def search(asked: s.SearchRequest) -> Any:
        """The k items nearest to x, or to a text, as seen through a concept, or several together; all of it if none is
        named."""
        if asked.k > limits.k:
            raise ValueError(f"k is at most {limits.k}.")
        x = state.query(asked.x, asked.text)
        if not isinstance(x, str) and isinstance(x[0], list) and len(x) > limits.batch:
            raise ValueError(f"A batch has at most {limits.batch} vectors.")
        state.check_work(x, asked.k, asked.diverse, limits.work)
        hits = state.search(x, asked.concept, asked.without, asked.k, asked.diverse, asked.score)
        return {"hits": hits, "notes": state.notes(x, asked.concept, asked.score)}

    @app.post("/api/explain", response_model=s.Explanations, responses=PROBLEMS)
    def explain(asked: s.ExplainRequest) -> Any:
        """Why a search for x, or a text, gives each y its score: one term per concept, and what is in none."""
        others = [asked.y] if isinstance(asked.y, str) else asked.y
        if len(others) > limits.batch:
            raise ValueError(f"At most {limits.batch} items are explained at a time.")
        x = state.query(asked.x, asked.text)
        return {"explanations": state.explain(x, others, asked.concept, asked.without, asked.score, asked.words)}

    @app.post("/api/trace", response_model=s.TraceOut, responses=PROBLEMS)
    def trace(asked: s.TraceRequest) -> Any:
        """Why a search for x, or a text, shows each expected item or not, and the smallest change to bring it in."""
        expected = [asked.expected] if isinstance(asked.expected, str) else asked.expected
        if asked.k > limits.k:
            raise ValueError(f"k is at most {limits.k}.")
        if len(expected) > MOST_TRACED:
            raise ValueError(f"At most {MOST_TRACED} items are traced at a time.")
        options = asked.model_dump(exclude={"x", "text", "expected"})
        return state.trace(state.query(asked.x, asked.text), expected, **options)


def _add_concepts(app: FastAPI, state: State, limits: Limits) -> None:
    @app.get("/api/concepts", response_model=s.Concepts, responses=PROBLEMS)
    def concepts() -> Any:
        """Each concept: the words its cone holds best, its size, its top items."""
        return state.concepts()

    @app.get("/api/cooccurrence", response_model=s.Cooccurrence, responses=PROBLEMS)
    def cooccurrence() -> Any:
        """Which concepts are used together."""
        return state.cooccurrence()

    @app.post("/api/stability", response_model=s.Started, responses=PROBLEMS)
    def stability(asked: s.StabilityRequest) -> Any:
        """Refit the model on resampled rows, in the background: /api/status says how far it is, and /api/concepts then
        how much of each concept came out again."""
        state.check_stability(asked.n_runs, limits.job)
        return {"started": True}

    @app.post("/api/stability/stop", response_model=s.Started, responses=PROBLEMS)
    def stop_stability() -> Any:
        """Give the refits up that are under way."""
        state.stop_stability()
        return {"started": False}

    @app.post("/api/rename", response_model=s.Renamed, responses=PROBLEMS)
    def rename(asked: s.RenameRequest) -> Any:
        """Give a concept another name, and save it in the model's file."""
        saved = state.rename(asked.concept, asked.name)
        return {"concepts": state.concept_names, "saved": saved}


def _add_structure(app: FastAPI, state: State) -> None:
    @app.get("/api/binary", response_model=s.Binary, responses=PROBLEMS)
    def binary() -> Any:
        """Each binary concept: how many items have it, its weight, words, the label that goes most with it."""
        return state.once("binary", state.structure.binary)

    @app.get("/api/bits", response_class=Octets, responses=BINARY)
    def bits(concept: Annotated[int, Query(ge=0, le=65_535)]) -> Octets:
        """Which items have a binary concept: uint16 per row, 1 or 0."""
        return Octets(_little(state.structure.bits(concept)))

    @app.get("/api/clusters", response_model=s.Clusters, responses=PROBLEMS)
    def clusters() -> Any:
        """Each cluster: its size, how much of its items is its own and how much is shared by all, its top items."""
        return state.once("cluster cards", state.structure.cluster_cards)

    @app.get("/api/predict", response_class=Octets, responses=BINARY)
    def predict() -> Octets:
        """The cluster of each item: uint16 per row."""
        return Octets(_little(state.once("clusters", state.structure.clusters)))

    @app.get("/api/atoms", response_class=Octets, responses=BINARY)
    def atoms(cluster: Annotated[int | None, Query(ge=0, le=65_535)] = None) -> Octets:
        """The atoms of a cluster, or the common ones: float32, one atom after the other."""
        return Octets(_little(state.structure.atoms(cluster)))

    @app.get("/api/reconstruct", response_class=Octets, responses=BINARY)
    def reconstruct(id: s.Id) -> Octets:
        """An item, what its cluster makes of it, and what it shares with all: float32, three vectors."""
        return Octets(_little(state.structure.reconstruct(id)))

    @app.post("/api/analogram", response_model=s.AnalogramOut, responses=PROBLEMS)
    def analogram(asked: s.AnalogramRequest) -> Any:
        """The graph of some items, or of the concepts, in which an edge flips one binary concept."""
        if asked.items is not None and len(asked.items) > MOST_DRAWN:
            raise ValueError(f"An analogram has at most {MOST_DRAWN} items.")
        return state.analogram(asked.items, asked.by, asked.max_concepts, asked.max_nodes)


def _add_page(app: FastAPI) -> None:
    for address in VIEWS:
        app.add_api_route(address, _page, methods=["GET"], include_in_schema=False)
    app.mount("/assets", StaticFiles(directory=PAGE / "assets", follow_symlink=False), name="assets")


def _page() -> FileResponse:
    return FileResponse(PAGE / "index.html", media_type="text/html; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    def answer(status: int, sentence: str) -> JSONResponse:
        # what was sent may hold half of a surrogate pair, which cannot be sent back
        return JSONResponse({"detail": sentence.encode("utf-8", "replace").decode()}, status_code=status)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "The request"
        return answer(422, f"{place}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    def known(request: Request, error: HTTPException) -> Response:
        path, asked = request.url.path, request.headers.get("accept", "")
        if error.status_code == 404 and "text/html" in asked and not path.startswith(("/api/", "/assets/")):
            page = _page()  # which says so, and leads back
            page.status_code = 404
            return page
        reply = answer(error.status_code, str(error.detail))
        reply.headers.update(error.headers or {})
        return reply

    for kind, status in STATUSES.items():

        def expected(request: Request, error: Exception, status: int = status) -> JSONResponse:
            return answer(status, str(error.args[0]) if error.args else "That cannot be done.")

        app.add_exception_handler(kind, expected)


def _little(array: Any) -> bytes:
    content: bytes = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return content
