"""Few items under noise: concepts are found together, and noise of the same spectrum is the judge."""

import numpy as np
import pytest

from pellucid import BinaryAutoencoder
from pellucid._core.kernels import alternate_each
from pellucid.binary import adaptive_search
from pellucid.binary.bits_and_components import ROUNDS, orthogonal_components
from pellucid.binary.joint_search import STARTS, completed, joint_concepts, search_further
from pellucid.binary.spectrum import spectrum_of_items
from pellucid.metrics import binary_recovery
from support.binary_items import alternated, embed, random_bits


def features(X):
    return spectrum_of_items(X - X.mean(axis=0)).normalised()[0].features


def found_in(X, rank):
    """What the joint search finds where nothing is known."""
    return joint_concepts(features(X), np.zeros((len(X), 0), dtype=np.uint8), rank, np.random.RandomState(0))


def noisy(p, b, d, noise, seed):
    S = random_bits(p, b, seed)
    return S, embed(S, np.ones(b), d, seed, noise)


def alternate(X, S):
    """Components and bits in turns, the bits in place; the share of |X|² that is left."""
    left = np.empty(1)
    alternate_each(np.ascontiguousarray(X), S[None], ROUNDS, left)
    return left[0]


@pytest.mark.parametrize(("p", "b", "d"), [(5, 2, 3), (16, 1, 8), (24, 5, 7), (33, 8, 20), (64, 11, 63), (150, 13, 40)])
def test_every_start_takes_the_turns_that_a_plain_loop_takes(p, b, d):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((p, d)) * np.linspace(2, 1, d)
    X -= X.mean(axis=0)
    starts = rng.integers(0, 2, (6, p, b)).astype(np.uint8)
    starts[0, :, 0] = 1  # a concept that all items have stays
    for turns in (1, 2, ROUNDS):
        found, losses = starts.copy(), np.empty(len(starts))
        alternate_each(X, found, turns, losses)
        for S, after, left in zip(starts, found, losses):
            expected, share = alternated(X, S, turns, False)
            assert np.array_equal(after, expected)
            assert left == pytest.approx(share, abs=1e-9)


def test_items_that_are_all_alike_leave_the_starts_as_they_are():
    starts = random_bits(12, 3).astype(np.uint8)
    found = starts.copy()
    assert alternate(np.zeros((12, 4)), found) == 1
    assert np.array_equal(found, starts)


def test_what_is_left_is_what_the_components_leave():
    X, bits = features(noisy(24, 4, 10, 0.2, 0)[1]), random_bits(24, 4, 9).astype(np.uint8)
    left = alternate(X, bits)  # to a fixed point, so the bits belong to the components
    W = orthogonal_components(X, bits)[0]
    residual = X - (bits - bits.mean(axis=0)) @ W
    assert left == pytest.approx(np.sum(residual**2) / np.sum(X**2), abs=1e-3)


def test_further_search_leaves_no_more_than_before():
    X, rng = features(noisy(32, 5, 10, 0.3, 1)[1]), np.random.RandomState(0)
    S = random_bits(32, 5, 7).astype(np.uint8)
    left = alternate(X, S)
    for _ in range(4):
        S, less = search_further(X, S, left, 2, STARTS, rng)
        assert less <= left
        left = less


def test_few_items_under_noise_are_read_nearly_as_by_a_decoder_that_knows_the_components():
    wrong = false = 0
    for seed in range(4):
        S, X = noisy(32, 7, 14, 0.17, 100 + seed)  # about 6 dB
        result = binary_recovery(BinaryAutoencoder(random_state=0).fit(X).concepts_, S)
        wrong, false = wrong + result.distances.mean(), false + result.false
    assert wrong / 4 < 2
    assert false <= 2


def test_concepts_that_the_rank_leaves_room_for_are_found_beside_the_known_ones():
    S, X = noisy(64, 6, 40, 0.1, 2)
    found = completed(features(X), S[:, :3].astype(np.uint8), 6, STARTS, np.random.RandomState(0))
    assert binary_recovery(found, S).exact == 6


@pytest.mark.parametrize(("p", "d"), [(16, 8), (32, 14)])
def test_noise_of_few_items_has_no_concepts(p, d):
    found = [found_in(np.random.default_rng(seed).standard_normal((p, d)), 0).shape for seed in range(6)]
    assert found == [(p, 0)] * 6


def test_few_items_of_one_gaussian_direction_have_no_concepts():
    X = np.outer(np.random.default_rng(0).standard_normal(30), [1.0, 2])
    assert found_in(X, 1).shape == (30, 0)


def test_the_same_seed_gives_the_same_bits():
    X = noisy(20, 4, 8, 0.2, 3)[1]
    first, second = (found_in(X, 0) for _ in range(2))
    assert first.shape[1]
    assert np.array_equal(first, second)


def test_there_is_no_number_of_items_at_which_concepts_are_lost():
    """At 6 dB the sampled search leaves room in the rank now and then: the joint search fills it at any size."""
    for p in (56, 63, 64, 65, 72):
        S, X = noisy(p, 9, 18, 0.17, 40)
        result = binary_recovery(BinaryAutoencoder(random_state=0).fit(X).concepts_, S)
        assert result.near == 9, p
        assert result.false == 0, p


def test_many_items_are_left_to_the_other_search():
    S, X = noisy(600, 30, 240, 0.3, 0)
    known = S[:, :3].astype(np.uint8)
    assert joint_concepts(features(X), known, 30, np.random.RandomState(0)) is known


def test_a_search_that_finds_fewer_concepts_than_before_comes_to_an_end(monkeypatch):
    """Rounds that gain a concept and lose it again used to go on for ever."""
    counts = iter([1, 2] * 1000)
    monkeypatch.setattr(adaptive_search, "independent", lambda U, states, limit: states[:, : next(counts)])
    U = adaptive_search.random_basis(40, 4, np.random.RandomState(0)).astype(np.float32)
    states, rounds = adaptive_search.adaptive_states(U, np.random.RandomState(0))
    assert states.shape[1] == 2
    assert rounds < 10
