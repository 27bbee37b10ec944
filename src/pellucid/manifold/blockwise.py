"""Data that are never held as a whole: the statistics of every part are added up in order, whoever makes them, and kept
in a checkpoint if one is asked for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.checkpoint import Checkpoint, fingerprint
from pellucid._core.progress import progress
from pellucid.manifold.nearest import Floats32
from pellucid.manifold.patches import Images
from pellucid.manifold.statistics import GraphStatistics, PairStatistics
from pellucid.rows import Blocks, is_dask
from pellucid.rows.parts import Part

if TYPE_CHECKING:
    from pellucid.manifold.images import PatchManifoldTransform

# rows by which a checkpoint knows its data again
KNOWN_ROWS = 16
# files of images in a block
FILES = 512
# parameters that change no result
SILENT = ("memory", "verbose")

Statistics = Any  # of any kind that can be added


def summed(
    X: Blocks,
    function: Callable[..., Statistics],
    total: Statistics,
    done: int,
    save: Any,
    show: Any,
    given: Sequence[Any] | None = None,
) -> Any:
    """What ``function`` makes of every part (and of what is ``given`` for it), added to the total of the first ``done``
    ones in order; Ctrl-C ends it. ``save(total, done)`` is called after every part."""
    rest = X.like(X.parts[done:])
    with progress("blocks", len(rest.parts), bool(show)) as step:
        try:
            for added in rest.each(function, None if given is None else given[done:]):
                total, done = plus(total, added), done + 1
                if save is not None:
                    save(total, done)
                step(f"{done} of {len(X.parts)} parts")
        except KeyboardInterrupt:
            if not done:
                raise
            warnings.warn(f"Stopped after {done} of {len(X.parts)} parts; these make the model.", stacklevel=4)
    return total


def plus(total: Statistics, added: Statistics) -> Statistics:
    if total is None:
        return added
    if isinstance(total, PairStatistics):  # in place: two more dense matrices may not fit
        np.add(total.together, added.together, out=total.together)
        np.add(total.second, added.second, out=total.second)
        return total
    return total + added


# checkpoints


def checkpoint_of(model: Any, X: Blocks, path: str | os.PathLike[str]) -> Checkpoint:
    settings = sorted((name, value) for name, value in model.get_params().items() if name not in SILENT)
    first = next(iter(X.like(X.parts[:1]).each(first_rows)))
    return Checkpoint(path, fingerprint(settings, X.shape[1:], [part.rows for part in X.parts], first))


def first_rows(blocks: Iterator[Any]) -> Any:
    return next(blocks)[:KNOWN_ROWS]


def packed(statistics: Statistics) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name in (field.name for field in fields(statistics)):
        value = getattr(statistics, name)
        if sparse.issparse(value):
            value = sparse.csr_array(value)
            arrays |= {f"sum {name} {part}": getattr(value, part) for part in ("data", "indices", "indptr")}
        else:
            arrays[f"sum {name}"] = np.asarray(value)
    return arrays


def unpacked(kind: Any, arrays: dict[str, NDArray[Any]]) -> Statistics:
    values: dict[str, Any] = {}
    for name in (field.name for field in fields(kind)):
        if f"sum {name}" in arrays:
            values[name] = arrays[f"sum {name}"]
        else:
            data, indices, indptr = (arrays[f"sum {name} {part}"] for part in ("data", "indices", "indptr"))
            values[name] = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(indptr) - 1))
    return kind(**values)


# images


class BlockImages(Images):
    """Images that are in blocks, of which some can be had by number."""

    def __init__(self, blocks: Blocks, grey: bool) -> None:
        if blocks.ndim not in (3, 4):
            raise ValueError(
                f"Blocks of images must be (n, height, width) or (n, height, width, channels), not {blocks.shape}."
            )
        Images(np.empty((1, *blocks.shape[1:]), dtype=blocks.dtype), grey)  # says what kind of numbers cannot be pixels
        self.blocks, self.grey, self.files = blocks, grey, []
        self.length = len(blocks)
        self.height, self.width, self.stored = (*blocks.shape[1:], 1)[:3]

    def take(self, rows: slice | NDArray[np.int64]) -> Floats32:
        wanted = np.arange(self.length)[rows] if isinstance(rows, slice) else rows
        return Images(self.blocks.take(wanted), self.grey).take(slice(None))


def image_blocks(X: Any) -> Blocks:
    """Images as blocks: blocks as they are, arrays cut, and the files of a folder some hundred at a time."""
    if isinstance(X, Blocks):
        return X
    if not isinstance(X, (str, os.PathLike)):
        return Blocks(X if is_dask(X) else Images(X, False).array)
    images = Images(X, False)
    folder = os.path.abspath(X)
    parts = []
    for start in range(0, len(images), FILES):
        stop = min(start + FILES, len(images))
        parts.append(Part(start, stop - start, partial(folder_blocks, folder, start, stop)))
    return Blocks.of(parts, (len(images), images.height, images.width, images.stored), np.float32, None)


def folder_blocks(folder: str, start: int, stop: int) -> Iterator[Floats32]:
    yield Images(folder, False).take(slice(start, stop))


def part_images(model: PatchManifoldTransform, blocks: Iterator[NDArray[Any]]) -> Statistics:
    total = None
    for block in blocks:
        total = model._with(total, Images(block, model.channels == "grey"), stoppable=False)
    return total


def add_images(model: PatchManifoldTransform, X: Blocks, checkpoint: str | os.PathLike[str] | None = None) -> None:
    """Add the statistics of images in blocks to those of the model, whose dictionary the first ones make."""
    images = BlockImages(X, model.channels == "grey")
    kept = None if checkpoint is None else checkpoint_of(model, X, checkpoint)
    random = np.random.RandomState(0)  # nothing is drawn once the dictionary is there
    found = None if kept is None else kept.load(random)
    total, done = None, 0
    made = ("atoms_", "whitening_", "image_shape_")
    if found is not None:
        for name in made:
            setattr(model, name, found[0][name])
        done = int(found[1]["done"])
        if done:
            total = unpacked(GraphStatistics if model.code == "nearest" else PairStatistics, found[0])
    elif not hasattr(model, "atoms_"):
        model._start(images)
    model._check_shape(images)

    def save(total: Statistics, done: int) -> None:
        assert kept is not None
        arrays = {name: getattr(model, name) for name in made}
        kept.save(arrays | ({} if total is None else packed(total)), {"done": done}, random)

    if kept is not None and found is None:
        save(None, 0)
    there = copy(model)
    there.verbose = 0
    there.__dict__.pop("statistics_", None)
    saves = None if kept is None else save
    added = summed(X, partial(part_images, there), total, done, saves, model.verbose)
    model.statistics_ = plus(getattr(model, "statistics_", None), added)
