"""Timing side by side: candidates take turns, each sample after a pause, best and median of several rounds; and the
most memory that a piece of work takes."""

from __future__ import annotations

import datetime
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

# threads of a BLAS spin for a while after a product; without a pause the next candidate would pay for it
PAUSE = 0.15


@dataclass
class Row:
    """One task: seconds of every candidate (best and median), ours first, and how well the answers agree."""

    task: str
    best: dict[str, float]
    median: dict[str, float]
    agreement: str = ""
    target: str = ""
    ratios: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ours = next(iter(self.best))
        self.ratios = {name: seconds / self.best[ours] for name, seconds in self.best.items() if name != ours}


def compare(
    task: str,
    candidates: dict[str, Callable[[], Any]],
    *,
    rounds: int = 5,
    slow: dict[str, int] | None = None,
    agreement: str = "",
    target: str = "",
    at_least: float = 0.0,
) -> Row:
    """Time the candidates in turns; ``slow`` names those that take part only in so many rounds. A sample repeats the
    call until ``at_least`` so many seconds have passed, for calls that are over before caches and clocks are warm."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds):
        for name, call in candidates.items():
            if turn >= (slow or {}).get(name, rounds):
                continue
            gc.collect()
            time.sleep(PAUSE)
            start, calls = time.perf_counter(), 0
            while calls == 0 or time.perf_counter() - start < at_least:
                call()
                calls += 1
            times[name].append((time.perf_counter() - start) / calls)
    return Row(
        task,
        {name: min(t) for name, t in times.items()},
        {name: statistics.median(t) for name, t in times.items()},
        agreement,
        target,
    )


class Peak:
    """Watches this process's memory while a piece of work runs: ``before`` it and at ``most``, in bytes; pages of
    mapped files do not count."""

    before: int
    most: int

    def __enter__(self) -> Peak:
        self.before = self.most = anonymous_memory()
        self._running = True
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.most = max(self.most, anonymous_memory())
        self._running = False
        self._watcher.join()

    def _watch(self) -> None:
        while self._running:
            self.most = max(self.most, anonymous_memory())
            time.sleep(0.002)


def anonymous_memory() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))


def in_a_process_of_its_own(code: str, *arguments: object) -> list[float]:
    """The numbers that a piece of Python prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return [
        float(word) for word in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    ]


def commit() -> str:
    """The code that is measured, and whether it was changed since."""
    asked = {"cwd": Path(__file__).parent.parent, "stdout": subprocess.PIPE, "text": True, "check": True}
    name = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], **asked).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain", "--", "src"], **asked).stdout
    return f"{name} with changes" if changed else name


def circumstances(*packages: str) -> dict[str, Any]:
    return {
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("numpy", "scipy", "scikit-learn", *packages)},
    }


def seconds(value: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def report(name: str, title: str, rows: list[Row], results: Path, *packages: str, note: str = "") -> None:
    """Print the table, and write it as JSON and as Markdown."""
    from rich.console import Console
    from rich.markdown import Markdown

    facts = circumstances(*packages)
    listed = ", ".join(f"{package} {number}" for package, number in facts["packages"].items())
    lines = [
        f"# {title}",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, {facts['machine']}, "
        f"Python {facts['python']}, {listed}.",
        f"Printed by `python -m benchmarks {name}`: candidates take turns; best of several (median). {note}".rstrip(),
        "",
        "| task | ours | beside it | ratio | to reach | agreement |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ours, *others = ({"name": n, "time": f"{seconds(row.best[n])} ({seconds(row.median[n])})"} for n in row.best)
        cells = [row.task, ours["time"], "", "", row.target, row.agreement]
        for other in others:
            cells[2:4] = f"{other['name']}: {other['time']}", f"{row.ratios[other['name']]:.3g}×"
            lines.append("| " + " | ".join(cells) + " |")
            cells = [""] * 6
        if not others:
            lines.append("| " + " | ".join(cells) + " |")
    (results / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = {"circumstances": facts, "rows": [asdict(row) for row in rows]}
    (results / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    Console(width=160).print(Markdown("\n".join(lines)))
