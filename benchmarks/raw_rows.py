"""Search by concept in a collection of raw vectors: what ranking in the space of the model costs, and how many of the
best an index finds that knows nothing of that space."""

import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, compare, report
from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch

ROWS, DIMENSION, K, QUERIES = 200_000, 384, 20, 200
KINDS = ("flat", "hnsw", "ivfpq")


def run(results: Path, rows: int = ROWS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = [*speed_rows(Path(folder), rows)]
        for name, X, Y, train in sets():
            table += recall_rows(Path(folder) / name, name, X, Y, train)
    note = (
        f"{K} hits a query; recall against the exact ranking in the space of the model, {QUERIES} queries by concept."
    )
    report("raw_rows", "Raw rows", table, results, "faiss-cpu", note=note)


def speed_rows(folder: Path, n: int) -> list[Row]:
    """Exact search with and without a centre, and of rows that were centred beforehand."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, DIMENSION)) + 0.5).astype(np.float32)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    center = units.mean(axis=0, dtype=np.float64)
    raw = Collection.create(folder / "raw", X)
    centred = Collection.create(folder / "centred", units - center.astype(np.float32))
    found = []
    for count in (1, 32):
        queries = rng.standard_normal((count, DIMENSION))
        same = np.mean(raw.search(queries, K, center=center)[0] == centred.search(queries, K)[0])
        calls = {
            "raw rows, ranked around the centre": lambda q=queries: raw.search(q, K, center=center),
            "rows centred beforehand": lambda q=queries: centred.search(q, K),
            "raw rows, ranked as they are": lambda q=queries: raw.search(q, K),
        }
        task = f"exact, {n} × {DIMENSION}, {count} quer{'y' if count == 1 else 'ies'}"
        found.append(compare(task, calls, rounds=15, agreement=f"{same:.1%} of the places as of centred rows"))
    return found


def sets():
    """Vectors as they came, their concepts, and the rows that a model learns from."""
    scenes = load_scenes()
    yield "Scenes", scenes.vectors, scenes.coarse, scenes.split.train
    data = os.environ.get("PELLUCID_DATA")
    for name, file in (("COCO captions", "coco_captions.npz"), ("Flickr8k CLIP", "flickr8k_clip.npz")):
        if data and (Path(data) / file).is_file():
            with np.load(Path(data) / file) as held:
                X, Y = held["vectors"].astype(np.float32), held["coarse"].astype(bool)
            train = np.arange(0, len(X), 2)
            yield name, X, Y[:, Y[train].any(axis=0)], train


def recall_rows(folder: Path, name: str, X, Y, train) -> list[Row]:
    model = ConceptSubspaces(6, random_state=0).fit(X[train], Y[train])
    asked = np.random.default_rng(0).permutation(np.flatnonzero(Y.any(axis=1)))[:QUERIES]
    asks = [(X[i], str(model.concept_names_[np.flatnonzero(Y[i])[0]])) for i in asked]
    exact = ConceptSearch(Collection.create(folder / "exact", X), model)
    truth = [{hit.position for hit in exact.search(x, concept, K)} for x, concept in asks]
    found = []
    for kind in KINDS:
        collection = Collection.create(folder / kind, X, engine="faiss", engine_options={"kind": kind})
        search = ConceptSearch(collection, model)
        hits = [{hit.position for hit in search.search(x, concept, K)} for x, concept in asks]
        recall = np.mean([len(a & b) / K for a, b in zip(truth, hits)])
        x, concept = asks[0]
        calls = {
            "by concept, raw rows": lambda search=search, x=x, concept=concept: search.search(x, concept, K),
            "plain": lambda collection=collection, x=x: collection.search(x[None], K),
        }
        task = f"{name}, {len(X)} × {X.shape[1]}, faiss {kind}"
        found.append(compare(task, calls, rounds=15, at_least=0.02, agreement=f"recall@{K} {recall:.4f}"))
    return found
