"""Other writers, full disks, folders that may not be written to, and hostile files: the old state stays whole."""

import errno
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import pellucid
from pellucid._core import atomic
from pellucid.persistence import ModelFileError
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection, CollectionError, _lock
from pellucid.search._lock import LOCK, Locked, locked
from support import fuzz
from support.waiting import PATIENCE, Clock

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and mounts of POSIX")


def content(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and p.name != LOCK}


# two writers

HOLDER = """
import sys
from pathlib import Path
from pellucid.search import _lock
from pellucid.search._lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that is in the middle of changing a collection."""
    collection = Collection.create(tmp_path / "c", np.eye(3), list("abc"))
    command = [sys.executable, "-c", HOLDER, str(collection.folder)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    yield collection, child
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()


def test_a_second_writer_is_refused_and_readers_are_not(holder):
    collection, child = holder
    before = content(collection.folder)
    for change in (lambda: collection.add(np.ones((1, 3)), ["d"]), lambda: collection.delete(["a"])):
        with pytest.raises(
            CollectionError, match=rf"is being changed by process {child.pid} on .* now; try again when"
        ):
            change()
    assert content(collection.folder) == before
    for _ in range(3):
        assert Collection.open(collection.folder).search(np.eye(3), 1)[0][:, 0].tolist() == [0, 1, 2]


def test_a_lock_dies_with_its_holder(holder):
    collection, child = holder
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert (collection.folder / LOCK).read_text().startswith(f"process {child.pid} "), "the file is still there"
    collection.add(np.ones((1, 3)), ["d"])
    assert Collection.open(collection.folder).ids == list("abcd")


def test_waiting_for_a_lock(tmp_path, monkeypatch):
    release = threading.Event()
    inside = threading.Event()

    def hold():
        with locked(tmp_path):
            inside.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    clock = Clock()
    monkeypatch.setattr(_lock, "time", clock)
    with pytest.raises(Locked, match=f"process {os.getpid()} on"), locked(tmp_path, wait=0.05):
        pass
    assert 0.05 <= clock.now < 0.1

    def let_go():
        release.set()
        thread.join()

    clock.meanwhile = let_go
    with locked(tmp_path, wait=10):
        assert not thread.is_alive()


def test_writers_that_start_at_once_lose_nothing(tmp_path):
    """Three processes add as fast as they can; whoever is refused opens again and tries again at once, for then another
    is getting on. All that was acknowledged is there, once."""
    Collection.create(tmp_path / "c", np.zeros((1, 4)) + 1, ["first"])
    script = """
import sys, numpy as np
from pellucid.search import Collection, CollectionError
print("ready", flush=True)
sys.stdin.readline()
done = 0
while done < 6:
    try:
        Collection.open(sys.argv[1]).add(np.ones((1, 4)), [f"{sys.argv[2]}-{done}"])
        done += 1
        print(f"{sys.argv[2]}-{done - 1}", flush=True)
    except CollectionError as error:
        assert "is being changed by" in str(error) or "was changed by someone else" in str(error), error
"""
    command = [sys.executable, "-c", script, str(tmp_path / "c")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen([*command, str(i)], **pipes) for i in range(3)]
    assert [child.stdout.readline() for child in children] == ["ready\n"] * 3
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [name for child in children for name in child.communicate(timeout=PATIENCE)[0].split()]
    assert [child.returncode for child in children] == [0] * 3
    assert sorted(Collection.open(tmp_path / "c").ids) == sorted(["first", *said])
    assert len(said) == 18


def test_two_that_create_the_same_folder(tmp_path):
    with locked(tmp_path), pytest.raises(CollectionError, match="is being changed by"):
        Collection.create(tmp_path, np.eye(3))
    Collection.create(tmp_path, np.eye(3))
    with pytest.raises(CollectionError, match="is not empty"):
        Collection.create(tmp_path, np.eye(3))


# disks and folders that fail


@contextmanager
def mounted(folder, options):
    """A small file system of our own, where that is allowed."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def model_of(width):
    return CenteredNormalizer().fit(np.random.default_rng(0).standard_normal((5, width)))


@posix
def test_a_disk_that_fills_up(tmp_path, rng):
    with mounted(tmp_path / "small", "size=2m") as disk:
        rows = rng.standard_normal((1000, 64)).astype(np.float32)  # 256 kB
        collection = Collection.create(disk / "c", rows[:100], [f"a{i}" for i in range(100)])
        pellucid.save(model_of(64), disk / "m.safetensors")
        added, reason = 0, ""
        while not reason:
            whole = content(collection.folder)
            try:
                collection.add(rows, [f"{added}-{i}" for i in range(1000)])
                added += 1
            except CollectionError as error:
                reason = str(error)
        assert reason.endswith("cannot be changed (No space left on device); what was in it before is whole.")
        assert added > 2
        assert content(collection.folder) == whole, "every byte as it was, and nothing left behind"
        with pytest.raises(OSError, match="No space left on device"):
            pellucid.save(model_of(200_000), disk / "m.safetensors")
        assert pellucid.load(disk / "m.safetensors").n_features_in_ == 64
        with pytest.raises(OSError, match="No space left on device"):
            pellucid.vectors.write(disk / "v.npy", np.ones((100_000, 64)))
        assert {path.name for path in disk.iterdir()} == {"c", "m.safetensors"}
        # it can be read while the disk is full, and written to when there is room again
        again = Collection.open(disk / "c")
        assert len(again) == 100 + 1000 * added
        np.testing.assert_array_equal(again.search(rows[:3], 1)[0][:, 0], [0, 1, 2])
        (disk / "m.safetensors").unlink()
        again.delete(["a0"])
        assert "a0" not in Collection.open(disk / "c")


@posix
def test_a_disk_that_becomes_read_only(tmp_path, rng):
    with mounted(tmp_path / "disk", "size=8m") as disk:
        rows = rng.standard_normal((300, 16)).astype(np.float32)
        given = {"engine": "faiss", "engine_options": {"kind": "hnsw"}}
        collection = Collection.create(disk / "c", rows, **given)
        pellucid.save(model_of(16), disk / "m.safetensors")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for change in (
            lambda: collection.add(rows, list(map(str, range(900, 1200)))),
            lambda: collection.delete(["1"]),
        ):
            with pytest.raises(CollectionError, match=r"cannot be changed \(Read-only file system\)"):
                change()
        with pytest.raises(OSError, match="Read-only file system"):
            pellucid.save(model_of(17), disk / "m.safetensors")
        with pytest.warns(UserWarning, match="The index cannot be kept in"):
            assert Collection.open(disk / "c").search(rows[:3], 1)[0][:, 0].tolist() == [0, 1, 2]
        assert pellucid.load(disk / "m.safetensors").n_features_in_ == 16
        with pytest.raises(CollectionError, match="Read-only file system"):
            Collection.create(disk / "d", rows)


@posix
def test_a_folder_that_may_not_be_written_to(tmp_path, rng):
    """Seen with the eyes of a user who is not root: `add` in a child that gave up its rights."""
    rows = rng.standard_normal((20, 4)).astype(np.float32)
    folder = Collection.create(tmp_path / "c", rows).folder
    before = content(folder)
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    script = """
import os, sys, numpy as np
from pellucid.search import Collection, CollectionError
Collection.open(sys.argv[1]).search(np.ones((1, 4)), 3)  # imports what perhaps only root may find
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
collection = Collection.open(sys.argv[1])
assert collection.search(np.ones((1, 4)), 3)[0].shape == (1, 3)
for change in (lambda: collection.add(np.ones((1, 4)), ["new"]), lambda: collection.delete(["1"])):
    try:
        change()
    except CollectionError as error:
        print(error)
"""
    for parent in folder.parents:  # a folder of pytest that nobody else may look into
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    said = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True)
    folder.chmod(0o755)
    assert said.stdout.count("cannot be changed (Permission denied); what was in it before is whole.") == 2, said.stderr
    assert content(folder) == before


class Failing:
    """A system call that fails at its n-th use; what was written before stays half-written."""

    def __init__(self, monkeypatch, name, at, error):
        self.calls, self.at = 0, at
        real = getattr(atomic.os, name)

        def call(*arguments, **keywords):
            self.calls += 1
            if self.calls == self.at:
                raise error
            return real(*arguments, **keywords)

        monkeypatch.setattr(atomic.os, name, call)


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "Input/output error"), OSError(errno.EDQUOT, "Disk quota exceeded"), KeyboardInterrupt()],
    ids=["io", "quota", "ctrl-c"],
)
@pytest.mark.parametrize("change", ["add", "delete", "save"])
def test_every_system_call_that_can_fail(tmp_path, monkeypatch, name, error, change):
    """Whichever call fails, and however: the folder is the old one or, after its last rename, the new one; and the next
    change works."""
    for at in range(1, 12):
        place = tmp_path / str(at)
        collection = Collection.create(place, np.eye(3), list("abc"))
        pellucid.save(model_of(3), place / "m.safetensors")
        with monkeypatch.context() as patch:
            failing = Failing(patch, name, at, error)
            try:
                if change == "add":
                    collection.add(np.ones((1, 3)), ["d"])
                elif change == "delete":
                    collection.delete(["a"])
                else:
                    pellucid.save(model_of(4), place / "m.safetensors")
                stopped = False
            except (CollectionError, OSError, KeyboardInterrupt):
                stopped = True
        again = Collection.open(place)
        old, new = list("abc"), {"add": list("abcd"), "delete": list("bc"), "save": list("abc")}[change]
        assert again.ids in ((old, new) if stopped else (new,))
        assert pellucid.load(place / "m.safetensors").n_features_in_ in ((3, 4) if change == "save" else (3,))
        again.add(np.ones((1, 3)), ["after"])
        assert [p for p in place.iterdir() if p.name.startswith(".pellucid")] == []
        if failing.calls < at:
            assert not stopped
            return
    raise AssertionError("the change uses more calls than were tried")


# hostile files


@posix
@pytest.mark.parametrize("kind", ["model", "parquet", "h5ad", "collection"])
def test_damaged_files_are_read_or_refused(kind):
    """Never a hang, a crash, an allocation bomb or a file changed elsewhere; `make fuzz` tries more, and
    tests/test_vectors.py the other kinds."""
    if kind == "h5ad":
        pytest.importorskip("anndata", reason="the anndata extra is not installed")
    found = fuzz.fuzz(kind, 250, first=10**6)
    assert found["broken"] == []
    assert found["refused"] > 100
    assert found["read"] + found["refused"] == 250


def test_headers_that_claim_a_terabyte(tmp_path):
    """Each is refused before anything is allocated."""
    import json
    import struct

    shape = "(250000000000, 4)"
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    (tmp_path / "a.npy").write_bytes(header + b"\0" * 64)
    tensors = json.dumps({"vectors": {"dtype": "F32", "shape": [250_000_000_000, 4], "data_offsets": [0, 4 * 10**12]}})
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(tensors)) + tensors.encode() + b"\0" * 64)
    for name in ("a.npy", "a.safetensors"):
        tracemalloc.start()
        with pytest.raises(pellucid.vectors.VectorFileError):
            pellucid.vectors.read(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
        tracemalloc.stop()
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "a.safetensors")
    collection = Collection.create(tmp_path / "c", np.eye(4, dtype=np.float32))
    collection.delete(["0"])
    for name in ("vectors-000001.npy", "deleted-000002.npy"):
        whole = (collection.folder / name).read_bytes()
        (collection.folder / name).write_bytes(header + b"\0" * 64)
        with pytest.raises(CollectionError, match="is damaged"):
            Collection.open(collection.folder)
        (collection.folder / name).write_bytes(whole)


def test_collections_that_fuzzing_broke(tmp_path):
    """Seeds of files that once raised something other than a sentence about the folder."""
    folder, files = tmp_path / "c", fuzz.sources("collection")
    folder.mkdir()
    for seed in (2744, 3195, 7094, 7915, 27694):
        assert fuzz.attempt("collection", folder, files, seed) is False
