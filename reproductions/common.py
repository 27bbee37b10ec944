"""What the reproductions share: splits, tables, circumstances."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid._core.arrays import unit_rows
from pellucid.preparation import CenteredNormalizer


@dataclass(frozen=True)
class Labelled:
    """Rows of one part of a data set: which, vectors as they come, centred ones, coarse and fine labels."""

    rows: Any
    raw: Any
    vectors: Any
    coarse: Any
    fine: Any


@dataclass(frozen=True)
class Task:
    """A data set split for concept-filtered retrieval."""

    name: str
    concept_names: list[str]
    concept_vectors: Any
    fine_to_coarse: Any
    train: Labelled
    validation: Labelled
    queries: Labelled
    candidates: Labelled
    words: list[str] | None = None  # a vocabulary in the same space, if there is a text encoder
    word_vectors: Any = None
    paper: bool = False  # whether the paper has figures for the same labels


def split_task(
    name, raw, coarse, fine, fine_to_coarse, concept_names, concept_vectors, parts, *, centre=True, **more
) -> Task:
    """Leave out rows without a concept; centre with the training mean, or only normalise."""
    raw = np.asarray(raw, dtype=np.float32)
    coarse, fine = np.asarray(coarse, dtype=bool), np.asarray(fine, dtype=bool)
    parts = [rows[coarse[rows].any(axis=1)] for rows in parts]
    prepare = CenteredNormalizer().fit(raw[parts[0]]).transform if centre else unit_rows
    made = [Labelled(rows, raw[rows], prepare(raw[rows]), coarse[rows], fine[rows]) for rows in parts]
    return Task(name, list(concept_names), concept_vectors, np.asarray(fine_to_coarse), *made, **more)


def coco_captions() -> Task:
    """COCO captions by image: 1 500 images train (all captions), 300 validate, 700 query, the rest are candidates."""
    from reproductions.data import load_coco_captions, load_coco_concept_words, load_vocabulary

    data, words, vocabulary = load_coco_captions(), load_coco_concept_words(), load_vocabulary()
    images, first = np.unique(data.image_id, return_index=True)
    place = np.empty(len(images), dtype=int)
    place[np.random.default_rng(0).permutation(len(images))] = np.arange(len(images))
    rank = place[np.searchsorted(images, data.image_id)]
    is_first = np.zeros(len(rank), dtype=bool)
    is_first[first] = True
    between = lambda low, high: np.flatnonzero((rank >= low) & (rank < high) & is_first)  # noqa: E731
    parts = [np.flatnonzero(rank < 1500), between(1500, 1800), between(1800, 2500), between(2500, len(images))]
    return split_task(
        "COCO captions",
        data.vectors,
        data.coarse,
        data.fine,
        data.fine_to_coarse,
        data.coarse_names,
        words.vectors,
        parts,
        words=vocabulary.words,
        word_vectors=vocabulary.vectors,
        paper=True,
    )


def scenes() -> Task:
    """Scenes, which ships with the package, by its own split."""
    from pellucid.datasets import load_scenes

    data = load_scenes()
    split = data.split
    return split_task(
        "Scenes",
        data.vectors,
        data.coarse,
        data.fine,
        data.fine_to_coarse,
        data.coarse_names,
        data.concept_vectors,
        [split.train, split.validation, split.queries, split.candidates],
        words=data.words,
        word_vectors=data.word_vectors,
    )


def flickr8k(centre: bool = True) -> Task:
    """Flickr8k images: half of the training images train, the other half are candidates; dev validates, test queries.

    Concepts that nobody has, and their fine labels, are left out; there is no text encoder to go with the images.
    """
    from reproductions.data import load_flickr8k

    data = load_flickr8k()
    kept = data.coarse.any(axis=0)
    under = kept[data.fine_to_coarse]
    split = np.array(data.split)
    train = np.random.default_rng(0).permutation(np.flatnonzero(split == "train"))
    half = len(train) // 2
    return split_task(
        "Flickr8k images" if centre else "Flickr8k images, not centred",
        data.vectors,
        data.coarse[:, kept],
        data.fine[:, under],
        (np.cumsum(kept) - 1)[data.fine_to_coarse[under]],
        [name for name, keep in zip(data.coarse_names, kept) if keep],
        None,
        [np.sort(train[:half]), np.flatnonzero(split == "dev"), np.flatnonzero(split == "test"), np.sort(train[half:])],
        centre=centre,
    )


class Cells:
    """Lines of tables that take long: each is kept in a file as soon as it is measured, so that a run that was stopped
    can go on there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = dict(line.split("\t", 1) for line in path.read_text("utf-8").splitlines()) if path.exists() else {}

    def line(self, key: str, measure: Callable[[], str]) -> str:
        if key not in self.known:
            self.known[key] = measure()
            print(self.known[key], flush=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{key}\t{self.known[key]}\n")
        return self.known[key]

    def forget(self) -> None:
        self.known = {}
        self.path.unlink(missing_ok=True)


def stamp(script: str) -> str:
    return (
        f"Measured on {datetime.date.today().isoformat()}, {os.cpu_count()} cores, by "
        f"`python -m reproductions {script}`.\n\n"
    )


def write(results: Path, name: str, text: str) -> None:
    (results / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)
