"""The explorer under load: frames a second of the map without a GPU, and how soon searches are answered."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances, seconds

ITEMS, DIMENSION, CONCEPTS = 100_000, 384, 12
CLIENTS, MINUTE = 32, 60.0
# frames a second that the map must reach in software
TARGETS = {100_000: 20, 1_000_000: 5}
# moves the map for so many seconds, a step as soon as the last one is on the screen
MOVING = """(time) => new Promise((done) => {
    const map = document.querySelector('canvas'), over = document.querySelector('canvas.over');
    const [first, begun] = [Number(map.dataset.frames), performance.now()];
    let step = 0;
    const move = () => {
        const now = performance.now() - begun;
        if (now > 1000 * time) return done((Number(map.dataset.frames) - first) / (now / 1000));
        const wheel = { deltaY: step++ % 40 < 20 ? -12 : 12, clientX: 500, clientY: 400, cancelable: true };
        over.dispatchEvent(new WheelEvent('wheel', wheel));
        requestAnimationFrame(move);
    };
    requestAnimationFrame(move);
})"""


def run(results: Path, minute: float = MINUTE) -> None:
    folder = Path(tempfile.mkdtemp(prefix="pellucid-explorer-"))
    try:
        rows = [*_frames(folder), *_searches(folder, minute)]
    finally:
        shutil.rmtree(folder)
    facts = circumstances("fastapi", "uvicorn")
    listed = ", ".join(f"{package} {number}" for package, number in facts["packages"].items())
    lines = [
        "# Explorer",
        "",
        f"Measured on {facts['date']}, {facts['cores']} cores, {facts['machine']}, Python {facts['python']}, {listed}.",
        "Printed by `python -m benchmarks explorer`: Chromium without a window or a GPU at 1280 × 800; clients and "
        "service share the machine.",
        "",
        "| what | measured | to reach |",
        "| --- | --- | --- |",
        *(f"| {what} | {measured} | {target} |" for what, measured, target in rows),
    ]
    text = "\n".join(lines) + "\n"
    (results / "explorer.md").write_text(text, encoding="utf-8")
    data = {"circumstances": facts, "rows": rows}
    (results / "explorer.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(text)


def _served(folder: Path, n: int, dimension: int, model: Any = None) -> Any:
    from pellucid.explorer import explore
    from pellucid.search import Collection

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, dimension)).astype(np.float32)
    rows = centres[rng.integers(40, size=n)] + rng.normal(size=(n, dimension)).astype(np.float32)
    collection = Collection.create(folder / f"{n}-{dimension}", rows, kind=[f"kind {i % 10}" for i in range(n)])
    return explore(collection, model, open_browser=False)


def _frames(folder: Path) -> list[tuple[str, str, str]]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("There is no Chromium here: frames are not measured.", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as driver:
        for n, target in TARGETS.items():
            with _served(folder, n, 16) as server:
                assert server.app.state.pellucid.background.wait(600)
                browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.goto(f"{server.address}map?colour=label:kind")
                page.wait_for_function("() => document.querySelectorAll('.legend li').length === 10", timeout=60_000)
                page.wait_for_timeout(1500)
                rates = [page.evaluate(MOVING, 4) for _ in range(3)]
                painter = page.locator("canvas").first.get_attribute("data-painter")
                browser.close()
            rows.append((f"{n:,} points, zooming ({painter})", f"{max(rates):.0f} frames/s (median "
                         f"{statistics.median(rates):.0f})", f"{target} frames/s"))  # fmt: skip
    return rows


def _searches(folder: Path, minute: float) -> list[tuple[str, str, str]]:
    import httpx

    from pellucid import ConceptSubspaces
    from pellucid.search import ConceptSearch

    rng = np.random.default_rng(1)
    sample = rng.normal(size=(2000, DIMENSION)).astype(np.float32)
    labels = np.eye(CONCEPTS, dtype=bool)[np.arange(2000) % CONCEPTS]
    model = ConceptSubspaces(8, max_iter=2, center=False).fit(sample, labels, [f"concept {j}" for j in range(CONCEPTS)])
    rows = []
    with _served(folder, ITEMS, DIMENSION, model) as server:
        assert server.app.state.pellucid.background.wait(900)
        size = f"{ITEMS:,} × {DIMENSION}"

        def ask(client: httpx.Client, item: int, asked: dict[str, Any]) -> float:
            begun = time.perf_counter()
            reply = client.post("/api/search", json={"x": str(item % ITEMS), "k": 20, **asked})
            assert reply.status_code == 200, reply.text
            assert len(reply.json()["hits"]) == 20
            return time.perf_counter() - begun

        kinds: dict[str, dict[str, Any]] = {
            "plain": {}, "by one concept": {"concept": "concept 3"},
            "by two concepts, without a third, diverse": {"concept": ["concept 3", "concept 4"],
                                                          "without": "concept 5", "diverse": True},
        }  # fmt: skip
        with httpx.Client(base_url=server.address, timeout=60) as client:
            python = ConceptSearch(server.app.state.pellucid.collection, model)

            def call(item: int, asked: dict[str, Any]) -> float:
                begun = time.perf_counter()
                python.search(str(item), **asked)
                return time.perf_counter() - begun

            for what, asked in kinds.items():
                ask(client, 0, asked)
                call(0, asked)
                pairs = [(ask(client, 37 * i, asked), call(37 * i, asked)) for i in range(60)]  # in turns
                times, inside = zip(*pairs)
                middle, within, slow = (seconds(float(v)) for v in (
                    np.median(times), np.median(inside), np.quantile(times, 0.95)))  # fmt: skip
                measured = f"median {middle} (the same call in Python: {within}), 95 % {slow}"
                target = "" if "diverse" in asked else "median under 50 ms"
                rows.append((f"search {size} {what}, one client", measured, target))
        rows.append(_crowd(server.address, minute, size, ask))
    return rows


def _crowd(address: str, minute: float, size: str, ask: Any) -> tuple[str, str, str]:
    """Many clients at once, each as fast as it is answered."""
    import httpx

    times: list[float] = []
    errors: list[str] = []
    end = time.perf_counter() + minute

    def client_of(number: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            step = 0
            while time.perf_counter() < end:
                step += 1
                try:
                    times.append(ask(client, 97 * number + step, {"concept": f"concept {step % CONCEPTS}"}))
                except Exception as error:
                    errors.append(repr(error))

    threads = [threading.Thread(target=client_of, args=(i,)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate, middle = len(times) / minute, seconds(statistics.median(times))
    measured = f"{len(errors)} errors in {len(times):,} answers, {rate:.0f}/s, median {middle}"
    return f"search {size} by one concept, {CLIENTS} clients for {minute:g} s", measured, "no error"
