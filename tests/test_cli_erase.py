"""`pellucid concepts erase`."""

import io
import json

import numpy as np
import pytest

import pellucid
from pellucid import ConceptErasure, vectors
from support.commands import NAMES, data_fixture, fails, files_fixture, found, model_fixture, run  # noqa: F401


def test_what_is_written_is_what_the_library_erases(data, files, tmp_path):
    X, Y, _ = data
    out, kept = tmp_path / "e.parquet", tmp_path / "e.safetensors"
    said = found("concepts", "erase", files / "v.parquet", "--labels", "tags", "-o", out, "--save", kept)
    ours = ConceptErasure().fit(X, Y, NAMES)
    written = vectors.read(out)
    assert written.vectors.dtype == np.float32
    assert written.ids[:2] == ["item 0", "item 1"]
    np.testing.assert_allclose(written.vectors, ours.transform(X), atol=1e-6)
    assert said["concepts"] == NAMES
    assert (said["rows"], said["dimensions"], said["directions"]) == (240, 10, 3)
    assert said["relative_change"] == pytest.approx(ours.relative_change_)
    assert said["residual"] < 1e-9
    np.testing.assert_array_equal(pellucid.load(kept).left_, ours.left_)


def test_a_saved_eraser_is_applied_to_new_vectors_and_pipes_work(data, files, tmp_path):
    X, Y, _ = data
    kept = tmp_path / "e.safetensors"
    screen = run("concepts", "erase", files / "v.npy", "--labels", files / "labels.txt", "--save", kept).stdout
    assert "erased: animal, person, 日本 [red]" in screen
    assert str(kept) in screen.replace("\n", "")
    run("concepts", "erase", files / "v.npy", "-m", kept, "-o", tmp_path / "e.npy")
    expected = ConceptErasure().fit(X, Y).transform(X)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), expected, atol=1e-6)
    piped = run("concepts", "erase", "-", "-m", kept, "-o", "-", stdin=(files / "v.npy").read_bytes()).stdout_bytes
    np.testing.assert_allclose(np.load(io.BytesIO(piped)), expected, atol=1e-6)
    assert found("info", kept)["erased"] == NAMES
    assert "ConceptErasure" in run("info", kept).stdout


def test_certificates_of_halves_and_of_new_rows(data, files, tmp_path):
    X, Y, _ = data
    said = found("concepts", "erase", files / "v.parquet", "--labels", "tags", "--certify")["certificate"]
    ours = ConceptErasure().fit(X, Y).certify(X, Y, refit=True)
    np.testing.assert_allclose([c["auc_after"] for c in said["concepts"]], ours.after, atol=1e-3)
    assert (said["rows"], said["fitted_to"]) == (240, 120)
    kept = tmp_path / "e.safetensors"
    run("concepts", "erase", files / "v.parquet", "--labels", "person,animal", "--save", kept)
    arguments = "concepts", "erase", files / "v.parquet", "-m", kept, "--labels", "tags", "--certify"
    assert [c["name"] for c in found(*arguments)["certificate"]["concepts"]] == ["person", "animal"]
    screen = run(*arguments).stdout
    assert "a linear probe tells" in screen
    assert "Areas under the curve on 240 rows" in screen
    assert "no labels to certify with" in fails(*arguments[:-2], "animal", "--certify")


def test_labels_of_a_flat_table_are_no_dimensions(files, tmp_path):
    kept = tmp_path / "e.safetensors"
    run("concepts", "erase", files / "flat.csv", "--labels", "animal,person", "--save", kept)
    assert found("concepts", "erase", files / "flat.csv", "-m", kept, "-o", tmp_path / "e.npy")["dimensions"] == 10


def test_quantities_are_columns_of_numbers(files, tmp_path):
    out = tmp_path / "e.npy"
    said = found("concepts", "erase", files / "v.parquet", "--numbers", "score", "-o", out)
    assert (said["concepts"], said["directions"]) == (["score"], 1)
    assert np.abs(np.corrcoef(np.load(out).T, np.arange(240))[-1, :-1]).max() < 1e-4
    out = tmp_path / "none.npy"
    assert "holds no numbers" in fails("concepts", "erase", files / "v.parquet", "--numbers", "text", "-o", out, code=2)
    gaps = {"a": [0.5, None, *([1.5] * 8)]}
    vectors.write(tmp_path / "gaps.parquet", np.eye(10), None, gaps)
    assert "y has nan at row 1" in fails("concepts", "erase", tmp_path / "gaps.parquet", "--numbers", "a", "-o", out)
    assert "no column 'x' of numbers" in fails(
        "concepts", "erase", files / "v.parquet", "--numbers", "x", "-o", out, code=2
    )


def test_nothing_to_erase_is_a_note(data, tmp_path):
    X, _, _ = data
    vectors.write(tmp_path / "v.parquet", X, None, {"kind": ["one"] * 240})
    result = run("concepts", "erase", tmp_path / "v.parquet", "--labels", "kind", "-o", tmp_path / "e.npy")
    assert "Note: The concept 'one' is the same in all rows" in result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), X)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "Say what to erase with --labels or --numbers, or name an eraser with --model"),
        (["--labels", "tags"], 2, "Name a file for the vectors with --output, or one for the eraser with --save"),
        (["--labels", "tags", "--numbers", "score"], 2, "and not with both"),
        (["-m", "MODEL", "--certify"], 2, "With --model labels are for --certify, which needs them"),
        (["-m", "MODEL", "--labels", "tags", "-o", "x.npy"], 2, "With --model labels are for --certify"),
        (["-m", "MODEL", "-o", "x.npy"], 2, "holds a ConceptSubspaces, where an eraser is needed"),
        (["-m", "MODEL", "--save", "x.safetensors"], 2, "leave --save out"),
        (["--labels", "tags", "-o", "x.csv"], 2, "must end in .npy or .parquet"),
        (["--labels", "tags", "--save", "x.npy"], 2, "must end in .safetensors"),
        (["--labels", "nothing", "-o", "x.npy"], 2, "no file or column 'nothing'"),
    ],
)
def test_misuse_gets_a_sentence(files, model, tmp_path, monkeypatch, arguments, code, sentence):
    monkeypatch.chdir(tmp_path)
    arguments = [model if a == "MODEL" else a for a in arguments]
    assert sentence in fails("concepts", "erase", files / "v.parquet", *arguments, code=code)
    assert not list(tmp_path.iterdir())


def test_json_has_no_nan(data, tmp_path):
    X, _, _ = data
    one = (np.arange(240) == 0).astype(int)
    vectors.write(tmp_path / "v.parquet", X, None, {"one": one, "half": np.arange(240) % 2})
    said = run("concepts", "erase", tmp_path / "v.parquet", "--labels", "one,half", "--certify", "--json").stdout
    assert "NaN" not in said
    assert len(json.loads(said)["certificate"]["concepts"]) == 2
