"""The server for agents, asked by the real client of the mcp package: in process, by standard streams and by HTTP."""

import asyncio
import json
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import pellucid
from pellucid import ConceptSubspaces, compare
from pellucid.search import Collection, ConceptSearch, Text
from support.commands import fails
from support.standins import vector
from support.waiting import PATIENCE, until

mcp = pytest.importorskip("mcp", reason="the mcp extra is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402

from pellucid.integrations.mcp import SHOWN, create_server, http_app  # noqa: E402

SIZE, COUNT, NAMES = 10, 80, ["a", "b", "c d/é"]


def embed(texts):
    return np.stack([vector(text, SIZE) for text in texts])


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents")
    texts = [f"text {i}" for i in range(COUNT)]
    X = embed(texts)
    model = ConceptSubspaces(2, random_state=0).fit(X, X[:, :3] > 0.3, NAMES)
    labels = [[name for name, x in zip(NAMES, row) if x > 0.3] for row in X]
    more = {"note": ["x" * 3 * SHOWN] * COUNT, "picture": [b"\x89PNG"] * COUNT, "year": list(range(COUNT))}
    collection = Collection.create(
        folder / "c", X, [f"id-{i}" for i in range(COUNT)], text=texts, labels=labels, **more
    )
    pellucid.save(model, folder / "m.safetensors")
    (folder / "agents_encoder.py").write_text(
        "import numpy as np\nfrom support.standins import vector\nprint('on standard output, where it must not be')\n"
        "def embed(texts):\n    return np.stack([vector(t, 10) for t in texts])\n"
    )
    return ConceptSearch(collection, model, embed)


def asked(server, *calls):
    """What each call gives, as the client sees it."""

    async def ask():
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(ask())


def told(server, name, **arguments):
    (result,) = asked(server, (name, arguments))
    assert not result.is_error, result.content
    return result.structured_content


def refused(server, name, **arguments):
    (result,) = asked(server, (name, arguments))
    assert result.is_error
    return result.content[0].text


@pytest.fixture(scope="module")
def server(search):
    return create_server(search)


def test_the_tools_say_what_they_take_and_give(server):
    async def ask():
        async with Client(server) as client:
            return (await client.list_tools()).tools, client.instructions

    tools, instructions = asyncio.run(ask())
    assert {tool.name for tool in tools} == {"search", "explain", "parts", "concepts", "trace", "compare"}
    assert "concepts" in instructions
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert tool.description
        assert tool.output_schema["type"] == "object"
    asks = next(tool for tool in tools if tool.name == "search").input_schema
    assert asks["required"] == ["query"]
    assert asks["properties"]["k"] | {"maximum": 1000, "minimum": 1, "type": "integer"} == asks["properties"]["k"]
    assert asks["properties"]["kind"]["enum"] == ["auto", "item", "text"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"concept": "a", "k": 3},
        {"concept": {"a": 2.0, "b": -1.0}},
        {"without": ["b"], "diverse": True},
        {"where": [["year", ">", 40]], "score": "projection", "concept": ["a", "b"]},
    ],
)
def test_search_finds_what_a_search_finds(server, search, more):
    python = {"k": 10, **more}
    if "where" in more:
        python["where"] = [tuple(more["where"][0])]
    for query in ("id-3", "a question"):
        found = told(server, "search", query=query, **more)["hits"]
        wanted = search.search(query, **python)
        assert [(hit["id"], hit["score"], hit["rank"]) for hit in found] == [(h.id, h.score, h.rank) for h in wanted]
    assert found[0]["text"] == f"text {found[0]['columns']['year']}"
    assert len(found[0]["columns"]["note"]) == SHOWN + 1
    assert "picture" not in found[0]["columns"]
    assert found[0]["explanation"] is None


def test_an_item_without_the_concept_that_is_asked_for_is_noted(server, search):
    without = next(f"id-{i}" for i in range(COUNT) if search.notes(f"id-{i}", "a"))
    assert told(server, "search", query=without, concept="a", k=2)["notes"] == search.notes(without, "a")
    assert told(server, "search", query=without, k=2)["notes"] == []


def test_agents_filter_by_conditions_and_not_in_sql(search, monkeypatch):
    monkeypatch.setattr(search.collection, "engine_name", "postgres", raising=False)
    for where in ("id IN (SELECT secret FROM other)", {"year": 1}):
        said = refused(create_server(search), "search", query="id-3", where=where)
        assert "not taken from agents" in said


def test_what_a_query_is_can_be_said(server, search):
    assert (
        told(server, "search", query="id-3", kind="text", k=2)["hits"][0]["id"]
        == search.search(Text("id-3"), k=1)[0].id
    )
    assert "There is no item 'a question'" in refused(server, "search", query="a question", kind="item")


def test_explanations_parts_and_concepts(server, search):
    hit = told(server, "search", query="a question", concept="a", k=1, explain=True)["hits"][0]
    why = told(server, "explain", query="a question", concept="a", id=hit["id"])
    assert why["score"] == pytest.approx(hit["score"], abs=1e-5)
    assert sum(why["terms"].values()) + why["residual"] + why["presence"] == pytest.approx(why["score"], abs=1e-6)
    assert hit["explanation"]["terms"] == pytest.approx(why["terms"], abs=1e-6)
    parts = told(server, "parts", id=hit["id"])
    assert parts["parts"] == hit["parts"]
    row = search.collection.vectors([search.collection.position(hit["id"])]).astype(float)
    assert parts["explained"] == pytest.approx(search.stored.shares(row).sum(), abs=1e-6)
    assert list(parts["presence"].values()) == pytest.approx(search.stored.predict_proba(row)[0].tolist(), abs=1e-3)
    known = told(server, "concepts")
    assert [one["name"] for one in known["concepts"]] == NAMES
    assert known["concepts"][0]["labelled"] == search.collection.summary().labels["labels"]["a"]
    assert (known["items"], known["dimension"], known["searches_text"]) == (COUNT, SIZE, True)
    assert known["columns"] == ["text", "labels", "note", "picture", "year"]


def test_trace_and_compare(server, search):
    traced = told(server, "trace", query="a question", expected=["id-5"], k=3, concept="a")
    wanted = search.trace("a question", ["id-5"], k=3, concept="a")
    assert traced["items"] == json.loads(json.dumps(wanted.to_dict()["items"]))
    assert traced["summary"] == str(wanted)
    ids = search.collection.ids
    found = told(server, "compare", a=ids[:40], b=ids[40:])
    X = search.collection.vectors().astype(float)
    same = compare(X[:40], X[40:], model=search.stored)
    assert [one["concept"] for one in found["differences"]] == list(same.concepts)
    assert [one["difference"] for one in found["differences"]] == pytest.approx(same.difference.tolist())
    assert found["summary"] == str(same)


def test_resources(server):
    async def ask():
        async with Client(server) as client:
            listed = [str(one.uri) for one in (await client.list_resources()).resources]
            templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
            texts = []
            for uri in ("pellucid://concepts", "pellucid://concepts/a"):
                texts.append((await client.read_resource(uri)).contents[0].text)
            return listed, templates, [json.loads(text) for text in texts]

    listed, templates, (concepts, one) = asyncio.run(ask())
    assert (listed, templates) == (["pellucid://concepts"], ["pellucid://concepts/{name}"])
    assert [each["name"] for each in concepts["concepts"]] == NAMES
    assert one["name"] == "a"
    assert len(one["items"]) == 10


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("search", {"query": "a", "concept": "z"}, "There is no concept 'z'"),
        ("search", {"query": "a", "k": 1001}, "less than or equal to 1000"),
        ("search", {"query": "a", "k": 0}, "greater than or equal to 1"),
        ("search", {"query": "a" * 10_001}, "at most 10000 characters"),
        ("search", {"query": " "}, "is empty: write what you look for"),
        ("search", {"query": "a", "k": 65, "explain": True}, "At most 64 results are explained at a time"),
        ("search", {"query": "a", "where": [["year", ">"]]}, "Each condition of where has three parts"),
        ("search", {"query": "a", "where": [["yaer", ">", 3]]}, "yaer"),
        ("explain", {"query": "a", "id": "nope"}, "There is no item 'nope'"),
        ("parts", {"id": "nope"}, "There is no item 'nope'"),
        ("trace", {"query": "a", "expected": [f"id-{i}" for i in range(9)]}, "at most 8 items"),
        ("compare", {"a": [], "b": ["id-1"]}, "at least 1 item"),
        ("compare", {"a": ["id-1"], "b": ["nope"]}, "There is no item 'nope'"),
    ],
)
def test_what_cannot_be_is_said(server, name, arguments, sentence):
    said = refused(server, name, **arguments)
    assert sentence in said
    assert "Traceback" not in said


def test_without_a_model_or_an_encoder(search):
    plain = create_server(ConceptSearch(search.collection))
    assert len(told(plain, "search", query="id-1", k=3)["hits"]) == 3
    assert told(plain, "concepts")["concepts"] == []
    for name, arguments in (
        ("search", {"query": "id-1", "concept": "a"}),
        ("search", {"query": "id-1", "explain": True}),
        ("explain", {"query": "id-1", "id": "id-2"}),
        ("parts", {"id": "id-1"}),
        ("compare", {"a": ["id-1"], "b": ["id-2"]}),
    ):
        assert "start the server with --model" in refused(plain, name, **arguments)
    assert "give the encoder that made the collection's vectors" in refused(plain, "search", query="a question")


def test_a_call_that_takes_too_long_is_given_up(search):
    said = refused(create_server(search, seconds=-1.0), "search", query="id-1")
    assert "busy" in said or "was given up" in said
    late = create_server(search, seconds=0.0)
    assert "It took more than 0 seconds and was given up" in refused(late, "search", query="id-1")


def command(search, *more):
    folder = search.collection.folder
    code = f"import sys; sys.path[:0] = {[p for p in sys.path if p.endswith('tests')] + [str(folder.parent)]!r}; "
    code += "from pellucid.__main__ import main; main()"
    given = ["mcp", str(folder), "--model", str(folder.parent / "m.safetensors"), "--encoder", "agents_encoder:embed"]
    return [sys.executable, "-c", code, *given, *more]


def test_over_standard_streams(search):
    program, *arguments = command(search)
    (found,) = asked(
        stdio_client(StdioServerParameters(command=program, args=arguments)),
        ("search", {"query": "a question", "concept": "a", "k": 4}),
    )
    wanted = [hit.id for hit in search.search("a question", "a", k=4)]
    assert [hit["id"] for hit in found.structured_content["hits"]] == wanted


@pytest.fixture
def served(server):
    """The server behind a port of this machine."""
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(http_app(server, port=port), log_level="error"))
    thread = threading.Thread(target=running.run, args=([listener],), daemon=True)
    thread.start()
    until(lambda: running.started)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(PATIENCE)


def test_over_http(served, search):
    first, again = asked(f"{served}/mcp", ("search", {"query": "id-3", "k": 4}), ("parts", {"id": "id-3"}))
    assert [hit["id"] for hit in first.structured_content["hits"]] == [hit.id for hit in search.search("id-3", k=4)]
    assert not again.is_error


def test_only_this_machine_is_answered(served):
    port = served.rsplit(":", 1)[1]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    usual = {"Accept": "application/json, text/event-stream"}
    for headers, status in (
        ({"Host": "evil.example.org"}, 421),
        ({"Host": f"127.0.0.1.evil.example.org:{port}"}, 421),
        ({"Origin": "http://evil.example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"https://127.0.0.1:{port}"}, 403),
        ({"Origin": f"http://127.0.0.1:{int(port) - 1}"}, 403),
    ):
        reply = httpx.post(f"{served}/mcp", json=body, headers=usual | headers, timeout=PATIENCE)
        assert reply.status_code == status, (headers, reply.text)
    large = httpx.post(f"{served}/mcp", json={**body, "params": "x" * (2 << 20)}, headers=usual, timeout=PATIENCE)
    assert large.status_code == 413


def test_the_command_serves_http_and_says_where(search):
    process = subprocess.Popen(command(search, "--http", "--port", "0"), stdout=subprocess.PIPE, text=True)
    try:
        address = next(line.split()[-1] for line in process.stdout if line.startswith("Agents:"))
        until(lambda: answers(address))
        (found,) = asked(address, ("search", {"query": "a question", "k": 1}))
        assert found.structured_content["hits"][0]["id"] == search.search("a question", k=1)[0].id
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def answers(address):
    try:
        httpx.post(address, timeout=PATIENCE)
    except httpx.TransportError:
        return False
    return True


def test_a_taken_port_and_a_missing_package_are_said(search, monkeypatch):
    folder = search.collection.folder
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = fails("mcp", folder, "--http", "--port", taken.getsockname()[1])
    assert "cannot be used" in said
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "pellucid.integrations.mcp")
    assert 'pip install "pellucid[mcp]"' in fails("mcp", folder)


def test_a_table_that_somebody_else_made(search):
    import pyarrow as pa

    from pellucid.search import attach

    X = search.collection.vectors()
    table = pa.table({"key": search.collection.ids, "body": [f"text {i}" for i in range(COUNT)], "v": X.tolist()})
    attached = ConceptSearch(attach(table, vector="v", id="key", text="body"), search.model, embed)
    server = create_server(attached)
    found = told(server, "search", query="a question", concept="a", k=4)["hits"]
    assert [hit["id"] for hit in found] == [hit.id for hit in search.search("a question", "a", k=4)]
    assert found[0]["text"].startswith("text ")
    assert told(server, "concepts")["items"] == COUNT
    assert told(server, "parts", id="id-3")["id"] == "id-3"
    assert attached.texts.check.source == "items"
