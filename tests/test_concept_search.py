"""Searching by concept: presence, exclusion, weights, parts of several items, diverse lists, and why."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.search import Collection, ConceptSearch, Hit, Text
from pellucid.search.wanted import WHOLE
from support.oracles import planted_cones
from support.standins import vector


@pytest.fixture(scope="module")
def parts():
    X, Y, *_ = planted_cones(300, 24, noise=0.1)
    X = (X + 0.05 * np.random.default_rng(5).standard_normal(X.shape)).astype(np.float32)
    return X, Y, ConceptSubspaces(3, random_state=0, center=False).fit(X, Y, list("abcd"))


@pytest.fixture(scope="module")
def searching(parts, tmp_path_factory):
    X, _, model = parts
    collection = Collection.create(tmp_path_factory.mktemp("search") / "c", X[:200])
    collection.add(X[200:])
    return ConceptSearch(collection, model)


def ranked(scores, own=()):
    scores = np.array(scores, dtype=np.float64)
    scores[list(own)] = -np.inf
    order = np.argsort(-scores, kind="stable")
    return order[: len(order) - len(own)], scores


def same(hits, scores, own=(0,)):
    order, scores = ranked(scores, own)
    np.testing.assert_allclose([hit.score for hit in hits], scores[order[: len(hits)]], atol=1e-5)
    np.testing.assert_allclose(scores[[hit.position for hit in hits]], [hit.score for hit in hits], atol=1e-5)


def test_presence_ranks_by_its_formula(parts, searching):
    X, _, model = parts
    pool, p, weight = unit_rows(X), model.predict_proba(X), float(model.presence_weight_[0])
    x = unit_rows(X[:1])
    for concept in ("b", ["a", "c"], {"a": 1, "c": 3}, {"b": 2, "d": -0.5}, {"d": -1}):
        given_weights = concept if isinstance(concept, dict) else dict.fromkeys(concept, 1)
        up = {name: w for name, w in given_weights.items() if w > 0}
        down = {name: -w for name, w in given_weights.items() if w < 0}
        rest = model.remove(x, list(down)) if down else x
        q = unit_rows(rest)
        if up:
            seen = {name: unit_rows(model.cones.project(rest, name)) for name in up}
            q = WHOLE * q + (1 - WHOLE) * sum(w * seen[name] for name, w in up.items()) / sum(up.values())
        scores = (q @ pool.T)[0]
        for name, w in up.items():
            scores = scores + weight * w / sum(up.values()) * p[:, "abcd".index(name)]
        for name, w in down.items():
            scores = scores - weight * w * p[:, "abcd".index(name)]
        same(searching.search("0", concept, 20), scores)
    np.testing.assert_equal(
        [hit.position for hit in searching.search("0", {"b": 1, "d": -1}, 9)],
        [hit.position for hit in searching.search("0", "b", 9, without="d")],
    )


def test_projection_ranks_as_in_the_paper(parts, searching):
    X, _, model = parts
    for asked, q in (
        (dict(concept="b"), model.project(X[:1], "b")),
        (dict(concept=["a", "c"]), model.project(X[:1], ["a", "c"])),
        (dict(without="a"), model.remove(X[:1], "a")),
        (dict(concept="b", without="a"), model.cones.project(model.remove(X[:1], "a"), "b")),
    ):
        same(searching.search("0", k=10, score="projection", **asked), (unit_rows(q) @ unit_rows(X).T)[0])


def test_a_batch_is_one_query_after_the_other(parts, searching):
    X, *_ = parts
    batch = searching.search(X[:3], "b", 5)
    assert [len(hits) for hits in batch] == [5, 5, 5]
    for row, hits in zip(X, batch):
        assert [hit.position for hit in hits] == [hit.position for hit in searching.search(row, "b", 5)]


def test_what_is_kept_out_stays_out(parts, searching):
    _, Y, _ = parts
    has = np.flatnonzero(Y[:, 0] & (Y.sum(axis=1) > 1))[:40]

    def share(**asked):
        found = [hit.position for row in has for hit in searching.search(str(row), k=10, **asked)]
        return Y[found, 0].mean()

    assert share(without="a") < 0.1 * share()
    assert share(without="a") < share(without="a", score="projection")


def test_the_shortlist_holds_nearly_the_best_of_many(parts, tmp_path, monkeypatch):
    X, _, model = parts
    rng = np.random.default_rng(3)
    many = np.concatenate([X + 0.15 * rng.standard_normal(X.shape).astype(np.float32) for _ in range(20)])
    collection = Collection.create(tmp_path / "c", many)
    found, wanted = [], []
    for least, into in ((200, found), (10**6, wanted)):
        monkeypatch.setattr("pellucid.search.query.SHORTLIST_LEAST", least)
        search = ConceptSearch(collection, model)
        for row, asked in itertools.product(range(0, 60, 3), (dict(concept="b"), dict(without="a"))):
            into.append([hit.score for hit in search.search(X[row], k=10, **asked)])
    lost = np.mean(wanted, axis=1) - np.mean(found, axis=1)
    assert (lost >= -1e-6).all()
    assert lost.mean() < 0.02 * np.mean(np.abs(wanted))


def test_parts_of_several_items_are_one_query(parts, searching):
    X, _, model = parts
    pool, p, weight = unit_rows(X), model.predict_proba(X), float(model.presence_weight_[0])
    x, y = unit_rows(X[:1]), unit_rows(X[7:8])
    q = (2 * unit_rows(model.project(x, "a")) + unit_rows(model.project(y, "b"))) / 3
    hits = searching.search([("0", "a", 2), ("7", "b", 1)], k=20)
    same(hits, (q @ pool.T)[0] + weight * (2 * p[:, 0] + p[:, 1]) / 3, own=(0, 7))
    q = x - 0.5 * model.cones.project(x, "a") + unit_rows(model.project(y, "b"))
    hits = searching.search([("0", None, 1), ("0", "a", -0.5), (X[7], "b", 1)], k=20)
    same(hits, (q @ pool.T)[0] / 2 + weight * (p[:, 1] - 0.5 * p[:, 0]) / 2)
    q = unit_rows(model.project(x, "a")) + unit_rows(model.project(y, "b"))
    hits = searching.search([("0", "a", 1), ("7", "b", 1)], k=20, score="projection")
    same(hits, (unit_rows(q) @ pool.T)[0], own=(0, 7))


def test_a_swap_takes_the_part_of_another(parts, searching):
    X, _, model = parts
    pool, x, y = unit_rows(X), unit_rows(X[:1]), unit_rows(X[7:8])
    q = unit_rows(model.remove(x, "a") + model.project(y, "a"))
    p, weight = model.predict_proba(X)[:, 0], float(model.presence_weight_[0])
    same(searching.swap("0", "7", "a", 20), (q @ pool.T)[0] + weight * p, own=(0, 7))
    same(searching.swap("0", X[7], "a", 20, score="projection"), (q @ pool.T)[0])


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.floats(-2, 2).filter(lambda w: abs(w) > 0.01), min_size=1))
def test_aspects_and_explanations_add_up_to_the_score(searching, weights):
    for hit in searching.search("5", weights, 2):
        assert sum(hit.aspects.values()) == pytest.approx(hit.score, abs=1e-5)
        why = hit.explain()
        assert why.score == pytest.approx(hit.score, abs=1e-5)
        assert why.terms.sum() + why.residual + why.presence == pytest.approx(why.score, abs=1e-6)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (dict(concept="b", score="dot"), '"presence" or "projection"'),
        (dict(concept={}), "at least one"),
        (dict(concept=[]), "at least one"),
        (dict(concept={"a": 0}), "weight 0"),
        (dict(concept={"a": np.nan}), "finite"),
        (dict(concept={"a": "much"}), "finite"),
        (dict(concept={"e": 1}), "no concept 'e'"),
        (dict(without="e"), "no concept 'e'"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_for(searching, asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        searching.search("0", **asked)


def test_queries_of_parts_that_cannot_be(searching):
    for query, sentence in (
        ([("0", "a", -1)], "positive weight"),
        ([("0", "a", np.inf)], "finite"),
        ([("nobody", "a", 1)], "no item 'nobody'"),
        ([("0", "e", 1)], "no concept 'e'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            searching.search(query)
    with pytest.raises(ValueError, match="in the parts"):
        searching.search([("0", "a", 1)], "b")


def test_a_model_without_presence_searches_by_projection(parts, searching):
    X, Y, _ = parts
    model = ConceptSubspaces(3, center=False, presence=False).fit(X, Y, list("abcd"))
    plain = ConceptSearch(searching.collection, model)
    assert plain.search("0", "b", 5) == plain.search("0", "b", 5, score="projection")
    with pytest.raises(ValueError, match="fit_presence"):
        plain.search("0", "b", score="presence")


def test_deleted_items_are_not_found(parts, tmp_path):
    X, _, model = parts
    search = ConceptSearch(Collection.create(tmp_path / "c", X), model)
    best = search.search("0", "b", 3)
    search.collection.delete([best[0].id])
    again = ConceptSearch(Collection.open(tmp_path / "c"), model)
    assert [hit.id for hit in again.search("0", "b", 2)] == [hit.id for hit in best[1:]]


@pytest.mark.parametrize("score", ["presence", "projection"])
def test_a_diverse_list_differs_and_keeps_relevance(parts, tmp_path, score):
    X, _, model = parts
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
        {"concept": "b", "score": "projection"},
        {"concept": ["a", "c"], "score": "projection", "without": "b"},
    ],
    ids=str,
)
def test_a_hit_explains_the_score_that_it_shows(parts, searching, asked):
    X, *_ = parts
    for hit in (searching.search("3", k=2, **asked)[1], searching.search(X[3:4], k=2, **asked)[0][0]):
        why = hit.explain()
        assert why.score == pytest.approx(hit.score, abs=1e-5)
        assert why.terms.sum() + why.residual + why.presence == pytest.approx(why.score, abs=1e-6)
        assert (why.presence != 0) == (bool(asked) and "score" not in asked)
        assert sum(hit.aspects.values()) == pytest.approx(hit.score, abs=1e-5)
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
    X, _, model = parts
    searching = ConceptSearch(Collection.create(tmp_path / "c", X[:3]), model)
    assert sorted(hit.position for hit in searching.search("1", k=20, diverse=True)) == [0, 2]
    alone = ConceptSearch(Collection.create(tmp_path / "one", X[:1]), model)
    assert alone.search("0", diverse=True) == []


def test_an_item_that_lacks_the_concept_it_is_searched_by_is_said(parts, searching, recwarn):
    X, _, model = parts
    likely, has = model.predict_proba(X), model.predict(X)
    lacking = int(np.flatnonzero(~has[:, 1] & has[:, 0])[0])
    having = int(np.flatnonzero(has[:, 1])[0])
    for silent in (
        (str(having), "b"), (str(lacking), None), (str(lacking), {"a": 1, "b": -1}), (X[lacking], "b"), (X[:3], "b"),
        ([(str(lacking), None, 1)],), ([(str(lacking), "a", 1), (str(lacking), "b", -1)],),
    ):  # fmt: skip
        assert searching.notes(*silent) == []
        searching.search(*silent, k=2)
    searching.search(str(lacking), k=2, without="b")
    searching.trace(str(lacking), ["5"], "b")
    kept = []
    searching.search(str(lacking), "b", k=2, notes=kept)
    assert kept == searching.notes(str(lacking), "b") != []
    assert not recwarn.list
    said = f"The item '{lacking}' probably has no b: the model gives it {likely[lacking, 1]:.0%}"
    for asked in ((str(lacking), "b"), (str(lacking), ["a", "b"]), ([(str(lacking), "b", 1), ("0", None, 1)],)):
        for score in (None, "projection"):
            with pytest.warns(UserWarning, match=said) as caught:
                warned = searching.search(*asked, k=5, score=score)
            assert [str(one.message) for one in caught] == searching.notes(*asked, score=score)
            assert len(warned) == 5
    without = ConceptSubspaces(2, presence=False, center=False, random_state=0).fit(X, parts[1], list("abcd"))
    assert ConceptSearch(searching.collection, without).notes(str(lacking), "b") == []


def test_a_text_that_is_ranked_again_is_no_item_though_one_is_called_so(parts, searching):
    other = ConceptSearch(searching.collection, parts[2], lambda texts: np.stack([vector(text, 24) for text in texts]))
    hits = other.rerank("0", [Text("3"), "7"])
    assert sorted(hit.id for hit in hits) == ["7", "candidate 0"]
