"""Run the named benchmarks (all if none is named), print their tables and write them to benchmarks/results/."""

import importlib
import sys
from pathlib import Path

ALL = (
    "startup",
    "install",
    "solvers",
    "memory",
    "growth",
    "concepts",
    "presence",
    "discovery",
    "topics",
    "comparison",
    "programmes",
    "erasure",
    "search",
    "raw_rows",
    "text_queries",
    "many_rows",
    "trace",
    "explorer",
    "selection",
    "binary",
    "clusters",
    "cluster_sets",
    "manifold",
    "engines",
    "attached",
)

if __name__ == "__main__":
    names = sys.argv[1:] or ALL
    unknown = set(names) - set(ALL)
    if unknown:
        sys.exit(f"There is no benchmark {sorted(unknown)[0]!r}; there are {', '.join(ALL)}.")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    for name in names:
        importlib.import_module(f"benchmarks.{name}").run(results)
