"""Loaders of the papers' data: what they say of a missing or wrong file, and the real files if there are any."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproductions import data as datasets
from reproductions.data import Dataset, DatasetDamaged, DatasetNotFound, catalogue, reading
from reproductions.data.catalogue import CATALOGUE, Facts

LOADERS: dict[str, Callable[..., Dataset]] = {
    "coco_captions.npz": datasets.load_coco_captions,
    "coco_concept_words.npz": datasets.load_coco_concept_words,
    "vocabulary.npz": datasets.load_vocabulary,
    "flickr8k_efficientnet.npz": datasets.load_flickr8k,
    "words.npz": datasets.load_words,
    "axes.npz": datasets.load_axes,
    "ethanol.npz": datasets.load_ethanol,
    "mnist.npz": datasets.load_mnist,
    "usps.npz": datasets.load_usps,
    "isolet.npz": datasets.load_isolet,
    "wikitext2_small.npz": datasets.load_wikitext2,
    "cifar10.npz": datasets.load_cifar10,
    "cifar100.npz": datasets.load_cifar100,
}
DATA = os.environ.get("PELLUCID_DATA")
WORDS = "words.npz"
GOOD: dict[str, Any] = {"words": np.array(["king", "queen"]), "vectors": np.eye(2, 3, dtype=np.float16)}


def expect(monkeypatch: pytest.MonkeyPatch, file: str, **changes: Any) -> None:
    """Let the catalogue expect something else of ``file``."""
    monkeypatch.setitem(CATALOGUE, file, CATALOGUE[file]._replace(**changes))


@pytest.fixture
def small_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a small words.npz that the catalogue takes for the right one, whatever its checksum."""
    np.savez(tmp_path / WORDS, **GOOD)
    expect(monkeypatch, WORDS, sha256=None, arrays={"words": ("str", (2,)), "vectors": ("float16", (2, 3))})
    return tmp_path


def fake(shape: tuple[int, ...], kind: str) -> np.ndarray[Any, Any]:
    """An array of the shape that takes no space in the archive."""
    return np.full(shape, "text") if kind == "str" else np.zeros(shape, dtype=kind)


def test_every_file_of_the_catalogue_has_a_loader() -> None:
    assert set(LOADERS) == set(CATALOGUE)
    exported = {getattr(datasets, name) for name in datasets.__all__ if name.startswith("load_")}
    assert exported == {*LOADERS.values()}


def test_everything_in_all_exists() -> None:
    assert sorted(datasets.__all__) == sorted(set(datasets.__all__))
    for name in datasets.__all__:
        assert getattr(datasets, name).__doc__, name


@pytest.mark.parametrize("file", LOADERS)
def test_no_folder_known(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    with pytest.raises(DatasetNotFound) as caught:
        LOADERS[file]()
    message = str(caught.value)
    for part in (file, "PELLUCID_DATA", CATALOGUE[file].home, CATALOGUE[file].terms, CATALOGUE[file].origin):
        assert part in message
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("file", LOADERS)
def test_file_is_missing(file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFound) as caught:
        LOADERS[file]()
    for part in (file, str(tmp_path), "PELLUCID_DATA", CATALOGUE[file].home):
        assert part in str(caught.value)


def test_folder_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFound, match="nowhere"):
        datasets.load_mnist(tmp_path / "nowhere")


def test_a_folder_of_that_name_is_not_the_file(tmp_path: Path) -> None:
    (tmp_path / "mnist.npz").mkdir()
    with pytest.raises(DatasetNotFound):
        datasets.load_mnist(tmp_path)


def test_folder_argument_goes_before_the_variable(small_words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_DATA", str(small_words / "nowhere"))
    assert datasets.load_words(small_words).words == ["king", "queen"]
    assert datasets.load_words(folder=str(small_words)).words == ["king", "queen"]
    with pytest.raises(DatasetNotFound):
        datasets.load_words()


def test_half_precision_becomes_single(small_words: Path) -> None:
    loaded = datasets.load_words(small_words)
    assert loaded.vectors.dtype == np.float32
    np.testing.assert_array_equal(loaded.vectors, np.eye(2, 3))
    assert repr(loaded) == "WordVectors(words: 2 str, vectors: float32 2×3)"


@pytest.mark.parametrize("file", [file for file, facts in CATALOGUE.items() if facts.sha256])
def test_wrong_checksum(file: str, tmp_path: Path) -> None:
    np.savez(tmp_path / file, **GOOD)
    with pytest.raises(DatasetDamaged, match="sha256") as caught:
        LOADERS[file](tmp_path)
    assert str(CATALOGUE[file].sha256)[:12] in str(caught.value)
    assert str(tmp_path / file) in str(caught.value)


def test_right_checksum_is_accepted_and_a_change_is_noticed(small_words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    path = small_words / WORDS
    expect(monkeypatch, WORDS, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert datasets.load_words(small_words).words == ["king", "queen"]
    np.savez(path, words=np.array(["king", "squire"]), vectors=GOOD["vectors"])
    with pytest.raises(DatasetDamaged, match="sha256"):
        datasets.load_words(small_words)


def test_checksum_is_computed_once_for_an_unchanged_file(small_words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    path = small_words / WORDS
    expect(monkeypatch, WORDS, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    reading._sha256.cache_clear()
    datasets.load_words(small_words)
    datasets.load_words(small_words)
    assert reading._sha256.cache_info().misses == 1
    assert reading._sha256.cache_info().hits == 1


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.98])
def test_truncated_file(small_words: Path, keep: float) -> None:
    path = small_words / WORDS
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else int(keep)])
    with pytest.raises(DatasetDamaged, match=WORDS):
        datasets.load_words(small_words)


def test_truncated_file_with_a_known_checksum(tmp_path: Path) -> None:
    np.savez(tmp_path / "axes.npz", **GOOD)
    content = (tmp_path / "axes.npz").read_bytes()
    (tmp_path / "axes.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DatasetDamaged, match="cut short"):
        datasets.load_axes(tmp_path)


def test_text_instead_of_an_archive(small_words: Path) -> None:
    (small_words / WORDS).write_text("king 0.1 0.2\n")
    with pytest.raises(DatasetDamaged, match="no NumPy archive"):
        datasets.load_words(small_words)


def test_a_lone_array_instead_of_an_archive(small_words: Path) -> None:
    with open(small_words / WORDS, "wb") as stream:
        np.save(stream, np.eye(3))
    with pytest.raises(DatasetDamaged, match=WORDS):
        datasets.load_words(small_words)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"vectors": np.eye(3, dtype=np.float16)}, r"vectors .*\(3, 3\); \(2, 3\) was expected"),
        ({"vectors": np.zeros(2, dtype=np.float16)}, r"vectors .*\(2,\); \(2, 3\)"),
        ({"words": np.array(["king"])}, r"words .*\(1,\); \(2,\)"),
        ({"vectors": np.eye(2, 3)}, "vectors .*float64; float16"),
        ({"words": np.array([1, 2])}, "words .*int64; str"),
    ],
)
def test_wrong_shape_or_type(small_words: Path, change: dict[str, Any], told: str) -> None:
    np.savez(small_words / WORDS, **{**GOOD, **change})
    with pytest.raises(DatasetDamaged, match=told):
        datasets.load_words(small_words)


def test_missing_array(small_words: Path) -> None:
    np.savez(small_words / WORDS, words=GOOD["words"], rows=GOOD["vectors"])
    with pytest.raises(DatasetDamaged, match=r"no array named vectors.*rows"):
        datasets.load_words(small_words)


def test_pickled_objects_are_refused(small_words: Path) -> None:
    np.savez(small_words / WORDS, vectors=GOOD["vectors"], words=np.array(["king", {"a": 1}], dtype=object))
    with pytest.raises(DatasetDamaged, match="pickled Python objects"):
        datasets.load_words(small_words)


@pytest.mark.parametrize("loader", [datasets.load_cifar10, datasets.load_cifar100])
def test_cifar_is_checked_by_shape(
    loader: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = next(name for name, known in LOADERS.items() if known is loader)
    assert CATALOGUE[file].sha256 is None
    expect(monkeypatch, file, arrays=catalogue._images("uint8", 5, 2, 32, 32, 3))
    arrays = {name: fake(shape, kind) for name, (kind, shape) in CATALOGUE[file].arrays.items()}
    np.savez(tmp_path / file, **arrays)
    loaded = loader(tmp_path)
    assert isinstance(loaded, datasets.ImageSet)
    assert loaded.x_train.shape == (5, 32, 32, 3)
    np.savez(tmp_path / file, **{**arrays, "x_train": arrays["x_train"].reshape(5, -1)})
    with pytest.raises(DatasetDamaged, match="x_train"):
        loader(tmp_path)


@pytest.mark.parametrize("file", LOADERS)
def test_archive_fits_the_type_it_is_read_into(file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With every size cut down, the loader fills every field of its type from the arrays of the catalogue."""
    facts: Facts = CATALOGUE[file]
    small = {name: (kind, tuple(min(size, 4) for size in shape)) for name, (kind, shape) in facts.arrays.items()}
    expect(monkeypatch, file, sha256=None, arrays=small)
    np.savez(tmp_path / file, **{name: fake(shape, kind) for name, (kind, shape) in small.items()})
    loaded = LOADERS[file](tmp_path)
    parts = vars(loaded)
    assert len(parts) == len(small)
    for name, value in parts.items():
        kind, shape = small["names" if file == "coco_concept_words.npz" and name == "words" else name]
        if kind == "str":
            assert np.asarray(value).shape == shape
            assert isinstance(value, str if shape == () else list)
        else:
            wanted = {"float16": "float32"}.get(kind, "bool" if name in ("fine", "coarse") else kind)
            assert (value.shape, value.dtype) == (shape, np.dtype(wanted))
    assert all(name in repr(loaded) for name in parts)


def test_parts_cannot_be_reassigned(small_words: Path) -> None:
    loaded = datasets.load_words(small_words)
    with pytest.raises(AttributeError):
        loaded.words = []  # type: ignore[misc]


def test_import_takes_numpy_only() -> None:
    code = "import sys, pellucid.datasets; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"scipy", "sklearn", "pyarrow", "torch", "safetensors"} & set(loaded)


@pytest.mark.skipif(not DATA, reason="PELLUCID_DATA is not set: the real data sets are not on this machine")
@pytest.mark.parametrize("file", LOADERS)
def test_real_data(file: str) -> None:
    assert DATA is not None
    if not (Path(DATA) / file).is_file():
        pytest.skip(f"{file} is not in the folder that PELLUCID_DATA names")
    loaded = LOADERS[file]()
    for name, value in vars(loaded).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all(), name
    if isinstance(loaded, datasets.ImageSet):
        assert len(np.unique(loaded.y_train)) == (100 if file == "cifar100.npz" else 10)
    if isinstance(loaded, (datasets.CaptionSet, datasets.FlickrSet)):
        assert loaded.fine.any()
        assert set(loaded.fine_to_coarse.tolist()) <= set(range(len(loaded.coarse_names)))
    if isinstance(loaded, datasets.FlickrSet):
        assert loaded.thumbnail(0)[:2] == loaded.thumbnail(-1)[:2] == b"\xff\xd8"
        assert loaded.thumbnail(-1) == loaded.thumbnail(len(loaded.files) - 1)
    if isinstance(loaded, datasets.WikiText):
        assert len(loaded.valid.split()) > 100_000
        assert loaded.valid != loaded.test
