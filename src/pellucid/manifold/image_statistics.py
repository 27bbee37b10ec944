"""What a fit adds up of images: which atoms occur together in their patches, of images at hand or in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.interrupts import uninterrupted
from pellucid.manifold.base import BATCH, PatchModel
from pellucid.manifold.nearest_codes import graph_of_codes
from pellucid.manifold.patches import BlockImages, Images
from pellucid.manifold.statistics import GraphStatistics, PairStatistics
from pellucid.manifold.threshold_codes import active_atoms, add_near_patches, add_whole_images
from pellucid.rows import Blocks
from pellucid.rows.fitting import Added, add_parts, checkpoint_of, first_state, run
from pellucid.rows.parts import plus

# images whose pairs of atoms are counted at once
COUNTED = 512


@dataclass
class Seen:
    """Statistics of images: so many are counted, and so many more are coded and wait."""

    total: Any
    counted: int = 0
    waiting: int = 0

    def sentence(self, n: int) -> str:
        """What Ctrl-C leaves, if anything."""
        done = self.counted + self.waiting
        return f"Stopped after {done} of {n} images; these make the model." if done else ""


def with_images(model: PatchModel, statistics: Any, images: Images, stoppable: bool = True) -> Any:
    """Statistics, None at first, with those of images added; if ``stoppable``, Ctrl-C leaves it at some of them."""
    K = len(model.atoms_)
    if model.code == "nearest":
        return _add_graphs(model, images, Seen(statistics), stoppable)
    pairs = PairStatistics(np.zeros((K, K)), np.zeros((K, K))) if statistics is None else statistics
    return _add_pairs(model, images, Seen(pairs), stoppable)


def _add_graphs(model: PatchModel, images: Images, seen: Seen, stoppable: bool) -> Any:
    """Co-occurrence of nearest atoms; as many images at once as the memory allows."""
    rows, columns = model._grid()
    reach, n = model._reach(), len(images)
    prepared = model._at_once(BATCH, 0.5)
    # a code and its place in the order
    at_once = int(np.clip(0.5e9 * model.memory / (rows * columns * 12), prepared, n))
    codes = np.empty((at_once, rows, columns), dtype=np.int32)

    def count() -> None:
        with uninterrupted():
            seen.total = plus(seen.total, graph_of_codes(codes[: seen.waiting], len(model.atoms_), reach))
            seen.counted, seen.waiting = seen.counted + seen.waiting, 0

    def step(seen: Seen) -> Seen:
        first, waiting = seen.counted + seen.waiting, seen.waiting
        block = images.take(slice(first, min(first + prepared, seen.counted + at_once)))
        codes[waiting : waiting + len(block)] = model._codes(block).reshape(-1, rows, columns)
        seen.waiting += len(block)
        if seen.waiting == min(at_once, n - seen.counted):
            count()
        return seen

    _pass(model, images, step, seen, prepared, stoppable)
    if seen.waiting:
        count()
    return seen.total


def _add_pairs(model: PatchModel, images: Images, seen: Seen, stoppable: bool) -> Any:
    """Second moments of threshold codes, block by block."""
    shape, at_once = model._grid(), model._at_once(COUNTED)
    prepare = model._preparation()

    def step(seen: Seen) -> Seen:
        block = images.take(slice(seen.counted, seen.counted + at_once))
        patches, present = prepare(block)
        codes = active_atoms(patches, present, model.atoms_, float(model.threshold))
        del patches
        with uninterrupted():  # both matrices, or none
            if model.context is None:
                add_whole_images(codes, len(block), seen.total)
            else:
                add_near_patches(codes, len(block), shape, int(model.context), seen.total)
            seen.counted += len(block)
        return seen

    _pass(model, images, step, seen, at_once, stoppable)
    return seen.total


def _pass(model: PatchModel, images: Images, step: Any, seen: Seen, at_once: int, stoppable: bool) -> None:
    n = len(images)
    run(
        seen,
        step,
        lambda seen: seen.counted == n,
        bar=("patches", -(-n // at_once), model.verbose),
        say=lambda seen: f"{seen.counted + seen.waiting} of {n} images",
        stopped=lambda seen: seen.sentence(n) if stoppable else "",
        stacklevel=7,
    )


# images that are not held as a whole


def add_images(model: Any, X: Blocks, checkpoint: str | os.PathLike[str] | None = None) -> None:
    """Add the statistics of images in blocks to those of the model, whose dictionary the first ones make."""
    images = BlockImages(X, model.channels == "grey")
    kinds = (Added, GraphStatistics, PairStatistics)
    kept = checkpoint_of(checkpoint, model, X, kinds, silent=("memory", "verbose"))

    def begin() -> Added:
        if not hasattr(model, "atoms_"):
            model._start(images)
        return Added(made={name: getattr(model, name) for name in ("atoms_", "whitening_", "image_shape_")})

    state = first_state(begin, kept)
    for name, value in state.made.items():
        setattr(model, name, value)
    model._check_shape(images)
    there = copy(model)
    there.verbose = 0
    there.__dict__.pop("statistics_", None)
    added = add_parts(X, partial(part_images, there), state, kept=kept, verbose=model.verbose)
    model.statistics_ = plus(getattr(model, "statistics_", None), added)


def part_images(model: PatchModel, blocks: Iterator[NDArray[Any]]) -> Any:
    total = None
    for block in blocks:
        total = with_images(model, total, Images(block, model.channels == "grey"), stoppable=False)
    return total
