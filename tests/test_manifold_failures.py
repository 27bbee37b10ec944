"""Manifold transforms when something goes wrong: bad input, Ctrl-C, too little memory, nothing to embed."""

import os
import signal
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import pellucid
from pellucid._core.interrupts import SecondInterrupt, uninterrupted
from pellucid.manifold import PatchManifoldTransform, SparseManifoldTransform, WordManifoldTransform
from pellucid.manifold.words import tokens_of
from pellucid.metrics import cosine_neighbours, soft_knn_accuracy, top_k
from pellucid.preparation import CenteredNormalizer
from pellucid.rows import Blocks

CODES = ["nearest", "threshold"]


def images(n=30, size=12, channels=1, seed=0):
    return np.random.default_rng(seed).random((n, size, size, channels)).astype(np.float32)


def patch_model(code, **settings):
    given = {"n_components": 4, "context": 2, "n_samples": 500, "random_state": 0, **settings}
    return PatchManifoldTransform(4, 24, code, **given)


def with_nan(X, at):
    X = X.copy()
    X[at] = np.nan
    return X


# a fit that fails


def refits():
    rng = np.random.default_rng(1)
    rows, pictures = rng.standard_normal((60, 3)), images()
    temporal = {"n_atoms": 8, "neighbors": "temporal", "random_state": 0}
    texts = ["a b c a c b a", "b a c c a b a"] * 5
    yield SparseManifoldTransform(2, **temporal), rows, lambda m: m.fit(3 * rows + 1, groups=[0])
    yield SparseManifoldTransform(2, **temporal), rows, lambda m: m.fit(with_nan(rows, 5))
    yield SparseManifoldTransform(2, **temporal), rows, lambda m: m.partial_fit(rows, groups=[0])
    yield CenteredNormalizer(), rows, lambda m: m.fit(with_nan(rows, 5))
    yield CenteredNormalizer(), rows, lambda m: m.fit(Blocks(with_nan(rows, 55), rows=10))
    for code in CODES:
        yield patch_model(code), pictures, lambda m: m.fit(with_nan(1 - pictures, 29))
        yield patch_model(code), pictures, lambda m: m.fit(np.zeros((3, 4)))
        yield patch_model(code), pictures, lambda m: m.partial_fit(with_nan(pictures, 29))
    yield WordManifoldTransform(1, min_count=1), texts, lambda m: m.fit([])
    yield WordManifoldTransform(1, min_count=1), texts, lambda m: m.partial_fit([3])


@pytest.mark.parametrize(("model", "X", "again"), list(refits()))
def test_a_fit_that_fails_leaves_the_model_as_it_was(model, X, again):
    with pytest.raises(ValueError):
        again(model)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]  # never fitted
    before = model.fit(X).transform(X)
    with pytest.raises(ValueError):
        again(model)
    assert np.array_equal(model.transform(X), before)
    if hasattr(model, "solve"):
        assert np.array_equal(model.solve().transform(X), before)  # nothing was added
    model.partial_fit(X)


@pytest.mark.parametrize("code", CODES)
def test_parts_that_failed_are_not_counted(code, monkeypatch):
    """Neither in memory nor in blocks, however far they had come."""
    X = images(40)
    monkeypatch.setattr("pellucid.manifold.image_statistics.BATCH", 8)
    monkeypatch.setattr("pellucid.manifold.image_statistics.COUNTED", 8)
    one = patch_model(code).partial_fit(X).partial_fit(X)
    two = patch_model(code).partial_fit(X)
    for bad in (with_nan(X, 35), Blocks(with_nan(X, 35), rows=10)):
        with pytest.raises(ValueError, match=r"NaN|not finite"):
            two.partial_fit(bad)
    two.partial_fit(X)
    assert np.array_equal(abs(one.statistics_.together - two.statistics_.together).max(), 0)


def test_a_loaded_model_takes_no_parts(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 3))
    pellucid.save(SparseManifoldTransform(2, n_atoms=8, random_state=0).fit(X), tmp_path / "model.safetensors")
    loaded = pellucid.load(tmp_path / "model.safetensors")
    atoms = loaded.atoms_
    with pytest.raises(ValueError, match="call fit"):
        loaded.partial_fit(X)
    assert loaded.atoms_ is atoms


# Ctrl-C


def press():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def ctrl_c():
    """What Python does by itself, which a run in the background does not."""
    if sys.platform == "win32":
        pytest.skip("a signal to oneself ends the process there")
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread alone")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def held(times, done):
    with uninterrupted():
        for _ in range(times):
            press()
        done.append("whole")
    done.append("on")


def test_ctrl_c_waits_for_what_must_be_whole(ctrl_c):
    done = []
    held(0, done)
    with pytest.raises(KeyboardInterrupt):
        held(1, done)
    with pytest.raises(SecondInterrupt):
        held(2, done)
    assert done == ["whole", "on", "whole"]
    with pytest.raises(TypeError), uninterrupted():
        len(3)
    with pytest.raises(KeyboardInterrupt):  # the handler is back
        press()


def test_ctrl_c_is_the_main_threads():
    seen = []

    def run():
        with uninterrupted():
            seen.append(1)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [1]


@pytest.mark.parametrize(
    ("code", "during", "call"),
    [
        ("nearest", "image_statistics.graph_of_codes", 1),
        ("nearest", "image_statistics.graph_of_codes", 2),
        ("threshold", "threshold_codes.image_sums", 1),  # between the two matrices
        ("threshold", "threshold_codes.image_sums", 9),
    ],
)
def test_ctrl_c_leaves_whole_sums(code, during, call, monkeypatch, ctrl_c):
    """Wherever it comes, the model is that of the images it says."""
    X, module = images(40), "pellucid.manifold.image_statistics"
    monkeypatch.setattr(f"{module}.BATCH", 8)
    monkeypatch.setattr(f"{module}.COUNTED", 8)
    model = patch_model(code, memory=2 * 8 * 81 * 12 / 1e9) if code == "nearest" else patch_model(code, context=None)
    model.partial_fit(X[:8])  # makes the dictionary
    inner = f"pellucid.manifold.{during}"
    owner, name = inner.rsplit(".", 1)
    function, calls = getattr(sys.modules[owner], name), []

    def pressed(*arguments):
        calls.append(1)
        if len(calls) == call:
            press()
        return function(*arguments)

    monkeypatch.setattr(inner, pressed)
    with pytest.warns(UserWarning, match="Stopped after") as said:
        model.partial_fit(X)
    monkeypatch.setattr(inner, function)
    n = int(str(said[0].message).split()[2])
    assert 0 < n < 40
    other = patch_model(code, context=model.context).partial_fit(X[:8]).partial_fit(X[:n])
    for sums in ("together", "second" if code == "threshold" else "counts"):
        assert abs(getattr(model.statistics_, sums) - getattr(other.statistics_, sums)).max() == 0


# memory


@pytest.mark.parametrize("code", CODES)
def test_memory_is_what_was_allowed(code):
    """Patches of these images take 180 MB, cut and prepared all at once 360 and more."""
    X = (255 * images(48, 64, 3)).astype(np.uint8)
    model = PatchManifoldTransform(6, 64, code, n_components=4, context=2, n_samples=2000, memory=0.02, random_state=0)
    model.fit(X[:2])
    peaks = []
    for step in (model.fit, model.transform):
        tracemalloc.start()
        step(X)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    assert max(peaks) < 60


@pytest.mark.parametrize("code", CODES)
def test_memory_changes_no_bit(code):
    X = images(40)
    vectors = [patch_model(code, memory=memory).fit(X).transform(X) for memory in (1e-6, 1e-4, 1.0)]
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[1], vectors[2])


# what there is nothing to do with


def test_a_block_may_have_one_row(tmp_path):
    X = np.random.default_rng(0).standard_normal((101, 3))
    model = SparseManifoldTransform(2, n_atoms=8, random_state=0)
    blocks = model.fit(Blocks(X, rows=100)).transform(X)
    assert blocks.shape == (101, 2)
    assert np.isfinite(blocks).all()


@pytest.mark.parametrize(
    "settings",
    [{"neighbors": "temporal"}, {"neighbors": "temporal", "constraint": "degree"}, {"neighbors": "pairs"}],
)
def test_rows_without_neighbours(settings):
    X = np.random.default_rng(0).standard_normal((20, 3))
    given = {"pairs": np.empty((0, 2), int)} if settings["neighbors"] == "pairs" else {"groups": np.arange(20)}
    with pytest.raises(ValueError, match="no item has a neighbour"):
        SparseManifoldTransform(2, n_atoms=5, **settings).fit(X, **given)


def test_words_without_neighbours():
    with pytest.raises(ValueError, match="a list of words is as many texts"):
        WordManifoldTransform(1, min_count=1).fit(["the", "cat", "sat"])
    words = WordManifoldTransform(1, min_count=1).fit(["a b c a c b", "alone"])
    with pytest.raises(ValueError, match="'alone' has no neighbours"):
        words.most_similar("alone")
    with pytest.raises(ValueError, match="k must be"):
        words.most_similar("a", k=0)


@pytest.mark.parametrize("model", [SparseManifoldTransform(3, n_atoms=9, skip=50), *map(patch_model, CODES)])
def test_skip_may_leave_something(model):
    X = images() if isinstance(model, PatchManifoldTransform) else np.random.default_rng(0).standard_normal((50, 3))
    with pytest.raises(ValueError, match="smaller skip"):
        model.set_params(skip=50).fit(X)


def test_blocks_are_not_for_everything():
    X = images()
    model = patch_model("nearest", augment="flip").fit(X)
    for method in (model.transform_with_mirror, model.patch_embeddings):
        with pytest.raises(ValueError, match="arrays or a folder"):
            method(Blocks(X, rows=10))


def test_files_of_16_bits(tmp_path):
    from PIL import Image

    X = np.random.default_rng(0).integers(0, 65536, (12, 9, 9), dtype=np.uint16)
    for i, image in enumerate(X):
        Image.fromarray(image).save(tmp_path / f"{i:02d}.png")
    wanted = patch_model("nearest").fit((X / 65535).astype(np.float32)).transform((X / 65535).astype(np.float32))
    assert patch_model("nearest").fit(tmp_path).transform(tmp_path) == pytest.approx(wanted, abs=1e-5)
    Image.fromarray(np.full((9, 9), 70_000, np.int32)).save(tmp_path / "99.tif")
    with pytest.raises(ValueError, match="more than 16 bits"):
        patch_model("nearest").fit(tmp_path)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_matching_patches_of_any_channels(channels):
    X = images(channels=channels)
    assert len(pellucid.plots.matching_patches(patch_model("nearest").fit(X), X[0], X[1:4]).images) == 4


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("हिन्दी में लिखा गया", ["हिन्दी", "में", "लिखा", "गया"]),
        ("cafe\u0301 Caf\u00e9", ["caf\u00e9", "caf\u00e9"]),
        ("İstanbul'da", ["i\u0307stanbul'da"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("don’t stop-me now_1 — 'quoted'", ["don’t", "stop", "me", "now_1", "quoted"]),
        ("", []),
    ],
)
def test_words_of_many_scripts(text, tokens):
    assert tokens_of([text]) == [tokens]


# the vote


def test_labels_are_one_for_each_row():
    rng = np.random.default_rng(0)
    A, B, y = rng.standard_normal((20, 3)), rng.standard_normal((9, 3)), np.arange(20) % 2
    for train, test in ((y[:, None], y[:9]), (y, y[:9, None])):
        with pytest.raises(ValueError, match="one label for each"):
            soft_knn_accuracy(A, train, B, test)
    with pytest.raises(ValueError, match="test has nan at row 4"):
        soft_knn_accuracy(A, y, with_nan(B, 4), y[:9])
    with pytest.raises(ValueError, match="train has nan at row 17"):
        soft_knn_accuracy(with_nan(A, 17), y, B, y[:9])
    with pytest.raises(ValueError, match="test is empty"):
        soft_knn_accuracy(A, y, B[:0], y[:0])
    with pytest.raises(ValueError, match="train is empty"):
        soft_knn_accuracy(A[:, :0], y, B[:, :0], y[:9])


@pytest.mark.parametrize("n", [12, 5000])
def test_of_equals_the_first(n):
    rng = np.random.default_rng(n)
    assert top_k(np.ones((1, n)), 10).tolist() == [list(range(10))]
    scores = rng.integers(0, 4, (30, n)).astype(np.float32)
    assert np.array_equal(top_k(scores, 10), np.argsort(-scores, axis=1, kind="stable")[:, :10])
    rows = np.repeat(rng.standard_normal((1, 4)), n, axis=0)
    assert cosine_neighbours(rows, rows[:1], 10)[0].tolist() == [list(range(10))]
