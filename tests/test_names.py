"""Columns may have any name: ours are apart, theirs come back as they were."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid import vectors
from pellucid.search import Collection, CollectionError
from support.commands import found, run

OURS = ("row", "columns", "score", "rank", "position", "vector", "vectors", "ids", "self", "folder", "engine", "key",
        "overwrite", "index", "shares", "item", "_position", "constructor", "__proto__", "hasOwnProperty")  # fmt: skip
ODD = ("", " ", "a b", "日本", "é", "e\u0301", "👩‍👩‍👧", "[bold]",
       "'\"", "a\nb", "\x00", "\ufeff", "\u202e", "ID", "a.b", "%s", "{}",
       "x" * 500)  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    rows = np.eye(6, dtype=np.float32)
    columns = {name: [f"{name} {i % 2}" for i in range(6)] for name in (*OURS, *ODD)}
    return Collection.create(tmp_path_factory.mktemp("names") / "c", rows, list("abcdef"), columns=columns)


def test_every_name_comes_back(collection):
    for opened in (collection, Collection.open(collection.folder)):
        assert opened.item(3) == {"id": "d", **{name: f"{name} 1" for name in (*OURS, *ODD)}}


def test_more_come_beside_keywords(tmp_path):
    made = Collection.create(
        tmp_path / "c", np.eye(2), text=["x", "y"], columns={"overwrite": [1, 2], "columns": [3, 4]}
    )
    made.add(np.ones((1, 2)), ["new"], text=["z"], columns={"overwrite": [5], "columns": [6]})
    assert made.item(2) == {"id": "new", "text": "z", "overwrite": 5, "columns": 6}
    assert Collection.create(tmp_path / "d", np.eye(2), columns=["a", "b"]).item(1)["columns"] == "b"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ids": ["a", "\ud800"]}, "The ids have half of a character"),
        ({"columns": {"\ud800": ["x", "y"]}}, "half of a character"),
        ({"columns": {7: ["x", "y"]}}, "must be text, but one is 7"),
        ({"text": ["fine", "\ud800"]}, "column 'text' .*half of a character"),
        ({"text": [1, "two"]}, "column 'text'"),
        ({"text": [Ellipsis, Ellipsis]}, "column 'text'"),
        ({"text": [2**70, 1]}, "column 'text'"),
        ({"text": [{"a": 1}, 3]}, "column 'text'"),
        ({"text": 7}, "column 'text'"),
        ({"columns": {"id": ["x", "y"]}}, "'id' is taken"),
    ],
    ids=str,
)
def test_what_no_file_can_hold_is_a_sentence(tmp_path, given, sentence):
    with pytest.raises(CollectionError, match=sentence):
        Collection.create(tmp_path / "c", np.eye(2), **given)
    made = Collection.create(tmp_path / "d", np.eye(2), ["p", "q"])
    with pytest.raises(CollectionError, match=sentence):
        made.add(np.eye(2), **given)
    assert Collection.open(made.folder).ids == ["p", "q"]


def test_a_text_is_no_list_of_ids(tmp_path):
    made = Collection.create(tmp_path / "c", np.eye(3))
    for wrong in ("01", "0", b"01", 7):
        with pytest.raises(TypeError, match="a list of ids"):
            made.delete(wrong)
        with pytest.raises(TypeError, match="a list of ids"):
            made.add(np.eye(3)[:2], wrong)
    with pytest.raises(TypeError, match="a list of ids"):
        made.delete(None)
    assert made.ids == ["0", "1", "2"]
    made.delete(["1"])
    assert made.ids == ["0", "2"]


def test_the_explorer_shows_them(collection):
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    from fastapi.testclient import TestClient

    from pellucid.explorer import create_app

    with TestClient(create_app(collection=collection), "http://127.0.0.1:8750") as client:
        item = client.get("/api/item", params={"id": "d"}).json()
        assert item == {"id": "d", "row": 3, "columns": {name: f"{name} 1" for name in (*OURS, *ODD)}}
        hits = client.post("/api/search", json={"x": "d", "k": 5}).json()["hits"]
        assert sorted(hit["item"]["row"] for hit in hits) == [0, 1, 2, 4, 5]
        for column in client.get("/api/collection").json()["columns"]:
            if column["kind"] == "label":
                found = client.get("/api/labels", params={"column": column["name"]})
                assert np.frombuffer(found.content, "<u2").max() == 1


def test_commands_keep_them_apart(tmp_path, collection):
    names = [name for name in (*OURS, *ODD) if name not in ("vector", "index", "key", "ids", "")]
    vectors.write(
        tmp_path / "v.parquet", np.eye(6), list("abcdef"), {name: [f"{name} {i}" for i in range(6)] for name in names}
    )
    for row in found("select", tmp_path / "v.parquet", "-k", 3):
        i = row["row"]
        assert row == {"row": i, "id": "abcdef"[i], "columns": {name: f"{name} {i}" for name in names}}
    run("select", tmp_path / "v.parquet", "-k", 3)
    run("index", tmp_path / "v.parquet", "-o", tmp_path / "c")
    assert Collection.open(tmp_path / "c").item(2) == {"id": "c", **{name: f"{name} 2" for name in names}}
    told = found("search", tmp_path / "c", "--item", "a", "-k", 1)[0]
    assert set(told["item"]) == {"id", *names}
    run("info", tmp_path / "c")
    json.dumps(found("info", tmp_path / "c"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    names=st.lists(st.text(max_size=8), unique=True, max_size=4),
    ids=st.lists(st.text(max_size=5), unique=True, min_size=3, max_size=3),
)
def test_any_name_and_any_id(tmp_path_factory, names, ids):
    folder = tmp_path_factory.mktemp("any") / "c"
    columns = {name: ["x", None, name] for name in names if name != "id"}
    if any("\ud800" <= letter <= "\udfff" for letter in "".join([*names, *ids])):
        with pytest.raises(CollectionError, match="half of a character"):
            Collection.create(folder, np.eye(3), ids, columns=columns)
        return
    Collection.create(folder, np.eye(3), ids, columns=columns)
    opened = Collection.open(folder)
    assert opened.ids == ids
    assert opened.item(2) == {"id": ids[2], **{name: name for name in columns}}


def test_a_column_may_hold_other_things_in_other_additions(tmp_path):
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    from pellucid.explorer.items import Items

    made = Collection.create(tmp_path / "c", np.eye(2), ["a", "b"], what=[1, 2], more=[0.5, None], few=[["x"], []])
    made.add(np.eye(2), ["c", "d"], what=["one", None], more=[1, 2], few=["x", "y"])
    items = Items(Collection.open(made.folder))
    assert [items.show(row)["columns"]["what"] for row in range(4)] == [1, 2, "one", None]
    assert items.show(0)["columns"]["few"] == ["x"]
    assert items.find("d", 3) == [3]
