"""Erasing a concept: what linear probes tell afterwards and what it costs, beside ``ConceptSubspaces.remove`` and the
reference package ``concept-erasure``. That one needs torch, so it runs in a Python of its own, whose path is in the
environment variable PELLUCID_ERASURE_PYTHON::

    python -m venv place && place/bin/pip install torch==2.13.0 concept-erasure numpy
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import circumstances, in_a_process_of_its_own, seconds
from pellucid import ConceptErasure, ConceptSubspaces
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.probes import concordance, probed, ridge_scores
from pellucid.datasets import load_scenes

VARIABLE = "PELLUCID_ERASURE_PYTHON"
SIZES = (200, 500, 1000, 1500)
FOLDS = 3
ROWS, WIDTH = 1_000_000, 512

# erases every concept alone, then all together; prints nothing
REFERENCE = """
import sys
import numpy as np, torch
from concept_erasure import LeaceFitter

torch.set_num_threads(1)

given = np.load(sys.argv[1])
fit, rest, Z = (torch.from_numpy(given[name].astype(np.float64)) for name in ("fit", "rest", "Z"))
found = {}
for j, z in enumerate([*Z.T[:, :, None], Z]):
    eraser = LeaceFitter.fit(fit, z).eraser
    found[f"fit{j}"], found[f"rest{j}"] = (eraser(rows).numpy().astype(np.float32) for rows in (fit, rest))
np.savez(sys.argv[2], **found)
"""

MANY = """
import sys, time
from functools import partial
import numpy as np
from benchmarks.erasure import ROWS, WIDTH, made
from benchmarks.harness import Peak
from pellucid import ConceptErasure
from pellucid.rows import Blocks
from pellucid.rows.parts import Part

BLOCK = 16_384
rng = np.random.default_rng(0)
Z = rng.random((ROWS, 2)) < 0.4
parts = [Part(s, min(BLOCK, ROWS - s), partial(made, s, Z[s : s + BLOCK])) for s in range(0, ROWS, BLOCK)]
blocks = Blocks.of(parts, (ROWS, WIDTH), np.float32, None)
ConceptErasure().fit(np.asarray(next(iter(blocks)))[:2000], Z[:2000])
begun = time.perf_counter()
for block in blocks:
    pass
making = time.perf_counter() - begun
with Peak() as peak:
    begun = time.perf_counter()
    eraser = ConceptErasure().fit(blocks, Z)
    fitting = time.perf_counter() - begun - making
begun = time.perf_counter()
for block in eraser.transform(blocks):
    pass
erasing = time.perf_counter() - begun - making
print(making, fitting, erasing, peak.most, eraser.residual_)
"""


def made(start, Z):
    """Rows of a block that have to do with their concepts, as a part's blocks."""
    rng = np.random.default_rng(start)
    rows = rng.standard_normal((len(Z), WIDTH), dtype=np.float32)
    rows[:, :2] += 2 * Z
    yield rows


def run(results: Path) -> None:
    sets = {"Scenes": scenes()}
    try:
        sets["COCO captions"] = captions()
    except (ImportError, FileNotFoundError) as error:
        print(f"COCO captions are left out: {error}")
    python = os.environ.get(VARIABLE)
    facts = circumstances()
    with one_blas_thread():  # many small products
        found = {name: measure(*rows, python) for name, rows in sets.items()}
    many = dict(zip(("making", "fitting", "erasing", "peak", "residual"), in_a_process_of_its_own(MANY)))
    text = page(found, many, facts, python)
    (results / "erasure.md").write_text(text, encoding="utf-8")
    data = {"circumstances": facts, "sets": found, "many": many}
    (results / "erasure.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(text)


def scenes():
    """Rows of the fit, other rows, and their twelve concepts."""
    found = load_scenes()
    order = np.concatenate(found.split)
    return found.vectors[order], found.coarse[order], len(found.split.train)


def captions():
    """The same of captions: no image is on both sides."""
    from reproductions.data import load_coco_captions

    found = load_coco_captions()
    images = np.random.default_rng(0).permutation(np.unique(found.image_id))
    place = np.argsort(np.argsort(images))  # of the images in the order of their number
    rank = place[np.searchsorted(np.sort(images), found.image_id)]
    order = np.argsort(rank, kind="stable")
    return found.vectors[order], found.coarse[order], int((rank < len(images) * 6 // 10).sum())


def measure(X, Y, n, python):
    fit, rest, Z, other = X[:n], X[n:], Y[:n].astype(float), Y[n:].astype(float)
    found = {"rows": [len(fit), len(rest)], "before": asked(fit, Z, rest, other)}
    cones = ConceptSubspaces(6, random_state=0).fit(fit, Y[:n])
    prepared = [cones.remove(rows, [str(name)]) for name in cones.concept_names_ for rows in (fit, rest)]
    found["remove"] = judged(list(zip(prepared[::2], prepared[1::2])), Z, other)
    # remove works on prepared rows, so its change is a share of theirs
    whole = cones.prepare(rest)
    found["remove"]["change"] = [np.square(whole - gone).sum() / spread(whole) for gone in prepared[1::2]]
    found["remove"]["together"] = None
    found["ours"] = erased_by(lambda rows, z: ConceptErasure().fit(rows, z).transform, fit, rest, Z, other)
    found["exact"] = erased_by(lambda rows, z: ConceptErasure(shrinkage=0).fit(rows, z).transform, fit, rest, Z, other)
    found["reference"] = reference(python, fit, rest, Z, other) if python else None
    found["sizes"] = [few(fit[:m], rest, Z[:m], other, python) for m in (*SIZES, n)]
    return plain(found)


def asked(fit, Z, rest, other):
    """The area under the curve of probes trained on the first rows and asked on the others, for each concept."""
    return [concordance(z, score) for z, score in zip(other.T, ridge_scores(fit, Z, rest).T)]


def judged(pairs, Z, other):
    """Of rows without concept j, for every j: the probe of concept j, trained on the rows of the fit, and on others."""
    found = {"own": [], "others": []}
    for j, (fit, rest) in enumerate(pairs):
        mine = slice(j, j + 1)
        found["own"] += asked(fit, Z[:, mine], rest, other[:, mine])
        found["others"] += list(probed(rest, other[:, mine], FOLDS, 0))
    return found


def erased_by(learn, fit, rest, Z, other):
    changes = [learn(fit, z[:, None]) for z in Z.T]
    return with_changes([(change(fit), change(rest)) for change in changes], learn(fit, Z), fit, rest, Z, other)


def with_changes(pairs, together, fit, rest, Z, other):
    both = (together(fit), together(rest)) if callable(together) else together
    found = judged(pairs, Z, other)
    found["change_fit"] = [np.square(fit - a).sum() / spread(fit) for a, _ in pairs]
    found["change"] = [np.square(rest - b).sum() / spread(rest) for _, b in pairs]
    found["together"] = {
        "own": asked(both[0], Z, both[1], other),
        "others": probed(both[1], other, FOLDS, 0),
        "change_fit": np.square(fit - both[0]).sum() / spread(fit),
        "change": np.square(rest - both[1]).sum() / spread(rest),
    }
    return found


def spread(rows):
    return np.square(rows - rows.mean(axis=0)).sum()


def reference(python, fit, rest, Z, other):
    pairs = by_reference(python, fit, rest, Z)
    return with_changes(pairs[:-1], pairs[-1], fit, rest, Z, other)


def by_reference(python, fit, rest, Z):
    """Rows of the fit and others, erased by the reference: one concept after the other, then all together."""
    with tempfile.TemporaryDirectory() as folder:
        given, back = Path(folder) / "given.npz", Path(folder) / "back.npz"
        np.savez(given, fit=fit, rest=rest, Z=Z)
        subprocess.run([python, "-W", "ignore", "-c", REFERENCE, str(given), str(back)], check=True)
        with np.load(back) as read:
            return [(read[f"fit{j}"], read[f"rest{j}"]) for j in range(Z.shape[1] + 1)]


def few(fit, rest, Z, other, python):
    """An eraser of few rows at work on others: what a probe of these still tells, and how much is changed."""
    there = (Z.any(axis=0) & ~Z.all(axis=0)).nonzero()[0]
    found = {"rows": len(fit), "after": [], "change": [], "exact_change": [], "reference_change": []}
    pairs = by_reference(python, fit, rest, Z[:, there]) if python else []
    for place, j in enumerate(there):
        z = Z[:, j : j + 1]
        erased = ConceptErasure().fit(fit, z).transform(rest)
        found["after"] += list(probed(erased, other[:, j : j + 1], FOLDS, 0))
        found["change"].append(np.square(rest - erased).sum() / spread(rest))
        exact = ConceptErasure(shrinkage=0).fit(fit, z).transform(rest)
        found["exact_change"].append(np.square(rest - exact).sum() / spread(rest))
        if python:
            found["reference_change"].append(np.square(rest - pairs[place][1]).sum() / spread(rest))
    return found


def plain(found):
    """In terms of JSON."""
    if isinstance(found, dict):
        return {name: plain(value) for name, value in found.items()}
    if isinstance(found, (list, np.ndarray)):
        return [plain(value) for value in found]
    return found if found is None or isinstance(found, int) else float(found)


def page(found, many, facts, python):
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    beside = "" if python else f" The reference package is not there: {VARIABLE} names no Python that has it."
    lines = [
        "# Erasure",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, {facts['machine']}, "
        f"Python {facts['python']}, {packages}.",
        f"Printed by `python -m benchmarks erasure`.{beside}",
        "",
        "Each of the twelve concepts is erased alone, by an eraser of the training rows; figures are means over the "
        "concepts, and in brackets the largest. *To reach: 0.52.* What asks for a concept is a ridge regression, whose "
        "penalty is chosen by leaving rows out, and it is asked on rows that the eraser has not seen. Trained on the "
        "eraser's rows it is what a user of erased vectors would train. Trained on other rows, some of those that the "
        "eraser has not seen, it finds what the eraser's rows did not tell; no eraser knows that. Changed: the mean "
        "squared change of rows that the eraser has not seen, as a share of their variance, and of the rows of the fit "
        "(for `remove`, of prepared rows).",
    ]
    for name, of in found.items():
        lines += [
            "",
            f"## {name}: {of['rows'][0]} rows to fit, {of['rows'][1]} others",
            "",
            "| | probe of the eraser's rows | probe of other rows | changed, others | changed, fit |",
            "| --- | --- | --- | --- | --- |",
            f"| before | {mean(of['before'])} | | | |",
            *lines_of("`ConceptSubspaces.remove`", of["remove"]),
            *lines_of("**`ConceptErasure()`**", of["ours"]),
            *lines_of("`ConceptErasure(shrinkage=0)`", of["exact"]),
            *(lines_of("`concept-erasure`", of["reference"]) if of["reference"] else []),
        ]
        if of["reference"]:
            ratios = [
                f"{np.mean(of['ours'][part]) / np.mean(of['reference'][part]):.3f} times ({words})"
                for part, words in (("change", "other rows"), ("change_fit", "rows of the fit"))
            ]
            lines += ["", f"Squared change beside the reference: {', '.join(ratios)}; to reach: at most 1.05 times."]
        lines += [
            "",
            "| rows of the fit | probe of other rows | changed, others | without shrinkage | `concept-erasure` |",
            "| --- | --- | --- | --- | --- |",
            *(
                f"| {size['rows']} | {mean(size['after'])} | {share(size['change'])} | {share(size['exact_change'])} | "
                f"{share(size['reference_change'])} |"
                for size in of["sizes"]
            ),
        ]
    lines += [
        "",
        f"## {ROWS:,} × {WIDTH}",
        "",
        f"Float32 rows, made by blocks: {seconds(many['fitting'])} to fit two concepts (to reach: 60 s), "
        f"{seconds(many['erasing'])} to erase them from all rows, without the {seconds(many['making'])} that making "
        f"them takes; {many['peak'] / 1e6:.0f} MB at most; cross-covariance left {many['residual']:.0e}.",
    ]
    return "\n".join(lines) + "\n"


def lines_of(title, of):
    changed = share(of.get("change_fit", []))
    aucs = f"{mean(of['own'])} | {mean(of['others'])}"
    yield f"| {title} | {aucs} | {share(of['change'])} | {changed} |"
    both = of["together"]
    if both:
        yield (
            f"| {title}, all together | {mean(both['own'])} | {mean(both['others'])} | "
            f"{both['change']:.2%} | {both['change_fit']:.2%} |"
        )


def mean(values):
    return f"{np.mean(values):.3f} ({max(values):.3f})"


def share(values):
    return f"{np.mean(values):.2%}" if values else ""
