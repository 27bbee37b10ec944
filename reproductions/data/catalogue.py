"""What is known of each archive of real data: checksum, arrays, where the data come from, on what terms."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """What an archive has to be, and whom it comes from."""

    sha256: str | None  # None: people make the file themselves, so the bytes differ and only shapes are checked
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    origin: str
    home: str
    terms: str


def _labels(rows: int, fine: int, coarse: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {
        "fine": ("uint8", (rows, fine)),
        "coarse": ("uint8", (rows, coarse)),
        "fine_names": ("str", (fine,)),
        "coarse_names": ("str", (coarse,)),
        "fine_to_coarse": ("int64", (fine,)),
    }


def _images(kind: str, train: int, test: int, *shape: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {
        "x_train": (kind, (train, *shape)),
        "y_train": ("uint8", (train,)),
        "x_test": (kind, (test, *shape)),
        "y_test": ("uint8", (test,)),
    }


_MINILM = "https://www.sbert.net"
_CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html"

CATALOGUE: dict[str, Facts] = {
    "coco_captions.npz": Facts(
        "4ea92ff947c68b2fbf23787e9b5251bcb6aacc2d4e138bee8ac5c3f90e894238",
        {
            "vectors": ("float16", (19771, 384)),
            "image_id": ("int64", (19771,)),
            "caption": ("str", (19771,)),
            **_labels(19771, 80, 12),
        },
        "captions and labels of COCO val2017",
        "https://cocodataset.org",
        "annotations CC BY 4.0",
    ),
    "coco_concept_words.npz": Facts(
        "476199195eb594c96013b6fbd2954e202da6a1d5dcd627e2e50828b1eade81d8",
        {"names": ("str", (12,)), "vectors": ("float32", (12, 384))},
        "the twelve supercategories of COCO embedded with all-MiniLM-L6-v2",
        _MINILM,
        "none stated",
    ),
    "vocabulary.npz": Facts(
        "b48be5203a0d60534e8955e615cefa4e933d724f5c67708d6135e759e70d0aa8",
        {"words": ("str", (10000,)), "vectors": ("float16", (10000, 384))},
        "the frequent words of GloVe, embedded with all-MiniLM-L6-v2",
        "https://nlp.stanford.edu/projects/glove/",
        "word list PDDL",
    ),
    "flickr8k_efficientnet.npz": Facts(
        "9813146febcb273ea2cf4da2b676c261e0a5f28d9cd82bf460b59aaf55bf7fd9",
        {
            "vectors": ("float16", (8091, 1280)),
            "thumb_bytes": ("uint8", (25516458,)),
            "thumb_off": ("int64", (8092,)),
            "files": ("str", (8091,)),
            "split": ("str", (8091,)),
            "captions": ("str", (8091, 5)),
            **_labels(8091, 86, 7),
        },
        "Flickr8k by Hodosh, Young and Hockenmaier",
        "https://hockenmaier.cs.illinois.edu",
        "research use only",
    ),
    "words.npz": Facts(
        "0e82363383dfe64b0dff523cb0c72b703ad096d91cd3f6c5c6b8b90c0b6c6867",
        {"words": ("str", (5925,)), "vectors": ("float32", (5925, 100))},
        "GloVe 6B vectors of WordNet's words for persons",
        "https://nlp.stanford.edu/projects/glove/ and https://wordnet.princeton.edu",
        "PDDL; WordNet licence",
    ),
    "axes.npz": Facts(
        "3a0da65ec0740e438c692952967ab1d5c8449e2c3d7e2a828081d7e94deb418e",
        {
            "words": ("str", (61,)),
            "axis": ("str", (61,)),
            "pole": ("int64", (61,)),
            "vectors": ("float32", (61, 384)),
        },
        "61 words on opposing poles, embedded with all-MiniLM-L6-v2",
        _MINILM,
        "none stated",
    ),
    "ethanol.npz": Facts(
        "6d9dbc970de76130c76d16da9959c7b7ec228eece1f2a334f6b453261b603f80",
        {
            "coords": ("float32", (9633, 9, 3)),
            "nuclear_charges": ("uint8", (9,)),
            "energies": ("float64", (9633,)),
            "old_indices": ("int64", (9633,)),
        },
        "ethanol of the revised MD17 on figshare",
        "https://doi.org/10.6084/m9.figshare.12672038",
        "CC0",
    ),
    "mnist.npz": Facts(
        "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64",
        _images("uint8", 60000, 10000, 28, 28),
        "MNIST by LeCun, Cortes and Burges",
        "http://yann.lecun.com/exdb/mnist/",
        "CC BY-SA 3.0",
    ),
    "usps.npz": Facts(
        "95e790f272f9ff97b293f6960cbae5a4632b24788dc64725d33a6fed681fab9f",
        _images("float32", 7291, 2007, 16, 16),
        "the ZIP code digits of The Elements of Statistical Learning",
        "https://hastie.su.domains/ElemStatLearn/",
        "none stated",
    ),
    "isolet.npz": Facts(
        "8b9cd51f7677f8205c4ae4ab5a3d2739c336fd89c0d1a266871b217105eb1cc6",
        {"X": ("float32", (7797, 617)), "y": ("uint8", (7797,)), "part": ("uint8", (7797,))},
        "ISOLET of the UCI repository",
        "https://archive.ics.uci.edu/dataset/54/isolet",
        "CC BY 4.0",
    ),
    "wikitext2_small.npz": Facts(
        "f565cd9c76a4a5564f4151dbbb6e3388555893eb1d6db1294f77740bcb89bab1",
        {"valid": ("str", ()), "test": ("str", ())},
        "WikiText-2 by Merity and others",
        "https://arxiv.org/abs/1609.07843",
        "CC BY-SA 3.0",
    ),
    "cifar10.npz": Facts(
        None,
        _images("uint8", 50000, 10000, 32, 32, 3),
        "CIFAR-10 by Krizhevsky",
        _CIFAR,
        "none stated; cite Krizhevsky 2009",
    ),
    "cifar100.npz": Facts(
        None,
        _images("uint8", 50000, 10000, 32, 32, 3),
        "CIFAR-100 by Krizhevsky",
        _CIFAR,
        "none stated; cite Krizhevsky 2009",
    ),
}
