"""Paper 5: its tables 1 to 3 and figures 1 to 6, by the authors' protocol, and the search that goes beyond it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp
import numpy as np
from scipy.stats import ttest_rel
from sklearn.datasets import load_iris, load_wine

from pellucid import IsometryPursuit
from pellucid._core.threads import one_blas_thread
from pellucid.metrics import isometry_loss
from pellucid.selection import greedy_isometry
from pellucid.selection.losses import ISOMETRY, log_loss, log_symmetric_length
from reproductions import isometry_figures as figures
from reproductions.common import stamp, write
from reproductions.data import DatasetNotFound, load_axes, load_ethanol
from reproductions.molecules import angle_triples, angles, local_tangents, torsion_gradients, torsion_quadruples

REPLICATES = 25
# losses that differ by less than this share are equal; the paper compares floating-point numbers exactly
EQUAL = 1e-9
POWERS = (0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
# paper, Table 1, as printed: greedy, |S|, two-stage, greedy worse / equal (floats compared exactly), p; the shares
# again as the authors' losses give them when those within EQUAL are equal
PAPER = {
    "Iris": ("14 ± 7.3", "6.7 ± 1", "6.9 ± 1.4", ".96 / .00 / – (.96 / .00 / .04)", "2.4e-05"),
    "Wine": ("7.7 ± 0.33", "13 ± 1.5", "7.6 ± 0.29", ".64 / .16 / – (.56 / .44 / .00)", "6.3e-04"),
    "Words": ("14 ± 1.3", "11 ± 1.3", "14 ± 1.2", ".52 / .12 / – (.32 / .64 / .04)", "2.1e-02"),
    "Ethanol": ("2.6 ± 0.3", "90 ± 170", "2.5 ± 0.2", ".66 / .17 / – (.63 / .27 / .10)", "2.1e-05"),
}
# neighbours of a tangent space: the same share of the configurations as the authors' 1 000 of 50 000, and as many
SAME_SHARE, AS_MANY = 193, 1000
PAPER_SECONDS = {
    "Iris": ("1.24", "0.00", "0.02"),
    "Wine": ("2.32", "0.13", "0.03"),
    "Words": ("0.98", "0.03", "0.01"),
    "Ethanol": ("8.38", "0.55", "0.07"),
}


@dataclass(frozen=True)
class Runs:
    """Per replicate: losses of greedy, two-stage and global search, number of candidates, seconds of each part."""

    name: str
    greedy: np.ndarray
    two_stage: np.ndarray
    best: np.ndarray
    proven: np.ndarray
    support: np.ndarray
    seconds: np.ndarray  # (replicates, 4): stage one, stage two, greedy, global
    chosen: list[np.ndarray]
    chosen_greedy: list[np.ndarray]


def standardised(rows: np.ndarray) -> np.ndarray:
    """Each feature with mean 0 and deviation 1 over all items."""
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def replicates(X: np.ndarray, size: int) -> list[np.ndarray]:
    """Which rows each replicate has: the authors seed NumPy with 0, 1, 2, …"""
    return [np.random.RandomState(seed).choice(len(X), size, replace=False) for seed in range(REPLICATES)]


def words_on_axes() -> tuple[np.ndarray, list[str], list[str]]:
    """Table 2: 61 words on seven axes, each the difference of the centroids of its poles."""
    data = load_axes()
    axis, pole, vectors = np.array(data.axis), np.asarray(data.pole), np.asarray(data.vectors, dtype=np.float64)
    names = list(dict.fromkeys(axis))
    axes = [vectors[(axis == n) & (pole == 1)].mean(0) - vectors[(axis == n) & (pole == -1)].mean(0) for n in names]
    return standardised(vectors @ np.array(axes).T), list(data.words), list(axis)


def torsions_of_ethanol(n_neighbours: int, n_points: int = 100) -> list[np.ndarray]:
    """Gradients of the 756 torsions on the tangent spaces (D = 2) of the 252 angles at sampled configurations.

    As the authors do, gradients by the angles are normalised (Eq. 14) before the projection; the pursuit normalises
    what is left of them once more.
    """
    coords = np.asarray(load_ethanol().coords, dtype=np.float64)
    triples, quadruples = angle_triples(coords.shape[1]), torsion_quadruples(coords.shape[1])
    points = np.random.RandomState(0).choice(len(coords), n_points, replace=False)
    with one_blas_thread():
        tangents = local_tangents(angles(coords, triples), points, n_neighbours, 2)
        _, by_angle = angles(coords[points], triples, gradient=True)
        by_torsion = torsion_gradients(coords[points], quadruples)
        flat = lambda g: g.reshape(*g.shape[:2], -1)  # noqa: E731
        in_angles = flat(by_torsion) @ np.linalg.pinv(flat(by_angle), rcond=1e-8)  # chain rule, least norm
        lengths = np.linalg.norm(in_angles, axis=2)
        in_angles *= (np.exp(-log_symmetric_length(lengths.ravel(), 1.0)).reshape(lengths.shape) / lengths)[..., None]
        return [g @ t for g, t in zip(in_angles, tangents)]


def supports_of_a_cone_solver(matrices: list[np.ndarray]) -> np.ndarray:
    """Rows of β that SCS leaves nonzero with the authors' accuracy, iterations and threshold."""
    found = []
    for X in matrices:
        lengths = np.linalg.norm(X, axis=1)
        W = X.T * np.exp(-log_symmetric_length(lengths, 1.0)) / lengths
        beta = cp.Variable(W.T.shape)
        problem = cp.Problem(cp.Minimize(cp.sum(cp.norm(beta, axis=1))), [W @ beta == np.eye(len(W))])
        problem.solve(solver="SCS", eps_abs=1e-12, eps_rel=1e-12, max_iters=2500)
        found.append((np.abs(beta.value) >= 1e-6).any(axis=1).sum())
    return np.array(found)


def measure(name: str, matrices: list[np.ndarray], power: float = 1.0, best: bool = True) -> Runs:
    losses, support, seconds, proven, chosen, chosen_greedy = [], [], [], [], [], []
    for X in matrices:
        times = [time.perf_counter()]
        one = IsometryPursuit(power, second_stage="swap", max_subsets=1).fit(X)  # all but the search
        times.append(time.perf_counter())
        two = IsometryPursuit(power, second_stage="candidates").fit(X)
        times.append(time.perf_counter())
        by_greedy = greedy_isometry(X, power)
        times.append(time.perf_counter())
        everywhere = IsometryPursuit(power, second_stage="global").fit(X) if best else two
        times.append(time.perf_counter())
        assert len(one.candidates_) == len(two.candidates_)
        spent = np.diff(times)
        spent[1] = max(0.0, spent[1] - spent[0])
        seconds.append(spent)
        losses.append((float(isometry_loss(X[by_greedy], power)), two.loss_, everywhere.loss_))
        support.append(len(two.candidates_))
        proven.append(everywhere.optimal_)
        chosen.append(two.selected_)
        chosen_greedy.append(by_greedy)
    by_method = np.array(losses).T
    return Runs(name, *by_method, np.array(proven), np.array(support), np.array(seconds), chosen, chosen_greedy)


def compare(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Shares of replicates in which the first loss is worse, equal, better."""
    worse, better = first > second * (1 + EQUAL), first < second * (1 - EQUAL)
    return np.array([worse.mean(), (~worse & ~better).mean(), better.mean()])


def compare_logs(matrices: list[np.ndarray], run: Runs, power: float) -> np.ndarray:
    """As :func:`compare`, from logarithms, since large powers overflow."""

    def logs(choices: list[np.ndarray]) -> np.ndarray:
        both = zip(matrices, choices)
        return np.array([log_loss(np.ascontiguousarray(X), c[None], ISOMETRY, power)[0] for X, c in both])

    difference = logs(run.chosen_greedy) - logs(run.chosen)
    return np.array([(difference > EQUAL).mean(), (abs(difference) <= EQUAL).mean(), (difference < -EQUAL).mean()])


def spread(values: np.ndarray) -> str:
    return f"{values.mean():.3g} ± {values.std(ddof=1):.2g}"


def table_1(runs: list[Runs]) -> str:
    lines = [
        "| data | | greedy ℓ₁ | candidates | two-stage ℓ₁ | greedy worse / equal / better | p (paired t) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in runs:
        p = ttest_rel(run.greedy, run.two_stage).pvalue
        shares = " / ".join(f"{share:.2f}".lstrip("0") for share in compare(run.greedy, run.two_stage))
        cells = (spread(run.greedy), spread(run.support), spread(run.two_stage), shares, f"{p:.1e}")
        lines.append(f"| {run.name} | ours | " + " | ".join(cells) + " |")
        if run.name in PAPER:
            lines.append("| | paper | " + " | ".join(PAPER[run.name]) + " |")
    return "\n".join(lines) + "\n\n"


def table_beyond(runs: list[Runs]) -> str:
    lines = [
        "| data | two-stage ℓ₁ | better of both | global ℓ₁ | proven | global better | seconds: two-stage, global |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in runs:
        both = np.minimum(run.greedy, run.two_stage)
        assert (run.best <= both * (1 + EQUAL)).all()
        times = run.seconds.mean(axis=0)
        lines.append(
            f"| {run.name} | {run.two_stage.mean():.4g} | {both.mean():.4g} | {run.best.mean():.4g} | "
            f"{run.proven.mean():.0%} | {compare(both, run.best)[0]:.0%} | {times[:2].sum():.3f}, {times[3]:.3f} |"
        )
    return "\n".join(lines) + "\n\n"


def table_3(runs: list[Runs]) -> str:
    lines = ["| data | | stage one | stage two | greedy |", "| --- | --- | --- | --- | --- |"]
    for run in runs:
        middle = np.median(run.seconds, axis=0)
        lines.append(f"| {run.name} | ours (median) | " + " | ".join(f"{s:.4f}" for s in middle[:3]) + " |")
        if run.name in PAPER_SECONDS:
            lines.append("| | paper (mean) | " + " | ".join(PAPER_SECONDS[run.name]) + " |")
    return "\n".join(lines) + "\n\n"


def figure_3(results: Path) -> str:
    """Who wins on Wine as the power varies, for several dimensions."""
    wine = standardised(load_wine().data)
    shares = {}
    for D in (2, 4, 6):
        matrices = [wine[rows, :D] for rows in replicates(wine, len(wine) // 2)]
        shares[D] = [compare_logs(matrices, measure("", matrices, c, best=False), c) for c in POWERS]
    figures.powers(results, POWERS, shares)
    lines = ["| D | " + " | ".join(f"c = {c:g}" for c in POWERS) + " |", "| --- |" + " --- |" * len(POWERS)]
    for D, row in shares.items():
        lines.append(f"| {D} | " + " | ".join(" / ".join(f"{s:.2f}".lstrip("0") for s in part) for part in row) + " |")
    return "\n".join(lines) + "\n\n"


def figure_5(results: Path) -> str:
    """Section 6.4: brute search against two stages, for the isometry loss and for the basis pursuit loss."""
    lines = ["| data | loss | two-stage = brute | two-stage | brute |", "| --- | --- | --- | --- | --- |"]
    pairs = {}
    for name, data, D, P in (("Iris", load_iris(), 4, 15), ("Wine", load_wine(), 13, 18)):
        X = standardised(data.data)[:, :D]
        for loss in ("isometry", "basis_pursuit"):
            two, brute = (
                np.array([IsometryPursuit(second_stage=stage, second_stage_loss=loss).fit(X[c]).loss_ for c in cut])
                for stage in ("candidates", "global")
                for cut in [replicates(X, P)]
            )
            pairs[name, loss] = two, brute
            equal = compare(two, brute)[1]
            lines.append(f"| {name} | {loss} | {equal:.0%} | {spread(two)} | {spread(brute)} |")
    figures.brute_against_two_stage(results, pairs)
    return "\n".join(lines) + "\n\n"


def run(results: Path) -> None:
    runs = []
    text, ethanol = "# Isometry pursuit (paper 5)\n\n" + stamp("isometry"), ""
    for name, data, D in (("Iris", load_iris(), 4), ("Wine", load_wine(), 6)):
        X = standardised(data.data)[:, :D]
        measure(name, [X[:40]])  # compiles
        runs.append(measure(name, [X[rows] for rows in replicates(X, len(X) // 2)]))
    try:
        X, words, axis = words_on_axes()
        cut = replicates(X, len(X) // 2)
        runs.append(measure("Words", [X[rows] for rows in cut]))
        figures.cooccurrence(results, runs[-1], cut, words, axis)
        torsions = torsions_of_ethanol(SAME_SHARE)
        runs.append(measure("Ethanol", torsions))
        runs.append(measure(f"Ethanol, {AS_MANY} neighbours", torsions_of_ethanol(AS_MANY)))
        by_scs = supports_of_a_cone_solver(torsions)
        ethanol = (
            "Ethanol: the authors' configurations are 50 000 of the original MD17, ours 9 633 of the revised one, so "
            "the losses can agree only in distribution; tangent spaces are those of the same share of configurations "
            f"({SAME_SHARE}), and below it of as many ({AS_MANY}). As in the authors' code gradients are normalised "
            "before they are projected (the paper does not say so), and by the pursuit again. In the authors' result "
            "file 77 of 100 supports have 2 or 3 rows and the others 146 to 480, which are iterates of a solver that "
            f"warned of an inaccurate solution; the SCS of today, called as they do, leaves {by_scs.min()} to "
            f"{by_scs.max()} rows in all {len(by_scs)}. "
        )
    except DatasetNotFound as missing:
        text += f"Words and Ethanol were not run: {missing}\n\n"
    figures.illustration(results)
    figures.differences(results, runs)
    figures.supports(results, runs)
    text += (
        "## Table 1\n\nReplicates by the authors' protocol (half of the points, seeds 0 to 24; Ethanol: 100 "
        f"configurations). Losses within {EQUAL:g} of each other are equal. *Candidates* is the union of the supports "
        "of all solutions; the paper counts the support of one numerical solution. Words: seven axes (the paper's "
        "table says six, its word list has seven; seven agree with its losses). The paper's "
        "shares are as printed, from exact comparison of floats, and in brackets from its losses compared as ours. "
        + ethanol
        + "\n\n"
        + table_1(runs)
    )
    text += (
        "## Beyond the paper\n\nWhere two-stage loses to greedy, the best rows are not among the candidates. "
        '`second_stage="global"` searches all rows by branch and bound, starting from both, so it is never worse '
        "than the better of them.\n\n" + table_beyond(runs)
    )
    text += "## Table 3: seconds\n\n" + table_3(runs)
    text += (
        "## Figure 3: greedy worse / equal / better than two-stage on Wine\n\nThe paper could not run c = 10 at "
        "D = 6 for overflow; normalisation in logarithms can.\n\n" + figure_3(results)
    )
    text += "## Figure 5: the second stage under either loss\n\n" + figure_5(results)
    for name, title in figures.TITLES.items():
        if (results / f"isometry-{name}.png").exists():
            text += f"![{title}](isometry-{name}.png)\n\n"
    write(results, "isometry", text)
