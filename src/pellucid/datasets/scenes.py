"""Scenes: the data set that ships with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_HOME = Path(__file__).parent


class Split(NamedTuple):
    """Row numbers of the four parts, shuffled once with seed 0.

    Attributes
    ----------
    train : ndarray of shape (1800,)
        60 % of the rows.
    validation : ndarray of shape (300,)
        10 %.
    queries : ndarray of shape (300,)
        10 %.
    candidates : ndarray of shape (600,)
        The rest.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    queries: NDArray[np.int64]
    candidates: NDArray[np.int64]


@dataclass(frozen=True, repr=False, eq=False)
class Scenes:
    """Short English descriptions of scenes, embedded with all-MiniLM-L6-v2, with the labels true of each.

    A grammar wrote the sentences (``tools/make_scenes`` in the repository), so a label is set when the sentence
    mentions the thing, and only then. All vectors have length one, to the precision of float16, in which
    they are stored.

    Attributes
    ----------
    vectors : ndarray of shape (n_scenes, 384)
        Embeddings of the texts, float32.
    texts : list of str
        The descriptions, one for each scene.
    fine : ndarray of bool of shape (n_scenes, n_fine)
        Whether the sentence mentions the thing: dog, sofa, laptop, ...
    coarse : ndarray of bool of shape (n_scenes, n_coarse)
        Whether it mentions anything of the concept: animal, furniture, electronics, ...; two to four of them.
    fine_names : list of str
        The things.
    coarse_names : list of str
        The concepts.
    fine_to_coarse : ndarray of shape (n_fine,)
        The concept that each fine label belongs to.
    concept_vectors : ndarray of shape (n_coarse, 384)
        Each concept's name in several phrases ("a photo of ..."), averaged; float32.
    fine_vectors : ndarray of shape (n_fine, 384)
        The same for the fine labels.
    words : list of str
        Common English words, in alphabetical order, to caption directions with.
    word_vectors : ndarray of shape (n_words, 384)
        Their embeddings, float32.
    split : Split
        Row numbers: train, validation, queries, candidates.
    """

    vectors: NDArray[np.float32]
    texts: list[str]
    fine: NDArray[np.bool_]
    coarse: NDArray[np.bool_]
    fine_names: list[str]
    coarse_names: list[str]
    fine_to_coarse: NDArray[np.int64]
    concept_vectors: NDArray[np.float32]
    fine_vectors: NDArray[np.float32]
    words: list[str]
    word_vectors: NDArray[np.float32]
    split: Split

    def __repr__(self) -> str:
        count, width = self.vectors.shape
        return (
            f"Scenes({count} texts, vectors of {width}, {len(self.coarse_names)} concepts, "
            f"{len(self.fine_names)} fine labels, {len(self.words)} words)"
        )


def split_rows(count: int) -> Split:
    """The parts of ``count`` rows: a permutation by ``default_rng(0)``, cut at 60, 70 and 80 per cent."""
    order = np.random.default_rng(0).permutation(count)
    return Split(*np.split(order, [count * 6 // 10, count * 7 // 10, count * 8 // 10]))


def load_scenes() -> Scenes:
    """Load the scenes that ship with the package: no folder, no download.

    Returns
    -------
    Scenes
        3 000 descriptions with their vectors, 65 fine labels under 12 concepts, and 2 000 words.

    Examples
    --------
    >>> from pellucid.datasets import load_scenes
    >>> load_scenes()
    Scenes(3000 texts, vectors of 384, 12 concepts, 65 fine labels, 2000 words)
    """
    content = json.loads((_HOME / "scenes.json").read_text(encoding="utf-8"))
    concepts: dict[str, list[str]] = content["concepts"]
    fine_names = [name for group in concepts.values() for name in group]
    fine_to_coarse = np.repeat(np.arange(len(concepts), dtype=np.int64), [len(group) for group in concepts.values()])
    column = {name: i for i, name in enumerate(fine_names)}
    texts: list[str] = [row[0] for row in content["scenes"]]
    fine = np.zeros((len(texts), len(fine_names)), dtype=bool)
    for i, row in enumerate(content["scenes"]):
        fine[i, [column[name] for name in row[1:]]] = True
    coarse = np.zeros((len(texts), len(concepts)), dtype=bool)
    for j in range(len(concepts)):
        coarse[:, j] = fine[:, fine_to_coarse == j].any(axis=1)
    with np.load(_HOME / "scenes.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name].astype(np.float32) for name in stored.files}
    return Scenes(
        texts=texts,
        fine=fine,
        coarse=coarse,
        fine_names=fine_names,
        coarse_names=list(concepts),
        fine_to_coarse=fine_to_coarse,
        words=content["words"],
        split=split_rows(len(texts)),
        **arrays,
    )
