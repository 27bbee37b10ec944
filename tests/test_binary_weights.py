"""Weights of binary concepts, alignment of kernels, and recovery, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls as scipy_nnls

from pellucid.binary import concept_weights
from pellucid.binary.weights import centred, fit_weights, strongest, unit_kernel
from pellucid.metrics import binary_recovery, cka
from support.binary_items import embed, random_bits


def test_weights_of_an_exact_model_come_back():
    S = random_bits(40, 6)
    weights = np.array([3.0, 1, 0.5, 2, 0.1, 1])
    X = embed(S, weights, 9)
    assert concept_weights(X, S, sparsity=0) == pytest.approx(weights, rel=1e-6)
    assert concept_weights(1e-3 * X, S, sparsity=0) == pytest.approx(1e-6 * weights, rel=1e-6)


@settings(max_examples=25)
@given(st.integers(3, 12), st.integers(1, 7), st.integers(0, 1000), st.sampled_from([0.0, 1e-3, 0.1]))
def test_weights_are_the_minimum_of_equation_3(p, b, seed, sparsity):
    rng = np.random.default_rng(seed)
    S, X = rng.integers(0, 2, (p, b)), rng.standard_normal((p, 4))
    H = np.eye(p) - 1 / p
    K = H @ X @ X.T @ H
    K /= np.linalg.norm(K)
    parts = np.stack([np.outer(H @ s, H @ s).ravel() for s in S.T], axis=1)
    r = np.minimum(S.sum(axis=0), p - S.sum(axis=0))
    parts[:, r == 0] = 0  # instead of round-off

    def loss(pi):
        return np.sum((parts @ pi - K.ravel()) ** 2) + sparsity * r @ pi

    found = fit_weights(unit_kernel(centred(X)), S.astype(np.uint8), sparsity)
    assert (found >= 0).all()
    if sparsity == 0:
        assert loss(found) <= loss(scipy_nnls(parts, K.ravel())[0]) + 1e-8
    for _ in range(20):
        assert loss(found) <= loss(np.maximum(0, found + 0.1 * rng.standard_normal(b))) + 1e-8


def test_complement_and_order_do_not_matter():
    S, X = random_bits(30, 5, 1), np.random.default_rng(2).standard_normal((30, 6))
    weights = concept_weights(X, S)
    assert concept_weights(X, 1 - S) == pytest.approx(weights, abs=1e-9)
    assert concept_weights(X, S[:, ::-1])[::-1] == pytest.approx(weights, abs=1e-9)


def test_constant_concepts_and_equal_items_weigh_nothing():
    S = np.column_stack([np.ones(8), np.zeros(8), np.arange(8) % 2])
    assert (concept_weights(np.random.default_rng(0).standard_normal((8, 3)), S)[:2] == 0).all()
    assert (concept_weights(np.ones((8, 3)), S) == 0).all()


def test_only_the_concepts_that_the_fit_needs_are_kept():
    S = random_bits(64, 5, 3).astype(np.uint8)
    features = unit_kernel(centred(embed(S, np.array([5.0, 4, 3, 2, 1]), 5)))
    kept, weights = strongest(features, np.hstack([random_bits(64, 20, 4).astype(np.uint8), S]), 1e-5)
    assert np.array_equal(kept, S)
    assert (np.diff(weights) <= 0).all()
    assert strongest(features, S, 1e-5, limit=2)[0].shape == (64, 2)


@pytest.mark.parametrize(
    ("X", "S", "message"),
    [
        (np.ones((3, 2)), np.full((3, 1), 2), "0 and 1 only, but has 2 in row 0, column 0"),
        (np.ones((3, 2)), np.ones((4, 1)), "4 rows for 3 items"),
        (np.full((3, 2), np.nan), np.ones((3, 1)), "X"),
        (np.ones((3, 2)), np.ones(3), "one row per item"),
    ],
)
def test_bad_input_is_named(X, S, message):
    with pytest.raises(ValueError, match=message):
        concept_weights(X, S)


@pytest.mark.parametrize("shapes", [((9, 3), (9, 4)), ((5, 8), (5, 2))])
def test_cka_is_the_cosine_of_centred_kernels(shapes):
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal(shape) + 3 for shape in shapes)
    H = np.eye(len(X)) - 1 / len(X)
    K, Q = H @ X @ X.T @ H, H @ Y @ Y.T @ H
    assert cka(X, Y) == pytest.approx(np.sum(K * Q) / np.linalg.norm(K) / np.linalg.norm(Q))
    rotation = np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
    assert cka(X, 1e200 * (X @ rotation)) == pytest.approx(1)
    assert cka(X, np.full((len(X), 2), 0.1)) == 0


def test_recovery_counts_misses_and_false_concepts():
    true = random_bits(40, 4, 5)
    assert binary_recovery(1 - true[:, ::-1], true).exact == 4
    one_wrong = true.copy()
    one_wrong[0, 0] ^= 1
    found = np.column_stack([one_wrong[:, 0], true[:, 1], true[:, 1], random_bits(40, 1, 77)])
    result = binary_recovery(found, true)
    assert result.exact == 1
    assert result.near == 2
    assert result.false == 2
    assert sorted(result.distances)[:2] == [0, 1]
    nothing = binary_recovery(np.zeros((40, 0), dtype=int), true)
    assert (nothing.distances == np.minimum(true.sum(axis=0), 40 - true.sum(axis=0))).all()
    assert nothing.false == 0
    with pytest.raises(ValueError, match="0 and 1"):
        binary_recovery(0.5 * true, true)
    with pytest.raises(ValueError, match="same items"):
        binary_recovery(true[:5], true)
