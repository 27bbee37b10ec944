"""Engines behind the seam: same ids as a ranking in float64, an index on disk that is never more than a copy."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pellucid._core import atomic
from pellucid.search import ENGINES, Collection, CollectionError, make_engine
from pellucid.solvers import set_threads
from support.engines import DATABASES, FULL, planted, ranking, same_as_exact
from support.killed import killed
from support.waiting import PATIENCE, until

faiss = pytest.importorskip("faiss", reason="the search extra is not installed")

quiet = pytest.mark.filterwarnings("ignore:.*rows to learn.*")


def loaded(setting, segments, alive=None, **load):
    name, options = FULL[setting]
    engine = make_engine(name, **options)
    engine.load(segments, np.ones(sum(map(len, segments)), dtype=bool) if alive is None else alive, **load)
    return engine


@quiet
@pytest.mark.parametrize("setting", FULL)
@settings(max_examples=25)
@given(
    st.integers(1, 400),
    st.integers(1, 20),
    st.integers(1, 500),
    st.sampled_from([np.float16, np.float32]),
    st.sampled_from([1, 3, 20]),
    st.integers(0, 2**32 - 1),
)
def test_full_recall_is_the_ranking_of_float64(setting, n, d, k, dtype, q, seed):
    assume(setting != "hnsw" or d > 2)  # a graph of rows that are all alike falls apart
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)).astype(dtype)
    alive = rng.random(n) < 0.7
    alive[rng.integers(n)] = True
    cuts = np.sort(rng.integers(0, n + 1, 2))
    engine = loaded(setting, [part for part in np.split(rows, cuts) if len(part)], alive)
    queries = rng.standard_normal((q, d))
    positions, scores = engine.search(queries, k)
    expected = ranking(rows, queries, alive, k)
    assert positions.dtype == np.int64
    np.testing.assert_allclose(scores, expected[1], atol=1e-12)
    if d > 2:  # in one dimension all rows tie
        np.testing.assert_array_equal(positions, expected[0])


@quiet
@pytest.mark.parametrize("setting", FULL)
def test_awkward_rows(setting, rng):
    """Zeros, duplicates, one row, rows that are strided, Fortran-ordered or memory-mapped read-only."""
    rows = planted(rng)
    rows[5] = 0
    rows[10:40] = rows[9]
    queries = np.vstack([rows[9], np.zeros(16), rows[5] + 1, -rows[0]])
    alive = np.ones(600, dtype=bool)
    expected = ranking(rows, queries, alive, 30)
    wide = np.zeros((600, 32), dtype=np.float32)
    wide[:, ::2] = rows
    for same in (rows, np.asfortranarray(rows), wide[:, ::2], rows.astype(np.float64)):
        positions, scores = loaded(setting, [same]).search(queries, 30)
        np.testing.assert_allclose(scores, expected[1], atol=1e-12)
        np.testing.assert_array_equal(positions[2:], expected[0][2:])
        assert set(positions[0]) <= set(range(9, 40)), "any thirty of the equal ones"
        assert np.all(scores[1] == 0)
    positions, scores = loaded(setting, [rows[:1]]).search(queries, 7)
    assert positions.tolist() == [[0]] * 4
    positions, scores = loaded(setting, [rows[:3]], np.zeros(3, dtype=bool)).search(queries, 7)
    assert positions.shape == scores.shape == (4, 0)


@quiet
@pytest.mark.parametrize("setting", FULL)
@pytest.mark.parametrize("n", [30, 900])
def test_a_shortlist_has_the_best_rows_and_as_many_as_asked_for(setting, n, rng):
    rows, alive = planted(rng, n), rng.random(n) < 0.8
    engine = loaded(setting, [rows], alive)
    queries, mean = rng.standard_normal((3, rows.shape[1])), rows.mean(axis=0, dtype=np.float64) / 20
    for k, center in ((40, None), (40, mean), (250, mean)):
        places = engine.shortlist(queries, k, center=center)
        assert min(k, alive.sum()) <= places.shape[1] <= alive.sum()
        assert alive[places].all()
        best, _ = engine.search(queries, 5, center=center)
        assert all(set(five) <= set(found) for five, found in zip(best.tolist(), places.tolist()))


@quiet
@pytest.mark.parametrize("setting", FULL)
def test_only_directions_count(setting, rng):
    """Rows and queries of any length give the same ids, also where squares or products over- or underflow float32."""
    rows = planted(rng, 300)
    queries = rng.standard_normal((5, 16))
    expected = loaded(setting, [rows]).search(queries, 12)
    lengths = 10.0 ** rng.integers(-30, 30, 300)
    scaled = (rows * lengths[:, None]).astype(np.float32)
    positions, scores = loaded(setting, [scaled]).search(queries * 1e200, 12)
    np.testing.assert_array_equal(positions, expected[0])
    np.testing.assert_allclose(scores, expected[1], atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 17, 40])
def test_exact_sees_ties_beyond_float32_among_many_duplicates(rng, count):
    """More near ties than a list is long: all of them are looked at again, across chunks and threads."""
    n, d = 20_000, 24
    base = rng.standard_normal(d)
    rows = np.repeat(base[None], n, 0).astype(np.float32)
    rows[::3] += (1e-4 * rng.standard_normal((len(rows[::3]), d))).astype(np.float32)
    rows[1] = -base
    queries = base + 1e-3 * rng.standard_normal((count, d))
    alive = rng.random(n) < 0.9
    positions, scores = loaded("exact", [rows[:7000], rows[7000:]], alive).search(queries, 25)
    expected = ranking(rows, queries, alive, 25)
    np.testing.assert_allclose(scores, expected[1], atol=1e-14)
    for got, wanted, score in zip(positions, expected[0], expected[1]):
        distinct = np.append(True, np.diff(score) < -1e-14) & np.append(np.diff(score) < -1e-14, False)
        np.testing.assert_array_equal(got[distinct], wanted[distinct])
        assert len(set(got)) == 25


def test_threads_do_not_change_the_answer(rng):
    rows, queries = planted(rng, 30_000), rng.standard_normal((3, 16))
    answers = []
    for threads in (1, 2, 5):
        set_threads(threads)
        answers.append(loaded("exact", [rows]).search(queries, 40))
        loaded("flat", [rows[:100]]).search(queries, 4)
        assert faiss.omp_get_max_threads() == threads
    set_threads(None)
    for positions, scores in answers[1:]:
        np.testing.assert_array_equal(positions, answers[0][0])
        np.testing.assert_array_equal(scores, answers[0][1])


def test_default_settings_find_most(rng):
    rows = planted(rng, 4000, 32)
    queries = rows[:100] + 0.3 * rng.standard_normal((100, 32))
    expected = ranking(rows, queries, np.ones(4000, dtype=bool), 10)[0]
    for kind, least in {"flat": 1.0, "hnsw": 0.95, "ivfpq": 0.6}.items():
        engine = make_engine("faiss", kind=kind)
        engine.load([rows], np.ones(4000, dtype=bool))
        positions, scores = engine.search(queries, 10)
        recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(positions, expected)])
        assert recall >= least, kind
        assert np.all(np.diff(scores, axis=1) <= 0)
        units = rows / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        wanted = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        np.testing.assert_allclose(scores, np.einsum("qkd,qd->qk", units[positions], wanted), atol=1e-7)


def test_codes_can_be_trusted_without_the_rows(rng):
    """refine=0 never touches the stored rows: scores are approximate, and the index is small."""
    rows = planted(rng, 5000, 32)
    engine = make_engine("faiss", kind="ivfpq", refine=0, lists=1)
    engine.load([rows], np.ones(5000, dtype=bool))
    assert engine.nbytes < rows.nbytes / 6
    engine._rows.take = None
    positions, scores = engine.search(rows[:50], 5)
    exact = ranking(rows, rows[:50], np.ones(5000, dtype=bool), 5)
    assert 1e-6 < np.abs(scores - exact[1]).max() < 0.3
    assert positions.shape == (50, 5)


@pytest.mark.parametrize("options", [{"kind": "hnsw", "ef_search": 1}, {"kind": "ivfpq", "lists": 10, "probes": 1}])
def test_as_many_hits_as_asked_for_even_where_an_index_reaches_fewer(rng, options):
    """Nearly all rows deleted, or more asked for than a list holds: what the index cannot reach is found by looking."""
    rows, queries = planted(rng, 800), rng.standard_normal((4, 16))
    alive = rng.random(800) < 0.02
    engine = make_engine("faiss", **options)
    engine.load([rows], alive)
    for k in (5, 1000):
        positions, scores = engine.search(queries, k)
        assert positions.shape == (4, min(k, alive.sum()))
        assert np.all(alive[positions])
        assert all(len(set(row)) == len(row) for row in positions)
    np.testing.assert_allclose(scores, ranking(rows, queries, alive, 1000)[1], atol=1e-12)
    engine.load([rows], np.ones(800, dtype=bool))
    np.testing.assert_array_equal(np.sort(engine.search(queries, 800)[0], axis=1), np.tile(np.arange(800), (4, 1)))


def test_an_index_is_not_changed_under_a_search():
    from pellucid.search.engines.faiss import _Gate

    gate, order = _Gate(), []
    searching, finish = threading.Event(), threading.Event()

    def search():
        with gate.searching():
            searching.set()
            finish.wait()
            order.append("searched")

    def change():
        with gate.changing():
            order.append("changed")

    waiting, wait_for = threading.Event(), gate._condition.wait_for
    gate._condition.wait_for = lambda nobody_searches: waiting.set() or wait_for(nobody_searches)
    first, second = (threading.Thread(target=call, daemon=True) for call in (search, change))
    first.start()
    searching.wait()
    with gate.searching():
        pass  # others may search meanwhile
    second.start()
    assert waiting.wait(PATIENCE)
    assert order == []
    finish.set()
    first.join()
    second.join()
    assert order == ["searched", "changed"]


def test_few_rows_get_fewer_lists_or_none(rng, capfd):
    rows = planted(rng, 300)
    engine = make_engine("faiss", kind="ivfpq", lists=100)
    with pytest.warns(UserWarning, match="100 lists take 3900 rows to learn, and there are 300: 7 lists are made"):
        engine.load([rows], np.ones(300, dtype=bool))
    assert engine.search(rows[:2], 3)[0][:, 0].tolist() == [0, 1]
    with pytest.warns(UserWarning, match="A codebook takes 256 rows to learn, and there are 20: they are kept whole"):
        engine.load([rows[:20]], np.ones(20, dtype=bool))
    assert engine.search(rows[:2], 30)[0].shape == (2, 20)
    assert capfd.readouterr().err == "", "faiss itself says nothing"


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("fais", {}, "There is no engine 'fais': did you mean 'faiss'?"),
        ("zzz", {}, "There is no engine 'zzz': there are 'exact', 'faiss', 'lance', 'postgres', 'milvus', 'qdrant'."),
        ("exact", {"kind": "flat"}, "The engine 'exact' has no option 'kind': there are none."),
        ("faiss", {"knd": "flat"}, "The engine 'faiss' has no option 'knd': did you mean 'kind'?"),
        ("faiss", {"name": "flat"}, "The engine 'faiss' has no option 'name'"),
        ("faiss", {"kind": "flt"}, "kind must be one of 'flat', 'hnsw', 'ivfpq', got 'flt'."),
        ("faiss", {"kind": ["flat"]}, "kind must be one of"),
        ("faiss", {"links": 0}, "links must be a whole number of at least 1."),
        ("faiss", {"links": 1}, "links must be at least 2"),
        ("faiss", {"lists": 2.5}, "lists must be a whole number of at least 1."),
        ("faiss", {"probes": True}, "probes must be a whole number of at least 1."),
        ("faiss", {"refine": -1}, "refine must be a whole number of at least 0."),
        ("faiss", {"refine": "2"}, "refine must be a whole number of at least 0."),
    ],
)
def test_bad_options_get_a_sentence(tmp_path, name, options, sentence):
    with pytest.raises(ValueError) as caught:
        make_engine(name, **options)
    assert sentence in str(caught.value)
    with pytest.raises(ValueError):
        Collection.create(tmp_path / "c", np.eye(3), engine=name, engine_options=options)
    assert not (tmp_path / "c").exists(), "nothing is made where the engine cannot be"


def test_options_must_fit_the_rows_and_the_manifest(tmp_path, rng):
    with pytest.raises(CollectionError, match="Options of an engine must be plain values"):
        Collection.create(tmp_path / "c", np.eye(3), engine_options={"kind": {1, 2}})
    engine = make_engine("faiss", kind="ivfpq", code_bytes=5)
    with pytest.raises(ValueError, match="code_bytes must divide the dimension 16: 1, 2, 4, 8, 16"):
        engine.load([planted(rng)], np.ones(600, dtype=bool))


def test_missing_faiss_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r'pip install "pellucid\[search\]"'):
        make_engine("faiss")


# in a collection


@quiet
@pytest.mark.parametrize("setting", FULL)
def test_additions_and_deletions(tmp_path, rng, setting):
    """Whatever is added, deleted and opened again in whatever order, an engine answers for what is there."""
    name, options = FULL[setting]
    rows = planted(rng, 900)
    made = Collection.create(tmp_path / "c", rows[:300], engine=name, engine_options=options)
    same_as_exact(made, rows[:7])
    made.add(rows[300:310])
    same_as_exact(made, rows[295:305])
    made.delete([str(i) for i in range(0, 310, 2)])
    same_as_exact(made, rows[:7])
    again = Collection.open(tmp_path / "c")
    assert (again.engine_name, again.engine_options) == (name, options)
    same_as_exact(again, rows[:7], k=1000)
    again.add(rows[310:].astype(np.float16))
    again.delete([str(i) for i in range(301, 899, 2)])
    same_as_exact(again, rows[:7], k=1000)
    same_as_exact(Collection.open(tmp_path / "c"), rows[:7])
    again.delete(again.ids)
    assert again.search(rows[:7])[0].shape == (7, 0)


def test_vectors_keep_the_widest_precision(tmp_path, rng):
    rows = planted(rng, 20)
    collection = Collection.create(tmp_path / "c", rows[:10].astype(np.float16))
    collection.add(rows[10:])
    np.testing.assert_array_equal(collection.vectors()[10:], rows[10:])
    collection.add(np.asfortranarray(rows), [f"again {i}" for i in range(20)])
    np.testing.assert_array_equal(Collection.open(tmp_path / "c").vectors()[20:], rows)


class Counting:
    """How many rows an index was given, and how often it was written."""

    def __init__(self, monkeypatch, kind):
        self.added, self.written = [], 0
        add, write = kind.add, faiss.write_index

        def counted_add(index, x):
            self.added.append(len(x))
            add(index, x)

        def counted_write(*arguments):
            self.written += 1
            write(*arguments)

        monkeypatch.setattr(kind, "add", counted_add)
        monkeypatch.setattr(faiss, "write_index", counted_write)


@pytest.mark.parametrize("setting", ["hnsw", "ivfpq"])
def test_an_index_catches_up_instead_of_starting_again(tmp_path, rng, monkeypatch, setting):
    name, options = FULL[setting]
    rows = planted(rng, 1200)
    made = Collection.create(tmp_path / "c", rows[:1000], engine=name, engine_options=options)
    seen = Counting(monkeypatch, {"hnsw": faiss.IndexHNSWFlat, "ivfpq": faiss.IndexIVFPQ}[setting])
    made.search(rows[:1])
    made.search(rows[:1])
    assert (seen.added, seen.written) == ([1000], 1)
    made.add(rows[1000:1010])
    made.search(rows[:1])
    assert (seen.added, seen.written) == ([1000, 10], 1), "few new rows are not worth writing the file again"
    made.delete(["3"])
    same_as_exact(made, rows[:5])
    assert seen.added == [1000, 10]
    again = Collection.open(tmp_path / "c")
    same_as_exact(again, rows[:5])
    assert seen.added == [1000, 10, 10], "the file lacks ten rows"
    again.add(rows[1010:])
    same_as_exact(again, rows[1005:1015])
    assert (seen.added, seen.written) == ([1000, 10, 10, 190], 2)
    same_as_exact(Collection.open(tmp_path / "c"), rows[:5])
    assert seen.added == [1000, 10, 10, 190]
    Collection.open(tmp_path / "c", engine_options={**options, "links": 8, "lists": 2}).search(rows[:1])
    assert seen.added[4:] == [1000, 10, 190], "another recipe, another index"


def test_what_was_learned_from_few_rows_is_learned_again(tmp_path, rng):
    rows = planted(rng, 3000)
    options = {"kind": "ivfpq"}
    collection = Collection.create(tmp_path / "c", rows[:50], engine="faiss", engine_options=options)
    with pytest.warns(UserWarning, match="kept whole"):
        collection.search(rows[:1])
    assert not (tmp_path / "c" / "index").exists(), "a copy of the rows is not kept"
    collection.add(rows[50:300])
    collection.search(rows[:1])
    assert collection.engine._index.nlist == 7
    collection.add(rows[300:1000])
    collection.search(rows[:1])
    assert collection.engine._index.nlist == 7
    collection.add(rows[1000:])
    collection.search(rows[:1])
    assert collection.engine._index.nlist == 55
    assert Collection.open(tmp_path / "c").engine._index.nlist == 55


def file_of(folder):
    (path,) = (folder / "index").iterdir()
    return path


@pytest.mark.parametrize("setting", ["hnsw", "ivfpq"])
@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "junk", "header", "folder", "gone", "other rows"])
def test_a_damaged_index_is_built_again(tmp_path, rng, setting, damage):
    name, options = FULL[setting]
    rows = planted(rng)
    made = Collection.create(tmp_path / "c", rows, engine=name, engine_options=options)
    made.search(rows[:1])
    path = file_of(made.folder)
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        path.write_bytes(data[:-1000] + bytes([data[-1000] ^ 1]) + data[-999:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "junk":
        path.write_bytes(rng.bytes(5000))
    elif damage == "header":
        path.write_bytes(json.dumps({"made_by": 1}).encode() + data[data.index(b"\n") :])
    elif damage == "gone":
        path.unlink()
        path.parent.rmdir()
    elif damage == "other rows":
        other = Collection.create(tmp_path / "d", rows[::-1], engine=name, engine_options=options)
        other.search(rows[:1])
        path.write_bytes(file_of(other.folder).read_bytes())
    else:
        path.unlink()
        path.mkdir()
    again = Collection.open(made.folder)
    if damage == "folder":
        with pytest.warns(UserWarning, match="The index cannot be kept in .* it will be built again"):
            same_as_exact(again, rows[:5])
    else:
        same_as_exact(again, rows[:5])
        assert path.read_bytes()[:20] == data[:20], "the file is whole again"


def test_a_collection_that_cannot_be_written_to_is_searched(tmp_path, rng, monkeypatch):
    rows = planted(rng)
    made = Collection.create(tmp_path / "c", rows, engine="faiss", engine_options={"kind": "hnsw"})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "replace", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        assert made.search(rows[:1])[0][0, 0] == 0
    monkeypatch.undo()
    assert list((made.folder / "index").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
@pytest.mark.parametrize("setting", ["hnsw", "ivfpq"])
def test_killed_while_changing_and_indexing(tmp_path, rng, setting):
    """Whatever moment the process dies at, the next one finds all that was acknowledged, indexed and ranked."""
    name, options = FULL[setting]
    rows = planted(rng, 2000)
    folder = tmp_path / "c"
    Collection.create(folder, rows[:400], engine=name, engine_options=options)
    np.save(tmp_path / "rows.npy", rows)
    script = """
import numpy as np
from pellucid.search import Collection
rows = np.load(sys.argv[2])
collection = Collection.open(sys.argv[1])
while True:
    at = len(collection._now.rows)
    collection.add(rows[at % 2000 : at % 2000 + 60])
    collection.delete([str(at)])
    print(at, flush=True)
    collection.search(rows[:2])
"""
    for moment in (15, 31):  # the index is half written, then what is deleted is, in the second round, not yet told
        lines = killed(script, moment, folder, tmp_path / "rows.npy")
        collection = Collection.open(folder)
        for line in lines:
            at = int(line)
            assert str(at + 1) in collection
            assert str(at) not in collection
        same_as_exact(collection, rows[:5])
        strays = [p for p in (folder / "index").glob(".*") if p.name.startswith(".pellucid")]
        assert len(strays) <= 1


@pytest.mark.parametrize("setting", ["hnsw"])
def test_reading_while_another_process_writes(tmp_path, rng, setting):
    """Readers that open, search and fetch items at any moment see one state, whole."""
    name, options = FULL[setting]
    rows = planted(rng, 400)
    folder = tmp_path / "c"
    Collection.create(folder, rows[:100], engine=name, engine_options=options)
    np.save(tmp_path / "rows.npy", rows)
    script = """
import sys, numpy as np
from pellucid.search import Collection
rows = np.load(sys.argv[2])
collection = Collection.open(sys.argv[1])
for at in range(100, 400, 20):
    sys.stdin.readline()
    collection.add(rows[at : at + 20])
    collection.delete([str(at - 5)])
    print(at, flush=True)
"""
    command = [sys.executable, "-c", script, str(folder), str(tmp_path / "rows.npy")]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seen = set()
    for at in range(100, 400, 20):
        child.stdin.write("go on\n")  # while this process reads
        child.stdin.flush()
        collection = Collection.open(folder)
        positions, scores = collection.search(rows[:2], 3)
        assert positions[:, 0].tolist() == [0, 1]
        np.testing.assert_allclose(scores[:, 0], 1)
        assert collection.item(int(positions[0, 0]))["id"] == "0"
        seen.add(len(collection))
        assert child.stdout.readline() == f"{at}\n"
    assert child.wait() == 0
    child.stdin.close()
    child.stdout.close()
    assert len(seen) > 2
    assert len(Collection.open(folder)) == 400 - 15


@pytest.mark.parametrize("setting", FULL)
@quiet
def test_threads_read_while_one_writes(tmp_path, rng, setting):
    name, options = FULL[setting]
    rows = planted(rng, 1500)
    collection = Collection.create(tmp_path / "c", rows[:500], engine=name, engine_options=options)
    stop, errors, searches = threading.Event(), [], []

    def read():
        while not stop.is_set():
            positions, _ = collection.search(rows[:3], 5)
            if positions[:, 0].tolist() != [0, 1, 2] or collection.item(int(positions[1, 0]))["id"] != "1":
                errors.append(positions)
            searches.append(len(positions))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for at in range(500, 1500, 100):
        collection.add(rows[at : at + 100])
        collection.delete([str(at + 1)])
        before = len(searches)
        until(lambda: len(searches) > before or not any(r.is_alive() for r in readers))  # noqa: B023
    stop.set()
    for reader in readers:
        reader.join()
    assert errors == []
    assert len(searches) >= 10
    same_as_exact(collection, rows[:5])


def test_a_list_of_deleted_rows_must_fit(tmp_path, monkeypatch):
    collection = Collection.create(tmp_path / "c", np.eye(3))
    collection.delete(["0"])
    (path,) = collection.folder.glob("deleted-*.npy")
    for wrong in (np.array([7]), np.array([-1]), np.array([0.5])):
        np.save(path, wrong)
        with pytest.raises(CollectionError, match="does not have its checksum"):
            Collection.open(collection.folder)
        with monkeypatch.context() as patched:
            patched.setattr("pellucid.search._folder._check_file", lambda *given: None)  # as of old
            with pytest.raises(CollectionError, match="names rows that are not there"):
                Collection.open(collection.folder)
    path.unlink()
    with pytest.raises(CollectionError, match="is damaged"):
        Collection.open(collection.folder)


@pytest.mark.parametrize(
    ("vectors", "sentence"),
    [
        ([[1e300, 1.0]], "too large for float32 in row 0"),
        ([[1.0, 2.0], [np.inf, 0.0]], "not finite in row 1"),
        ([["a", "b"]], "must be a matrix of numbers"),
        (np.zeros((0, 2)), "must be a matrix of numbers"),
    ],
)
def test_vectors_that_cannot_be_stored(tmp_path, vectors, sentence):
    with pytest.raises(CollectionError, match=sentence):
        Collection.create(tmp_path / "c", vectors)
    assert not (tmp_path / "c").exists()


def test_every_engine_has_a_test():
    assert {name for name, _ in (*FULL.values(), *DATABASES.values())} == set(ENGINES)
