"""Concepts that are named when they are asked for, and parts that are named by words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.concepts import Vocabulary, WordConcept
from pellucid.datasets import load_scenes
from pellucid.metrics import concept_retrieval
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection, ConceptSearch
from pellucid.solvers import nnls

KINDS = ["dog", "cat", "horse", "bird", "sheep", "cow"]


@pytest.fixture(scope="module")
def scenes():
    return load_scenes()


@pytest.fixture(scope="module")
def vocabulary(scenes):
    return Vocabulary(scenes.words, scenes.word_vectors)


def test_words_are_centred_by_their_own_mean(scenes, vocabulary):
    wanted = CenteredNormalizer().fit_transform(scenes.word_vectors)
    np.testing.assert_array_equal(vocabulary.vectors, wanted)
    np.testing.assert_array_equal(vocabulary["dog"], wanted[list(scenes.words).index("dog")])
    assert "dog" in vocabulary
    assert "xyzzy" not in vocabulary
    assert len(vocabulary) == len(scenes.words)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 9))
def test_the_nearest_words_are_those_of_a_full_sort(seed, k):
    rng = np.random.default_rng(seed)
    words = Vocabulary([f"w{i}" for i in range(8)], rng.standard_normal((8, 3)))
    row = rng.standard_normal(3)
    wanted = np.argsort(-(words.vectors @ row), kind="stable")[:k]
    assert words.nearest(row, k) == [f"w{i}" for i in wanted]
    assert words.nearest(np.zeros(3), k) == []


def test_what_is_looked_for_is_the_part_the_word_and_the_row(scenes, vocabulary):
    X = CenteredNormalizer().fit_transform(scenes.vectors)[:20]
    animal = vocabulary.concept("animal", KINDS)
    cone = np.array([vocabulary[word] for word in KINDS])
    part = nnls(X, cone).codes @ cone
    np.testing.assert_allclose(animal.part(X), part, atol=1e-5)
    wanted = unit_rows(unit_rows(part) + vocabulary["animal"] + 0.85 * X)
    np.testing.assert_allclose(animal.looked_for(X), wanted, atol=1e-5)
    one = vocabulary.concept("animal")
    np.testing.assert_allclose(one.looked_for(X), unit_rows(X + vocabulary["animal"]), atol=1e-5)
    assert "6 words" in repr(animal)
    assert "one word" in repr(one)


def test_vectors_of_phrases_stand_for_words(scenes, vocabulary):
    given_vectors = np.asarray(scenes.word_vectors)[[list(scenes.words).index(word) for word in KINDS]]
    by_vectors = vocabulary.concept("creatures of all kinds", vectors=given_vectors)
    by_words = vocabulary.concept("creatures of all kinds", KINDS)
    np.testing.assert_allclose(by_vectors.vectors, by_words.vectors, atol=1e-6)
    np.testing.assert_allclose(by_words.direction, unit_rows(by_words.vectors.mean(axis=0)), atol=1e-6)


def test_a_list_of_words_finds_what_a_word_alone_does_not(scenes, vocabulary):
    rows, split = CenteredNormalizer().fit(scenes.vectors[scenes.split.train]), scenes.split
    Q, pool = rows.transform(scenes.vectors[split.queries]), rows.transform(scenes.vectors[split.candidates])
    j = list(scenes.coarse_names).index("animal")
    labels = scenes.coarse[split.queries][:, [j]], scenes.coarse[split.candidates][:, [j]]

    def found(seen):
        return concept_retrieval(None, Q, pool, *labels, score=lambda X, _: seen(X) @ pool.T).general

    word, many = vocabulary.concept("animal"), vocabulary.concept("animal", KINDS)
    assert found(many.looked_for) > found(word.looked_for) > found(lambda X: X)
    assert found(many.looked_for) > 0.95


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda v: v.concept("xyzzy"), "no word 'xyzzy'"),
        (lambda v: v.concept("animal", ["dgo"]), "no word 'dgo'"),
        (lambda v: v["hors"], "horse"),
        (lambda v: v.concept("animal", vectors=np.full((1, 384), np.nan)), "nan"),
        (lambda v: v.concept("animal", vectors=np.ones((1, 3))), "features"),
        (lambda v: Vocabulary(["a", "b"], np.ones((3, 2))), "2 words, but 3 vectors"),
    ],
)
def test_what_cannot_be_a_concept(vocabulary, make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(vocabulary)


# in a search


@pytest.fixture(scope="module")
def searching(scenes, vocabulary, tmp_path_factory):
    X, train = scenes.vectors, scenes.split.train
    model = ConceptSubspaces(4, max_iter=3).fit(X[train], scenes.coarse[train], scenes.coarse_names)
    ids = [f"scene-{i}" for i in range(len(X))]
    collection = Collection.create(tmp_path_factory.mktemp("words") / "c", X, ids, text=scenes.texts)
    return ConceptSearch(collection, model, vocabulary=vocabulary)


def hits_with(scenes, hits, name):
    j = list(scenes.fine_names).index(name)
    return np.mean([scenes.fine[hit.position, j] for hit in hits])


def test_a_word_can_stand_for_a_concept(scenes, vocabulary, searching):
    has = scenes.fine[:, list(scenes.fine_names).index("dog")]
    item = f"scene-{np.flatnonzero(has & (scenes.coarse.sum(axis=1) >= 3))[0]}"
    by_word = searching.search(item, "puppy", 10)
    assert hits_with(scenes, by_word, "dog") > hits_with(scenes, searching.search(item, k=10), "dog")
    concept = vocabulary.concept("puppy")
    assert [h.id for h in searching.search(item, concept, 10)] == [h.id for h in by_word]
    for hits in (by_word, searching.search(item, {"animal": 1, "puppy": 0.5}, 5)):
        for hit in hits[:3]:
            assert sum(hit.aspects.values()) == pytest.approx(hit.score, abs=1e-5)
            assert hit.explain().score == pytest.approx(hit.score, abs=1e-5)
    kept_out = [searching.search(f"scene-{i}", k=10, without="dog") for i in np.flatnonzero(has)[:20]]
    plain = [searching.search(f"scene-{i}", k=10) for i in np.flatnonzero(has)[:20]]
    share = lambda lists: np.mean([hits_with(scenes, hits, "dog") for hits in lists])  # noqa: E731
    assert share(kept_out) < 0.7 * share(plain)


def test_words_need_no_model(scenes, vocabulary, searching):
    alone = ConceptSearch(searching.collection, vocabulary=vocabulary)
    has = scenes.fine[:, list(scenes.fine_names).index("guitar")]
    i = int(np.flatnonzero(has)[0])
    for query in (f"scene-{i}", scenes.vectors[i]):
        hits = alone.search(query, "guitar", 10)
        assert hits_with(scenes, hits, "guitar") > 0.7
    rows = CenteredNormalizer().fit_transform(scenes.vectors)
    wanted = unit_rows(rows[i : i + 1] + vocabulary["guitar"]) @ rows.T
    order = [p for p in np.argsort(-wanted[0]) if p != i][:10]
    assert [hit.position for hit in alone.search(f"scene-{i}", "guitar", 10)] == order
    assert [hit.position for hit in alone.search(f"scene-{i}", "guitar", 10, diverse=True)]
    with pytest.raises(ValueError, match="no word 'xyzzy'"):
        alone.search(f"scene-{i}", "xyzzy")
    with pytest.raises(ValueError, match="dimensions"):
        ConceptSearch(searching.collection, vocabulary=Vocabulary(["a", "b"], np.eye(2)))


def test_parts_are_named_by_the_words_nearest_to_them(scenes, vocabulary, searching):
    model = searching.model
    i = int(np.flatnonzero(scenes.fine[:, list(scenes.fine_names).index("horse")])[0])
    (parts,) = model.name_parts(scenes.vectors[i : i + 1], vocabulary)
    shares = model.shares(scenes.vectors[i : i + 1])[0]
    assert list(parts) == [model.concept_names_[j] for j in np.argsort(-shares) if shares[j] > 0]
    assert all(len(words) == 3 for words in parts.values())
    component = model.components(scenes.vectors[i : i + 1])[0, list(model.concept_names_).index(next(iter(parts)))]
    assert vocabulary.nearest(component, 3) == next(iter(parts.values()))
    explained = searching.explain(f"scene-{i}", f"scene-{i}")
    assert any(explained.words)


def test_a_word_concept_is_itself_and_not_another():
    one, other = (WordConcept("a", np.eye(2), np.eye(2)[0]) for _ in range(2))
    assert one == one
    assert one != other
