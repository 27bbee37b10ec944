"""The Parquet for embedding-atlas: its columns, and that each row is about the item it names."""

import shlex

import numpy as np
import pyarrow.parquet as pq
import pytest

from pellucid import ConceptSubspaces, save
from pellucid.explorer import places
from pellucid.integrations.atlas import write_atlas
from pellucid.search import Collection
from support.commands import fails, found
from support.oracles import planted_cones


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("atlas")
    X, Y, *_ = planted_cones(120, 12, noise=0.1)
    X = X.astype(np.float32)
    more = {"x": list(range(120)), "caption": [None if i == 3 else f"caption {i}" for i in range(120)]}
    collection = Collection.create(
        folder / "c", X, text=[f"text {i}" for i in range(120)], thumbnail=[b"\x89PNG"] * 120, columns=more
    )
    collection.delete(["5"])
    model = ConceptSubspaces(2, random_state=0).fit(X, Y, list("abcd"))
    save(model, folder / "m.safetensors")
    return folder, X, collection, model


def test_every_row_is_about_its_item(made):
    folder, X, collection, model = made
    said = found("export", "atlas", folder / "c", "-m", folder / "m.safetensors", "-o", folder / "a.parquet")
    table = pq.read_table(folder / "a.parquet")
    assert table.column_names == said["columns"] == ["id", "x", "y", "text", "features", "x_", "caption"]
    ids = table["id"].to_pylist()
    assert ids == collection.ids
    assert said["items"] == len(ids) == 119
    np.testing.assert_array_equal(np.column_stack([table["x"], table["y"]]), places(collection))
    assert table["text"].to_pylist() == [f"text {i}" for i in ids]
    assert table["x_"].to_pylist() == [int(i) for i in ids]
    rows = X[[int(i) for i in ids]]
    likely, has = model.predict_proba(rows), model.predict(rows)
    for features, p, mine in zip(table["features"].to_pylist(), likely, has):
        assert set(features) == {name for name, yes in zip("abcd", mine) if yes}
        assert [p["abcd".index(name)] for name in features] == sorted(
            (p["abcd".index(n)] for n in features), reverse=True
        )
    words = shlex.split(said["command"])
    assert words[0] == "embedding-atlas"
    assert words[2:] == ["--x", "x", "--y", "y", "--text", "text", "--features", "features"]


def test_texts_from_elsewhere_and_no_model(made):
    folder, _, collection, _ = made
    where = places(collection, "pca")
    assert "features" not in write_atlas(folder / "b.parquet", collection, where, text="caption")
    table = pq.read_table(folder / "b.parquet")
    assert table["text"].to_pylist()[3] is None
    assert table["text_"].to_pylist()[:2] == ["text 0", "text 1"]
    with pytest.raises(ValueError, match="no column 'captoin' of texts"):
        write_atlas(folder / "b.parquet", collection, where, text="captoin")
    with pytest.raises(ValueError, match="a place"):
        write_atlas(folder / "b.parquet", collection, where[1:])
    assert "exists already" in fails("export", "atlas", folder / "c", "-o", folder / "b.parquet", code=2)


def test_a_model_without_presence_counts_shares(made):
    folder, X, collection, _ = made
    plain = ConceptSubspaces(2, random_state=0, presence=False).fit(X, X[:, :4] > 0.2, list("abcd"))
    write_atlas(folder / "d.parquet", collection, places(collection, "pca"), plain)
    features = pq.read_table(folder / "d.parquet")["features"].to_pylist()
    shares = plain.shares(collection.vectors())
    assert [set(f) for f in features] == [{n for n, s in zip("abcd", row) if s >= 0.1} for row in shares]
