"""Fitting concepts from a memory-mapped file: how time grows with rows, and what memory it takes beyond the file."""

import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import circumstances, in_a_process_of_its_own, seconds
from benchmarks.problems import grouped, mixtures

SIZES = (10_000, 100_000, 1_000_000)
BLOCK = 10_000

CHILD = """
import sys, time
import numpy as np
from benchmarks.harness import Peak
from pellucid import ConceptSubspaces

X, Y = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
model = lambda: ConceptSubspaces(10, max_iter=1, batch_size=10_000, random_state=0)
model().fit(X[:2000], Y[:2000])
with Peak() as peak:
    begun = time.perf_counter()
    fitted = model().fit(X, Y)
    took = time.perf_counter() - begun
print(took, peak.most, fitted.objective_[0], fitted.objective_[-1])
"""


def run(results: Path) -> None:
    lines = [
        "| rows | time | time per 100 000 rows | memory beyond the file's pages | error: start, after one sweep |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n in SIZES:
            vectors, labels = Path(folder) / "X.npy", Path(folder) / "Y.npy"
            write(n, vectors, labels)
            took, peak, start, end = in_a_process_of_its_own(CHILD, vectors, labels)
            rows.append({"rows": n, "seconds": took, "peak": peak, "start": start, "end": end})
            each = seconds(took / n * 1e5)
            lines.append(f"| {n:,} | {seconds(took)} | {each} | {peak / 1e6:.0f} MB | {start:.4f}, {end:.4f} |")
    facts = circumstances()
    slope = np.polyfit(np.log([r["rows"] for r in rows]), np.log([r["seconds"] for r in rows]), 1)[0]
    text = (
        f"# Many rows\n\nMeasured on {facts['date']}, {facts['cores']} cores; printed by "
        "`python -m benchmarks many_rows`: one sweep of `ConceptSubspaces(10, batch_size=10_000)` over float32 rows of "
        "512 dimensions with 12 concepts, in a memory-mapped file; the start (S-SVD) and the error before the first "
        f"sweep are a pass each. Time grows with rows to the power of {slope:.2f}.\n\n" + "\n".join(lines) + "\n"
    )
    (results / "many_rows.md").write_text(text, encoding="utf-8")
    (results / "many_rows.json").write_text(json.dumps({"circumstances": facts, "rows": rows}, indent=1) + "\n")
    print(text)


def write(n: int, vectors: Path, labels: Path) -> None:
    """Rows with planted concepts, block by block."""
    X = np.lib.format.open_memmap(vectors, mode="w+", dtype=np.float32, shape=(n, 512))
    Y = np.empty((n, 12), dtype=bool)
    _, atoms, _, groups = grouped(n=1)
    rng = np.random.default_rng(0)
    for start in range(0, n, BLOCK):
        part = slice(start, start + BLOCK)
        X[part], Y[part] = mixtures(BLOCK, atoms, groups, 2.5, rng)
    X.flush()
    np.save(labels, Y)
