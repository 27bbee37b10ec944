"""What a plain search waits for while 32 clients send the dearest requests that are allowed.

    python -m benchmarks.explorer_load --seconds 10

For each kind of request the median, the 95th and the longest time of plain searches, sent one after the other
meanwhile; the same without the others first. Results go to benchmarks/results/explorer_load.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances
from pellucid import BinaryAutoencoder, ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.explorer import Limits, serve
from pellucid.search import Collection

RESULTS = Path(__file__).parent / "results"
CLIENTS, ROWS = 32, 100_000


def ask(port: int, path: str, body: Any) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        return reply.status
    finally:
        connection.close()


def requests(collection: Collection, search: Any) -> dict[str, list[tuple[str, Any]]]:
    """Paths and bodies of each kind, the dearest that are allowed."""
    some, limits = [collection.ids[i] for i in range(64)], Limits()
    batch = collection.vectors(range(64)).tolist()

    def most(queries: int, diverse: bool) -> int:
        return max(k for k in range(1, limits.k + 1) if search.work(queries, k, diverse) <= limits.work)

    polygon = [[float(np.cos(a)), float(np.sin(a))] for a in np.linspace(0, 6.28, 500)]
    return {
        "none": [],
        "64 vectors": [("/api/search", {"x": batch, "k": most(64, False), "concept": "animal"})],
        "diverse": [("/api/search", {"x": some[0], "k": most(1, True), "diverse": True, "concept": "animal"})],
        "64 diverse": [("/api/search", {"x": batch, "k": most(64, True), "diverse": True})],
        "explain 64": [("/api/explain", {"x": some[0], "y": some, "concept": "animal", "words": True})],
        "analogram of 48": [("/api/analogram", {"items": some[:48], "max_nodes": 200})],
        "polygon of 500": [("/api/selection", {"polygon": polygon, "k": 1000})],
    }


def measure(port: int, others: list[tuple[str, Any]], seconds: float, ids: list[str]) -> dict[str, Any]:
    stop, answers = threading.Event(), Counter[int]()

    def send(i: int) -> None:
        while not stop.is_set():
            status = ask(port, *others[i % len(others)])
            answers[status] += 1
            if status == 429:  # as a client does that was told to come back
                time.sleep(0.2)

    threads = [threading.Thread(target=send, args=(i,), daemon=True) for i in range(CLIENTS if others else 0)]
    for thread in threads:
        thread.start()
    time.sleep(1.0 if others else 0.0)
    times, begun = [], time.monotonic()
    while time.monotonic() - begun < seconds:
        started = time.monotonic()
        assert ask(port, "/api/search", {"x": ids[len(times) % len(ids)], "concept": "animal"}) == 200
        times.append(time.monotonic() - started)
    stop.set()
    for thread in threads:
        thread.join(120)
    return {"times": np.array(times), "answers": dict(sorted(answers.items()))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    scenes, rng = load_scenes(), np.random.default_rng(0)
    model = ConceptSubspaces(6).fit(
        scenes.vectors[scenes.split.train], scenes.coarse[scenes.split.train], scenes.coarse_names
    )
    binary = BinaryAutoencoder(rank=8, random_state=0).fit(scenes.vectors)
    drawn = rng.integers(0, len(scenes.vectors), ROWS)
    rows = scenes.vectors[drawn] + 0.01 * rng.standard_normal((ROWS, scenes.vectors.shape[1])).astype(np.float32)
    lines = [
        "| 32 clients send | plain searches | median ms | 95 % ms | longest ms | answers to the 32 |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        collection = Collection.create(Path(folder) / "c", rows, text=[scenes.texts[i] for i in drawn])
        server = serve(collection, [model, binary], words=scenes.words, word_vectors=scenes.word_vectors)
        with server.start():
            state = server.app.state.pellucid
            state.background.wait()
            for kind, others in requests(collection, state.searcher).items():
                found = measure(server.port, others, given.seconds, collection.ids[:200])
                ms = 1e3 * found["times"]
                said = ", ".join(f"{n} × {status}" for status, n in found["answers"].items()) or "–"
                cells = f"{np.median(ms):.0f} | {np.quantile(ms, 0.95):.0f} | {ms.max():.0f}"
                lines.append(f"| {kind} | {len(ms)} | {cells} | {said} |")
                print(lines[-1], flush=True)
    about = circumstances()
    where = f"Commit {about['commit']}, {about['date']}, {about['cores']} cores, Python {about['python']}."
    text = f"# The explorer under load\n\n{ROWS:,} items of {rows.shape[1]} numbers, {CLIENTS} clients at once. {where}"
    (RESULTS / "explorer_load.md").write_text("\n".join([text, "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
