"""Paper 4, sparse manifold transform: ``python -m reproductions.smt mnist cifar …`` runs the sections that are named.

Each section writes a table of its own to reproductions/results/, those that take long after every measurement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from reproductions.common import stamp, write

# section -> title, module, function, and whether it draws
SECTIONS: dict[str, tuple[str, str, str, bool]] = {
    "spirals": ("Two spirals (paper 4, Figure 2)", "smt_figures", "two_spirals", True),
    "words": ("Words (paper 4, Figure 5)", "smt_figures", "words", True),
    "choices": ("MNIST: settings on held-out training images", "smt_mnist", "choices", False),
    "constraints": ("MNIST: the constraint, on held-out training images", "smt_mnist", "constraints", False),
    "mnist": ("MNIST (paper 4, Tables 1 and 2)", "smt_mnist", "mnist", False),
    "mnist65536": ("MNIST with 65 536 atoms (paper 4, Table 1)", "smt_mnist", "mnist65536", False),
    "figures": ("Figures (paper 4, Figures 4 and 7 to 9)", "smt_pictures", "digits", True),
    "cifar": ("CIFAR-10 (paper 4, Table 6)", "smt_cifar", "curve", False),
    "codes": ("CIFAR-10: codes, grey and colour (paper 4, Table 3)", "smt_ablations", "rows_of_table_3", False),
    "contexts": ("CIFAR-10: context (paper 4, Table 5)", "smt_ablations", "contexts", False),
    "dimensions": ("CIFAR-10: dimensions (paper 4, Table 7)", "smt_ablations", "dimensions", False),
    "ablations": ("CIFAR-10: without the spectral step (Figure 6)", "smt_ablations", "without_the_spectral_step", True),
    "concepts": ("Concepts on top of vectors without a network", "smt_concepts", "concepts", False),
}


def run(results: Path, names: list[str] | None = None) -> None:
    for name in names or SECTIONS:
        title, module, function, draws = SECTIONS[name]

        def save(text: str, name: str = name, title: str = title) -> None:
            said = stamp("smt").replace("reproductions smt", f"reproductions.smt {name}")
            write(results, f"smt-{name}", f"# {title}\n\n{said}{text}")

        section: Callable[..., None] = getattr(import_module(f"reproductions.{module}"), function)
        section(save, results) if draws else section(save)


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(SECTIONS)
    if unknown:
        sys.exit(f"There is no section {sorted(unknown)[0]!r}; there are {', '.join(SECTIONS)}.")
    run(Path(__file__).parent / "results", sys.argv[1:])
