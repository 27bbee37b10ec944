"""Which concepts a row has: the regressions, their calibration, sets, thresholds, and what a model does with them."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

import pellucid
from pellucid import ConceptSubspaces
from pellucid._core.arrays import unit_rows
from pellucid.concepts.crosswise import (
    BINS,
    bin_centres,
    bins_of,
    calibrated,
    chosen_penalties,
    doubted,
    drawn_folds,
    learn_crosswise,
)
from pellucid.concepts.logistic import Heads, Rows, losses
from pellucid.concepts.presence import best_thresholds, cosine_spread, learn_presence
from pellucid.rows import Blocks
from pellucid.solvers.quasi_newton import minimise_many
from support.oracles import planted_cones


def noisy_cones(n, noise=0.35, seed=0, dtype=np.float32):
    X, Y, *_ = planted_cones(n, 24, noise=0.1)
    X = X + noise * np.random.default_rng(seed).standard_normal(X.shape) / np.sqrt(24)
    return X.astype(dtype), Y


@pytest.fixture(scope="module")
def fitted():
    X, Y = noisy_cones(600)
    return X, Y, ConceptSubspaces(3, random_state=0).fit(X[:300], Y[:300], list("abcd"))


# solvers


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 6), st.integers(1, 8), st.floats(0, 4))
def test_quadratics_are_minimised_side_by_side(seed, count, width, digits):
    rng = np.random.default_rng(seed)
    spread = 10 ** (digits * rng.random((count, width)))
    goals = rng.standard_normal((count, width))

    def bowls(points, which):
        away = points - goals[which]
        return 1 + 0.5 * (spread[which] * away**2).sum(axis=1), spread[which] * away

    found = minimise_many(
        bowls, np.zeros((count, width)), lambda g, which: g / spread[which].mean(), tol=1e-10, max_passes=3000
    )
    assert found.converged
    np.testing.assert_allclose(found.values, 1, rtol=1e-7)


def test_a_function_that_cannot_be_lowered_ends():
    stuck = minimise_many(lambda p, which: (np.ones(len(p)), np.ones_like(p)), np.zeros((2, 3)), lambda g, which: g)
    assert not stuck.converged
    assert stuck.passes < 50


def test_losses_are_those_of_the_logistic_function():
    Z = np.array([[-800.0, -3, 0, 3, 800]] * 2)
    has = np.array([[True] * 5, [False] * 5])
    loss, slope = losses(Z.copy(), has)
    signs = np.where(has, -1, 1)
    np.testing.assert_allclose(loss, np.logaddexp(0, signs * Z), rtol=1e-12)
    h = 1e-6
    around = (np.logaddexp(0, signs * (Z + h)) - np.logaddexp(0, signs * (Z - h))) / (2 * h)
    np.testing.assert_allclose(slope, around, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("blocks", [None, 70])
def test_regressions_are_scikit_learns(dtype, blocks):
    X, Y = noisy_cones(300, dtype=dtype)
    fold = (np.arange(len(X)) % 3).astype(np.int8)
    source = Blocks.held(X) if blocks is None else Blocks(X, rows=blocks)
    penalty = np.array([1, 0.1, 0.01, 1, 0.1, 0.01])
    left_out = np.array([-1, -1, -1, 0, 1, 2])
    heads = Heads(np.array([0, 1, 2, 3, 0, 1]), penalty, left_out)
    found = Rows(source, Y, fold, 3).learn(heads)
    assert found.converged
    for i, (concept, weight, out) in enumerate(zip(heads.concept, penalty, left_out)):
        mine, has = X[fold != out].astype(np.float64), Y[fold != out, concept]
        peer = LogisticRegression(C=1 / weight, tol=1e-8, max_iter=5000).fit(mine, has)

        def loss(w, b, mine=mine, has=has, weight=weight):
            return np.logaddexp(0, np.where(has, -1, 1) * (mine @ w + b)).sum() + weight / 2 * w @ w

        best = loss(peer.coef_[0], peer.intercept_[0])
        assert loss(found.coef[i], found.intercept[i]) <= best * (1 + 1e-4)


def test_concepts_that_all_or_none_have_get_even_odds():
    X, Y = noisy_cones(60)
    Y = np.column_stack([np.ones(60, bool), np.arange(60) == 7])
    found = Rows(Blocks.held(X), Y, (np.arange(60) % 3).astype(np.int8), 3).learn(
        Heads(np.array([0, 1]), np.ones(2), np.array([-1, 7 % 3]))
    )
    assert not found.coef.any()  # the fold that is left out has the only row of the second
    np.testing.assert_allclose(found.intercept, [np.log(61 / 1), np.log(1 / 41)])


# folds, calibration, thresholds


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 5))
def test_every_fold_has_its_share_of_every_disjoint_concept(seed, n_folds):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 6, size=120)
    Y = labels[:, None] == np.arange(5)
    fold = drawn_folds(Y, n_folds, rng)
    for rows in (*Y.T, np.ones(120, bool)):
        shares = np.bincount(fold[rows], minlength=n_folds)
        assert shares.max() - shares.min() <= 1


def test_calibration_finds_the_slope_and_shift_of_logits():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((40_000, 2)) * [2, 1]
    has = rng.random(truth.shape) < 1 / (1 + np.exp(-truth))
    told = (truth - [0.5, -1]) * [0.5, 3]  # so slope 2 and shift .5; 1/3 and −1
    counts = np.zeros((2, 2, BINS), dtype=np.int64)
    for j in range(2):
        np.add.at(counts[j], (has[:, j].astype(int), bins_of(told[:, j])), 1)
    np.testing.assert_allclose(calibrated(counts), [[2, 0.5], [1 / 3, -1]], atol=0.06)


def test_one_row_calibrates_nothing():
    counts = np.zeros((1, 2, BINS), dtype=np.int64)
    counts[0, 1, bins_of(np.array(3.0))] = 1
    slope, shift = calibrated(counts)[0]
    assert abs(slope - 1) < 0.3
    assert abs(shift) < 0.3


def test_thresholds_have_the_best_f1():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, size=(6, 2, BINS))
    calibration = np.column_stack([rng.uniform(0.2, 2, 6), rng.normal(size=6)])
    found = best_thresholds(counts, calibration)
    for j in range(6):
        centres = calibration[j, 0] * bin_centres() + calibration[j, 1]
        f1 = []
        for edge in (*1 / (1 + np.exp(-(centres - 0.5 * calibration[j, 0] / 8))), found[j]):
            said = 1 / (1 + np.exp(-centres)) >= edge
            hit, wrong = counts[j, 1, said].sum(), counts[j, 0, said].sum()
            f1.append(2 * hit / (hit + wrong + counts[j, 1].sum()))
        assert f1[-1] == pytest.approx(max(f1))


def test_the_spread_of_cosines():
    assert cosine_spread(np.eye(3)) == 1  # all alike: nothing to measure by
    assert cosine_spread(np.eye(3)[:1]) == 1
    assert cosine_spread(np.array([[1.0, 0], [1, 0], [0, 1]])) == pytest.approx(np.std([1, 0, 0]))


# the model


def test_probabilities_rank_hold_and_decide(fitted):
    X, Y, model = fitted
    likely = model.predict_proba(X[300:])
    assert likely.shape == (300, 4)
    by_hand = [roc_auc_score(y, p) for y, p in zip(Y[300:].T, likely.T)]
    assert model.score(X[300:], Y[300:]) == pytest.approx(np.mean(by_hand))
    peers = [LogisticRegression(C=10).fit(model.prepare(X[:300]), y) for y in Y[:300].T]
    theirs = [roc_auc_score(y, p.decision_function(model.prepare(X[300:]))) for y, p in zip(Y[300:].T, peers)]
    assert np.mean(by_hand) > np.mean(theirs) - 0.01
    assert abs(likely.mean() - Y[300:].mean()) < 0.05
    assert (model.predict(X[300:]) == (likely >= model.presence_threshold_.astype(likely.dtype))).all()
    assert (model.predict(X[300:]) == Y[300:]).mean() > 0.85


def test_sets_cover_as_often_as_they_say(fitted):
    X, Y, model = fitted
    for coverage in (0.7, 0.9, 0.95):
        kept = model.predict_set(X[300:], coverage)
        right = np.take_along_axis(kept, Y[300:, :, None].astype(int), axis=2)[:, :, 0]
        assert right.mean() > coverage - 0.04
    narrow, wide = model.predict_set(X[300:], 0.7), model.predict_set(X[300:], 0.95)
    assert (narrow <= wide).all()
    for bad in (0, 1, np.nan, -1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            model.predict_set(X, bad)


def test_more_logit_is_more_yes_and_less_no(fitted):
    *_, model = fitted
    presence = model.presence_model
    smaller, larger = presence._quantiles()
    assert (np.diff(smaller, axis=1) >= 0).all()
    assert (np.diff(larger, axis=1) <= 0).all()


def test_scale_blocks_and_order_of_concepts_change_nothing(fitted):
    X, Y, model = fitted
    np.testing.assert_allclose(model.predict_proba(7 * X[:20]), model.predict_proba(X[:20]), atol=1e-5)
    lazy = model.predict_proba(Blocks(X, rows=100))
    np.testing.assert_allclose(np.concatenate(list(lazy)), model.predict_proba(X), atol=1e-6)
    told = np.concatenate(list(model.predict(Blocks(X, rows=100))))
    assert told.dtype == bool
    turned = clone(model).fit(X[:300], Y[:300, ::-1], list("dcba"))
    assert turned.score(X[300:], Y[300:, ::-1]) == pytest.approx(model.score(X[300:], Y[300:]), abs=0.01)


def test_rows_in_blocks_learn_the_same(fitted):
    X, Y, model = fitted
    rows = model.prepare(X[:300])
    whole = learn_presence(Blocks.held(rows), Y[:300], np.random.RandomState(0))
    parts = learn_presence(Blocks(rows, rows=64), Y[:300], np.random.RandomState(0))
    labels = learn_presence(
        Blocks(rows, rows=64), Blocks(Y[:300].astype(np.float64), rows=64), np.random.RandomState(0)
    )
    for other in (parts, labels):
        np.testing.assert_array_equal(whole.probabilities(rows), other.probabilities(rows))


def test_of_too_many_rows_some_are_enough(fitted, monkeypatch):
    X, Y, model = fitted
    rows = model.prepare(X)
    monkeypatch.setattr("pellucid.concepts.presence.NUMBERS", 200 * X.shape[1])
    some = learn_presence(Blocks(rows, rows=64), Y, np.random.RandomState(0))
    assert some.counts.sum() == 200 * 4
    assert np.mean([roc_auc_score(y, p) for y, p in zip(Y.T, some.probabilities(rows).T)]) > 0.9


def test_the_same_seed_gives_the_same_bits(fitted):
    X, Y, model = fitted
    again = clone(model).fit(X[:300], Y[:300], list("abcd"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_presence_survives_a_file_and_is_forgotten_with_its_cones(fitted, tmp_path):
    X, Y, model = fitted
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    other = clone(model).set_params(presence=False).fit(X[:300], Y[:300])
    for ask in (other.predict_proba, other.predict, other.predict_set):
        with pytest.raises(ValueError, match="fit_presence"):
            ask(X)
    other.fit_presence(X[:300], Y[:300])
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    other.partial_fit(X[:300], Y[:300])
    assert not other.knows_presence


def test_files_that_hold_a_gate_still_open(fitted, tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    X, Y, model = fitted
    model = clone(model).set_params(presence=False).fit(X[:300], Y[:300])
    pellucid.save(model, tmp_path / "new.safetensors")
    with safe_open(tmp_path / "new.safetensors", framework="numpy") as file:
        tensors, header = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    told = json.loads(header["pellucid"])
    header["pellucid"] = json.dumps({key: told[key] for key in told if key not in ("checksums", "sum")})  # of old
    gate = {"gate_coef_": np.ones((4, 32)), "gate_intercept_": np.ones(4), "gate_weights_": np.array([0.5, 3.0])}
    save_file(tensors | gate, tmp_path / "old.safetensors", header)
    old = pellucid.load(tmp_path / "old.safetensors")
    np.testing.assert_array_equal(old.transform(X), model.transform(X))
    assert not old.knows_presence


def test_a_grid_search_over_classes():
    X, Y = noisy_cones(200)
    search = GridSearchCV(ConceptSubspaces(center=False, max_iter=2), {"n_atoms": [1, 2]}, cv=3).fit(
        X, Y.argmax(axis=1)
    )
    assert 0.5 < search.best_score_ <= 1


@pytest.mark.parametrize("n", [2, 3, 7])
def test_few_rows_are_no_obstacle(n):
    X, Y = noisy_cones(40)
    Y = np.column_stack([np.ones(n, bool), np.arange(n) == 1, np.arange(n) != 0])
    model = ConceptSubspaces(1).fit(X[:n], Y)
    likely = model.predict_proba(X)
    assert np.isfinite(likely).all()
    assert (likely[:, 0] > 0.5).all()
    assert np.isfinite(model.predict_set(X, 0.9)).all()


def test_rows_of_zeros_and_of_huge_and_tiny_numbers():
    X, Y = noisy_cones(200, dtype=np.float64)
    X[3] = 0
    for factor in (1e-30, 1, 1e30):
        model = ConceptSubspaces(2, center=False).fit(factor * X, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(model.predict_proba(factor * X)).all()
        assert model.score(factor * X, Y) > 0.8


def test_concepts_with_few_rows_are_said():
    X, Y = noisy_cones(200)
    Y[:, 1] = np.arange(200) == 3
    Y[:, 2] = True
    with pytest.warns(UserWarning, match=r"'b' \(1 row\).*'c' \(all rows\)"):
        ConceptSubspaces(2).fit(X, Y, list("abcd"))


def test_wrong_labels_are_found(fitted):
    X, Y, model = fitted
    rng = np.random.default_rng(1)
    wrong = rng.random(Y.shape) < 0.08
    found = model.label_errors(X, Y ^ wrong)
    place = {name: j for j, name in enumerate(model.concept_names_)}
    columns = np.array([place[name] for name in found.concepts])
    assert (np.diff(found.doubt) <= 0).all()
    assert (found.doubt > 0.5).all()
    np.testing.assert_array_equal(found.given, (Y ^ wrong)[found.rows, columns])
    hits = wrong[found.rows, columns]
    assert hits[: wrong.sum() // 3].mean() > 0.85
    assert hits.sum() > 0.6 * wrong.sum()
    assert str(found).splitlines()[0].startswith(f"row {found.rows[0]} ")
    assert len(model.label_errors(X, Y)) < 0.7 * len(found)
    everything = model.label_errors(X, Y ^ wrong, least=0)
    assert len(everything) == Y.size
    np.testing.assert_array_equal(everything.rows[: len(found)], found.rows)
    with pytest.raises(ValueError, match="least"):
        model.label_errors(X, Y, least=2)


# parts


def test_parts_are_those_of_the_concepts_that_rows_have(fitted):
    X, _, model = fitted
    has = model.predict(X)
    codes = model.transform(X)
    np.testing.assert_allclose(codes, model.encode(X, has), atol=1e-6)
    assert not codes[~has[:, model.groups_]].any()
    np.testing.assert_allclose(model.shares(X), model.shares(X, has), atol=1e-6)
    np.testing.assert_allclose(model.components(X[:5]), model.components(X[:5], has[:5]), atol=1e-6)
    np.testing.assert_allclose(model.lengths(X), model.lengths(X, active=has), atol=1e-6)
    everything = model.encode(X, "all")
    np.testing.assert_allclose(everything, model.cones.encode(model.prepare(X)), atol=1e-6)
    assert (everything > 0).sum() > (codes > 0).sum()
    lazy = np.concatenate(list(model.shares(Blocks(X, rows=100))))
    np.testing.assert_allclose(lazy, model.shares(X), atol=1e-5)


def test_a_concept_may_be_called_all():
    X, Y = noisy_cones(100)
    model = ConceptSubspaces(2).fit(X, Y, ["all", "b", "c", "d"])
    alone = model.encode(X, ["all"])
    assert not alone[:, model.groups_ != 0].any()
    assert model.encode(X, "all")[:, model.groups_ != 0].any()


def test_many_atoms_and_many_rows_give_the_same(monkeypatch):
    X, Y = noisy_cones(150, dtype=np.float64)
    model = ConceptSubspaces(4, presence=False).fit(X, Y)
    rng = np.random.default_rng(0)
    active = rng.random(Y.shape) < 0.4
    plain = model.encode(X, active), model.shares(X, active)
    monkeypatch.setattr("pellucid.concepts.coding.MANY_ATOMS", 6)
    monkeypatch.setattr("pellucid.concepts.coding.DEARER", 0)
    monkeypatch.setattr("pellucid.concepts.cones.CODE_NUMBERS", 100)
    np.testing.assert_allclose(model.encode(X, active), plain[0], atol=1e-8)
    np.testing.assert_allclose(model.shares(X, active), plain[1], atol=1e-8)


# groups of rows, and labels that were put right


def siblings(n=90, seed=0):
    """Groups of four rows that share their labels and, beside what tells these, a way of their own."""
    X, Y = noisy_cones(n, noise=1.5, seed=seed)
    rng = np.random.default_rng(seed + 1)
    own = np.repeat(3 * rng.standard_normal((n, X.shape[1])) / np.sqrt(X.shape[1]), 4, axis=0)
    rows = np.repeat(X, 4, axis=0) + own + 0.2 * rng.standard_normal((4 * n, X.shape[1])) / np.sqrt(X.shape[1])
    return rows.astype(np.float32), np.repeat(Y, 4, axis=0), np.repeat(np.arange(n), 4)


def test_rows_of_one_group_share_a_fold_and_every_fold_has_its_share():
    _, Y, groups = siblings()
    fold = drawn_folds(Y, 5, np.random.RandomState(0), groups)
    assert (fold == fold[::4].repeat(4)).all()
    shares = np.array([Y[fold == k].mean(axis=0) for k in range(5)])
    assert np.abs(shares - Y.mean(axis=0)).max() < 0.2


def test_who_says_which_rows_are_siblings_is_not_told_too_surely():
    X, Y, groups = siblings()
    new, have = siblings(seed=7)[:2]
    losses = []
    for together in (None, np.array([f"source {g}" for g in groups])):
        model = ConceptSubspaces(2, presence=False, center=False).fit(X, Y).fit_presence(X, Y, groups=together)
        likely = np.clip(model.predict_proba(new), 1e-6, 1 - 1e-6)
        losses.append(-np.log(np.where(have, likely, 1 - likely)).mean())
    assert losses[1] < losses[0]
    again = ConceptSubspaces(2, center=False).fit(X, Y, groups=together)
    np.testing.assert_array_equal(again.presence_coef_, model.presence_coef_)
    with pytest.raises(ValueError, match="one entry for each of 360 rows"):
        model.fit_presence(X, Y, groups=groups[:-1])
    with pytest.raises(ValueError, match="one group"):
        model.label_errors(X, Y, groups=np.zeros(len(X)))


def test_labels_that_were_put_right_teach_what_they_are_judged_by():
    X, Y = noisy_cones(400)
    rng = np.random.default_rng(3)
    wrong = rng.random(Y.shape) < 0.15
    odds, against = doubted(X, Y ^ wrong, np.random.RandomState(0))
    found = learn_crosswise(unit_rows(X), Y ^ wrong, np.random.RandomState(0))
    once = np.where(Y ^ wrong, -1, 1) * found.logits(unit_rows(X))
    assert roc_auc_score(wrong.ravel(), against.ravel()) > roc_auc_score(wrong.ravel(), once.ravel())
    assert roc_auc_score(Y.ravel(), odds.ravel()) > 0.9


def test_labels_without_sense_are_not_turned_over_until_none_is_left():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 8)), np.column_stack([np.arange(60) < 3, np.arange(60) == 5])
    odds, against = doubted(X, Y, np.random.RandomState(0))
    assert np.isfinite(odds).all()
    assert np.isfinite(against).all()


def test_judges_have_the_penalty_that_was_chosen():
    X, Y = noisy_cones(300)
    data, fold = unit_rows(X), drawn_folds(Y, 5, np.random.RandomState(0))
    penalty, judges = chosen_penalties(data, Y, fold, 5, np.random.RandomState(0))
    assert set(penalty) <= {1.0, 0.1, 0.01}
    for k, j in ((0, 0), (3, 2)):
        outside = fold != k
        rival = LogisticRegression(C=1 / penalty[j], max_iter=5000, tol=1e-8).fit(data[outside], Y[outside, j])
        np.testing.assert_allclose(judges[k].coef[j], rival.coef_[0], atol=0.05 * np.abs(rival.coef_).max())


@pytest.mark.parametrize("missing", [None, np.nan])
def test_rows_without_a_group_are_refused(missing):
    X = np.random.default_rng(0).standard_normal((6, 3))
    with pytest.raises(ValueError, match="Row 2 has no group"):
        ConceptSubspaces(1).fit(X, list("ababab"), groups=[0.0, 1.0, missing, 0.0, 1.0, 2.0])
