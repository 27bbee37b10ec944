"""Peak resident memory of each solver, as a multiple of its input, measured in a process of its own."""

import json
from pathlib import Path

from benchmarks.harness import circumstances, in_a_process_of_its_own

CHILD = """
import sys
import numpy as np
from benchmarks.harness import Peak
from benchmarks.problems import grouped
from pellucid.solvers import nnls, lasso, nonnegative_omp

X, atoms, mask, groups = grouped(n=int(sys.argv[2]), dtype=np.float32)
call = {
    "nnls": lambda: nnls(X, atoms, mask),
    "lasso": lambda: lasso(X, atoms, 0.1),
    "nonnegative_omp": lambda: nonnegative_omp(X, atoms, 5),
}[sys.argv[1]]
nnls(X[:100], atoms, mask[:100]); lasso(X[:100], atoms, 0.1); nonnegative_omp(X[:100], atoms, 5)
with Peak() as peak:
    result = call()
print(X.nbytes, result.codes.nbytes, peak.most - peak.before)
"""


def run(results: Path) -> None:
    lines = [
        "| solver | input | codes (the answer) | peak beyond the input | as a multiple of the input |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = []
    for solver in ("nnls", "lasso", "nonnegative_omp"):
        data, codes, peak = map(int, in_a_process_of_its_own(CHILD, solver, 200_000))
        rows.append({"solver": solver, "input": data, "codes": codes, "peak": peak})
        mb = lambda n: f"{n / 1e6:.0f} MB"  # noqa: E731
        lines.append(f"| {solver} | {mb(data)} | {mb(codes)} | {mb(peak)} | {peak / data:.2f} |")
    facts = circumstances()
    head = (
        f"# Memory\n\nMeasured on {facts['date']}, {facts['cores']} cores; printed by `python -m benchmarks memory`: "
        "200 000 × 512 float32 rows, 120 atoms, peak memory sampled every 2 ms.\n\n"
    )
    text = head + "\n".join(lines) + "\n"
    (results / "memory.md").write_text(text, encoding="utf-8")
    (results / "memory.json").write_text(json.dumps({"circumstances": facts, "rows": rows}, indent=1) + "\n")
    print(text)
