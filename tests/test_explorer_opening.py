"""What the explorer finds at a path, what it makes of a bare file, and that its own work is in nobody's way."""

import threading
import time

import numpy as np
import pytest

import pellucid
from pellucid import vectors
from pellucid._core import threads
from pellucid._core.progress import heard, progress
from pellucid.explorer.background import row_task
from pellucid.explorer.finding import cache_folder, find
from pellucid.search import Collection
from support.explorer_data import planted, small_collection, small_model
from support.waiting import PATIENCE

pytest.importorskip("fastapi", reason="the explore extra is not installed")
from pellucid.explorer import places, serve


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    X, Y = planted()
    folder = tmp_path_factory.mktemp("opening")
    small_collection(folder / "collection", X, Y)
    pellucid.save(small_model(X, Y), folder / "model.safetensors")
    vectors.write(folder / "words.parquet", X[:3], ["one", "two", "three"])
    return folder


def test_a_folder_is_found_with_what_lies_beside(folder):
    state = serve(folder).app.state.pellucid
    assert state.collection.folder == folder / "collection"
    assert state.model_path == folder / "model.safetensors"
    assert state.vocabulary()[:2] == ("given", ["one", "two", "three"])
    assert serve(folder / "collection").app.state.pellucid.model is None


def test_models_that_are_given_are_taken_alone(folder):
    X, Y = planted()
    state = serve(folder, small_model(X, Y)).app.state.pellucid
    assert state.model_path is None


def test_several_of_a_kind_are_for_somebody_to_choose(folder, tmp_path):
    X, Y = planted()
    small_collection(tmp_path / "a", X, Y)
    for name in ("one", "two"):
        pellucid.save(small_model(X, Y), tmp_path / f"{name}.safetensors")
    (tmp_path / "other.safetensors").write_bytes(b"nothing of ours")
    with pytest.raises(ValueError, match=r"several models of concepts \(one.safetensors, two.safetensors\).*--model"):
        find(tmp_path)
    small_collection(tmp_path / "b", X, Y)
    with pytest.raises(ValueError, match="several collections"):
        find(tmp_path)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_bare_file_becomes_a_collection_with_named_concepts_once(tmp_path, cache):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, 240)
    X = np.eye(3, 12)[kinds] * 4 + 0.3 * rng.normal(size=(240, 12))
    texts = [("barking dogs", "purring cats", "singing birds")[kind] for kind in kinds]
    file = tmp_path / "pets.parquet"
    vectors.write(file, X, None, {"caption": texts})
    said = []
    opened = find(file, said.append)
    assert [line.split()[0] for line in said] == ["Reading", "Finding"]
    assert cache in opened.collection.parents
    assert len(Collection.open(opened.collection)) == 240
    names = {str(name) for name in pellucid.load(opened.models[0]).concept_names_}
    assert any(word in name for name in names for word in ("dogs", "cats", "birds", "barking", "purring", "singing"))
    stamp = opened.models[0].stat().st_mtime_ns
    said.clear()
    again = find(file, said.append)
    assert (again, said, again.models[0].stat().st_mtime_ns) == (opened, [], stamp)
    vectors.write(file, X[:100], None, {"caption": texts[:100]})  # another file of the same name
    assert len(Collection.open(find(file).collection)) == 100


@pytest.mark.parametrize(
    ("rows", "sentence"), [(np.array([[1.0, 2], [np.nan, 1]]), "not finite in row 1"), (np.empty((0, 3)), "no rows")]
)
def test_a_file_that_holds_nothing_to_see_is_refused(tmp_path, cache, rows, sentence):
    np.save(tmp_path / "x.npy", rows)
    with pytest.raises(ValueError, match=sentence):
        find(tmp_path / "x.npy")


def test_a_few_vectors_are_shown_without_concepts(tmp_path, cache):
    np.save(tmp_path / "few.npy", np.eye(3))
    assert find(tmp_path / "few.npy").models == []


def test_the_cache_is_where_the_system_keeps_such_things(monkeypatch, tmp_path):
    monkeypatch.delenv("PELLUCID_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "pellucid"


def test_places_are_those_of_the_map(folder):
    server = serve(folder)
    state = server.app.state.pellucid
    state.background.start()
    assert state.background.wait(PATIENCE)
    for layout in ("pca", "neighbours"):
        np.testing.assert_array_equal(places(state.collection, layout), state.background.get(layout))
    with pytest.raises(ValueError, match="must be one of pca, neighbours"):
        places(state.collection, "umap")


def test_blocks_are_as_small_as_they_are_slow(folder, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("pellucid.explorer.background.time.monotonic", lambda: clock[0])
    items = serve(folder).app.state.pellucid.items
    steps, taken = [], []

    def slow(rows):
        clock[0] += 0.1 * len(rows)
        taken.append(len(rows))
        return rows[:, :2]

    made = row_task("slow", items, slow, 2, np.float32).compute(steps.append)
    np.testing.assert_array_equal(made.T, items.collection.vectors(items.positions).astype(np.float32)[:, :2])
    assert max(taken[1:]) == 5  # half a second
    assert steps == sorted(steps)
    assert steps[-1] == 1.0


def test_work_aside_takes_none_of_the_threads_that_answer(monkeypatch):
    monkeypatch.setattr(threads, "_threads", 2)
    where = set()

    def part(start, stop):
        where.add(threading.get_ident())

    def work():
        with threads.aside():
            threads.run_rows(part, 1000)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE)
    assert len(where) == 1
    assert threading.get_ident() not in where
    where.clear()
    threads.run_rows(part, 1000)
    assert threading.get_ident() not in where  # the pool's, as ever


def test_work_within_work_is_heard_as_one_number():
    told = []
    with heard(told.append), progress("outer", 2, enabled=False) as step:
        for _ in range(2):
            with progress("inner", 4, enabled=False) as inner:
                for _ in range(4):
                    inner("")
            step("")
    assert told == [0.125, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75, 0.875, 1.0, 1.0]
    with progress("outside", 1, enabled=False) as step:
        step("")
    assert len(told) == 10


def test_refits_are_heard_and_can_be_stopped(folder):
    state = serve(folder).app.state.pellucid
    state.check_stability(20)
    seen = set()
    end = time.monotonic() + PATIENCE
    while len(seen) < 3 and time.monotonic() < end:
        seen.add(state.background.progress.get("stability"))
        if state.checking.found is not None:
            break
        time.sleep(0.005)
    assert len(seen) >= 3
    state.stop_stability()
    assert "stability" not in state.background.failed


def test_a_new_name_does_not_change_what_the_labels_say(folder, tmp_path):
    X, Y = planted()
    pellucid.save(small_model(X, Y), tmp_path / "m.safetensors")
    state = serve(folder / "collection", tmp_path / "m.safetensors").app.state.pellucid
    first = state.concept_names[0]
    before = [concept["labelled"] for concept in state.concepts()["concepts"]]
    assert state.rename(first, "other")
    assert [concept["labelled"] for concept in state.concepts()["concepts"]] == before
    again = serve(folder / "collection", tmp_path / "m.safetensors").app.state.pellucid
    assert again.concept_names[0] == "other"
    assert again.label_names[0] == first
    assert [concept["labelled"] for concept in again.concepts()["concepts"]] == before
