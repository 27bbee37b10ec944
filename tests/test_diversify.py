"""Diverse rows: order, relevance, and lists that repeat themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.selection import diversify


@settings(max_examples=80)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 20), st.integers(0, 9999), st.floats(0, 1))
def test_it_returns_k_different_rows_and_every_beginning_is_an_answer(n, d, k, seed, diversity):
    rng = np.random.default_rng(seed)
    items = rng.integers(-1, 2, (n, d)).astype(float)  # many duplicates, opposites and zeros
    relevance = rng.integers(0, 3, n)
    chosen = diversify(items, k, relevance, diversity=diversity)
    assert chosen.dtype == np.int64
    assert len(chosen) == len(set(chosen.tolist())) == min(n, k)
    np.testing.assert_array_equal(diversify(items, 1, relevance, diversity=diversity), chosen[:1])


def test_directions_come_before_repetitions_and_zeros_last():
    items = [[1, 0], [2, 0], [0, 0], [0, 1], [1, 1e-9]]
    assert diversify(items, 5).tolist()[:2] == [0, 3]
    assert diversify(items, 5).tolist()[-1] == 2


def test_orthonormal_rows_are_found_among_mixtures():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((30, 30)))[0][:6]
    mixtures = rng.dirichlet(np.full(6, 5.0), 100) @ basis
    chosen = diversify(np.vstack([mixtures, basis]), 6)
    assert len(set(chosen.tolist()) & set(range(100, 106))) >= 5


def test_no_diversity_is_the_plain_list_and_full_diversity_ignores_relevance():
    rng = np.random.default_rng(0)
    items, relevance = rng.standard_normal((40, 8)), rng.random(40)
    np.testing.assert_array_equal(diversify(items, 5, relevance, diversity=0), np.argsort(-relevance)[:5])
    np.testing.assert_array_equal(
        diversify(items, 5, relevance, diversity=1), diversify(items, 5, np.zeros(40), diversity=1)
    )


def test_the_most_relevant_comes_first_and_more_diversity_keeps_less_relevance():
    rng = np.random.default_rng(2)
    items, relevance = rng.standard_normal((200, 20)), rng.random(200)
    kept = [relevance[diversify(items, 10, relevance, diversity=d)].mean() for d in (0, 0.3, 0.7, 0.95)]
    assert kept == sorted(kept, reverse=True)
    assert diversify(items, 3, relevance)[0] == np.argmax(relevance)


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0), (1e300, 0), (1, -50), (1e-3, 7)])
def test_scale_and_zero_of_relevance_do_not_matter(scale, shift):
    rng = np.random.default_rng(0)
    items, relevance = rng.standard_normal((30, 5)), rng.integers(0, 9, 30) / 8
    np.testing.assert_array_equal(diversify(items, 8, relevance), diversify(items, 8, relevance * scale + shift))


def test_length_of_the_rows_does_not_matter():
    items = np.random.default_rng(0).standard_normal((30, 5))
    np.testing.assert_array_equal(diversify(items, 8), diversify(items * np.geomspace(1e-100, 1e100, 30)[:, None], 8))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.asfortranarray])
def test_other_kinds_of_arrays(kind):
    items = np.random.default_rng(0).standard_normal((30, 5))
    assert set(diversify(kind(items), 3).tolist()) == set(diversify(items, 3).tolist())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, np.nan]], 1), "nan at row 0, column 1"),
        (([[1.0]], 0), "k must be a positive whole number"),
        (([[1.0]], True), "k must be a positive whole number"),
        (([[1.0]], 1, [1, 2]), "relevance must hold 1 numbers, one per item"),
        (([[1.0]], 1, [np.inf]), "relevance has inf"),
        (([1.0], 1), "two-dimensional"),
        ((np.empty((0, 3)), 1), "empty"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        diversify(*arguments)


def test_diversity_beyond_its_range_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        diversify([[1.0]], 1, diversity=1.5)
