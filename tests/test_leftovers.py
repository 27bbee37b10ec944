"""What a killed process leaves is swept by the next one that writes there, and nothing else is."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pellucid
from pellucid._core import atomic
from pellucid._core.atomic import QUIET, atomic_path, sweep, temporary_name
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection
from support.commands import run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="asks the system whether a process runs")

KILLED = """
import os, signal, sys
import pellucid
from pellucid._core import atomic
from pellucid.preparation import CenteredNormalizer
real = os.replace
def kill(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = kill
pellucid.save(CenteredNormalizer().fit([[1.0, 2.0], [3.0, 4.0]]), sys.argv[1])
"""


def age(path, seconds=2 * QUIET):
    past = time.time() - seconds
    os.utime(path, (past, past), follow_symlinks=False)


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """As a new process is."""
    monkeypatch.setattr(atomic, "_swept", set())


@pytest.fixture
def gone():
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_the_next_writer_sweeps_what_a_killed_one_left(tmp_path):
    model = tmp_path / "m.safetensors"
    fitted = CenteredNormalizer().fit([[1.0, 2.0], [3.0, 4.0]])
    pellucid.save(fitted, model)
    child = subprocess.run([sys.executable, "-c", KILLED, str(model)], capture_output=True)
    assert child.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".pellucid-*")
    atomic._swept.clear()
    pellucid.save(fitted, model)
    assert left.exists(), "it may still be somebody's"
    age(left)
    atomic._swept.clear()
    pellucid.save(fitted, model)
    assert os.listdir(tmp_path) == ["m.safetensors"]


def test_only_what_is_old_and_ours_goes(tmp_path, gone):
    def made(name, old=True):
        (tmp_path / name).write_text("x")
        if old:
            age(tmp_path / name)
        return name

    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("not ours")
    token = "0123456789abcdef"
    kept = {
        made(f".pellucid-{gone}-{token}.npy", old=False),
        made(temporary_name(".npy")),  # of this process, which runs
        made(f".pellucid-1-{token}"),
        made(".pellucid-notes"),
        made(f".pellucid-{gone}"),
        made(f"pellucid-{gone}-{token}"),
        made(f".pellucid-{gone}-{token}.npy~"),
        made(".pellucid-99999999999999-x"),
        "outside",
    }
    made(f".pellucid-{gone}-{token[::-1]}.npy")
    made(f".pellucid-{gone}-abc")
    (tmp_path / f".pellucid-{gone}-folder").mkdir()
    (tmp_path / f".pellucid-{gone}-folder" / "rows.npy").write_text("x")
    age(tmp_path / f".pellucid-{gone}-folder")
    (tmp_path / f".pellucid-{gone}-link").symlink_to(tmp_path / "outside")
    age(tmp_path / f".pellucid-{gone}-link")
    with atomic_path(tmp_path / "new") as path:
        path.write_text("new")
    assert set(os.listdir(tmp_path)) == kept | {"new"}
    assert (tmp_path / "outside" / "precious").read_text() == "not ours"


def test_folders_and_commands_sweep_too(tmp_path, gone):
    np.save(tmp_path / "v.npy", np.eye(4))
    for write in (
        lambda: Collection.create(tmp_path / "c", np.eye(2), overwrite=True),
        lambda: run("index", tmp_path / "v.npy", "-o", tmp_path / "d"),
        lambda: run("select", tmp_path / "v.npy", "-k", 2, "-o", tmp_path / "s.npy"),
    ):
        atomic._swept.clear()
        left = tmp_path / f".pellucid-{gone}-abc"
        left.mkdir()
        (left / "rows.npy").write_text("x")
        age(left)
        if not (tmp_path / "c").exists():
            Collection.create(tmp_path / "c", np.eye(3))
        write()
        assert not left.exists()


def test_a_writer_of_a_collection_removes_what_is_left_in_it(tmp_path, gone):
    made = Collection.create(tmp_path / "c", np.eye(2))
    (made.folder / f".pellucid-{gone}-abc").mkdir()
    (made.folder / ".pellucid-x").write_text("x")
    made.add(np.eye(2), ["a", "b"])
    assert not list(made.folder.glob(".pellucid-*"))


def test_sweeping_is_no_reason_to_fail(tmp_path):
    sweep(tmp_path / "nowhere")
    atomic._swept.clear()
    sweep(tmp_path / "nowhere" / "\udcff")
