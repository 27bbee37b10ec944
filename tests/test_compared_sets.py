"""Two sets of a collection's items: every way to choose them, what is left out, and what remains beside the others."""

import numpy as np
import pytest

import pellucid
from pellucid import CommonalityClustering, ConceptSubspaces, compare
from pellucid.concepts.comparison import beside_others
from pellucid.search import Collection, compare_sets
from support.commands import fails, found, run


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """Items with two concepts; deleted ones do not count."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    has = rng.random((400, 3)) < [0.4, 0.5, 0.5]
    has[~has.any(axis=1), 2] = True
    X = has @ V[:3] + 0.1 * rng.standard_normal((400, 8))
    model = ConceptSubspaces(1).fit(X, has, ["x", "y", "z"])
    folder = tmp_path_factory.mktemp("sets")
    collection = Collection.create(
        folder / "c", X[:250], ids=[f"i{i}" for i in range(250)],
        tags=[["x"] if row[0] else ["no"] for row in has[:250]],
        year=list(range(250)), kind=np.where(has[:250, 1], "yes", "no").tolist(),
    )  # fmt: skip
    collection.add(
        X[250:], ids=[f"i{i}" for i in range(250, 400)], tags=[["x"] if row[0] else ["no"] for row in has[250:]],
        year=list(range(250, 400)), kind=np.where(has[250:, 1], "yes", "no").tolist(),
    )  # fmt: skip
    collection.delete(["i3", "i300"])
    pellucid.save(model, folder / "m.safetensors")
    clusters = CommonalityClustering(2, random_state=0).fit(X)
    pellucid.save(clusters, folder / "k.safetensors")
    return collection, model, clusters, has, folder


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        ({"label": "x"}, lambda has: has[:, 0]),
        ({"label": "x", "column": "tags"}, lambda has: has[:, 0]),
        ({"label": "yes"}, lambda has: has[:, 1]),
        ({"label": "17"}, lambda has: np.arange(400) == 17),
        ([("year", ">", 200)], lambda has: np.arange(400) > 200),
        ('[["year", ">", 200], ["tags", "has", "x"]]', lambda has: (np.arange(400) > 200) & has[:, 0]),
        (["i9", "i2", "i9"], lambda has: np.isin(np.arange(400), [2, 9])),
        (np.array(["i9", "i2"]), lambda has: np.isin(np.arange(400), [2, 9])),
    ],
)
def test_sets_are_chosen_in_every_way(problem, chosen, rows):
    collection, model, _, has, _ = problem
    compared = compare_sets(collection, chosen, model=model)
    alive = ~np.isin(np.arange(400), [3, 300])
    assert compared.ids_a == [f"i{i}" for i in np.flatnonzero(rows(has) & alive)]
    assert compared.ids_b == [f"i{i}" for i in np.flatnonzero(~rows(has) & alive)]


def test_a_comparison_of_sets_is_one_of_their_rows(problem):
    collection, model, _, has, _ = problem
    compared = compare_sets(collection, {"label": "x"}, {"label": "no", "column": "tags"}, model=model, given="kind")
    first, second = ([collection.position(name) for name in ids] for ids in (compared.ids_a, compared.ids_b))
    kind = np.where(has[:, 1], "yes", "no")
    rows = compare(
        collection.vectors(first), collection.vectors(second), model=model,
        given=(kind[first], kind[second]),
    )  # fmt: skip
    np.testing.assert_array_equal(compared.found.p, rows.p)
    likely, _ = compared.examples("x")
    assert all(has[int(name[1:]), 0] for name in likely)
    assert len(compared.something_else()[0]) == 5


def test_clusters_and_overlap(problem):
    collection, model, clusters, *_ = problem
    compared = compare_sets(collection, {"cluster": 1}, model=model, clusters=clusters)
    labels = clusters.predict(collection.vectors())
    assert len(compared.ids_a) == (labels == 1).sum()
    name = clusters.describe(collection.vectors()).clusters[1].name
    assert compare_sets(collection, {"cluster": name}, model=model, clusters=clusters).ids_a == compared.ids_a
    late = compare_sets(collection, [("year", "<", 200)], [("year", ">=", 100)], model=model)
    assert (late.ids_a[-1], late.ids_b[0]) == ("i99", "i200")  # what is in both does not count


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"label": "X1"}, "No item has the label 'X1'"),
        ({"label": "x", "column": "tag"}, "no column 'tag'"),
        ({"cluster": 1}, "Which clusters are meant"),
        ({"what": 1}, "A set is"),
        ([("year", ">", 999)], "No item is in A"),
        ([("years", ">", 999)], "does not fit the columns"),
        ([("year", ">=", 0)], "No item is in B"),
    ],
)
def test_what_is_no_set_is_said(problem, chosen, said):
    with pytest.raises(ValueError, match=said):
        compare_sets(problem[0], chosen, model=problem[1])


def test_what_else_is_wrong_is_said(problem):
    collection, model, clusters, *_ = problem
    with pytest.raises(KeyError, match="no item 'nobody'"):
        compare_sets(collection, ["nobody"], model=model)
    with pytest.raises(ValueError, match="lies in the other"):
        compare_sets(collection, ["i1"], ["i1", "i2"], model=model)
    with pytest.raises(ValueError, match="no cluster 'seven'"):
        compare_sets(collection, {"cluster": "seven"}, model=model, clusters=clusters)
    with pytest.raises(ValueError, match="no column 'town'"):
        compare_sets(collection, {"label": "x"}, model=model, given="town")
    with pytest.raises(ValueError, match="no concept 'w'"):
        compare_sets(collection, {"label": "x"}, model=model).examples("w")


def test_sets_on_the_command_line(problem, tmp_path):
    *_, folder = problem
    base = ("compare", folder / "c", "-m", folder / "m.safetensors")
    told = found(*base, "--set-a", "label:x")
    assert told["concepts"][0] == "x"
    assert told["own"][0]
    assert told["examples_a"][0][0].startswith("i")
    (tmp_path / "ids.txt").write_text("i1\ni2\ni4\n")
    assert found(*base, "--set-a", f"ids:{tmp_path / 'ids.txt'}")["n_a"] == 3
    assert found(*base, "--set-a", '[["year", "<", 100]]', "--set-b", "label:x", "--given", "kind")["n_b"] > 50
    clusters = ("--clusters", folder / "k.safetensors")
    assert "concepts differ" in run(*base, "--set-a", "cluster:1", *clusters, "--plot", tmp_path / "p.png").output
    assert "is no set" in fails(*base, "--set-a", "x", code=2)
    assert "no file" in fails(*base, "--set-a", "ids:nowhere", code=2)
    assert "go with --set-a" in fails(*base, "--dates", "year", "--set-b", "label:x", code=2)
    assert "where clusters are needed" in fails(
        *base, "--set-a", "cluster:1", "--clusters", folder / "m.safetensors", code=2
    )


def test_what_is_found_along_with_others_is_not_a_concepts_own():
    """A model that takes a fifth of one concept for another finds both to differ, but only one of its own."""
    rng = np.random.default_rng(0)
    A, B = rng.random((4000, 3)) < [0.5, 0.3, 0.3], rng.random((4000, 3)) < [0.3, 0.3, 0.3]
    leak = np.array([[0.8, 0.2, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 0.8]])
    seen = compare(A @ leak, B @ leak, names=["x", "y", "z"])
    told = {name: (bool(f), bool(o)) for name, f, o in zip(seen.concepts, seen.found, seen.own)}
    assert told == {"x": (True, True), "y": (True, False), "z": (False, False)}
    assert "along with others" in str(seen)
    assert seen.to_frame()["own"].sum() == 1


def test_the_residual_is_that_of_least_squares_within_both_sets():
    rng = np.random.default_rng(0)
    P, in_a = rng.random((500, 4)) @ rng.random((4, 4)) / 4, np.arange(500) < 200
    P[in_a, 1] += 0.3
    inner = P - np.where(in_a[:, None], P[in_a].mean(axis=0), P[~in_a].mean(axis=0))
    others = np.delete(np.arange(4), 2)
    beta = np.linalg.lstsq(inner[:, others], inner[:, 2], rcond=None)[0]
    slow = P[:, 2] - P[:, others] @ beta
    ours = beside_others(P, in_a)[:, 2]
    np.testing.assert_allclose(ours - ours.mean(), slow - slow.mean(), atol=0.03)
