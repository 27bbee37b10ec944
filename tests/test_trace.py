"""Why an item was retrieved or not: ranks and sums that add up, causes that were put there, changes that work."""

import json

import numpy as np
import pytest

from pellucid import ConceptSubspaces
from pellucid.search import Collection, ConceptSearch, trace
from support.oracles import planted_cones


@pytest.fixture(scope="module")
def parts():
    X, Y, *_ = planted_cones(300, 24, noise=0.1)
    X = (X + 0.05 * np.random.default_rng(5).standard_normal(X.shape)).astype(np.float32)
    return X, Y, ConceptSubspaces(3, random_state=0, center=False).fit(X, Y, list("abcd"))


@pytest.fixture(scope="module")
def searching(parts, tmp_path_factory):
    X, _, model = parts
    source = [["web", "book", "mail"][i % 3] for i in range(len(X))]
    return ConceptSearch(Collection.create(tmp_path_factory.mktemp("trace") / "c", X, source=source), model)


ASKED = [
    {}, {"concept": "b"}, {"concept": {"a": 1, "b": 2, "c": -1}}, {"concept": ["a", "b"], "score": "projection"},
    {"without": "a"}, {"where": [("source", "=", "web")]}, {"diverse": True},
]  # fmt: skip


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_ranks_and_scores_are_those_of_the_search_and_sums_add_up(searching, asked):
    whole = searching.search("0", k=300, **{**asked, "diverse": False})
    hits = searching.search("0", k=7, **asked)
    ids = [whole[i].id for i in (0, 3, 30, 60, -1)]
    found = searching.trace("0", ids, k=7, **asked)
    assert [hit.id for hit in found.hits] == [hit.id for hit in hits]
    scores = {hit.id: hit.score for hit in hits}
    for item, name in zip(found.items, ids):
        other = whole[item.rank - 1]
        assert (item.id, item.shown) == (name, name in scores)
        assert item.score == pytest.approx(other.score, abs=1e-5)
        assert other.id == name
        assert sum(item.terms.values()) == pytest.approx(item.score, abs=1e-5)
        explained = searching.explain("0", name, **{k: v for k, v in asked.items() if k not in ("where", "diverse")})
        np.testing.assert_allclose(list(item.terms.values())[:4], explained.terms, atol=1e-5)
        before = [scores[one] for one in item.displaced_by]
        if before:
            assert sum(item.behind.values()) == pytest.approx(np.mean(before) - item.score, abs=1e-5)
        assert item.shown == (item.cause.kind == "shown")
        assert not item.shown or not item.changes
    json.dumps(found.to_dict())
    assert len(found.to_frame()) == 5
    assert str(found)


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_every_change_does_what_it_says_and_the_least_comes_first(searching, asked):
    name = searching.search("0", k=40, **{**asked, "diverse": False})[-1].id
    found = trace(searching, "0", name, k=7, **asked)
    item, before = found.items[0], {hit.id for hit in found.hits}
    if not item.shown:
        assert item.changes
    for change in item.changes:
        hits = [hit.id for hit in searching.search("0", **{"k": 7, **asked, **change.options})]
        assert hits[change.rank - 1] == name
        assert change.kept == len(before & set(hits))
    assert [change.cost for change in item.changes] == sorted(change.cost for change in item.changes)


def test_what_is_not_there_is_left_out_or_filtered_says_so(searching):
    other = next(i for i in range(1, 300) if i % 3)
    found = searching.trace("0", ["0", "900", str(other)], where=[("source", "=", "web")])
    assert [item.cause.kind for item in found.items] == ["query", "missing", "filter"]
    assert any(change.options == {"where": None} for change in searching.trace(
        "0", searching.search("0", k=1, where=[("source", "!=", "web")])[0].id, where=[("source", "=", "web")]
    ).items[0].changes)  # fmt: skip


def test_wrong_questions_are_refused(searching):
    with pytest.raises(ValueError, match="at least one expected"):
        searching.trace("0", [])
    with pytest.raises(ValueError, match="of one query"):
        searching.trace(np.eye(24)[:2], "1")
    with pytest.raises(ValueError, match="'sorce' says where items come from: did you mean 'source'"):
        searching.trace("0", searching.search("0", k=50)[-1].id, source="sorce")
