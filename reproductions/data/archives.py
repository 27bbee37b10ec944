"""Loaders for the real data that the guides and the papers use, and the types that they return.

Every loader looks in ``folder`` or, when that is not given, in the folder that the environment variable
``PELLUCID_DATA`` names; it checks the file's checksum and the shape and type of every array. A missing file
raises :class:`DatasetNotFound`, a wrong one :class:`DatasetDamaged`. Vectors that are stored as float16 are
returned as float32, 0/1 labels as bool, and text as lists of str.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reproductions.data.reading import read

Folder = str | os.PathLike[str] | None


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """What all the sets have in common: named parts that cannot be replaced, and a short ``repr``."""

    def __repr__(self) -> str:
        parts = [f"{field.name}: {_size(getattr(self, field.name))}" for field in fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"


def _size(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {'×'.join(map(str, value.shape))}"
    if isinstance(value, str):
        return f"{len(value)} characters"
    return f"{len(value)} {type(value[0]).__name__}"


@dataclass(frozen=True, repr=False, eq=False)
class CaptionSet(Dataset):
    """Embedded captions of COCO images with the labels of the image (not all of which a caption mentions)."""

    vectors: NDArray[np.float32]  # (19771, 384), unit length
    image_id: NDArray[np.int64]  # (19771,)
    caption: list[str]
    fine: NDArray[np.bool_]  # (19771, 80)
    coarse: NDArray[np.bool_]  # (19771, 12)
    fine_names: list[str]
    coarse_names: list[str]
    fine_to_coarse: NDArray[np.int64]  # (80,)


@dataclass(frozen=True, repr=False, eq=False)
class FlickrSet(Dataset):
    """Flickr8k: image features, thumbnails, five captions each, and noisy labels taken from the captions' nouns."""

    vectors: NDArray[np.float32]  # (8091, 1280), pooled EfficientNet-Lite0 features
    thumb_bytes: NDArray[np.uint8]  # the JPEG files one after the other
    thumb_off: NDArray[np.int64]  # (8092,)
    files: list[str]
    split: list[str]
    captions: list[list[str]]  # 8091 lists of five
    fine: NDArray[np.bool_]  # (8091, 86)
    coarse: NDArray[np.bool_]  # (8091, 7)
    fine_names: list[str]
    coarse_names: list[str]
    fine_to_coarse: NDArray[np.int64]  # (86,)

    def thumbnail(self, row: int) -> bytes:
        """The JPEG thumbnail, 112 pixels wide, of one image."""
        row = range(len(self.files))[row]
        return self.thumb_bytes[self.thumb_off[row] : self.thumb_off[row + 1]].tobytes()


@dataclass(frozen=True, repr=False, eq=False)
class WordVectors(Dataset):
    """Words and a vector for each."""

    words: list[str]
    vectors: NDArray[np.float32]  # (n_words, n_features)


@dataclass(frozen=True, repr=False, eq=False)
class AxisWords(Dataset):
    """Words that lie on axes of meaning, such as warm and cold; the vectors are not normalised."""

    words: list[str]
    axis: list[str]
    pole: NDArray[np.int64]  # (61,)
    vectors: NDArray[np.float32]  # (61, 384)


@dataclass(frozen=True, repr=False, eq=False)
class Ethanol(Dataset):
    """Configurations of the ethanol molecule along a simulation."""

    coords: NDArray[np.float32]  # (9633, 9, 3): configuration, atom, x y z
    nuclear_charges: NDArray[np.uint8]  # (9,)
    energies: NDArray[np.float64]  # (9633,)
    old_indices: NDArray[np.int64]  # (9633,): the row in the original MD17


@dataclass(frozen=True, repr=False, eq=False)
class ImageSet(Dataset):
    """Images with a class each: pixels as (n_images, height, width) or (n_images, height, width, 3)."""

    x_train: NDArray[Any]  # uint8, or float32 in [0, 1] for USPS
    y_train: NDArray[np.uint8]
    x_test: NDArray[Any]
    y_test: NDArray[np.uint8]


@dataclass(frozen=True, repr=False, eq=False)
class Isolet(Dataset):
    """Spoken letters: acoustic features, the letter, and the part of the collection (5 is the test part)."""

    X: NDArray[np.float32]  # (7797, 617)
    y: NDArray[np.uint8]  # (7797,)
    part: NDArray[np.uint8]  # (7797,)


@dataclass(frozen=True, repr=False, eq=False)
class WikiText(Dataset):
    """Running text of two parts of WikiText-2."""

    valid: str
    test: str


_Set = TypeVar("_Set", bound=Dataset)


def _load(kind: type[_Set], file: str, folder: Folder, **renamed: str) -> _Set:
    """Read the archive into ``kind``; ``renamed`` gives fields whose array goes by another name."""
    arrays = read(file, folder)
    names = [field.name for field in fields(kind)]
    return kind(**{name: _plain(name, arrays[renamed.get(name, name)]) for name in names})


def _plain(name: str, array: NDArray[Any]) -> Any:
    if array.dtype.kind == "U":
        return array.tolist()
    return array.astype(bool) if name in ("fine", "coarse") else array


def load_coco_captions(folder: Folder = None) -> CaptionSet:
    """19 771 captions of 3 952 COCO val2017 images, embedded with all-MiniLM-L6-v2, with the images' labels."""
    return _load(CaptionSet, "coco_captions.npz", folder)


def load_coco_concept_words(folder: Folder = None) -> WordVectors:
    """The 12 coarse concepts of COCO as "This is a picture of ...", embedded with all-MiniLM-L6-v2: (12, 384)."""
    return _load(WordVectors, "coco_concept_words.npz", folder, words="names")


def load_vocabulary(folder: Folder = None) -> WordVectors:
    """10 000 frequent English words embedded with all-MiniLM-L6-v2: (10000, 384)."""
    return _load(WordVectors, "vocabulary.npz", folder)


def load_flickr8k(folder: Folder = None) -> FlickrSet:
    """8 091 Flickr8k images: features, thumbnails, captions and noisy labels; for research use only."""
    return _load(FlickrSet, "flickr8k_efficientnet.npz", folder)


def load_words(folder: Folder = None) -> WordVectors:
    """GloVe vectors of WordNet's words for persons, with king, queen, man and woman: (5925, 100)."""
    return _load(WordVectors, "words.npz", folder)


def load_axes(folder: Folder = None) -> AxisWords:
    """61 words on axes of meaning, embedded with all-MiniLM-L6-v2 and not normalised: (61, 384)."""
    return _load(AxisWords, "axes.npz", folder)


def load_ethanol(folder: Folder = None) -> Ethanol:
    """9 633 configurations of ethanol from the revised MD17."""
    return _load(Ethanol, "ethanol.npz", folder)


def load_mnist(folder: Folder = None) -> ImageSet:
    """MNIST: 60 000 and 10 000 handwritten digits of 28 × 28 pixels, uint8."""
    return _load(ImageSet, "mnist.npz", folder)


def load_usps(folder: Folder = None) -> ImageSet:
    """USPS: 7 291 and 2 007 handwritten digits of 16 × 16 pixels, float32 from 0 to 1."""
    return _load(ImageSet, "usps.npz", folder)


def load_isolet(folder: Folder = None) -> Isolet:
    """ISOLET: 7 797 spoken letters, 617 features, 26 classes."""
    return _load(Isolet, "isolet.npz", folder)


def load_wikitext2(folder: Folder = None) -> WikiText:
    """The validation and test text of WikiText-2, each one long string."""
    return _load(WikiText, "wikitext2_small.npz", folder)


def load_cifar10(folder: Folder = None) -> ImageSet:
    """CIFAR-10: 50 000 and 10 000 colour images of 32 × 32 pixels, uint8; shapes are checked, no checksum."""
    return _load(ImageSet, "cifar10.npz", folder)


def load_cifar100(folder: Folder = None) -> ImageSet:
    """CIFAR-100, in an archive with the arrays of ``cifar10.npz``; shapes are checked, no checksum."""
    return _load(ImageSet, "cifar100.npz", folder)
