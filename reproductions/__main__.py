"""Run the named reproductions (all if none is named) and write their tables to reproductions/results/."""

import importlib
import sys
from pathlib import Path

# one script per paper; each has run(results_folder)
ALL: tuple[str, ...] = ("slics", "isometry", "categorical_structure", "mtcluster", "smt")

if __name__ == "__main__":
    names = sys.argv[1:] or ALL
    unknown = set(names) - set(ALL)
    if unknown:
        sys.exit(f"There is no reproduction {sorted(unknown)[0]!r}; there are {', '.join(ALL)}.")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    for name in names:
        importlib.import_module(f"reproductions.{name}").run(results)
