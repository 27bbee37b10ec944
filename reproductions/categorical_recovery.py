"""Paper 2, Figure 4: how well concepts that are known come back from noisy items."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.binary import BinaryAutoencoder, CombinedConcepts, IterativeAssignment
from pellucid.metrics import binary_recovery
from reproductions.categorical_data import PlantedConcepts, floor, independent, n_independent, tree
from reproductions.common import Cells

SIZES = tuple(2**k for k in range(4, 13))
DECIBELS = (0, 6, 12, 20, 30)
RATIOS = (1, 2, 8)
SEEDS = range(12_000, 12_010)
CELLS = Cells(Path(__file__).parent / "results" / "categorical_structure" / "cells.txt")
BARS = "near | exact | bits wrong | oracle | ratio | false | CKA | seconds"


def measure(model: Any, problem: PlantedConcepts) -> tuple[float, ...]:
    """near, exact, mean bits wrong, oracle's bits wrong, false concepts, CKA, seconds of the processor."""
    begun = time.process_time()
    model.fit(problem.X)
    spent = time.process_time() - begun
    found = binary_recovery(model.concepts_, problem.S)
    return (found.near, found.exact, found.distances.mean(), problem.oracle, found.false, model.cka_, spent)


def row(cells: list[str], measure_all: Callable[[], list[tuple[float, ...]]], *more: float) -> str:
    """A line of a table; ``more`` tells it from another with the same first cells."""
    return CELLS.line(" ".join([*cells, *map(str, more)]), lambda: shown_row(cells, measure_all()))


def shown_row(cells: list[str], measured: list[tuple[float, ...]]) -> str:
    near, exact, wrong, oracle, false, fit, spent = np.mean(measured, axis=0)
    ratio = f"{wrong / oracle:.2f}" if oracle > 0 else "1" if wrong == 0 else "–"
    shown = [f"{near:.1f}", f"{exact:.1f}", f"{wrong:.2f}", f"{oracle:.2f}", ratio, f"{false:.2f}", f"{fit:.3f}"]
    return "| " + " | ".join([*cells, *shown, f"{spent:.2f}"]) + " |"


def table(first: str) -> list[str]:
    return [f"| {first} | {BARS} |", "| --- " * (first.count("|") + 1 + BARS.count("|") + 1) + "|"]


def each_seed(make: Callable[[], Any], draw: Callable[[int], PlantedConcepts]) -> list[tuple[float, ...]]:
    return [measure(make(), draw(seed)) for seed in SEEDS]


def default() -> BinaryAutoencoder:
    return BinaryAutoencoder(random_state=0)


def low_rank(sizes: tuple[int, ...] = SIZES) -> str:
    """Figure 4a and b, rank not given."""
    lines = [
        "## Independent concepts under noise (Figure 4a and b)\n",
        f"`BinaryAutoencoder()`, rank not given; means over {len(SEEDS)} seeds not tuned on. b = ⌊√(2p)⌋ − 1",
        "concepts, weights within 30 % of 1. Near: within p/4 bits. Oracle: a least-squares decoder that knows W, on",
        "the same items; floor: its expectation for equal weights; ratio: bits wrong over the oracle's. Seconds of one",
        "core. Paper: recovers for most SNR up to p = 4096; at 0 dB up to about 100 items; it does not state d. Cells",
        "whose floor is above 2 % of the bits are shown for d = 2b and up to 256 items alone.\n",
        *table("p | dB | d | concepts | floor"),
    ]
    for p in sizes:
        for decibel in DECIBELS:
            for ratio in RATIOS:
                hopeless = 100 * floor(p, ratio, decibel) > 2 * p
                if not hopeless or (ratio > 1 and p <= 256):
                    lines.append(cell(p, decibel, ratio))
    lines += ["\nThe hardest cell that counts, with weights within 10 %:\n", *table("p | dB | d | concepts | floor")]
    lines.append(cell(1024, 0, 8, 0.1))
    lines += ["", CELLS.line("wrong bits", lambda: wrong_bits(4096, 8, 6))]
    return "\n".join(lines) + "\n\n"


def wrong_bits(p: int, ratio: int, decibel: int) -> str:
    """How decoders read the bits that the fit gets wrong: one that knows the components, and one that estimates them by
    least squares from the true bits of all other items."""
    read = []
    for seed in SEEDS:
        problem = independent(p, ratio, decibel, seed)
        found = default().fit(problem.X).concepts_
        alike = np.corrcoef(problem.S.T, found.T)[: problem.S.shape[1], problem.S.shape[1] :]
        for j, k in enumerate(np.abs(alike).argmax(axis=1)):
            bits = found[:, k] if alike[j, k] > 0 else 1 - found[:, k]
            for i in np.flatnonzero(bits != problem.S[:, j]):
                known, estimated = problem.scores[i, j], score_without(problem, i)[j]
                read.append(f"a {problem.S[i, j]} with the score {known:.3f} and {estimated:.3f}")
    shown = "; ".join(read) if read else "none"
    return (
        f"Bits wrong at {p} items, {decibel} dB, {ratio}b, and their scores (above ½ is 1) for a decoder that knows W, "
        f"and for one that estimates it from the true bits of all other items: {shown}."
    )


def score_without(problem: PlantedConcepts, item: int) -> np.ndarray:
    """Scores of an item's bits by components that are estimated from the true bits of all others."""
    others = np.arange(len(problem.X)) != item
    known = np.column_stack([problem.S, np.ones(len(problem.S))])
    W = np.linalg.lstsq(known[others], problem.X[others], rcond=None)[0]
    return np.linalg.lstsq(W[:-1].T, problem.X[item] - W[-1], rcond=None)[0]


def cell(p: int, decibel: int, ratio: int, spread: float = 0.3) -> str:
    b = n_independent(p)
    d = f"{ratio * b} ({ratio}b)" if ratio > 1 else f"{b} (b)"
    cells = [str(p), str(decibel), d, str(b), f"{floor(p, ratio, decibel):.2f}"]
    return row(cells, lambda: each_seed(default, lambda seed: independent(p, ratio, decibel, seed, spread)), spread)


def noise_alone() -> str:
    lines = [
        "## Noise alone\n",
        "How many of 20 runs on Gaussian noise find no concept, and the most that one finds.\n",
        "| items | dimensions | no concept in | most |",
        "| --- | --- | --- | --- |",
    ]
    for p, d in ((16, 8), (32, 14), (64, 10), (64, 20), (64, 80), (100, 200), (256, 42), (1024, 88), (4096, 178)):
        lines.append(CELLS.line(f"noise {p} {d}", lambda p=p, d=d: noise_cell(p, d)))
    return "\n".join(lines) + "\n\n"


def noise_cell(p: int, d: int) -> str:
    found = [
        BinaryAutoencoder(random_state=seed).fit(np.random.default_rng(seed).standard_normal((p, d))).concepts_.shape[1]
        for seed in range(12_000, 12_020)
    ]
    return f"| {p} | {d} | {found.count(0)} of 20 | {max(found)} |"


def paper_rule() -> str:
    """The paper's acceptance at several tolerances, rank given."""
    lines = [
        "## The paper's acceptance beside it\n",
        '`acceptance="relative"` is told the rank; d = 2b, the seeds of the table above. "None" is the default, which',
        "is told nothing.\n",
        *table("p | dB | margin | concepts"),
    ]
    for p, decibel in ((64, 0), (64, 6), (64, 20), (256, 6)):
        for margin in (None, 0.01, 0.05, 0.2):
            lines.append(rule_cell(p, decibel, margin))
    return "\n".join(lines) + "\n\n"


def rule_cell(p: int, decibel: int, margin: float | None) -> str:
    told = BinaryAutoencoder(
        n_independent(p), acceptance="relative", margin=margin or 0.0, n_chains=128, max_iter=100, random_state=0
    )
    make = default if margin is None else lambda: told
    cells = [str(p), str(decibel), str(margin), str(n_independent(p))]
    return row(cells, lambda: each_seed(make, lambda seed: independent(p, 2, decibel, seed)))


def hierarchies() -> str:
    """Figure 4c to g."""
    lines = [
        "## Trees and hybrids (Figure 4c to g)\n",
        f"Items in max(200, b) dimensions, in random order; means over {len(SEEDS)} seeds not tuned on. Assigned:",
        "`IterativeAssignment()`; sampled: `BinaryAutoencoder()`; combined: `CombinedConcepts()`, which keeps what",
        "explains most and assigns the rest anew as long as the description gets shorter. A hybrid has ⌊√(2p)⌋ − 1",
        "independent concepts beside those of a tree. Seconds of one core. Paper: ground truth up to about 100 points,",
        "quickly lost with noise; its code takes 2.6 s a branch for a tree of 64 items.\n",
        *table("kind | p | dB | d | method | concepts | floor"),
    ]
    for p in (16, 32, 64, 128, 256):
        for decibel in (30, 20, 10, 0) if p < 256 else (30,):
            lines.append(tree_cell("tree", p, decibel, "assigned"))
    for p in (16, 32, 64):
        for decibel in (30, 10) if p < 64 else (30,):
            lines += [tree_cell("hybrid", p, decibel, method) for method in METHODS]
    return "\n".join(lines) + "\n\n"


def tree_cell(kind: str, p: int, decibel: int, method: str) -> str:
    draw = lambda seed: tree(p, decibel, seed, kind == "hybrid")  # noqa: E731
    b = round(float(np.mean([draw(seed).S.shape[1] for seed in SEEDS])))
    d = max(200, b)
    cells = [kind, str(p), str(decibel), str(d), method, str(b), f"{floor(p, d / b, decibel):.2f}"]
    return row(cells, lambda: each_seed(METHODS[method], draw))


METHODS: dict[str, Callable[[], Any]] = {
    "assigned": lambda: IterativeAssignment(random_state=0),
    "sampled": default,
    "combined": lambda: CombinedConcepts(random_state=0),
}
