"""What strangers send and odd terminals do ends in one sentence, never in an error of Python or of a library."""

import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

from pellucid import vectors
from pellucid.search import Collection, CollectionError
from pellucid.vectors import VectorFileError
from support.explorer_data import planted, small_collection

DEEP = "[" * 200_000 + "]" * 200_000
ABSURD = [
    DEEP,
    '{"format": ' + DEEP + "}",
    '{"format": ' + "9" * 5_000 + "}",
    '{"format": 1, "segments": [], "deleted": null, "dimension": 1e999, "generation": 0}',
    '{"format": 1, "segments": [[]], "deleted": null}',
    '{"format": 1, "segments": [{"name": "000001", "rows": 1e999, "checksum": 0}], "deleted": null}',
    '{"format": 1, "segments": 7}',
    "null",
    "7",
    '"text"',
    "",
    "\x00",
    "\ufeff{}",
    '{"a": NaN}',
]


@pytest.mark.parametrize("text", ABSURD, ids=lambda text: text[:20])
def test_deep_and_absurd_manifests(tmp_path, text):
    made = Collection.create(tmp_path / "c", np.eye(2))
    (made.folder / "manifest.json").write_text(text, encoding="utf-8")
    for use in (lambda: Collection.open(made.folder), lambda: made.delete(["0"])):
        with pytest.raises(CollectionError, match=r"is damaged|has collection format"):
            use()
    (made.folder / "manifest.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(CollectionError, match="is damaged"):
        Collection.open(made.folder)


def safetensors(path, entries, data):
    header = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


@pytest.mark.parametrize("column", [None, "a"])
def test_arrays_in_the_same_bytes(tmp_path, column):
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    path = tmp_path / "v.safetensors"

    def entry(begin, end, shape=(4, 2)):
        return {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}

    safetensors(path, {"a": entry(0, 32), "b": entry(32, 32, (0, 2)), "c": entry(32, 64)}, rows.tobytes() * 2)
    assert vectors.read(path, "a").vectors.tolist() == rows.tolist()
    for second in (entry(0, 32), entry(16, 48), entry(4, 36), entry(0, 16, (2, 2))):
        safetensors(path, {"a": entry(0, 32), "b": second}, rows.tobytes() * 2)
        with pytest.raises(VectorFileError, match=r"'a' and 'b' in the same bytes|'b' and 'a' in the same bytes"):
            vectors.read(path, column)


def test_odd_origins(tmp_path):
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    from fastapi.testclient import TestClient

    from pellucid.explorer import create_app

    client = TestClient(
        create_app(collection=small_collection(tmp_path / "c", *planted(12))),
        "http://127.0.0.1:8750",
        raise_server_exceptions=False,
    )
    for origin in (
        "http://[",
        "http://[::1",
        "//",
        "",
        "http://\u0660",
        "http://[v1.x]",
        "\\",
        "http://127.0.0.1:99999999",
    ):
        assert client.get("/api/collection", headers={"origin": origin.encode("utf-8")}).status_code == 403, origin
    for host in ("[", "[::1", "127.0.0.1:x", "127.0.0.1:99999999", "@", "[v1.x]"):
        assert client.get("/api/collection", headers={"host": host}).status_code in (200, 400, 421), host
    for path in ("/api/items?row=9" + "9" * 5_000, "/api/shares?concept=%ff", "/api/item?id=%00", "/%ff%fe"):
        assert 400 <= client.get(path).status_code < 500, path
    for body in (DEEP, '{"x": ' + DEEP + "}", '{"x": "0", "k": ' + "9" * 5_000 + "}", '{"x": "\\ud800"}', b"\xff"):
        reply = client.post("/api/search", content=body, headers={"content-type": "application/json"})
        assert 400 <= reply.status_code < 500, body[:20]
        assert isinstance(reply.json()["detail"], str)


def pellucid(*arguments, shell="", **environment):
    """The command in a process of its own, with its streams as the shell is told."""
    program = [sys.executable, "-c", "from pellucid.cli import main; main()", *map(str, arguments)]
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", *program]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, stdin=subprocess.DEVNULL)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
def test_streams_that_are_closed_full_or_know_few_letters(tmp_path):
    letters = ["日本", "👩", "ü"]
    vectors.write(tmp_path / "v.parquet", np.eye(3), letters, {"text": letters})
    closed = pellucid("select", "-", "-k", 2, shell="<&-")
    assert closed.returncode == 2
    assert b"standard input, but that is closed" in closed.stderr
    for few in ("ascii", "latin-1"):
        shown = pellucid("select", tmp_path / "v.parquet", "-k", 3, PYTHONIOENCODING=few, PYTHONUTF8="0")
        assert shown.returncode == 0, shown.stderr
        assert b"\\u65e5\\u672c" in shown.stdout
    told = pellucid("select", tmp_path / "v.parquet", "-k", 3, "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert {row["id"] for row in json.loads(told.stdout)} == set(letters)
    wrong = pellucid("select", tmp_path / "日.parquet", "-k", 3, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert wrong.returncode == 2
    assert b"Traceback" not in wrong.stderr
    if os.path.exists("/dev/full"):
        full = pellucid("select", tmp_path / "v.parquet", "-k", 3, shell="> /dev/full")
        assert full.returncode == 1
        assert full.stderr.splitlines() == [b"Error: [Errno 28] No space left on device"]
    silent = pellucid("select", tmp_path / "v.parquet", "-k", 3, "-o", tmp_path / "o.npy", shell=">&- 2>&-")
    assert silent.returncode == 0
    assert np.load(tmp_path / "o.npy").shape == (3, 3)


def test_text_on_standard_input_that_is_none(tmp_path):
    from support.commands import fails

    Collection.create(tmp_path / "c", np.eye(2))
    for given in (b"\xff\xfe", DEEP.encode(), b'{"a": 1}', b"[1, [2]]", b"[NaN, 1]", b"9" * 5_000, b""):
        said = fails("search", tmp_path / "c", "--vector", "-", stdin=given, code=2 if given != b"[NaN, 1]" else 1)
        assert "Traceback" not in said
