"""A collection in the place of another: either of them is there, whole, at any moment."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pellucid
from pellucid import vectors
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection, CollectionError
from support.commands import fails, found
from support.engines import DATABASES, FULL, planted, same_as_exact
from support.killed import killed

RNG = np.random.default_rng(0)
OLD, NEW = planted(RNG, 60, 8), planted(RNG, 300, 5)


def made(folder, **given):
    old = Collection.create(folder, OLD[:40], [f"old {i}" for i in range(40)], text=["x"] * 40, **given)
    old.add(OLD[40:], [f"old {i}" for i in range(40, 60)], text=["x"] * 20)
    old.delete(["old 3", "old 50"])
    return old


def is_old(folder):
    opened = Collection.open(folder)
    if opened.dimension != 8:
        return False
    assert len(opened) == 58
    np.testing.assert_array_equal(opened.vectors([0, 59]), OLD[[0, 59]])
    assert opened.item(59)["text"] == "x"
    assert opened.search(OLD[5:6], 1)[0] == 5
    return True


def check_new(folder, n=300):
    opened = Collection.open(folder)
    assert (len(opened), opened.dimension) == (n, 5)
    np.testing.assert_array_equal(opened.vectors(), NEW[:n])
    assert opened.item(0) == {"id": "new 0"}
    same_as_exact(opened, NEW[:3])


def ids(n=300):
    return [f"new {i}" for i in range(n)]


ENGINES = [*FULL, "lance flat", "milvus flat", "qdrant"]


@pytest.mark.filterwarnings("ignore:.*rows to learn.*", "ignore:.*(fork|unclosed|Deprecat).*")
@pytest.mark.parametrize("setting", ENGINES)
def test_the_new_one_takes_the_place_with_an_index_of_its_own(tmp_path, setting):
    name, given = {**FULL, **DATABASES}[setting]
    needed = {"faiss": "faiss", "lance": "lancedb", "milvus": "pymilvus", "qdrant": "qdrant_client"}.get(name)
    if needed:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    old = made(tmp_path / "c", engine=name, engine_options=given)
    old.search(OLD[:1])  # an index is there
    pellucid.save(CenteredNormalizer().fit(OLD), tmp_path / "c" / "preprocessing.safetensors")
    (tmp_path / "c" / "notes.txt").write_text("mine")
    if name == "qdrant":
        old._engine._forget()  # its local mode serves one at a time
    new = Collection.create(tmp_path / "c", NEW, ids(), engine=name, engine_options=given, overwrite=True)
    assert (new.engine_name, new.engine_options, new.preparation) == (name, given, None)
    same_as_exact(new, NEW[:5])
    if name != "qdrant":
        check_new(tmp_path / "c")
    names = {path.name for path in (tmp_path / "c").iterdir()} - {"index"}
    kept = {"manifest.json", "writer.lock", "notes.txt"}
    number = f"{new._now.manifest['generation']:06d}"
    assert names - kept == {f"vectors-{number}.npy", f"items-{number}.parquet"}, "nothing of the old one"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    new.add(NEW[:1] + 1, ["more"])
    new.delete(["new 0"])
    assert len(Collection.open(tmp_path / "c")) == 300


def test_who_has_the_old_one_open_goes_on_reading_and_may_not_change_the_new_one(tmp_path):
    old, other = made(tmp_path / "c"), Collection.open(tmp_path / "c")
    Collection.create(tmp_path / "c", NEW, ids(), overwrite=True)
    for reader in (old, other):
        assert reader.search(OLD[5:6], 1)[0] == 5
        assert reader.item(5)["id"] == "old 5"
        with pytest.raises(CollectionError, match="was changed by someone else meanwhile; open it again"):
            reader.add(OLD[:1], ["one more"])
        with pytest.raises(CollectionError, match="was changed by someone else"):
            reader.delete(["old 5"])
    check_new(tmp_path / "c")


SCRIPT = """
import numpy as np
from pellucid import vectors
from pellucid.search import Collection
rows = np.load(sys.argv[2])
parts = [vectors.VectorFile(rows[i : i + 150], "v", [f"new {j}" for j in range(i, i + 150)]) for i in (0, 150)]
Collection.from_blocks(sys.argv[1], parts, overwrite=True)
print("done", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_killed_at_any_moment_one_of_them_is_whole(tmp_path):
    """Whatever file is being written or moved: the old collection is there, or the new one, and it can be replaced."""
    np.save(tmp_path / "rows.npy", NEW)
    outcomes = []
    # a manifest, two additions of three files each, four files that move, the manifest that counts
    for moment in range(3 * 12):
        folder = tmp_path / f"{moment}" / "c"
        made(folder)
        assert killed(SCRIPT, moment, folder, tmp_path / "rows.npy") == []
        outcomes.append(is_old(folder))
        if not outcomes[-1]:
            check_new(folder)
        if moment % 3 == 0:
            Collection.create(folder, NEW[:10], ids(10), overwrite=True)
            check_new(folder, 10)
            assert len(list(folder.iterdir())) <= 5, "what the killed process left is gone"
    assert outcomes == [True] * 35 + [False], "from the moment that the manifest has its name"
    command = [sys.executable, "-c", "import sys\n" + SCRIPT, str(folder), str(tmp_path / "rows.npy")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "done\n"


def test_a_full_disk_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    made(tmp_path / "c")
    before = sorted(path.name for path in (tmp_path / "c").iterdir())
    real, moves = os.replace, []

    def full(source, target):
        if os.path.dirname(target) == str(tmp_path / "c"):
            moves.append(target)
            if len(moves) == 2:
                raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CollectionError, match=r"cannot be changed \(No space left on device\); what was in it"):
        Collection.create(tmp_path / "c", NEW, ids(), overwrite=True)
    assert len(moves) == 2
    assert is_old(tmp_path / "c")
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("what", ["files", "a file", "somebody's manifest", "a damaged manifest"])
def test_only_a_collection_is_overwritten(tmp_path, what):
    place = tmp_path / "c"
    if what == "a file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "notes.txt").write_text("mine")
    if "manifest" in what:
        (place / "manifest.json").write_text('{"name": "app"}' if what.startswith("somebody") else '{"format')
    sentence = {"files": "holds no collection, so it is not overwritten; name another folder",
                "a file": "is a file; name a folder"}.get(what, "manifest.json is damaged")  # fmt: skip
    with pytest.raises(CollectionError, match=sentence):
        Collection.create(place, NEW, overwrite=True)
    kept = place if what == "a file" else place / "notes.txt"
    assert kept.read_text() == "mine"
    assert len(list(tmp_path.rglob("*"))) <= 3


def test_where_there_is_nothing_overwrite_changes_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "new"):
        Collection.create(tmp_path / folder, NEW, ids(), overwrite=True)
        check_new(tmp_path / folder)
        with pytest.raises(CollectionError, match="is not empty; open the collection in it, or name another folder"):
            Collection.create(tmp_path / folder, NEW, ids())
    Collection.open(tmp_path / "new").delete(["new 0"])
    Collection.create(tmp_path / "new", NEW[:7], ids(7), overwrite=True)
    check_new(tmp_path / "new", 7)


def test_what_does_not_fit_leaves_the_old_one(tmp_path):
    made(tmp_path / "c")
    for wrong in (
        {"vectors": [[np.nan, 1.0]]}, {"vectors": NEW, "ids": ["a", "a"]}, {"vectors": NEW, "engine": "exat"},
        {"vectors": NEW, "text": ["one"]},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            Collection.create(tmp_path / "c", **wrong, overwrite=True)
        assert is_old(tmp_path / "c")
        assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_from_blocks_takes_columns_of_any_name(tmp_path):
    blocks = [vectors.VectorFile(NEW[i : i + 2], "v", None, {"engine": ["e"] * 2, "vectors": [i] * 2}) for i in (0, 2)]
    opened = Collection.from_blocks(tmp_path / "deep" / "c", blocks)
    assert [opened.item(i) for i in (0, 3)] == [
        {"id": "0", "engine": "e", "vectors": 0}, {"id": "3", "engine": "e", "vectors": 2},
    ]  # fmt: skip
    with pytest.raises(CollectionError, match="There are no blocks of vectors"):
        Collection.from_blocks(tmp_path / "none", [])
    assert not (tmp_path / "none").exists()
    with pytest.raises(CollectionError, match="is not empty"):
        Collection.from_blocks(tmp_path / "deep" / "c", blocks)


def test_index_force(tmp_path):
    made(tmp_path / "c")
    vectors.write(tmp_path / "v.parquet", NEW, ids())
    assert "or replace a collection with --force" in fails(
        "index", tmp_path / "v.parquet", "-o", tmp_path / "c", code=2
    )
    assert is_old(tmp_path / "c")
    vectors.write(tmp_path / "twice.parquet", NEW[:2], ["a", "a"])
    assert "occurs twice" in fails("index", tmp_path / "twice.parquet", "-o", tmp_path / "c", "--force")
    assert is_old(tmp_path / "c")
    assert found("index", tmp_path / "v.parquet", "-o", tmp_path / "c", "--force")["items"] == 300
    check_new(tmp_path / "c")
    assert "which is read" in fails("index", tmp_path / "v.parquet", "-o", tmp_path, "--force", code=2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("not ours")
    assert "holds no collection" in fails("index", tmp_path / "v.parquet", "-o", tmp_path / "other", "--force")
