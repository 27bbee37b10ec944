"""Results of a model in an AnnData: what is written, what is read again, and what is refused."""

import numpy as np
import pytest
from scipy import sparse

from pellucid import ConceptSubspaces, card, save
from support.commands import fails, found
from support.oracles import planted_cones

anndata = pytest.importorskip("anndata", reason="the anndata extra is not installed")
from pellucid.integrations import anndata as ours  # noqa: E402

NAMES = ["T cell", "a/b", "a|b", "d"]


@pytest.fixture(scope="module")
def cells():
    X, Y, *_ = planted_cones(200, 12, noise=0.1)
    X = np.where(np.abs(X) < 0.05, 0, X).astype(np.float32)
    return X, ConceptSubspaces(2, random_state=0).fit(X, Y, NAMES)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("rep", [None, "X_pca"])
def test_results_go_there_and_back(cells, form, rep, tmp_path, monkeypatch):
    monkeypatch.setattr(ours, "BLOCK_NUMBERS", 500)
    X, model = cells
    adata = anndata.AnnData(form(X)) if rep is None else anndata.AnnData(np.zeros((200, 3)), obsm={rep: form(X)})
    adata.obs["kind"] = ["x"] * 200
    adata.write_h5ad(tmp_path / "in.h5ad")
    before = (tmp_path / "in.h5ad").read_bytes()
    save(model, tmp_path / "m.safetensors")
    said = found(
        "concepts", "project", tmp_path / "in.h5ad", "-m", tmp_path / "m.safetensors", "--write", tmp_path / "out.h5ad",
        *(() if rep is None else ("--column", rep)),
    )  # fmt: skip
    assert (said["rows"], said["concepts"]) == (200, 4)
    assert (tmp_path / "in.h5ad").read_bytes() == before
    back = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_allclose(back.obsm["concepts_shares"], model.shares(X), atol=1e-6)
    np.testing.assert_allclose(back.obsm["concepts_presence"], model.predict_proba(X), atol=1e-6)
    for j, column in enumerate(("concepts_T cell", "concepts_a|b", "concepts_a|b_", "concepts_d")):
        np.testing.assert_array_equal(back.obs[column], model.predict(X)[:, j])
    assert list(back.obs["kind"]) == ["x"] * 200
    atoms = back.varm["concepts_atoms"].T if rep is None else back.uns["concepts"]["atoms"]
    np.testing.assert_array_equal(atoms, model.atoms_)
    assert list(back.uns["concepts"]["names"]) == NAMES
    np.testing.assert_array_equal(back.uns["concepts"]["groups"], model.groups_)
    assert back.uns["concepts"]["card"] == card(model)
    ours.write_concepts(back, model, use_rep=rep)  # once more, in the place of the first


def test_nothing_of_others_is_replaced(cells, tmp_path):
    X, model = cells
    adata = anndata.AnnData(X)
    adata.obs["concepts_d"] = 1
    with pytest.raises(ValueError, match=r"obs\['concepts_d'\] is taken by something else"):
        ours.write_concepts(adata, model)
    ours.write_concepts(adata, model, key="other")
    plain = ConceptSubspaces(2, random_state=0, presence=False).fit(X[:, :12], X > 0.2, [f"c{i}" for i in range(12)])
    ours.write_concepts(adata, plain, key="other")
    assert "other_presence" not in adata.obsm
    assert not [name for name in adata.obs if name.startswith("other")]
    with pytest.raises(ValueError, match=r"no vectors 'X_pac' in obsm: did you mean 'X_pca'"):
        ours.write_concepts(anndata.AnnData(X, obsm={"X_pca": X}), model, use_rep="X_pac")
    with pytest.raises(ValueError, match="fitted on 12 dimensions, but 'X' has 3"):
        ours.write_concepts(anndata.AnnData(X[:, :3]), model)


def test_the_input_is_never_written_over(cells, tmp_path):
    X, model = cells
    anndata.AnnData(X).write_h5ad(tmp_path / "in.h5ad")
    save(model, tmp_path / "m.safetensors")
    arguments = ("concepts", "project", tmp_path / "in.h5ad", "-m", tmp_path / "m.safetensors", "--write")
    assert "would overwrite what is read" in fails(*arguments, tmp_path / "in.h5ad", code=2)
    assert "would overwrite what is read" in fails(*arguments, tmp_path / "in.h5ad", "--force", code=2)
    (tmp_path / "there.h5ad").write_text("x")
    assert "exists already" in fails(*arguments, tmp_path / "there.h5ad", code=2)
    found(*arguments, tmp_path / "there.h5ad", "--force")
    assert "--write is for an .h5ad" in fails(
        "concepts", "project", tmp_path / "m.safetensors", "-m", tmp_path / "m.safetensors", "--write",
        tmp_path / "new.h5ad", code=2,
    )  # fmt: skip
