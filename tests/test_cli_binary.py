"""`pellucid binary` and the kinds of score on the command line."""

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pellucid
from pellucid import vectors
from pellucid.binary import Analogram, analogram_of
from pellucid.search import Collection, ConceptSearch
from support.commands import collection_fixture, data_fixture, fails, files_fixture, found, model_fixture, run  # noqa: F401

ANIMALS = ["trout", "carp", "eagle", "sparrow", "robin", "cat", "lion", "[bold] Röß"]


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """A tree of eight animals in 40 dimensions, as a file."""
    folder = tmp_path_factory.mktemp("animals")
    groups = [[2, 3, 4], [5, 6, 7], [0, 1], [3, 4], [5, 6], *([i] for i in range(8))]
    kinds = np.array([[i in group for group in groups] for i in range(8)]).astype(int)
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((40, len(groups))))[0].T
    vectors.write(folder / "animals.parquet", kinds @ directions, ANIMALS)
    (folder / "names.txt").write_text("\n".join(ANIMALS), encoding="utf-8")
    run("binary", "fit", folder / "animals.parquet", "--method", "assignment", "-o", folder / "m.safetensors")
    return folder


@pytest.fixture(scope="module")
def bits(tmp_path_factory):
    """Items made of five concepts, with a little noise."""
    folder = tmp_path_factory.mktemp("bits")
    rng = np.random.default_rng(1)
    true = rng.integers(0, 2, (150, 5))
    X = 3 + true @ rng.standard_normal((5, 30)) + 0.1 * rng.standard_normal((150, 30))
    np.save(folder / "v.npy", X)
    return folder, X, true


def test_fit_is_what_the_library_does(bits, tmp_path):
    folder, X, true = bits
    told = found("binary", "fit", folder / "v.npy", "-o", tmp_path / "m.safetensors")
    ours = pellucid.BinaryAutoencoder(random_state=0).fit(X)
    loaded = pellucid.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.concepts_, ours.concepts_)
    assert told["cka"] == pytest.approx(ours.cka_)
    assert told["items"] == 150
    assert [c["items"] for c in told["concepts"]] == ours.concepts_.sum(axis=0).tolist()
    assert pellucid.metrics.binary_recovery(loaded.concepts_, true).exact == 5
    assert sum(c["share"] for c in told["concepts"]) == pytest.approx(1)
    assert (
        "5 concepts in 5 dimensions" in run("binary", "fit", folder / "v.npy", "-o", tmp_path / "n.safetensors").stdout
    )


def test_a_tree_and_its_picture(animals, tmp_path):
    told = found(
        "binary", "draw", animals / "m.safetensors", "--names", animals / "animals.parquet", "-o", tmp_path / "a.svg"
    )
    assert told["share"] == pytest.approx(1)
    assert (told["items"], told["nodes"], told["hidden"]) == (8, 14, 6)
    assert ["trout", "carp"] in [c["items"] for c in told["concepts"]]
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ET.fromstring(picture).tag.endswith("svg")
    run("binary", "draw", animals / "m.safetensors", "--names", animals / "names.txt", "-o", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    few = found("binary", "draw", animals / "m.safetensors", "--names", animals / "names.txt", "--item", "cat",
                "--item", "lion", "--item", "trout", "-o", tmp_path / "few.pdf")  # fmt: skip
    assert few["items"] == 3
    assert {tuple(c["items"]) for c in few["concepts"]} == {("cat",), ("lion",), ("trout",)}
    out = run("binary", "draw", animals / "m.safetensors", "-o", "-", "--item", "0", "--item", "7")
    assert "<svg" in out.stdout
    assert "[bold] Röß" in run("binary", "fit", animals / "animals.parquet", "--method", "assignment", "-o",
                             tmp_path / "m.safetensors").stdout  # fmt: skip


def test_standard_input_a_collection_and_preparation(bits, tmp_path):
    folder, X, _ = bits
    buffer = io.BytesIO()
    np.save(buffer, X)
    piped = found("binary", "fit", "-", "-o", tmp_path / "p.safetensors", stdin=buffer.getvalue())
    Collection.create(tmp_path / "collection", X, [f"thing {i}" for i in range(150)])
    kept = found("binary", "fit", tmp_path / "collection", "-o", tmp_path / "c.safetensors")
    assert len(kept["concepts"]) == len(piped["concepts"]) == 5
    assert kept["concepts"][0]["examples"][0].startswith("thing ")
    found("binary", "fit", folder / "v.npy", "--normalise", "-o", tmp_path / "n.safetensors")
    np.testing.assert_allclose(
        pellucid.load(tmp_path / "n.safetensors").preparation_.mean_,
        pellucid.preparation.CenteredNormalizer().fit(X).mean_,
    )
    assert "cka" in found("info", tmp_path / "n.safetensors")


def test_noise_is_told_to_have_no_concept(tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((200, 60)))
    assert "No concept" in run("binary", "fit", tmp_path / "noise.npy", "-o", tmp_path / "m.safetensors").stdout
    assert "no graph" in fails("binary", "draw", tmp_path / "m.safetensors", "-o", tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()


def test_misuse_of_binary(animals, model, bits, tmp_path):
    fit, draw = ("binary", "fit", animals / "animals.parquet"), ("binary", "draw", animals / "m.safetensors")
    out, picture = ("-o", tmp_path / "m.safetensors"), ("-o", tmp_path / "a.svg")
    assert "must end in .safetensors" in fails(*fit, "-o", tmp_path / "m.txt", code=2)
    assert "goes with another --method" in fails(*fit, "--branches", 2, *out, code=2)
    assert "goes with another --method" in fails(*fit, "--method", "assignment", "--rank", 2, *out, code=2)
    assert "must end in" in fails(*draw, "-o", tmp_path / "a.txt", code=2)
    assert "did you mean 'trout'" in fails(*draw, "--names", animals / "names.txt", "--item", "truot", *picture, code=2)
    assert "at least two" in fails(*draw, "--item", "1", "--item", "1", *picture, code=2)
    assert "names 150 items, but" in fails(*draw, "--names", bits[0] / "v.npy", *picture)
    assert "holds a ConceptSubspaces" in fails("binary", "draw", model, *picture, code=2)
    np.save(tmp_path / "many.npy", np.ones((2001, 2)))
    assert "up to 2 000" in fails("binary", "fit", tmp_path / "many.npy", "--method", "assignment", *out, code=2)
    bad = np.ones((5, 3))
    bad[3, 1] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    assert "row 3" in fails("binary", "fit", tmp_path / "bad.npy", *out)
    assert [p.name for p in tmp_path.iterdir()] == [p.name for p in tmp_path.glob("*.npy")]


def test_a_picture_that_fails_leaves_the_old_one(animals, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def interrupted(self, path, **settings):
        path.write_text("half")
        raise KeyboardInterrupt

    (tmp_path / "a.svg").write_text("the old one")
    monkeypatch.setattr(Figure, "savefig", interrupted)
    run("binary", "draw", animals / "m.safetensors", "-o", tmp_path / "a.svg", code=1)
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]
    assert (tmp_path / "a.svg").read_text() == "the old one"


def test_the_strongest_concepts_that_can_be_read():
    rng = np.random.default_rng(0)
    fitted = pellucid.IterativeAssignment(random_state=0).fit(rng.standard_normal((14, 20)))
    whole = analogram_of(fitted, max_nodes=4096, max_concepts=12)
    some = analogram_of(fitted, max_nodes=20)
    assert len(whole.weights) == 12
    assert len(some.graph.nodes) <= 20
    assert 0 < some.share < 1
    assert np.all(np.diff(some.weights) <= 0)
    bits = some.graph.nodes[some.graph.item_nodes]
    np.testing.assert_array_equal((bits[:, None] != bits).sum(axis=2), some.graph.distances())
    one_more = analogram_of(fitted, max_nodes=4096, max_concepts=len(some.weights) + 1)
    assert len(one_more.graph.nodes) > 20  # no more concepts would have done
    assert isinstance(analogram_of(fitted, [3, 1], ["a", "b"]).graph, Analogram)
    with pytest.raises(ValueError, match="positions of the 14 items"):
        analogram_of(fitted, [0, 99])


def test_the_scores_and_weights_of_a_search(data, files, model, collection, tmp_path):
    plain = tmp_path / "plain.safetensors"
    fit = ("concepts", "fit", files / "v.parquet", "--labels", "tags", "--n-atoms", 1)
    assert not found(*fit, "--no-presence", "-o", plain)["presence"]
    fitted = pellucid.load(model)
    search = ConceptSearch(Collection.open(collection), fitted)
    asked = (collection, "-m", model, "--item", "item 3")
    for words, settings in (
        (("-c", "person"), {"concept": "person"}),
        (("-c", "person", "--score", "projection"), {"concept": "person", "score": "projection"}),
        (("-c", "person=2", "-c", "animal=-0.5"), {"concept": {"person": 2, "animal": -0.5}}),
        (("--without", "person"), {"without": "person"}),
    ):
        hits, ours = found("search", *asked, *words, "-k", 5), search.search("item 3", k=5, **settings)
        assert [h["item"]["id"] for h in hits] == [h.id for h in ours]
        for said, hit in zip(hits, ours):
            assert said["aspects"] == pytest.approx(hit.aspects)
    assert found("info", model)["presence"]
    assert not found("info", plain)["presence"]
    assert "knows which concepts" in fails("search", collection, "-m", plain, "--item", "item 3", "-c", "person",
                                           "--score", "presence", code=2)  # fmt: skip
    assert "NAME=WEIGHT" in fails("search", *asked, "-c", "person=much", code=2)
