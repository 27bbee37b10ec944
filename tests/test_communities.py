"""Communities: modularity by its definition, moves that never lower it, as many clusters as were asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from pellucid._core.kernels import move_nodes
from pellucid.clusters.communities import (
    ORDERS,
    aggregate,
    as_graph,
    louvain,
    merge,
    modularity,
    move_until_stable,
    neighbour_graph,
    partition,
)


def random_graph(n, seed, density=0.3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return as_graph(sparse.csr_matrix(W + W.T))


def by_definition(graph, labels, resolution=1.0):
    """Σ over all pairs in one community of A_ij − γ k_i k_j / 2m, over 2m."""
    A = graph.toarray()
    degree, total = A.sum(axis=1), A.sum()
    same = labels[:, None] == labels
    return ((A - resolution * np.outer(degree, degree) / total) * same).sum() / total


@settings(max_examples=60)
@given(st.integers(4, 25), st.integers(1, 4), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_and_moves(n, C, seed, resolution):
    graph = random_graph(n, seed)
    if graph.sum() == 0:
        return
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, C, n)
    value = modularity(graph, labels, resolution)
    assert value == pytest.approx(by_definition(graph, labels, resolution))
    whole = aggregate(graph, labels)
    assert modularity(whole, np.arange(whole.shape[0]), resolution) == pytest.approx(value)
    order, total = rng.permutation(n), float(graph.sum())
    before = len(set(labels))
    move_nodes(graph.indptr, graph.indices, graph.data, order, labels, resolution, total, before)
    assert modularity(graph, labels, resolution) >= value - 1e-12
    assert len(set(labels)) == before  # the last of a community stays


@settings(max_examples=40)
@given(st.integers(2, 20), st.integers(1, 20), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 2.0]))
def test_each_node_goes_where_modularity_is_largest(n, C, seed, resolution):
    """Among the communities of its neighbours and its own, by the definition; with loops, as between communities."""
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    graph = as_graph(sparse.csr_matrix(W + W.T))
    if graph.sum() == 0:
        return
    labels, order, least = rng.integers(0, min(C, n), n), rng.permutation(n), int(rng.integers(1, n + 1))
    found = labels.copy()
    moves = move_nodes(graph.indptr, graph.indices, graph.data, order, found, resolution, float(graph.sum()), least)
    made = 0
    for i in order:
        if (labels == labels[i]).sum() == 1 and len(set(labels)) <= least:
            continue
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        trials = [np.where(np.arange(n) == i, c, labels) for c in [labels[i], *labels[near[near != i]]]]
        values = np.array([by_definition(graph, trial, resolution) for trial in trials])
        best = trials[int(np.argmax(values >= values.max() - 1e-12))]  # it stays unless there is something to gain
        made += best[i] != labels[i]
        labels = best
    assert np.array_equal(found, labels)
    assert moves == made


def test_numbers_that_are_no_nodes_are_refused():
    graph, nodes = random_graph(9, 0), np.arange(9)
    for wrong in (-1, 9, 2**40):
        with pytest.raises(ValueError, match="is not the number of a node"):
            move_until_stable(graph, np.where(nodes == 4, wrong, nodes), 1.0, np.random.RandomState(0))
    parts = {"indptr": graph.indptr, "indices": graph.indices, "order": nodes}
    for name, wrong in [("indptr", -1), ("indptr", 1000), ("indices", 9), ("indices", -1), ("order", 9), ("order", -1)]:
        for place in (0, -1):
            bad, labels = {**parts, name: parts[name].copy()}, nodes.copy()
            bad[name][place] = wrong
            assert move_nodes(bad["indptr"], bad["indices"], graph.data, bad["order"], labels, 1.0, 1.0, 1) == -1
            assert np.array_equal(labels, nodes)


def test_cliques_are_communities():
    blocks = np.kron(np.eye(4), np.ones((6, 6))) - np.eye(24)
    for i in range(4):  # a ring of cliques, one edge between neighbours
        a, b = 6 * i, (6 * i + 7) % 24
        blocks[a, b] = blocks[b, a] = 1
    graph = as_graph(sparse.csr_matrix(blocks))
    truth = np.repeat(np.arange(4), 6)
    assert adjusted_rand_score(louvain(graph, 1.0, np.random.RandomState(0)), truth) == 1
    for by_ratio in (False, True):
        joined = merge(graph, truth, 2, by_ratio)
        assert len(set(joined)) == 2
        assert all(len(set(joined[truth == c])) == 1 for c in range(4))


def test_parts_of_one_ring_are_merged_before_rings_that_do_not_touch():
    """Two small rings and a large one, all in many pieces: by modularity alone the small rings would be joined."""
    sizes = (40, 40, 400)
    ring = [sparse.diags([np.ones(n - 1), np.ones(n - 1), [1.0], [1.0]], [1, -1, n - 1, 1 - n]) for n in sizes]
    graph = as_graph(sparse.block_diag(ring))
    pieces, truth = np.arange(480) // 20, np.repeat([0, 1, 2], sizes)
    assert adjusted_rand_score(merge(graph, pieces, 3, by_ratio=True), truth) == 1
    assert adjusted_rand_score(merge(graph, pieces, 3), truth) < 1


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 11, 40])
def test_as_many_clusters_as_asked_for(n_clusters):
    X = np.random.default_rng(0).standard_normal((40, 3))
    labels, values = partition(neighbour_graph(X), n_clusters, 2, np.random.RandomState(0))
    assert set(labels) == set(range(n_clusters))
    assert len(values) == 2 * 2 * 2 * ORDERS  # starts, resolutions, ways to merge, node orders
    assert values.max() == pytest.approx(modularity(neighbour_graph(X), labels))


def test_the_graph_is_symmetric_and_knows_scales():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((50, 4)), 1e3 + 1e2 * rng.standard_normal((50, 4))])
    graph = neighbour_graph(X)
    assert abs(graph - graph.T).max() == 0
    assert graph.diagonal().sum() == 0
    near, far = graph[:50][:, :50].mean(), graph[50:][:, 50:].mean()
    assert near == pytest.approx(far, rel=0.2)  # each row has its own scale
    np.testing.assert_allclose(neighbour_graph(7 * X).toarray(), graph.toarray(), rtol=1e-3, atol=1e-9)


def test_equal_rows_are_neighbours():
    graph = neighbour_graph(np.repeat(np.eye(3), 30, axis=0))
    labels, _ = partition(graph, 3, 1, np.random.RandomState(0))
    assert adjusted_rand_score(labels, np.repeat([0, 1, 2], 30)) == 1


def test_the_same_seed_gives_the_same_partition():
    graph = neighbour_graph(np.random.default_rng(0).standard_normal((100, 5)))
    first, second = (partition(graph, 4, 2, np.random.RandomState(3)) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
