"""`pellucid explore` as somebody starts and stops it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid
from support.explorer_data import planted, small_collection, small_model
from support.waiting import PATIENCE

pytest.importorskip("fastapi", reason="the explore extra is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

SCRIPT = Path(sys.executable).parent / "pellucid"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    X, Y = planted()
    folder = tmp_path_factory.mktemp("explore")
    small_collection(folder / "collection", X, Y)
    pellucid.save(small_model(X, Y), folder / "model.safetensors")
    (folder / "empty").mkdir()
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent otherwise there")
def test_it_serves_until_it_is_stopped(folder):
    command = [SCRIPT, "explore", "collection", "--model", "model.safetensors", "--no-browser", "--port", "0"]
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = running.stdout.readline().removeprefix("Explorer: ").strip()
        assert httpx.get(f"{address}api/collection", timeout=PATIENCE).json()["count"] == 60
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
    assert running.returncode == 0
    assert errors == "Opening collection …\n"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nowhere"], 2, "nowhere"),
        (["collection", "--model", "none"], 2, "none"),
        (["collection", "--host", "0.0.0.0"], 1, "can be served without a token"),
        (["collection", "--token", "short"], 1, "at least 16"),
        (["collection", "--port", "70000"], 2, "70000"),
        (["empty"], 1, "is not a collection"),
    ],
)
def test_misuse_is_one_sentence(folder, arguments, code, sentence):
    environment = {key: value for key, value in os.environ.items() if key != "PELLUCID_TOKEN"}
    command = [SCRIPT, "explore", *arguments, "--no-browser"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert told.returncode == code, told.stderr
    assert sentence in told.stderr
    assert "Traceback" not in told.stderr
