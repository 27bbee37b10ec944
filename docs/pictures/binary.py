"""The pictures of the page about binary concepts."""

from pathlib import Path

import numpy as np

from pellucid import IterativeAssignment
from pellucid.binary import Analogram

NAMES = ["trout", "carp", "eagle", "sparrow", "robin", "cat", "lion", "horse"]
GROUPS = {
    "bird": [2, 3, 4],
    "mammal": [5, 6, 7],
    "fish": [0, 1],
    "songbird": [3, 4],
    "feline": [5, 6],
    **{name: [i] for i, name in enumerate(NAMES)},
}


def animals(folder: Path) -> None:
    """Animals in a hierarchy, found from their vectors alone; concepts are called by the group that they are."""
    kinds = np.array([[i in group for group in GROUPS.values()] for i in range(len(NAMES))]).astype(int)
    components = np.linalg.qr(np.random.default_rng(0).standard_normal((40, len(GROUPS))))[0].T
    concepts = IterativeAssignment(8, random_state=0).fit(kinds @ components).concepts_
    by_items = {frozenset(group): name for name, group in GROUPS.items()}
    names = []
    for column in concepts.T:
        sides = (frozenset(np.flatnonzero(column == side).tolist()) for side in (1, 0))
        names.append(next((by_items[side] for side in sides if len(side) > 1 and side in by_items), ""))
    ax = Analogram(concepts, NAMES).plot(concepts=names)
    ax.figure.savefig(folder / "binary-analogram.png", dpi=110)


def binary_pictures(folder: Path) -> None:
    animals(folder)
