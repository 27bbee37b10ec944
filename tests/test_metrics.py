from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.metrics import (
    average_precision,
    clustering_error,
    concept_retrieval,
    matched_labels,
    mean_average_precision,
    top_k,
)


def plain_ap(relevant, k):
    hits, total = 0, 0.0
    for i, r in enumerate(relevant[:k], start=1):
        if r:
            hits += 1
            total += hits / i
    return total / max(1, hits)


@settings(max_examples=100)
@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 25))
def test_average_precision_equals_the_plain_loop(relevant, k):
    assert average_precision([relevant], k)[0] == pytest.approx(plain_ap(relevant, k))


def test_known_values():
    np.testing.assert_allclose(average_precision([[1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]], 3), [1, 0, 0.5, 5 / 6])
    assert mean_average_precision([[1, 0], [0, 1]], 2) == pytest.approx(0.75)
    assert mean_average_precision([[0, 1]], k=1) == 0
    with pytest.raises(ValueError, match="one ranked list per row"):
        average_precision([1, 0])


@settings(max_examples=100)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_top_k_is_a_stable_sort(n, m, k, seed):
    scores = np.random.default_rng(seed).integers(0, 1 + m, size=(n, m)).astype(float)
    best = top_k(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(np.take_along_axis(scores, best, 1), np.take_along_axis(scores, expected, 1))
    assert all(len(set(row)) == min(k, m) for row in best)


def test_concept_retrieval_by_hand():
    queries = np.eye(2)
    candidates = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    concepts = np.array([[1, 0], [0, 1], [1, 1]])
    result = concept_retrieval(
        None,
        queries,
        candidates,
        [[1, 0], [1, 1]],
        concepts,
        query_fine=[[1, 0, 0], [0, 1, 1]],
        candidate_fine=[[1, 0, 0], [0, 0, 1], [0, 1, 1]],
        fine_to_coarse=[0, 0, 1],
        k=2,
    )
    # query 0, concept 0 ranks 0, 1: general 1, 0 and the same fine label 1, 0
    # query 1, concept 0 ranks 2, 1: general 1, 0, fine label 1 of candidate 2; concept 1 ranks 2, 1: both
    assert result.pairs == 3
    assert result.general == pytest.approx(1.0)
    assert result.sub == pytest.approx(1.0)
    upside_down = lambda X, j: -X @ candidates.T  # noqa: E731
    worse = concept_retrieval(None, queries, candidates, [[1, 0], [1, 1]], concepts, k=1, score=upside_down)
    assert worse.general == pytest.approx((1 + 1 + 0) / 3)
    assert np.isnan(worse.sub)
    np.testing.assert_allclose(worse.per_concept[:, 0], [1, 0])
    with pytest.raises(ValueError, match="No query has any concept"):
        concept_retrieval(None, queries, candidates, np.zeros((2, 2)), concepts)


@pytest.mark.parametrize("seed", range(3))
def test_clustering_error_is_the_least_over_all_matchings(seed):
    rng = np.random.default_rng(seed)
    labels, truth = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    slow = min(np.mean(np.array(names)[labels] != truth) for names in permutations(range(4)))
    assert clustering_error(labels, truth) == pytest.approx(slow)
    assert np.mean(matched_labels(labels, truth) != truth) == pytest.approx(slow)


def test_clusters_without_a_class_are_wrong():
    assert clustering_error([0, 0, 1, 2], [0, 0, 0, 0]) == 0.5
    assert clustering_error([0, 0, 0, 0], [0, 1, 2, 2]) == 0.5
    with pytest.raises(ValueError, match="same items"):
        clustering_error([0, 1], [0])
    with pytest.raises(ValueError, match="whole numbers"):
        clustering_error([-2, 1], [0, 1])
    with pytest.raises(ValueError, match="whole numbers"):
        clustering_error([0, 1], [-1, 1])
    assert clustering_error([-1, 0, 0, 1], [0, 1, 1, 0]) == 0.25
