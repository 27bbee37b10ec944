"""Gene programmes: what was planted comes out, what all cells share is set apart, and an AnnData has it all then."""

import json

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import pellucid
from pellucid import gene_programmes
from pellucid.concepts.consensus import agreed_directions
from pellucid.concepts.gene_counts import as_counts, embedding, expression, matrix_of, usual_variance
from pellucid.concepts.programmes import fewest, lengths, spectra_of
from support.commands import fails, run

GENES = [f"G{j}" for j in range(200)]


def planted(n=500, seed=0, depth=2000):
    """Cells of three types, some of which share an activity; the last 60 genes are alike in all."""
    rng = np.random.default_rng(seed)
    base = rng.gamma(1.0, 1.0, 200) + 0.3
    S = np.tile(base, (4, 1))
    for k in range(4):
        S[k, 30 * k : 30 * k + 30] *= 6
    S /= S.sum(axis=1, keepdims=True)
    kind = rng.integers(3, size=n)
    U = np.eye(4)[kind]
    used = rng.uniform(0.2, 0.8, n) * (rng.random(n) < 0.4) * (kind < 2)
    U = U * (1 - used)[:, None] + used[:, None] * np.eye(4)[3]
    return rng.poisson(U @ S * rng.lognormal(np.log(depth), 0.3, (n, 1))), U, S, kind


@pytest.fixture(scope="module")
def problem():
    counts, U, S, kind = planted()
    return counts, U, S, kind, gene_programmes(counts, n_programmes=4, genes=GENES)


def partners_of(usage, U):
    found = np.corrcoef(usage.T, U.T)[: usage.shape[1], usage.shape[1] :]
    i, j = linear_sum_assignment(-found)
    return found[i, j], dict(zip(j.tolist(), i.tolist()))


def test_planted_programmes_come_out(problem):
    _, U, S, _, found = problem
    close, place = partners_of(found.usage, U)
    assert close.min() > 0.9
    np.testing.assert_allclose(found.usage.sum(axis=1), 1)
    np.testing.assert_allclose(found.spectra.sum(axis=1), 1e4, rtol=0.05)
    for k in range(4):
        mine = place[k]
        assert np.corrcoef(found.spectra[mine], S[k])[0, 1] > 0.98
        assert {int(gene[1:]) // 30 for gene in found.top_genes(found.names[mine], 8)} == {k}
    assert found.stability.min() >= 0.8
    assert list(found.usage.mean(axis=0)) == sorted(found.usage.mean(axis=0), reverse=True)
    assert "4 programmes of 500 cells and 200 genes" in str(found)


def test_what_all_cells_share_is_set_apart(problem):
    *_, found = problem
    alike = np.arange(200) >= 120
    assert found.common_share[alike].min() > 0.75
    assert found.common_share[~alike].max() < 0.6
    assert all(int(gene[1:]) >= 120 for gene in found.housekeeping(10))
    assert (found.common <= found.spectra.min(axis=0) + 1e-9).all()


def test_how_many_is_found(problem):
    counts, U, *_ = problem
    found = gene_programmes(counts)
    assert 4 <= len(found.names) <= 6
    assert partners_of(found.usage, U)[0].min() > 0.7  # one too many shares its cells with others


@pytest.mark.parametrize("kind", ["sparse", "frame", "logarithms", "scaled", "float16"])
def test_counts_of_any_make_give_the_same(problem, kind):
    counts, *_, found = problem
    made = {
        "sparse": lambda: sparse.csc_matrix(counts),
        "frame": lambda: pd.DataFrame(counts, columns=GENES),
        "logarithms": lambda: np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e4),
        "scaled": lambda: 3 * counts,
        "float16": lambda: counts.astype(np.float16),
    }[kind]()
    before = made.copy()
    other = gene_programmes(made, n_programmes=4)
    # depth is unknown of cells that were scaled, so only nearly the same
    np.testing.assert_allclose(other.usage, found.usage, atol=0.15 if kind == "logarithms" else 1e-3)
    assert (np.abs(before - made)).max().max() == 0


def test_the_same_seed_gives_the_same_bits(problem):
    counts, *_, found = problem
    again = gene_programmes(counts, n_programmes=4, genes=GENES)
    np.testing.assert_array_equal(again.usage, found.usage)
    assert again.names == found.names


def test_other_cells_are_told(problem):
    counts, *_, found = problem
    np.testing.assert_allclose(found.usage_of(counts), found.usage, atol=1e-4)
    new, U, *_ = planted(n=80, seed=3)
    with pytest.raises(ValueError, match="3 genes"):
        found.usage_of(new[:, :3])
    assert found.usage_of(sparse.csr_matrix(new)).shape == U.shape


def test_known_types_are_programmes_and_others_are_found_among_the_rest(problem):
    counts, U, _, kind, _ = problem
    types = np.array(["a", "b/c", "d"], dtype=object)[kind]
    found = gene_programmes(counts, labels=types)
    assert sorted(found.names) == ["a", "b/c", "d"]
    assert found.known.all()
    for name in found.names:
        mine = found.usage[:, found.names.index(name)]
        assert mine[types == name].mean() > 0.6 > 0.4 > mine[types != name].mean()
    types[(U[:, 3] > 0) | (kind == 2)] = None
    part = gene_programmes(counts, labels=types)
    assert set(part.names) > {"a", "b/c"}
    assert not part.known.all()
    states = gene_programmes(counts, labels=np.array(["a", "b", "c"])[kind], n_states=2)
    assert sorted(states.names) == ["a", "a 2", "b", "b 2", "c", "c 2"]


def test_an_anndata_has_it_all_afterwards(problem, tmp_path):
    counts, _, _, kind, _ = problem
    data = anndata.AnnData(sparse.csr_matrix(counts.astype(np.float32)))
    data.var_names, data.obs["type"] = GENES, pd.Categorical(np.array(["a/b", "c", "d"])[kind])
    before = data.X.copy()
    found = gene_programmes(data, n_programmes=4)
    assert (before != data.X).nnz == 0
    data.write_h5ad(tmp_path / "a.h5ad")
    read = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_allclose(read.obsm["programmes"], found.usage)
    np.testing.assert_allclose(read.varm["programmes"].T, found.spectra)
    assert list(read.uns["programmes"]["names"]) == found.names
    assert list(read.obs["programmes"]) == [found.names[k] for k in found.usage.argmax(axis=1)]
    np.testing.assert_allclose(read.var["programmes_common"], found.common)
    gene_programmes(data, labels="type", key="types").write(data, "again")
    data.write_h5ad(tmp_path / "a.h5ad")
    assert {"programmes", "types", "again"} <= set(data.obsm)
    with pytest.raises(ValueError, match="are of 500 cells and 200 genes"):
        found.write(data[:3])
    assert "nothing" not in gene_programmes(data[:100].copy(), n_programmes=2, key=None).source


def test_counts_are_looked_for_where_they_are(problem):
    counts, U, *_ = problem
    data = anndata.AnnData(np.log1p(counts.astype(np.float32)))
    data.raw = data
    data.X = data.X - data.X.mean(axis=0)
    assert matrix_of(data, None)[2] == "raw"
    assert partners_of(gene_programmes(data, n_programmes=4).usage, U)[0].min() > 0.8
    data.layers["counts"] = counts
    assert matrix_of(data, None)[2] == "layer 'counts'"
    data = anndata.AnnData(data.X)
    with pytest.raises(ValueError, match="X has negative numbers, so it was centred"):
        gene_programmes(data)
    found = gene_programmes(data, n_programmes=4, use_rep="X")
    assert partners_of(found.usage, U)[0].min() > 0.4
    assert found.source == "X, centred"
    with pytest.raises(ValueError, match="found in an embedding"):
        found.usage_of(counts)


def test_an_embedding_is_taken(problem):
    counts, U, *_ = problem
    data = anndata.AnnData(counts.astype(np.float32))
    logs = np.log1p(counts)
    data.obsm["X_pca"] = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)[0][:, :10]
    found = gene_programmes(data, n_programmes=4, use_rep="X_pca")
    assert partners_of(found.usage, U)[0].min() > 0.6
    assert found.inner is None
    assert (found.spectra >= 0).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"counts": -np.ones((9, 4))}, "must not be negative"),
        ({"counts": np.zeros((9, 4))}, "All counts are zero"),
        ({"counts": np.ones((9, 4))}, "Fewer than 2 genes vary"),
        ({"counts": np.eye(3)}, "in 3 cells"),
        ({"counts": np.full((9, 4), np.nan)}, "has nan in row 0"),
        ({"n_programmes": 0}, "1 or more, or .auto."),
        ({"n_programmes": 2.5}, "a whole number"),
        ({"n_programmes": "some"}, "a number or 'auto'"),
        ({"n_runs": 0}, "n_runs must be a whole number, 1 or more"),
        ({"labels": ["a"]}, "500 cells, but 1 labels"),
        ({"labels": [None] * 500}, "No cell has a label"),
        ({"labels": "type"}, "names a column of an AnnData"),
        ({"layer": "counts"}, "names a layer of an AnnData"),
        ({"use_rep": "X_pca"}, "names an entry of an AnnData"),
        ({"use_rep": np.eye(3)}, "500 cells, but an embedding of 3"),
        ({"genes": ["a"]}, "1 names for 200 genes"),
    ],
)
def test_what_does_not_fit_is_said(problem, given, said):
    with pytest.raises(ValueError, match=said):
        gene_programmes(**{"counts": problem[0], **given})


@pytest.mark.parametrize(
    ("entry", "said"), [("layer", "no layer"), ("use_rep", "no embedding"), ("labels", "no column")]
)
def test_names_that_an_anndata_lacks_are_said(problem, entry, said):
    with pytest.raises(ValueError, match=said):
        gene_programmes(anndata.AnnData(problem[0].astype(np.float32)), **{entry: "typo"})


@pytest.mark.filterwarnings("ignore:Only 1 of 2 programmes")
@pytest.mark.parametrize("shape", [(4, 5), (9, 30), (40, 6), (60, 300)])
def test_few_cells_and_few_genes_give_an_answer(shape):
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.4, 4, shape))
    counts[0] = 0  # an empty cell uses nothing
    found = gene_programmes(counts, n_programmes=2, n_runs=3)
    assert np.isfinite(found.usage).all()
    assert np.isfinite(found.spectra).all()
    assert (found.usage[0] == 0).all()
    assert len(set(found.names)) == len(found.names) <= 2


def test_cells_without_programmes_say_so():
    counts = np.random.default_rng(0).poisson(2.0, (120, 40))
    with pytest.warns(UserWarning, match="what is returned is a guess"):
        gene_programmes(counts, n_runs=4)


def test_the_middle_of_groups_is_the_usual_variance():
    rng = np.random.default_rng(0)
    mean = rng.gamma(1.0, 2.0, 4000) + 1e-3
    np.testing.assert_allclose(usual_variance(mean, 2.5 * mean), 2.5 * mean)
    assert usual_variance(np.zeros(3), np.zeros(3)).tolist() == [0, 0, 0]


def test_the_embedding_keeps_products_of_deep_cells(problem):
    counts, *_ = problem
    cells = expression(counts)
    scaled = cells.scaled().toarray()
    rows = embedding(cells.scaled(), cells.depth)
    slow = np.linalg.svd(np.sqrt(cells.depth)[:, None] * scaled, full_matrices=False)[2][: rows.shape[1]]
    np.testing.assert_allclose(rows @ rows.T, (scaled @ slow.T) @ (scaled @ slow.T).T, rtol=1e-3, atol=0.5)
    assert as_counts(np.array([[0.5, 1.0]])).toarray() == pytest.approx(np.expm1([[0.5, 1.0]]))


def test_lengths_and_spectra_are_those_of_cells_that_use_one_programme_alone():
    rng = np.random.default_rng(0)
    U, S, length = rng.dirichlet([0.3] * 3, size=200), rng.random((3, 12)), np.array([0.5, 2.0, 1.0])
    codes = U * length
    np.testing.assert_allclose(lengths(codes), length)
    np.testing.assert_allclose(spectra_of(sparse.csr_array(U @ S), codes), S, atol=1e-8)
    more = np.vstack([S, S[0] / 2 + S[1] / 2])
    assert sorted(fewest(sparse.csr_array(U @ S), more, 3, np.random.RandomState(0))) == [0, 1, 2]


def test_directions_that_halves_share_come_first():
    rng = np.random.default_rng(0)
    B = np.linalg.qr(rng.standard_normal((20, 20)))[0][:5]
    rows = (B[rng.integers(5, size=400)] + 0.1 * rng.standard_normal((400, 20))).astype(np.float32)
    found, share = agreed_directions(rows, 9, 0.2, 6, np.random.RandomState(0))
    assert (share[:5] == 1).all()
    assert (np.abs(found[:5] @ B.T).max(axis=0) > 0.95).all()


def test_the_command_writes_them(problem, tmp_path):
    data = anndata.AnnData(sparse.csr_matrix(problem[0].astype(np.float32)))
    data.var_names = GENES
    data.write_h5ad(tmp_path / "cells.h5ad")
    asked = ("programmes", tmp_path / "cells.h5ad", "-o", tmp_path / "out.h5ad", "--n-programmes", 4, "--runs", 3)
    told = json.loads(run(*asked, "--json").output)
    assert [entry["name"] for entry in told["programmes"]] == list(
        anndata.read_h5ad(tmp_path / "out.h5ad").uns["programmes"]["names"]
    )
    shown = run(*asked, "--force", "--plot", tmp_path / "p.png").output
    assert "4 programmes of 500 cells" in shown
    assert "Mostly common to all: G1" in shown
    assert (tmp_path / "p.png").stat().st_size > 1000
    (tmp_path / "bad.h5ad").write_bytes(b"nothing")
    assert "cannot be read as .h5ad" in fails("programmes", tmp_path / "bad.h5ad", "-o", tmp_path / "x.h5ad")


def test_they_are_public():
    assert pellucid.gene_programmes is gene_programmes
    assert pellucid.concepts.GeneProgrammes.__name__ == "GeneProgrammes"


def test_fewer_programmes_than_asked_for_are_said():
    counts = np.random.default_rng(0).poisson(2, (12, 30))
    with pytest.warns(UserWarning, match="Only . of 40 programmes were found in 12 cells"):
        assert len(gene_programmes(counts, n_programmes=40).names) < 40


def test_usage_of_takes_lists_and_refuses_one_cell_without_its_brackets():
    counts = np.random.default_rng(0).poisson(2, (12, 30))
    found = gene_programmes(counts, n_programmes=2)
    np.testing.assert_array_equal(found.usage_of(counts.tolist()), found.usage_of(counts))
    with pytest.raises(ValueError, match="must be two-dimensional"):
        found.usage_of(counts[0])


@pytest.mark.filterwarnings("error")
def test_a_programme_alone_has_no_gene_that_stands_out_and_is_drawn_so():
    found = gene_programmes(np.random.default_rng(0).poisson(2, (60, 30)), n_programmes=1)
    assert not found.top_genes(found.names[0])
    assert [text.get_text() for text in found.plot().texts] == ["no gene stands out"]
