"""Concepts without labels: what was planted is found and named, and what is found can do what any concept can."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import ConceptDiscovery, ConceptSubspaces
from pellucid._core.text_words import words_of
from pellucid.concepts import Vocabulary
from pellucid.concepts.dictionary import Uses, codes_of, partners, uses_of
from pellucid.concepts.discriminant import learn_discriminants, used
from pellucid.concepts.found_names import TextWords, both, folded, general_words, stem, told_apart
from pellucid.concepts.held_out import areas, precisions
from pellucid.concepts.levels import holders
from pellucid.datasets import load_scenes
from pellucid.rows import Blocks
from pellucid.search import Collection, ConceptSearch
from support.commands import fails, found, run

THINGS = ["cat", "house", "river", "engine", "apple", "violin"]
SENTENCES = ["a {} stands there", "the {}s are seen from afar", "look at this {}", "two {}s and nothing else"]


@parametrize_with_checks([ConceptDiscovery(3, max_iter=2, center=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def planted(n=600, d=24, k=6, each=2, noise=0.02, seed=0):
    """Rows that are made of a few of k directions, with texts that say which."""
    rng = np.random.default_rng(seed)
    B = np.linalg.qr(rng.standard_normal((d, k)))[0].T
    has = np.zeros((n, k), dtype=bool)
    for _ in range(each):
        has[np.arange(n), rng.integers(k, size=n)] = True
    X = (has * (0.5 + rng.random((n, k)))) @ B + noise * rng.standard_normal((n, d))
    texts = [". ".join(SENTENCES[rng.integers(4)].format(THINGS[j]) for j in np.flatnonzero(row)) for row in has]
    return X, has, texts, B


@pytest.fixture(scope="module")
def problem():
    X, has, texts, B = planted()
    return X, has, texts, B, ConceptDiscovery(6, n_coarse=2).fit(X, texts=texts)


@pytest.fixture
def model(problem, tmp_path):
    """A copy that a test may change."""
    pellucid.save(problem[-1], tmp_path / "m.safetensors")
    return pellucid.load(tmp_path / "m.safetensors")


# finding


def test_planted_concepts_are_found_named_and_told(problem):
    X, has, _, _, model = problem
    assert sorted(map(stem, model.concept_names_)) == sorted(map(stem, THINGS))
    order = [[stem(name) for name in model.concept_names_].index(stem(thing)) for thing in THINGS]
    assert (model.predict(X)[:, order] == has).mean() > 0.95
    assert np.abs(model.share_[order] - has.mean(axis=0)).max() < 0.05
    assert model.stability_.min() > 0.95
    assert model.marks() == [""] * 6
    for concept in model.found():
        assert has[concept.example_rows, THINGS.index(next(t for t in THINGS if stem(t) == stem(concept.name)))].all()
    again = model.held_out(*planted(seed=0, n=900)[:2], THINGS)
    assert again.auc.min() > 0.99
    assert [stem(name) for name in again.concepts] == [stem(name) for name in again.labels]
    assert "mean AUC 1.000" in str(again)
    assert model.score(X) > 0.9


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_scale_does_not_matter(problem, scale):
    X, _, texts, _, model = problem
    other = ConceptDiscovery(6, n_coarse=2).fit(X * scale, texts=texts)
    np.testing.assert_allclose(other.atoms_, model.atoms_, atol=1e-5)
    assert list(other.concept_names_) == list(model.concept_names_)


def test_the_same_seed_gives_the_same_bits_also_in_blocks_cut_alike(problem, tmp_path):
    X, _, texts, _, model = problem
    for name, fitted in {"a": model, "b": ConceptDiscovery(6, n_coarse=2).fit(X, texts=texts)}.items():
        pellucid.save(fitted, tmp_path / f"{name}.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    one, two = (ConceptDiscovery(6, n_coarse=0).fit(Blocks(X, rows=100)) for _ in range(2))
    np.testing.assert_array_equal(one.atoms_, two.atoms_)
    assert partners(model.atoms_, one.atoms_).min() > 0.98
    np.testing.assert_array_equal(np.sort(one.example_rows_, axis=1)[:, -1] < len(X), True)


def test_a_pass_over_blocks_counts_what_a_pass_over_all_rows_counts():
    X, _, _, B = planted(n=150)
    whole, parts = (uses_of(source, B, 0.1, 4) for source in (Blocks.held(X), Blocks(X, rows=37)))
    codes = codes_of(X, B, 0.1)
    for seen in (whole, parts):
        assert isinstance(seen, Uses)
        np.testing.assert_array_equal(seen.members, used(codes).sum(axis=0))
        np.testing.assert_array_equal(seen.examples, np.argsort(-codes, axis=0, kind="stable")[:4].T)
        assert seen.left == pytest.approx(((X - codes @ B) ** 2).sum())
        assert seen.rows == 150


def test_too_many_concepts_are_marked():
    X, *_ = planted(n=300)
    model = ConceptDiscovery(40, n_coarse=0).fit(X)
    marks = model.marks()
    assert sum(not mark for mark in marks) <= 30
    directions = model.atoms_ @ model.atoms_.T - np.eye(40)
    for j, mark in enumerate(marks):
        if mark.startswith("duplicate"):
            twin = list(model.concept_names_).index(mark.removeprefix("duplicate of "))
            assert directions[j, twin] >= 0.9
            assert model.share_[twin] >= model.share_[j]
    kept = model.drop([name for name, mark in zip(model.concept_names_, marks) if mark])
    assert len(kept.concept_names_) == sum(not mark for mark in marks)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.ones((9, 3)), "All rows are equal"),
        (np.zeros((9, 3)), "All rows are equal"),
        (np.ones((1, 3)), "1 sample"),
    ],
)
def test_rows_that_hold_nothing_say_so(X, said):
    with pytest.raises(ValueError, match=said):
        ConceptDiscovery(2).fit(X)


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (5, 1), (12, 40), (40, 3)])
def test_few_rows_and_few_columns_give_a_model(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    model = ConceptDiscovery().fit(X)
    assert np.isfinite(model.predict_proba(X)).all()
    assert 1 <= len(model.concept_names_) <= max(2, shape[0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"texts": ["a"]}, "600 rows, but 1 texts"),
        ({"words": ["a", "b"], "word_vectors": np.eye(2)}, "vectors of 2 numbers, but rows have 24"),
        ({"words": ["a"], "word_vectors": np.eye(2)}, "1 words, but 2 vectors"),
        ({"words": ["a"]}, "Words need vectors"),
    ],
)
def test_what_does_not_fit_is_said(problem, given, said):
    model = ConceptDiscovery(2)
    with pytest.raises(ValueError, match=said):
        model.fit(problem[0], **given)
    assert not hasattr(model, "n_features_in_")  # a fit that fails leaves nothing behind


def test_discovered_concepts_are_told_better_than_by_the_codes_alone():
    """On Scenes, by labels that it never saw; the floor is that of the published figures of other ways."""
    scenes = load_scenes()
    train, test = scenes.split.train, np.concatenate([scenes.split.queries, scenes.split.candidates])
    model = ConceptDiscovery(128, n_coarse=0).fit(scenes.vectors[train])
    judged = model.held_out(scenes.vectors[test], scenes.fine[test], scenes.fine_names)
    assert judged.auc.mean() > 0.96
    assert judged.average_precision.mean() > 0.8
    assert 0.3 < judged.explained < judged.explained_before


# presence in closed form


def test_the_closed_form_tells_members_about_as_well_as_a_regression():
    X, has, *_ = planted(n=800, noise=0.3, seed=3)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    told = learn_discriminants(X[:400], has[:400], np.random.RandomState(0))
    for j in range(has.shape[1]):
        slow = LogisticRegression(C=10).fit(X[:400], has[:400, j]).decision_function(X[400:])
        ours = told.probabilities(X[400:])[:, j]
        assert roc_auc_score(has[400:, j], ours) > roc_auc_score(has[400:, j], slow) - 0.02
        assert abs(ours.mean() - has[400:, j].mean()) < 0.06
    np.testing.assert_allclose(told.probabilities(X[:9], np.array([2])), told.probabilities(X[:9])[:, [2]])
    assert told.counts.sum(axis=(1, 2)).tolist() == [400] * 6
    np.testing.assert_allclose(told.logits(X[:400]).mean(axis=0), 0, atol=1.0)


def test_scores_are_those_of_the_formula():
    """The way to the members' mean, and what the same stands out by with the covariance taken out."""
    X, has, *_ = planted(n=300, noise=0.4, seed=2)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    told = learn_discriminants(X, has, np.random.RandomState(0))
    covariance = np.cov(X.T, bias=True)
    shrunk = np.linalg.inv(covariance / np.diag(covariance).mean() + np.eye(24))
    for j in range(6):
        way = X[has[:, j]].mean(axis=0) - X.mean(axis=0)
        plain, sharp = ((X @ w - (X @ w).mean()) / (X @ w).std() for w in (way, shrunk @ way))
        np.testing.assert_allclose(told.logits(X)[:, j], plain + np.maximum(sharp - 1, 0), atol=1e-8)


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.integers(5, 40), st.integers(1, 4))
def test_areas_and_precisions_are_those_of_scikit_learn(seed, n, labels):
    rng = np.random.default_rng(seed)
    scores, has = rng.integers(4, size=(n, 3)).astype(float), rng.random((n, labels)) < 0.5
    has[0], has[1] = True, False
    slow = [[roc_auc_score(has[:, j], scores[:, k]) for j in range(labels)] for k in range(3)]
    np.testing.assert_allclose(areas(scores, has), slow)
    np.testing.assert_allclose(
        precisions(np.repeat(scores[:, :1], labels, axis=1), has),
        [average_precision_score(has[:, j], scores[:, 0]) for j in range(labels)],
    )


# names


@pytest.mark.parametrize(
    ("a", "b"),
    [("cats", "cat"), ("skies", "sky"), ("boxes", "box"), ("running", "run"), ("chasing", "chase"), ("buses", "bus"),
     ("glasses", "glass"), ("hot dogs", "hot dog"), ("parked", "park")],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(a, b):
    assert stem(a) == stem(b)


@pytest.mark.parametrize(("a", "b"), [("bus", "bush"), ("news", "new"), ("thing", "the"), ("glass", "gla")])
def test_other_words_do_not(a, b):
    assert a == "news" or stem(a) != stem(b)


@settings(max_examples=60)
@given(st.lists(st.lists(st.text(max_size=6), max_size=4), max_size=8))
def test_names_are_all_different_and_never_empty(lists):
    lists = [[word for word in words if word.strip()] for words in lists]
    names = told_apart(lists)
    assert len(set(names)) == len(names) == len(lists)
    assert all(names)


def test_names_are_never_stop_words_nor_empty():
    texts = ["the and of", "", "the of and", "...", "12 34"] * 8
    X = np.random.default_rng(0).standard_normal((40, 5))
    model = ConceptDiscovery(4).fit(X, texts=texts)
    assert sorted(model.concept_names_) == [f"concept {j}" for j in range(4)]
    near = ConceptDiscovery(4).fit(X, words=["the", "of", "tree"], word_vectors=np.eye(5)[:3])
    assert {word for words in near.concept_words_ for word in words.split(", ")} == {"tree"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("बिल्ली बैठी है।", ["बिल्ली", "बैठी", "है"]),
        ("แมว นั่งอยู่", ["แมว", "นั่งอยู่"]),
        ("القِطّ يَجلِسُ", ["القِطّ", "يَجلِسُ"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("кошка, собака", ["кошка", "собака"]),
        ("猫が好きです", ["猫が好きです"]),
        ("don't x-ray 7 _", ["don't", "x-ray"]),
    ],
)
def test_words_of_any_script_are_whole(text, words):
    assert [word for word in words_of(text, frozenset()) if " " not in word] == words


def test_rows_without_any_concept_say_so():
    noise = np.random.default_rng(0).standard_normal((500, 60))
    with pytest.warns(UserWarning, match="No concept came out again"):
        ConceptDiscovery(30, n_coarse=0, max_iter=3).fit(noise)


def test_class_based_tf_idf_wants_what_others_do_not_have():
    texts = [
        "a red traffic light",
        "traffic light ahead",
        "the traffic light is red",
        "red wine",
        "wine is red",
        "wine",
    ]
    texts = texts * 4
    weights = np.repeat(np.eye(2)[[0, 0, 0, 1, 1, 1]][None], 4, axis=0).reshape(24, 2)
    light, wine = TextWords(texts).distinctive(weights)
    assert light[0] == "traffic light"
    assert "traffic" not in light
    assert wine[0] == "wine"
    assert folded(["cat", "cats", "dog"]) == ["cat", "dog"]
    assert both(["cat", "pet"], ["kitten", "cat"])[0] == "cat"


def test_words_and_texts_name_together(problem):
    X, _, texts, B, _ = problem
    words = [*THINGS, "noise"]
    vectors = np.vstack([B * 3, np.random.default_rng(1).standard_normal((1, 24))])
    for given_words in ({"words": words, "word_vectors": vectors}, {"words": Vocabulary(words, vectors)}):
        named = ConceptDiscovery(6, n_coarse=0).fit(X, texts=texts, **given_words)
        assert sorted(map(stem, named.concept_names_)) == sorted(map(stem, THINGS))
    only = ConceptDiscovery(6, n_coarse=0).fit(X, words=words, word_vectors=vectors)
    assert sorted(only.concept_names_) == sorted(THINGS)


def test_a_function_of_ones_own_names(problem, model):
    seen = []

    def namer(concept):
        seen.append(concept)
        return "thing" if concept.share > 0 else ""

    model.name_concepts(namer, problem[2])
    assert list(model.concept_names_) == ["thing", *(f"thing {i}" for i in range(2, 7))]
    assert all(stem(entry.words[0]) in stem(entry.example_texts[0]) for entry in seen)
    assert ConceptDiscovery(2, n_coarse=0).fit(problem[0], namer=lambda c: " ").concept_names_[0] == "concept 0"


# levels


def test_every_concept_is_under_a_coarse_one(problem):
    X, *_, model = problem
    assert model.under_.any(axis=1).all()
    assert {name for names in model.tree().values() for name in names} == set(model.concept_names_)
    coarse = model.coarse()
    assert type(coarse) is ConceptSubspaces
    assert coarse.predict(X).shape == (len(X), len(coarse.concept_names_))
    np.testing.assert_allclose(coarse.prepare(X), model.prepare(X))
    assert ConceptDiscovery(3, n_coarse=0).fit(X).coarse() is None
    assert ConceptDiscovery(3, n_coarse=0).fit(X).tree() == {}


def test_a_fine_concept_is_under_the_one_that_it_goes_with():
    rng = np.random.default_rng(0)
    coarse = np.eye(2, dtype=bool)[rng.integers(2, size=500)]
    fine = np.stack([coarse[:, 0] & (rng.random(500) < 0.5), coarse[:, 1] & (rng.random(500) < 0.2)], axis=1)
    np.testing.assert_array_equal(holders(fine, coarse), np.eye(2, dtype=bool))
    both_ways = np.column_stack([fine, np.ones(500, bool)])
    assert holders(both_ways, coarse).any(axis=1).all()


def test_a_coarse_concept_is_named_by_what_its_fine_ones_have_in_common():
    rng = np.random.default_rng(0)
    B = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    kinds = {"animal": B[0], "vehicle": B[1]}
    things = {"cat": B[0] + B[2], "dog": B[0] + B[3], "cow": B[0] + B[4], "car": B[1] + B[5]}
    words = Vocabulary([*kinds, *things, "noise"], np.stack([*kinds.values(), *things.values(), B[11]]))
    fine = np.stack([things[name] / np.sqrt(2) for name in things])
    under = np.array([[True, False]] * 3 + [[False, True]])
    near = fine[[0, 3]]  # a cone that leans to its most frequent kind
    assert [found[0] for found in general_words(near, fine, under, words)] == ["animal", "car"]


def test_coarse_words_are_kept(tmp_path):
    scenes = load_scenes()
    model = ConceptDiscovery(12, n_coarse=3, max_iter=2).fit(
        scenes.vectors[:300], words=scenes.words, word_vectors=scenes.word_vectors
    )
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    assert [words.split(", ")[0] for words in again.coarse_words_] == [
        name.split(" (")[0] for name in again.coarse_concept_names_
    ]


# what any concept can


def test_a_found_model_searches_explains_excludes_and_is_saved(problem, model, tmp_path):
    X, has, _, _, fitted = problem
    assert isinstance(model, ConceptSubspaces)
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    assert model.tree() == fitted.tree()
    assert model.marks() == fitted.marks()
    collection = Collection.create(tmp_path / "c", X.astype(np.float32), ids=[str(i) for i in range(len(X))])
    search = ConceptSearch(collection, model)
    name = str(model.concept_names_[0])
    thing = next(j for j, t in enumerate(THINGS) if stem(t) == stem(name))
    item = int(np.flatnonzero(has[:, thing])[0])
    hits = search.search(str(item), concept=name, k=10)
    assert has[[int(hit.id) for hit in hits], thing].all()
    assert hits[0].explain() is not None
    without = search.search(str(item), without=name, k=10)
    assert not has[[int(hit.id) for hit in without], thing].any()
    with pytest.raises(AttributeError, match="no partial_fit"):
        model.partial_fit(X)
    assert model.stability(X, n_runs=1).n_runs == 1


def test_the_explorer_shows_found_concepts(problem, tmp_path):
    pytest.importorskip("fastapi", reason="the explorer is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    from fastapi.testclient import TestClient

    from pellucid.explorer import create_app

    X, has, _, _, model = problem
    collection = Collection.create(tmp_path / "c", X.astype(np.float32), ids=[str(i) for i in range(len(X))])
    with TestClient(create_app(collection=collection, model=model), "http://127.0.0.1") as client:
        info = client.get("/api/collection").json()
        assert info["concepts"] == [str(name) for name in model.concept_names_]
        assert info["presence"]
        name = info["concepts"][0]
        thing = next(j for j, t in enumerate(THINGS) if stem(t) == stem(name))
        item = str(np.flatnonzero(has[:, thing])[0])
        hits = client.post("/api/search", json={"x": item, "concept": name, "k": 5}).json()["hits"]
        assert has[[int(hit["id"]) for hit in hits], thing].all()


# putting in order


def untouched(before, after, names):
    """Whatever is not named has its bits."""
    for name in names:
        i, j = list(before.concept_names_).index(name), list(after.concept_names_).index(name)
        np.testing.assert_array_equal(before.atoms_[before.groups_ == i], after.atoms_[after.groups_ == j])
        for attribute in ("presence_coef_", "presence_sharp_", "share_", "stability_", "example_rows_"):
            np.testing.assert_array_equal(getattr(before, attribute)[i], getattr(after, attribute)[j])


def test_merge_split_drop_rename(problem, model, tmp_path):
    X, has, _, _, before = problem
    a, b, c, d, *_ = names = [str(name) for name in before.concept_names_]
    model.merge([a, b], X, "both")
    untouched(before, model, names[2:])
    either = np.isin([stem(t) for t in THINGS], [stem(a), stem(b)])
    assert (model.predict(X)[:, -1] == has[:, either].any(axis=1)).mean() > 0.93
    model.split("both", X, ["one", "two"])
    untouched(before, model, names[2:])
    back = model.predict(X)[:, -2:]
    assert max((back[:, 0] == has[:, k]).mean() for k in np.flatnonzero(either)) > 0.95
    model.drop(c).rename(d, "other")
    assert list(model.concept_names_) == ["other", *names[4:], "one", "two"]
    assert model.under_[-2:].any(axis=1).all()
    for attribute in ("share_", "stability_", "example_rows_", "under_", "concept_words_", "presence_sharp_"):
        assert len(getattr(model, attribute)) == 5, attribute
    pellucid.save(model, tmp_path / "again.safetensors")
    np.testing.assert_array_equal(pellucid.load(tmp_path / "again.safetensors").predict(X), model.predict(X))


def test_a_concept_is_split_into_what_it_mixes():
    """Two directions that are alike come out as one concept of five, and are told apart when it is split."""
    rng = np.random.default_rng(0)
    B = np.linalg.qr(rng.standard_normal((20, 8)))[0].T
    twins = np.stack([B[0] + 0.5 * B[1], B[0] - 0.5 * B[1]])
    which = rng.integers(6, size=900)
    X = np.where((which < 2)[:, None], twins[which % 2], B[2 + which]) + 0.02 * rng.standard_normal((900, 20))
    model = ConceptDiscovery(5, n_coarse=0, random_state=1).fit(X)
    members = model.predict(X)
    one = int(np.argmax([(members[:, j] == (which < 2)).mean() for j in range(5)]))
    model.split(str(model.concept_names_[one]), X)
    parts = model.predict(X[which < 2])[:, -2:]
    assert abs(roc_auc_score(which[which < 2] == 0, parts[:, 0]) - 0.5) > 0.45


def test_seeds_are_held(problem, model):
    X, has, _, B, before = problem
    model.drop(str(model.concept_names_[0]))
    gone = next(j for j, t in enumerate(THINGS) if stem(t) == stem(str(before.concept_names_[0])))
    items = np.flatnonzero(has[:, gone])[:3].tolist()
    model.seed("again", X, items=items)
    assert model.predict(X)[items, -1].all()
    assert (model.predict(X)[:, -1] == has[:, gone]).mean() > 0.95
    vocabulary = Vocabulary([*THINGS, "x"], np.vstack([B, -B.sum(axis=0)]))
    model.drop("again").seed("word", X, words=vocabulary, examples=[THINGS[gone]])
    assert (model.predict(X)[:, -1] == has[:, gone]).mean() > 0.95
    untouched(before, model, [str(name) for name in before.concept_names_[1:]])


def test_a_labelled_concept_stands_beside_those_that_were_found(problem, model):
    X, has, _, _, before = problem
    either = has[:, 0] | has[:, 1]
    model.add_concept("either", X, either)
    assert model.share_[-1] == pytest.approx(either.mean())
    assert model.found()[0].name == "either"
    assert either[model.example_rows_[-1]].all()
    untouched(before, model, [str(name) for name in before.concept_names_])
    assert (model.predict(X)[:, -1] == either).mean() > 0.8
    with pytest.raises(NotFittedError):
        ConceptDiscovery().drop("x")
    assert not hasattr(model, "select_n_atoms")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m, X: m.merge(["nobody", "x"], X), "no concept 'nobody'"),
        (lambda m, X: m.merge([str(m.concept_names_[0])], X), "at least two"),
        (lambda m, X: m.split(str(m.concept_names_[0]), X, 1), "at least 2 parts"),
        (lambda m, X: m.split(str(m.concept_names_[0]), X, ["a", "a"]), "each another"),
        (lambda m, X: m.drop([str(name) for name in m.concept_names_]), "No concept would be left"),
        (lambda m, X: m.rename(str(m.concept_names_[0]), str(m.concept_names_[1])), "already"),
        (lambda m, X: m.seed("s", X), "needs examples"),
        (lambda m, X: m.seed("s", X, items=[10_000]), "no row 10000"),
        (lambda m, X: m.seed("s", X, examples=["w"]), "Words need vectors"),
        (lambda m, X: m.seed(str(m.concept_names_[0]), X, items=[1]), "already"),
    ],
)
def test_wrong_orders_change_nothing(problem, model, wrong, said):
    before = model.predict_proba(problem[0])
    with pytest.raises(ValueError, match=said):
        wrong(model, problem[0])
    np.testing.assert_array_equal(model.predict_proba(problem[0]), before)


def test_the_golden_file_still_loads():
    model = pellucid.load(Path(__file__).parent / "golden" / "concept_discovery.safetensors")
    X, has, *_ = planted(n=60, d=8, seed=5)
    assert sorted(map(stem, model.concept_names_)) == sorted(map(stem, THINGS))
    order = [[stem(name) for name in model.concept_names_].index(stem(thing)) for thing in THINGS]
    assert (model.predict(X)[:, order] == has).mean() > 0.9
    assert len(model.coarse().concept_names_) == 2
    assert model.n_rows_ == 400


# on the command line


def test_discover_on_the_command_line(problem, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, _, texts, B, _ = problem
    file, out = tmp_path / "v.parquet", tmp_path / "m.safetensors"
    pq.write_table(pa.table({"id": [f"i{k}" for k in range(len(X))], "text": texts, "vector": list(X)}), file)
    said = found("discover", file, "-o", out, "--n-concepts", 6)
    assert sorted(stem(concept["name"]) for concept in said["concepts"]) == sorted(map(stem, THINGS))
    assert said["rows"] == 600
    ours = ConceptDiscovery(6).fit(X, texts=texts)
    np.testing.assert_allclose(pellucid.load(out).atoms_, ours.atoms_, atol=1e-5)
    shown = run("discover", file, "-o", out, "--n-concepts", 6, "--force")
    assert "6 concepts that explain" in shown.output
    np.save(tmp_path / "v.npy", X)
    (tmp_path / "t.txt").write_text("\n".join(texts), encoding="utf-8")
    plain = found(
        "discover", tmp_path / "v.npy", "-o", out, "--n-concepts", 6, "--texts", tmp_path / "t.txt", "--force"
    )
    assert [c["name"] for c in plain["concepts"]] == [c["name"] for c in said["concepts"]]
    pq.write_table(pa.table({"id": THINGS, "vector": list(B)}), tmp_path / "w.parquet")
    words = ("--words", tmp_path / "w.parquet", "--force")
    worded = found("discover", tmp_path / "v.npy", "-o", out, "--n-concepts", 6, *words)
    assert {c["name"] for c in worded["concepts"]} <= set(THINGS) | {f"{a} ({b})" for a in THINGS for b in THINGS}
    assert json.loads(json.dumps(worded)) == worded
    assert "no file or column 'nothing'" in fails("discover", file, "-o", out, "--texts", "nothing", "--force", code=2)
    assert found("info", out)["class"] == "ConceptDiscovery"
    run("index", file, "-o", tmp_path / "c")
    assert found("discover", tmp_path / "c", "-o", out, "--n-concepts", 6, "--force")["rows"] == 600
    assert run("search", tmp_path / "c", "--model", out, "--item", "i3", "--concept", said["concepts"][0]["name"])
