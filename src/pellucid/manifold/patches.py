"""Images as patches: reading in blocks, taking out the mean, whitening, unit length (paper 4, Appendix C)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.checks import as_array, check_squares, first_not_finite
from pellucid._core.extras import require
from pellucid._core.kernels import cut_patches, unit_or_blank
from pellucid._core.threads import run_rows
from pellucid.manifold.nearest import Floats32
from pellucid.rows import Blocks, is_dask
from pellucid.rows.parts import Part

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
# differences of pixels from 0 to 1 that are none
ROUNDING = 1e-6
# files of images in a block
FILES = 512
# how much red, green and blue add to grey (ITU-R 601)
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


class Images:
    """Images (n, height, width, channels) that are read, and turned into float32, block by block.

    uint8 becomes 0 to 1; floating-point numbers stay as they are.
    """

    def __init__(self, source: ArrayLike | str | os.PathLike[str], grey: bool) -> None:
        self.grey = grey
        self.files: list[Path] = []
        if isinstance(source, (str, os.PathLike)):
            folder = Path(source)
            if not folder.is_dir():
                raise ValueError(f"There is no folder of images at {str(source)!r}.")
            self.files = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
            if not self.files:
                raise ValueError(f"The folder {str(source)!r} holds no images ({', '.join(sorted(SUFFIXES))}).")
            self.length = len(self.files)
            self.height, self.width, self.stored = self._read(self.files[0]).shape
            return
        array = as_array(source, "X")
        if array.ndim not in (3, 4) or array.dtype.kind not in "fub" or 0 in array.shape:
            raise ValueError(
                "Images must be an array (n, height, width) or (n, height, width, channels) of uint8 or floating-point "
                f"numbers, but this one has shape {array.shape} and type {array.dtype}."
            )
        if array.dtype.kind == "u" and array.dtype != np.uint8:
            raise ValueError(f"Pixels must be uint8 or floating-point numbers, not {array.dtype}: divide them first.")
        self.array = array if array.ndim == 4 else array[..., None]
        self.length, self.height, self.width, self.stored = self.array.shape

    @property
    def channels(self) -> int:
        return 1 if self.grey else self.stored

    def __len__(self) -> int:
        return self.length

    def take(self, rows: slice | NDArray[np.int64]) -> Floats32:
        """Some of the images, float32."""
        if self.files:
            chosen = np.arange(self.length)[rows]
            block = np.stack([self._checked(self.files[i]) for i in chosen])
        else:
            block = self.array[rows]
        pixels = block.astype(np.float32)
        if block.dtype == np.uint8:
            pixels /= np.float32(255)
        elif (bad := first_not_finite(pixels)) is not None:
            number = int(np.arange(self.length)[rows][bad])
            what = "too large for float32" if np.isfinite(block[bad]).all() else "NaN or infinite"
            raise ValueError(f"Image {number} has a pixel that is {what}; scale, fill or leave it out first.")
        check_squares(pixels, "The images")
        if self.grey and pixels.shape[3] > 1:
            weights = LUMA if pixels.shape[3] == 3 else np.full(pixels.shape[3], 1 / pixels.shape[3], np.float32)
            pixels = (pixels @ weights)[..., None]
        return np.ascontiguousarray(pixels)

    def _read(self, path: Path) -> Floats32:
        """Pixels from 0 to 1, of 8 or 16 bits; floating-point numbers as they are."""
        image = require("PIL.Image", "plots").open(path)
        if image.mode[0] not in "IF":
            image = image.convert("L" if image.mode in ("1", "L") else "RGB")
        pixels = np.asarray(image)
        if pixels.dtype.kind in "iu":
            most = 255 if pixels.dtype == np.uint8 else 65535
            if pixels.min() < 0 or pixels.max() > most:
                raise ValueError(f"{path} has pixels of more than 16 bits: make them 8 or 16.")
            pixels = pixels.astype(np.float32) / np.float32(most)
        pixels = pixels.astype(np.float32, copy=False)
        return pixels if pixels.ndim == 3 else pixels[..., None]

    def _checked(self, path: Path) -> Floats32:
        pixels = self._read(path)
        if pixels.shape != (self.height, self.width, self.stored):
            raise ValueError(
                f"{path} has shape {pixels.shape}, but the first image of its folder has "
                f"{(self.height, self.width, self.stored)}: make all images alike."
            )
        return pixels


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


def patch_rows(images: Floats32, size: int, mean: str, context: int) -> Floats32:
    """Patches (n · rows · columns, size² · channels) of images (n, h, w, c), their mean taken out.

    "own" takes out each patch's mean in each channel, "context" the mean patch of its neighbours, itself included.
    """
    n, h, w, c = images.shape
    rows, columns = h - size + 1, w - size + 1
    out = np.empty((n * rows * columns, size * size * c), dtype=np.float32)
    cut_patches(images, size, mean == "own", out)
    if mean == "context":
        out -= context_means(images, size, context)
        out[np.abs(out) < ROUNDING] = 0
    return out


def context_means(images: Floats32, size: int, context: int) -> Floats32:
    """Mean over the patches up to ``context`` away, for every patch, by sums over rectangles."""
    n, h, w, c = images.shape
    sums = np.zeros((n, h + 1, w + 1, c))
    sums[:, 1:, 1:] = images.cumsum(axis=1, dtype=np.float64).cumsum(axis=2)

    def ends(length: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        count = length - size + 1
        low = np.maximum(0, np.arange(count) - context)
        high = np.minimum(count - 1, np.arange(count) + context)
        inside = np.arange(size)
        return low[:, None] + inside, high[:, None] + inside + 1, high - low + 1

    (top, bottom, tall), (left, right, wide) = ends(h), ends(w)
    corner = lambda a, b: sums[:, a[:, None, :, None], b[None, :, None, :]]  # noqa: E731
    total = corner(bottom, right) - corner(top, right) - corner(bottom, left) + corner(top, left)
    area = (tall[:, None] * wide[None, :])[:, :, None, None, None]
    return np.asarray((total / area).reshape(-1, size * size * c), dtype=np.float32)


def second_moment(rows: Floats32) -> NDArray[np.float64]:
    """Sum of xxᵀ over rows."""
    wide = rows.astype(np.float64)
    return np.asarray(wide.T @ wide)


def whitening_matrices(moment: NDArray[np.float64], ridge: float) -> tuple[Floats32, Floats32]:
    """(Σ + λI)^−½ and its inverse, for the uncentred second moment Σ."""
    values, U = np.linalg.eigh(moment)
    values = np.maximum(values, 0) + ridge
    if values[0] <= 0:
        raise ValueError("Patches do not vary in every direction, so whitening must be positive.")
    return ((U / np.sqrt(values)) @ U.T).astype(np.float32), ((U * np.sqrt(values)) @ U.T).astype(np.float32)


def mirrored(size: int, channels: int) -> NDArray[np.int64]:
    """Where each entry of a patch stands in its mirror image, left and right exchanged."""
    places = np.arange(size * size * channels).reshape(size, size, channels)
    return np.ascontiguousarray(places[:, ::-1]).ravel()


@dataclass(frozen=True)
class PatchPreparation:
    """What happens to a patch before it is coded."""

    size: int
    mean: str
    context: int
    whiten: Floats32
    contrast: float

    def __call__(self, images: Floats32) -> tuple[Floats32, NDArray[np.bool_]]:
        """Unit patches, one row each, and which have contrast (the others are zeros)."""
        n, h, w, _ = images.shape
        each = (h - self.size + 1) * (w - self.size + 1)
        rows = np.empty((n * each, len(self.whiten)), dtype=np.float32)
        present = np.empty(len(rows), dtype=np.bool_)
        contrast = max(float(self.contrast), 1e-6)

        def part(start: int, stop: int) -> None:
            own = slice(start * each, stop * each)
            np.matmul(patch_rows(images[start:stop], self.size, self.mean, self.context), self.whiten, out=rows[own])
            unit_or_blank(rows[own], contrast, present[own])

        # one image at a time, whatever the block: products of other shapes may round otherwise
        run_rows(part, n, min_rows=1, max_rows=1)
        return rows, present
