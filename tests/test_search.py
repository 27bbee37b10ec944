import copy
import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import ConceptSubspaces
from pellucid._core import atomic
from pellucid.concepts import Vocabulary
from pellucid.datasets import load_scenes
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection, CollectionError, ConceptSearch, explain, make_engine
from pellucid.search._rows import cosines
from support.killed import killed
from support.levels import at_each_level


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Scenes as a collection with a model."""
    scenes = load_scenes()
    X = CenteredNormalizer().fit_transform(scenes.vectors)
    model = ConceptSubspaces(5, max_iter=5, center=False).fit(
        X[scenes.split.train], scenes.coarse[scenes.split.train], scenes.coarse_names
    )
    labels = [[name for name, on in zip(scenes.coarse_names, row) if on] for row in scenes.coarse]
    ids = [f"scene-{i}" for i in range(len(X))]
    folder = tmp_path_factory.mktemp("search") / "scenes"
    collection = Collection.create(folder, X, ids, text=scenes.texts, labels=labels)
    return scenes, X, model, collection


@settings(max_examples=60)
@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_exact_engine_ranks_as_float64_does(n, d, k, half, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)).astype(np.float16 if half else np.float32)
    alive = rng.random(n) < 0.8
    alive[0] = True
    engine = make_engine("exact")
    cut = n // 3
    engine.load([part for part in (rows[:cut], rows[cut:]) if len(part)], alive)
    queries = rng.standard_normal((3, d))
    positions, cosines = engine.search(queries, k)
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(queries, axis=1)[:, None]
    expected = (queries @ wide.T) / np.where(lengths > 0, lengths, 1)
    expected[:, ~alive] = -np.inf
    order = np.argsort(-expected, axis=1, kind="stable")[:, : min(k, alive.sum())]
    np.testing.assert_array_equal(positions, order)
    np.testing.assert_allclose(cosines, np.take_along_axis(expected, order, 1), atol=1e-12)


def test_exact_engine_tells_near_ties_apart(rng):
    """Rows whose cosines differ by less than float32 can see still come in the order of float64."""
    base = rng.standard_normal(64)
    rows = np.vstack([base + 1e-4 * rng.standard_normal(64) for _ in range(500)])
    rows = rows.astype(np.float32)
    engine = make_engine("exact")
    engine.load([rows], np.ones(500, dtype=bool))
    wide = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    expected = np.argsort(-(wide @ (base / np.linalg.norm(base))), kind="stable")[:20]
    np.testing.assert_array_equal(engine.search(base[None], 20)[0][0], expected)


@settings(max_examples=100)
@given(
    st.integers(1, 9), st.integers(1, 80), st.integers(1, 70), st.integers(1, 12), st.integers(0, 2**32 - 1)
)  # fmt: skip
def test_heaps_hold_the_best_rows(q, n, d, size, seed):
    rng = np.random.default_rng(seed)
    # whole numbers, so that the sums are exact, and many of them alike
    queries, rows = (rng.integers(-2, 3, shape).astype(np.float32) for shape in ((q, d), (n, d)))
    weight, shift = rng.integers(1, 4, (2, n)).astype(np.float32)
    weight[rng.random(n) < 0.2] = np.nan
    offset = rng.integers(-3, 4, q).astype(np.float32)
    scores = (queries @ rows.T) * weight - offset[:, None] * shift
    seen = np.where(np.isnan(scores), -np.inf, scores)
    expected = -np.sort(-np.hstack([seen, np.full((q, size), -np.inf)]), axis=1)[:, :size]
    for kernel, given_rows in (("keep_nearest", (queries, rows)), ("keep_best", (queries @ rows.T,))):
        best, places = np.full((q, size), -np.inf, np.float32), np.zeros((q, size), np.int64)
        at_each_level(kernel, *given_rows, weight, offset, shift, 100, best, places)
        np.testing.assert_array_equal(-np.sort(-best, axis=1), expected)
        for i in range(q):
            at = places[i][best[i] > -np.inf] - 100
            assert len(set(at)) == len(at)
            np.testing.assert_array_equal(seen[i, at], best[i][best[i] > -np.inf])
        assert (best[:, :1] <= best).all()


@pytest.mark.parametrize("q", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 10, 11])
def test_equal_rows_score_the_same_to_the_last_bit(rng, q, n):
    rows, queries = np.tile(rng.standard_normal(37).astype(np.float32), (n, 1)), rng.standard_normal((q, 37))
    ones, best, places = np.ones(n, np.float32), np.full((q, n), -np.inf, np.float32), np.zeros((q, n), np.int64)
    at_each_level(
        "keep_nearest", queries.astype(np.float32), rows, ones, np.zeros(q, np.float32), ones, 0, best, places
    )  # fmt: skip
    assert all(len(set(row)) == 1 for row in best)
    np.testing.assert_array_equal(np.sort(places, axis=1), np.tile(np.arange(n), (q, 1)))
    for center in (None, rng.standard_normal(37)):
        assert len(set(cosines(rows, queries[0], center))) == 1


@settings(max_examples=60)
@given(st.integers(1, 20), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_lengths_and_cosines_are_those_of_float64(n, d, seed):
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((n, d)) * 10.0 ** rng.integers(-30, 30)).astype(np.float32)
    rows[rng.random(n) < 0.2] = 0
    center, query = 0.1 * rng.standard_normal(d), rng.standard_normal(d)
    wide, out = rows.astype(np.float64), np.empty(n)
    lengths = np.linalg.norm(wide, axis=1)
    there = lengths > 0
    unit = wide / np.where(there, lengths, 1)[:, None]
    around = np.where(there, np.linalg.norm(unit - center, axis=1), 0)
    with np.errstate(divide="ignore"):
        inverse, distances = np.where(there, 1 / lengths, 0), np.where(around > 0, 1 / around, 0)
    at_each_level("inverse_lengths", rows, out)
    np.testing.assert_allclose(out, inverse, rtol=1e-13)
    at_each_level("inverse_distances", rows, center, out)
    np.testing.assert_allclose(out, distances, rtol=1e-9)
    at_each_level("cosines", rows, query, out)
    np.testing.assert_allclose(out, unit @ query, atol=1e-12)
    at_each_level("centred_cosines", rows, query, center, out)
    np.testing.assert_allclose(out, distances * ((unit - center) @ query), rtol=1e-8, atol=1e-9)


def test_a_row_at_the_centre_has_no_direction():
    row, out = np.array([[0.0, 3.0]], np.float32), np.ones(1)
    for kernel, more in (("inverse_distances", ()), ("centred_cosines", (np.ones(2),))):
        at_each_level(kernel, row, *more, np.array([0.0, 1.0]), out)
        assert out == 0
        out[:] = 1
    assert cosines(np.full((1, 2), np.nan), np.ones(2)) == 0


def test_unknown_engines_get_a_suggestion():
    with pytest.raises(ValueError, match=r"There is no engine 'exakt': did you mean 'exact'\?"):
        make_engine("exakt")


def test_collection_round_trip(tmp_path, rng):
    X = rng.standard_normal((5, 4)).astype(np.float32)
    made = Collection.create(tmp_path / "c", X, ["a", "b", "ü", "d", "e"], text=list("vwxyz"), thumbnail=[b"1"] * 5)
    assert len(made) == 5
    made.add(X[:2] + 1, ["f", "g"], text=["p", "q"], thumbnail=[b"2"] * 2)
    made.delete(["b"])
    again = Collection.open(tmp_path / "c")
    assert again.ids == ["a", "ü", "d", "e", "f", "g"]
    assert "b" not in again
    assert again.item(again.position("f")) == {"id": "f", "text": "p", "thumbnail": b"2"}
    np.testing.assert_array_equal(again.vectors([again.position("g")])[0], X[1] + 1)
    assert again.vectors().shape == (6, 4)
    assert isinstance(again._now.segments[0].rows, np.memmap)
    positions, _ = again.search(X[1:2], 10)
    assert again.position("ü") in positions
    assert 1 not in positions, "a deleted row must not come back"
    assert "6 items × 4" in repr(again)


def test_ids_default_to_numbers(tmp_path):
    collection = Collection.create(tmp_path / "c", np.eye(3))
    collection.add(np.eye(3)[:1])
    assert collection.ids == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.add(np.ones((1, 3)), ["a"]), "The id 'a' occurs twice"),
        (lambda c: c.add(np.ones((2, 3)), ["x", "x"]), "The id 'x' occurs twice"),
        (lambda c: c.add(np.ones((1, 2)), ["x"]), "Vectors have 2 columns, but the collection has 3"),
        (lambda c: c.add([[1, np.nan, 0]], ["x"]), "Vectors have a value that is not finite in row 0"),
        (lambda c: c.add(np.ones((1, 3)), ["x", "y"]), "There are 2 ids for 1 vectors"),
        (lambda c: c.add(np.ones((1, 3)), ["x"], text=[]), "There are 0 text for 1 vectors"),
        (lambda c: c.add(np.ones((1, 3)), ["x"], id=["y"]), "The column name 'id' is taken"),
        (lambda c: c.add(np.ones(3), ["x"]), "Vectors must be a matrix of numbers"),
        (lambda c: Collection.create(c.folder, np.eye(2)), "is not empty; open the collection in it"),
    ],
)
def test_bad_changes_are_refused_and_change_nothing(tmp_path, change, sentence):
    collection = Collection.create(tmp_path / "c", np.eye(3), ["a", "b", "c"])
    before = sorted((p.name, p.read_bytes()) for p in collection.folder.iterdir())
    with pytest.raises(CollectionError, match=sentence):
        change(collection)
    assert sorted((p.name, p.read_bytes()) for p in collection.folder.iterdir()) == before
    with pytest.raises(KeyError, match="There is no item 'zz'"):
        collection.delete(["zz"])


def test_two_writers_do_not_lose_each_others_items(tmp_path):
    one = Collection.create(tmp_path / "c", np.eye(3))
    other = Collection.open(tmp_path / "c")
    one.add(np.ones((1, 3)), ["mine"])
    with pytest.raises(CollectionError, match="was changed by someone else meanwhile; open it again"):
        other.add(np.ones((1, 3)), ["theirs"])
    assert "mine" in Collection.open(tmp_path / "c")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda f: (f / "manifest.json").unlink(), "is not a collection: it has no manifest.json"),
        (lambda f: (f / "manifest.json").write_text("{"), "manifest.json is damaged"),
        (lambda f: (f / "manifest.json").write_text("[]"), "manifest.json is damaged"),
        (lambda f: alter(f, format=9), "has collection format 9; this Pellucid reads format 1"),
        (lambda f: alter(f, dimension=4), "is damaged: segment 000001 has the wrong size"),
        (
            lambda f: alter(f, segments=[{"name": "../x", "rows": 1, "checksum": 0}]),
            "names files or sizes that cannot be",
        ),
        (lambda f: alter(f, deleted="/etc/passwd"), "names files or sizes that cannot be"),
        (lambda f: (f / "vectors-000001.npy").write_bytes(b"junk"), "is damaged"),
        (lambda f: (f / "items-000001.parquet").unlink(), "is damaged"),
    ],
)
def test_damaged_folders_get_a_sentence(tmp_path, damage, sentence):
    folder = Collection.create(tmp_path / "c", np.eye(3)).folder
    damage(folder)
    with pytest.raises(CollectionError, match=sentence):
        Collection.open(folder)


def alter(folder, **changes):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("crc32", None)  # as one who means it would
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


KILLED = """
import sys
import numpy as np
from pellucid.search import Collection
collection = Collection.open(sys.argv[1])
n = 0
while True:
    collection.add(np.full((50, 64), n + 1.0), [f"{n}-{i}" for i in range(50)])
    if n % 3 == 2:
        collection.delete([f"{n}-0"])
        print(f"deleted {n}", flush=True)
    print(f"added {n}", flush=True)
    n += 1
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
@pytest.mark.parametrize("moment", [0, 4, 8, 19, 26, 27, 31, 32])  # 3 files an addition, and 2 a deletion from 27 on
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path, moment):
    folder = tmp_path / "c"
    Collection.create(folder, np.zeros((1, 64)) + 0.5, ["first"])
    acknowledged = killed(KILLED, moment, folder)
    assert len(acknowledged) == min(moment // 9, 2)
    collection = Collection.open(folder)
    assert len(collection) == 1 + 50 * ((moment + 1) // 9 if moment < 27 else 3) - (moment == 32)
    for line in acknowledged:
        kind, n = line.split()
        if kind == "added":
            assert f"{n}-49" in collection
            assert collection.vectors([collection.position(f"{n}-49")])[0, 0] == int(n) + 1
        else:
            assert f"{n}-0" not in collection
    collection.add(np.ones((1, 64)), ["after"])
    stray = [p.name for p in folder.iterdir() if p.name.startswith(".")]
    assert stray == [], "what the crash left behind is cleaned up by the next write"


@pytest.mark.parametrize("change", ["add", "delete"])
@pytest.mark.parametrize("step", range(4))
def test_stopping_at_any_step_leaves_the_old_state_or_the_new(tmp_path, monkeypatch, change, step):
    """Every file gets its name by one rename; whichever of them fails, the folder opens and is one or the other."""

    collection = Collection.create(tmp_path / "c", np.eye(3), ["a", "b", "c"])
    renamed, real = [], os.replace

    def stops(source, target):
        if len(renamed) == step:
            raise OSError(28, "No space left on device")
        renamed.append(target)
        real(source, target)

    monkeypatch.setattr(atomic.os, "replace", stops)
    whole = True
    try:
        collection.add(np.ones((1, 3)), ["d"]) if change == "add" else collection.delete(["a"])
    except CollectionError:
        whole = False
    monkeypatch.undo()
    expected = {"add": ["a", "b", "c", "d"], "delete": ["b", "c"]}[change] if whole else ["a", "b", "c"]
    again = Collection.open(tmp_path / "c")
    assert again.ids == expected
    again.search(np.eye(3), 2)
    again.add(np.ones((1, 3)), ["after"])
    assert Collection.open(tmp_path / "c").ids == [*expected, "after"]


def test_concept_search_filters(world):
    """The first hits for one concept have that concept more often than the plain neighbours do."""
    scenes, _, model, collection = world
    search = ConceptSearch(collection, model)
    filtered, plain, pairs = 0.0, 0.0, 0
    for i in scenes.split.queries[:60]:
        for j in np.flatnonzero(scenes.coarse[i]):
            name = scenes.coarse_names[j]
            for concept in (name, None):
                hits = search.search(f"scene-{i}", concept, k=10)
                share = np.mean([name in hit.item["labels"] for hit in hits])
                filtered, plain = (filtered + share, plain) if concept else (filtered, plain + share)
            pairs += 1
    assert filtered / pairs > 0.9
    assert filtered / pairs > plain / pairs + 0.15


def test_hits_are_the_projections_neighbours(world):
    scenes, X, model, collection = world
    search = ConceptSearch(collection, model)
    hits = search.search(X[7], "animal", k=5, score="projection")
    projected = model.project(X[7:8], "animal")[0]
    cosines = X @ projected / (np.linalg.norm(projected) * np.linalg.norm(X, axis=1))
    assert [h.position for h in hits] == np.argsort(-cosines, kind="stable")[:5].tolist()
    assert [h.rank for h in hits] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose([h.score for h in hits], np.sort(cosines)[::-1][:5], atol=1e-5)
    assert hits[0].item["text"] == scenes.texts[hits[0].position]
    batch = search.search(X[7:9], ["animal", "food"], k=3)
    assert [len(row) for row in batch] == [3, 3]
    # an item is not its own neighbour, and taking a concept out changes what is near
    assert all(hit.id != "scene-7" for hit in search.search("scene-7", k=5))
    assert len(search.search("scene-7", k=5)) == 5
    away = search.search("scene-7", k=20, without="person")
    assert [h.id for h in away] != [h.id for h in search.search("scene-7", k=20)]


def test_a_projection_follows_the_atoms(world):
    """Cones are made ready once; atoms that change meanwhile, even in place, or another ridge are noticed."""
    _, X, model, _ = world
    changed = copy.deepcopy(model)
    before = changed.project(X[:3], "animal")
    np.testing.assert_array_equal(changed.project(X[:3], "animal"), before)
    changed.atoms_[changed.groups_ == 0] = changed.atoms_[changed.groups_ == 1]
    first, second = changed.concept_names_[:2]
    np.testing.assert_array_equal(changed.project(X[:3], first), model.project(X[:3], second))
    changed.ridge = 10.0
    assert np.linalg.norm(changed.project(X[:3], second)) < np.linalg.norm(model.project(X[:3], second))


def test_queries_in_words(world):
    _, X, model, collection = world
    plain = ConceptSearch(collection, model)
    with pytest.raises(ValueError, match="There is no item 'a dog'; to search by text"):
        plain.search("a dog")
    worded = ConceptSearch(collection, model, encoder=lambda texts: X[: len(texts)])
    assert worded.search("a dog", k=1)[0].position == 0
    with pytest.raises(ValueError, match=r"A query has 384 numbers, but this one has shape \(3,\)"):
        plain.search(np.ones(3))
    with pytest.raises(ValueError, match="There is no concept 'animl': did you mean 'animal'"):
        plain.search("scene-1", "animl")
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        plain.search(X[0], k=0)
    small = Collection.create(collection.folder.parent / "small", np.eye(2))
    with pytest.raises(ValueError, match="fitted on 384 dimensions, but the collection has 2"):
        ConceptSearch(small, model)


def test_explanations_add_up(world, rng):
    scenes, X, model, collection = world
    shares = []
    for _ in range(30):
        i, j = rng.integers(0, len(X), size=2)
        found = explain(model, X[i], X[j])
        assert found.terms.sum() + found.residual == pytest.approx(found.score, abs=1e-9)
        assert found.score == pytest.approx(X[i] @ X[j] / np.linalg.norm(X[i]) / np.linalg.norm(X[j]), abs=1e-6)
        assert explain(model, X[j], X[i]).terms == pytest.approx(found.terms, abs=1e-9)
        shares.append(found.residual_share)
    assert np.median(shares) < 0.35
    search = ConceptSearch(collection, model)
    hit = search.search("scene-3", k=1)[0]
    text = str(search.explain("scene-3", hit.id, vocabulary=Vocabulary(scenes.words, scenes.word_vectors)))
    assert text.startswith("score +0.")
    assert "not in any concept" in text
    own = search.explain("scene-3", "scene-3")
    assert own.score == pytest.approx(1)
