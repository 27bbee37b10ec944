"""Few items under noise: concepts are found together, and noise of the same spectrum is the judge."""

import numpy as np
import pytest

from pellucid import BinaryAutoencoder
from pellucid.binary.bits_and_components import orthogonal_components
from pellucid.binary.joint_search import few_concepts, filled, searched, settle_bits
from pellucid.binary.spectrum import spectrum_of_items
from pellucid.metrics import binary_recovery
from support.binary_items import embed, random_bits


def features(X):
    return spectrum_of_items(X - X.mean(axis=0)).normalised()[0].features


def noisy(p, b, d, noise, seed):
    S = random_bits(p, b, seed)
    return S, embed(S, np.ones(b), d, seed, noise)


def test_what_is_left_is_what_the_components_leave():
    X, bits = features(noisy(24, 4, 10, 0.2, 0)[1]), random_bits(24, 4, 9).astype(np.uint8)
    left = settle_bits(X, bits)  # to a fixed point, so the bits belong to the components
    W = orthogonal_components(X, bits)[0]
    residual = X - (bits - bits.mean(axis=0)) @ W
    assert left == pytest.approx(np.sum(residual**2) / np.sum(X**2), abs=1e-3)


def test_further_search_leaves_no_more_than_before():
    X, rng = features(noisy(32, 5, 10, 0.3, 1)[1]), np.random.RandomState(0)
    S = random_bits(32, 5, 7).astype(np.uint8)
    left = settle_bits(X, S)
    for _ in range(4):
        S, less = searched(X, S, left, 2, rng)
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


def test_concepts_that_the_rank_leaves_room_for_are_filled_in():
    S, X = noisy(64, 6, 40, 0.1, 2)
    found = filled(features(X), S[:, :3].astype(np.uint8), 6, np.random.RandomState(0))
    assert binary_recovery(found, S).exact == 6


@pytest.mark.parametrize(("p", "d"), [(16, 8), (32, 14)])
def test_noise_of_few_items_has_no_concepts(p, d):
    found = [
        few_concepts(features(np.random.default_rng(seed).standard_normal((p, d))), 0, np.random.RandomState(0)).shape
        for seed in range(6)
    ]
    assert found == [(p, 0)] * 6


def test_few_items_of_one_gaussian_direction_have_no_concepts():
    X = np.outer(np.random.default_rng(0).standard_normal(30), [1.0, 2])
    assert few_concepts(features(X), 1, np.random.RandomState(0)).shape == (30, 0)


def test_the_same_seed_gives_the_same_bits():
    X = features(noisy(20, 4, 8, 0.2, 3)[1])
    first, second = (few_concepts(X, 0, np.random.RandomState(5)) for _ in range(2))
    assert np.array_equal(first, second)
