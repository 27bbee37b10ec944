"""The storm of the soak: a model of 90 concepts behind the explorer, writers of a collection, and a killer of both.

Writers add and delete in processes of their own and say what was acknowledged; one of them, or the explorer in the
middle of a rename, is killed (SIGKILL) every few seconds and started again. At the end everything that was
acknowledged must be there, once, with its checksums.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import ConceptSubspaces, load, save
from pellucid.search import Collection

CONCEPTS, ROWS, DIMENSION, WRITERS = 90, 4_000, 64, 2
WRITER = """
import random, sys, time
import numpy as np
from pellucid.search import Collection, CollectionError
folder, name = sys.argv[1:]
draw, mine, n = random.Random(name), [], 0
while True:
    try:
        opened = Collection.open(folder)
        if mine and draw.random() < 0.3:
            gone = mine.pop(draw.randrange(len(mine)))
            print("deleting", gone, flush=True)
            opened.delete([gone])
            print("deleted", gone, flush=True)
        else:
            new = f"{name}-{n}"
            n += 1
            print("adding", new, flush=True)
            opened.add(np.random.default_rng(n).standard_normal((1, 16)), [new], text=[new])
            mine.append(new)
            print("added", new, flush=True)
    except CollectionError as error:
        assert "is being changed by" in str(error) or "was changed by someone else" in str(error), error
        time.sleep(0.01)
"""


class Writer:
    """A process that writes, and what it has said."""

    def __init__(self, folder: Path, name: str, said: list[tuple[str, str]]) -> None:
        command = [sys.executable, "-c", WRITER, str(folder), name]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self._hear, args=(said,), daemon=True)
        self.thread.start()

    def _hear(self, said: list[tuple[str, str]]) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            if line.endswith("\n"):
                what, name = line.split()
                said.append((what, name))

    def end(self) -> str:
        """Kill it; what it complained of, if it had ended by itself."""
        alone = self.child.poll() is not None
        self.child.kill()
        self.thread.join()
        assert self.child.stderr is not None
        complaint = self.child.stderr.read().strip() if alone else ""
        self.child.wait()
        return complaint


def explorer(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "pellucid", "explore", "c", "-m", "m.safetensors", "--no-browser", "--port", "0"]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    return child, child.stdout.readline().split()[1].rstrip("/")


def soak_storm(seconds: float, rate: float) -> dict[str, Any]:
    """Searches and renames at a rate, writers as fast as they can, and a kill every few seconds."""
    draw, rng = random.Random(0), np.random.default_rng(0)
    directions = rng.standard_normal((CONCEPTS, DIMENSION))
    has = rng.random((ROWS, CONCEPTS)) < 3 / CONCEPTS
    has[np.arange(ROWS), np.arange(ROWS) % CONCEPTS] = True
    X = (has @ directions + 0.3 * rng.standard_normal((ROWS, DIMENSION))).astype(np.float32)
    names = [f"concept {i}" for i in range(CONCEPTS)]
    done = {"searches": 0, "renames": 0, "kills": 0, "changes": 0}
    errors: list[str] = []
    said: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        save(ConceptSubspaces(2, max_iter=3, random_state=0).fit(X, has, names), folder / "m.safetensors")
        Collection.create(folder / "c", X)
        Collection.create(folder / "w", np.eye(16), [f"first-{i}" for i in range(16)], text=["first"] * 16)
        child, address = explorer(folder)
        writers, born = [Writer(folder / "w", f"w{i}", said) for i in range(WRITERS)], WRITERS

        def ask(path: str, body: Any) -> Any:
            request = urllib.request.Request(
                address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.loads(reply.read())

        begun = killed = time.monotonic()
        n = 0
        while time.monotonic() - begun < seconds:
            started, n = time.monotonic(), n + 1
            try:
                if n % 10:
                    asked = {"x": str(draw.randrange(ROWS)), "concept": draw.choice(names), "k": 10}
                    assert len(ask("/api/search", asked | {"diverse": n % 10 == 5})["hits"]) == 10
                    done["searches"] += 1
                else:
                    j = draw.randrange(CONCEPTS)
                    wanted = f"concept {j} {n}"
                    assert ask("/api/rename", {"concept": names[j], "name": wanted})["saved"]
                    names[j] = wanted
                    done["renames"] += 1
            except (urllib.error.URLError, AssertionError, ConnectionError, TimeoutError) as error:
                errors.append(f"{type(error).__name__}: {error}")
            if time.monotonic() - killed > draw.uniform(1, 5):
                killed = time.monotonic()
                done["kills"] += 1
                if draw.random() < 0.2:
                    j = draw.randrange(CONCEPTS)
                    wanted = f"concept {j} half {n}"
                    body = {"concept": names[j], "name": wanted}
                    thread = threading.Thread(target=quietly, args=(ask, "/api/rename", body))
                    thread.start()
                    time.sleep(draw.uniform(0, 0.05))
                    child.kill()
                    child.wait()
                    thread.join()
                    found = str(load(folder / "m.safetensors").concept_names_[j])
                    if found not in (names[j], wanted):
                        errors.append(f"a concept is called {found!r}, neither {names[j]!r} nor {wanted!r}")
                    names[j] = found
                    child, address = explorer(folder)
                else:
                    i = draw.randrange(WRITERS)
                    complaint = writers[i].end()
                    errors += [complaint[-300:]] if complaint else []
                    writers[i], born = Writer(folder / "w", f"w{born}", said), born + 1
            time.sleep(max(0.0, 1 / rate - (time.monotonic() - started)))
        child.kill()
        child.wait()
        errors += [complaint[-300:] for writer in writers if (complaint := writer.end())]
        lost = missing(Collection.open(folder / "w"), said)
        lost += sum(str(a) != b for a, b in zip(load(folder / "m.safetensors").concept_names_, names))
        done["changes"] = sum(what in ("added", "deleted") for what, _ in said)
    return {**done, "errors": errors, "lost": lost, "before": None, "after": None}


def quietly(ask: Any, *asked: Any) -> None:
    try:
        ask(*asked)
    except Exception:  # it is killed meanwhile
        return


def missing(collection: Collection, said: list[tuple[str, str]]) -> int:
    """Acknowledged changes that are not there, and rows that are not as they were written."""
    collection.verify()
    there, at_last = set(collection.ids), {name: what for what, name in said}
    assert len(there) == len(collection.ids)
    # what was begun and not acknowledged may be there or not
    return sum((what == "added") != (name in there) for name, what in at_last.items() if what in ("added", "deleted"))
