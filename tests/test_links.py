"""Nothing in a collection leads out of it, neither by a link nor by a name, neither to be read nor to be written."""

import json
import os
import shutil

import numpy as np
import pytest

from pellucid.search import Collection, CollectionError
from pellucid.search._folder import read_manifest
from pellucid.search._inside import Outside, all_inside, inside
from pellucid.search._lock import LOCK, locked

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the links of POSIX")

SECRET = "outside, and not ours"


@pytest.fixture
def collection(tmp_path):
    made = Collection.create(tmp_path / "c", np.eye(4), list("abcd"), text=list("wxyz"))
    made.delete(["d"])
    return made


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text(SECRET)
    return tmp_path / "outside"


def moved_out(folder, name, outside):
    """The file is where it should not be, with a link to it, so that all would be well if links were followed."""
    shutil.move(folder / name, outside / name)
    (folder / name).symlink_to(outside / name)


def names(kind):
    return {"manifest": "manifest.json", "vectors": "vectors-000001.npy", "items": "items-000001.parquet",
            "deleted": "deleted-000002.npy"}[kind]  # fmt: skip


@pytest.mark.parametrize("kind", ["manifest", "vectors", "items", "deleted"])
def test_what_is_read_is_no_link(collection, outside, kind):
    moved_out(collection.folder, names(kind), outside)
    with pytest.raises(CollectionError, match="is a link or leads out"):
        Collection.open(collection.folder)


@pytest.mark.parametrize("kind", ["manifest", "vectors", "items", "deleted"])
def test_pipes_are_not_waited_for(collection, kind):
    (collection.folder / names(kind)).unlink()
    os.mkfifo(collection.folder / names(kind))
    with pytest.raises(CollectionError, match=r"neither a file nor a folder|has no manifest"):
        Collection.open(collection.folder)


@pytest.mark.parametrize("change", [lambda c: c.add(np.eye(4)[:1], ["e"]), lambda c: c.delete(["a"])])
@pytest.mark.parametrize("name", [LOCK, "manifest.json"])
def test_nothing_is_written_through_a_link(collection, outside, name, change):
    before = {p.name: p.read_bytes() for p in collection.folder.iterdir() if p.name != name}
    for target in ("precious", "new"):
        (collection.folder / name).unlink(missing_ok=True)
        (collection.folder / name).symlink_to(outside / target)
        with pytest.raises(CollectionError, match=r"is a link or leads out|has no manifest"):
            change(collection)
    assert (outside / "precious").read_text() == SECRET
    assert not (outside / "new").exists()
    assert {p.name: p.read_bytes() for p in collection.folder.iterdir() if p.name in before} == before


@pytest.mark.parametrize("name", ["vectors-000003.npy", "items-000003.parquet"])
def test_links_that_wait_where_the_next_file_will_be_are_replaced(collection, outside, name):
    (collection.folder / name).symlink_to(outside / "precious")
    collection.add(np.eye(4)[:1], ["e"])
    assert (outside / "precious").read_text() == SECRET
    assert Collection.open(collection.folder).ids == list("abce")
    assert not (collection.folder / name).is_symlink()


def test_a_lock_that_is_another_name_of_a_precious_file_is_left_alone(collection, outside):
    (collection.folder / LOCK).unlink()
    os.link(outside / "precious", collection.folder / LOCK)
    with pytest.raises(CollectionError, match="is no lock of a collection"):
        collection.delete(["a"])
    (outside / "precious").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CollectionError, match="is no lock of a collection"):
        collection.delete(["a"])
    assert (outside / "precious").read_bytes() == b"\xff\xfe\x00"


def test_the_index_and_what_the_explorer_keeps_stay_inside(collection, outside):
    (collection.folder / "index").symlink_to(outside)
    with pytest.raises(CollectionError, match="can be removed at any time"):
        Collection.open(collection.folder).search(np.eye(4)[:1])
    (collection.folder / "index").unlink()
    (collection.folder / "index" / "deep").mkdir(parents=True)
    (collection.folder / "index" / "deep" / "x").symlink_to(outside / "precious")
    with pytest.raises(Outside):
        all_inside(collection.folder, "index")

    from pellucid.search.derived import derived_array

    (collection.folder / "explorer").symlink_to(outside)
    there = sorted(path.name for path in outside.iterdir())
    for _ in range(2):
        made = derived_array(collection.folder / "explorer", "pca", (1,), (2,), np.float32, lambda: np.ones(2, "f4"))
        assert made.tolist() == [1, 1]
    assert sorted(path.name for path in outside.iterdir()) == there


def test_the_mean_of_an_earlier_version_is_no_link(collection, outside):
    (collection.folder / "preprocessing.safetensors").symlink_to(outside / "precious")
    with pytest.raises(CollectionError, match="is a link"):
        _ = collection.preparation


def test_the_folder_itself_may_be_reached_by_a_link(collection, tmp_path, monkeypatch):
    (tmp_path / "here").symlink_to(collection.folder)
    opened = Collection.open(tmp_path / "here")
    opened.add(np.eye(4)[:1], ["e"])
    assert opened.search(np.eye(4)[:1], 1)[0].shape == (1, 1)
    monkeypatch.chdir(tmp_path)
    assert Collection.open("here/../c/../here").ids == list("abce")


def changed(collection, **entries):
    manifest = read_manifest(collection.folder)
    for name, value in entries.items():
        if name.startswith("segment_"):
            manifest["segments"][0][name.removeprefix("segment_")] = value
        else:
            manifest[name] = value
    (collection.folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "entries",
    [
        {"deleted": ".pellucid-x/../../outside/precious"},
        {"deleted": ".pellucid-x"},
        {"deleted": "../outside/precious"},
        {"deleted": "/etc/passwd"},
        {"deleted": "vectors-000001.npy"},
        {"deleted": "deleted-1.npy"},
        {"deleted": 7},
        {"deleted": []},
        {"segment_name": "000001/../../outside"},
        {"segment_name": "1"},
        {"segment_name": "٠٠٠٠٠١"},
        {"segment_name": 1},
        {"segment_rows": -1},
        {"segment_rows": True},
        {"segment_rows": 4.0},
        {"segment_checksum": 2**40},
        {"generation": -1},
        {"generation": True},
        {"generation": 10**30},
        {"dimension": 0},
        {"dimension": 1e400},
        {"segments": {"a": 1}},
        {"segments": None},
        {"engine_options": []},
    ],
    ids=str,
)
def test_what_a_manifest_may_name(collection, outside, entries):
    shutil.copy(collection.folder / "deleted-000002.npy", outside / "precious")
    (collection.folder / ".pellucid-x").mkdir()
    changed(collection, **entries)
    with pytest.raises(CollectionError, match="damaged"):
        Collection.open(collection.folder)


def test_no_segment_stands_there_twice(collection):
    manifest = read_manifest(collection.folder)
    manifest["segments"] *= 2
    (collection.folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CollectionError, match="damaged"):
        Collection.open(collection.folder)


def test_a_millionth_change_can_be_read_again(collection):
    changed(collection, generation=999_998)
    opened = Collection.open(collection.folder)
    for name in "efg":
        opened.add(np.eye(4)[:1], [name])
        assert Collection.open(collection.folder).ids == opened.ids
    opened.delete(["a"])
    assert Collection.open(collection.folder).ids == list("bcefg")
    left = {path.name for path in collection.folder.iterdir()}
    assert {"vectors-999999.npy", "vectors-1000000.npy", "vectors-1000001.npy", "deleted-1000002.npy"} <= left
    assert "deleted-000002.npy" not in left
    changed(collection, generation=10**15 - 1)
    last = Collection.open(collection.folder)
    with pytest.raises(CollectionError, match="changed too many times"):
        last.add(np.eye(4)[:1], ["h"])
    Collection.open(collection.folder)


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a/b/../../../x"])
def test_names_that_climb(tmp_path, name):
    (tmp_path / "in" / "a" / "b").mkdir(parents=True)
    with pytest.raises(Outside):
        inside(tmp_path / "in", name)


def test_the_lock_is_as_good_as_before(tmp_path):
    for _ in range(2):
        with locked(tmp_path):
            assert (tmp_path / LOCK).read_text() == f"process {os.getpid()} on {os.uname().nodename}"
