"""How many atoms, how stable: what a model says about itself."""

import io
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pellucid import ConceptSubspaces
from pellucid.concepts.stability import explained_energy, match, share_auc
from pellucid.metrics import concept_retrieval
from pellucid.rows import Blocks
from support.oracles import planted_cones


@pytest.fixture(scope="module")
def cones():
    X, Y, *_ = planted_cones(noise=0.02)
    return X, Y, ConceptSubspaces(3, random_state=0, center=False).fit(X, Y, list("abcd"))


def permuted_atoms(model, rng):
    """The same model with the atoms of each concept in another order."""
    other = clone(model)
    order = np.concatenate([rng.permutation(np.flatnonzero(model.groups_ == j)) for j in range(4)])
    other.atoms_, other.groups_, other.concept_names_ = model.atoms_[order], model.groups_, model.concept_names_
    return other


def test_matching_undoes_the_order_of_atoms(cones, rng):
    cosines, overlaps = match(cones[2], permuted_atoms(cones[2], rng))
    np.testing.assert_allclose(cosines, 1)
    np.testing.assert_allclose(overlaps, 1)


def test_matching_sees_orthogonal_spans_and_missing_atoms():
    one, other = (ConceptSubspaces(2, center=False).fit(np.eye(4), np.ones((4, 1))) for _ in range(2))
    one.atoms_, other.atoms_ = np.eye(4)[:2], np.eye(4)[2:]
    cosines, overlaps = match(one, other)
    assert cosines.tolist() == [0, 0]
    assert overlaps[0] == pytest.approx(0, abs=1e-12)
    other.atoms_, other.groups_ = np.eye(4)[:1], np.zeros(1, dtype=int)
    assert sorted(match(one, other)[0]) == [0, 1]


def test_planted_cones_come_out_again_and_shuffled_labels_do_not(cones):
    X, Y, model = cones
    found = model.stability(X, Y, n_runs=3)
    assert found.n_runs == 3
    assert found.explained > 0.95
    assert found.cone_overlap.min() > 0.95
    assert found.auc.min() > 0.94
    assert np.abs(found.auc_permuted - 0.5).max() < 0.2
    assert np.abs(found.auc_random - 0.5).max() < 0.3
    assert 0 < found.reproduced <= 1
    text = str(found)
    assert all(name in text for name in "abcd")
    assert "come out again" in text


def test_stability_is_the_same_in_parallel_and_leaves_the_model_alone(cones):
    X, Y, model = cones
    before = model.atoms_.copy()
    alone, together = (model.stability(X, Y, n_runs=2, n_jobs=jobs) for jobs in (None, 2))
    np.testing.assert_array_equal(alone.atom_cosine, together.atom_cosine)
    np.testing.assert_array_equal(model.atoms_, before)


def test_stability_on_rows_held_out_with_a_constant_label(cones):
    X, Y, model = cones
    labels = Y[:50].copy()
    labels[:, 1] = False
    found = model.stability(X, Y, n_runs=1, held_out=(X[:50], labels))
    assert np.isnan(found.auc).tolist() == [False, True, False, False]
    with pytest.raises(ValueError, match="n_runs must be at least 1"):
        model.stability(X, Y, n_runs=0)


def test_a_concept_with_one_row_is_in_every_resample(rng):
    X = rng.standard_normal((60, 8))
    Y = np.zeros((60, 2), dtype=bool)
    Y[:, 0] = True
    Y[7, 1] = True
    found = ConceptSubspaces(2, random_state=0, center=False).fit(X, Y).stability(X, Y, n_runs=4)
    assert found.cone_overlap[1] == pytest.approx(1)


def test_explained_energy_and_auc_by_hand():
    model = ConceptSubspaces(1, center=False).fit(np.eye(3)[:2], np.eye(2))
    X = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3]])
    Y = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    assert explained_energy(model, X, Y) == pytest.approx(1 - 9 / 14)
    assert share_auc(model, X[:2], Y[:2]).tolist() == [1, 1]
    assert np.isnan(explained_energy(model, X[:0], Y[:0]))
    assert np.isnan(share_auc(model, X[:0], Y[:0])).all()


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([np.float32, np.float64]))
def test_lengths_are_those_of_components_and_projections(seed, dtype):
    X, Y, *_ = planted_cones(40, 10, noise=0.3, seed=seed)
    X = X.astype(dtype)
    model = ConceptSubspaces(3, max_iter=2, center=False).fit(X, Y)
    tolerance = dict(rtol=1e-3, atol=1e-4) if dtype == np.float32 else dict(rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.lengths(X), np.linalg.norm(model.components(X), axis=2), **tolerance)
    partial = np.array([np.linalg.norm(model.project(X, name), axis=1) for name in model.concept_names_]).T
    np.testing.assert_allclose(model.lengths(X, partial=True), partial, **tolerance)
    parts = model.components(X)
    along = np.einsum("ijk,ik->ij", parts, X) / np.einsum("ik,ik->i", X, X)[:, None]
    np.testing.assert_allclose(model.shares(X), along, atol=2e-3 if dtype == np.float32 else 1e-6)
    np.testing.assert_allclose(model.shares(37 * X), along, atol=2e-3 if dtype == np.float32 else 1e-6)
    assert not model.shares(np.zeros((2, X.shape[1]), dtype)).any()
    # products of other shapes round otherwise, and dependent atoms magnify it
    blockwise = np.concatenate(list(model.shares(Blocks(X, rows=7))))
    np.testing.assert_allclose(blockwise, model.shares(X), atol=2e-3 if dtype == np.float32 else 1e-6)


def retrieval_arguments(X, Y, fine=False):
    half = len(X) // 2
    arguments = dict(queries=X[:50], candidates=X[half:], query_concepts=Y[:50], candidate_concepts=Y[half:])
    if fine:
        arguments |= dict(query_fine=Y[:50], candidate_fine=Y[half:], fine_to_coarse=np.arange(4))
    return arguments


def test_the_number_of_atoms_is_chosen_as_by_hand(cones):
    X, Y, model = cones
    arguments = retrieval_arguments(X, Y, fine=True)
    chosen = model.select_n_atoms(X, Y, **arguments, sizes=(5, 1, 3, 3), n_jobs=2)
    assert chosen.n_atoms == [1, 3, 5]
    by_hand = [concept_retrieval(clone(model).set_params(n_atoms=m).fit(X, Y), **arguments) for m in (1, 3, 5)]
    assert chosen.general == pytest.approx([r.general for r in by_hand])
    assert chosen.sub == pytest.approx([r.sub for r in by_hand])
    assert chosen.best == [1, 3, 5][int(np.argmax(chosen.sub))]
    assert chosen.best_general == [1, 3, 5][int(np.argmax(chosen.general))]
    without = model.select_n_atoms(X, Y, **retrieval_arguments(X, Y), sizes=[2])
    assert without.sub is None
    assert without.best == 2
    with pytest.raises(ValueError, match="at least one number"):
        model.select_n_atoms(X, Y, **retrieval_arguments(X, Y), sizes=[])


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("verbose", "stream", "expected"), [(1, Terminal, True), (0, Terminal, False), (1, io.StringIO, False)]
)
def test_progress_is_on_stderr_of_a_terminal_and_nowhere_else(monkeypatch, capsys, verbose, stream, expected):
    X, Y, *_ = planted_cones(60, 10)
    monkeypatch.setattr(sys, "stderr", stream())
    ConceptSubspaces(2, max_iter=2, verbose=verbose, center=False).fit(X, Y)
    assert ("learning concepts" in sys.stderr.getvalue()) == expected
    assert capsys.readouterr().out == ""


def test_float32_codes_of_many_atoms_count_as_converged(rng):
    X, Y, *_ = planted_cones(300, 64, 12, 8, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConceptSubspaces(8, center=False).fit(X.astype(np.float32), Y).transform(X.astype(np.float32))
