"""Iterative assignment, local search and projections: trees are found, kept sums are right, the loss never rises."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import BinaryAutoencoder, IterativeAssignment
from pellucid._core.kernels import Kernel, box_descent
from pellucid.binary import CombinedConcepts, concept_projection, concept_weights, improve_concepts
from pellucid.binary.bit_flips import flip_gains, kernel_loss
from pellucid.binary.bits_and_components import unique_columns
from pellucid.binary.description_length import described
from pellucid.binary.incremental import FIRST, Assignment, all_cuts
from pellucid.binary.packed_bits import packed, shared_items, squared_sums
from pellucid.binary.significance import certain, standard_errors
from pellucid.binary.weights import (
    centred,
    concept_lengths,
    concept_overlaps,
    fit_weights,
    kernel_norm,
    unit_kernel,
)
from pellucid.metrics import binary_recovery
from pellucid.solvers import box_qp, set_threads
from support.binary_items import embed, random_bits, tree

GOLDEN = Path(__file__).parent / "golden" / "iterative_assignment.safetensors"


@parametrize_with_checks([IterativeAssignment(random_state=0), CombinedConcepts(max_attempts=1, random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("p", "order"), [(16, "given"), (24, "nearest"), (32, "random"), (48, "given")])
def test_nearly_every_concept_of_a_tree_is_found_exactly(p, order):
    """Four branches A, B, C, D explain what AB, AC and AD do as well, so no tree is the only exact answer."""
    exact = there = 0
    for seed in range(p, p + 4):
        S = tree(p, seed)
        model = IterativeAssignment(order=order, random_state=0).fit(embed(S, np.ones(S.shape[1]), 100))
        assert model.cka_ > 1 - 1e-8
        exact, there = exact + binary_recovery(model.concepts_, S).exact, there + S.shape[1]
    assert exact >= 0.9 * there


@pytest.mark.parametrize("n", [5, 8, 12])
@pytest.mark.parametrize("kind", [IterativeAssignment, CombinedConcepts])
def test_an_ordinal_line_keeps_its_steps(kind, n):
    """What no concepts can explain exactly is not noise where hardly anything is left to tell it by (paper 2, A.3)."""
    model = kind(random_state=0).fit(np.arange(float(n))[:, None])
    assert model.concepts_.shape[1] >= n // 2
    assert model.cka_ > 0.9


def test_a_tree_under_noise():
    S = tree(32, 3)
    X = embed(S, np.ones(S.shape[1]), 200)
    noise = np.random.default_rng(0).standard_normal(X.shape)
    X += noise * np.linalg.norm(X - X.mean(axis=0)) / np.linalg.norm(noise) / 10 ** (30 / 20)
    model = IterativeAssignment().fit(X)
    result = binary_recovery(model.concepts_, S)
    assert result.distances.mean() <= 0.1
    assert result.false <= 0.15 * S.shape[1]
    assert model.cka_ > 0.999


def test_branches_do_not_fit_worse():
    X = np.random.default_rng(0).standard_normal((24, 6))
    one = IterativeAssignment(random_state=0).fit(X)
    many = IterativeAssignment(4, random_state=0).fit(X)
    assert many.cka_ >= one.cka_ - 1e-6
    assert np.array_equal(many.concepts_, IterativeAssignment(4, random_state=0).fit(X).concepts_)


@settings(max_examples=10)
@given(st.integers(2, 14), st.integers(1, 5), st.integers(0, 100))
def test_what_is_kept_up_to_date_is_what_it_should_be(p, d, seed):
    X = np.random.default_rng(seed).standard_normal((p, d)) + 1
    cuts = all_cuts(min(FIRST, p))
    state = Assignment(X, cuts, np.zeros(cuts.shape[1]), 0.5, 0.02)
    S = state.run().astype(float)
    assert S.shape[0] == p
    assert np.array_equal(state.counts, S.T @ S)
    assert state.along == pytest.approx(S.T @ X)
    assert state.total == pytest.approx(X.sum(axis=0))
    assert np.sqrt(state.square) == pytest.approx(kernel_norm(X - X.mean(axis=0)))
    assert (state.weights >= 0).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("squared", [False, True])
def test_box_descent_agrees_with_the_exact_solver(seed, squared):
    rng = np.random.default_rng(seed)
    S = np.unique(rng.integers(0, 2, (30, 8)), axis=1).astype(np.uint8)
    overlaps, counts = concept_overlaps(S), shared_items(packed(S))
    b = len(counts)
    tilt = rng.standard_normal(b)
    H = overlaps**2 if squared else 3 * overlaps + 0.5 * np.outer(tilt, tilt)
    q, upper = rng.standard_normal(b) * H.diagonal(), rng.uniform(0.1, 1, b)
    z = rng.uniform(0, upper)
    box_descent(counts, counts.diagonal().copy(), 30, squared, 3.0, 0.5, tilt, q, upper, z)
    assert z == pytest.approx(box_qp(H, q, 0.0, upper).x, abs=1e-5)


def test_new_items_go_on_from_the_old_ones():
    S = tree(24, 8)
    X = embed(S, np.ones(S.shape[1]), 60)
    whole = IterativeAssignment().fit(X)
    parts = IterativeAssignment().partial_fit(X[:15]).partial_fit(X[15:20]).partial_fit(X[20:])
    assert binary_recovery(parts.concepts_, whole.concepts_).exact == whole.concepts_.shape[1]
    assert parts.cka_ == pytest.approx(whole.cka_, abs=1e-6)
    with pytest.raises(ValueError, match="precomputed"):
        IterativeAssignment(kernel="precomputed").fit(X @ X.T).partial_fit(X @ X.T)


def test_a_kernel_gives_what_its_items_give():
    S = tree(20, 2)
    X = embed(S, np.ones(S.shape[1]), 40)
    by_items, by_kernel = IterativeAssignment().fit(X), IterativeAssignment(kernel="precomputed").fit(X @ X.T)
    assert binary_recovery(by_kernel.concepts_, by_items.concepts_).exact == by_items.concepts_.shape[1]
    assert by_kernel.cka_ == pytest.approx(by_items.cka_)


@pytest.mark.parametrize("X", [np.ones((5, 3)), np.ones((1, 2)), np.eye(2), np.repeat(np.eye(3), 5, axis=0)])
def test_degenerate_items(X):
    model = IterativeAssignment().fit(X)
    assert set(np.unique(model.concepts_)) <= {0, 1}
    assert model.transform(X).shape == model.concepts_.shape


def test_saved_models_go_on(tmp_path):
    S = tree(16, 1)
    X = embed(S, np.ones(S.shape[1]), 40)
    model = IterativeAssignment().fit(X[:12])
    pellucid.save(model, tmp_path / "model.safetensors")
    loaded = pellucid.load(tmp_path / "model.safetensors").partial_fit(X[12:])
    assert np.array_equal(loaded.concepts_, model.partial_fit(X[12:]).concepts_)


def test_the_golden_file_still_loads():
    model = pellucid.load(GOLDEN)  # of the corners of a box
    assert binary_recovery(model.concepts_, np.array(list(product([0, 1], repeat=3)))).exact == 3
    combined = pellucid.load(GOLDEN.with_name("combined_concepts.safetensors"))  # of the same
    assert binary_recovery(combined.concepts_, np.array(list(product([0, 1], repeat=3)))).exact == 3


@settings(max_examples=25)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(0, 1000), st.sampled_from([0.0, 0.1]))
def test_the_gain_of_every_flip_is_exact(p, b, seed, sparsity):
    rng = np.random.default_rng(seed)
    features = centred(rng.standard_normal((p, 3)))
    features /= np.sqrt(kernel_norm(features))
    S, weights = rng.integers(0, 2, (p, b)).astype(np.uint8), rng.random(b)
    before = kernel_loss(features, S, weights, sparsity)
    H = np.eye(p) - 1 / p
    direct = np.linalg.norm(features @ features.T - H @ (S * weights) @ S.T @ H) ** 2
    assert before == pytest.approx(direct + sparsity * np.minimum(S.sum(axis=0), p - S.sum(axis=0)) @ weights)
    gains = flip_gains(features, S, weights, 0, sparsity)
    for i in range(p):
        flipped = S.copy()
        flipped[i, 0] ^= 1
        assert kernel_loss(features, flipped, weights, sparsity) - before == pytest.approx(gains[i], abs=1e-9)
    assert (np.linalg.eigvalsh(concept_overlaps(S)) > -1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_local_search_never_raises_the_loss_and_repairs_bits(seed):
    S = random_bits(40, 5, seed)
    X = embed(S, np.ones(5), 8, seed, noise=0.05)
    spoilt = S.copy()
    spoilt[np.arange(5), np.arange(5)] ^= 1
    found = improve_concepts(X, spoilt)
    assert (np.diff(found.losses) <= 1e-12).all()
    assert found.flips >= 5
    assert binary_recovery(found.concepts, S).exact == 5
    noise = improve_concepts(np.random.default_rng(seed).standard_normal((30, 4)), random_bits(30, 6, seed))
    assert (np.diff(noise.losses) <= 1e-12).all()
    assert noise.cka > 0
    assert improve_concepts(np.ones((5, 2)), np.eye(5)).concepts.shape == (5, 0)


def test_projection_averages_the_concepts_that_split_alike():
    S = random_bits(60, 6, 2)
    model = BinaryAutoencoder(random_state=0).fit(embed(S, np.arange(1.0, 7), 12))
    found = concept_projection(model, [0, 1, 2, 3])
    assert (found.patterns[:, 0] == 0).all()
    assert (np.diff(found.weights) <= 0).all()
    oriented = model.concepts_ ^ model.concepts_[0]
    for pattern, score, count in zip(found.patterns, found.scores.T, found.counts):
        group = oriented[:, (oriented[:4] == pattern[:, None]).all(axis=0)]
        assert group.shape[1] == count
        assert score == pytest.approx(group.mean(axis=1))
    with pytest.raises(ValueError, match="at least two positions"):
        concept_projection(model, [99, 1])


def test_shared_items_are_counted_exactly():
    for p, b in ((1, 1), (63, 5), (64, 70), (200, 130), (5000, 3)):
        S = random_bits(p, b, p).astype(np.uint8)
        expected = S.T.astype(int) @ S
        assert np.array_equal(shared_items(packed(S)), expected)
        for begin, end in ((0, b), (-3, b // 2), (b // 2, b + 3)):  # all rows, and two parts that go too far
            part = np.full((b, b), -1.0)
            Kernel("count_shared", "_baseline")(packed(S), part, begin, end)  # as on older processors
            rows = slice(max(begin, 0), end)
            assert np.array_equal(np.tril(part)[rows], np.tril(expected)[rows])
            assert np.array_equal(np.triu(part)[:, rows], np.triu(expected)[:, rows])


@pytest.mark.parametrize(("p", "b", "d"), [(1, 1, 1), (63, 5, 8), (64, 70, 65), (130, 9, 13), (400, 600, 200)])
def test_squared_sums_are_those_of_the_items_of_each_concept(p, b, d):
    rng = np.random.default_rng(p)
    S, X = rng.integers(0, 2, (p, b)).astype(np.uint8), rng.standard_normal((p, d))
    assert squared_sums(X, packed(S)) == pytest.approx(((S.T @ X) ** 2).sum(axis=1), rel=1e-12)


def test_the_combination_finds_a_tree_and_independent_concepts_and_its_description_gets_shorter():
    rng = np.random.default_rng(0)
    S = np.hstack([tree(24, 1), random_bits(24, 4, 1)])
    X = embed(S, np.ones(S.shape[1]), 80) + 0.01 * rng.standard_normal((24, 80))
    model = CombinedConcepts(random_state=0).fit(X)
    assert set(np.unique(model.concepts_)) == {0, 1}
    found = binary_recovery(model.concepts_, S)
    assert (found.exact, found.false) == (S.shape[1], 0)
    assert (np.diff(model.objective_) < 0).all()
    features = unit_kernel(centred(X))
    length = described(features, model.concepts_)[2]
    assert length == pytest.approx(model.objective_[-1])
    for alone in (IterativeAssignment(), BinaryAutoencoder(int(np.sqrt(48)), random_state=0)):
        assert length <= described(features, alone.fit(X).concepts_)[2]
    again = CombinedConcepts(random_state=0).fit(X)
    assert np.array_equal(model.concepts_, again.concepts_)


def test_the_combination_gives_the_same_bits_on_one_and_two_threads():
    S = np.hstack([tree(24, 1), random_bits(24, 4, 1)])
    X = embed(S, np.ones(S.shape[1]), 80) + 0.05 * np.random.default_rng(1).standard_normal((24, 80))
    found = []
    for threads in (1, 2):
        set_threads(threads)
        found.append((CombinedConcepts(random_state=0).fit(X), IterativeAssignment().fit(X)))
    set_threads(None)
    for one, two in zip(*found):
        assert np.array_equal(one.concepts_, two.concepts_)
        assert np.array_equal(one.weights_, two.weights_)


def test_a_shorter_description_needs_a_better_fit_for_every_further_concept():
    S = tree(24, 1).astype(np.uint8)
    X = embed(S, np.ones(S.shape[1]), 80) + 0.05 * np.random.default_rng(0).standard_normal((24, 80))
    features = unit_kernel(centred(X))
    true = described(features, S)[2]
    extra = unique_columns(np.hstack([S, random_bits(24, 30, 2).astype(np.uint8)]))
    used, weights, length = described(features, extra)
    assert used.shape[1] > S.shape[1]
    assert length > true
    assert kernel_loss(features, used, weights, 0.0) < kernel_loss(features, S, fit_weights(features, S, 0.0), 0.0)
    assert described(features, S[:, 1:])[2] > true


@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_standard_errors_are_those_of_repeated_noise(noise):
    S = tree(16, 1).astype(np.uint8)
    items = embed(S, np.ones(S.shape[1]), 60)
    fits, errors = [], []
    for seed in range(300):
        X = items + noise * np.random.default_rng(seed).standard_normal(items.shape)
        X = X - X.mean(axis=0)
        # without the bound at zero, which the formula does not know
        fits.append(np.linalg.solve(concept_overlaps(S) ** 2, concept_lengths(X, S)))
        errors.append(standard_errors(X, S, fits[-1]))
    assert np.mean(errors, axis=0) == pytest.approx(np.std(fits, axis=0), rel=0.25)


def test_what_noise_made_is_not_certain_and_true_concepts_are():
    S = tree(32, 3).astype(np.uint8)
    pool = unique_columns(np.hstack([S, random_bits(32, 40, 0).astype(np.uint8)]))
    items = embed(S, np.linspace(0.5, 1.5, S.shape[1]), 200)
    for noise in (0.0, 0.02):
        X = items + noise * np.random.default_rng(0).standard_normal(items.shape)
        found = binary_recovery(pool[:, certain(X - X.mean(axis=0), pool)], S)
        assert found.exact == S.shape[1]
        assert noise == 0 or found.false <= 1


def test_weak_leaves_of_a_large_tree_stay():
    S = tree(160, 0)
    X = embed(S, np.ones(S.shape[1]), 300)
    found = binary_recovery(IterativeAssignment().fit(X).concepts_, S)
    assert found.exact >= 0.98 * S.shape[1]  # a rule that stops at a share of the loss leaves a tenth out


def test_the_combination_is_saved_and_comes_back(tmp_path):
    X = embed(tree(12, 0), np.ones(tree(12, 0).shape[1]), 30)
    model = CombinedConcepts(random_state=0).fit(X)
    pellucid.save(model, tmp_path / "model.safetensors")
    loaded = pellucid.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.transform(X), model.transform(X))
    assert np.array_equal(loaded.objective_, model.objective_)


def test_weights_of_hundreds_of_dependent_tree_concepts_converge():
    S = tree(96, 5).astype(np.uint8)
    S = np.hstack(
        [S, 1 - S[:, ::3], np.eye(96, dtype=np.uint8)]
    )  # complements and repeated leaves: a singular Gram matrix
    X = embed(S[:, :100], np.ones(100), 120) + 0.01 * np.random.default_rng(0).standard_normal((96, 120))
    weights = concept_weights(X, S, 1e-3)  # a warning that it did not converge is an error here
    assert (weights >= 0).all()
    features = unit_kernel(centred(X))
    assert np.isfinite(kernel_loss(features, S, weights / kernel_norm(centred(X)), 1e-3))
