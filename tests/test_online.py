"""Online learning of cones: codes with a price, sums that forget, atoms, and what a fit makes of them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import pellucid
from pellucid import ConceptSubspaces
from pellucid.concepts.coding import solve_codes
from pellucid.concepts.learning import Learner, sample_atoms
from pellucid.concepts.online import (
    MOST_SPARSITY,
    atoms_that_hold,
    chosen_sparsity,
    forgotten,
    settled,
    taken_step,
)
from pellucid.concepts.sums import code_sums, reseed, turn_atoms
from pellucid.rows import Blocks
from pellucid.solvers import lasso
from support.oracles import planted_cones


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def recovered(model, atoms, groups):
    """Mean cosine of each planted atom with the nearest learned atom of its concept."""
    return np.mean(
        [
            (model.atoms_[model.groups_ == j] @ unit(atoms[groups == j]).T).max(axis=0).mean()
            for j in range(groups.max() + 1)
        ]
    )


# codes


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.floats(0.01, 0.5), st.floats(-3, 3))
def test_codes_with_a_price_are_those_of_the_lasso_of_each_row(seed, price, digits):
    X, Y, atoms, groups = planted_cones(30, 8, noise=0.2, seed=seed)
    X = X * 10**digits
    found = solve_codes(X, Y, atoms, groups, sparsity=price)
    assert not found[~Y[:, groups]].any()
    for row, code, has in zip(X, found, Y[:, groups]):
        length = np.linalg.norm(row)
        wanted = lasso(row[None] / length, atoms[has], price, positive=True).codes[0]
        np.testing.assert_allclose(code[has], length * wanted, atol=1e-6 * length)


@pytest.mark.parametrize("sparsity", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_use_few_of_many_atoms_have_the_same_codes(monkeypatch, sparsity, dtype):
    X, Y, atoms, groups = planted_cones(80, 30, 12, 3, noise=0.2)
    X, atoms = (3 * X).astype(dtype), unit(atoms).astype(dtype)
    Y[5] = False
    whole = solve_codes(X, Y, atoms, groups, 0.1, sparsity=sparsity)
    monkeypatch.setattr("pellucid.concepts.coding.MANY_ATOMS", 4)
    thin = solve_codes(X, Y, atoms, groups, 0.1, sparsity=sparsity, thin=True)
    assert sparse.issparse(thin)
    assert not thin[[5]].nnz
    close = 1e-8 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(thin.toarray(), whole, atol=close)
    again = solve_codes(X, Y, atoms, groups, 0.1, init=whole, sparsity=sparsity)
    np.testing.assert_allclose(again, whole, atol=close)
    assert not sparse.issparse(solve_codes(X, np.ones_like(Y), atoms, groups, 0.1, thin=True))  # they use all


def test_rows_without_a_concept_have_no_codes():
    X, Y, atoms, groups = planted_cones(5, 8)
    assert not solve_codes(X, np.zeros_like(Y), atoms, groups).any()


# sums and atoms


def plain_turn(P, R, B):
    """The atom step as it is printed."""
    B = B.copy()
    for m in range(len(B)):
        if P[m, m] > 0:
            new = B[m] + (R[m] - P[m] @ B) / P[m, m]
            B[m] = new / np.linalg.norm(new)
    return B


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 5), st.integers(1, 4), st.integers(1, 9))
def test_atoms_turn_as_printed(seed, n_concepts, per_concept, d):
    rng = np.random.default_rng(seed)
    M = n_concepts * per_concept
    A = rng.exponential(size=(20, M)) * (rng.random((20, M)) < 0.4)
    A[:, rng.integers(M)] = 0
    X, B = rng.standard_normal((20, d)), unit(rng.standard_normal((M, d)))
    groups = np.repeat(np.arange(n_concepts), per_concept)
    wanted = plain_turn(A.T @ A, A.T @ X, B)
    for grams in (A.T @ A, sparse.csr_array(A.T @ A)):
        found = B.copy()
        longest = turn_atoms(grams, A.T @ X, found, groups)
        np.testing.assert_allclose(found, wanted, atol=1e-9)
        assert np.linalg.norm(found - B, axis=1).max() == pytest.approx(longest, abs=1e-9)
    assert np.square(X - A @ wanted).sum() <= np.square(X - A @ B).sum() + 1e-9


def test_sums_are_the_same_dense_and_sparse_with_and_without_the_worst_rows(monkeypatch):
    X, Y, atoms, groups = planted_cones(300, 12, noise=0.3)
    learner = Learner(unit(atoms), groups, sparsity=0.05)
    dense, light = code_sums(learner, (X, Y)), code_sums(learner, (X, Y), worst=False)
    monkeypatch.setattr("pellucid.concepts.coding.MANY_ATOMS", 1)
    monkeypatch.setattr("pellucid.concepts.coding.DEARER", 0)
    thin, lean = code_sums(learner, (X, Y)), code_sums(learner, (X, Y), worst=False)
    assert lean.error == pytest.approx(dense.error)
    codes = learner.codes(X, Y)
    np.testing.assert_allclose(dense.grams, codes.T @ codes, atol=1e-9)
    np.testing.assert_allclose(thin.grams.toarray(), dense.grams, atol=1e-9)
    np.testing.assert_allclose(thin.products, dense.products, atol=1e-9)
    assert light.worst is None
    assert light.error == pytest.approx(dense.error)
    lengths = np.linalg.norm(X, axis=1)
    assert dense.price == pytest.approx(0.1 * (lengths[:, None] * codes).sum())
    both = light + light
    assert both.worst is None
    assert both.price == pytest.approx(2 * light.price)


def test_idle_atoms_take_one_row_a_concept_and_are_forgotten():
    X, Y, atoms, groups = planted_cones(100, 12)
    sums = code_sums(Learner(unit(atoms), groups), (X, Y))
    B, idle = unit(atoms), np.isin(np.arange(12), [0, 1, 5])
    given_atoms = reseed(B, idle, groups, sums)
    assert given_atoms == [0, 5]
    np.testing.assert_allclose(np.linalg.norm(B, axis=1), 1)
    for grams in (sums.grams, sparse.csr_array(sums.grams)):
        rest = forgotten(grams, given_atoms)
        rest = rest.toarray() if sparse.issparse(rest) else rest
        assert not rest[given_atoms].any()
        assert not rest[:, given_atoms].any()
        kept = np.setdiff1d(np.arange(12), given_atoms)
        np.testing.assert_allclose(rest[np.ix_(kept, kept)], sums.grams[np.ix_(kept, kept)])


def test_a_fit_has_settled_when_two_passes_changed_nothing():
    assert not settled([1, 1], 0.1)
    assert not settled([2, 1, 1], 0.1)
    assert not settled([3, 2, 1.0, 0.99], 0.1)
    assert settled([3, 1.0, 0.99, 0.98], 0.1)


# fits


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_planted_cones_are_found_better_than_by_the_papers_way(dtype):
    X, Y, atoms, groups = planted_cones(2000, 40, 6, 4, noise=0.05)
    ours = ConceptSubspaces(4, center=False, presence=False).fit(X.astype(dtype), Y)
    theirs = ConceptSubspaces(4, update="svd", center=False, presence=False).fit(X.astype(dtype), Y)
    assert recovered(ours, atoms, groups) > max(0.97, recovered(theirs, atoms, groups))
    assert ours.atoms_.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(ours.atoms_, axis=1), 1, rtol=1e-5)
    assert ours.objective_[-1] < ours.objective_[0]


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**30])
def test_the_scale_of_rows_changes_no_atom(factor):
    X, Y, *_ = planted_cones(300, 12, noise=0.1)
    one, other = (ConceptSubspaces(3, center=False, presence=False).fit(s * X, Y) for s in (1.0, factor))
    np.testing.assert_allclose(other.atoms_, one.atoms_, atol=1e-12)
    assert other.sparsity_ == one.sparsity_


def test_the_price_is_chosen_by_how_rows_spread():
    rng = np.random.default_rng(0)
    wide, narrow = rng.standard_normal((500, 6)), rng.standard_normal((500, 2000))
    assert chosen_sparsity(wide) == MOST_SPARSITY
    assert chosen_sparsity(narrow) == pytest.approx(0.5 / np.sqrt(2000), rel=0.05)
    assert chosen_sparsity(1e6 * narrow) == pytest.approx(chosen_sparsity(narrow))
    model = ConceptSubspaces(2, sparsity=0.3, presence=False).fit(narrow, np.arange(500) % 2)
    assert model.sparsity_ == 0.3


def test_blocks_learn_as_well_and_the_same_bits_each_time():
    X, Y, atoms, groups = planted_cones(1500, 24, noise=0.05)
    one, two = (
        ConceptSubspaces(3, center=False, presence=False, max_iter=20, tol=0).fit(Blocks(X, rows=60), Y)
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.atoms_, two.atoms_)
    held = ConceptSubspaces(3, center=False, presence=False, max_iter=20, tol=0).fit(X, Y)
    assert one.objective_[-1] < 1.1 * held.objective_[-1]
    assert recovered(one, atoms, groups) > recovered(held, atoms, groups) - 0.05


def test_a_pass_reads_every_block_once():
    X, Y, *_ = planted_cones(600, 12)
    read = []

    def counted(block):
        read.append(len(block))
        return block

    blocks = Blocks(X, rows=50).map(counted, X.shape[1])
    ConceptSubspaces(3, center=False, presence=False, max_iter=4, tol=0).fit(blocks, Y)
    # the cosines of some rows, the start, an error for it from some parts, and a pass each
    assert (4 + 2) * len(X) <= sum(read) <= (4 + 3) * len(X)


def test_codes_that_are_sparse_make_the_same_fit(monkeypatch):
    X, Y, *_ = planted_cones(400, 12, noise=0.1)
    make = lambda: ConceptSubspaces(3, center=False, presence=False, max_iter=3).fit(X, Y)  # noqa: E731
    dense = make()
    monkeypatch.setattr("pellucid.concepts.online.SPARSE_ATOMS", 1)
    monkeypatch.setattr("pellucid.concepts.coding.MANY_ATOMS", 1)
    monkeypatch.setattr("pellucid.concepts.coding.DEARER", 0)
    np.testing.assert_allclose(make().atoms_, dense.atoms_, atol=1e-6)


def test_duplicates_and_concepts_with_few_rows_end_with_unit_atoms():
    X, Y, *_ = planted_cones(60, 8)
    X[:30], Y[:30] = X[0], Y[0]
    Y[:, 3] = np.arange(60) == 40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ConceptSubspaces(5, center=False).fit(X, Y)
    assert np.bincount(model.groups_)[3] == 1
    np.testing.assert_allclose(np.linalg.norm(model.atoms_, axis=1), 1, rtol=1e-6)


def test_atoms_that_hold_little_of_their_concept_are_dropped():
    X, Y, atoms, groups = planted_cones(3000, 40, 3, 3, noise=0.02)
    make = lambda **settings: ConceptSubspaces(center=False, presence=False, **settings)  # noqa: E731
    for rows in (X, Blocks(X, rows=500)):
        model = make().fit(rows, Y)
        sizes = np.bincount(model.groups_, minlength=3)
        assert (sizes >= 3).all()
        assert (sizes < 10).any()
        assert len(model.usage_) == len(model.atoms_) == sizes.sum()
        found = [(model.atoms_[model.groups_ == j] @ atoms[groups == j].T).max(axis=0) for j in range(3)]
        assert np.mean(found) > 0.95
    assert len(make(n_atoms=10).fit(X, Y).atoms_) == 30  # a number that was given is kept
    assert len(make(update="bcd", max_iter=1).fit(X, Y).atoms_) == 30  # and the paper's ten
    batches = make().partial_fit(X[:500], Y[:500])
    assert len(batches.atoms_) == 30  # nobody knows yet which of them will be used


def test_the_share_that_an_atom_must_hold_is_of_its_own_concept():
    energy, groups = np.array([1.0, 0.04, 0.96, 0.0, 0.0]), np.array([0, 1, 1, 2, 2])
    assert atoms_that_hold(energy, groups).tolist() == [True, False, True, True, True]


def test_first_atoms_lie_apart_and_are_no_rows_of_others():
    rng = np.random.RandomState(0)
    X = np.repeat(np.eye(4), 50, axis=0)
    assert np.unique(sample_atoms(X, np.arange(200), 4, rng, np.zeros(200, bool)), axis=0).shape == (4, 4)
    taken = np.arange(200) < 195
    assert (sample_atoms(X, np.arange(200), 5, rng, taken.copy()) == X[199]).all()
    with_zeros = np.vstack([np.zeros((300, 4)), X])
    assert sample_atoms(with_zeros, np.arange(500), 4, rng, np.zeros(500, bool)).any(axis=1).all()


# batches one by one


def test_a_batch_moves_atoms_the_less_the_more_they_have_seen():
    X, Y, atoms, groups = planted_cones(400, 24, noise=0.1)
    moved = []
    for usage in (0.0, 1e2, 1e5):
        learner = Learner(unit(atoms + 0.3 * np.random.default_rng(0).standard_normal(atoms.shape)), groups)
        before = learner.atoms.copy()
        taken_step(learner, X, Y, np.full(len(atoms), usage), 10)
        moved.append(np.linalg.norm(learner.atoms - before))
    assert moved[0] > 1.1 * moved[1] > 11 * moved[2]


def test_partial_fits_learn_and_go_on_after_a_file(tmp_path):
    X, Y, atoms, groups = planted_cones(3000, 24, noise=0.05)
    model = ConceptSubspaces(3, center=False)
    for start in range(0, 3000, 250):
        model.partial_fit(X[start : start + 250], Y[start : start + 250])
    assert recovered(model, atoms, groups) > 0.9
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    before = again.atoms_.copy()
    for one in (model, again):
        one.partial_fit(X[:20], Y[:20])
    np.testing.assert_array_equal(again.atoms_, model.atoms_)
    assert np.einsum("ij,ij->i", before, again.atoms_).mean() > 0.99  # twenty rows do not outweigh three thousand


def test_a_fitted_model_takes_a_batch():
    X, Y, *_ = planted_cones(1500, 24, noise=0.05)
    model = ConceptSubspaces(3, center=False).fit(X, Y)
    before = model.atoms_.copy()
    model.partial_fit(X[:20], Y[:20])
    assert np.einsum("ij,ij->i", before, model.atoms_).mean() > 0.99
    assert not model.knows_presence
