"""How the time of ``nnls`` and ``lasso`` grows with rows, atoms and dimensions: a plot."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.harness import circumstances, compare
from benchmarks.problems import dictionary, grouped
from pellucid.solvers import lasso, nnls

AXES = {
    "rows": ("n", (2_500, 5_000, 10_000, 20_000, 40_000, 80_000)),
    "atoms": ("m", (30, 60, 120, 240, 480)),
    "dimensions": ("d", (64, 128, 256, 512, 1024)),
}


def run(results: Path) -> None:
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
    lines = ["| | " + " | ".join(("exponent of nnls", "exponent of lasso")) + " |", "| --- | --- | --- |"]
    for panel, (name, (letter, sizes)) in zip(panels, AXES.items()):
        slopes = []
        for solver, colour, mark in (("nnls", "#1b6ca8", "o"), ("lasso", "#c8553d", "s")):
            times = []
            for size in sizes:
                n, m, d = (
                    size if letter == "n" else 10_000,
                    size if letter == "m" else 120,
                    size if letter == "d" else 256,
                )
                times.append(measure(solver, n, m, d))
            slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            slopes.append(f"{slope:.2f}")
            panel.loglog(sizes, times, mark + "-", color=colour, label=f"{solver} (∝ {letter}$^{{{slope:.2f}}}$)")
        lines.append(f"| {name} | {slopes[0]} | {slopes[1]} |")
        panel.set_xticks(sizes, [f"{s:,}".replace(",", " ") for s in sizes], rotation=30)
        panel.minorticks_off()
        panel.set_xlabel(f"{name} {letter}")
        panel.legend(frameon=False)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    ticks = [t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if np.prod(panels[0].get_ylim() - np.array(t)) < 0]
    panels[0].set_yticks(ticks, [f"{1000 * t:.0f} ms" for t in ticks])
    panels[0].minorticks_off()
    panels[0].set_ylabel("time, all cores")
    figure.suptitle("How time grows (n = 10 000, m = 120, d = 256 where not varied)")
    figure.savefig(results / "growth.png", dpi=130)
    facts = circumstances()
    text = (
        f"# Growth\n\nMeasured on {facts['date']}, {facts['cores']} cores, by `python -m benchmarks growth`.\n\n"
        + "\n".join(lines)
        + "\n\nThe lasso's codes get sparser as the dimension grows, since random atoms get more orthogonal."
        + "\n\n![time against rows, atoms and dimensions](growth.png)\n"
    )
    (results / "growth.md").write_text(text, encoding="utf-8")
    print(text)


def measure(solver: str, n: int, m: int, d: int) -> float:
    if solver == "nnls":
        X, atoms, mask, _ = grouped(n, d, n_groups=m // 10)
        call = lambda: nnls(X, atoms, mask)  # noqa: E731
    else:
        X, atoms = dictionary(n, d, m)
        call = lambda: lasso(X, atoms, 0.15)  # noqa: E731
    call()
    return compare(solver, {solver: call}, rounds=3).best[solver]
