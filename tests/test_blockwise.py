"""Clusters and manifold transforms of blocks: the same as of rows in memory, in this process or on a cluster."""

import contextlib
import os
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pellucid import CommonalityClustering, IsometryPursuit
from pellucid.clusters import learning
from pellucid.clusters.coding import Sums
from pellucid.clusters.fits import penalties_of
from pellucid.clusters.objective import Dictionary
from pellucid.manifold import SparseManifoldTransform
from pellucid.manifold.image_statistics import part_images
from pellucid.manifold.row_statistics import part_statistics, row_statistics
from pellucid.manifold.words import part_texts
from pellucid.metrics import clustering_error
from pellucid.rows import Blocks, TextBlocks
from pellucid.selection.blockwise import BlockColumns
from pellucid.solvers.design import Columns
from support.fits import PATCHES, long_fits, patch_model, pictures, point_model, some_texts, word_model
from support.killed import killed


@pytest.fixture(scope="module")
def planted():
    """Three clusters of rows, each in a plane of its own, beside two directions that all share."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    labels = rng.integers(3, size=900)
    own = np.einsum("nk,nkd->nd", rng.standard_normal((900, 2)), basis[:6].reshape(3, 2, 12)[labels])
    X = own + 0.5 * rng.standard_normal((900, 2)) @ basis[6:8] + 0.02 * rng.standard_normal((900, 12))
    return X / np.linalg.norm(X, axis=1, keepdims=True), labels


def model(**settings):
    return CommonalityClustering(3, 2, 2, reading="paper", random_state=0, **{"max_iter": 30, **settings})


def test_clusters_of_blocks_are_those_of_rows_in_memory(planted):
    X, truth = planted
    held = model(tol=0, max_iter=8).fit(X)
    blocks = model(tol=0, max_iter=8).fit(Blocks(X, rows=130))
    np.testing.assert_allclose(blocks.objective_, held.objective_, rtol=1e-6)
    np.testing.assert_allclose(blocks.atoms_, held.atoms_, atol=1e-5)
    np.testing.assert_array_equal(blocks.labels_, held.labels_)
    np.testing.assert_allclose(blocks.counts_, held.counts_)
    np.testing.assert_allclose(blocks.grams_, held.grams_, atol=1e-4)
    assert blocks.inertia_ == pytest.approx(held.inertia_, rel=1e-6)
    assert (np.diff(blocks.objective_) <= 1e-9 * blocks.objective_[0]).all()
    assert clustering_error(blocks.labels_, truth) < 0.02
    other = model(tol=0, max_iter=8).fit(Blocks(X, rows=300))
    np.testing.assert_allclose(other.atoms_, blocks.atoms_, rtol=1e-6, atol=1e-6)


def test_mini_batches_of_blocks_find_the_clusters(planted):
    X, truth = planted
    blocks = model(batch_size=100).fit(Blocks(X, rows=130))
    assert clustering_error(blocks.labels_, truth) < 0.02
    assert len(blocks.objective_) == blocks.n_iter_
    np.testing.assert_array_equal(blocks.labels_, model(batch_size=100).fit(Blocks(X, rows=130)).labels_)


def test_clusters_of_blocks_are_predicted_in_blocks(planted):
    X, _ = planted
    held = model().fit(X)
    labels, costs = held.predict(Blocks(X, rows=130)), held.transform(Blocks(X, rows=130))
    assert labels.shape == (900, 1)
    np.testing.assert_array_equal(np.concatenate(list(labels))[:, 0], held.predict(X))
    np.testing.assert_allclose(np.concatenate(list(costs)), held.transform(X), atol=1e-9)


def test_an_empty_cluster_takes_the_same_rows_whether_they_are_in_blocks_or_in_memory(planted):
    X, _ = planted
    nowhere = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 2)))[0].T
    X = X - X @ nowhere.T @ nowhere
    fitted = model(tol=0, max_iter=8).fit(X)
    atoms = fitted.atoms_.copy()
    atoms[1] = nowhere  # explains nothing of any row, so it stays empty
    start = Dictionary(atoms, fitted.common_atoms_)
    penalties, blocks = penalties_of(fitted), Blocks(X, rows=130)
    empty = learning.begin(blocks, start, None, penalties)
    assert empty.sums.counts[1] == 0
    new = learning.with_new_atoms(blocks, empty, 1, penalties, np.random.RandomState(0))
    np.testing.assert_allclose(np.linalg.norm(new.atoms[1], axis=1), 1)
    filled = learning.refilled(blocks, empty, 1, new, penalties)
    assert filled.sums.counts[1] == np.count_nonzero(filled.labels == 1) > 0
    assert filled.objective[0] < empty.objective[0]
    held = learning.with_new_atoms(Blocks.held(X), empty, 1, penalties, np.random.RandomState(0))
    np.testing.assert_allclose(new.atoms, held.atoms, atol=1e-8)
    whole = learning.begin(blocks, new, None, penalties)
    np.testing.assert_array_equal(filled.labels, whole.labels)
    np.testing.assert_allclose(filled.sums.grams, whole.sums.grams, atol=1e-9)


def test_an_empty_cluster_is_refilled_from_the_one_that_costs_most(tmp_path):
    """Many rows that a plane explains, fewer that another one explains in part, and a cluster that nobody is near."""
    rng = np.random.default_rng(0)
    X = np.zeros((400, 9))
    X[:300, :2], X[300:, 2:6] = rng.standard_normal((300, 2)), rng.standard_normal((100, 4)) * [1, 1, 0.9, 0]
    X[:, 6] = 1e-3 * rng.standard_normal(400)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    start = np.zeros((3, 2, 9))
    start[0, :, :2], start[1, :, 2:4], start[2, :, 7:] = np.eye(2), np.eye(2), np.eye(2)
    filled = {}
    for name, rows in [("array", X), ("blocks", Blocks(X, rows=70))]:
        fitted = CommonalityClustering(3, 2, 0, reading="paper", ridge=1e-3, max_iter=1, warm_start=True, tol=0)
        fitted.atoms_, fitted.common_atoms_ = start.copy(), np.empty((0, 9))
        filled[name] = fitted.fit(rows)
        assert np.count_nonzero(fitted.labels_ == 0) == 300  # the largest cluster is left alone
        assert (np.bincount(fitted.labels_, minlength=3) > 20).all()
    np.testing.assert_array_equal(filled["blocks"].labels_, filled["array"].labels_)
    np.testing.assert_allclose(filled["blocks"].atoms_, filled["array"].atoms_, atol=1e-6)


class Stop(Exception):
    pass


FITTED = ("atoms_", "common_atoms_", "labels_", "objective_", "inertia_", "n_iter_", "grams_")


def same_bits(one, two, names=FITTED):
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def stopping_at(sweeps, real):
    """A sweep that fails after so many."""
    calls = []

    def stopping(*arguments):
        if len(calls) == sweeps:
            raise Stop
        calls.append(1)
        return real(*arguments)

    return stopping


def broken_fit(monkeypatch, sweeps, make, rows, path):
    with monkeypatch.context() as patch, contextlib.suppress(Stop):
        for name in ("sweep", "batch_sweep"):
            patch.setattr(learning, name, stopping_at(sweeps, getattr(learning, name)))
        make().fit(rows, checkpoint=path)


@pytest.mark.parametrize("settings", [{"tol": 0}, {"tol": 0, "batch_size": 100}])
@pytest.mark.parametrize("sweeps", [0, 2])
@pytest.mark.parametrize("kind", ["blocks", "array", "memmap"])
def test_clusters_go_on_from_a_checkpoint_with_the_same_bits(planted, settings, sweeps, kind, tmp_path, monkeypatch):
    rows = planted[0]
    if kind == "blocks":
        rows = Blocks(rows, rows=130)
    if kind == "memmap":
        np.save(tmp_path / "rows.npy", rows)
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    make = partial(model, max_iter=5, **settings)
    whole = make().fit(rows)
    broken_fit(monkeypatch, sweeps, make, rows, tmp_path / "state")
    same_bits(make().fit(rows, checkpoint=tmp_path / "state"), whole)
    longer = model(max_iter=7, **settings).fit(rows, checkpoint=tmp_path / "state")
    same_bits(longer, model(max_iter=7, **settings).fit(rows))
    with pytest.raises(ValueError, match="belongs to another fit"):
        model(max_iter=5, sparsity=0.2, **settings).fit(rows, checkpoint=tmp_path / "state")


STARTS = [
    {"init": "kmeans", "n_init": 3},
    {"init": "random", "n_init": 3, "tol": 0},
    {"n_init": 2},
    {"init": np.arange(900) % 3},
    {"batch_size": 100, "init": "random", "n_init": 2},
]


@pytest.mark.parametrize("settings", STARTS)
def test_a_checkpoint_changes_no_bit_of_a_fit_in_memory(planted, settings, tmp_path):
    X = planted[0]
    for dtype in (np.float64, np.float32):
        make = partial(model, max_iter=6, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            whole = make().fit(X.astype(dtype))
            kept = make().fit(X.astype(dtype), checkpoint=tmp_path / f"{np.dtype(dtype)}")
        same_bits(kept, whole)
        assert hasattr(kept, "modularity_") == hasattr(whole, "modularity_")


@pytest.mark.parametrize("kind", ["array", "blocks"])
@pytest.mark.parametrize("sweeps", [1, 4, 6, 11])
def test_clusters_go_on_in_the_middle_of_any_start(planted, kind, sweeps, tmp_path, monkeypatch):
    X = planted[0] if kind == "array" else Blocks(planted[0], rows=130)
    make = partial(model, max_iter=4, init="random", n_init=3, tol=0)
    whole = make().fit(X)
    broken_fit(monkeypatch, sweeps, make, X, tmp_path / "state")
    resumed = make().fit(X, checkpoint=tmp_path / "state")
    same_bits(resumed, whole)
    one = model(max_iter=4, init="random", n_init=1, tol=0).fit(X)
    assert whole.inertia_ <= one.inertia_
    with pytest.raises(ValueError, match="belongs to another fit"):  # each start was as long as it was to be
        model(max_iter=5, init="random", n_init=3, tol=0).fit(X, checkpoint=tmp_path / "state")


def test_of_several_starts_the_best_is_kept_whatever_the_rows_are_in():
    X = np.random.default_rng(0).standard_normal((600, 12))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    make = partial(model, max_iter=4, init="random", tol=0)
    held, blocks = make(n_init=3).fit(X), make(n_init=3).fit(Blocks(X, rows=130))
    assert held.inertia_ < make(n_init=1).fit(X).inertia_  # the first is not the best
    np.testing.assert_array_equal(blocks.labels_, held.labels_)
    np.testing.assert_allclose(blocks.objective_, held.objective_, rtol=1e-6)


def test_what_blocks_cannot_do_is_said(planted):
    X, truth = planted
    with pytest.raises(ValueError, match="init must be a word"):
        model(init=truth).fit(Blocks(X))
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        model().fit(Blocks(X[:2]))
    with pytest.raises(ValueError, match="pairs and groups need rows in memory"):
        SparseManifoldTransform(2, neighbors="temporal").fit(Blocks(X), groups=truth)


def test_sums_of_clusters_add_up():
    one = Sums(np.ones(2), np.ones((2, 3, 4)), np.ones((2, 3, 3)), 1.0)
    one.add(Sums(np.ones(2), np.ones((2, 3, 4)), np.ones((2, 3, 3)), 1.0))
    assert one.cost == 2.0


@pytest.mark.parametrize("settings", [{"neighbors": "metric"}, {"neighbors": "temporal"}, {"code": "threshold"}])
def test_statistics_of_blocks_are_those_of_the_parts_added_up(settings):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((600, 5)), axis=0)
    fitted = SparseManifoldTransform(3, n_atoms=20, random_state=0, **settings).fit(Blocks(X, rows=200))
    again = SparseManifoldTransform(3, n_atoms=20, random_state=0, **settings)
    again._seed, again.code_ = np.random.RandomState(0), fitted.code_
    total = row_statistics(again, X[:200], None, None)
    for start in (200, 400):
        total = total + row_statistics(again, X[start : start + 200], None, None)
    for name in ("cost", "second"):
        difference = getattr(fitted.statistics_, name) - getattr(total, name)
        assert abs(difference).max() < 1e-9
    whole = SparseManifoldTransform(3, n_atoms=20, random_state=0, **settings).fit(X)
    assert fitted.components_.shape == whole.components_.shape
    made = fitted.transform(Blocks(X, rows=200))
    np.testing.assert_allclose(np.concatenate(list(made)), fitted.transform(X), atol=1e-12)


def test_noise_is_drawn_for_every_part_alike():
    X = np.random.default_rng(0).standard_normal((300, 4))
    make = lambda: SparseManifoldTransform(2, n_atoms=10, neighbors="noise", random_state=0)  # noqa: E731
    one, two = (make().fit(Blocks(X, rows=100)) for _ in range(2))
    np.testing.assert_array_equal(one.components_, two.components_)


def test_passes_over_blocks_of_columns_are_those_over_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X, scale, weights = rng.standard_normal((5, 400)), rng.random(400), rng.random(400)
    V = rng.standard_normal((5, 5))
    held, blocks = Columns(X, scale), BlockColumns(Blocks(X.T, rows=37), scale)
    some = np.unique(rng.integers(400, size=150))
    monkeypatch.setattr("pellucid.selection.blockwise.KEPT", 100)  # so that subsets stay in blocks
    for mine, theirs in [(blocks, held), (blocks.subset(some), held.subset(some))]:
        assert isinstance(mine, BlockColumns)
        own = weights[: theirs.count]
        np.testing.assert_allclose(mine.lengths(V), theirs.lengths(V), rtol=1e-12)
        np.testing.assert_allclose(mine.forms(V), theirs.forms(V), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.moment(), theirs.moment(), rtol=1e-12)
        np.testing.assert_allclose(mine.moment(own), theirs.moment(own), rtol=1e-12)
        order = np.array([3, 100, 7, 7, 90])
        np.testing.assert_array_equal(mine.take(order), theirs.take(order))
        found = np.concatenate([W for _, W in mine.blocks()], axis=1)
        np.testing.assert_array_equal(found, theirs.take(slice(None)))
    np.testing.assert_allclose(blocks.raw_lengths(), np.linalg.norm(X, axis=0) * scale)


@pytest.mark.parametrize("kind", ["plain", "deficient", "unit"])
def test_isometry_pursuit_of_blocks_chooses_what_it_chooses_in_memory(kind, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 4))
    if kind == "deficient":
        X[:, 3] = X[:, 0] + X[:, 1]
    if kind == "unit":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    monkeypatch.setattr("pellucid.selection.blockwise.KEPT", 400)
    held = IsometryPursuit(random_state=0).fit(X)
    blocks = IsometryPursuit(random_state=0).fit(Blocks(X, rows=40))
    np.testing.assert_array_equal(blocks.selected_, held.selected_)
    np.testing.assert_array_equal(blocks.candidates_, held.candidates_)
    assert blocks.loss_ == pytest.approx(held.loss_, rel=1e-6)
    assert blocks.objective_[-1] == pytest.approx(held.objective_[-1], rel=1e-6)
    assert (blocks.n_samples_seen_, blocks.n_features_in_) == (300, 4)
    np.testing.assert_allclose(blocks.components_, X[blocks.selected_])
    assert blocks.duality_gap_ <= 1e-9


# images and texts


def same_statistics(one, two):
    for name in vars(one):
        difference = abs(getattr(one, name) - getattr(two, name)).max()
        assert difference <= 1e-6 * abs(getattr(two, name)).max()


@pytest.mark.parametrize("settings", PATCHES)
@pytest.mark.parametrize("rows", [7, 40, 1000])
def test_images_in_blocks_make_the_model_of_images_in_memory(settings, rows):
    images = pictures()
    held = patch_model(**settings).fit(images)
    blocks = patch_model(**settings).fit(Blocks(images, rows=rows))
    np.testing.assert_array_equal(blocks.atoms_, held.atoms_)
    np.testing.assert_array_equal(blocks.whitening_, held.whitening_)
    same_statistics(blocks.statistics_, held.statistics_)
    np.testing.assert_allclose(blocks.eigenvalues_, held.eigenvalues_, rtol=1e-6)
    made = held.transform(Blocks(images, rows=rows))
    assert made.shape == held.transform(images).shape
    np.testing.assert_array_equal(np.concatenate(list(made)), held.transform(images))


@pytest.mark.parametrize("kind", ["uint8", "float32", "float64", "float16", "no channels"])
def test_pixels_of_every_kind_come_as_they_are(kind, tmp_path):
    images = pictures()
    if kind == "no channels":
        images = images[..., 0]
    elif kind != "uint8":
        images = (images / 255).astype(kind)
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    held, blocks = patch_model().fit(images), patch_model().fit(Blocks(mapped, rows=20))
    np.testing.assert_array_equal(blocks.components_, held.components_)


def test_more_images_in_blocks_can_be_added():
    images = pictures()
    held = patch_model().partial_fit(images[:50]).partial_fit(images[50:]).solve()
    blocks = patch_model().partial_fit(Blocks(images[:50], rows=20)).partial_fit(Blocks(images[50:], rows=20)).solve()
    np.testing.assert_array_equal(blocks.components_, held.components_)


def test_what_blocks_of_images_cannot_be_is_said():
    images = pictures()
    with pytest.raises(ValueError, match=r"must be \(n, height, width\)"):
        patch_model().fit(Blocks(images[:, :, 0, 0]))
    with pytest.raises(ValueError, match="not uint16"):
        patch_model().fit(Blocks(images.astype(np.uint16)))
    with pytest.raises(ValueError, match="Blocks of vectors are needed"):
        SparseManifoldTransform(2).fit(Blocks(images))
    with pytest.raises(ValueError, match="Blocks of vectors are needed"):
        SparseManifoldTransform(2).fit(TextBlocks(["a b"]))
    broken = (images / 255).astype(np.float32)
    broken[71, 2, 3, 0] = np.nan
    with pytest.raises(ValueError, match="Row 71 has a value that is not finite"):
        patch_model().fit(Blocks(broken, rows=20))
    fitted = patch_model().fit(images)
    with pytest.raises(ValueError, match="but the model was fitted to"):
        fitted.transform(Blocks(images[:, 1:], rows=20))
    with pytest.raises(NotFittedError):
        patch_model().transform(Blocks(images))


@pytest.fixture(scope="module")
def texts():
    return some_texts()


@pytest.mark.parametrize("source", ["texts", "tokens", "file", "folder", "bag"])
def test_texts_in_blocks_make_the_model_of_texts_in_memory(texts, source, tmp_path):
    held = word_model().fit(texts)
    given = texts
    if source == "tokens":
        given = [text.split() for text in texts]
    elif source == "file":
        given = tmp_path / "all.txt"
        given.write_text("\n".join(texts), encoding="utf-8")
    elif source == "folder":
        given = str(tmp_path)
        for i in range(4):
            (tmp_path / f"{i}.txt").write_text("\n".join(texts[30 * i : 30 * (i + 1)]) + "\n", encoding="utf-8")
        (tmp_path / "4.txt").write_text("")
        (tmp_path / "5.csv").write_text("no text")
    elif source == "bag":
        given = pytest.importorskip("dask.bag", reason="needs pellucid[dask]").from_sequence(texts, npartitions=7)
        np.testing.assert_array_equal(word_model().fit(given).vectors_, held.vectors_)
    blocks = TextBlocks(given, rows=17)
    assert len(blocks) == 120
    model = word_model().fit(blocks)
    assert list(model.vocabulary_) == list(held.vocabulary_)
    np.testing.assert_array_equal(model.counts_, held.counts_)
    np.testing.assert_array_equal(model.vectors_, held.vectors_)
    made = model.transform(blocks)
    assert made.shape == (120, 4)
    np.testing.assert_array_equal(np.concatenate(list(made)), held.transform(texts))


def test_what_texts_cannot_be_is_said(texts, tmp_path):
    with pytest.raises(ValueError, match="Text 101 must be a string"):
        word_model().fit(TextBlocks([*texts[:101], 7, "end"], rows=20))
    with pytest.raises(ValueError, match="no text file"):
        TextBlocks(tmp_path / "nothing.txt")
    with pytest.raises(ValueError, match="no text file"):
        TextBlocks(tmp_path)
    (tmp_path / "latin.txt").write_bytes("naïve".encode("latin-1"))
    with pytest.raises(ValueError, match="is not UTF-8"):
        TextBlocks(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"")
    for nothing in (tmp_path, []):
        with pytest.raises(ValueError, match="There are no texts"):
            TextBlocks(nothing)
    with pytest.raises(ValueError, match="at least one text"):
        TextBlocks(texts, rows=0)


def test_sums_of_images_and_texts_go_on_from_a_checkpoint_with_the_same_bits(texts, tmp_path, monkeypatch):
    images = pictures()
    fits = [(partial(patch_model, **settings), Blocks(images, rows=20)) for settings in PATCHES]
    fits.append((word_model, TextBlocks(texts, rows=30)))
    for number, (make, data) in enumerate(fits):
        whole = make().fit(data)
        for parts in range(3):
            path = tmp_path / f"{number}-{parts}"
            with monkeypatch.context() as patch, contextlib.suppress(Stop):
                patch.setattr(Blocks, "each", stopping_after(parts))
                make().fit(data, checkpoint=path)
            resumed = make().fit(data, checkpoint=path)
            for name in make()._fitted_arrays:
                np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
        with monkeypatch.context() as patch:
            patch.setattr(Blocks, "each", stopping_after(0))
            finished = make().fit(data, checkpoint=path)  # nothing is left to do
        np.testing.assert_array_equal(finished.eigenvalues_, whole.eigenvalues_)
        with pytest.raises(ValueError, match="belongs to another fit"):
            make().set_params(n_components=3).fit(data, checkpoint=path)


def stopping_after(parts):
    """``Blocks.each`` that ends by an error in a pass for statistics."""
    real = Blocks.each

    def each(self, function, given=None):
        for number, found in enumerate(real(self, function, given)):
            if number == parts and getattr(function, "func", None) in (part_images, part_texts):
                raise Stop
            yield found

    return each


@pytest.mark.parametrize("settings", PATCHES[1:3])
def test_images_of_memory_and_of_a_folder_may_have_a_checkpoint_too(settings, tmp_path):
    images = pictures()
    pil = pytest.importorskip("PIL.Image", reason="needs pellucid[plots]")
    (tmp_path / "folder").mkdir()
    for i, image in enumerate(images):
        pil.fromarray(image).save(tmp_path / "folder" / f"{i:02}.png")
    held = patch_model(**settings).fit(images)
    for i, source in enumerate([images, tmp_path / "folder"]):
        fitted = patch_model(**settings).fit(source, checkpoint=tmp_path / f"state{i}")
        same_bits(fitted, held, ("atoms_", "components_", "eigenvalues_"))
        assert (tmp_path / f"state{i}").is_file()


def test_ctrl_c_leaves_the_images_of_whole_parts(monkeypatch):
    images = pictures()
    real = Blocks.each

    def each(self, function, given=None):
        for number, found in enumerate(real(self, function, given)):
            if number == 2 and getattr(function, "func", None) is part_images:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(Blocks, "each", each)
    with pytest.warns(UserWarning, match="Stopped after 2 of 5 parts"):
        stopped = patch_model().fit(Blocks(images, rows=20))
    assert stopped.statistics_.counts.sum() == 40 * 8 * 8


# killed

CHILD = """
from support.fits import long_fits
for _ in long_fits(sys.argv[1]):
    pass
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_fits_that_were_killed_end_with_the_same_bits(tmp_path):
    whole = list(long_fits())
    for moment in (5, 30, 45, 46):  # each goes on where the one before was killed
        killed(CHILD, moment, tmp_path)
    for resumed, unbroken in zip(long_fits(tmp_path), whole):
        for name in unbroken._fitted_arrays:
            if hasattr(unbroken, name):
                np.testing.assert_array_equal(getattr(resumed, name), getattr(unbroken, name))


@pytest.mark.parametrize(
    "settings", [{}, {"neighbors": "noise"}, {"neighbors": "temporal", "order": 2}, {"neighbors": "pairs"}]
)
def test_a_checkpoint_changes_no_bit_of_points_in_memory(settings, tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((70_000 if not settings else 600, 2))  # more than a block has
    given = {"pairs": np.stack([np.arange(599), np.arange(1, 600)], axis=1)} if "pairs" in settings.values() else {}
    whole = point_model(**settings).fit(X, **given)
    path = tmp_path / "state"
    for _ in range(2):  # the second time nothing is left to do
        kept = point_model(**settings).fit(X, checkpoint=path, **given)
        same_bits(kept, whole, ("components_", "eigenvalues_", "atoms_"))
        monkeypatch.setattr("pellucid.manifold.row_statistics.code_statistics", None)
    if given:
        with pytest.raises(ValueError, match="belongs to another fit"):
            point_model(**settings).fit(X, checkpoint=path, pairs=given["pairs"][1:])


def test_points_go_on_with_the_noise_of_the_parts_that_are_left(tmp_path, monkeypatch):
    rows = Blocks(np.random.default_rng(0).standard_normal((600, 12)), rows=100)
    fit = partial(point_model(neighbors="noise", noise=1.0).fit, rows)
    whole = fit().components_
    real = Blocks.each

    def broken(self, function, given=None):
        for number, found in enumerate(real(self, function, given)):
            if number == 2 and getattr(function, "func", None) is part_statistics:
                raise RuntimeError("the power failed")
            yield found

    with monkeypatch.context() as patch:
        patch.setattr(Blocks, "each", broken)
        with pytest.raises(RuntimeError, match="power"):
            fit(checkpoint=tmp_path / "state")
    assert (tmp_path / "state").is_file()
    np.testing.assert_array_equal(fit(checkpoint=tmp_path / "state").components_, whole)
