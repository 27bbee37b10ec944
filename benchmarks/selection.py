"""Isometry pursuit beside cvxpy with SCS, at scale, its second stage, and diverse lists beside MMR and k-DPP."""

import math
import time
from itertools import combinations, islice
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine

from benchmarks.diversity import diverse_lists
from benchmarks.harness import circumstances, compare, in_a_process_of_its_own, seconds
from pellucid.selection.losses import ISOMETRY, column_lengths, log_loss, log_symmetric_length
from pellucid.selection.search import Objective, best_choice
from pellucid.solvers import basis_pursuit

GAP = 1e-6

# a process of its own; libraries and the buffers of BLAS for columns of this length are there before the measurement,
# the freed memory of the warm-up is given back
CHILD = """
import ctypes, sys, time
import numpy as np
from benchmarks.harness import Peak
from benchmarks.selection import GAP, columns
from pellucid import IsometryPursuit
from pellucid.solvers import basis_pursuit

D, P, equal, whole = map(int, sys.argv[1:])
fit = lambda X: IsometryPursuit(tol=GAP, second_stage="swap", max_subsets=1).fit(X)
for kind in (np.float32, np.float64):
    block = np.ones((1500, 1500), dtype=kind)
    block @ block
del block
for d in (8, 26, D):
    small, scale = columns(d, 6000, equal)
    basis_pursuit(small, scale, tol=GAP)
    fit(np.ascontiguousarray(small.T))
X, scale = columns(D, P, equal)
if whole:
    X = np.ascontiguousarray(X.T)  # rows are items
    del scale
ctypes.CDLL("libc.so.6").malloc_trim(0)
with Peak() as peak:
    begun = time.perf_counter()
    found = fit(X) if whole else basis_pursuit(X, scale, tol=GAP)
    spent = time.perf_counter() - begun
gap, count = (found.duality_gap_, len(found.candidates_)) if whole else (found.duality_gap, len(found.candidates))
print(spent, gap, X.nbytes, peak.most - peak.before, count)
"""


def columns(D, P, equal=False, seed=0):
    """Gaussian columns of mean length 1 and the factors that normalise them (or make them equally long)."""
    X = np.random.default_rng(seed).standard_normal((D, P))
    X /= np.sqrt(D)
    lengths = column_lengths(X)
    return X, 1 / lengths if equal else np.exp(-log_symmetric_length(lengths, 1.0)) / lengths


def papers(name):
    """A replicate of the paper's Iris or Wine, normalised."""
    data, D = (load_iris().data, 4) if name == "Iris" else (load_wine().data, 6)
    X = ((data - data.mean(axis=0)) / data.std(axis=0)).T[:D]
    X = X[:, np.random.RandomState(0).choice(X.shape[1], X.shape[1] // 2, replace=False)]
    lengths = column_lengths(X)
    return X * np.exp(-log_symmetric_length(lengths, 1.0)) / lengths


def cone_solver(W):
    import cvxpy as cp

    beta = cp.Variable(W.T.shape)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(beta, 2, axis=1))), [W @ beta == np.eye(len(W))])
    problem.solve(solver="SCS", eps_abs=GAP, eps_rel=GAP)
    return beta.value, problem.solver_stats.setup_time + problem.solver_stats.solve_time


def above(W, beta, optimum):
    """How far a solution, moved to the nearest feasible point, is above the optimum (relative)."""
    feasible = beta + np.linalg.pinv(W) @ (np.eye(len(W)) - W @ beta)
    return np.linalg.norm(feasible, axis=1).sum() / optimum - 1


def beside_a_cone_solver():
    rows = []
    for task, W, target, slow in (
        ("Iris, 4 × 75", papers("Iris"), "30×", 10),
        ("Wine, 6 × 89", papers("Wine"), "30×", 10),
        ("Gaussian, 6 × 10 000", np.multiply(*columns(6, 10_000)), "500×", 1),
    ):
        ours = basis_pursuit(W, tol=GAP)
        kept = []
        row = compare(
            task,
            {
                "ours": lambda W=W: basis_pursuit(W, tol=GAP),
                "cvxpy + SCS": lambda W=W, kept=kept: kept.append(cone_solver(W)),
            },
            rounds=10,
            slow={"cvxpy + SCS": slow},
            target=target,
            at_least=0.1,
        )
        theirs = above(W, kept[-1][0], ours.objective[-1])
        row.agreement = f"gap: ours {ours.duality_gap:.0e}, theirs {theirs:.0e}"
        rows.append((row, min(alone for _, alone in kept)))
    return rows


def at_scale():
    rows = []
    for D, P, equal, whole in ((16, 1_000_000, 0, 1), (16, 1_000_000, 1, 0), (64, 100_000, 0, 1), (64, 100_000, 1, 0)):
        spent, gap, size, peak, count = in_a_process_of_its_own(CHILD, D, P, equal, whole)
        rows.append((D, P, equal, whole, spent, gap, size, peak, count))
    return rows


def growth(results):
    """Time over P and over D, best of three."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    slopes = []
    for panel, letter, fixed, sizes in (
        (panels[0], "P", "D = 8", (1_000, 4_000, 16_000, 64_000, 256_000)),
        (panels[1], "D", "P = 20 000", (2, 4, 8, 16, 24)),
    ):
        times = []
        for size in sizes:
            X, scale = columns(8, size) if letter == "P" else columns(size, 20_000)
            call = {"ours": lambda X=X, scale=scale: basis_pursuit(X, scale, tol=GAP)}
            times.append(compare("", call, rounds=3).best["ours"])
        slope = np.polyfit(np.log(sizes[-3:]), np.log(times[-3:]), 1)[0]
        slopes.append((letter, fixed, slope))
        panel.loglog(sizes, times, "o-", color="#1b6ca8")
        panel.set(title=f"{fixed}: time ~ {letter}^{slope:.1f} (last three)", xlabel=letter, ylabel="seconds")
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    figure.savefig(results / "selection-growth.png", dpi=120)
    plt.close(figure)
    return slopes


def second_stage(n=40, size=8, sample=200_000):
    """Branch and bound against enumeration, whose time is that of a sample times the number of subsets."""
    X = np.ascontiguousarray(np.random.default_rng(0).standard_normal((size, n)).T / np.sqrt(size))
    objective = Objective(X, size, ISOMETRY, 1.0, 1.0)
    subsets = np.array(list(islice(combinations(range(n), size), sample)), dtype=np.int64)
    log_loss(X, subsets[:10], ISOMETRY, 1.0)
    best_choice(Objective(X[:12], size, ISOMETRY, 1.0, 1.0), 10**6, np.random.RandomState(0))
    begun = time.perf_counter()
    log_loss(X, subsets, ISOMETRY, 1.0)
    enumeration = (time.perf_counter() - begun) / sample * math.comb(n, size)
    begun = time.perf_counter()
    found = best_choice(objective, 10**9, np.random.RandomState(0))
    return found, time.perf_counter() - begun, enumeration, math.comb(n, size)


def section_cone_solver(results):
    lines = [
        "## Beside cvxpy with SCS",
        "",
        "Both asked for 1e-6, candidates take turns, each repeated for a tenth of a second at least, best (median) a "
        "call. Theirs includes building the problem, as the paper does for every replicate, and beside it stands what "
        "SCS alone reports of it; ours is compiled before, and includes the minimum-norm solution and the union of all "
        "supports.",
        "",
        "| task | ours | cvxpy + SCS | ratio | to reach | SCS alone | ratio | relative gap |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row, alone in beside_a_cone_solver():
        ours, theirs = (f"{seconds(row.best[n])} ({seconds(row.median[n])})" for n in row.best)
        ratio = row.ratios["cvxpy + SCS"]
        lines.append(
            f"| {row.task} | {ours} | {theirs} | {ratio:.3g}× | {row.target} | {seconds(alone)} | "
            f"{alone / row.best['ours']:.3g}× | {row.agreement} |"
        )
    return lines


def section_growth(results):
    found = [
        f"With {fixed} the time grows as {letter}^{slope:.1f} at the end." for letter, fixed, slope in growth(results)
    ]
    return ["## Growth", "", "![How time grows](selection-growth.png)", "", *found]


def section_second_stage(results):
    found, spent, enumeration, total = second_stage()
    return [
        "## The second stage",
        "",
        f"8 of 40 Gaussian columns: branch and bound {'proves' if found.proven else 'does not prove'} the optimum in "
        f"{seconds(spent)} with {found.evaluated:,} losses; all {total:,} subsets would take {enumeration:.0f} s (from "
        f"200 000 of them), {enumeration / spent:.0f}× as long.",
    ]


def section_scale(results):
    lines = [
        "## At scale",
        "",
        "In a process of its own, to a gap of 1e-6; memory is the peak beyond the input. `fit` is all of "
        '`IsometryPursuit(tol=1e-6, second_stage="swap", max_subsets=1)`: normalisation, certified solution, the whole '
        "optimal set, `coef_`, and a greedy choice among the candidates in place of the second stage's search. Columns "
        "of equal length all belong to a solution, so `coef_` could not be sparse: there `basis_pursuit` alone is "
        "measured, with the whole optimal set.",
        "",
        "| columns | call | seconds | gap | candidates | input | peak beyond it |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for D, P, equal, whole, spent, gap, size, peak, count in at_scale():
        kind = "of equal length" if equal else "Gaussian"
        lines.append(
            f"| {D} × {P:,}, {kind} | `{'fit' if whole else 'basis_pursuit'}` | {spent:.1f} | {gap:.0e} | "
            f"{count:,.0f} | {size / 1e6:.0f} MB | {peak / 1e6:.1f} MB ({peak / size:.0%}) |"
        )
    return lines


def run(results: Path) -> None:
    """Each section is written as soon as it is measured: the last ones take minutes."""
    facts = circumstances("cvxpy", "scs")
    lines = [
        "# Isometry pursuit",
        "",
        f"Measured on {facts['date']}, {facts['cores']} cores, Python {facts['python']}, cvxpy "
        f"{facts['packages']['cvxpy']}, SCS {facts['packages']['scs']}; printed by `python -m benchmarks selection`.",
    ]
    for section in (section_second_stage, diverse_lists, section_cone_solver, section_scale, section_growth):
        found = section(results)
        print("\n".join(found), flush=True)
        lines += ["", *found]
        (results / "selection.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
