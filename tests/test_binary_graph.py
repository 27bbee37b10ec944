"""Analograms: known graphs, isometry, the way back, and a picture with parallel edges."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.binary import Analogram, partial_cube_concepts
from pellucid.metrics import binary_recovery
from support.binary_items import tree

KNOWN = {
    "square": (list(product([0, 1], repeat=2)), 0, 4),
    "cube": (list(product([0, 1], repeat=3)), 0, 12),
    "simplex": (np.eye(4), 1, 4),
    "simplex with three concepts": ([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], 3, 9),
    "hexagon": ([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0]], 0, 6),
    "line": ([[int(i > j) for j in range(4)] for i in range(5)], 0, 4),
    "grid": ([[i > 0, i > 1, j > 0] for i in range(3) for j in range(2)], 0, 7),
}


def hamming(S):
    return np.count_nonzero(np.asarray(S)[:, None] != np.asarray(S)[None], axis=2)


@pytest.mark.parametrize("name", KNOWN)
def test_known_graphs(name):
    S, hidden, edges = KNOWN[name]
    graph = Analogram(np.array(S, dtype=int))
    assert len(graph.hidden) == hidden
    assert len(graph.edges) == edges
    assert np.array_equal(graph.distances(), hamming(S))


@pytest.mark.parametrize("seed", range(3))
def test_trees_have_tree_graphs(seed):
    S = tree(20, seed)
    graph = Analogram(S)
    assert len(graph.edges) == len(graph.nodes) - 1 == S.shape[1]
    assert np.array_equal(graph.distances(), hamming(S))


@st.composite
def distinct_concepts(draw):
    p, b = draw(st.integers(2, 7)), draw(st.integers(1, 6))
    S = np.random.default_rng(draw(st.integers(0, 10_000))).integers(0, 2, (p, b))
    oriented = S ^ S[0]
    oriented = np.unique(oriented[:, oriented.any(axis=0)], axis=1)
    return oriented if oriented.shape[1] else np.arange(p)[:, None] // (p - 1)


@settings(max_examples=60)
@given(distinct_concepts())
def test_distance_counts_differences_and_the_graph_gives_the_concepts_back(S):
    graph = Analogram(S)
    assert np.array_equal(graph.distances(), hamming(S))
    assert np.array_equal(graph.nodes[graph.item_nodes], S)
    for without, having, concept in graph.edges:
        assert np.array_equal(np.flatnonzero(graph.nodes[without] != graph.nodes[having]), [concept])
        assert graph.nodes[having, concept] == 1
    back = partial_cube_concepts(graph.edges[:, :2], len(graph.nodes))
    assert back.shape[1] == S.shape[1]
    assert binary_recovery(back, graph.nodes).exact == S.shape[1]


def test_items_with_equal_concepts_share_a_node():
    graph = Analogram([[0], [1], [1]], ["a", "b", "ç"])
    assert graph.item_nodes.tolist() == [0, 1, 1]
    assert graph.distances().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("S", "message"),
    [
        ([[0, 1], [0, 0]], "Concept 0 is the same for all"),
        ([[0, 1], [1, 0]], "Concept 1 splits the items as concept 0"),
        ([[0.5], [1]], "0 and 1 only"),
        (np.zeros((3, 0)), "no concept"),
        (np.random.default_rng(0).integers(0, 2, (60, 14)), "more than 4096 nodes; take fewer items"),
    ],
)
def test_concepts_that_have_no_graph(S, message):
    with pytest.raises(ValueError, match=message):
        Analogram(S)


def test_names_are_counted():
    with pytest.raises(ValueError, match="1 names for 2 items"):
        Analogram([[0], [1]], ["a"])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 1], [1, 2], [2, 0]], "no partial cube"),
        ([[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4]], "no partial cube"),
        ([[0, 1], [2, 3]], "no edge connects"),
        ([[0, 0], [0, 1]], "edge to itself"),
        ([[0.5, 1]], "numbers of nodes"),
    ],
)
def test_graphs_that_are_no_partial_cubes(edges, message):
    with pytest.raises(ValueError, match=message):
        partial_cube_concepts(edges)
    with pytest.raises(ValueError, match="there are 1 nodes"):
        partial_cube_concepts([[0, 1]], 1)


def test_edges_of_a_concept_are_parallel_and_of_one_colour():
    pytest.importorskip("matplotlib", reason="the extra pellucid[plots] is not installed")
    from pellucid.plots.graphs import READABLE, node_places

    graph = Analogram(np.array(KNOWN["cube"][0]), names=[f"item ${i}" for i in range(8)])
    places = node_places(graph.nodes)
    assert np.linalg.norm(places[:, None] - places[None], axis=2)[~np.eye(8, dtype=bool)].min() > 0.1
    for concept in range(3):
        ends = graph.edges[graph.edges[:, 2] == concept, :2]
        steps = places[ends[:, 1]] - places[ends[:, 0]]
        assert steps == pytest.approx(np.tile(steps[0], (len(steps), 1)))
    ax = graph.plot(concepts=["large", "round", "blue"], title="A cube")
    assert len({line.get_color() for line in ax.lines}) == 3
    ax.figure.canvas.draw()
    assert Analogram([[0], [1]]).plot().lines
    with pytest.raises(ValueError, match="names for 3 concepts"):
        graph.plot(concepts=["one"])
    large = Analogram(np.array(list(product([0, 1], repeat=9))))
    assert len(large.nodes) > READABLE
    with pytest.raises(ValueError, match="cannot be read"):
        large.plot()


def test_the_graph_goes_to_networkx_and_back(monkeypatch):
    networkx = pytest.importorskip("networkx", reason="the extra pellucid[graph] is not installed")
    S = tree(12, 4)
    graph = Analogram(S, [f"item {i}" for i in range(12)])
    whole = graph.to_networkx()
    assert whole.number_of_nodes() == len(graph.nodes)
    assert {node for node, hidden in whole.nodes(data="hidden") if hidden} == set(graph.hidden.tolist())
    lengths = dict(networkx.all_pairs_shortest_path_length(whole))
    place = {name: node for node, items in whole.nodes(data="items") for name in items}
    for i, row in enumerate(hamming(S)):
        assert [lengths[place[f"item {i}"]][place[f"item {j}"]] for j in range(12)] == row.tolist()
    for u, v, concept in whole.edges(data="concept"):
        assert set(whole.nodes[u]["concepts"]) ^ set(whole.nodes[v]["concepts"]) == {concept}
    for form in (whole, graph):
        assert binary_recovery(partial_cube_concepts(form), graph.nodes).exact == S.shape[1]
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(ImportError, match=r'pip install "pellucid\[graph\]"'):
        graph.to_networkx()


@pytest.mark.parametrize(("name", "dimension"), [("line", 1), ("square", 2), ("cube", 3), ("grid", 2), ("hexagon", 3)])
def test_lattice_dimensions(name, dimension):
    pytest.importorskip("networkx", reason="the extra pellucid[graph] is not installed")
    assert Analogram(np.array(KNOWN[name][0], dtype=int)).lattice_dimension() == dimension
