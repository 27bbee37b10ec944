"""The figures of paper 5, drawn from what ``reproductions/isometry.py`` measures."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from pellucid import IsometryPursuit
from pellucid.selection.losses import log_symmetric_length

BLUE, RED, GREY = "#1b6ca8", "#c8553d", "#9aa5ab"
TITLES = {
    "illustration": "Figure 1: the method in two dimensions",
    "differences": "Figure 2: how much greedy loses",
    "powers": "Figure 3: who wins as the power varies (Wine)",
    "supports": "Figure 4: how many candidates remain",
    "brute": "Figure 5: two stages against brute search",
    "words": "Figure 6: which words are chosen together",
}


def save(results: Path, name: str, figure) -> None:
    figure.savefig(results / f"isometry-{name}.png", dpi=130)
    plt.close(figure)


def illustration(results: Path) -> None:
    """Figure 1: rows, the chosen ones, the normalised rows, and the functions behind them."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2, 30)).T
    turn = np.deg2rad(25)
    X[:2] = [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    W = X / lengths / np.exp(log_symmetric_length(lengths[:, 0], 1.0))[:, None]
    model = IsometryPursuit(second_stage="candidates").fit(X)
    figure, panels = plt.subplots(2, 3, figsize=(10.5, 6.6), layout="constrained")
    for panel, V, title in (
        (panels[0, 0], X, "rows of X"),
        (panels[0, 1], X, "the orthonormal pair among them"),
        (panels[0, 2], W, "normalised: length 1 is the longest"),
    ):
        for p in range(len(X)):
            picked = p in model.selected_ and panel is not panels[0, 0]
            panel.annotate(
                "",
                V[p],
                (0, 0),
                arrowprops={"arrowstyle": "-|>", "color": RED if picked else GREY, "lw": 2.2 if picked else 1.0},
                zorder=3 if picked else 1,
            )
        panel.add_patch(plt.Circle((0, 0), 1, fill=False, ls=":", color="black", lw=0.8))
        panel.set(xlim=(-2.4, 2.4), ylim=(-2.4, 2.4), aspect="equal", title=title)
    t = np.geomspace(0.25, 4, 300)
    for c, style in ((0.5, ":"), (1.0, "-"), (2.0, "--")):
        g = np.exp(log_symmetric_length(t, c))
        panels[1, 0].plot(t, g, style, color=BLUE, label=f"c = {c:g}")
        panels[1, 1].plot(t, 1 / g, style, color=BLUE)
    panels[1, 0].set(xscale="log", ylim=(0.9, 6), title="loss of one singular value", xlabel="σ")
    panels[1, 0].legend(frameon=False)
    panels[1, 1].set(xscale="log", title="length after normalisation", xlabel="length before")
    for panel in panels[1, :2]:
        panel.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
        panel.minorticks_off()
    angle = np.deg2rad(np.linspace(15, 165, 200))
    panels[1, 2].plot(np.rad2deg(angle), 2 / np.sin(angle), color=BLUE)
    panels[1, 2].set(title="‖β‖₁,₂ of two unit rows", xlabel="angle between them (degrees)", ylim=(1.8, 8))
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
    save(results, "illustration", figure)


def differences(results: Path, runs) -> None:
    """Figure 2: distribution of the loss of greedy minus that of two-stage."""
    figure, panels = plt.subplots(1, len(runs), figsize=(3 * len(runs), 2.9), sharey=True, layout="constrained")
    for panel, run in zip(panels, runs):
        gap = np.sort(run.greedy - run.two_stage)
        panel.step(gap, np.arange(1, len(gap) + 1) / len(gap), where="post", color=BLUE)
        panel.axvline(0, color="black", lw=0.8, ls=":")
        panel.set(title=run.name, xlabel="ℓ₁ greedy − ℓ₁ two-stage")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of replicates below")
    save(results, "differences", figure)


def powers(results: Path, values, shares) -> None:
    """Figure 3: shares of worse, equal and better over the power, one panel per dimension."""
    figure, panels = plt.subplots(1, len(shares), figsize=(3.4 * len(shares), 2.9), sharey=True, layout="constrained")
    for panel, (D, rows) in zip(panels, shares.items()):
        panel.stackplot(
            values,
            np.array(rows).T,
            colors=[BLUE, "#d5dbde", RED],
            labels=["two-stage better", "equal", "greedy better"],
        )
        panel.set(xscale="log", title=f"D = {D}", xlabel="power c", xlim=(values[0], values[-1]), ylim=(0, 1))
        panel.set_xticks(values, [f"{c:g}" for c in values])
        panel.minorticks_off()
    panels[0].set_ylabel("share of replicates")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(results, "powers", figure)


def supports(results: Path, runs) -> None:
    """Figure 4: how many rows remain after stage one."""
    figure, panels = plt.subplots(1, len(runs), figsize=(3 * len(runs), 2.6), layout="constrained")
    for panel, run in zip(panels, runs):
        sizes, counts = np.unique(run.support, return_counts=True)
        panel.bar(sizes, counts, color=BLUE, width=0.8)
        panel.set(title=run.name, xlabel="candidates")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("replicates")
    save(results, "supports", figure)


def brute_against_two_stage(results: Path, pairs) -> None:
    """Figure 5: one point per replicate; on the line both are equal."""
    figure, panels = plt.subplots(1, len(pairs), figsize=(3 * len(pairs), 3.1), layout="constrained")
    for panel, ((name, loss), (two, brute)) in zip(panels, pairs.items()):
        ends = [min(brute.min(), two.min()), max(brute.max(), two.max())]
        panel.plot(ends, ends, color=GREY, lw=0.8)
        panel.plot(brute, two, "o", ms=4, color=BLUE, alpha=0.7)
        panel.set(title=f"{name}, {loss.replace('_', ' ')}", xlabel="brute search")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("two-stage")
    save(results, "brute", figure)


def cooccurrence(results: Path, run, cut, words, axis, least: int = 3) -> None:
    """Figure 6: words on a circle by axis; size: how often chosen, lines: how often together."""
    figure, panels = plt.subplots(1, 2, figsize=(12, 6.4), layout="constrained")
    names = list(dict.fromkeys(axis))
    colour = {name: plt.get_cmap("tab10")(i) for i, name in enumerate(names)}
    turn = 2 * np.pi * np.arange(len(words)) / len(words)
    place = np.column_stack([np.cos(turn), np.sin(turn)])
    chosen = {"two-stage": run.chosen, "greedy": run.chosen_greedy}
    for panel, (title, choices) in zip(panels, chosen.items()):
        count = np.zeros((len(words), len(words)))
        for rows, picked in zip(cut, choices):
            for i, j in combinations(rows[np.sort(picked)], 2):
                count[i, j] += 1
                count[j, i] += 1
            count[rows[picked], rows[picked]] += 1
        for i, j in combinations(range(len(words)), 2):
            if count[i, j] >= least:
                panel.plot(*place[[i, j]].T, color=GREY, lw=0.5 * count[i, j], alpha=0.6, zorder=1)
        panel.scatter(*place.T, s=14 * count.diagonal() + 2, c=[colour[a] for a in axis], zorder=2)
        for p, word in enumerate(words):
            if count[p, p] >= least:
                flip = np.cos(turn[p]) < 0
                panel.text(
                    *(1.09 * place[p]),
                    word,
                    rotation=np.rad2deg(turn[p]) + 180 * flip,
                    rotation_mode="anchor",
                    ha="right" if flip else "left",
                    va="center",
                    fontsize=9,
                )
        panel.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
        panel.text(0, 0.93, title, transform=panel.transAxes, fontsize=13, weight="bold")
        panel.axis("off")
    handles = [plt.Line2D([], [], marker="o", ls="", color=colour[name], label=name) for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(names), frameon=False)
    save(results, "words", figure)
