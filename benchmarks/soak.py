"""A soak: mixed reads and writes at a bounded rate, on this machine alone, for as long as you say.

    python -m benchmarks.soak --minutes 60 explorer
    python -m benchmarks.soak --minutes 10 exact faiss lance postgres milvus qdrant

At the end every acknowledged write must be there, no request may have failed, and memory may have grown by 5 % at most
between the end of the first quarter, when caches are warm, and the end. Results go to benchmarks/results/soak.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.harness import circumstances
from benchmarks.storm import soak_storm
from pellucid.search import Collection

RESULTS = Path(__file__).parent / "results"
ENGINES = ("exact", "faiss", "lance", "postgres", "milvus", "qdrant")
LIMIT = 0.05
DIMENSION, AT_START, EACH = 32, 1000, 5


class Memory:
    """What processes hold in memory, once a second; servers count with what they share once."""

    def __init__(self, processes: Callable[[], list[psutil.Process]]) -> None:
        self.samples: list[float] = []
        self._done = threading.Event()
        self._processes = processes
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(1.0):
            total = 0
            for process in self._processes():
                try:
                    total += process.memory_full_info().uss
                except psutil.NoSuchProcess:
                    continue
            self.samples.append(total / 2**20)

    def growth(self) -> tuple[float, float]:
        """Megabytes at the end of the first quarter and at the end, medians over a tenth of the time each."""
        self._done.set()
        self._thread.join()
        n = len(self.samples)
        width = max(3, n // 10)
        first, last = self.samples[n // 4 : n // 4 + width], self.samples[-width:]
        return statistics.median(first), statistics.median(last)


def paced(seconds: float, rate: float) -> Iterator[int]:
    """Numbers from 0, `rate` a second, until the time is over; whoever is late does not catch up."""
    begun, n = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        started = time.monotonic()
        yield n
        n += 1
        time.sleep(max(0.0, 1 / rate - (time.monotonic() - started)))


def soak_engine(name: str, seconds: float, rate: float) -> dict[str, Any]:
    """Seven in ten are searches, the rest additions and deletions of a few rows; every search is checked."""
    draw, rng = random.Random(0), np.random.default_rng(0)
    done: dict[str, int] = {"searches": 0, "additions": 0, "deletions": 0}
    errors: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, served(name, Path(folder)) as (given, pids):
        rows = {f"{i}": rng.standard_normal(DIMENSION).astype(np.float32) for i in range(AT_START)}
        place = Path(folder) / "c"
        collection = Collection.create(
            place, np.array(list(rows.values())), list(rows), engine=name, engine_options=given
        )
        memory = Memory(lambda: [psutil.Process(), *pids()])
        for n in paced(seconds, rate):
            try:
                kind = draw.random()
                if kind < 0.7:
                    wanted = draw.choice(list(rows))
                    positions, _ = collection.search(rows[wanted][None], 5)
                    assert collection.item(int(positions[0, 0]))["id"] == wanted, f"{wanted} is not its own neighbour"
                    done["searches"] += 1
                elif kind < 0.85:
                    new = {f"{n}-{i}": rng.standard_normal(DIMENSION).astype(np.float32) for i in range(EACH)}
                    collection.add(np.array(list(new.values())), list(new))
                    rows |= new
                    done["additions"] += 1
                else:
                    gone = draw.sample(list(rows), EACH)
                    collection.delete(gone)
                    for item in gone:
                        del rows[item]
                    done["deletions"] += 1
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
        before, after = memory.growth()
        found, _ = collection.search(np.ones((1, DIMENSION)), 10 * len(rows))
        there = {collection.item(int(position))["id"] for position in found[0]}
        fresh = Collection.open(place, engine="exact")
        lost = (set(rows) ^ set(fresh.ids)) | (set(rows) ^ there)
    return {**done, "errors": errors, "lost": len(lost), "before": before, "after": after}


@contextmanager
def served(name: str, folder: Path) -> Iterator[tuple[dict[str, Any], Callable[[], list[psutil.Process]]]]:
    """Options of an engine, with a server of its own where it needs one, and the server's processes."""
    if name == "faiss":
        yield {"kind": "hnsw"}, list
        return
    if name not in ("postgres", "milvus"):
        yield {}, list
        return
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from support import servers

    server: Any = servers.Postgres() if name == "postgres" else servers.Milvus(folder / "server")
    main = psutil.Process(server.pid)
    try:
        yield {"dsn": server.dsn}, lambda: [main, *main.children(recursive=True)]
    finally:
        server.stop()


def soak_explorer(seconds: float, rate: float) -> dict[str, Any]:
    """Nine in ten are reads of all kinds, the rest give a concept another name, which the model's file must keep."""
    from pellucid import ConceptSubspaces, load, save
    from pellucid.datasets import load_scenes
    from pellucid.preparation import CenteredNormalizer

    scenes, draw = load_scenes(), random.Random(0)
    before = CenteredNormalizer().fit(scenes.vectors.astype(np.float32))
    X = before.transform(scenes.vectors.astype(np.float32))
    model = ConceptSubspaces(4, max_iter=2, center=False).fit(X, scenes.coarse, scenes.coarse_names)
    done = {"reads": 0, "renames": 0}
    errors: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        Collection.create(Path(folder) / "c", X, text=scenes.texts)
        save(model, Path(folder) / "m.safetensors")
        script = "from pellucid.cli import main; main()"
        command = [
            sys.executable,
            "-c",
            script,
            "explore",
            "c",
            "--model",
            "m.safetensors",
            "--no-browser",
            "--port",
            "0",
        ]
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        address = child.stdout.readline().split()[1].rstrip("/")
        names = [str(name) for name in scenes.coarse_names]

        def ask(path: str, body: Any = None) -> Any:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json"} if data else {}
            with urllib.request.urlopen(urllib.request.Request(address + path, data, headers), timeout=30) as reply:
                return json.loads(reply.read())

        def read(call: int, item: str) -> None:
            if call < 3:
                assert len(ask("/api/search", {"x": item, "concept": draw.choice(names), "k": 10})["hits"]) == 10
            elif call == 3:
                ask("/api/search", {"x": item, "k": 10, "diverse": True})
            elif call == 4:
                ask("/api/explain", {"x": item, "y": [str(draw.randrange(len(X)))]})
            elif call < 7:
                ask(f"/api/{('parts', 'item')[call - 5]}?id={item}")
            else:
                ask(f"/api/{('concepts', 'cooccurrence')[call - 7]}")

        while not ready(ask("/api/status")):
            time.sleep(0.5)
        for call in range(9):  # the first of each makes what the later ones find
            while True:
                try:
                    read(call, "0")
                    break
                except urllib.error.HTTPError as error:
                    if error.code not in (408, 503):
                        raise
        server = psutil.Process(child.pid)
        memory = Memory(lambda: [server])
        for n in paced(seconds, rate):
            try:
                if n % 10 < 9:
                    read(n % 10, str(draw.randrange(len(X))))
                    done["reads"] += 1
                    continue
                j = draw.randrange(len(names))
                wanted = f"{scenes.coarse_names[j]} {n}"
                assert ask("/api/rename", {"concept": names[j], "name": wanted})["saved"]
                names[j] = wanted
                done["renames"] += 1
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
        first, last = memory.growth()
        child.send_signal(signal.SIGINT)
        child.wait(timeout=30)
        child.stdout.close()
        kept = [str(name) for name in load(Path(folder) / "m.safetensors").concept_names_]
    return {**done, "errors": errors, "lost": sum(a != b for a, b in zip(kept, names)), "before": first, "after": last}


def ready(status: dict[str, Any]) -> bool:
    return all(part.get("state", "ready") == "ready" for part in status.values() if isinstance(part, dict))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", choices=("explorer", "storm", *ENGINES))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=5.0, help="requests a second")
    given = parser.parse_args()
    failed = False
    for name in given.targets:
        kinds = {"explorer": soak_explorer, "storm": soak_storm}
        soak = kinds.get(name) or (lambda s, r, name=name: soak_engine(name, s, r))
        found = soak(60 * given.minutes, given.rate)
        growth = found["after"] / found["before"] - 1 if found["before"] else 0.0  # processes that are killed have none
        passed = not found["errors"] and not found["lost"] and growth <= LIMIT
        failed |= not passed
        facts = {key: value for key, value in circumstances().items() if key in ("date", "cores", "python")}
        entry = {**facts, "minutes": given.minutes, "rate": given.rate, **found, "growth": growth, "passed": passed}
        keep(name, entry)
        print(name, {key: value for key, value in entry.items() if key != "errors"}, found["errors"][:5], flush=True)
    sys.exit(failed)


def keep(name: str, entry: dict[str, Any]) -> None:
    """One row for each target, of its last run."""
    path = RESULTS / "soak.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    rows[name] = {**entry, "errors": entry["errors"][:20]}
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    lines = [
        "# Soak", "",
        "Printed by `python -m benchmarks.soak`, on loopback; each row is the last run of its target. Memory is what "
        "no other process shares, of the process and its server, at the end of the first quarter and at the end.", "",
        "| target | date, cores | minutes | a second | reads | writes | errors | writes lost | memory |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for target, row in rows.items():
        reads = row.get("reads", row.get("searches"))
        writes = row.get("renames", row.get("additions", 0) + row.get("deletions", 0)) + row.get("changes", 0)
        kept = f"{row['before']:.1f} MB, {row['after']:.1f} MB ({row['growth']:+.1%})" if row["before"] else "–"
        cells = [
            target, f"{row['date']}, {row['cores']}", f"{row['minutes']:g}", f"{row['rate']:g}", f"{reads:,}",
            f"{writes:,}", str(len(row["errors"])), str(row["lost"]),
            kept,
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    (RESULTS / "soak.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
