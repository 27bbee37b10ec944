"""`pellucid manifold` on vectors, images and texts."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_digits

import pellucid
from pellucid import vectors
from pellucid.datasets import load_scenes
from pellucid.manifold import PatchManifoldTransform, SparseManifoldTransform, WordManifoldTransform
from support.commands import fails, found, run

IMAGES = ("--n-atoms", 24, "--n-components", 6, "--patch-size", 4)
VECTORS = ("--n-atoms", 24, "--n-components", 5)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    digits = load_digits()
    np.save(folder / "images.npy", (digits.images[:80] / 16).astype(np.float32))
    np.save(folder / "v.npy", digits.data[:200])
    vectors.write(folder / "v.parquet", digits.data[:200].astype(np.float32), [f"d{i}" for i in range(200)])
    lines = [*load_scenes().texts[:800], "", "   "]
    (folder / "corpus.txt").write_text("\n".join(lines), encoding="utf-8")
    run("manifold", "fit", folder / "images.npy", *IMAGES, "-o", folder / "images.safetensors")
    run("manifold", "fit", folder / "v.npy", *VECTORS, "-o", folder / "v.safetensors")
    run("manifold", "fit", folder / "corpus.txt", "--n-components", 12, "-o", folder / "words.safetensors")
    return folder


def test_vectors(files, tmp_path):
    X = np.load(files / "v.npy")
    ours = SparseManifoldTransform(5, n_atoms=24, random_state=0).fit(X)
    told = found("manifold", "fit", files / "v.npy", *VECTORS, "-o", tmp_path / "m.safetensors")
    assert (told["kind"], told["rows"], told["atoms"], told["width"]) == ("vectors", 200, 24, 5)
    np.testing.assert_allclose(told["eigenvalues"], ours.eigenvalues_[:5])
    run("manifold", "transform", files / "v.parquet", "-m", tmp_path / "m.safetensors", "-o", tmp_path / "e.parquet")
    written = vectors.read(tmp_path / "e.parquet")
    np.testing.assert_allclose(written.vectors, ours.transform(X), atol=1e-5)
    assert written.ids[7] == "d7"
    buffer = io.BytesIO()
    np.save(buffer, X)
    out = run("manifold", "transform", "-", "-m", tmp_path / "m.safetensors", "-o", "-", stdin=buffer.getvalue())
    np.testing.assert_allclose(np.load(io.BytesIO(out.stdout_bytes)), ours.transform(X))


def test_images_in_an_array_and_in_a_folder(files, tmp_path):
    images = np.load(files / "images.npy")
    ours = PatchManifoldTransform(4, 24, n_components=6, random_state=0).fit(images)
    told = found("manifold", "transform", files / "images.npy", "-m", files / "images.safetensors", "-o",
                 tmp_path / "e.npy")  # fmt: skip
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), ours.transform(images), atol=1e-5)
    assert told["rows"] == 80
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i, image in enumerate(images[:12]):
        pillow.fromarray((255 * image).astype(np.uint8)).save(folder / f"{i:02}.png")
    assert found("manifold", "fit", folder, *IMAGES, "-o", tmp_path / "m.safetensors")["kind"] == "images"
    run("manifold", "transform", folder, "-m", tmp_path / "m.safetensors", "-o", tmp_path / "e.parquet")
    assert vectors.read(tmp_path / "e.parquet").ids == [f"{i:02}.png" for i in range(12)]


def test_words(files, tmp_path):
    lines = [line for line in (files / "corpus.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
    ours = WordManifoldTransform(12).fit(lines)
    told = found("manifold", "fit", files / "corpus.txt", "--n-components", 12, "-o", tmp_path / "m.safetensors")
    assert (told["rows"], told["atoms"]) == (800, len(ours.vocabulary_))
    for word, near in told["neighbours"].items():
        assert near == [other for other, _ in ours.most_similar(word, 5)]
    model = files / "words.safetensors"
    run("manifold", "transform", files / "corpus.txt", "-m", model, "-o", tmp_path / "lines.npy")
    np.testing.assert_allclose(np.load(tmp_path / "lines.npy"), ours.transform(lines), atol=1e-8)
    run("manifold", "transform", "-m", model, "--vocabulary", "-o", tmp_path / "words.parquet")
    written = vectors.read(tmp_path / "words.parquet")
    assert written.ids == [str(word) for word in ours.vocabulary_]
    piped = run("manifold", "fit", "-", "--kind", "text", "--n-components", 12, "-o", tmp_path / "p.safetensors",
                stdin="\n".join(lines))  # fmt: skip
    assert "nearest words" in piped.stdout
    assert pellucid.load(tmp_path / "p.safetensors").vocabulary_.tolist() == ours.vocabulary_.tolist()


@pytest.mark.parametrize("name", ["v", "images", "words"])
def test_info_knows_the_models(files, name):
    told = found("info", files / f"{name}.safetensors")
    assert told["class"].endswith("ManifoldTransform")
    assert "n_components" in run("info", files / f"{name}.safetensors").stdout


def test_misuse_of_manifold(files, tmp_path):
    out, fit = ("-o", tmp_path / "m.safetensors"), ("manifold", "fit")
    assert "--window is for text" in fails(*fit, files / "v.npy", "--window", 3, *out, code=2)
    assert "--patch-size is for images" in fails(*fit, files / "corpus.txt", "--patch-size", 3, *out, code=2)
    assert "--code is for vectors and images" in fails(*fit, files / "corpus.txt", "--code", "nearest", *out, code=2)
    assert "nearest or threshold" in fails(*fit, files / "images.npy", "--code", "lasso", *out, code=2)
    assert "Images are a folder" in fails(*fit, files / "v.npy", "--kind", "images", *out, code=2)
    assert "must end in .safetensors" in fails(*fit, files / "v.npy", "-o", tmp_path / "m", code=2)
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "holds no text" in fails(*fit, tmp_path / "empty.txt", *out)
    (tmp_path / "short.txt").write_text("one two\n")
    assert "Fewer than two words" in fails(*fit, tmp_path / "short.txt", *out)
    transform, there = ("manifold", "transform"), ("-o", tmp_path / "e.npy")
    words = ("-m", files / "words.safetensors")
    assert "Name what to embed" in fails(*transform, *words, *there, code=2)
    assert "Name what to embed" in fails(*transform, files / "corpus.txt", *words, "--vocabulary", *there, code=2)
    assert "is for models of words" in fails(*transform, "-m", files / "v.safetensors", "--vocabulary", *there, code=2)
    pellucid.save(pellucid.preparation.CenteredNormalizer().fit(np.eye(3)), tmp_path / "n.safetensors")
    assert "holds a CenteredNormalizer" in fails(
        *transform, files / "v.npy", "-m", tmp_path / "n.safetensors", *there, code=2
    )
    assert "Images are a folder" in fails(
        *transform, files / "v.npy", "-m", files / "images.safetensors", *there, code=2
    )
    assert not (tmp_path / "e.npy").exists()
    assert not (tmp_path / "m.safetensors").exists()
