"""Topics of the same texts by `ConceptDiscovery` and by the package BERTopic with its defaults, on given vectors.

BERTopic lives in an environment of its own, without an encoder: PELLUCID_BERTOPIC names its Python, made by
`pip install --no-deps bertopic` and `pip install hdbscan umap-learn pandas scikit-learn tqdm plotly pyyaml`."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances
from pellucid import ConceptDiscovery
from pellucid.datasets import load_scenes

SEEDS = 3
THERE = """
import json, sys, time
import numpy as np
begun = time.perf_counter()
from bertopic import BERTopic
from umap import UMAP
imported = time.perf_counter() - begun
data, out = np.load(sys.argv[1]), []
texts = [str(text) for text in data["texts"]]
for seed in range(int(sys.argv[2])):
    begun = time.perf_counter()
    model = BERTopic(umap_model=UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed))
    topics, _ = model.fit_transform(texts, data["vectors"])
    words = [[word for word, _ in model.get_topic(t)[:3]] for t in sorted(set(topics)) if t >= 0]
    out.append({"seconds": time.perf_counter() - begun, "topics": [int(t) for t in topics], "words": words})
print("RESULT" + json.dumps({"imported": imported, "runs": out}))
"""


def run(results: Path) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    scenes = load_scenes()
    X, texts = np.asarray(scenes.vectors, dtype=np.float32), list(scenes.texts)
    rows, facts = [line("**ConceptDiscovery**", ours(X, texts))], circumstances()
    if "PELLUCID_BERTOPIC" in os.environ:
        rows.append(line("BERTopic", theirs(X, texts)))
    else:
        print("not run: PELLUCID_BERTOPIC is not set")
    lines = [
        "# Topics of the same texts",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, {facts['cores']} cores, {facts['machine']}, Python "
        f"{facts['python']}. Printed by `python -m benchmarks topics`.",
        "",
        f"3,000 texts of Scenes with their vectors, both with defaults, {SEEDS} seeds; no encoder is loaded. Topics of "
        "a text: how many it is in, on average. Labels told: of 65 fine labels, how many have a topic with their "
        "members, with an F1 of .5 or more. Seconds: the best run.",
        "",
        "| way | topics | texts in none | topics of a text | labels told | s | first words |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *rows,
    ]
    (results / "topics.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Console(width=150).print(Markdown("\n".join(lines)))


def told(members: Any) -> int:
    """Labels that some topic has the members of."""
    fine = load_scenes().fine.astype(float)
    both = members.T.astype(float) @ fine
    f1 = 2 * both / np.maximum(members.sum(axis=0)[:, None] + fine.sum(axis=0)[None], 1)
    return int((f1.max(axis=0) >= 0.5).sum())


def ours(X: Any, texts: list[str]) -> list[dict[str, Any]]:
    found = []
    for seed in range(SEEDS):
        begun = time.perf_counter()
        model = ConceptDiscovery(random_state=seed).fit(X, texts=texts)
        members = np.asarray(model.predict(X))
        seconds = time.perf_counter() - begun
        words = [topic.words[:3] for topic in model.found()]
        found.append({"seconds": seconds, "members": members, "words": words})
    return found


def theirs(X: Any, texts: list[str]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.npz"
        np.savez(file, vectors=X, texts=np.array(texts))
        done = subprocess.run(
            [os.environ["PELLUCID_BERTOPIC"], "-W", "ignore", "-c", THERE, str(file), str(SEEDS)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    runs: list[dict[str, Any]] = json.loads(done.stdout.split("RESULT")[1])["runs"]
    for each in runs:
        labels = np.array(each["topics"])
        each["members"] = labels[:, None] == np.arange(labels.max() + 1)
    return runs


def line(title: str, runs: list[dict[str, Any]]) -> str:
    topics = np.mean([each["members"].shape[1] for each in runs])
    none = np.mean([(~each["members"].any(axis=1)).mean() for each in runs])
    several = np.mean([each["members"].sum(axis=1).mean() for each in runs])
    labels = np.mean([told(each["members"]) for each in runs])
    words = "; ".join(", ".join(words) for words in runs[0]["words"][:4])
    seconds = min(each["seconds"] for each in runs)
    text = f"| {title} | {topics:.0f} | {none:.0%} | {several:.1f} | {labels:.0f} | {seconds:.1f} | {words} |"
    print(text, flush=True)
    return text
