"""Paper 4, sparse manifold transform: ``python -m reproductions.smt mnist cifar spirals words concepts figures``.

Each section writes a table of its own to reproductions/results/, so that they can be run one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from reproductions.common import stamp, write


def mnist(save: Callable[[str], None], results: Path) -> None:
    from reproductions.smt_mnist import mnist as run_mnist

    run_mnist(lambda text: save("# MNIST (paper 4, Tables 1 and 2)\n\n" + stamp("smt") + text))


def cifar(save: Callable[[str], None], results: Path) -> None:
    from reproductions.smt_cifar import curve

    curve(lambda text: save("# CIFAR-10 (paper 4, Table 6)\n\n" + stamp("smt") + text))


def spirals(save: Callable[[str], None], results: Path) -> None:
    from reproductions.smt_figures import two_spirals

    save("# Two spirals (paper 4, Figure 2)\n\n" + stamp("smt") + two_spirals(results))


def words(save: Callable[[str], None], results: Path) -> None:
    from reproductions.smt_figures import words as run_words

    save("# Words (paper 4, Figure 5)\n\n" + stamp("smt") + run_words(results))


def concepts(save: Callable[[str], None], results: Path) -> None:
    from reproductions.smt_concepts import concepts as run_concepts

    save("# Concepts on top of vectors without a network\n\n" + stamp("smt") + run_concepts())


def figures(save: Callable[[str], None], results: Path) -> None:
    from reproductions.smt_pictures import digits

    save("# Figures (paper 4, Figures 4 and 7 to 9)\n\n" + stamp("smt") + digits(results))


SECTIONS = {
    "mnist": mnist,
    "cifar": cifar,
    "spirals": spirals,
    "words": words,
    "concepts": concepts,
    "figures": figures,
}


def run(results: Path, names: list[str] | None = None) -> None:
    for name in names or SECTIONS:
        SECTIONS[name](lambda text, name=name: write(results, f"smt-{name}", text), results)


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(SECTIONS)
    if unknown:
        sys.exit(f"There is no section {sorted(unknown)[0]!r}; there are {', '.join(SECTIONS)}.")
    run(Path(__file__).parent / "results", sys.argv[1:])
