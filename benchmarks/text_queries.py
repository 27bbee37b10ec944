"""Texts as queries for pictures: 500 captions of 100 photos in both towers of CLIP, and ways to bring the two together.

Whatever is learned (means, maps) is learned from captions of other photos than those asked for, in five folds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances
from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.search import Collection, ConceptSearch, Text, TextEncoder

FOLDS, SEEDS, RIDGES = 5, 5, (0.0, 10.0, 100.0, 1000.0)


class Pairs:
    """Captions (n, d) of photos ``which``, the photos (100, d), others among which they are looked for, and words."""

    def __init__(self) -> None:
        data = np.load(Path(os.environ["PELLUCID_DATA"]) / "flickr8k_clip.npz", allow_pickle=False)
        files, first, self.which = np.unique(data["pair_files"], return_index=True, return_inverse=True)
        self.captions = [str(text) for text in data["pair_captions"]]
        self.T, self.W = (unit_rows(data[name].astype(np.float64)) for name in ("pair_text_vectors", "word_vectors"))
        self.photos = unit_rows(data["pair_image_vectors"][first].astype(np.float64))
        other = ~np.isin(data["files"], files)
        self.others = unit_rows(data["vectors"][other].astype(np.float64))
        self.labels, self.names = data["coarse"][other] > 0, [str(name) for name in data["coarse_names"]]
        self.fold = (np.random.default_rng(0).permutation(len(files)) % FOLDS)[self.which]


def recall(ranks: Any) -> list[float]:
    return [float((ranks < k).mean()) for k in (1, 10)]


def ranks(Q: Any, pool: Any, which: Any) -> Any:
    """How many of the pool are nearer to each query than its own."""
    scores = Q @ pool.T
    return (scores > scores[np.arange(len(Q)), which][:, None]).sum(axis=1)


def crossed(pairs: Pairs, make: Callable[[Any, Any], Any]) -> Any:
    """Queries (n, d), each made by what ``make`` learned from captions of other photos."""
    Q = np.empty_like(pairs.T)
    for fold in range(FOLDS):
        here = pairs.fold == fold
        Q[here] = make(np.flatnonzero(~here), pairs.T[here])
    return Q


def own_mean(pairs: Pairs, count: int, seed: int) -> Callable[[Any, Any], Any]:
    rng = np.random.default_rng(seed)

    def make(train: Any, asked: Any) -> Any:
        return unit_rows(asked - pairs.T[rng.choice(train, min(count, len(train)), replace=False)].mean(axis=0))

    return make


def rotated(pairs: Pairs, mean: Any, ridges: tuple[float, ...]) -> Callable[[Any, Any], Any]:
    """Own means, and the rotation of texts to photos by Procrustes; a ridge holds it near to none where pairs say
    little. Of several the one that finds most of the training photos, in folds of their own."""

    def learn(train: Any, ridge: float) -> tuple[Any, Any]:
        middle = pairs.T[train].mean(axis=0)
        A, B = unit_rows(pairs.T[train] - middle), unit_rows(pairs.photos[pairs.which[train]] - mean)
        left, _, right = np.linalg.svd(A.T @ B + ridge * np.eye(A.shape[1]))
        return middle, left @ right

    def make(train: Any, asked: Any) -> Any:
        def lost(ridge: float) -> float:
            total = 0.0
            for third in range(3):
                held = pairs.which[train] % 3 == third
                middle, Q = learn(train[~held], ridge)
                found = ranks(
                    unit_rows(pairs.T[train[held]] - middle) @ Q,
                    unit_rows(pairs.photos - mean),
                    pairs.which[train[held]],
                )
                total -= (1 / (1 + found)).sum()
            return total

        middle, Q = learn(train, ridges[0] if len(ridges) == 1 else min(ridges, key=lost))
        return unit_rows(asked - middle) @ Q

    return make


def by_search(pairs: Pairs, pool: Any, modelled: bool, texts: int) -> Any:
    """Ranks by what users call: a collection of raw photos, and an encoder with texts of other photos."""
    known = dict(zip(pairs.captions, pairs.T))
    found = np.empty(len(pairs.T), dtype=int)
    model = None
    if modelled:
        kept = pairs.labels.any(axis=0)
        names = [name for name, keep in zip(pairs.names, kept) if keep]
        model = ConceptSubspaces(random_state=0).fit(pairs.others, pairs.labels[:, kept], names)
    with tempfile.TemporaryDirectory() as folder:
        collection = Collection.create(Path(folder) / "photos", pool)
        for fold in range(FOLDS):
            train = np.flatnonzero(pairs.fold != fold)
            some = np.random.default_rng(fold).choice(train, texts, replace=False)
            encoder = TextEncoder(
                lambda asked: [known[text] for text in asked], texts=[pairs.captions[i] for i in some]
            )
            search = ConceptSearch(collection, model, encoder)
            for i in np.flatnonzero(pairs.fold == fold):
                hits: Any = search.search(Text(pairs.captions[i]), k=len(pool))
                found[i] = next(hit.rank for hit in hits if hit.position == pairs.which[i]) - 1
    return found


def rows_of(pairs: Pairs) -> list[tuple[str, list[float]]]:
    everything = np.vstack([pairs.photos, pairs.others])
    mean = pairs.others.mean(axis=0)
    pools = [(pool, unit_rows(pool - mean)) for pool in (pairs.photos, everything)]

    def both(queries: list[Any], centred: bool) -> list[float]:
        """Recall in both pools, mean over draws."""
        return [
            float(value)
            for raw, prepared in pools
            for value in np.mean([recall(ranks(Q, prepared if centred else raw, pairs.which)) for Q in queries], axis=0)
        ]

    found = [
        ("nothing taken out of either", both([pairs.T], False)),
        ("the photos' mean out of both", both([unit_rows(pairs.T - mean)], True)),
        ("the photos' mean out of photos alone", both([pairs.T], True)),
    ]
    for count in (8, 32, 64, 400):
        draws = [crossed(pairs, own_mean(pairs, count, seed)) for seed in range(SEEDS)]
        found.append((f"each its own mean, of {count} captions", both(draws, True)))
    names = unit_rows(pairs.T - pairs.W.mean(axis=0))
    found.append((f"each its own mean, of {len(pairs.W):,} names of things", both([names], True)))
    found.append((f"texts alone: mean of {len(pairs.W):,} names of things", both([names], False)))
    found.append(("own means, then Procrustes", both([crossed(pairs, rotated(pairs, mean, (0.0,)))], True)))
    best = crossed(pairs, rotated(pairs, mean, RIDGES))
    found.append(("own means, then Procrustes held near to no rotation", both([best], True)))
    for title, modelled in (("**ConceptSearch**, 64 texts", False), ("**ConceptSearch** with a model, 64 texts", True)):
        values = [v for pool, _ in pools for v in recall(by_search(pairs, pool, modelled, 64))]
        found.append((title, values))
    return found


def run(results: Path) -> None:
    pairs, facts = Pairs(), circumstances()
    few, many = len(pairs.photos), len(pairs.photos) + len(pairs.others)
    lines = [
        "# Texts as queries for pictures",
        "",
        f"Measured at commit {facts['commit']} on {facts['date']}, Python {facts['python']}. Printed by `python -m "
        "benchmarks text_queries`.",
        "",
        f"{len(pairs.T)} captions of {few} photos of Flickr8k, by both towers of CLIP ViT-B/32: the share of captions "
        f"whose photo is first, or among the first ten, of {few} photos and of {many:,}. Learned is from captions "
        f"of other photos, in {FOLDS} folds; random captions are drawn {SEEDS} times. The mean of photos is that "
        f"of the {len(pairs.others)} photos without captions here.",
        "",
        f"| way | first of {few} | in ten of {few} | first of {many:,} | in ten of {many:,} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for title, values in rows_of(pairs):
        lines.append(f"| {title} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        print(lines[-1], flush=True)
    (results / "text_queries.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
