"""Fits on a real cluster of two worker processes: the same as in this process, also when one of them is killed."""

import os
import signal
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from pellucid import CommonalityClustering, ConceptSubspaces, IsometryPursuit, vectors
from pellucid.manifold import SparseManifoldTransform
from pellucid.preparation import CenteredNormalizer
from pellucid.rows import Blocks, TextBlocks
from support.fits import PATCHES, patch_model, pictures, problem, some_texts, word_model

distributed = pytest.importorskip("distributed", reason="needs pellucid[dask]")
da = pytest.importorskip("dask.array", reason="needs pellucid[dask]")
db = pytest.importorskip("dask.bag", reason="needs pellucid[dask]")


@contextmanager
def two_workers():
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def mortal():
    with two_workers() as client:
        yield client


@pytest.fixture
def data():
    return problem(dtype=np.float32)


@pytest.fixture
def texts():
    return some_texts()


def noting(folder, block):
    """The block, after leaving word of which process has it."""
    (folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
    return block


def deadly(folder, count, block):
    """The block, but whoever takes so many blocks have been taken is killed, once."""
    noting(folder, block)
    if len(list(folder.iterdir())) >= count:
        try:
            (folder.parent / "killed").touch(exist_ok=False)
        except FileExistsError:
            return block
        (folder.parent / "killed").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.parametrize("settings", [{"update": "bcd"}, {"update": "bcd", "init": "sample"}, {}, {"batch_size": 40}])
def test_concepts_are_the_same_bits_on_two_workers_and_on_none(client, data, settings, tmp_path):
    X, Y = data
    vectors.write(tmp_path / "x.parquet", X)
    np.save(tmp_path / "x.npy", X)
    make = lambda: ConceptSubspaces(3, max_iter=3, tol=0, random_state=0, **settings, center=False)  # noqa: E731
    here = make().fit(Blocks(X, rows=75), Y)
    for source in (X, tmp_path / "x.npy"):
        there = make().fit(Blocks(source, rows=75, client=client), Y)
        np.testing.assert_array_equal(there.atoms_, here.atoms_)
        np.testing.assert_array_equal(there.objective_, here.objective_)
    with client.as_current():
        there = make().fit(da.from_array(X, chunks=(75, 5)), da.from_array(Y, chunks=(75, 2)))
        mixed = make().fit(da.from_array(X, chunks=(75, -1)), Y)
    for model in (there, mixed):
        np.testing.assert_allclose(model.atoms_, here.atoms_, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(model.objective_, here.objective_, rtol=1e-6)
    # without a client Dask's own threads do it
    alone = make().fit(da.from_array(X, chunks=(75, -1)), Y)
    np.testing.assert_array_equal(alone.atoms_, mixed.atoms_)


def test_clusters_and_manifolds_are_the_same_bits_on_two_workers_and_on_none(client, data):
    X = data[0]
    make = lambda: CommonalityClustering(3, 2, 2, reading="paper", tol=0, max_iter=3, random_state=0)  # noqa: E731
    here, there = (make().fit(Blocks(X, rows=75, client=where)) for where in (None, client))
    for name in ("atoms_", "common_atoms_", "labels_", "objective_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    for neighbours in ("metric", "noise"):
        smt = lambda: SparseManifoldTransform(3, n_atoms=20, neighbors=neighbours, random_state=0)  # noqa: B023, E731
        here, there = (smt().fit(Blocks(X, rows=75, client=where)) for where in (None, client))
        np.testing.assert_array_equal(there.components_, here.components_)
    with client.as_current():
        lazy = here.transform(da.from_array(X, chunks=(100, -1)))
        np.testing.assert_allclose(lazy.compute(), here.transform(X), atol=1e-12)


@pytest.mark.parametrize("settings", PATCHES[1:3])
def test_images_make_the_same_bits_on_two_workers_and_on_none(client, settings, tmp_path):
    images = pictures()
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    here = patch_model(**settings).fit(Blocks(images, rows=20))
    there = patch_model(**settings).fit(Blocks(mapped, rows=20, client=client))
    for name in ("atoms_", "components_", "eigenvalues_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    lazy = da.from_array(images, chunks=(20, 5, 11, 1))
    with client.as_current():
        chunks = patch_model(**settings).fit(lazy, checkpoint=tmp_path / "state")
        made = here.transform(lazy)
        assert isinstance(made, da.Array)
        assert made.shape == (90, here.transform(images[:1]).shape[1])
        np.testing.assert_allclose(made.compute(), here.transform(images), atol=1e-6)
    np.testing.assert_allclose(chunks.eigenvalues_, patch_model(**settings).fit(images).eigenvalues_, rtol=1e-6)
    on_workers = np.concatenate(list(here.transform(Blocks(mapped, rows=20, client=client))))
    np.testing.assert_array_equal(on_workers, here.transform(images))


def test_words_are_the_same_bits_on_two_workers_and_on_none(client, texts):
    here = word_model().fit(texts)
    there = word_model().fit(TextBlocks(texts, rows=25, client=client))
    with client.as_current():
        bag = word_model().fit(db.from_sequence(texts, npartitions=7))
    for model in (there, bag):
        assert list(model.vocabulary_) == list(here.vocabulary_)
        np.testing.assert_array_equal(model.vectors_, here.vectors_)
    made = here.transform(TextBlocks(texts, rows=25, client=client))
    np.testing.assert_array_equal(np.concatenate(list(made)), here.transform(texts))


def test_rows_are_chosen_on_two_workers_as_on_none(client):
    X = np.random.default_rng(1).standard_normal((300, 4))
    here = IsometryPursuit(random_state=0).fit(X)
    with client.as_current():
        there = IsometryPursuit(random_state=0).fit(da.from_array(X, chunks=(50, 3)))
    np.testing.assert_array_equal(there.selected_, here.selected_)
    assert there.loss_ == pytest.approx(here.loss_, rel=1e-6)


def test_both_workers_take_part_and_parquet_is_read_there(client, data, tmp_path):
    X, Y = data
    (tmp_path / "seen").mkdir()
    vectors.write(tmp_path / "x.parquet", X)
    (tmp_path / "set").mkdir()
    for i in range(12):
        vectors.write(tmp_path / "set" / f"{i:02}.parquet", X[50 * i : 50 * (i + 1)])
    blocks = Blocks(tmp_path / "set", rows=50, client=client).map(partial(noting, tmp_path / "seen"), X.shape[1])
    there = ConceptSubspaces(3, update="bcd", max_iter=3, tol=0, center=False).fit(blocks, Y)
    pids = {int(name.name.split("-")[0]) for name in (tmp_path / "seen").iterdir()}
    assert len(pids) == 2
    assert os.getpid() not in pids
    here = ConceptSubspaces(3, update="bcd", max_iter=3, tol=0, center=False).fit(Blocks(tmp_path / "set", rows=50), Y)
    np.testing.assert_array_equal(there.atoms_, here.atoms_)


def test_a_dask_array_becomes_a_dask_array_lazily(client, data):
    X, Y = data[0].astype(np.float64), data[1]  # codes of float32 would differ by as much as their atoms are alike
    lazy = da.from_array(X, chunks=(100, 5))
    before = CenteredNormalizer().fit(lazy)
    prepared = before.transform(lazy)
    Z = prepared.compute()
    np.testing.assert_allclose(Z, CenteredNormalizer().fit_transform(X), atol=2e-6)
    model = ConceptSubspaces(3, max_iter=2, center=False).fit(Z, Y, list("abcd"))
    for made, wanted in [
        (prepared, Z),
        (model.transform(prepared), model.transform(Z)),
        (model.project(prepared, "b"), model.project(Z, "b")),
    ]:
        assert isinstance(made, da.Array)
        assert made.shape == wanted.shape
        assert made.dtype == wanted.dtype
        with client.as_current():
            np.testing.assert_allclose(made.compute(), wanted, atol=2e-6)
    unknown = lazy[lazy[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        Blocks(unknown)


def test_errors_come_from_the_workers_as_they_are(client, data):
    X, Y = data
    X[401, 1] = np.nan
    with pytest.raises(ValueError, match="Row 401 has a value that is not finite"):
        ConceptSubspaces(3, center=False).fit(Blocks(X, rows=50, client=client), Y)


@pytest.mark.parametrize("settings", [{"update": "bcd"}, {"update": "svd"}])
def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(mortal, data, settings, tmp_path):
    X, Y = data
    make = lambda: ConceptSubspaces(3, max_iter=6, tol=0, random_state=0, **settings, center=False)  # noqa: E731
    here = make().fit(Blocks(X, rows=60), Y)
    (tmp_path / "seen").mkdir()
    blocks = Blocks(X, rows=60, client=mortal).map(partial(deadly, tmp_path / "seen", 45), X.shape[1])  # of 80 or 90
    at_start = set(mortal.run(os.getpid).values())
    there = make().fit(blocks, Y)
    assert int((tmp_path / "killed").read_text()) in at_start
    np.testing.assert_array_equal(there.atoms_, here.atoms_)
    np.testing.assert_array_equal(there.objective_, here.objective_)
