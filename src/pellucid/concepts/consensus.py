"""Directions that come out again: dictionaries learned from one half of the rows after another, and what they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from pellucid._core.arrays import Floats, Ints, unit_rows
from pellucid._core.progress import progress
from pellucid.concepts.dictionary import Dictionary
from pellucid.rows import Blocks

# rows of a half, and passes over them, at most
HALF_ROWS, PASSES, TOL = 5000, 10, 2e-3
# directions are one from this cosine on, on average, and hold if so many of the halves have one
ALIKE, AGREED = 0.5, 0.8


def agreed_directions(
    rows: NDArray[np.float32], count: int, sparsity: float, n_runs: int, rng: np.random.RandomState, verbose: int = 0
) -> tuple[NDArray[np.float32], Floats]:
    """Directions (m, d) that dictionaries of so many atoms have in common, and the share of halves (m,) that have each;
    the most agreed on first."""

    found = []
    with progress("finding programmes", n_runs, bool(verbose)) as advance:
        for half in halves(len(rows), n_runs, rng):
            atoms = Dictionary(Blocks.held(rows[half]), sparsity, TOL).learn(count, PASSES, rng)
            found.append(unit_rows(atoms))
            advance("")
    every, run = np.vstack(found), np.repeat(np.arange(len(found)), [len(atoms) for atoms in found])
    if len(every) == 1:
        return every, np.ones(1)
    which = fcluster(linkage(every.astype(np.float64), "average", metric="cosine"), 1 - ALIKE, "distance")
    middle = [np.median(every[which == c], axis=0) for c in np.unique(which)]
    share = np.array([len(set(run[which == c])) / len(found) for c in np.unique(which)])
    order = np.argsort(-share, kind="stable")
    return unit_rows(np.stack(middle)[order]).astype(rows.dtype), share[order]


def halves(n: int, n_runs: int, rng: np.random.RandomState) -> list[Ints]:
    """One half of n rows after another, drawn at random."""
    size = max(2, min(HALF_ROWS, n // 2))
    return [np.sort(rng.permutation(n)[:size]) for _ in range(n_runs)]
