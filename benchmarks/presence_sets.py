"""The sets on which concepts are measured: some were looked at while defaults were chosen, others kept back."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.concepts import Vocabulary
from pellucid.datasets import load_scenes


class Words:
    """A vocabulary, and the vectors of words as they come, also of some that it does not have."""

    def __init__(self, words: Any, vectors: Any) -> None:
        self.vectors = {str(word): np.asarray(row, dtype=np.float32) for word, row in zip(words, vectors)}
        self.vocabulary = Vocabulary(words, vectors)

    def like(self, label: str) -> Any:
        """What stands for a label (d,): its vector, the mean of a phrase's words or of phrases that end with it."""
        found = [self.vectors[label]] if label in self.vectors else []
        if not found and " " in label and all(word in self.vectors for word in label.split()):
            found = [self.vectors[word] for word in label.split()]
        found = found or [row for word, row in self.vectors.items() if word.endswith(f" {label}")]
        return np.mean(found, axis=0) if found else np.empty(0)


@dataclass(frozen=True)
class Set:
    """Raw rows (train, test, pool) with concepts, and fine labels where there are any."""

    name: str
    kept_back: bool
    names: list[str]
    train: Any
    Y: Any
    queries: Any
    query_Y: Any
    pool: Any
    pool_Y: Any
    fine: tuple[Any, Any, Any] | None = None
    words: Words | None = None
    kinds: list[list[str]] | None = None  # for each concept its fine labels
    groups: Any = None  # which training rows come from one source


def shown(data: Set) -> str:
    return f"{data.name} (kept back)" if data.kept_back else data.name


def sets() -> list[Set]:
    found = [from_task("scenes", False)]
    for make in (
        captions,
        clip,
        lambda: from_task("flickr8k", True),
        isolet,
        jeopardy,
    ):
        try:
            found.append(make())
        except (FileNotFoundError, ValueError, KeyError, OSError) as error:
            print(f"not run: {error}")
    return found


def from_task(name: str, kept_back: bool) -> Set:
    from reproductions import common
    from reproductions.data import DatasetNotFound

    try:
        task = getattr(common, name)()
    except DatasetNotFound as error:
        raise FileNotFoundError(str(error)) from error
    parts = task.train, task.queries, task.candidates
    fine = (task.queries.fine, task.candidates.fine, task.fine_to_coarse)
    rows = [part for p in parts for part in (p.raw, p.coarse)]
    found = Set(task.name, kept_back, task.concept_names, *rows, fine)
    if task.words is None:
        return found
    lists = kinds(FINE[name](), task.fine_to_coarse, len(task.concept_names))
    return replace(found, words=Words(task.words, task.word_vectors), kinds=lists)


def captions() -> Set:
    """COCO captions, of which five are of one image."""
    from reproductions.data import load_coco_captions

    found, data = from_task("coco_captions", False), load_coco_captions()
    images = {row.tobytes(): image for row, image in zip(np.asarray(data.vectors), data.image_id)}
    train = np.asarray(found.train).astype(data.vectors.dtype)
    return replace(found, groups=np.array([images[row.tobytes()] for row in train]))


def scenes_names() -> list[str]:
    return load_scenes().fine_names


def captions_names() -> list[str]:
    from reproductions.data import load_coco_captions

    return load_coco_captions().fine_names


FINE = {"scenes": scenes_names, "coco_captions": captions_names}


def kinds(fine_names: Any, fine_to_coarse: Any, n_concepts: int) -> list[list[str]]:
    return [[str(name) for name, j in zip(fine_names, fine_to_coarse) if j == concept] for concept in range(n_concepts)]


def archive(name: str) -> Any:
    return np.load(Path(os.environ.get("PELLUCID_DATA", ".")) / name, allow_pickle=False)


def clip() -> Set:
    """985 images by CLIP: 500 train; queries and pool from the rest."""
    data = archive("flickr8k_clip.npz")
    kept = data["coarse"].any(axis=0)
    under = kept[data["fine_to_coarse"]]
    order = np.random.default_rng(0).permutation(len(data["coarse"]))
    train, queries, pool = order[:500], order[500:740], order[740:]
    X, Y, F = data["vectors"].astype(np.float32), data["coarse"][:, kept].astype(bool), data["fine"][:, under] > 0
    names = [str(name) for name, keep in zip(data["coarse_names"], kept) if keep]
    fine = (F[queries], F[pool], (np.cumsum(kept) - 1)[data["fine_to_coarse"][under]])
    parts = [part for rows in (train, queries, pool) for part in (X[rows], Y[rows])]
    lists = kinds(data["fine_names"][under], fine[2], len(names))
    return Set("CLIP Flickr8k", False, names, *parts, fine, Words(data["words"], data["word_vectors"]), lists)


def isolet() -> Set:
    """Spoken letters as raw features: groups of letters that sound alike overlap with vowels, so rows have several."""
    data = archive("isolet.npz")
    letters = np.array([chr(96 + int(y)) for y in data["y"]])
    groups = {
        "ends in ee": "bcdegptvz", "ends in ay": "ahjk", "begins with e": "flmnsx", "one vowel": "aeiou", "i or "
        "y": "iy",
        "hisses": "cfhsxz", "stops": "bdgkpqt", "hums": "lmnr", "q or u or w": "quw",
    }  # fmt: skip
    Y = np.array([[letter in group for group in groups.values()] for letter in letters])
    keep = Y.any(axis=1)
    train, rest = np.flatnonzero((data["part"] != 5) & keep), np.flatnonzero((data["part"] == 5) & keep)
    queries, pool = rest[::3], np.setdiff1d(rest, rest[::3])
    X = data["X"].astype(np.float32)
    parts = [part for rows in (train, queries, pool) for part in (X[rows], Y[rows])]
    return Set("ISOLET, sounds", True, list(groups), *parts)


def jeopardy() -> Set:
    """Quiz questions by OpenAI-style vectors, 40 categories, one each."""
    data = archive("jeopardy_openai.npz")
    names, label = np.unique(data["category"], return_inverse=True)
    order = np.random.default_rng(0).permutation(len(label))
    train, queries, pool = order[:6000], order[6000:7000], order[7000:]
    X, Y = data["vectors"].astype(np.float32), label[:, None] == np.arange(len(names))
    parts = [part for rows in (train, queries, pool) for part in (X[rows], Y[rows])]
    return Set("Jeopardy, 40 categories", True, [str(name) for name in names], *parts)
