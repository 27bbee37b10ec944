"""What the reproductions share: splits, tables, circumstances."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.preprocessing import CenteredNormalizer


@dataclass(frozen=True)
class Labelled:
    """Rows of one part of a data set: vectors as they come, centred ones, coarse and fine labels."""

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
    paper: bool  # whether the paper has figures for the same labels


def split_task(name, raw, coarse, fine, fine_to_coarse, concept_names, concept_vectors, parts, paper=False) -> Task:
    """Leave out rows without a concept, centre with the training mean."""
    coarse, fine = np.asarray(coarse, dtype=bool), np.asarray(fine, dtype=bool)
    parts = [rows[coarse[rows].any(axis=1)] for rows in parts]
    normalizer = CenteredNormalizer().fit(raw[parts[0]])
    made = [Labelled(raw[rows], normalizer.transform(raw[rows]), coarse[rows], fine[rows]) for rows in parts]
    return Task(name, list(concept_names), concept_vectors, np.asarray(fine_to_coarse), *made, paper)


def coco_captions() -> Task:
    """COCO captions by image: 1 500 images train (all captions), 300 validate, 700 query, the rest are candidates."""
    from pellucid.datasets import load_coco_captions, load_coco_concept_words

    data, words = load_coco_captions(), load_coco_concept_words()
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
    )


def stamp(script: str) -> str:
    return (
        f"Measured on {datetime.date.today().isoformat()}, {os.cpu_count()} cores, by "
        f"`python -m reproductions {script}`.\n\n"
    )


def write(results: Path, name: str, text: str) -> None:
    (results / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)
