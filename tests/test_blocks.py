"""Rows in blocks: every source gives the same rows, and fits block by block are the fits that they should be."""

import contextlib
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import ConceptSubspaces, vectors
from pellucid.concepts import sweeps as concept_sweeps
from pellucid.concepts.learning import Learner, Sweep
from pellucid.concepts.sums import code_sums, improved_atoms
from pellucid.concepts.sweeps import Sweeps
from pellucid.preparation import CenteredNormalizer
from pellucid.rows import Blocks, is_lazy
from support.fits import CONCEPTS, FITS, all_fits, problem
from support.killed import killed


def parquet_folder(folder, X, sizes=(1, 250, 349)):
    folder.mkdir()
    start = 0
    for i, size in enumerate(sizes):
        vectors.write(folder / f"{i}.parquet", X[start : start + size], [str(start + k) for k in range(size)])
        start += size
    assert start == len(X)
    return folder


@pytest.fixture(params=["array", "memmap", "npy", "parquet", "view", "dask"])
def source(request, tmp_path):
    X = problem(dtype=np.float32)[0]
    if request.param == "dask":
        return X, pytest.importorskip("dask.array", reason="needs pellucid[dask]").from_array(X, chunks=(100, 5))
    if request.param == "parquet":
        return X, str(parquet_folder(tmp_path / "set", X))
    np.save(tmp_path / "x.npy", np.concatenate([X[:7], X]) if request.param == "view" else X)
    if request.param == "npy":
        return X, tmp_path / "x.npy"
    if request.param == "memmap":
        return X, np.load(tmp_path / "x.npy", mmap_mode="r")
    return (X, np.load(tmp_path / "x.npy", mmap_mode="r")[7:]) if request.param == "view" else (X, X)


def test_every_source_gives_the_same_rows(source):
    X, given = source
    blocks = Blocks(given, rows=64)
    assert blocks.shape == X.shape
    assert blocks.dtype == np.float32
    assert len(list(blocks)) > 3
    np.testing.assert_array_equal(np.concatenate(list(blocks)), X)
    some = np.array([0, 1, 250, 251, 599])
    np.testing.assert_array_equal(blocks.take(some), X[some])
    Y = np.arange(len(X))
    for x, y in blocks.beside(Y):
        np.testing.assert_array_equal(x, X[y])


def test_parts_can_be_sent_elsewhere_and_a_memory_map_is_not_sent_along(tmp_path):
    X = problem(5000)[0]
    np.save(tmp_path / "x.npy", X)
    blocks = Blocks(tmp_path / "x.npy", rows=1000)
    sent = pickle.dumps(blocks.parts[2])
    assert len(sent) < 2000
    np.testing.assert_array_equal(np.concatenate(list(pickle.loads(sent).read())), X[2000:3000])


@settings(max_examples=50)
@given(st.integers(1, 400), st.integers(1, 500))
def test_blocks_cover_rows_in_order_and_are_no_larger_than_said(n, rows):
    X = np.arange(2.0 * n).reshape(n, 2)
    found = list(Blocks(X, rows=rows))
    np.testing.assert_array_equal(np.concatenate(found), X)
    assert max(map(len, found)) <= rows


def test_large_row_groups_are_read_in_blocks(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = problem(20_000, 4, np.float32)[0]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 4)
    pq.write_table(pa.table({"emb": lists, "other": lists}), tmp_path / "one.parquet", row_group_size=20_000)
    with pytest.raises(vectors.VectorFileError, match="no array 'nothing'"):
        Blocks(tmp_path / "one.parquet", column="nothing")
    blocks = Blocks(tmp_path / "one.parquet", column="emb", rows=4096)
    assert [len(block) for block in blocks] == [4096] * 4 + [20_000 - 4 * 4096]
    np.testing.assert_array_equal(np.concatenate(list(blocks)), X)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (np.zeros(3), "matrix of numbers"),
        (np.array([["a"]]), "matrix of numbers"),
        (np.empty((0, 3)), "no rows"),
        (np.zeros((2, 2, 2, 2, 2)), "matrix of numbers"),
        (np.empty((0, 3, 3)), "no rows"),
    ],
)
def test_what_is_no_matrix_is_refused(bad, said):
    with pytest.raises(ValueError, match=said):
        Blocks(bad)
    with pytest.raises(ValueError, match="at least one row"):
        Blocks(np.zeros((2, 2)), rows=0)


def test_numbers_that_are_not_finite_are_named_by_row(tmp_path):
    X = problem()[0]
    X[317, 3] = np.nan
    with pytest.raises(ValueError, match=r"Row 317 has a value that is not finite"):
        list(Blocks(X, rows=100))
    with pytest.raises(ValueError, match=r"Row 317 has a value that is not finite"):
        list(Blocks(parquet_folder(tmp_path / "set", X), rows=100))
    X[317, 3] = 1e308  # sums may overflow where every number is finite
    X[318, 3] = 1e308
    np.testing.assert_array_equal(np.concatenate(list(Blocks(X, rows=100))), X)


def test_labels_must_fit_the_rows():
    X, Y = problem()
    with pytest.raises(ValueError, match="600 rows, but y has 599"):
        Blocks(X).beside(Y[1:])
    with pytest.raises(ValueError, match="cut into different parts"):
        Blocks(X, rows=100).beside(Blocks(Y, rows=50))
    with pytest.raises(ValueError, match="y is in blocks, but X is not"):
        ConceptSubspaces(center=False).fit(X, Blocks(Y))
    with pytest.raises(ValueError, match="only 0 and 1, but has 2"):
        ConceptSubspaces(center=False).fit(Blocks(X), Blocks(2 * Y.astype(int)))
    Y[:, 2] = False
    with pytest.raises(ValueError, match="No row has the concept 'c'"):
        ConceptSubspaces(center=False).fit(Blocks(X), Blocks(Y), list("abcd"))


# sums


def test_sums_of_blocks_add_up_and_the_atom_step_lowers_the_error_as_it_says():
    X, Y = problem()
    rng = np.random.default_rng(1)
    atoms = rng.standard_normal((9, 12))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    learner = Learner(atoms, np.array([0, 0, 0, 1, 1, 2, 2, 3, 3]), "bcd", False, 0.05)
    whole = code_sums(learner, (X, Y))
    parts = code_sums(learner, (X[:200], Y[:200])) + code_sums(learner, (X[200:], Y[200:]))
    codes = learner.codes(X, Y)
    np.testing.assert_allclose(whole.grams, codes.T @ codes, rtol=1e-12)
    np.testing.assert_allclose(whole.products, codes.T @ X, rtol=1e-9, atol=1e-12)
    for name in ("grams", "products", "energy", "error", "worst", "rows"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12)
    missing = X - codes @ atoms
    assert whole.error == pytest.approx(np.square(missing).sum())
    for j in range(CONCEPTS):
        members = np.flatnonzero(Y[:, j])
        assert whole.worst[j] == pytest.approx(np.square(missing[members]).sum(axis=1).max())
    new, sweep = improved_atoms(whole, atoms, learner.groups, 0.05)
    np.testing.assert_allclose(np.linalg.norm(new, axis=1), 1)
    assert sweep.squared_error == pytest.approx(np.square(X - codes @ new).sum())
    assert sweep.squared_error < whole.error
    assert sweep.penalty == pytest.approx(0.05 * np.square(codes).sum())
    # an oracle: no small turn of any atom lowers the error for these codes
    for m in range(9):
        for turn in (1e-3, -1e-3):
            moved = new.copy()
            moved[m] += turn * rng.standard_normal(12)
            moved[m] /= np.linalg.norm(moved[m])
            assert np.square(X - codes @ moved).sum() >= sweep.squared_error - 1e-6


def test_an_atom_that_nobody_uses_takes_what_its_concept_is_missing():
    X, Y = problem()
    atoms = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0][:4]
    learner = Learner(atoms, np.arange(4), "bcd", False, 0.0)
    sums = code_sums(learner, (X, Y))
    sums.grams[2], sums.grams[:, 2], sums.products[2] = 0, 0, 0
    new, sweep = improved_atoms(sums, atoms, np.arange(4), 0.0)
    assert sweep.reseeded == 1
    missing = X - learner.codes(X, Y) @ atoms
    worst = missing[Y[:, 2]][np.square(missing[Y[:, 2]]).sum(axis=1).argmax()]
    np.testing.assert_allclose(new[2], worst / np.linalg.norm(worst))


# fits


@pytest.mark.parametrize("init", ["svd", "sample"])
def test_the_start_is_that_of_rows_in_memory(init):
    X, Y = problem()
    held = ConceptSubspaces(0.8, max_iter=0, init=init, update="bcd", random_state=0, center=False).fit(X, Y)
    blocks = ConceptSubspaces(0.8, max_iter=0, init=init, update="bcd", random_state=0, center=False).fit(
        Blocks(X, rows=70), Y
    )
    np.testing.assert_array_equal(held.groups_, blocks.groups_)
    if init == "svd":
        np.testing.assert_allclose(blocks.atoms_, held.atoms_, atol=1e-10)
        np.testing.assert_allclose(blocks.objective_, held.objective_, rtol=1e-10)
    else:  # other rows are drawn, but rows of the concept
        rows = X / np.linalg.norm(X, axis=1, keepdims=True)
        for atom, group in zip(blocks.atoms_, blocks.groups_):
            assert (rows[Y[:, group]] @ atom).max() == pytest.approx(1)


def test_gram_matrices_that_do_not_fit_take_several_passes(monkeypatch):
    X, Y = problem()
    whole = ConceptSubspaces(3, max_iter=0, update="bcd", center=False).fit(Blocks(X, rows=70), Y)
    monkeypatch.setattr(concept_sweeps, "GRAM_BYTES", 8 * 12 * 12 * 3)
    np.testing.assert_array_equal(
        ConceptSubspaces(3, max_iter=0, update="bcd", center=False).fit(Blocks(X, rows=70), Y).atoms_, whole.atoms_
    )


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_one_pass_a_sweep_never_raises_the_error_and_does_not_depend_on_the_blocks(ridge):
    X, Y = problem()
    fitted = [
        ConceptSubspaces(3, update="bcd", max_iter=15, tol=0, ridge=ridge, center=False).fit(Blocks(X, rows=rows), Y)
        for rows in (600, 100, 37)
    ]
    for model in fitted:
        assert (np.diff(model.objective_) <= 1e-12).all()
        assert len(model.objective_) == 16
        np.testing.assert_allclose(model.atoms_, fitted[0].atoms_, atol=1e-7)
    held = ConceptSubspaces(3, update="bcd", max_iter=15, tol=0, ridge=ridge, center=False).fit(X, Y)
    assert fitted[0].objective_[-1] <= 1.02 * held.objective_[-1]


def test_a_sweep_reads_every_block_once():
    X, Y = problem()
    read = []

    def counted(block):
        read.append(len(block))
        return block

    blocks = Blocks(X, rows=100).map(counted, X.shape[1])
    ConceptSubspaces(3, update="bcd", max_iter=5, tol=0, center=False).fit(blocks, Y)
    assert sum(read) == (2 + 5 + 1) * len(X)  # two passes for the start, one for presence


def steps_by_hand(X, Y, rows, sweeps, update="svd", batch_size=None):
    """Mini-batches over rows in memory, through the same blocks in the same order."""
    start = ConceptSubspaces(3, max_iter=0, update="bcd", center=False).fit(Blocks(X, rows=rows), Y)
    learner = Learner(start.atoms_.copy(), start.groups_, update, False, 0.0)
    cuts = range(0, len(X), rows)
    rng = np.random.RandomState(0)
    for _ in range(sweeps):
        done = Sweep(0.0, 0.0, 0, 0.0)
        for number in rng.permutation(len(cuts)):
            x, y = (data[cuts[number] : cuts[number] + rows] for data in (X, Y))
            if batch_size is None:
                done.add(learner.step(x, y, learner.codes(x, y), reseed=False))
            else:
                done.add(learner.batch_steps(x, y, batch_size, rng))
    return learner.atoms, done.squared_error / len(X)


@pytest.mark.parametrize(
    "settings",
    [{"update": "svd"}, {"update": "power"}, {"update": "svd", "batch_size": 50}, {"update": "bcd", "batch_size": 50}],
)
@pytest.mark.parametrize("rows", [100, 37])
def test_mini_batches_of_blocks_are_those_of_the_same_rows_in_memory(settings, rows):
    X, Y = problem()
    model = ConceptSubspaces(3, max_iter=5, random_state=0, monotone=False, **settings, center=False).fit(
        Blocks(X, rows=rows), Y
    )
    atoms, error = steps_by_hand(X, Y, rows, 5, **settings)
    np.testing.assert_array_equal(model.atoms_, atoms)
    assert model.n_iter_ == 5
    assert model.objective_[-1] == pytest.approx(error, rel=1e-9)
    assert model.objective_[-1] < 0.1 * model.objective_[0]


def test_labels_may_come_in_blocks_too(tmp_path):
    X, Y = problem()
    np.save(tmp_path / "y.npy", Y)
    wanted = ConceptSubspaces(3, update="bcd", center=False).fit(Blocks(X, rows=100), Y, list("abcd"))
    for labels in (Blocks(Y, rows=100), Blocks(tmp_path / "y.npy", rows=100)):
        model = ConceptSubspaces(3, update="bcd", center=False).fit(Blocks(X, rows=100), labels, list("abcd"))
        np.testing.assert_array_equal(model.atoms_, wanted.atoms_)
        assert list(model.concept_names_) == list("abcd")


def test_what_is_made_of_blocks_is_blocks_of_the_same(tmp_path):
    X, Y = problem()
    before = CenteredNormalizer().fit(X)
    lazy = CenteredNormalizer().fit(Blocks(X, rows=100))
    np.testing.assert_allclose(lazy.mean_, before.mean_, rtol=1e-12)
    assert lazy.n_samples_seen_ == 600
    prepared = lazy.transform(Blocks(X, rows=100))
    np.testing.assert_allclose(np.concatenate(list(prepared)), before.transform(X), atol=2e-6)
    Z = np.concatenate(list(prepared))
    model = ConceptSubspaces(3, max_iter=2, center=False).fit(Z, Y, list("abcd"))
    for made, wanted in [
        (prepared, Z),
        (model.transform(prepared), model.transform(Z)),
        (model.encode(prepared, "b"), model.encode(Z, "b")),
        (model.project(prepared, "a"), model.project(Z, "a")),
        (model.remove(prepared, ["a", "c"]), model.remove(Z, ["a", "c"])),
    ]:
        assert is_lazy(made)
        assert made.shape == wanted.shape
        np.testing.assert_allclose(np.concatenate(list(made)), wanted, atol=2e-6)
    made = model.project(prepared, "a")
    model.atoms_[:] = 0  # what was asked for of a model does not change with it
    assert all(block.any() for block in made)
    made.write(tmp_path / "parts")
    back = np.concatenate([block.vectors for block in vectors.blocks(tmp_path / "parts")])
    np.testing.assert_array_equal(back, np.concatenate(list(made)))
    with pytest.raises(ValueError, match="not empty"):
        made.write(tmp_path / "parts")
    with pytest.raises(ValueError, match="no concept 'e'"):
        model.project(prepared, "e")
    with pytest.raises(ValueError, match="3 columns"):
        model.project(Blocks(X[:, :3]), "a")
    with pytest.raises(ValueError, match="must name the concepts of all rows"):
        model.encode(prepared, Y)


# checkpoints

CHILD = """
from support.fits import all_fits
all_fits(sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_fits_that_were_killed_end_with_the_same_bits(tmp_path):
    whole = all_fits()
    for moment in (1, 18, 40, 60):  # each goes on where the one before was killed; 72 checkpoints are written in all
        killed(CHILD, moment, tmp_path)
    for resumed, unbroken in zip(all_fits(tmp_path), whole):
        np.testing.assert_array_equal(resumed.atoms_, unbroken.atoms_)
        np.testing.assert_array_equal(resumed.objective_, unbroken.objective_)
        assert (resumed.n_iter_, resumed.n_dead_) == (unbroken.n_iter_, unbroken.n_dead_)


class Stop(Exception):
    pass


@pytest.mark.parametrize(("settings", "blocks"), FITS)
@pytest.mark.parametrize("sweeps", [0, 1, 4])
def test_a_fit_goes_on_from_any_sweep(settings, blocks, sweeps, tmp_path, monkeypatch):
    X, Y = problem(200)
    data = Blocks(X, rows=60) if blocks else X
    make = lambda: ConceptSubspaces(3, max_iter=6, tol=0, random_state=3, **settings, center=False)  # noqa: E731
    whole = make().fit(data, Y, validation=(X[:50], Y[:50]))
    real, calls = Sweeps.sweep, []

    def stopping(self, state, rng):
        if len(calls) == sweeps:
            raise Stop
        calls.append(1)
        return real(self, state, rng)

    with monkeypatch.context() as patch:
        patch.setattr(Sweeps, "sweep", stopping)
        with contextlib.suppress(Stop):
            make().fit(data, Y, validation=(X[:50], Y[:50]), checkpoint=tmp_path / "state")
    resumed = make().fit(data, Y, validation=(X[:50], Y[:50]), checkpoint=tmp_path / "state")
    np.testing.assert_array_equal(resumed.atoms_, whole.atoms_)
    np.testing.assert_array_equal(resumed.objective_, whole.objective_)


def test_a_finished_fit_is_not_done_again_and_may_be_made_longer(tmp_path, monkeypatch):
    X, Y = problem()
    path = tmp_path / "state"
    short = ConceptSubspaces(3, max_iter=3, tol=0, center=False).fit(X, Y, checkpoint=path)
    longer = ConceptSubspaces(3, max_iter=5, tol=0, center=False).fit(X, Y, checkpoint=path)
    np.testing.assert_array_equal(
        longer.objective_, ConceptSubspaces(3, max_iter=5, tol=0, center=False).fit(X, Y).objective_
    )
    np.testing.assert_array_equal(longer.objective_[:4], short.objective_)
    monkeypatch.setattr(Sweeps, "sweep", None)
    again = ConceptSubspaces(3, max_iter=5, tol=0, center=False).fit(X, Y, checkpoint=path)
    np.testing.assert_array_equal(again.atoms_, longer.atoms_)


def test_a_checkpoint_of_another_fit_or_of_nothing_is_refused(tmp_path):
    X, Y = problem()
    path = tmp_path / "state"
    ConceptSubspaces(3, max_iter=1, center=False).fit(X, Y, checkpoint=path)
    kept = path.read_bytes()
    other = X.copy()
    other[0, 0] += 1
    for model, rows in [
        (ConceptSubspaces(2, center=False), X),
        (ConceptSubspaces(3, update="bcd", center=False), X),
        (ConceptSubspaces(3, center=False), other),
    ]:
        with pytest.raises(ValueError, match="belongs to another fit"):
            model.fit(rows, Y, checkpoint=path)
        assert path.read_bytes() == kept
    for damaged in (b"", b"no", kept[: len(kept) // 2], b"\xff" * 100):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged or no checkpoint"):
            ConceptSubspaces(3, max_iter=1, center=False).fit(X, Y, checkpoint=path)
        assert path.read_bytes() == damaged
    with pytest.raises(FileNotFoundError, match="no checkpoint can be written"):
        ConceptSubspaces(3, center=False).fit(X, Y, checkpoint=tmp_path / "nowhere" / "state")


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "csr_array", "coo_matrix"])
def test_a_sparse_matrix_is_dense_a_block_at_a_time(form):
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 8)) < 0.4, rng.standard_normal((60, 8)), 0).astype(np.float32)
    y = np.arange(60) % 2
    blocks = Blocks(getattr(sparse, form)(X), rows=7)
    assert max(len(block) for block in blocks) == 7
    np.testing.assert_array_equal(np.concatenate(list(blocks)), X)
    assert (blocks.shape, blocks.dtype) == ((60, 8), np.float32)
    dense = Blocks(X, rows=7)
    made = [ConceptSubspaces(2, random_state=0, max_iter=3).fit(rows, y) for rows in (blocks, dense)]
    np.testing.assert_array_equal(made[0].atoms_, made[1].atoms_)
    np.testing.assert_array_equal(
        np.concatenate(list(made[0].predict_proba(blocks))), np.concatenate(list(made[1].predict_proba(dense)))
    )
    X[13, 2] = np.nan
    with pytest.raises(ValueError, match="Row 13 has a value that is not finite"):
        list(Blocks(sparse.csr_matrix(X), rows=7))
