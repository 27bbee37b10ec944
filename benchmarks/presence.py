"""Concepts that can be trusted: learning, presence, exclusion, search and explanations beside the strongest plain way
to the same, on sets that were looked at while defaults were chosen and on sets that were not.

Scenes ships; the others are found through PELLUCID_DATA. PELLUCID_CLEANLAB_PYTHON names a Python with cleanlab."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness import circumstances
from benchmarks.presence_scale import excluded, many, speed
from benchmarks.presence_sets import Set, sets, shown
from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid._core.threads import one_blas_thread
from pellucid.concepts import WordConcept
from pellucid.concepts.stability import match
from pellucid.metrics import average_precision, concept_retrieval, top_k
from pellucid.search import explain
from pellucid.search.wanted import Asked, Learned, wanted

SEEDS = range(5)
COVERAGE = 0.9


# learning


def learning(data: Set) -> list[str]:
    """Retrieval by projection, atoms that come out again, and seconds: the default beside the paper's algorithm."""
    lines = []
    for title, settings in (("**default** (online)", {}), ("paper, 8 atoms", {"update": "svd", "n_atoms": 8}),
                            ("paper, 10 atoms", {"update": "svd"})):  # fmt: skip
        found, seconds, again = [], [], []
        for seed in SEEDS if not settings else range(1):
            make = partial(ConceptSubspaces, presence=False, random_state=seed, **settings)
            begun = time.perf_counter()
            model = make().fit(data.train, data.Y)
            seconds.append(time.perf_counter() - begun)
            found.append(retrieval(data, model))
            rows = np.random.default_rng(seed).integers(len(data.train), size=len(data.train))
            if data.Y[rows].any(axis=0).all():
                again.append((match(model, make().fit(data.train[rows], data.Y[rows]))[0] >= 0.9).mean())
        general, sub = np.mean(found, axis=0)
        lines.append(
            f"| {shown(data)} | {title} | {general:.3f} | {sub:.3f} | {np.mean(again):.0%} | {min(seconds):.2f} |"
        )
    return lines


def retrieval(data: Set, model: Any, score: Any = None) -> tuple[float, float]:
    queries, pool = (data.queries, data.pool) if score is None else (None, None)
    fine = {}
    if data.fine is not None:
        fine = dict(zip(("query_fine", "candidate_fine", "fine_to_coarse"), data.fine))
    if score is not None:
        queries, pool = np.arange(len(data.queries))[:, None], np.arange(len(data.pool))[:, None]
    found = concept_retrieval(
        model if score is None else None, queries, pool, data.query_Y, data.pool_Y, score=score, **fine
    )
    return found.general, found.sub


# presence


def presence(data: Set, model: Any, probe: Any) -> list[str]:
    """Areas, the most likely concept, calibration and coverage: ours beside scikit-learn's, one regression a "
    "concept."""
    lines = []
    X, Y = np.vstack([data.queries, data.pool]), np.vstack([data.query_Y, data.pool_Y])
    begun = time.perf_counter()
    model.fit_presence(data.train, data.Y)
    ours = time.perf_counter() - begun
    for title, (likely, seconds), least in (
        ("**ours**", (model.predict_proba(X), ours), model.presence_threshold_),
        ("logistic regression", probe(X), 0.5),
    ):
        lines.append(
            f"| {shown(data)} | {title} | {macro_auc(Y, likely):.3f} | {top_one(Y, likely):.3f} | "
            f"{calibration(Y, likely):.3f} | {macro_f1(Y, likely >= least):.3f} | {seconds:.2f} |"
        )
    kept = model.predict_set(X, COVERAGE)
    right = np.take_along_axis(kept, Y[:, :, None].astype(int), axis=2)[:, :, 0]
    lines[0] += f" {right.mean():.1%}; {kept.all(axis=2).mean():.0%} |"
    lines[1] += " |"
    return lines + (grouped(data, model, X, Y) if data.groups is not None else [])


def grouped(data: Set, model: Any, X: Any, Y: Any) -> list[str]:
    """Presence that was told which rows come from one source."""
    begun = time.perf_counter()
    told_of = copy(model).fit_presence(data.train, data.Y, groups=data.groups)
    seconds = time.perf_counter() - begun
    likely, kept = told_of.predict_proba(X), told_of.predict_set(X, COVERAGE)
    right = np.take_along_axis(kept, Y[:, :, None].astype(int), axis=2)[:, :, 0]
    return [
        f"| {shown(data)} | **ours**, with `groups=` | {macro_auc(Y, likely):.3f} | {top_one(Y, likely):.3f} | "
        f"{calibration(Y, likely):.3f} | {macro_f1(Y, likely >= told_of.presence_threshold_):.3f} | {seconds:.2f} | "
        f"{right.mean():.1%}; {kept.all(axis=2).mean():.0%} |"
    ]


def logistic(data: Set, model: Any) -> Callable[[Any], tuple[Any, float]]:
    """Regressions with the better of two penalties by cross-validated loss, as scikit-learn offers them."""
    from sklearn.linear_model import LogisticRegressionCV

    Z = model.prepare(data.train)
    begun = time.perf_counter()
    fitted = []
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        for y in data.Y.T:
            if y.all() or not y.any() or min(y.sum(), (~y).sum()) < 5:
                fitted.append(None)
                continue
            fitted.append(
                LogisticRegressionCV(
                    Cs=[1.0, 10.0],
                    cv=5,
                    scoring="neg_log_loss",
                    max_iter=2000,
                    l1_ratios=(0,),
                    use_legacy_attributes=False,
                ).fit(Z, y)
            )
    seconds = time.perf_counter() - begun

    def likely(X: Any) -> tuple[Any, float]:
        rows = model.prepare(X)
        columns = [
            np.full(len(rows), data.Y[:, j].mean()) if one is None else one.predict_proba(rows)[:, 1]
            for j, one in enumerate(fitted)
        ]
        return np.array(columns).T, seconds

    return likely


def told(Y: Any) -> Any:
    return np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))


def macro_auc(Y: Any, likely: Any) -> float:
    return float(np.mean([roc_auc_score(Y[:, j], likely[:, j]) for j in told(Y)]))


def top_one(Y: Any, likely: Any) -> float:
    some = Y.any(axis=1)
    return float(Y[some, likely[some].argmax(axis=1)].mean())


def macro_f1(Y: Any, said: Any) -> float:
    hits = (Y & said).sum(axis=0)
    return float(np.mean((2 * hits / np.maximum(Y.sum(axis=0) + said.sum(axis=0), 1))[told(Y)]))


def calibration(Y: Any, likely: Any, bins: int = 15) -> float:
    """Expected calibration error, the mean over concepts."""
    errors = []
    for j in told(Y):
        which = np.minimum((likely[:, j] * bins).astype(int), bins - 1)
        n = np.bincount(which, minlength=bins)
        away = np.bincount(which, likely[:, j], bins) - np.bincount(which, Y[:, j].astype(float), bins)
        errors.append(np.abs(away).sum() / n.sum())
    return float(np.mean(errors))


# exclusion: like this, but not j


def exclusion(data: Set, model: Any, probe: Any) -> list[str]:
    """Share of the first 20 with the concept, and mAP@20 of "shares another concept and lacks this"."""
    Q, P = model.prepare(data.queries), unit_rows(model.prepare(data.pool))
    T = unit_rows(model.prepare(data.train))
    likely = probe(data.pool)[0].T
    gaps = [T[y].mean(axis=0) - T[~y].mean(axis=0) if y.any() and not y.all() else 0 * T[0] for y in data.Y.T]
    units = unit_rows(Q)
    ways: dict[str, Callable[[Any, int], Any]] = {
        "nothing": lambda x, j: x @ P.T,
        "the concept's part taken out (projection)": lambda x, j: unit_rows(model.cones.remove(x, data.names[j])) @ P.T,
        "minus the mean difference": lambda x, j: (x - gaps[j]) @ P.T,
        "negative examples as Qdrant averages them (2x − mean of rows with it)": lambda x, j: (
            unit_rows(2 * x - T[data.Y[:, j]].mean(axis=0)) @ P.T
        ),
        "filter: logistic regression < ½, then cosine": lambda x, j: x @ P.T - 10.0 * (likely[j] >= 0.5),
        "**ours, the one vector for the engine**": lambda x, j: (
            ours(data, model, x, j).shortlist_vectors(model.presence_model) @ P.T
        ),
        "**ours**": lambda x, j: ours(data, model, x, j).scores(P, model.presence_model),
        "filter by the true labels (the limit)": lambda x, j: x @ P.T - 10.0 * data.pool_Y[:, j],
    }  # fmt: skip
    if data.query_Y.sum(axis=1).max() < 2:
        return []
    lines = []
    for title, score in ways.items():
        still, precise = [], []
        for j in range(len(data.names)):
            rows = np.flatnonzero(data.query_Y[:, j] & (data.query_Y.sum(axis=1) > 1))
            if not len(rows):
                continue
            best = top_k(np.asarray(score(units[rows], j)), 20)
            others = np.delete(data.query_Y[rows], j, axis=1)
            wanted_rows = (others @ np.delete(data.pool_Y, j, axis=1).T.astype(int) > 0) & ~data.pool_Y[:, j]
            still += data.pool_Y[best, j].mean(axis=1).tolist()
            precise += average_precision(np.take_along_axis(wanted_rows, best, axis=1)).tolist()
        lines.append(f"| {shown(data)} | {title} | {np.mean(still):.1%} | {np.mean(precise):.3f} |")
    return lines


def ours(data: Set, model: Any, x: Any, j: int) -> Any:
    asked = Asked([], [(Learned(data.names[j], model.cones, [data.names[j]], j), 1.0)], True)
    return wanted(x, asked, model.presence_model)


# search by concept, one setting for both measures


def searching(data: Set, model: Any, probe: Any) -> list[str]:
    Q, P = unit_rows(model.prepare(data.queries)), unit_rows(model.prepare(data.pool))
    likely = probe(data.pool)[0].T
    seen = [Learned(name, model.cones, [name], j) for j, name in enumerate(data.names)]

    def scores(x: Any, j: int) -> Any:
        return wanted(x, Asked([(seen[j], 1.0)], [], True), model.presence_model).scores(P, model.presence_model)

    ways = {
        "cosine": lambda x, j: x @ P.T,
        "projection (the paper's)": lambda x, j: seen[j].looked_for(x) @ P.T,
        "filter: logistic regression ≥ ½, then cosine": lambda x, j: x @ P.T + 10.0 * (likely[j] >= 0.5),
        "cosine + probability": lambda x, j: x @ P.T + likely[j],
        "cosine + 3·probability": lambda x, j: x @ P.T + 3 * likely[j],
        "**ours**": scores,
    }
    lines = []
    for title, score in ways.items():
        general, sub = retrieval(data, None, lambda rows, j, score=score: score(Q[rows[:, 0].astype(int)], j))
        lines.append(f"| {shown(data)} | {title} | {general:.3f} | {sub:.3f} | {(general + sub) / 2:.3f} |")
    return lines


# concepts from words, no labels


def from_words(data: Set, model: Any) -> list[str]:
    """A concept that is made of its fine labels' words, as far as the vocabulary has them, beside other ways."""
    if data.words is None or data.kinds is None:
        return []
    known = data.words.vocabulary
    Q, P = unit_rows(model.prepare(data.queries)), unit_rows(model.prepare(data.pool))
    lists = [[found for word in words if len(found := data.words.like(word))] for words in data.kinds]
    begun = time.perf_counter()
    made = [concept_of(known, name, words) for name, words in zip(data.names, lists)]
    for concept in made:
        concept.looked_for(Q[:1])
    took = (time.perf_counter() - begun) / len(made)
    halves = [concept_of(known, name, words[::2]) for name, words in zip(data.names, lists)]
    ways = {
        "cosine": lambda x, j: x,
        "the query moved towards the word (x + w)": lambda x, j: x + made[j].direction,
        "the query moved towards the mean of the list": lambda x, j: x + unit_rows(made[j].vectors.sum(axis=0)[None]),
        "**ours**, half of the list": lambda x, j: halves[j].looked_for(x),
        f"**ours**, the list ({1e3 * took:.2g} ms to make)": lambda x, j: made[j].looked_for(x),
        "projection, learned from labels": lambda x, j: unit_rows(model.cones.project(x, data.names[j])),
    }
    named = [j for j, name in enumerate(data.names) if name in known]
    lines = []
    for of, which in ((shown(data), range(len(made))), (f"{shown(data)}, concepts with a known word", named)):
        if of != shown(data) and (data.fine is None or len(named) > len(made) / 2):
            continue
        some = with_concepts(data, which)
        share = sum(len(lists[j]) for j in which) / sum(len(data.kinds[j]) for j in which)
        for title, looked_for in ways.items():
            score = lambda rows, j, look=looked_for: look(Q[rows[:, 0].astype(int)], which[j]) @ P.T  # noqa: E731,B023
            general, sub = retrieval(some, None, score)
            lines.append(f"| {of} | {share:.0%} | {title} | {general:.3f} | {sub:.3f} |")
    return lines


def with_concepts(data: Set, which: Any) -> Set:
    """The set with some of its concepts only."""
    columns = np.array(list(which))
    if len(columns) == len(data.names) or data.fine is None:
        return data
    queries, pool, above = data.fine
    under = np.isin(above, columns)
    fine = queries[:, under], pool[:, under], np.searchsorted(columns, above[under])
    return replace(data, query_Y=data.query_Y[:, columns], pool_Y=data.pool_Y[:, columns], fine=fine)


def concept_of(known: Any, name: str, vectors: list[Any]) -> Any:
    """The concept; of one that no word is known of, a cone of nothing, so that queries stay as they are."""
    if not vectors and name not in known:
        return WordConcept(name, np.zeros((0, known.vectors.shape[1])), np.zeros(known.vectors.shape[1]))
    return known.concept(name, vectors=np.vstack(vectors) if vectors else None)


# explanations


def explanations(data: Set, model: Any) -> str:
    """Σ|terms| over the cosine, pairs of nearest neighbours, and the milliseconds that one explanation takes."""
    P, rng = unit_rows(model.prepare(data.pool)), np.random.default_rng(0)
    chosen = rng.permutation(len(data.queries))[:100]
    near = (unit_rows(model.prepare(data.queries[chosen])) @ P.T).argmax(axis=1)
    sizes, took = {None: [], "all": []}, []
    for i, c in zip(chosen, near):
        for active in sizes:
            begun = time.perf_counter()
            why = explain(model, data.queries[i], data.pool[c], active=active)
            if active is None:
                took.append(time.perf_counter() - begun)
            sizes[active].append((np.abs(why.terms).sum() + abs(why.residual)) / abs(why.score))
    return (
        f"| {shown(data)} | {len(data.names)} | {len(model.atoms_)} of {model.n_features_in_} | "
        f"{np.mean(sizes[None]):.2f} | "
        f"{np.mean(sizes['all']):.2f} | {1e3 * np.median(took):.2g} ms |"
    )


# label errors


CLEANLAB = """
import sys
import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

given = np.load(sys.argv[1])
X, Y = given["X"], given["Y"]
doubt = np.zeros(Y.shape)
for j, y in enumerate(Y.T):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    ways = (LogisticRegression(C=C, max_iter=2000) for C in (1, 10))
    likely = [cross_val_predict(way, X, y, cv=folds, method="predict_proba") for way in ways]
    best = min(likely, key=lambda p: log_loss(y, p))
    doubt[:, j] = -get_label_quality_scores(y.astype(int), best, method="normalized_margin", adjust_pred_probs=True)
np.save(sys.argv[2], doubt)
"""


def label_errors(data: Set, model: Any) -> list[str]:
    """Average precision over all labels; as many are turned over on either side of a concept."""
    from sklearn.metrics import average_precision_score

    python, cells = os.environ.get("PELLUCID_CLEANLAB_PYTHON"), []
    for rate in (0.05, 0.1, 0.2):
        rng, wrong = np.random.default_rng(0), np.zeros_like(data.Y)
        for j, y in enumerate(data.Y.T):
            for side in (True, False):
                rows = rng.permutation(np.flatnonzero(y == side))
                wrong[rows[: int(rate * min(y.sum(), (~y).sum()))], j] = True
        given = data.Y ^ wrong
        if min(given.sum(axis=0).min(), (~given).sum(axis=0).min()) < 5:
            return []
        found, doubt = model.label_errors(data.train, given, least=0), np.zeros(given.shape)
        doubt[found.rows, [data.names.index(str(name)) for name in found.concepts]] = found.doubt
        cells.append([average_precision_score(wrong.ravel(), doubt.ravel()), np.nan])
        if python:
            with tempfile.TemporaryDirectory() as folder:
                before, after = Path(folder) / "given.npz", Path(folder) / "doubt.npy"
                np.savez(before, X=unit_rows(model.prepare(data.train)), Y=given)
                one = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
                subprocess.run([python, "-c", CLEANLAB, str(before), str(after)], check=True, env=one)
                cells[-1][1] = average_precision_score(wrong.ravel(), np.load(after).ravel())
    names = ("**ours**", "cleanlab, adjusted margin, on logistic regressions")
    return [
        f"| {shown(data)} | {name} | " + " | ".join(f"{cell[k]:.3f}" for cell in cells) + " |"
        for k, name in enumerate(names)
        if k == 0 or python
    ]


def run(results: Path) -> None:
    warnings.filterwarnings("ignore", message="Of .* rows, too few")
    tables: dict[str, list[str]] = {
        name: [] for name in ("learning", "presence", "exclusion", "search", "words", "errors", "explanations")
    }
    for data in sets():
        print(data.name, "…", flush=True)
        tables["learning"] += learning(data)
        model = ConceptSubspaces().fit(data.train, data.Y, data.names)
        probe = logistic(data, model)
        tables["presence"] += presence(data, model, probe)
        tables["exclusion"] += exclusion(data, model, probe)
        tables["search"] += searching(data, model, probe)
        tables["words"] += from_words(data, model)
        tables["errors"] += label_errors(data, model)
        tables["explanations"].append(explanations(data, model))
        for lines in tables.values():
            print("\n".join(line for line in lines if data.name in line), flush=True)
    facts = circumstances()
    text = HEAD.format(**facts) + "".join(
        f"## {TITLES[name][0]}\n\n{TITLES[name][1]}\n\n{TITLES[name][2]}\n" + "\n".join(lines) + "\n\n"
        for name, lines in {**tables, "excluded": excluded(), "speed": speed(), "many": many()}.items()
    )
    (results / "presence.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    (results / "presence.json").write_text(json.dumps({"circumstances": facts}, indent=1) + "\n", encoding="utf-8")
    print(text)


HEAD = """# Concepts that can be trusted

Measured at commit {commit} on {date}, {cores} cores, {machine}, Python {python}.
Printed by `python -m benchmarks presence`. One setting for all columns of a row: the library's defaults, and for the
others what the row says. Defaults were chosen on Scenes, COCO captions and CLIP Flickr8k; sets that are "kept back"
were not looked at while choosing.

"""
TITLES = {
    "learning": (
        "Learning",
        "Retrieval by the projection of the query alone (mAP@20, same concept and same fine label), the share of "
        "atoms that come out "
        "again (cosine ≥ 0.9) on a bootstrap sample, seconds of a fit without presence. Means over 5 seeds; the "
        "paper's start has none.",
        "| set | learner | general | sub | atoms again | s |\n| --- | --- | --- | --- | --- | --- |",
    ),
    "presence": (
        "Presence",
        "Rows that were not trained on. AUC and F1: mean over concepts; top one: share of rows whose likeliest "
        "concept is right; ECE: "
        "expected calibration error in 15 bins, mean over concepts; coverage: how often the right answer is "
        "among those that "
        f"`predict_set(coverage={COVERAGE})` keeps, and how often both are kept. Logistic regression: "
        f"scikit-learn's, a concept each, C from "
        "1 and 10 by 5-fold loss, decided at ½.",
        "| set | | AUC | top one | ECE | F1 | s | coverage; cannot tell |\n| --- | --- | --- | --- | --- | --- | "
        "--- | --- |",
    ),
    "exclusion": (
        "Like this, but not that",
        "For each query and each concept of it, of several: the share of the first 20 that still has it, and "
        "mAP@20 of rows that share "
        "another concept and lack this one. Sets with one concept a row have no such query.",
        "| set | | still has it | mAP@20 |\n| --- | --- | --- | --- |",
    ),
    "search": (
        "Search by concept",
        "mAP@20 by concept and by fine label (where there are any), and the mean of both.",
        "| set | | general | sub | mean |\n| --- | --- | --- | --- | --- |",
    ),
    "words": (
        "Concepts from words",
        "mAP@20 by concept and by fine label of concepts that nobody labelled: a list of words, the fine labels that "
        "the vocabulary has (share of them in the second column), spans a cone. Time: to make a concept and use it. "
        "Where the vocabulary lacks the own word of most concepts, those that it has once more by themselves.",
        "| set | list | | general | sub |\n| --- | --- | --- | --- | --- |",
    ),
    "errors": (
        "Wrong labels",
        "Average precision of finding labels that were turned over, as many with the concept as without: 5, 10 and "
        "20 % of the rarer of the two.",
        "| set | | 5 % | 10 % | 20 % |\n| --- | --- | --- | --- | --- |",
    ),
    "explanations": (
        "Explanations",
        "Of 100 queries and their nearest neighbour: the sizes of all terms and of the rest, over the size of "
        "the cosine; over the concepts that the two "
        "have, and over all; time of one.",
        "| set | concepts | atoms | Σ\\|terms\\| / cosine | over all concepts | time |\n| --- | --- | --- | --- "
        "| --- | --- |",
    ),
    "excluded": (
        "What keeping a concept out costs",
        "Milliseconds of a search for 20 of rows like those of Scenes, median of 40 queries in turns: plain, with "
        "`without=`, and the median of their ratios. *To reach: 1.1.*",
        "| engine | rows | plain | without | ratio |\n| --- | --- | --- | --- | --- |",
    ),
    "speed": (
        "20 000 × 512, 12 planted concepts of 10 atoms, float32",
        "In turns, best of three; the mean cosine of planted atoms and the nearest learned one.",
        "| | time | | planted atoms |\n| --- | --- | --- | --- |",
    ),
    "many": (
        "Many concepts",
        "Planted rows of 384 numbers with three concepts each; one fit, presence learned afterwards, shares of a "
        "row, one explanation. In brackets seconds of processors.",
        "| concepts | rows | cones | presence | shares of a row | explanation |\n| --- | --- | --- | --- | --- | --- |",
    ),
}
