"""Images by their patches, words by their neighbours, and the vote of neighbours."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion

import pellucid
from pellucid._core.arrays import unit_rows
from pellucid.manifold import PatchManifoldTransform, WordManifoldTransform
from pellucid.manifold.nearest import build_cells
from pellucid.manifold.nearest_codes import graph_of_codes, nearest_codes, pooled
from pellucid.manifold.patches import Images, context_means, mirrored, patch_rows, unit_or_blank
from pellucid.manifold.spectral import solve_pairs
from pellucid.manifold.statistics import PairStatistics
from pellucid.manifold.threshold_codes import (
    ActiveAtoms,
    above,
    active_atoms,
    add_near_patches,
    add_whole_images,
    sum_of_atoms,
)
from pellucid.metrics import cosine_neighbours, neighbour_vote, soft_knn_accuracy
from pellucid.metrics.neighbours import merge_neighbours

GOLDEN = Path(__file__).parent / "golden"


def pictures(n=12, h=11, w=10, c=1, seed=0):
    """Smooth random images, uint8."""
    rng = np.random.default_rng(seed)
    images = rng.random((n, h + 2, w + 2, c))
    images = (images[:, 1:-1, 1:-1] + images[:, 2:, 1:-1] + images[:, 1:-1, 2:] + images[:, :-2, :-2]) / 4
    images = (255 * images).astype(np.uint8)
    return images[..., 0] if c == 1 else images


def small(**settings):
    given = {"patch_size": 4, "n_atoms": 24, "n_components": 5, "context": 2, "random_state": 0, **settings}
    return PatchManifoldTransform(**given)


def literal_patches(image, size):
    rows, columns = image.shape[0] - size + 1, image.shape[1] - size + 1
    return np.array([image[i : i + size, j : j + size].ravel() for i in range(rows) for j in range(columns)])


def test_patches_and_their_means():
    images = Images(pictures(3, c=3), grey=False).take(slice(0, 3))
    raw = np.concatenate([literal_patches(image, 4) for image in images])
    assert np.array_equal(patch_rows(images, 4, "none", 1), raw)
    own = raw.reshape(-1, 16, 3)
    assert patch_rows(images, 4, "own", 1) == pytest.approx(
        (own - own.mean(axis=1, keepdims=True)).reshape(raw.shape), abs=1e-6
    )
    grid = raw.reshape(3, 8, 7, -1)
    for reach in (1, 3, 20):
        means = [
            grid[n, max(0, i - reach) : i + reach + 1, max(0, j - reach) : j + reach + 1].mean(axis=(0, 1))
            for n in range(3) for i in range(8) for j in range(7)
        ]  # fmt: skip
        assert context_means(images, 4, reach) == pytest.approx(np.array(means), abs=1e-5)


def test_a_mirrored_patch_is_the_patch_of_the_mirrored_image():
    image = pictures(1, c=3)[0].astype(float)
    rows = literal_patches(image, 4)
    flipped = literal_patches(image[:, ::-1], 4).reshape(8, 7, -1)[:, ::-1].reshape(rows.shape)
    assert np.array_equal(rows[:, mirrored(4, 3)], flipped)


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 5])
def test_patches_of_any_size_are_cut_and_their_means_taken_out(size, c):
    images = np.random.default_rng(0).random((2, 6, 9, c)).astype(np.float32)
    images[1, :5, :5] = 0.3  # a flat patch leaves exactly nothing
    raw = np.concatenate([literal_patches(image, size) for image in images])
    assert np.array_equal(patch_rows(images, size, "none", 1), raw)
    found, own = patch_rows(images, size, "own", 1), raw.reshape(-1, size * size, c).astype(np.float64)
    assert found == pytest.approx((own - own.mean(axis=1, keepdims=True)).reshape(raw.shape), abs=1e-6)
    assert not found[len(raw) // 2].any()


@pytest.mark.parametrize("d", [1, 7, 12, 36, 100])
def test_rows_get_unit_length_where_they_have_contrast(d):
    rows = np.random.default_rng(0).standard_normal((40, d)).astype(np.float32)
    rows[3], rows[5] = 0, 1e-3
    rows[8:10] = [np.full(d, 1e-8), np.full(d, 1e18)]
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    found, present = rows.copy(), np.empty(40, bool)
    unit_or_blank(found, 0.1, present)
    assert np.array_equal(present, lengths >= 0.1)
    expected = np.where(present[:, None], rows / np.maximum(lengths, 1e-30)[:, None], 0)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("d", [1, 8, 45, 200])
@pytest.mark.parametrize(("pool", "stride"), [(4, 2), (3, 3), (1, 2), (9, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_windows_are_summed(d, pool, stride, dtype):
    patches = np.random.default_rng(0).standard_normal((2, 8, 5, d)).astype(np.float32)
    patches[1, :5, :3] = 0  # some windows are blank
    shape = tuple(max(length - pool, 0) // stride + 1 for length in (8, 5))
    out = np.empty((2, shape[0] * shape[1] * d), dtype)
    pooled(lambda i: [patches[i]], 2, shape, pool, stride, [out])
    for image, found in zip(patches.astype(np.float64), out):
        cells = np.array(
            [
                image[i : i + pool, j : j + pool].sum(axis=(0, 1))
                for i in range(0, shape[0] * stride, stride)
                for j in range(0, shape[1] * stride, stride)
            ]
        )
        cells /= np.maximum(np.linalg.norm(cells, axis=1, keepdims=True), 1e-30)
        expected = cells / np.sqrt(max(1, cells.any(axis=1).sum()))
        assert found == pytest.approx(expected.ravel(), abs=1e-6 if dtype == np.float32 else 1e-3)


@pytest.mark.parametrize("context", [1, 2, 100])
@pytest.mark.parametrize("most", [2**32 - 1, 40])  # counts of more than this take another way
@pytest.mark.parametrize("K", [6, 150])
def test_the_graph_counts_neighbours(context, most, K, monkeypatch):
    monkeypatch.setattr("pellucid.manifold.nearest_codes.MOST", most)
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 6, (4, 5, 7)).astype(np.int32) * (K // 6)
    codes = np.where(codes < 0, np.int32(-1), codes + rng.integers(0, K // 6, codes.shape, dtype=np.int32))
    C = np.zeros((K, K))
    for image in codes:
        for i in range(5):
            for j in range(7):
                for y in range(5):
                    for x in range(7):
                        near = abs(i - y) <= context and abs(j - x) <= context and (i, j) != (y, x)
                        if near and image[i, j] >= 0 and image[y, x] >= 0:
                            C[image[i, j], image[y, x]] += 1
    found = graph_of_codes(codes, K, context)
    assert np.array_equal(found.together.toarray(), C)
    assert np.array_equal(found.counts, np.bincount(codes[codes >= 0], minlength=K))
    halves = graph_of_codes(codes[:1], K, context) + graph_of_codes(codes[1:], K, context)
    assert np.array_equal(halves.together.toarray(), C)
    if context == 100:  # the complete graph: Σ over images of (Σα)(Σα)ᵀ without the patches themselves
        sums = np.array([np.bincount(image[image >= 0], minlength=K) for image in codes])
        assert np.array_equal(C, sums.T @ sums - np.diag(sums.sum(axis=0)))


def some_codes(n=4, rows=5, columns=6, K=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n * rows * columns, 8)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    atoms = X[rng.permutation(len(X))[:K]].copy()
    present = rng.random(len(X)) > 0.1
    dense = ((np.float32(0.3) <= X @ atoms.T) & present[:, None]).astype(float)
    return active_atoms(X, present, atoms, 0.3), dense, (n, rows, columns, K)


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
@pytest.mark.parametrize("K", [1, 63, 64, 200])
def test_atoms_above_the_threshold(K, kind):
    products = np.random.default_rng(0).random((30, K)).astype(np.float32)
    products[:, -1], products[4] = 0.75, np.nan
    present = np.arange(30) % 7 != 3
    active, counts = np.empty((30, K), kind), np.empty(30, np.int64)
    used = above(products, np.float32(0.75), present, active, counts)
    expected = (products >= 0.75) & present[:, None]
    assert np.array_equal(counts, expected.sum(axis=1))
    assert np.array_equal(active.ravel()[:used], np.nonzero(expected)[1])


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
@pytest.mark.parametrize("K", [5, 16, 77])
def test_pairs_of_atoms_and_their_sums_are_counted(K, kind):
    rng = np.random.default_rng(K)
    dense = rng.random((60, K)) < np.linspace(0, 0.9, K)
    dense[[0, 7, 59]] = False
    codes = ActiveAtoms(np.nonzero(dense)[1].astype(kind), np.concatenate([[0], dense.sum(axis=1).cumsum()]))
    before = rng.integers(0, 9, (K, K)) * 1.0
    found = PairStatistics(np.zeros((K, K)), before + before.T)
    add_whole_images(codes, 4, found)
    assert np.array_equal(found.second - before - before.T, 15 * (dense.T.astype(int) @ dense))
    sums = dense.reshape(4, 15, K).sum(axis=1)
    assert np.array_equal(found.together, sums.T @ sums)
    for d in (1, 8, 37, 110):
        table = rng.standard_normal((K, d)).astype(np.float32)
        expected = dense @ table.astype(np.float64)
        expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-30)
        assert sum_of_atoms(codes, table, 0, 60) == pytest.approx(expected, abs=1e-5)
        assert sum_of_atoms(codes, table, 7, 9) == pytest.approx(expected[7:9], abs=1e-5)


def test_more_pairs_than_16_bits_can_count():
    n = 140_000
    codes = ActiveAtoms(np.tile(np.array([1, 2], np.uint16), n), 2 * np.arange(n + 1))
    found = PairStatistics(np.zeros((4, 4)), np.zeros((4, 4)))
    add_whole_images(codes, n, found)
    expected = np.zeros((4, 4))
    expected[1:3, 1:3] = n
    assert np.array_equal(found.second, expected)
    assert np.array_equal(found.together, expected)


def test_more_atoms_than_can_be_counted_at_once_are_refused(monkeypatch):
    monkeypatch.setattr("pellucid.manifold.threshold_codes.MOST", 3)
    codes = ActiveAtoms(np.arange(4, dtype=np.uint16), np.array([0, 2, 4]))
    with pytest.raises(ValueError, match="4 active atoms are too many"):
        add_whole_images(codes, 1, PairStatistics(np.zeros((9, 9)), np.zeros((9, 9))))


@pytest.mark.parametrize(
    ("active", "begin"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [0, 1, 5])]
)
def test_codes_over_other_atoms_are_refused(active, begin):
    codes = ActiveAtoms(np.array(active, np.int32), np.array(begin))
    with pytest.raises(ValueError, match="not over the atoms"):
        add_whole_images(codes, 1, PairStatistics(np.zeros((9, 9)), np.zeros((9, 9))))
    with pytest.raises(ValueError, match="not over the atoms"):
        sum_of_atoms(codes, np.zeros((9, 3), np.float32), 0, 2)


def literal_cost(dense, n, rows, columns, context):
    """A D Dᵀ Aᵀ over unordered pairs of neighbours, one column of D for each."""
    each = rows * columns
    cost = np.zeros((dense.shape[1], dense.shape[1]))
    for image in range(n):
        A = dense[image * each : (image + 1) * each]
        for p in range(each):
            for q in range(p):
                if abs(p // columns - q // columns) <= context and abs(p % columns - q % columns) <= context:
                    cost += np.outer(A[p] - A[q], A[p] - A[q])
    return cost


@pytest.mark.parametrize("context", [1, 2, None])
def test_threshold_statistics_are_the_literal_ones(context):
    codes, dense, (n, rows, columns, K) = some_codes()
    assert np.array_equal(codes.sparse(K).toarray(), dense)
    found = PairStatistics(np.zeros((K, K)), np.zeros((K, K)))
    if context is None:
        add_whole_images(codes, n, found)
        assert np.array_equal(found.second, rows * columns * dense.T @ dense)
    else:
        add_near_patches(codes, n, (rows, columns), context, found)
    cost = literal_cost(dense, n, rows, columns, 100 if context is None else context)
    assert found.second - found.together == pytest.approx(cost, abs=1e-4)
    twice = found + found
    assert np.array_equal(twice.second, 2 * found.second)
    P, values = solve_pairs(found, 4, 0, False)
    exact = linalg.eigh(cost, found.second, eigvals_only=True)[:4]
    assert values == pytest.approx(exact, abs=1e-6)
    assert P @ found.second @ P.T == pytest.approx(np.eye(4), abs=1e-5)


def test_mirror_images_split_the_problem():
    """With a dictionary closed under mirroring, the halves solve what the whole would with mirrored images added."""
    rng = np.random.default_rng(0)
    A = rng.random((80, 6))
    flip = (np.arange(6) + 3) % 6
    second, sums = A.T @ A, rng.random((10, 6))
    together = sums.T @ sums
    P, values = solve_pairs(PairStatistics(together, second), 6, 0, True)
    C, V = together + together[flip][:, flip], second + second[flip][:, flip]
    exact = linalg.eigh(C, V, eigvals_only=True)[::-1]
    assert values == pytest.approx(1 - exact, abs=1e-6)
    assert pytest.approx(np.eye(6), abs=1e-5) == P @ V @ P.T


@pytest.mark.parametrize("code", ["nearest", "threshold"])
def test_a_literal_transform(code):
    """Patch by patch and window by window, with NumPy alone."""
    X = pictures(8)
    model = small(code=code, contrast=0.1, context=2 if code == "nearest" else None).fit(X)
    P, W = model.components_.astype(float), model.whitening_.astype(float)
    image = X[3] / 255.0
    rows = literal_patches(image, 4)
    rows = (rows - rows.mean(axis=1, keepdims=True)) @ W
    lengths = np.linalg.norm(rows, axis=1)
    rows /= lengths[:, None]
    products = rows @ model.atoms_.T
    A = np.eye(24)[products.argmax(axis=1)] if code == "nearest" else (products >= 0.3).astype(float)
    A[lengths < 0.1] = 0
    beta = A @ P.T
    beta /= np.maximum(np.linalg.norm(beta, axis=1, keepdims=True), 1e-12)
    beta = beta.reshape(8, 7, 5)
    assert model.patch_embeddings(X)[3] == pytest.approx(beta, abs=1e-4)
    cells = np.array(
        [[beta[2 * i : 2 * i + 4, 2 * j : 2 * j + 4].sum(axis=(0, 1)) for j in range(2)] for i in range(3)]
    )
    cells /= np.linalg.norm(cells, axis=2, keepdims=True)
    assert model.transform(X)[3] == pytest.approx((cells / np.sqrt(6)).ravel(), abs=1e-4)
    assert model.get_feature_names_out()[0] == "patchmanifoldtransform0"


def test_whole_image_context_is_any_context_that_reaches_across():
    X = pictures()
    whole, wide = small(context=None).fit(X), small(context=50).fit(X)
    assert np.array_equal(whole.components_, wide.components_)


@pytest.mark.parametrize("code", ["nearest", "threshold"])
@pytest.mark.parametrize("c", [1, 3])
def test_blocks_threads_and_seeds(code, c, monkeypatch):
    """Neither the size of blocks nor the number of threads, nor uint8 or float, makes a difference."""
    X = pictures(20, c=c)
    settings = {"code": code, "context": None, "random_state": 5}
    first = small(**settings).fit(X)
    Z = first.transform(X)
    again = small(**settings).fit(X / 255.0)
    assert np.array_equal(again.transform((X / 255.0).astype(np.float32)), Z)
    pellucid.set_threads(1)
    assert np.array_equal(small(**settings).fit(X).transform(X), Z)
    pellucid.set_threads(None)
    for module in ("base", "images", "image_statistics"):
        monkeypatch.setattr(f"pellucid.manifold.{module}.BATCH", 3)
    blocks = small(**settings, memory=1e-6).fit(X)
    assert np.array_equal(blocks.atoms_, first.atoms_)
    assert blocks.transform(X) == pytest.approx(Z, abs=1e-4)
    assert np.array_equal(first.transform(X), Z)  # batches of another size
    assert np.array_equal(first.transform(X[7:8]), Z[7:8])
    assert not np.array_equal(small(**{**settings, "random_state": 6}).fit(X).transform(X), Z)


@pytest.mark.parametrize("code", ["nearest", "threshold"])
def test_parts_add_up_and_need_not_be_in_order(code):
    X = pictures(30)
    whole = small(code=code, context=None).fit(X)
    parts = clone(whole)
    parts.atoms_, parts.whitening_, parts.image_shape_ = whole.atoms_, whole.whitening_, whole.image_shape_
    parts.statistics_ = type(whole.statistics_)(*(0 * part for part in vars(whole.statistics_).values()))
    for start in (20, 0, 10):
        parts.partial_fit(X[start : start + 10])
    assert parts.solve().transform(X) == pytest.approx(whole.transform(X), abs=1e-4)


@pytest.mark.parametrize("w", [10, 11])  # windows lie symmetrically in one of the two
@pytest.mark.parametrize("code", ["nearest", "threshold"])
def test_flips(code, w):
    """A dictionary closed under mirroring: vectors of mirror images come for free, and are learned from."""
    X = pictures(16, w=w)
    model = small(code=code, augment="flip", context=None, n_components=4, stride=2).fit(X)
    flip = mirrored(4, 1)
    assert np.array_equal(model.atoms_[12:], model.atoms_[:12][:, flip])
    Z, mirror = model.transform_with_mirror(X)
    assert np.array_equal(Z, model.transform(X))
    assert mirror == pytest.approx(model.transform(X[:, :, ::-1]), abs=1e-3)
    assert np.abs(mirror - Z).max() > 0.1
    both = small(code=code, augment="flip", context=None, n_components=4).fit(np.concatenate([X, X[:, :, ::-1]]))
    both.atoms_, both.whitening_ = model.atoms_, model.whitening_
    del both.statistics_
    both.statistics_ = type(model.statistics_)(*(0 * part for part in vars(model.statistics_).values()))
    both.partial_fit(np.concatenate([X, X[:, :, ::-1]])).solve()
    assert both.eigenvalues_ == pytest.approx(model.eigenvalues_, abs=1e-4)
    with pytest.raises(ValueError, match="augment"):
        small().fit(X).transform_with_mirror(X)


def test_blank_and_constant_images():
    X = np.concatenate([pictures(10), np.zeros((1, 11, 10), np.uint8), np.full((1, 11, 10), 200, np.uint8)])
    for code in ("nearest", "threshold"):
        model = small(code=code, context=None).fit(X)
        Z = model.transform(X)
        assert not Z[-2:].any()
        assert np.linalg.norm(Z[:-2], axis=1) == pytest.approx(np.ones(10), abs=1e-5)
    with pytest.raises(ValueError, match="contrast"):
        small().fit(X[-2:])


def test_atoms_that_are_never_active_get_zeros():
    X = pictures(6)
    model = small(code="nearest").fit(X)
    model.atoms_ = np.concatenate([model.atoms_[:-1], -np.abs(model.atoms_[:1]) - 1])
    model.atoms_[-1] /= np.linalg.norm(model.atoms_[-1])
    del model.statistics_
    model.statistics_ = graph_of_codes(np.full((1, 8, 7), -1, np.int32), 24, 2)
    model.partial_fit(X).solve()
    counts = model.statistics_.counts
    assert (counts == 0).any()
    assert not model.components_[:, counts == 0].any()
    assert np.isfinite(model.transform(X)).all()


def test_one_image_and_images_smaller_than_the_patch_or_the_window():
    one = pictures(1)
    assert small().fit(one).transform(one).shape == (1, 3 * 2 * 5)
    tiny = pictures(9, 5, 5)
    assert small(pool=8).fit(tiny).transform(tiny).shape == (9, 5)
    with pytest.raises(ValueError, match="hold no patch of 6 × 6"):
        small(patch_size=6).fit(tiny)


def test_grey_and_colour():
    X = pictures(10, c=3)
    colour, grey = small().fit(X), small(channels="grey").fit(X)
    assert colour.atoms_.shape[1] == 48
    assert grey.atoms_.shape[1] == 16
    as_grey = (X / 255.0) @ np.array([0.299, 0.587, 0.114])
    assert grey.transform(X) == pytest.approx(small().fit(as_grey.astype(np.float32)).transform(as_grey), abs=1e-3)
    both = FeatureUnion([("colour", small()), ("grey", small(channels="grey"))]).fit_transform(X)
    assert np.array_equal(both, np.hstack([colour.transform(X), grey.transform(X)]))


def test_other_ways_to_give_images(tmp_path):
    from PIL import Image

    X = pictures(9, c=3)
    model = small().fit(X)
    Z = model.transform(X)
    np.save(tmp_path / "images.npy", X)
    assert np.array_equal(small().fit(np.load(tmp_path / "images.npy", mmap_mode="r")).transform(X), Z)
    assert np.array_equal(model.transform(np.asfortranarray(X)), Z)
    half = clone(model).set_params(dtype="float16").fit(X).transform(X)
    assert half.dtype == np.float16
    assert half == pytest.approx(Z, abs=1e-3)
    folder = tmp_path / "bilder"
    folder.mkdir()
    for i, image in enumerate(X):
        Image.fromarray(image).save(folder / f"bild {i} ä.png")
    (folder / "readme.txt").write_text("not an image")
    assert np.array_equal(small().fit(folder).transform(str(folder)), Z)
    Image.fromarray(X[0, :5]).save(folder / "z.png")
    with pytest.raises(ValueError, match=r"z\.png has shape"):
        model.transform(folder)
    with pytest.raises(ValueError, match="no folder"):
        model.transform(folder / "nowhere")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 4)), "shape"),
        (np.zeros((0, 9, 9)), "shape"),
        (np.zeros((2, 9, 9), np.int64), "int64"),
        (np.zeros((2, 9, 9), np.uint16), "divide"),
        (np.where(np.arange(162).reshape(2, 9, 9) == 100, np.nan, 0.5), "Image 1"),
        (np.array([["a"]]), "shape"),
    ],
)
def test_what_is_no_image_is_said(X, message):
    with pytest.raises(ValueError, match=message):
        small().fit(X)


def test_another_size_than_fitted_to_is_refused():
    with pytest.raises(ValueError, match="fitted to 11 × 10"):
        small().fit(pictures()).transform(pictures(h=12))


@pytest.mark.parametrize("code", ["nearest", "threshold"])
def test_saved_models_come_back(code, tmp_path):
    X = pictures()
    model = small(code=code, context=None, augment="flip").fit(X)
    pellucid.save(model, tmp_path / "model.safetensors")
    loaded = pellucid.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.transform(X), model.transform(X))
    with pytest.raises(ValueError, match="call fit"):
        loaded.partial_fit(X)


def test_golden_files_still_load():
    model = pellucid.load(GOLDEN / "patch_manifold_transform.safetensors")
    assert np.linalg.norm(model.transform(pictures(2, 9, 9)), axis=1) == pytest.approx(np.ones(2), abs=1e-5)
    words = pellucid.load(GOLDEN / "word_manifold_transform.safetensors")
    assert words.most_similar("cat", 1)[0][0] in set(words.vocabulary_)


def test_ctrl_c_leaves_a_model_of_what_was_seen(monkeypatch):
    X = pictures(40)
    monkeypatch.setattr("pellucid.manifold.image_statistics.BATCH", 8)
    model = small()
    seen = []
    take = Images.take

    def interrupted(self, rows):
        if hasattr(model, "atoms_"):
            seen.append(rows)
            if len(seen) == 3:
                raise KeyboardInterrupt
        return take(self, rows)

    monkeypatch.setattr(Images, "take", interrupted)
    with pytest.warns(UserWarning, match="Stopped after 16 of 40"):
        model.fit(X)
    monkeypatch.setattr(Images, "take", take)
    assert np.isfinite(model.transform(X)).all()


KILLED = """
import os, sys, numpy as np, pellucid
from pellucid.manifold import PatchManifoldTransform
from pellucid.manifold.patches import Images
take, calls = Images.take, []
def deadly(self, rows):
    calls.append(rows)
    if len(calls) == 3:
        os.kill(os.getpid(), 9)
    return take(self, rows)
Images.take = deadly
X = np.random.default_rng(0).random((40, 20, 20))
pellucid.save(PatchManifoldTransform(4, 16, n_components=4, context=2).fit(X), sys.argv[1])
"""


def test_a_killed_fit_leaves_nothing_half_written(tmp_path):
    path = tmp_path / "model.safetensors"
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())


def test_neighbours_of_an_atom_and_its_looks():
    X = pictures()
    model = small().fit(X)
    looks = model.atom_patches()
    assert looks.shape == (24, 4, 4, 1)
    rows = looks.reshape(24, -1) @ model.whitening_
    assert rows == pytest.approx(model.atoms_, abs=1e-4)
    near, cosines = model.similar_atoms(3, 6)
    table = model.components_.T / np.linalg.norm(model.components_.T, axis=1, keepdims=True)
    others = np.delete(np.argsort(-(table @ table[3]), kind="stable"), 0)
    assert near[0] in others[:2]
    assert (np.diff(cosines) <= 0).all()
    assert 3 not in near
    with pytest.raises(ValueError, match="no atom 24"):
        model.similar_atoms(24)


def test_real_digits_are_told_apart():
    from sklearn.datasets import load_digits

    digits = load_digits()
    X = (digits.images / 16).astype(np.float32)
    model = PatchManifoldTransform(
        3, 200, context=2, n_components=24, whitening=0.1, contrast=0.3, pool=2, constraint="degree", random_state=0
    )
    Z = model.fit(X[:1200]).transform(X)
    assert soft_knn_accuracy(Z[:1200], digits.target[:1200], Z[1200:], digits.target[1200:]) > 0.95


def test_the_search_can_be_changed_after_the_fit():
    X = pictures(30, 20, 20)
    model = small(code="nearest", n_atoms=2100, max_iter=1).fit(X)
    Z = model.transform(X)
    assert model._cells.exact
    near = model.set_params(exact=False).transform(X)
    assert not model._cells.exact
    assert np.mean((near * Z).sum(axis=1)) > 0.99
    assert np.array_equal(model.set_params(exact=True).transform(X), Z)


def test_blank_rows_have_no_code():
    atoms = np.eye(3, dtype=np.float32)
    codes = nearest_codes(atoms[[2, 0, 1]], np.array([True, False, True]), atoms, build_cells(atoms))
    assert codes.tolist() == [2, -1, 1]
    assert nearest_codes(atoms, np.zeros(3, bool), atoms, None).tolist() == [-1, -1, -1]


# words


TEXT = ["the cat sat on the mat", "the dog sat on the rug", "a cat and a dog ran"] * 4


def test_word_statistics_are_those_of_a_window():
    model = WordManifoldTransform(3, window=2, min_count=1).fit(TEXT)
    words = list(model.vocabulary_)
    assert words[:2] == ["the", "a"]
    C = np.zeros((len(words), len(words)))
    for text in TEXT:
        tokens = text.split()
        for i, first in enumerate(tokens):
            for second in tokens[max(0, i - 2) : i] + tokens[i + 1 : i + 3]:
                C[words.index(first), words.index(second)] += 1
    assert np.array_equal(model.statistics_.together.toarray(), C)
    assert model.counts_[0] == 16
    mass = model.counts_ / model.counts_.sum()
    exact = linalg.eigh((np.diag(C.sum(axis=1)) - C) / model.counts_.sum(), np.diag(mass), eigvals_only=True)
    assert model.eigenvalues_ == pytest.approx(exact[1:4], abs=1e-9)


def test_words_of_the_same_surroundings_are_alike():
    rng = np.random.default_rng(0)
    animals, tools = ["cat", "dog", "cow", "öhi"], ["saw", "axe", "file", "drill"]
    texts = [
        f"the {rng.choice(animals)} eats green grass" if rng.random() < 0.5 else f"a {rng.choice(tools)} cuts old wood"
        for _ in range(600)
    ]
    model = WordManifoldTransform(4, window=2, min_count=1).fit(texts)
    assert {word for word, _ in model.most_similar("cat", 3)} <= {*animals, "eats", "the", "green", "grass"}
    Z = model.transform(["the dog eats", ["saw", "cuts"], "nothing known"])
    assert np.linalg.norm(Z, axis=1).round(6).tolist() == [1, 1, 0]
    tokens = WordManifoldTransform(4, window=2, min_count=1).fit([text.split() for text in texts])
    assert np.array_equal(tokens.vectors_, model.vectors_)
    assert pellucid.manifold.WordManifoldTransform is pellucid.WordManifoldTransform


def test_word_parts_add_up():
    whole = WordManifoldTransform(2, window=2, min_count=1).fit(TEXT)
    parts = WordManifoldTransform(2, window=2, min_count=1).partial_fit(TEXT[:6]).partial_fit(TEXT[6:]).solve()
    assert np.array_equal(parts.counts_, whole.counts_)
    assert parts.vectors_ == pytest.approx(whole.vectors_)


def test_words_that_cannot_be():
    model = WordManifoldTransform(2, min_count=1).fit(TEXT)
    with pytest.raises(KeyError, match="did you mean 'cat'"):
        model.most_similar("CAT")
    with pytest.raises(ValueError, match="min_count"):
        WordManifoldTransform(2).fit("one two")
    with pytest.raises(ValueError, match="Text 1 must be"):
        WordManifoldTransform(2).fit(["a b", 7])
    with pytest.raises(ValueError, match="no texts"):
        WordManifoldTransform(2).fit([])


# neighbours


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_neighbours_by_cosine(dtype):
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((300, 7)).astype(dtype), rng.standard_normal((40, 7)).astype(dtype)
    train[5] = 0
    which, cosines = cosine_neighbours(train, test, 6, block=200)
    a, b = (rows.astype(np.float32).astype(np.float64) for rows in (train, test))
    exact = (b / np.linalg.norm(b, axis=1)[:, None]) @ (a / np.maximum(np.linalg.norm(a, axis=1), 1e-9)[:, None]).T
    assert cosines == pytest.approx(-np.sort(-exact, axis=1)[:, :6], abs=1e-5)
    assert np.take_along_axis(exact, which, axis=1) == pytest.approx(cosines, abs=1e-5)
    whole = cosine_neighbours(train, test, 6)
    assert np.array_equal(whole[0], which)


def test_neighbours_of_rows_that_come_in_blocks():
    """Any order of the blocks, some shorter than the list, finds what all rows at once do."""
    rng = np.random.default_rng(3)
    train, test = (unit_rows(rng.standard_normal((n, 5)).astype(np.float32)) for n in (40, 7))
    which, cosines = cosine_neighbours(train, test, 6)
    found, best = np.zeros((7, 6), dtype=np.int64), np.full((7, 6), -np.inf, dtype=np.float32)
    for part in np.split(rng.permutation(40), [3, 20, 21]):
        merge_neighbours(found, best, train[part], part, test)
    assert np.array_equal(found, which)
    assert best == pytest.approx(cosines, abs=1e-6)


def test_the_vote():
    labels = np.array([["a", "b", "b"], ["b", "a", "a"]])
    cosines = np.array([[0.9, 0.7, 0.7], [0.5, 0.5, 0.5]])
    assert neighbour_vote(labels, cosines).tolist() == ["a", "a"]  # e^(0.2 / 0.03) is more than two
    assert neighbour_vote(labels, cosines, hard=True).tolist() == ["b", "a"]
    assert neighbour_vote(labels, cosines, temperature=10).tolist() == ["b", "a"]
    with pytest.raises(ValueError, match="temperature"):
        neighbour_vote(labels, cosines, 0)
    with pytest.raises(ValueError, match="one label"):
        soft_knn_accuracy(np.eye(3), [0, 1], np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="2 columns, but train has 3"):
        cosine_neighbours(np.eye(3), np.eye(2))
    with pytest.raises(ValueError, match="from 1 to"):
        cosine_neighbours(np.eye(3), np.eye(3), 4)
    assert soft_knn_accuracy(np.eye(3), [0, 1, 2], np.eye(3), [0, 1, 2], n_neighbors=1) == 1
