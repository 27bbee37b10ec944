"""What differs between two sets: planted shifts that should be found, and sets without any, beside plain tests.

Items of Scenes and COCO that no model was fitted to are drawn again with weights under which some concepts are more
frequent by 10 to 50 %. Others that go with these are then more or less frequent too; or, which is harder, weights keep
them, by the labels, exactly as frequent as they were."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.harness import circumstances
from pellucid import ConceptSubspaces, compare

RUNS, ITEMS, PLANTED = 200, 20_000, 3
# enrichments that must be found, and changes of a label's share below which a finding is false
LARGE, NONE = 0.2, 0.02


def tilted(Y: Any, shares: Any) -> Any:
    """Weights of items (n,) under which each concept has the wanted share, as near to equal as can be (Newton)."""
    theta = np.zeros(Y.shape[1])
    for _ in range(100):
        w = np.exp(Y @ theta - (Y @ theta).max())
        w /= w.sum()
        mean = w @ Y
        step = np.linalg.solve(
            (Y * w[:, None]).T @ Y - np.outer(mean, mean) + 1e-10 * np.eye(len(theta)), shares - mean
        )
        theta += step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-10:
            break
    return w


def enriched(Y: Any, share: Any, chosen: Any, more: Any) -> Any:
    """Weights of items (n,) under which these concepts are more frequent by so much, if they are independent."""
    w = np.ones(len(Y))
    for j, e in zip(chosen, more):
        w *= np.where(Y[:, j] > 0, (1 + e) * (1 - share[j]) / (1 - share[j] * (1 + e)), 1.0)
    return w / w.sum()


def plain(P: Any, Q: Any, level: float, corrected: bool) -> Any:
    """Tests of two shares, of the items that the model says have each concept."""
    p = np.array([stats.ttest_ind(P[:, j], Q[:, j]).pvalue for j in range(P.shape[1])])
    return (stats.false_discovery_control(p) if corrected else p) <= level


def lines_of(task: Any) -> list[str]:
    model = ConceptSubspaces().fit(task.train.raw, task.train.coarse, task.concept_names)
    X = np.vstack([part.raw for part in (task.validation, task.queries, task.candidates)])
    Y = np.vstack([part.coarse for part in (task.validation, task.queries, task.candidates)]).astype(float)
    P, has = model.predict_proba(X), model.predict(X)
    names, share = list(model.concept_names_), Y.mean(axis=0)
    usable = np.flatnonzero((share > 0.02) & (share < 0.6))
    ways = {
        "**compare**": lambda a, b: told(compare(P[a], P[b], names=names), names),
        "**compare**, `own`": lambda a, b: told(compare(P[a], P[b], names=names), names, "own"),
        "**compare**, `least=0.05`": lambda a, b: told(compare(P[a], P[b], names=names, least=0.05), names),
        "t tests of predicted concepts, Benjamini-Hochberg": lambda a, b: plain(has[a], has[b], 0.05, True),
        "t tests of predicted concepts, none corrected": lambda a, b: plain(has[a], has[b], 0.05, False),
    }
    results: dict[str, list[tuple[float, ...]]] = {way: [] for way in ways}
    covered = []
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        chosen = rng.choice(usable, PLANTED, replace=False)
        more = rng.uniform(0.1, 0.5, PLANTED)
        wanted = share.copy()
        wanted[chosen] *= 1 + more
        planted, large = (np.isin(np.arange(len(share)), which) for which in (chosen, chosen[more > LARGE]))
        loose, held = enriched(Y, share, chosen, more), tilted(Y, wanted)
        moved = (loose @ Y - share) / share
        a, d = (rng.choice(len(Y), ITEMS, p=w) for w in (loose, held))
        b, c = rng.integers(len(Y), size=(2, ITEMS))
        up = P[a].mean(axis=0) > P[b].mean(axis=0)
        wrong = (np.abs(moved) < NONE) | (up != (moved > 0))
        for way, find in ways.items():
            found, strict, null = find(a, b), find(d, b), find(c, b)
            row = [found[large].mean() if large.any() else np.nan, (found & wrong).sum() / max(1, found.sum())]
            row += [strict[large].mean() if large.any() else np.nan, (strict & ~planted).sum() / max(1, strict.sum())]
            results[way].append((*row, float(not null.any())))
        seen = compare(P[c], P[b], names=names)
        covered.append(np.mean((seen.low <= 0) & (seen.high >= 0)))
    out = []
    for way, rows in results.items():
        cells = " | ".join(f"{value:.1%}" for value in np.nanmean(np.array(rows), axis=0))
        out.append(f"| {task.name} | {way} | {cells} | {f'{np.mean(covered):.1%}' if not out else ''} |")
        print(out[-1], flush=True)
    return out


def told(found: Any, names: list[str], which: str = "found") -> Any:
    sure = {name for name, yes in zip(found.concepts, getattr(found, which)) if yes}
    return np.array([name in sure for name in names])


def many_rows() -> list[str]:
    rng = np.random.default_rng(0)
    P = rng.random((1_000_000, 128), dtype=np.float32)
    half, out = len(P) // 2, []
    city = np.arange(half) % 7
    for title, more in (("two sets", {}), ("within 7 levels", {"given": (city, city)})):
        begun = time.perf_counter()
        compare(P[:half], P[half:], **more)
        out.append(f"| {title} | {time.perf_counter() - begun:.1f} s |")
        print(out[-1], flush=True)
    return out


def run(results: Path) -> None:
    from reproductions import common

    facts = circumstances()
    lines = [
        "# What differs between two sets",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, {facts['machine']}, Python "
        f"{facts['python']}. Printed by `python -m benchmarks comparison`.",
        "",
        f"Two times {ITEMS} items drawn again from those that the model was not fitted to; {PLANTED} of the coarse "
        f"concepts, of those in 2 to 60 % of items, are more frequent in one by 10 to 50 %. {RUNS} runs, and as many "
        f"without a shift. Found: of those enriched by more than {LARGE:.0%}. False: the mean share of findings whose "
        f"label does not change by {NONE:.0%} of its share or changes the other way. All else held: weights keep all "
        "other labels exactly as frequent, and every other finding is false; what is found then is what "
        "the model "
        "takes for a concept where others changed, which `own` leaves out. "
        "Quiet: runs without a shift and without a finding. Intervals: 95 % "
        "intervals that hold the true difference of runs without a shift.",
        "",
        "| set | way | found | false | found, all else held | false, all else held | quiet | intervals |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(line for make in (common.scenes, common.coco_captions) for line in lines_of(make())),
        "",
        "A million rows with the presence of 128 concepts:",
        "",
        "| | |",
        "| --- | --- |",
        *many_rows(),
    ]
    (results / "comparison.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
