"""Searching by concept: diverse lists, and the gated score with what it keeps beside the vectors."""

import numpy as np
import pytest

from pellucid import ConceptSubspaces
from pellucid.search import Collection, ConceptSearch, Hit
from pellucid.search.score_cache import FOLDER, model_mark
from support.oracles import planted_cones


@pytest.fixture(scope="module")
def parts():
    X, Y, *_ = planted_cones(300, 24, noise=0.1)
    X = X.astype(np.float32)
    return X, ConceptSubspaces(3, random_state=0, center=False).fit(X, Y, list("abcd")).fit_gate(X, Y)


@pytest.fixture
def searching(parts, tmp_path):
    X, model = parts
    collection = Collection.create(tmp_path / "c", X[:200])
    collection.add(X[200:])
    return ConceptSearch(collection, model)


def test_gated_search_ranks_by_the_gated_score(parts, searching):
    X, model = parts
    for concept in ("b", ["a", "c"]):
        scores = model.gated_scores(X[:1], concept, X)[0]
        scores[0] = -np.inf
        hits = searching.search("0", concept, 10, score="gated")
        assert [hit.position for hit in hits] == np.argsort(-scores, kind="stable")[:10].tolist()
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(-scores)[:10] * -1, atol=1e-5)
    batch = searching.search(X[:3], "b", 5, score="gated")
    assert [len(hits) for hits in batch] == [5, 5, 5]
    assert batch[0][0].position == searching.search(X[0], "b", 1, score="gated")[0].position


def test_descriptions_are_kept_for_each_model_and_block(parts, searching):
    X, model = parts
    folder = searching.collection.folder / FOLDER
    searching.search("0", "b", 3, score="gated")
    kept = sorted(folder.iterdir())
    assert len(kept) == 2
    assert all(path.name.startswith(model_mark(model)) for path in kept)
    before = [path.stat().st_mtime_ns for path in kept]
    again = ConceptSearch(Collection.open(searching.collection.folder), model)
    again.search("0", "b", 3, score="gated")
    assert [path.stat().st_mtime_ns for path in kept] == before
    again.collection.add(X[:5] + 1, ids=list("vwxyz"))
    assert again.search(X[0] + 1, "b", 1, score="gated")
    assert len(list(folder.iterdir())) == 3


def test_deleted_items_and_files_are_no_obstacle(parts, searching):
    best = searching.search("0", "b", 3, score="gated")
    searching.collection.delete([best[0].id])
    for path in (searching.collection.folder / FOLDER).iterdir():
        path.unlink()
    again = ConceptSearch(Collection.open(searching.collection.folder), parts[1])
    assert [hit.id for hit in again.search("0", "b", 2, score="gated")] == [hit.id for hit in best[1:]]


def test_another_gate_is_another_description(parts):
    X, model = parts
    Y = np.eye(4, dtype=bool)[np.arange(len(X)) % 4]
    other = ConceptSubspaces(3, random_state=0, center=False).fit(X, Y, list("abcd"))
    marks = {
        model_mark(model),
        model_mark(other),
        model_mark(other.fit_gate(X, Y)),
        model_mark(other.set_params(ridge=1)),
    }
    assert len(marks) == 4


@pytest.mark.parametrize("damaged", [b"", b"\x93NUMPY\x01\x00v\x00{", b"no array"])
def test_damaged_descriptions_are_made_again(parts, searching, damaged):
    before = searching.search("0", "b", 3, score="gated")
    kept = sorted((searching.collection.folder / FOLDER).iterdir())
    sound = [path.read_bytes() for path in kept]
    kept[0].write_bytes(damaged)
    kept[1].write_bytes(sound[0])  # of other rows
    again = ConceptSearch(Collection.open(searching.collection.folder), parts[1])
    assert again.search("0", "b", 3, score="gated") == before
    assert [path.read_bytes() for path in kept] == sound


def test_scores_that_cannot_be(parts, tmp_path):
    X, model = parts
    searching = ConceptSearch(Collection.create(tmp_path / "c", X), model)
    with pytest.raises(ValueError, match='"cosine" or "gated"'):
        searching.search(X[0], "b", score="dot")
    with pytest.raises(ValueError, match="name the concept"):
        searching.search(X[0], score="gated")
    ungated = ConceptSubspaces(3, center=False).fit(X, np.arange(len(X)) % 2)
    with pytest.raises(ValueError, match="fit_gate"):
        ConceptSearch(searching.collection, ungated).search(X[0], "0", score="gated")


@pytest.mark.parametrize("score", ["cosine", "gated"])
def test_a_diverse_list_differs_and_keeps_relevance(parts, tmp_path, score):
    X, model = parts
    copies = np.repeat(X[:60], 4, axis=0) + 1e-4 * np.random.default_rng(0).standard_normal((240, 24)).astype(
        np.float32
    )
    searching = ConceptSearch(Collection.create(tmp_path / "c", copies), model)
    plain = searching.search(X[0], "b", 8, score=score)
    diverse = searching.search(X[0], "b", 8, diverse=True, score=score)
    assert len(diverse) == len({hit.position for hit in diverse}) == 8
    assert [hit.rank for hit in diverse] == list(range(1, 9))
    assert len({hit.position // 4 for hit in diverse}) > len({hit.position // 4 for hit in plain})
    everything = searching.search(X[0], "b", 50, score=score)
    assert {hit.position for hit in diverse} <= {hit.position for hit in everything}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"concept": "b"},
        {"concept": ["a", "b"]},
        {"without": "a"},
        {"concept": "b", "without": "c"},
        {"concept": "b", "score": "gated"},
        {"concept": ["a", "c"], "score": "gated", "without": "b"},
    ],
    ids=str,
)
def test_a_hit_explains_the_score_that_it_shows(parts, searching, asked):
    X, _ = parts
    for hit in (searching.search("3", k=2, **asked)[1], searching.search(X[3:4], k=2, **asked)[0][0]):
        why = hit.explain()
        assert why.score == pytest.approx(hit.score, abs=1e-5)
        assert why.terms.sum() + why.residual + why.presence == pytest.approx(why.score, abs=1e-6)
        assert (why.presence > 0) == (asked.get("score") == "gated")
        assert searching.explain(X[3], hit.id, **asked).score == pytest.approx(hit.score, abs=1e-5)
        assert why.plot().figure is not None
    with pytest.raises(ValueError, match="a search with a model"):
        Hit(1, 0.5, 0, dict).explain()


def test_an_item_is_read_once_and_when_it_is_asked_for(searching, monkeypatch):
    read = []
    item = searching.collection.item
    monkeypatch.setattr(searching.collection, "item", lambda position: read.append(position) or item(position))
    hits = searching.search("3", "b", 4)
    assert read == []
    assert hits[1].id == hits[1].item["id"]
    assert read == [hits[1].position]


def test_a_diverse_list_of_a_small_collection(parts, tmp_path):
    X, model = parts
    searching = ConceptSearch(Collection.create(tmp_path / "c", X[:3]), model)
    assert sorted(hit.position for hit in searching.search("1", k=20, diverse=True)) == [0, 2]
    alone = ConceptSearch(Collection.create(tmp_path / "one", X[:1]), model)
    assert alone.search("0", diverse=True) == []
