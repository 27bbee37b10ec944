"""Rows come raw everywhere: the model prepares them, in fits, methods and searches alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pellucid
from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.preparation import CenteredNormalizer
from pellucid.rows import Blocks
from pellucid.search import Collection, ConceptSearch, stored_model
from pellucid.search.engines.exact import ExactEngine


def raw_rows(n=400, d=16, seed=0, dtype=np.float32):
    """Rows of any length that crowd around a mean, as embeddings do, and their concepts."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, 3)) < 0.4
    Y[np.arange(n), rng.integers(3, size=n)] = True
    parts = rng.standard_normal((3, d))
    rows = Y @ parts + rng.standard_normal((n, d)) + rng.standard_normal(d)
    return (rows * rng.lognormal(sigma=1.5, size=(n, 1))).astype(dtype), Y


NAMES = ["a", "b", "c"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_of_raw_rows_is_that_of_prepared_ones(dtype):
    X, Y = raw_rows(dtype=dtype)
    before = CenteredNormalizer().fit(X[:300])
    Z = before.transform(X)
    raw = ConceptSubspaces(3, random_state=0).fit(X[:300], Y[:300], NAMES)
    by_hand = ConceptSubspaces(3, center=False, random_state=0).fit(Z[:300], Y[:300], NAMES)
    np.testing.assert_array_equal(raw.atoms_, by_hand.atoms_)
    np.testing.assert_array_equal(raw.preparation_.mean_, before.mean_)
    np.testing.assert_array_equal(raw.prepare(X), Z)
    for method in ("transform", "shares", "components", "lengths"):
        everything = {"active": "all"} if method != "transform" else {}
        np.testing.assert_array_equal(getattr(raw, method)(X, **everything), getattr(by_hand, method)(Z, **everything))
    for method in ("project", "remove"):
        np.testing.assert_array_equal(getattr(raw, method)(X, "b"), getattr(by_hand, method)(Z, "b"))
    np.testing.assert_allclose(raw.predict_proba(X), by_hand.predict_proba(Z), atol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_lengths_of_rows_change_nothing(seed):
    X, Y = raw_rows(120, 8, seed, np.float64)
    longer = X * np.random.default_rng(seed).lognormal(sigma=3, size=(len(X), 1))
    one, other = (ConceptSubspaces(2, max_iter=2, presence=False).fit(rows, Y) for rows in (X, longer))
    np.testing.assert_allclose(other.atoms_, one.atoms_, atol=1e-6)
    np.testing.assert_allclose(one.shares(longer), one.shares(X), atol=1e-9)


def test_blocks_batches_and_memory_maps_are_prepared_too(tmp_path):
    X, Y = raw_rows()
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    whole = ConceptSubspaces(3, update="bcd", random_state=0).fit(X, Y)
    blocks = ConceptSubspaces(3, update="bcd", random_state=0).fit(Blocks(X, rows=150), Y)
    np.testing.assert_allclose(blocks.preparation_.mean_, whole.preparation_.mean_, atol=1e-7)
    np.testing.assert_allclose(np.concatenate(list(blocks.prepare(Blocks(X, rows=70)))), blocks.prepare(X), atol=1e-6)
    lazily = np.concatenate(list(blocks.shares(Blocks(X, rows=70))))
    np.testing.assert_allclose(lazily, blocks.shares(X), atol=2e-3)
    held, seen = (ConceptSubspaces(3, batch_size=100, random_state=0).fit(rows, Y) for rows in (X, mapped))
    np.testing.assert_array_equal(seen.atoms_, held.atoms_)
    np.testing.assert_array_equal(seen.preparation_.mean_, held.preparation_.mean_)


def test_batches_of_a_memory_map_are_never_copied_as_a_whole(tmp_path, monkeypatch):
    X, Y = raw_rows()
    np.save(tmp_path / "x.npy", X)
    model = ConceptSubspaces(3, batch_size=50, max_iter=1, random_state=0)
    seen = []
    apply = CenteredNormalizer.apply
    monkeypatch.setattr(CenteredNormalizer, "apply", lambda self, rows: seen.append(len(rows)) or apply(self, rows))
    monkeypatch.setattr("pellucid.concepts.learning.BLOCK_ROWS", 64)
    monkeypatch.setattr("pellucid.concepts.estimator.COSINE_ROWS", 64)
    monkeypatch.setattr("pellucid.concepts.presence.NUMBERS", 100 * X.shape[1])
    model.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), Y)
    assert 0 < max(seen) < len(X), "a concept's rows at most are prepared at a time"


def test_partial_fits_keep_the_mean_of_the_first():
    X, Y = raw_rows()
    model = ConceptSubspaces(3).partial_fit(X[:200], Y[:200])
    mean = model.preparation_.mean_
    model.partial_fit(X[200:], Y[200:])
    assert model.preparation_.mean_ is mean


# searches


def prepared(rows, mean):
    units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    left = units - mean
    return np.where(units.any(axis=1)[:, None], left / np.maximum(np.linalg.norm(left, axis=1)[:, None], 1e-300), 0)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.95]), st.integers(1, 30), st.sampled_from([1, 40]))
def test_the_exact_engine_ranks_raw_rows_as_prepared_ones(seed, crowded, k, n_queries):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((150, 6)) * (1 - crowded) + crowded * np.array([3.0, 1, 0, 0, 0, 0])
    rows *= 10.0 ** rng.integers(-30, 30, size=(150, 1))
    rows[rng.integers(150, size=3)] = 0
    rows = rows.astype(np.float32)
    units = rows.astype(np.float64)
    mean = (units / np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-300)).mean(axis=0)
    rows[7] = mean  # next to nothing is left of it
    queries = rng.standard_normal((n_queries, 6))
    engine = ExactEngine()
    engine.load([rows[:60], rows[60:]], np.arange(150) != 9, ["x", "y"])
    truth = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ prepared(rows.astype(np.float64), mean).T
    truth[:, 9] = -np.inf
    for _ in range(2):  # a second search knows the distances already
        positions, scores = engine.search(queries, k, center=mean)
        best = -np.sort(-truth, axis=1)[:, :k]
        np.testing.assert_allclose(scores, best, atol=1e-7)
        np.testing.assert_allclose(np.take_along_axis(truth, positions, axis=1), best, atol=1e-7)


def test_distances_are_kept_for_a_few_centres_and_follow_additions(tmp_path):
    X, _ = raw_rows()
    collection = Collection.create(tmp_path / "c", X[:300])
    for i in range(9):
        collection.search(X[:1], 3, center=X[i].astype(np.float64))
    marks = {mark for mark, _ in collection.engine._distances}
    assert len(marks) <= 5
    collection.add(X[300:], [str(i) for i in range(300, 400)])
    center = X[8].astype(np.float64)
    again = Collection.create(tmp_path / "d", X)
    np.testing.assert_array_equal(
        collection.search(X[:4], 9, center=center)[0], again.search(X[:4], 9, center=center)[0]
    )


ENGINES = [("exact", {}), ("faiss", {"kind": "flat"}), ("faiss", {"kind": "hnsw"}), ("faiss", {"kind": "ivfpq"})]


@pytest.mark.parametrize(("engine", "options"), ENGINES, ids=str)
def test_every_engine_ranks_in_the_space_of_the_model(tmp_path, engine, options):
    if engine == "faiss":
        pytest.importorskip("faiss")
    X, Y = raw_rows(700)
    model = ConceptSubspaces(3, random_state=0).fit(X, Y, NAMES)
    search = ConceptSearch(Collection.create(tmp_path / "c", X, engine=engine, engine_options=options), model)
    truth = unit_rows(model.project(X[:20], "b").astype(np.float64)) @ model.prepare(X).T
    found = 0
    for i, hits in enumerate(search.search(X[:20], "b", 10, score="projection")):
        near = {hit.position for hit in hits}
        found += len(near & set(np.argsort(-truth[i], kind="stable")[:10].tolist()))
        for hit in hits:
            assert hit.score == pytest.approx(truth[i, hit.position], abs=1e-5)
    assert found >= (200 if engine == "exact" else 160)


def test_vectors_items_and_texts_are_the_same_query(tmp_path):
    X, Y = raw_rows()
    model = ConceptSubspaces(3, random_state=0).fit(X, Y, NAMES)
    search = ConceptSearch(
        Collection.create(tmp_path / "c", X), model, encoder=lambda texts: X[[int(t[1:]) for t in texts]]
    )
    for asked in ({}, {"concept": "b"}, {"without": "a"}, {"diverse": True}):
        item = [hit.position for hit in search.search("5", k=8, **asked)]
        for query in (X[5], 100 * X[5], "=5"):
            found = [hit.position for hit in search.search(query, k=9, **asked)]
            if "diverse" not in asked:
                assert [p for p in found if p != 5][:8] == item


def test_a_diverse_list_is_the_same_with_and_without_a_model_of_the_same_space(tmp_path):
    X, Y = raw_rows()
    collection = Collection.create(tmp_path / "c", X)
    model = ConceptSubspaces(3, center=False, random_state=0).fit(X, Y, NAMES)
    for item in map(str, range(20)):
        lists = [ConceptSearch(collection, one).search(item, k=10, diverse=True) for one in (None, model)]
        assert lists[0] == lists[1]


def test_without_a_model_concepts_cannot_be_asked_for(tmp_path):
    X, _ = raw_rows()
    search = ConceptSearch(Collection.create(tmp_path / "c", X))
    assert [hit.position for hit in search.search(X[3], k=1)] == [3]
    for asked in ({"concept": "a"}, {"without": "a"}):
        with pytest.raises(ValueError, match="There is no model: to search by concept"):
            search.search("3", **asked)
    with pytest.raises(ValueError, match="There is no model: concepts are needed"):
        search.explain("3", "4")
    with pytest.raises(ValueError, match="Only a hit that a search with a model"):
        search.search("3")[0].explain()


# what earlier versions wrote


def test_a_collection_that_was_prepared_is_searched_as_it_is(tmp_path):
    X, Y = raw_rows()
    model = ConceptSubspaces(3, random_state=0).fit(X, Y, NAMES)
    old = Collection.create(tmp_path / "old", model.prepare(X))
    pellucid.save(model.preparation_, tmp_path / "old" / "preprocessing.safetensors")
    new = Collection.create(tmp_path / "new", X)
    for asked in ({}, {"concept": "b"}, {"without": "c"}):
        for query in ("4", 3 * X[4]):
            lists = [ConceptSearch(c, model).search(query, k=10, **asked) for c in (old, new)]
            assert [hit.position for hit in lists[0]] == [hit.position for hit in lists[1]]
    plain = [[hit.position for hit in ConceptSearch(old).search(q, k=11)] for q in ("4", 7 * X[4])]
    assert plain[1][1:] == plain[0][:10]
    other = ConceptSubspaces(3, random_state=0).fit(X[:200], Y[:200], NAMES)
    with pytest.raises(ValueError, match="was prepared for another model: index its vectors again"):
        ConceptSearch(old, other)
    assert stored_model(model, new) is model
    assert stored_model(None, old) is None
