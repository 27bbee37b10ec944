"""Isometry pursuit: both stages, its baselines, and the estimator's manners."""

import math
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import pellucid
from pellucid import IsometryPursuit
from pellucid._core import kernels
from pellucid.metrics import isometry_loss
from pellucid.selection import brute_isometry, greedy_isometry
from pellucid.selection.losses import BASIS_PURSUIT, ISOMETRY, log_loss, log_symmetric_length
from pellucid.selection.search import EQUAL, Choice, Objective, best_choice, branch_and_bound, exhaustive, greedy, swap

GOLDEN = Path(__file__).parent / "golden" / "isometry_pursuit.safetensors"
GO_ON = np.zeros(1, dtype=np.int64)  # nobody asks a kernel to stop


@parametrize_with_checks([IsometryPursuit(), IsometryPursuit(second_stage="global", penalty=0.1)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def replicate(load, dimension, seed):
    """The authors' protocol: features standardised over all points, then half of the points."""
    X = load().data
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, :dimension]
    return X[np.random.RandomState(seed).choice(len(X), len(X) // 2, replace=False)]


def plain_greedy(X):
    """Section 6.1, word for word."""
    chosen = []
    for _ in range(X.shape[1]):
        others = [p for p in range(len(X)) if p not in chosen]
        losses = [float(isometry_loss(X[[*chosen, p]])) for p in others]
        chosen.append(others[int(np.argmin(losses))])
    return chosen


def orthonormal(D, rng):
    return np.linalg.qr(rng.standard_normal((D, D)))[0]


# the loss


def test_loss_of_one_value_by_hand():
    g = lambda t, c: (math.exp(t**c) + math.exp(t**-c)) / (2 * math.e)  # noqa: E731
    for t, c in ((0.5, 1), (3.0, 0.5), (2.0, 2)):
        assert isometry_loss([[t]], c) == pytest.approx(g(t, c))
        assert np.exp(log_symmetric_length(np.array([t]), c))[0] == pytest.approx(g(t, c))


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(0, 9999), st.floats(0.2, 3))
def test_loss_is_least_at_orthonormal_columns_and_blind_to_rotation_and_inversion(D, seed, power):
    rng = np.random.default_rng(seed)
    Q, X = orthonormal(D, rng), rng.standard_normal((D, D)) + 2 * np.eye(D)
    assert isometry_loss(Q, power) == pytest.approx(D)
    assert isometry_loss(X, power) >= D - 1e-9
    assert isometry_loss(Q @ X, power) == pytest.approx(isometry_loss(X, power), rel=1e-6)
    assert isometry_loss(np.linalg.inv(X), power) == pytest.approx(isometry_loss(X, power), rel=1e-4)


def test_loss_of_many_matrices_at_once_and_of_none():
    X = np.random.default_rng(0).standard_normal((3, 2, 3, 4))
    np.testing.assert_allclose(isometry_loss(X)[1, 1], isometry_loss(X[1, 1]))
    assert np.isinf(isometry_loss(np.zeros((2, 2))))
    with pytest.raises(ValueError, match=r"at most as many rows .* pass X\.T"):
        isometry_loss(np.ones((3, 2)))


@settings(max_examples=60)
@given(st.integers(2, 5), st.integers(0, 9999), st.sampled_from([ISOMETRY, BASIS_PURSUIT]), st.floats(0.3, 3))
def test_one_more_column_never_costs_less_than_the_floor(D, seed, kind, power):
    X = np.random.default_rng(seed).standard_normal((D, D))
    floor = 1.0 if kind == ISOMETRY else 1 / np.linalg.norm(X, axis=1).max()
    objective = Objective(X, D, kind, power, floor)
    losses = [objective.of(np.arange(k)) for k in range(1, D + 1)]
    for earlier, later in pairwise(losses):
        assert later >= np.logaddexp(earlier, np.log(floor)) - 1e-9 * max(1.0, abs(later))


def plain_log_loss(X, kind, power):
    """Of rows that are columns of the paper."""
    if kind == BASIS_PURSUIT:
        return np.log(np.linalg.norm(np.linalg.pinv(X.T), axis=1).sum())
    return np.logaddexp.reduce(log_symmetric_length(np.linalg.svd(X, compute_uv=False), power))


@settings(max_examples=60)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 9999), st.sampled_from([0, 1]), st.floats(0.3, 2))
def test_losses_of_subsets_of_one_more_and_of_exchanges_are_those_of_the_formula(D, n, seed, kind, power):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) + (n <= D) * np.eye(n, D)
    size = int(rng.integers(1, min(n, D) + 1))
    subsets = np.array([rng.permutation(n)[:size] for _ in range(5)])
    expected = [plain_log_loss(X[subset], kind, power) for subset in subsets]
    np.testing.assert_allclose(log_loss(X, subsets, kind, power), expected, rtol=1e-6, atol=1e-9)

    chosen, others = subsets[0], np.setdiff1d(np.arange(n), subsets[0])
    before, losses = chosen[:-1].copy(), np.full(n, -1.0)
    kernels.losses_of_one_more(X, before, kind, power, 1, n, GO_ON, losses)
    assert losses[0] == -1  # not asked for
    for p in range(1, n):
        if p not in before:
            assert losses[p] == log_loss(X, np.array([[*before, p]]), kind, power)[0]

    places = np.zeros(2, dtype=np.int64)
    found = kernels.best_exchange(X, chosen, kind, power, GO_ON, places)
    trials = [(out, p) for out in range(size) for p in others]
    if not trials:
        assert found == np.inf
        return
    changed = np.array([chosen] * len(trials))
    for row, (out, p) in zip(changed, trials):
        row[out] = p
    every = log_loss(X, changed, kind, power)
    assert found == pytest.approx(every.min(), rel=1e-12)
    assert every[trials.index(tuple(places))] == pytest.approx(found, rel=1e-12)


def test_columns_that_there_are_not_have_an_infinite_loss():
    X = np.eye(3)
    np.testing.assert_array_equal(log_loss(X, np.array([[0, 3], [-1, 0]]), ISOMETRY, 1.0), np.inf)
    losses, places = np.zeros(3), np.zeros(2, dtype=np.int64)
    kernels.losses_of_one_more(X, np.array([7]), ISOMETRY, 1.0, -5, 9, GO_ON, losses)
    np.testing.assert_array_equal(losses, np.inf)
    assert kernels.best_exchange(X, np.array([0, -2]), ISOMETRY, 1.0, GO_ON, places) == np.inf


def test_columns_that_depend_on_each_other_have_an_enormous_loss():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    pairs = np.array([[0, 1], [0, 2]])
    assert log_loss(X, pairs, BASIS_PURSUIT, 1.0)[0] == np.inf
    assert log_loss(X, pairs, ISOMETRY, 0.02)[0] > 300  # of 1e-300, and finite
    np.testing.assert_allclose(log_loss(X, pairs, ISOMETRY, 1.0), [1e150, np.log(2)])
    np.testing.assert_allclose(log_loss(X, pairs, ISOMETRY, 3.0), [np.inf, np.log(2)])


# search


def plain_branches(objective, start):
    """Branch and bound as the paper of its bound would have it: the choice, its loss, and how many were computed."""
    best, value, seen = start.columns, start.log_loss, 0

    def bound(loss, to_come):
        return np.logaddexp(loss, np.log(to_come * objective.floor)) if to_come else loss

    def visit(chosen, waiting):
        nonlocal best, value, seen
        left = objective.size - len(chosen)
        seen += len(waiting)
        losses = [(objective.of(np.array([*chosen, p])), p) for p in waiting]
        kept = sorted((each for each in losses if bound(each[0], left - 1) < value - EQUAL), key=lambda each: each[0])
        if left == 1:
            if kept:
                value, best = kept[0][0], np.sort([*chosen, kept[0][1]])
            return
        for at in range(len(kept) - left + 1):
            if bound(kept[at + left - 1][0], left - 1) >= value - EQUAL:
                return
            visit([*chosen, kept[at][1]], [p for _, p in kept[at + 1 :]])

    visit([], list(range(len(objective.columns))))
    return best, value, seen


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 9999), st.sampled_from([0, 1]), st.booleans())
def test_branch_and_bound_goes_as_it_is_written_and_breaks_ties_in_order(D, more, seed, kind, rough):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((D + more, D)) * rng.uniform(0.3, 2, (D + more, 1))
    if rough:  # many columns of the same loss
        X = X[rng.integers(0, 3 * D, D + more) % (D + more)]
    objective = Objective(X, D, kind, 1.0, 1.0 if kind == ISOMETRY else 1 / np.linalg.norm(X, axis=1).max())
    start = Choice(np.arange(D), np.inf, 0)
    found, (columns, value, seen) = branch_and_bound(objective, start, 10**7), plain_branches(objective, start)
    np.testing.assert_array_equal(found.columns, columns)
    assert found.log_loss == value
    assert found.evaluated == seen
    assert found.proven


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(0, 7), st.integers(0, 9999), st.sampled_from([ISOMETRY, BASIS_PURSUIT]))
def test_branch_and_bound_finds_what_trying_everything_finds(D, more, seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((D + more, D)) * rng.uniform(0.3, 2, (D + more, 1))
    objective = Objective(X, D, kind, 1.0, 1.0 if kind == ISOMETRY else 1 / np.linalg.norm(X, axis=1).max())
    every, proven = exhaustive(objective, 10**6), best_choice(objective, 10**7, np.random.RandomState(0))
    assert proven.proven
    assert proven.log_loss == pytest.approx(every.log_loss, rel=1e-9, abs=1e-9)
    assert every.evaluated == math.comb(D + more, D)


def test_search_that_may_not_finish_says_so_and_is_still_no_worse_than_greedy():
    X = np.random.default_rng(1).standard_normal((60, 7)) / 2
    objective = Objective(X, 7, ISOMETRY, 1.0, 1.0)
    found = best_choice(objective, 500, np.random.RandomState(0))
    assert not found.proven
    first = greedy(objective)
    assert found.log_loss <= swap(objective, first.columns, 500).log_loss + 1e-12 <= first.log_loss + 2e-12


def test_greedy_is_the_papers_greedy():
    for seed in range(5):
        X = replicate(load_wine, 5, seed)
        np.testing.assert_array_equal(greedy_isometry(X), plain_greedy(X))


def test_brute_is_the_global_optimum():
    X = replicate(load_iris, 4, 0)[:15]
    best = min(combinations(range(15), 4), key=lambda S: float(isometry_loss(X[list(S)])))
    np.testing.assert_array_equal(brute_isometry(X), best)


# the estimator


def test_the_two_figures_of_the_paper_on_iris_and_wine():
    losses = {"iris": [], "wine": []}
    for seed in range(25):
        for name, load, D in (("iris", load_iris, 4), ("wine", load_wine, 6)):
            X = replicate(load, D, seed)
            model = IsometryPursuit(second_stage="candidates").fit(X)
            greedy_loss = float(isometry_loss(X[greedy_isometry(X)]))
            assert model.optimal_
            assert model.duality_gap_ < 1e-12
            assert model.loss_ == pytest.approx(float(isometry_loss(X[model.selected_])))
            losses[name].append((greedy_loss, model.loss_, len(model.candidates_)))
    iris, wine = (np.array(losses[name]) for name in ("iris", "wine"))
    np.testing.assert_allclose(iris.mean(axis=0), [13.79, 6.89, 6.72], atol=0.01)  # the paper: 14, 6.9, 6.7
    np.testing.assert_allclose(wine.mean(axis=0), [7.67, 7.55, 13.48], atol=0.01)  # the paper: 7.7, 7.6, 13
    assert (iris[:, 0] > iris[:, 1] * (1 + 1e-9)).mean() == 0.96
    assert (wine[:, 0] > wine[:, 1] * (1 + 1e-9)).mean() == 0.56


def test_the_global_search_is_never_worse_than_either():
    for seed in range(10):
        X = replicate(load_iris, 4, seed)
        both = IsometryPursuit(second_stage="candidates").fit(X).loss_, float(isometry_loss(X[greedy_isometry(X)]))
        best = IsometryPursuit(second_stage="global").fit(X)
        assert best.loss_ <= min(both) * (1 + 1e-12)
        assert best.optimal_
        np.testing.assert_array_equal(best.selected_, brute_isometry(X))


@pytest.mark.parametrize("stage", ["auto", "candidates", "exhaustive", "swap", "global"])
@pytest.mark.parametrize("loss", ["isometry", "basis_pursuit"])
def test_every_second_stage_returns_a_loss_that_is_its_choices(stage, loss):
    X = replicate(load_wine, 4, 3)
    model = IsometryPursuit(second_stage=stage, second_stage_loss=loss).fit(X)
    assert model.optimal_ == (stage != "swap")
    if loss == "isometry":
        assert model.loss_ == pytest.approx(float(isometry_loss(X[model.selected_])))
    else:
        lengths = np.linalg.norm(X, axis=1)
        W = X.T / lengths / np.exp(log_symmetric_length(lengths, 1.0))
        assert model.loss_ == pytest.approx(np.linalg.norm(np.linalg.inv(W[:, model.selected_]), axis=1).sum())
        assert model.loss_ >= model.objective_[-1] * (1 - 1e-12)


def test_section_6_4_two_stages_reach_the_global_optimum_of_the_basis_pursuit_loss():
    for seed in range(6):
        X = replicate(load_iris, 4, seed)[:15]
        two = IsometryPursuit(second_stage_loss="basis_pursuit", second_stage="candidates").fit(X)
        everywhere = IsometryPursuit(second_stage_loss="basis_pursuit", second_stage="global").fit(X)
        assert two.loss_ == pytest.approx(everywhere.loss_, rel=1e-9)


@settings(max_examples=12)
@given(st.integers(2, 5), st.integers(0, 9999), st.floats(0.5, 2))
def test_a_planted_orthonormal_subset_among_thousands_is_found(D, seed, power):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2_000, D))
    planted = np.sort(rng.permutation(2_000)[:D])
    X[planted] = orthonormal(D, rng)
    model = IsometryPursuit(power).fit(X)
    assert set(planted) <= set(model.candidates_)
    assert model.loss_ == pytest.approx(D, rel=1e-9)
    assert model.optimal_
    np.testing.assert_array_equal(model.selected_, planted)


def test_several_orthonormal_subsets_are_all_candidates():
    rng = np.random.default_rng(0)
    X = np.vstack([orthonormal(4, rng), orthonormal(4, rng), 0.5 * rng.standard_normal((50, 4))])
    model = IsometryPursuit().fit(X)
    assert set(range(8)) <= set(model.candidates_)
    assert model.loss_ == pytest.approx(4)


def test_rotation_changes_nothing():
    rng = np.random.default_rng(0)
    X = replicate(load_wine, 5, 1)
    one, other = IsometryPursuit().fit(X), IsometryPursuit().fit(X @ orthonormal(5, rng))
    np.testing.assert_array_equal(one.candidates_, other.candidates_)
    np.testing.assert_array_equal(one.selected_, other.selected_)
    np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-8)


def test_coefficients_solve_the_normalised_system():
    X = replicate(load_wine, 6, 0)
    model = IsometryPursuit().fit(X)
    lengths = np.linalg.norm(X, axis=1)
    W = X.T / lengths / np.exp(log_symmetric_length(lengths, 1.0))
    np.testing.assert_allclose(W @ model.coef_.toarray(), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(model.weights_, np.linalg.norm(model.coef_.toarray(), axis=1))
    assert model.weights_.sum() == pytest.approx(model.objective_[-1])
    assert model.coef_.shape == (89, 6)
    assert model.coef_.nnz == 6 * len(model.min_norm_support_)


def test_penalty_uses_fewer_rows():
    X = replicate(load_wine, 6, 0)
    counts = [len(IsometryPursuit(penalty=p).fit(X).candidates_) for p in (0, 0.3, 0.6, 0.9)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def test_names_in_and_out():
    frame = pd.DataFrame(replicate(load_iris, 4, 0)).add_prefix("feature ")
    model = IsometryPursuit().fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    coordinates = model.set_output(transform="pandas").transform(frame)
    assert list(coordinates.columns) == list(model.get_feature_names_out()) == [f"isometrypursuit{k}" for k in range(4)]


def test_coordinates_in_the_chosen_rows_make_the_rows_again():
    X = replicate(load_iris, 4, 0)
    model = IsometryPursuit().fit(X)
    np.testing.assert_array_equal(model.components_, X[model.selected_])
    np.testing.assert_allclose(model.transform(X) @ model.components_, X, atol=1e-9)
    np.testing.assert_allclose(model.transform(X[model.selected_]), np.eye(4), atol=1e-9)


def test_rows_beside_the_space_of_the_chosen_ones_are_projected_onto_it():
    X = np.hstack([np.vstack([np.eye(2), np.full((1, 2), 0.4)]), np.zeros((3, 1))])
    model = IsometryPursuit().fit(X)
    np.testing.assert_allclose(model.transform([[2.0, 3.0, 7.0]]), [[2.0, 3.0]], atol=1e-12)


def test_who_passes_the_transpose_is_told():
    X = replicate(load_iris, 4, 0)
    with pytest.warns(UserWarning, match=r"X has 4 rows of 75 numbers.*pass X\.T"):
        IsometryPursuit().fit(X.T)


# degenerate input


def test_rank_below_the_dimension():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((40, 3)), np.zeros((40, 2))])
    lifted, flat = IsometryPursuit().fit(X @ orthonormal(5, rng)), IsometryPursuit().fit(X[:, :3])
    assert lifted.rank_ == 3
    np.testing.assert_array_equal(lifted.selected_, flat.selected_)
    assert lifted.loss_ == pytest.approx(flat.loss_)
    np.testing.assert_array_equal(brute_isometry(X), brute_isometry(X[:, :3]))


@pytest.mark.filterwarnings("ignore:X has 4 rows of 6 numbers")
def test_fewer_rows_than_dimensions():
    X = np.random.default_rng(0).standard_normal((4, 6))
    np.testing.assert_array_equal(IsometryPursuit().fit(X).selected_, np.arange(4))
    assert sorted(greedy_isometry(X)) == [0, 1, 2, 3]


def test_duplicates_share_the_weight_and_one_is_chosen():
    X = np.vstack([np.eye(3), np.eye(3)[:1]])
    model = IsometryPursuit().fit(X)
    np.testing.assert_array_equal(model.candidates_, [0, 1, 2, 3])
    np.testing.assert_allclose(model.weights_, [0.5, 1, 1, 0.5])
    np.testing.assert_array_equal(model.selected_, [0, 1, 2])


def test_zero_rows_never_enter():
    X = np.vstack([np.zeros((2, 3)), np.eye(3), np.zeros((1, 3))])
    for stage in ("auto", "global"):
        np.testing.assert_array_equal(IsometryPursuit(second_stage=stage).fit(X).selected_, [2, 3, 4])
    np.testing.assert_array_equal(brute_isometry(X), [2, 3, 4])


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e3, 1e20, 1e150])
@pytest.mark.parametrize("power", [0.1, 1.0, 10.0])
def test_no_length_and_no_power_overflows(scale, power):
    X = np.random.default_rng(0).standard_normal((20, 3)) * scale
    if power * abs(np.log10(scale)) > 300:
        with pytest.raises(ValueError, match="scale X, or lower the power"):
            IsometryPursuit(power).fit(X)
        return
    model = IsometryPursuit(power).fit(X)
    assert len(model.selected_) == 3
    assert np.isfinite(model.coef_.data).all()
    assert len(greedy_isometry(X, power)) == 3


@pytest.mark.parametrize("prepare", [np.float32, np.float16, np.asfortranarray, lambda X: X.repeat(2, axis=1)[:, ::2]])
def test_other_kinds_of_arrays(prepare):
    X = replicate(load_iris, 4, 0)
    np.testing.assert_array_equal(IsometryPursuit().fit(prepare(X)).selected_, IsometryPursuit().fit(X).selected_)


def test_memory_mapped_rows(tmp_path):
    X = replicate(load_iris, 4, 0)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(IsometryPursuit().fit(mapped).selected_, IsometryPursuit().fit(X).selected_)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 3)), "only zeros"),
        ([[1.0, np.nan]], "NaN"),
        ([[1.0, np.inf]], "infinity"),
        ([["a", "b"]], "convert string"),
        (np.empty((2, 0)), "0 feature"),
    ],
)
def test_bad_input_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        IsometryPursuit().fit(X)


@pytest.mark.parametrize("search", [greedy_isometry, brute_isometry])
def test_baselines_refuse_bad_input(search):
    with pytest.raises(ValueError, match="nan at row 0, column 1"):
        search([[1.0, np.nan]])
    with pytest.raises(ValueError, match="power must be a positive number"):
        search(np.eye(2), 0)


def test_exhaustive_search_refuses_what_nobody_would_wait_for():
    X = np.random.default_rng(0).standard_normal((500, 6))
    with pytest.raises(ValueError, match=r"There are \d+ subsets of 6 of \d+ columns, more than max_subsets=10"):
        IsometryPursuit(second_stage="exhaustive", max_subsets=10).fit(X)


def test_same_seed_same_choice_where_nothing_is_proven():
    X = np.random.default_rng(0).standard_normal((300, 8))
    one, other = (IsometryPursuit(max_subsets=100, max_seconds=None, random_state=3).fit(X) for _ in range(2))
    assert not one.optimal_
    np.testing.assert_array_equal(one.selected_, other.selected_)


def test_the_default_is_the_best_of_all_where_rows_are_few():
    for seed in range(5):
        X = replicate(load_iris, 4, seed)
        model = IsometryPursuit(max_seconds=None).fit(X)
        assert model.optimal_
        assert model.bound_ == model.loss_
        np.testing.assert_array_equal(model.selected_, brute_isometry(X))


@pytest.mark.parametrize("shape", [(3000, 12), (120, 60)])
def test_a_search_ends_in_time_with_a_bound(shape):
    X = np.random.default_rng(1).standard_normal(shape)
    model = IsometryPursuit(max_seconds=0.05, random_state=0).fit(X)
    assert not model.optimal_
    assert shape[1] <= model.bound_ < model.loss_ < np.inf  # orthonormal rows would cost 1 each
    assert model.loss_ == pytest.approx(float(isometry_loss(X[model.selected_])))
    assert len(set(model.selected_)) == shape[1]


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_one_whenever_the_search_ends(seed):
    """Some losses are allowed, all choices are tried: the best is not below the bound, nor above what was found."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 4))
    best = exhaustive(Objective(X, 4, ISOMETRY, 1.0, 1.0), 10**6).log_loss
    for losses in (1, 20, 60, 200, 10**6):
        objective = Objective(X, 4, ISOMETRY, 1.0, 1.0)
        found = branch_and_bound(objective, greedy(objective), losses)
        assert found.log_bound <= best + 1e-9 <= found.log_loss + 2e-9
    assert found.proven
    halted = Objective(X, 4, ISOMETRY, 1.0, 1.0, np.ones(1, dtype=np.int64))
    start = greedy(halted)
    assert len(set(start.columns)) == 4
    found = branch_and_bound(halted, start, 10**6)
    assert found.log_bound <= best + 1e-9
    assert not found.proven


# files


def test_a_saved_model_comes_back(tmp_path):
    X = replicate(load_iris, 4, 0)
    model = IsometryPursuit(second_stage="global").fit(X)
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert (again.coef_ != model.coef_).nnz == 0
    assert again.loss_ == model.loss_
    assert again.optimal_ is True


def test_the_golden_file_still_loads():
    model = pellucid.load(GOLDEN)
    np.testing.assert_array_equal(model.selected_, [0, 1])
    np.testing.assert_allclose(model.weights_, [1, 1, 0])
    assert model.coef_.shape == (3, 2)
    assert (model.n_samples_seen_, model.n_features_in_) == (3, 2)  # the file has its candidates in columns
    assert model.optimal_ is True
    with pytest.raises(AttributeError, match="without its chosen rows"):
        model.transform(np.eye(2))
