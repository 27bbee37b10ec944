"""The binary autoencoder: bits are bits, exact structure is found exactly, noise yields nothing."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import pellucid
from pellucid import BinaryAutoencoder
from pellucid._core.kernels import nearest_bits, turn_bits
from pellucid.binary.bits_and_components import ROUNDS, distinct_concepts, orthogonal_components, refine_bits
from pellucid.binary.sign_vectors import chain_states, descend, energies, exhaustive_states
from pellucid.binary.spectrum import signal_rank, spectrum_of_items
from pellucid.metrics import binary_recovery, cka
from pellucid.solvers import set_threads
from support.binary_items import alternated, embed, own_part, random_bits

GOLDEN = Path(__file__).parent / "golden" / "binary_autoencoder.safetensors"


@parametrize_with_checks([BinaryAutoencoder(random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def noisy(S, d, noise, seed=0):
    return embed(S, np.ones(S.shape[1]), d, seed, noise)


def test_concepts_are_bits_and_the_model_reconstructs():
    S = random_bits(128, 8)
    X = noisy(S, 30, 0.05)
    model = BinaryAutoencoder(random_state=0).fit(X)
    assert set(np.unique(model.concepts_)) == {0, 1}
    assert (2 * model.concepts_.sum(axis=0) <= len(X)).all()
    assert binary_recovery(model.concepts_, S).exact == 8
    assert model.concepts_.shape[1] == model.rank_ == 8
    assert model.weights_ == pytest.approx(np.ones(8), rel=0.1)
    assert np.array_equal(model.transform(X), model.concepts_)
    assert np.abs(model.inverse_transform(model.concepts_) - X).max() < 0.4
    gram = model.components_ @ model.components_.T
    assert gram == pytest.approx(np.diag(gram.diagonal()), abs=1e-9)
    assert model.cka_ == pytest.approx(cka(X, model.concepts_ * np.sqrt(model.weights_)))


def test_new_items_get_their_bits():
    S = random_bits(300, 6, 1)
    X = noisy(S, 20, 0.05)
    model = BinaryAutoencoder(random_state=0).fit(X[:200])
    assert binary_recovery(model.transform(X[200:]), S[200:]).exact == 6


def test_removing_a_concept_leaves_the_others():
    X = noisy(random_bits(100, 5, 2), 12, 0.05)
    model = BinaryAutoencoder(random_state=0).fit(X)
    before, after = model.transform(X), model.transform(model.remove(X, 1))
    assert (after[:, 1] == 0).all()
    assert np.array_equal(np.delete(after, 1, axis=1), np.delete(before, 1, axis=1))
    assert np.ptp(model.remove(X, 1) @ model.components_[1]) < 1e-9
    with pytest.raises(ValueError, match="no concept 5"):
        model.remove(X, 5)


@pytest.mark.parametrize("acceptance", ["adaptive", "relative", "exhaustive"])
def test_a_hypercube_is_found_exactly(acceptance):
    S = np.array(list(product([0, 1], repeat=4)))
    model = BinaryAutoencoder(acceptance=acceptance, margin=0.01, random_state=0).fit(embed(S, np.arange(1.0, 5), 6))
    result = binary_recovery(model.concepts_, S)
    assert result.exact == 4
    assert result.false == 0
    assert model.cka_ == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_all_states_in_the_space_are_found_exhaustively(seed):
    S = random_bits(40, 5, seed)
    U = spectrum_of_items((X := noisy(S, 9, 0.0)) - X.mean(axis=0)).basis
    states = exhaustive_states(U)
    inside = states[:, energies(U, states) < 1e-9]
    assert binary_recovery((inside > 0).astype(int), S).exact == 5
    walked = chain_states(U, 64, 200, np.random.RandomState(seed))
    walked = walked[:, energies(U, walked) < 1e-9]
    assert {tuple(s) for s in walked.T} <= {tuple(s) for s in inside.T}
    assert binary_recovery((walked > 0).astype(int), S).exact == 5


def test_the_exhaustive_search_says_when_the_space_is_too_large():
    with pytest.raises(ValueError, match="2\\^rank"):
        BinaryAutoencoder(30, acceptance="exhaustive").fit(np.random.default_rng(0).standard_normal((40, 30)))


def test_hopfield_steps_never_raise_the_energy():
    rng = np.random.default_rng(0)
    U = np.linalg.qr((noise := rng.standard_normal((60, 7))) - noise.mean(axis=0))[0]
    states = np.where(rng.random((60, 50)) < 0.5, -1.0, 1.0)
    assert (energies(U, descend(U, states)) <= energies(U, states) + 1e-12).all()


@pytest.mark.parametrize(("p", "d"), [(64, 10), (100, 200), (200, 30)])
def test_noise_alone_has_no_concepts(p, d):
    found = [
        BinaryAutoencoder(random_state=0).fit(np.random.default_rng(seed).standard_normal((p, d))).concepts_.shape[1]
        for seed in range(5)
    ]
    assert found == [0] * 5


def test_full_rank_items_have_no_low_rank_concepts():
    model = BinaryAutoencoder(random_state=0).fit(np.random.default_rng(0).standard_normal((20, 40)))
    assert model.concepts_.shape[1] == 0
    assert BinaryAutoencoder(19, random_state=0).fit(np.random.default_rng(0).standard_normal((20, 40))).cka_ == 0


def test_each_bit_is_judged_without_its_own_part():
    """Against leaving every item out in turn, and fitting the directions again."""
    S = random_bits(600, 5, 3).astype(np.uint8)
    X = noisy(S, 40, 0.3)
    features = X - X.mean(axis=0)
    W, lengths = orthogonal_components(features, S)
    centred, along = S - S.mean(axis=0), features @ (W / lengths[:, None]).T
    squares = np.einsum("ij,ij->i", features, features)
    scores, bits = np.ascontiguousarray(along.T), np.ascontiguousarray(S.T)
    turn_bits(scores, squares, lengths, True, S.mean(axis=0), np.ascontiguousarray(centred.T), bits, bits.copy())
    own = along - scores.T
    assert own == pytest.approx(own_part(along, squares, centred, lengths), abs=1e-12)
    for i in range(0, 600, 70):
        turned = (centred * lengths).T @ features - np.outer(centred[i] * lengths, features[i])
        left, _, right = np.linalg.svd(turned, full_matrices=False)
        assert along[i] - left @ right @ features[i] == pytest.approx(own[i], abs=0.2 * np.abs(own[i]).max())


@pytest.mark.parametrize(("p", "b", "d"), [(9, 1, 3), (40, 3, 7), (130, 9, 30), (500, 21, 60)])
def test_bits_and_components_take_the_turns_that_a_plain_loop_takes(p, b, d):
    S = random_bits(p, b, p).astype(np.uint8)
    X = noisy(S, d, 0.4)
    start = S ^ (np.random.default_rng(0).random(S.shape) < 0.1)
    found = refine_bits(X - X.mean(axis=0), start)
    assert np.array_equal(found, distinct_concepts(alternated(X - X.mean(axis=0), start, ROUNDS, True)[0]))
    assert found.shape == S.shape
    assert not np.array_equal(found, distinct_concepts(start))


def test_a_concept_that_all_items_or_none_have_stays_and_spoils_nothing():
    S = random_bits(60, 5, 1).astype(np.uint8)
    X = noisy(S[:, 1:4], 12, 0.1)
    S[:, 0], S[:, 4] = 0, 1
    found = refine_bits(X - X.mean(axis=0), S)
    assert binary_recovery(found, S[:, 1:4]).exact == 3
    assert found.shape[1] == 4
    assert refine_bits(X - X.mean(axis=0), S[:, :0]).shape == (60, 0)
    assert np.array_equal(refine_bits(np.zeros((60, 3)), S[:, 1:4]), distinct_concepts(S[:, 1:4]))


@pytest.mark.parametrize(("p", "ratio", "noise"), [(64, 8, 0.7), (256, 2, 0.5)])
def test_bits_under_noise_are_nearly_those_of_a_decoder_that_knows_the_components(p, ratio, noise):
    wrong, oracle = 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        S = rng.integers(0, 2, (p, int(np.sqrt(2 * p)) - 1))
        b = S.shape[1]
        Q = np.linalg.qr(rng.standard_normal((ratio * b, b)))[0]
        X = S @ Q.T + noise * rng.standard_normal((p, ratio * b)) / 2 / np.sqrt(ratio)
        oracle += np.sum((X @ Q > 0.5) != S)
        result = binary_recovery(BinaryAutoencoder(random_state=0).fit(X).concepts_, S)
        assert result.false == 0
        wrong += result.distances.sum()
    assert wrong <= 3 * oracle + 8 * 4


def test_greedy_gives_more_concepts_than_dimensions_and_a_better_fit_with_each_batch():
    X = np.random.default_rng(0).standard_normal((80, 3))
    fits = [BinaryAutoencoder(acceptance="greedy", max_concepts=count, random_state=0).fit(X) for count in (3, 10, 30)]
    assert [model.concepts_.shape[1] <= count for model, count in zip(fits, (3, 10, 30))] == [True] * 3
    assert fits[2].concepts_.shape[1] > 10
    assert fits[0].cka_ < fits[1].cka_ < fits[2].cka_
    assert fits[2].cka_ > 0.84  # bits that a linear threshold cannot read would reach more
    again = BinaryAutoencoder(acceptance="greedy", max_concepts=30, random_state=0).fit(X)
    assert np.array_equal(again.concepts_, fits[2].concepts_)
    assert BinaryAutoencoder(acceptance="greedy").fit(np.ones((5, 3))).concepts_.shape == (5, 0)


def test_gaussian_factors_have_no_concepts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((128, 8)) @ rng.standard_normal((8, 50)) + 0.1 * rng.standard_normal((128, 50))
    model = BinaryAutoencoder(random_state=0).fit(X)
    assert model.rank_ == 8
    assert model.concepts_.shape == (128, 0)
    assert model.transform(X[:3]).shape == (3, 0)
    assert model.cka_ == 0


def test_order_and_shift_of_items_do_not_matter():
    S = random_bits(80, 6, 4)
    X, order = noisy(S, 15, 0.1), np.random.default_rng(0).permutation(80)
    first = BinaryAutoencoder(random_state=0).fit(X)
    second = BinaryAutoencoder(random_state=3).fit(1e3 * X[order] - 7)
    assert binary_recovery(second.concepts_, first.concepts_[order]).exact == 6
    assert second.concepts_.shape[1] == 6


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    X = noisy(random_bits(256, 15, 5), 30, 0.4)
    found = []
    for threads in (1, 2):
        set_threads(threads)
        with threadpool_limits(threads):
            found.append(BinaryAutoencoder(random_state=7).fit(X))
    set_threads(None)
    assert np.array_equal(found[0].concepts_, found[1].concepts_)
    assert np.array_equal(found[0].weights_, found[1].weights_)


def test_a_kernel_gives_what_its_items_give():
    S = random_bits(90, 6, 6)
    X = noisy(S, 40, 0.02)
    by_items = BinaryAutoencoder(6, random_state=0).fit(X)
    model = BinaryAutoencoder(6, kernel="precomputed", random_state=0).fit(X @ X.T)
    assert binary_recovery(model.concepts_, by_items.concepts_).exact == 6
    assert model.cka_ == pytest.approx(by_items.cka_, rel=1e-6)
    assert np.array_equal(model.transform(X @ X.T), model.concepts_)
    with pytest.raises(ValueError, match="precomputed kernel"):
        model.remove(X @ X.T, 0)
    with pytest.raises(ValueError, match="symmetric square"):
        BinaryAutoencoder(kernel="precomputed").fit(X)


def test_exclusive_classes_are_concepts_although_they_depend_on_each_other():
    S = np.eye(4, dtype=int)[np.arange(32) % 4]
    model = BinaryAutoencoder(random_state=0).fit(embed(S, np.ones(4), 6, noise=0.01))
    assert model.cka_ > 0.99


def test_more_concepts_than_dimensions():
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = BinaryAutoencoder(acceptance="relative", margin=0.5, n_chains=64, max_iter=60, random_state=0).fit(X)
    assert model.concepts_.shape[1] > 3
    assert model.cka_ > 0.6
    rebuilt = model.inverse_transform(model.concepts_)
    assert np.linalg.norm(rebuilt - X) < 0.7 * np.linalg.norm(X - X.mean(axis=0))
    few = BinaryAutoencoder(
        acceptance="relative", margin=0.5, n_chains=64, max_iter=60, max_concepts=2, random_state=0
    ).fit(X)
    assert few.concepts_.shape[1] == 2


@pytest.mark.parametrize(
    "X",
    [
        np.ones((5, 3)),
        np.ones((1, 4)),
        np.outer(np.arange(6) % 2, np.ones(3)),
        np.repeat(np.eye(3), 4, axis=0),
        np.c_[np.arange(8) % 2, np.ones(8)].astype(np.float16),
        np.asfortranarray(np.arange(8.0).reshape(4, 2)),
        1e-100 * np.outer(np.arange(6) % 2, np.ones(3)),
        1e100 * np.outer(np.arange(6) % 2, np.ones(3)),
    ],
)
def test_degenerate_items(X):
    model = BinaryAutoencoder(random_state=0).fit(X)
    assert set(np.unique(model.concepts_)) <= {0, 1}
    assert np.isfinite(model.components_).all()
    assert model.transform(X).shape == model.concepts_.shape


def test_the_only_concept_of_rank_one_items():
    bits = np.array([0, 1, 1, 0, 1, 0, 0])
    model = BinaryAutoencoder(random_state=0).fit(np.outer(bits, [1.0, 2, 3]) + 5)
    assert np.array_equal(model.concepts_, bits[:, None])
    assert model.components_[0] == pytest.approx([1, 2, 3])
    assert model.intercept_ == pytest.approx([5, 5, 5])


def test_rank_is_read_from_the_spectrum():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((200, 50))
    signal = rng.standard_normal((200, 7)) @ np.linalg.qr(rng.standard_normal((50, 7)))[0].T
    for size, rank in ((0.0, 0), (5.0, 7)):
        x = noise + size * signal
        values = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
        assert signal_rank(values, 200, 50) == rank


def test_nearest_bits_agree_with_trying_all():
    rng = np.random.default_rng(0)
    W = np.linalg.qr(rng.standard_normal((8, 5)))[0].T * rng.uniform(0.5, 2, 5)[:, None]
    X = rng.standard_normal((30, 8))
    every = np.array(list(product([0, 1], repeat=5)))
    best = every[np.argmin(((X[:, None] - every @ W) ** 2).sum(axis=2), axis=1)]
    bits = np.zeros((30, 5), dtype=np.uint8)
    nearest_bits(W @ W.T, np.ascontiguousarray(X @ W.T), bits)
    assert np.array_equal(bits, best)


@pytest.mark.parametrize("b", [1, 4, 6, 13])
def test_nearest_bits_stop_where_no_single_flip_helps(b):
    rng = np.random.default_rng(b)
    W, X = rng.standard_normal((b, 7)), rng.standard_normal((40, 7))
    bits = rng.integers(0, 2, (40, b)).astype(np.uint8)
    loss = lambda bits: np.sum((X - bits @ W) ** 2, axis=1)  # noqa: E731
    before = loss(bits)
    nearest_bits(W @ W.T, np.ascontiguousarray(X @ W.T), bits)
    assert set(np.unique(bits)) <= {0, 1}
    assert (loss(bits) <= before).all()
    assert (loss(bits) < before).any()
    for j in range(b):
        flipped = bits.copy()
        flipped[:, j] ^= 1
        assert (loss(flipped) >= loss(bits) - 1e-9).all()


def test_saved_models_come_back(tmp_path):
    X = noisy(random_bits(50, 4, 8), 10, 0.02)
    model = BinaryAutoencoder(random_state=0).fit(X)
    pellucid.save(model, tmp_path / "model.safetensors")
    loaded = pellucid.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.transform(X), model.transform(X))
    assert loaded.cka_ == model.cka_


def test_the_golden_file_still_loads():
    model = pellucid.load(GOLDEN)
    S = np.array(list(product([0, 1], repeat=3)))
    assert binary_recovery(model.concepts_, S).exact == 3
    assert np.array_equal(model.transform(S * [3.0, 2.0, 1.0]), model.concepts_)


def test_concepts_that_stand_out_do_not_hide_the_weaker_ones():
    rng = np.random.default_rng(0)
    S = rng.integers(0, 2, (256, 12))
    W = np.linalg.qr(rng.standard_normal((12, 12)))[0] * np.where(np.arange(12) < 4, 2.0, 1.0)[:, None]
    items = S @ W + 0.01 * rng.standard_normal((256, 12))
    assert 0 < signal_rank(np.linalg.svd(items - items.mean(axis=0), compute_uv=False), 256, 12) < 12
    assert binary_recovery(BinaryAutoencoder(random_state=0).fit(items).concepts_, S).exact == 12


def test_a_model_in_single_precision_reads_bits_as_well():
    """A file may hold its numbers in another type or order than a fit leaves them in."""
    X = noisy(random_bits(50, 4, 8), 10, 0.02)
    model = BinaryAutoencoder(random_state=0).fit(X)
    bits = model.transform(X)
    model.overlaps_ = np.asfortranarray(model.overlaps_, dtype=np.float32)
    assert np.array_equal(model.transform(X), bits)
