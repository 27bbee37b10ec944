"""A bit that is not as it was written is noticed, in models and in collections; files without checksums still open."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import pellucid
from pellucid import persistence
from pellucid._core.checksums import BLOCK, array_sum, described_sum
from pellucid.persistence import ModelFileError
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection, CollectionError, ConceptSearch
from pellucid.search import collection as collections
from pellucid.search.derived import derived_array
from support.commands import fails, found, run

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.safetensors"))


def flipped(content, rng, low=0):
    """The content with one bit turned over, from a place on."""
    data = bytearray(content)
    data[rng.integers(low, len(data))] ^= 1 << int(rng.integers(8))
    return bytes(data)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_every_flipped_bit_of_a_model_is_noticed(golden, tmp_path):
    path, rng = tmp_path / "m.safetensors", np.random.default_rng(0)
    pellucid.save(pellucid.load(golden), path)  # which has none itself
    whole = path.read_bytes()
    data = 8 + int.from_bytes(whole[:8], "little")
    for i in range(40):
        path.write_bytes(flipped(whole, rng, data if i < 20 and data < len(whole) else 0))
        with pytest.raises(ModelFileError):
            pellucid.load(path)
    path.write_bytes(whole)
    pellucid.load(path)
    assert persistence.has_checksums(path)
    assert not persistence.has_checksums(golden)


def test_a_model_names_the_array_that_was_damaged(tmp_path):
    path = tmp_path / "m.safetensors"
    pellucid.save(CenteredNormalizer().fit(np.random.default_rng(0).random((9, 4))), path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="mean_ does not have its checksum: it was damaged since"):
        pellucid.load(path)


def test_checksums_cannot_be_left_out_by_halves(tmp_path):
    path = tmp_path / "m.safetensors"
    pellucid.save(CenteredNormalizer().fit(np.random.default_rng(0).random((9, 4))), path)
    tensors = load_file(path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()[persistence.KEY])
    plain = {key: value for key, value in header.items() if key not in ("checksums", "sum")}
    for given in (
        {**plain, "checksums": header["checksums"]},
        {**plain, "sum": header["sum"]},
        {**plain, "checksums": {}, "sum": header["sum"]},
        {"sum": header["sum"], **plain, "checksums": header["checksums"]},
    ):
        save_file(tensors, path, metadata={persistence.KEY: json.dumps(given)})
        with pytest.raises(ModelFileError, match="does not have its checksum"):
            pellucid.load(path)
    save_file(tensors, path, metadata={persistence.KEY: json.dumps(plain)})
    assert pellucid.load(path).mean_.shape == (4,)  # as an earlier version wrote it


@pytest.fixture
def collection(tmp_path):
    rows = np.random.default_rng(0).standard_normal((40, 16)).astype(np.float32)
    made = Collection.create(tmp_path / "c", rows[:30], text=[f"text {i}" for i in range(30)])
    made.add(rows[30:].astype(np.float16), [f"more {i}" for i in range(10)], text=["more"] * 10)
    made.delete(["3", "more 1"])
    return made


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c.search(np.ones((1, 16))),
        lambda c: c.vectors(),
        lambda c: c.segments,
        lambda c: c.summary(),
        lambda c: c.verify(),
        lambda c: ConceptSearch(c).search("5"),
    ],
)
def test_every_flipped_bit_of_rows_is_noticed_when_they_are_used(collection, use):
    rng = np.random.default_rng(1)
    for path in sorted(collection.folder.glob("vectors-*.npy")):
        whole = path.read_bytes()
        for _ in range(5):
            path.write_bytes(flipped(whole, rng, 128))
            opened = Collection.open(collection.folder)
            with pytest.raises(CollectionError, match=rf"{path.name} does not have its checksum"):
                use(opened)
        path.write_bytes(whole)
    use(Collection.open(collection.folder))


def test_every_flipped_bit_beside_the_rows_is_noticed_when_it_is_opened(collection):
    rng = np.random.default_rng(2)
    for path in sorted(collection.folder.iterdir()):
        if path.name.startswith("vectors-") or path.suffix == ".lock":
            continue
        whole = path.read_bytes()
        for _ in range(20):
            path.write_bytes(flipped(whole, rng))
            with pytest.raises(CollectionError):
                Collection.open(collection.folder)
        path.write_bytes(whole)
    assert len(Collection.open(collection.folder)) == 38


def test_large_collections_are_compared_when_asked(collection, monkeypatch):
    monkeypatch.setattr(collections, "CHECKED_BYTES", 100)
    path = collection.folder / "vectors-000001.npy"
    path.write_bytes(flipped(path.read_bytes(), np.random.default_rng(0), 128))
    opened = Collection.open(collection.folder)
    opened.search(np.ones((1, 16)))
    with pytest.raises(CollectionError, match="does not have its checksum"):
        opened.verify()
    assert "does not have its checksum" in fails("info", collection.folder, "--verify")


def test_info_says_what_it_compared(collection, tmp_path):
    said = found("info", collection.folder, "--verify")
    assert said["verified"].startswith("all ")
    assert "verified" not in found("info", collection.folder)
    model = tmp_path / "m.safetensors"
    pellucid.save(CenteredNormalizer().fit(np.eye(3)), model)
    assert found("info", model, "--verify")["verified"] == "all arrays have their checksums"
    assert "earlier version" in run("info", GOLDEN[0], "--verify").stdout
    np.save(tmp_path / "v.npy", np.eye(3))
    assert "have no checksums" in fails("info", tmp_path / "v.npy", "--verify", code=2)


def test_a_collection_of_an_earlier_version_opens_and_goes_on(collection):
    """Which had checksums of rows alone."""
    path = collection.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for name in ("crc32", "deleted_checksum"):
        manifest.pop(name)
    for segment in manifest["segments"]:
        segment.pop("items_checksum")
    path.write_text(json.dumps(manifest))
    opened = Collection.open(collection.folder)
    opened.add(np.ones((1, 16)), ["new"], text=["new"])
    opened.delete(["new"])
    assert len(Collection.open(collection.folder)) == 38
    assert "crc32" in json.loads(path.read_text())


def test_a_replaced_collection_has_its_checksums(collection, tmp_path):
    Collection.create(collection.folder, np.eye(16), overwrite=True)
    assert Collection.open(collection.folder).verify() == 16 * 16 * 4
    shutil.copytree(collection.folder, tmp_path / "copy")
    assert Collection.open(tmp_path / "copy").verify() == 16 * 16 * 4


def test_what_is_derived_is_made_again_when_a_bit_flipped(tmp_path):
    (tmp_path / "c").mkdir()
    made = []

    def compute():
        made.append(1)
        return np.arange(6, dtype=np.float32).reshape(2, 3)

    def get():
        return np.asarray(derived_array(tmp_path / "c" / "kept", "x", (1,), (2, 3), np.float32, compute))

    get()
    np.testing.assert_array_equal(get(), compute())
    made.clear()
    (file,) = (tmp_path / "c" / "kept").glob("x-*.npy")
    for damage in (lambda data: flipped(data, np.random.default_rng(0), 128), lambda data: data[:-4]):
        file.write_bytes(damage(file.read_bytes()))
        np.testing.assert_array_equal(get(), np.arange(6).reshape(2, 3))
        assert made.pop() == 1
        assert not made


def test_sums_are_those_of_the_whole_whatever_the_layout(tmp_path):
    import zlib

    rows = np.random.default_rng(0).standard_normal((300, 7))
    for array in (rows, rows[::2], rows.T, rows[:, ::3], rows[0], rows[:0], np.array(3.0), rows.reshape(3, 100, 7)):
        assert array_sum(array) == zlib.crc32(np.ascontiguousarray(array).tobytes())
    assert described_sum(rows) != described_sum(rows.reshape(7, 300)) != described_sum(rows.astype(">f8"))
    large = np.zeros(BLOCK + 5, dtype=np.uint8)
    large[-1] = 1
    assert array_sum(large) == zlib.crc32(large)
