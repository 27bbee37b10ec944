"""Paper 4, sparse manifold transform: ``python -m reproductions.smt mnist cifar spirals words concepts figures``.

Each section writes a table of its own to reproductions/results/, so that they can be run one by one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reproductions.common import stamp, write


def mnist(results: Path) -> str:
    from reproductions.smt_mnist import mnist as run_mnist

    return "# MNIST (paper 4, Tables 1 and 2)\n\n" + stamp("smt") + run_mnist()


SECTIONS = {"mnist": mnist}


def run(results: Path, names: list[str] | None = None) -> None:
    for name in names or SECTIONS:
        write(results, f"smt-{name}", SECTIONS[name](results))


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(SECTIONS)
    if unknown:
        sys.exit(f"There is no section {sorted(unknown)[0]!r}; there are {', '.join(SECTIONS)}.")
    run(Path(__file__).parent / "results", sys.argv[1:])
