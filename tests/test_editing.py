"""Concepts of a fitted model are changed one at a time, and the others keep their bits."""

import numpy as np
import pytest

import pellucid
from pellucid import ConceptSubspaces
from support.oracles import planted_cones

NAMES = list("abcd")


@pytest.fixture(scope="module")
def data():
    X, Y, atoms, groups = planted_cones(900, 24, 5, 3, noise=0.05)
    return X + 0.05 * np.random.default_rng(0).standard_normal(X.shape), Y, atoms, groups


@pytest.fixture
def model(data):
    X, Y, *_ = data
    return ConceptSubspaces(3, center=False).fit(X, Y[:, :4], NAMES)


def kept(model, names):
    """All that a model knows of some concepts."""
    found = {}
    for name in names:
        j = list(model.concept_names_).index(name)
        found[name] = [model.atoms_[model.groups_ == j], model.usage_[model.groups_ == j]]
        if model.knows_presence:
            found[name] += [
                getattr(model, f"presence_{what}_")[j]
                for what in ("coef", "intercept", "calibration", "threshold", "counts")
            ]
    return found


def same(one, other):
    for name in one:
        for a, b in zip(one[name], other[name]):
            np.testing.assert_array_equal(a, b)


def consistent(model, X):
    S = len(model.concept_names_)
    np.testing.assert_array_equal(np.unique(model.groups_), np.arange(S))
    assert (np.diff(model.groups_) >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1, rtol=1e-6)
    assert model.predict(X[:5]).shape == model.shares(X[:5]).shape == (5, S)


def test_a_concept_that_is_added_is_as_good_as_one_that_was_there(data, model, tmp_path):
    X, Y, atoms, groups = data
    before = kept(model, NAMES)
    model.add_concept("e", X, Y[:, 4], Y[:, :4])
    same(before, kept(model, NAMES))
    consistent(model, X)
    true = atoms[groups == 4] / np.linalg.norm(atoms[groups == 4], axis=1, keepdims=True)
    assert (model.atoms_[model.groups_ == 4] @ true.T).max(axis=0).mean() > 0.95
    whole = ConceptSubspaces(3, center=False).fit(X, Y)
    assert model.score(X, Y) > whole.score(X, Y) - 0.01
    pellucid.save(model, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(pellucid.load(tmp_path / "m.safetensors").predict_proba(X), model.predict_proba(X))


def test_without_labels_the_others_are_those_that_it_finds(data, model):
    X, Y, atoms, groups = data
    model.add_concept("e", X, Y[:, 4])
    true = atoms[groups == 4] / np.linalg.norm(atoms[groups == 4], axis=1, keepdims=True)
    assert (model.atoms_[model.groups_ == 4] @ true.T).max(axis=0).mean() > 0.9


def test_one_concept_is_refitted_in_its_place(data, model):
    X, Y, *_ = data
    before, old = kept(model, "acd"), model.atoms_[model.groups_ == 1]
    model.refit_concept("b", X, Y[:, 4], Y[:, :4])  # "b" is from now on what was the fifth
    same(before, kept(model, "acd"))
    consistent(model, X)
    assert list(model.concept_names_) == NAMES
    assert np.abs(model.atoms_[model.groups_ == 1] - old[: (model.groups_ == 1).sum()]).max() > 0.1
    assert model.score(X, np.column_stack([Y[:, 0], Y[:, 4], Y[:, 2:4]])) > 0.9


def test_concepts_are_dropped_and_renamed(data, model):
    X, *_ = data
    before = kept(model, "acd")
    model.drop_concept("b")
    same(before, kept(model, "acd"))
    consistent(model, X)
    assert list(model.rename_concept("c", "third").concept_names_) == ["a", "third", "d"]
    for bad, sentence in (
        (lambda: model.rename_concept("a", "third"), "already"),
        (lambda: model.rename_concept("x", "y"), "no concept 'x'"),
        (lambda: model.drop_concept("x"), "no concept 'x'"),
        (lambda: ConceptSubspaces(1).fit(X, np.ones((len(X), 1))).drop_concept("concept 0"), "only concept"),
    ):
        with pytest.raises(ValueError, match=sentence):
            bad()


def test_what_was_merged_can_be_split_again(data):
    X, Y, *_ = data
    both = np.column_stack([Y[:, 0] | Y[:, 1], Y[:, 2:]])
    model = ConceptSubspaces([6, 3, 3, 3], center=False).fit(X, both, ["ab", *"cde"])
    before = kept(model, "cde")
    model.split_concept("ab", X, both[:, 0], 2, both)
    same(before, kept(model, "cde"))
    consistent(model, X)
    assert list(model.concept_names_) == ["c", "d", "e", "ab 1", "ab 2"]
    assert np.isin(model.groups_, [3, 4]).sum() == 6


def test_merging_keeps_the_atoms_of_all(data, model):
    X, Y, *_ = data
    before, both = kept(model, "bd"), np.isin(model.groups_, [0, 2])
    union = model.atoms_[both]
    model.merge_concepts(["c", "a"], "ca", X, Y[:, 0] | Y[:, 2])
    same(before, kept(model, "bd"))
    consistent(model, X)
    assert list(model.concept_names_) == ["b", "d", "ca"]
    np.testing.assert_array_equal(model.atoms_[model.groups_ == 2], union)
    assert model.score(X, np.column_stack([Y[:, 1], Y[:, 3], Y[:, 0] | Y[:, 2]])) > 0.9


def test_models_without_presence_stay_without(data):
    X, Y, *_ = data
    model = ConceptSubspaces(2, center=False, presence=False).fit(X, Y[:, :4], NAMES)
    model.add_concept("e", X, Y[:, 4]).split_concept("a", X, Y[:, 0]).drop_concept("b")
    assert not model.knows_presence
    assert list(model.concept_names_) == ["c", "d", "e", "a 1", "a 2"]


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda m, X, Y: m.add_concept("a", X, Y[:, 4]), "already"),
        (lambda m, X, Y: m.add_concept("e", X, Y[:5, 4]), "yes or no of each of the 900 rows"),
        (lambda m, X, Y: m.add_concept("e", X, np.zeros(900, bool)), "No row has the concept 'e'"),
        (lambda m, X, Y: m.add_concept("e", X, Y[:, 4], Y[:7, :4]), "900 rows, but y has 7"),
        (lambda m, X, Y: m.refit_concept("e", X, Y[:, 4]), "no concept 'e'"),
        (lambda m, X, Y: m.split_concept("a", X, Y[:, 0], 7), "2 to 3 parts"),
        (lambda m, X, Y: m.split_concept("a", X, Y[:, 0], 1), "2 to 3 parts"),
        (lambda m, X, Y: m.merge_concepts(["a"], "b", X, Y[:, 0]), "at least two"),
        (lambda m, X, Y: m.merge_concepts(["a", "c"], "b", X, Y[:, 0]), "already"),
    ],
)
def test_changes_that_cannot_be_made_leave_the_model_alone(data, model, ask, sentence):
    X, Y, *_ = data
    before = kept(model, NAMES)
    with pytest.raises(ValueError, match=sentence):
        ask(model, X, Y)
    same(before, kept(model, NAMES))
    assert list(model.concept_names_) == NAMES
