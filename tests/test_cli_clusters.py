"""`pellucid clusters` on files, and its models in the explorer."""

import csv
import io

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import pellucid
from pellucid import vectors
from pellucid.clusters import CommonalityClustering
from pellucid.metrics import clustering_error
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection
from support.commands import fails, found, run
from support.waiting import PATIENCE

SMALL = ("--n-clusters", 3, "--n-atoms", 3, "--n-common", 2)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Zeros, ones and twos."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 3].astype(np.float32), y[y < 3]
    np.save(folder / "d.npy", X)
    vectors.write(folder / "d.parquet", X, [f"digit [b] {i}" for i in range(len(X))])
    found("clusters", "fit", folder / "d.npy", *SMALL, "-o", folder / "m.safetensors")
    return folder, X, y


def test_fit_is_what_the_library_does(digits, tmp_path):
    folder, X, y = digits
    told = found("clusters", "fit", folder / "d.parquet", *SMALL, "-o", tmp_path / "m.safetensors")
    ours = CommonalityClustering(3, 3, 2, random_state=0).fit(X)
    loaded = pellucid.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.labels_, ours.labels_)
    np.testing.assert_allclose(loaded.atoms_, ours.atoms_, atol=1e-5)
    assert [c["rows"] for c in told["clusters"]] == np.bincount(ours.labels_, minlength=3).tolist()
    mean, own, common = ours.shares(X).T
    for c in told["clusters"]:
        mine = ours.labels_ == c["cluster"]
        assert c["mean"] == pytest.approx(mean[mine].mean(), abs=1e-4)
        assert c["own"] == pytest.approx(own[mine].mean(), abs=1e-4)
        assert c["common"] == pytest.approx(common[mine].mean(), abs=1e-4)
        assert all(name.startswith("digit [b]") for name in c["examples"] + c["borderline"])
        assert c["name"] == f"like {c['examples'][0]}"
    table = np.array([np.bincount(y[loaded.labels_ == c], minlength=3) for c in range(3)])
    assert table.max(axis=1).sum() > 0.97 * len(y)  # the clusters are the digits
    said = run("clusters", "fit", folder / "d.parquet", *SMALL, "-o", tmp_path / "m.safetensors", "--force").stdout
    assert "like digit [b]" in said


def test_a_table_says_how_many_clusters_it_speaks_for_and_what_they_are(tmp_path):
    pandas = pytest.importorskip("pandas")
    wine = load_wine(as_frame=True)
    pandas.concat([wine.data, wine.target], axis=1).to_csv(tmp_path / "wine.csv", index=False)
    told = found("clusters", "fit", tmp_path / "wine.csv", "-o", tmp_path / "m.safetensors")
    assert told["scaled"]
    assert told["numbers"].startswith("3 to ")
    assert len(told["clusters"]) == 3
    assert clustering_error(pellucid.load(tmp_path / "m.safetensors").labels_, wine.target) <= 0.06
    assert {feature["name"] for c in told["clusters"] for feature in c["features"]} >= {"proline", "flavanoids", "hue"}
    said = run("clusters", "fit", tmp_path / "wine.csv", "-o", tmp_path / "m.safetensors", "--force").stdout
    assert "high flavanoids" in said
    assert "one variance" in said
    same = found(
        "clusters", "fit", tmp_path / "wine.csv", "--no-scale", "--n-clusters", 3, "-o", tmp_path / "n.safetensors"
    )
    assert not same["scaled"]
    assert same["numbers"] is None


def test_the_papers_reading_and_what_belongs_to_it(digits, tmp_path):
    out = ("-o", tmp_path / "m.safetensors")
    run("clusters", "fit", digits[0] / "d.npy", *SMALL, "--reading", "paper", "--unit-length", "--sparsity", 0.02, *out)
    loaded = pellucid.load(tmp_path / "m.safetensors")
    assert (loaded.reading, loaded.sparsity, loaded.atoms_.shape) == ("paper", 0.02, (3, 3, 64))
    assert 'sparsity belongs to reading="paper"' in fails(
        "clusters", "fit", digits[0] / "d.npy", *SMALL, "--sparsity", 0.02, *out, "--force"
    )


def test_predict_prints_and_writes(digits, tmp_path):
    folder, X, _ = digits
    model = folder / "m.safetensors"
    fitted = pellucid.load(model)
    labels, costs = fitted.predict(X), fitted.transform(X).min(axis=1)
    told = found("clusters", "predict", folder / "d.npy", "-m", model)
    assert [row["cluster"] for row in told] == labels.tolist()
    np.testing.assert_allclose([row["cost"] for row in told], costs, rtol=1e-5)
    run("clusters", "predict", folder / "d.parquet", "-m", model, "-o", tmp_path / "labels.csv")
    written = list(csv.reader((tmp_path / "labels.csv").open(encoding="utf-8")))
    assert written[0] == ["id", "cluster", "cost"]
    assert [int(row[1]) for row in written[1:]] == labels.tolist()
    assert written[1][0] == "digit [b] 0"
    assert found("clusters", "predict", folder / "d.npy", "-m", model, "-o", tmp_path / "labels.npy")["rows"] == len(X)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), labels)
    buffer = io.BytesIO()
    np.save(buffer, X[:4])
    piped = run("clusters", "predict", "-", "-m", model, "-o", "-", stdin=buffer.getvalue()).stdout
    assert [int(line.split(",")[1]) for line in piped.splitlines()[1:]] == labels[:4].tolist()
    assert f"{len(X) - 20} more rows" in run("clusters", "predict", folder / "d.npy", "-m", model).stdout


def test_preparation(digits, tmp_path):
    folder, X, _ = digits
    run("clusters", "fit", folder / "d.npy", *SMALL, "--normalise", "-o", tmp_path / "n.safetensors")
    np.testing.assert_allclose(
        pellucid.load(tmp_path / "n.safetensors").preparation_.mean_, CenteredNormalizer().fit(X).mean_, atol=1e-6
    )
    Collection.create(tmp_path / "collection", X / 16)
    run("clusters", "fit", tmp_path / "collection", *SMALL, "-o", tmp_path / "c.safetensors")
    assert pellucid.load(tmp_path / "c.safetensors").preparation_ is None


def test_blocks_and_mini_batches(digits, tmp_path, monkeypatch):
    folder = digits[0]
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 100)
    monkeypatch.setattr("pellucid.cli._fits.MANY_ROWS", 200)
    monkeypatch.setattr("pellucid.cli._fits.BATCH_ROWS", 128)
    run("clusters", "fit", folder / "d.parquet", *SMALL, "-o", tmp_path / "m.safetensors")
    assert pellucid.load(tmp_path / "m.safetensors").batch_size == 128
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors"]


def test_what_was_learned_when_ctrl_c_came_is_kept(digits, tmp_path, monkeypatch):
    from pellucid.clusters import likelihood

    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(likelihood, "sweep", interrupted)
    monkeypatch.setattr(likelihood, "GRAPH_ROWS", 200)
    result = run("clusters", "fit", digits[0] / "d.npy", *SMALL, "-o", tmp_path / "m.safetensors", code=1)
    assert "Stopped after 0 sweeps" in result.output
    assert pellucid.load(tmp_path / "m.safetensors").n_iter_ == 0
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]


def test_misuse_of_clusters(digits, tmp_path):
    folder, X, _ = digits
    out = ("-o", tmp_path / "m.safetensors")
    assert "must end in .safetensors" in fails("clusters", "fit", folder / "d.npy", "-o", tmp_path / "m", code=2)
    assert "choose one" in fails("clusters", "fit", folder / "d.npy", "--normalise", "--unit-length", *out, code=2)
    assert "neither a number" in fails("clusters", "fit", folder / "d.npy", "--n-clusters", "some", *out, code=2)
    assert "n_clusters=999" in fails("clusters", "fit", folder / "d.npy", "--n-clusters", 999, *out)
    assert "must end in" in fails("clusters", "predict", folder / "d.npy", "-m", folder / "m.safetensors", "-o",
                                  tmp_path / "x.txt", code=2)  # fmt: skip
    pellucid.save(CenteredNormalizer().fit(X), tmp_path / "other.safetensors")
    assert "holds a CenteredNormalizer" in fails(
        "clusters", "predict", folder / "d.npy", "-m", tmp_path / "other.safetensors", code=2
    )
    np.save(tmp_path / "wide.npy", np.ones((3, 5)))
    assert "64" in fails("clusters", "predict", tmp_path / "wide.npy", "-m", folder / "m.safetensors")
    assert not (tmp_path / "m.safetensors").exists()


def test_the_explorer_shows_vectors_as_they_came(digits, tmp_path):
    """The model makes unit length, the collection keeps pixels: the parts are those of the prepared vector."""
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    from pellucid.explorer import explore

    folder, X, _ = digits
    run("clusters", "fit", folder / "d.npy", *SMALL, "--unit-length", "-o", tmp_path / "u.safetensors")
    collection, fitted = Collection.create(tmp_path / "raw", X), pellucid.load(tmp_path / "u.safetensors")
    with explore(collection, tmp_path / "u.safetensors", image_shape=(8, 8), open_browser=False) as server:
        state = server.app.state.pellucid
        assert state.background.wait(PATIENCE)
        np.testing.assert_array_equal(state.structure.clusters(), fitted.predict(X))
        unit = X[5] / np.linalg.norm(X[5])
        np.testing.assert_allclose(state.structure.reconstruct("5")[0], unit, atol=1e-6)


def test_texts_are_shown_where_there_are_any(digits, tmp_path):
    X = digits[1]
    texts = [f"a picture of {i} " + 20 * "and more " for i in range(len(X))]
    vectors.write(tmp_path / "t.parquet", X, [f"id{i}" for i in range(len(X))], {"text": texts})
    Collection.create(tmp_path / "collection", X, text=texts)
    for source in ("t.parquet", "collection"):
        told = found("clusters", "fit", tmp_path / source, *SMALL, "-o", tmp_path / "m.safetensors", "--force")
        assert all(example.startswith("a picture of") for c in told["clusters"] for example in c["examples"])
        assert not any(c["name"].startswith("cluster") for c in told["clusters"])
        shown = run("clusters", "fit", tmp_path / source, *SMALL, "-o", tmp_path / "m.safetensors", "--force").stdout
        assert "  rows  mean  own  shared  such as" in shown  # long texts leave the other columns their room
