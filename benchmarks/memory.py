"""Peak resident memory of each solver, as a multiple of its input, measured in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import circumstances

CHILD = """
import resource, sys, threading, time
import numpy as np
from benchmarks.problems import grouped
from pellucid.solvers import nnls, lasso, nonnegative_omp
import os

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

X, atoms, mask, groups = grouped(n=int(sys.argv[2]), dtype=np.float32)
call = {
    "nnls": lambda: nnls(X, atoms, mask),
    "lasso": lambda: lasso(X, atoms, 0.1),
    "nonnegative_omp": lambda: nonnegative_omp(X, atoms, 5),
}[sys.argv[1]]
nnls(X[:100], atoms, mask[:100]); lasso(X[:100], atoms, 0.1); nonnegative_omp(X[:100], atoms, 5)
before, peak, running = resident(), 0, True
def watch():
    global peak
    while running:
        peak = max(peak, resident())
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
result = call()
running = False
watcher.join()
print(X.nbytes, result.codes.nbytes, max(peak, resident()) - before)
"""


def run(results: Path) -> None:
    lines = [
        "| solver | input | codes (the answer) | peak beyond the input | as a multiple of the input |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = []
    for solver in ("nnls", "lasso", "nonnegative_omp"):
        out = subprocess.run(
            [sys.executable, "-c", CHILD, solver, "200000"], check=True, capture_output=True, text=True
        ).stdout
        data, codes, peak = map(int, out.split())
        rows.append({"solver": solver, "input": data, "codes": codes, "peak": peak})
        mb = lambda n: f"{n / 1e6:.0f} MB"  # noqa: E731
        lines.append(f"| {solver} | {mb(data)} | {mb(codes)} | {mb(peak)} | {peak / data:.2f} |")
    facts = circumstances()
    head = (
        f"# Memory\n\nMeasured on {facts['date']}, {facts['cores']} cores; printed by `python -m benchmarks memory`: "
        "200 000 × 512 float32 rows, 120 atoms, peak resident size sampled every 2 ms.\n\n"
    )
    text = head + "\n".join(lines) + "\n"
    (results / "memory.md").write_text(text, encoding="utf-8")
    (results / "memory.json").write_text(json.dumps({"circumstances": facts, "rows": rows}, indent=1) + "\n")
    print(text)
