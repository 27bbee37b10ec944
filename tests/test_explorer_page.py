"""The page that ships: built from the source beside it, complete in the wheel, and content with what is there."""

import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
PAGE = ROOT / "src" / "pellucid" / "explorer" / "page"
SINGLE = ("index.html", "openapi.json", "package-lock.json", "svelte.config.js", "tsconfig.json", "vite.config.js")


def test_the_page_was_built_from_this_source():
    """The same sum as web/vite.config.js writes."""
    if not WEB.is_dir():
        pytest.skip("the source of the page is not here")
    files = [
        path.relative_to(WEB).as_posix()
        for folder in ("src", "public")
        for path in (WEB / folder).rglob("*")
        if path.is_file()
    ]
    digest = hashlib.sha256()
    for name in sorted([*files, *SINGLE]):
        digest.update(f"{name}\0{(WEB / name).read_text(encoding='utf-8')}\0".encode())
    assert (PAGE / "source.txt").read_text().strip() == digest.hexdigest(), "web/ has changed: run make web and commit"


def test_the_types_of_the_page_are_those_of_the_service():
    """web/src/lib/schema.d.ts is made from this file, and both are part of the sum above."""
    from tools.openapi import TARGET, description

    committed = json.loads(TARGET.read_text(encoding="utf-8"))
    assert committed == json.loads(description()), "the HTTP service has changed: run make web and commit"


def test_the_lock_file_names_no_registry():
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_the_page_loads_nothing_from_elsewhere():
    """Addresses in it are names of formats, and links in messages of the framework."""
    known = re.compile(r"https?://(www\.w3\.org/|svelte\.dev/e/)")
    for path in PAGE.rglob("*"):
        if path.suffix in (".js", ".css", ".html", ".svg"):
            text = path.read_text(encoding="utf-8")
            assert not [a for a in re.findall(r"https?://[^\s\"'`)]*", text) if not known.match(a)], path.name
            assert "@import" not in text
            assert "sourceMappingURL" not in text
            assert not re.search(r"\beval\(|new Function\(", text), path.name  # the page forbids it to itself
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    for target in re.findall(r"(?:src|href)=\"([^\"]+)\"", index):
        assert (PAGE / target.lstrip("/")).is_file(), target
    assert not re.search(r"<script(?![^>]*\bsrc=)", index)
    assert "svelte" in (PAGE / "licences.md").read_text(encoding="utf-8")


SERVED = """
import json, sys, urllib.request
import numpy as np
import pellucid
from pellucid.search import Collection

collection = Collection.create("vectors", np.eye(3), ["a", "b", "c"])
with pellucid.explore(collection, open_browser=False) as server:
    def get(path):
        with urllib.request.urlopen(server.address + path) as reply:
            return reply.headers.get_content_type(), reply.read().decode()
    found = {path: get(path) for path in ("", "concepts", "assets/app.js", "assets/index.css", "api/collection")}
print(json.dumps({"home": pellucid.__file__, "found": found}))
"""


def test_the_wheel_serves_the_page(tmp_path):
    """Built, installed where nothing else of Pellucid is, started, fetched."""
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    pytest.importorskip("hatchling", reason="the build tool is not installed")
    run = lambda *command, cwd=tmp_path: subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd)  # noqa: E731
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist"), cwd=ROOT)
    wheel = next((tmp_path / "dist").glob("*.whl"))
    assert "pellucid/explorer/page/index.html" in zipfile.ZipFile(wheel).namelist()
    run(sys.executable, "-m", "venv", "--without-pip", "clean")
    python = tmp_path / "clean" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    )
    place = run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    # dependencies come from here; a plain path does not bring the editable Pellucid along
    (Path(place) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    told = json.loads(run(str(python), "-I", "-c", SERVED).stdout)
    assert Path(told["home"]).is_relative_to(tmp_path / "clean")
    assert '<div id="app">' in told["found"][""][1]
    assert told["found"][""] == told["found"]["concepts"]
    assert told["found"]["assets/app.js"] == [
        "text/javascript",
        (PAGE / "assets" / "app.js").read_text(encoding="utf-8"),
    ]
    assert told["found"]["assets/index.css"][0] == "text/css"
    assert json.loads(told["found"]["api/collection"][1])["count"] == 3
