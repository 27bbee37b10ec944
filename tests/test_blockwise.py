"""Clusters and manifold transforms of blocks: the same as of rows in memory, in this process or on a cluster."""

import contextlib

import numpy as np
import pytest

from pellucid import CommonalityClustering, IsometryPursuit
from pellucid.blocks import Blocks
from pellucid.clusters import blockwise
from pellucid.clusters.coding import Sums
from pellucid.clusters.model import Dictionary
from pellucid.manifold import SparseManifoldTransform
from pellucid.metrics import clustering_error
from pellucid.selection.blockwise import BlockColumns
from pellucid.solvers.design import Columns


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
    return CommonalityClustering(3, 2, 2, random_state=0, **{"max_iter": 30, **settings})


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


def test_an_empty_cluster_gets_atoms_from_the_costly_rows_of_the_largest(planted):
    X, _ = planted
    nowhere = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 2)))[0].T
    X = X - X @ nowhere.T @ nowhere
    fitted = model(tol=0, max_iter=8).fit(X)
    atoms = fitted.atoms_.copy()
    atoms[1] = nowhere  # explains nothing of any row, so it stays empty
    start = Dictionary(atoms, fitted.common_atoms_)
    penalties, blocks = fitted._penalties(), Blocks(X, rows=130)
    sums, _ = blockwise.block_sums(blocks, start, penalties)
    assert sums.counts[1] == 0
    new = blockwise.with_new_atoms(blocks, start, sums, 1, penalties, np.random.RandomState(0))
    np.testing.assert_allclose(np.linalg.norm(new.atoms[1], axis=1), 1)
    found, labels = blockwise.block_sums(blocks, new, penalties)
    assert found.counts[1] == np.count_nonzero(labels == 1) > 0
    assert blockwise.objective(found, new, penalties) < blockwise.objective(sums, start, penalties)


class Stop(Exception):
    pass


@pytest.mark.parametrize("settings", [{"tol": 0}, {"tol": 0, "batch_size": 100}])
@pytest.mark.parametrize("sweeps", [0, 2])
def test_clusters_go_on_from_a_checkpoint_with_the_same_bits(planted, settings, sweeps, tmp_path, monkeypatch):
    X, _ = planted
    rows = Blocks(X, rows=130)
    whole = model(max_iter=5, **settings).fit(rows)
    real, calls = blockwise.next_state, []

    def stopping(*arguments):
        if len(calls) == sweeps:
            raise Stop
        calls.append(1)
        return real(*arguments)

    with monkeypatch.context() as patch, contextlib.suppress(Stop):
        patch.setattr(blockwise, "next_state", stopping)
        model(max_iter=5, **settings).fit(rows, checkpoint=tmp_path / "state")
    resumed = model(max_iter=5, **settings).fit(rows, checkpoint=tmp_path / "state")
    for name in ("atoms_", "common_atoms_", "labels_", "objective_", "grams_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    with pytest.raises(ValueError, match="belongs to another fit"):
        model(max_iter=5, sparsity=0.2, **settings).fit(rows, checkpoint=tmp_path / "state")


def test_rows_in_memory_may_have_a_checkpoint_too(planted, tmp_path):
    X, truth = planted
    fitted = model().fit(X, checkpoint=tmp_path / "state")
    assert clustering_error(fitted.labels_, truth) < 0.02
    assert (tmp_path / "state").is_file()


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
    total = again._statistics(X[:200], None, None)
    for start in (200, 400):
        total = total + again._statistics(X[start : start + 200], None, None)
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
    X = rng.standard_normal((4, 300))
    if kind == "deficient":
        X[3] = X[0] + X[1]
    if kind == "unit":
        X /= np.linalg.norm(X, axis=0)
    monkeypatch.setattr("pellucid.selection.blockwise.KEPT", 400)
    held = IsometryPursuit(random_state=0).fit(X)
    blocks = IsometryPursuit(random_state=0).fit(Blocks(np.ascontiguousarray(X.T), rows=40))
    np.testing.assert_array_equal(blocks.selected_, held.selected_)
    np.testing.assert_array_equal(blocks.candidates_, held.candidates_)
    assert blocks.loss_ == pytest.approx(held.loss_, rel=1e-6)
    assert blocks.objective_[-1] == pytest.approx(held.objective_[-1], rel=1e-6)
    assert blocks.n_features_in_ == 300
    assert blocks.duality_gap_ <= 1e-9
