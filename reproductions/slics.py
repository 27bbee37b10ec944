"""Paper 1: concept-filtered retrieval (the form of its Table 2), with the number of atoms chosen on validation rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from pellucid import ConceptSubspaces
from pellucid._base import unit_rows
from pellucid.datasets import DatasetNotFound
from pellucid.metrics import concept_retrieval
from pellucid.preprocessing import zero_shot_labels
from reproductions.common import Task, coco_captions, scenes, stamp, write

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16)
WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0)
# mean over ViT-B/32 embeddings of COCO images (paper, Table 2)
PAPER = {
    "unfiltered": (0.791, 0.671),
    "S-SVD": (0.905, 0.676),
    "S-SLiCS": (0.929, 0.742),
    "U-SLiCS (zero-shot)": (0.871, 0.672),
}


def run(results: Path) -> None:
    warnings.filterwarnings("ignore", category=FutureWarning)
    text = "# Concept-filtered retrieval (paper 1)\n\n" + stamp("slics")
    text += (
        "mAP@20 over all pairs of a query and a concept it has; *general*: the candidate has the concept; *sub*: it "
        "shares a fine label of the query under it. The number of atoms d0, or the weight λ, is chosen on the "
        "validation rows for each measure. The paper's figures are for CLIP embeddings of COCO images: another "
        "representation of the same labels, so a story to compare, not a number.\n\n"
    )
    for make in (coco_captions, scenes):
        try:
            task = make()
        except DatasetNotFound as missing:
            text += f"## {make.__name__}\n\nNot run: {missing}\n\n"
            continue
        text += table(task)
    write(results, "slics", text)


def evaluate(task: Task, queries, model=None, score=None):
    """mAP@20 of the queries (validation or test) against the test candidates."""
    return concept_retrieval(
        model,
        queries.vectors,
        task.candidates.vectors,
        queries.coarse,
        task.candidates.coarse,
        query_fine=queries.fine,
        candidate_fine=task.candidates.fine,
        fine_to_coarse=task.fine_to_coarse,
        score=score,
    )


def chosen(task: Task, options, make):
    """For each measure the option that is best on validation queries, and its figures on the test queries."""
    tried = [(option, make(option)) for option in options]
    on_validation = [(evaluate(task, task.validation, **how), option, how) for option, how in tried]
    picked = []
    for measure in ("general", "sub"):
        _, option, how = max(on_validation, key=lambda found: getattr(found[0], measure))
        picked.append((option, getattr(evaluate(task, task.queries, **how), measure)))
    return picked


def table(task: Task) -> str:
    train = task.train
    pool = task.candidates.vectors

    def cones(labels, max_iter):
        return lambda size: {
            "model": ConceptSubspaces(size, max_iter=max_iter).fit(train.vectors, labels, task.concept_names)
        }

    active = max(1, round(float(train.coarse.sum(axis=1).mean())))
    guessed = zero_shot_labels(train.raw, task.concept_vectors, active)
    classifiers = [
        LogisticRegression(max_iter=2000, C=10.0).fit(train.vectors, train.coarse[:, j])
        for j in range(len(task.concept_names))
    ]
    probability = np.array([c.predict_proba(pool)[:, 1] for c in classifiers])
    word = unit_rows(np.asarray(task.concept_vectors) - train.raw.mean(axis=0))

    rows = [("unfiltered", [("", getattr(evaluate(task, task.queries), m)) for m in ("general", "sub")])]
    rows.append(("S-SVD", chosen(task, SIZES, cones(train.coarse, 0))))
    rows.append(("S-SLiCS", chosen(task, SIZES, cones(train.coarse, 10))))
    rows.append(("U-SLiCS (zero-shot)", chosen(task, SIZES, cones(guessed, 10))))
    plus_probability = lambda weight: {"score": lambda X, j: X @ pool.T + weight * probability[j]}  # noqa: E731
    rows.append(("cosine + λ·probability (logistic regression)", chosen(task, WEIGHTS, plus_probability)))
    towards = lambda weight: {"score": lambda X, j: unit_rows(X + weight * word[j]) @ pool.T}  # noqa: E731
    rows.append(("query moved towards the concept word, x + λw", chosen(task, WEIGHTS, towards)))

    lines = [
        f"## {task.name}",
        "",
        f"{len(train.vectors)} training rows, {len(task.validation.vectors)} validation queries, "
        f"{len(task.queries.vectors)} queries, {len(pool)} candidates, {len(task.concept_names)} concepts; "
        f"zero-shot labels: the {active} nearest concept words.",
        "",
        "| method | general | sub | chosen (general, sub) |" + (" paper: general | sub |" if task.paper else ""),
        "| --- | --- | --- | --- |" + (" --- | --- |" if task.paper else ""),
    ]
    for name, (general, sub) in rows:
        picks = f"{general[0]}, {sub[0]}" if general[0] != "" else ""
        line = f"| {name} | {general[1]:.3f} | {sub[1]:.3f} | {picks} |"
        if task.paper:
            line += "".join(f" {value:.3f} |" for value in PAPER[name]) if name in PAPER else " | |"
        lines.append(line)
    return "\n".join(lines) + "\n\n"
