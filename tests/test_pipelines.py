"""Pipelines of our own models in one file: what is kept, what is refused, and that strange files harm nobody."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import pellucid
from pellucid import CommonalityClustering, ConceptErasure, ConceptSubspaces, SparseManifoldTransform
from pellucid.persistence import FORMAT, MODELS, ModelFileError
from pellucid.preparation import CenteredNormalizer
from support.commands import fails, found, run

GOLDEN = Path(__file__).parent / "golden" / "pipeline.safetensors"
GOLDEN_ATOM = [0.0, 0.0489, 0.9745, 0.2192]  # of "emu", as it was written
ROWS = np.random.default_rng(0).standard_normal((60, 6))
LABELS = ["cat" if i % 2 else "dog" for i in range(60)]

PIPELINES = {
    "centred concepts": lambda: [("middle", CenteredNormalizer()), ("concepts", ConceptSubspaces(1, center=False))],
    "preparing itself": lambda: [("only", ConceptSubspaces(2))],
    "erased clusters": lambda: [
        ("erase", ConceptErasure()), ("off", "passthrough"), ("none", None),
        ("clusters", CommonalityClustering(2, n_atoms=1, n_common=1, center=True, random_state=0)),
    ],
    "twice the same": lambda: [("a", CenteredNormalizer()), ("b", CenteredNormalizer(n_tokens=2))],
    "strange names": lambda: [("steps.1.", CenteredNormalizer()), ("preprocessing_. 中", ConceptSubspaces(1))],
    "a manifold": lambda: [("x", SparseManifoldTransform(3, n_atoms=8, random_state=0)), ("y", ConceptSubspaces(1))],
}  # fmt: skip


def changed(path, tmp_path, header=None, tensors=None):
    """A copy of a file with its header or its tensors changed."""
    with safe_open(path, framework="numpy") as file:
        told, arrays = json.loads(file.metadata()["pellucid"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if header:
        header(told)
    if tensors:
        tensors(arrays)
    for sums in ("checksums", "sum"):  # as one who means it would
        told.pop(sums, None)
    save_file(arrays, tmp_path / "changed.safetensors", metadata={"pellucid": json.dumps(told)})
    return tmp_path / "changed.safetensors"


@pytest.mark.parametrize("case", PIPELINES)
def test_a_pipeline_comes_back_as_it_was(tmp_path, case):
    pipeline = Pipeline(PIPELINES[case](), verbose=False).fit(ROWS, LABELS)
    for name in "ab":
        pellucid.save(pipeline, tmp_path / f"{name}.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    again = pellucid.load(tmp_path / "a.safetensors")
    assert type(again) is Pipeline
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]
    np.testing.assert_array_equal(again.transform(ROWS), pipeline.transform(ROWS))
    for (_, one), (_, other) in zip(pipeline.steps, again.steps):
        if one in (None, "passthrough"):
            assert other == "passthrough"
            continue
        assert type(other) is type(one)
        assert other.get_params() == one.get_params()
    clone(again).fit(ROWS, LABELS)
    pellucid.save(again, tmp_path / "c.safetensors")
    if case != "erased clusters":  # None has become "passthrough", which is the same
        assert (tmp_path / "c.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()


def test_parameters_of_the_pipeline_are_kept(tmp_path):
    kept = make_pipeline(CenteredNormalizer(), verbose=True).set_params(transform_input=["sample_weight"])
    kept[0].fit(ROWS)
    pellucid.save(kept, tmp_path / "p.safetensors")
    again = pellucid.load(tmp_path / "p.safetensors")
    assert (again.verbose, again.transform_input, again.memory) == (True, ["sample_weight"], None)


def test_predictions_of_the_last_step(tmp_path):
    pipeline = Pipeline(PIPELINES["centred concepts"]()).fit(ROWS, LABELS)
    pellucid.save(pipeline, tmp_path / "p.safetensors")
    again = pellucid.load(tmp_path / "p.safetensors")
    np.testing.assert_array_equal(again.predict_proba(ROWS), pipeline.predict_proba(ROWS))
    assert again.score(ROWS, LABELS) == pipeline.score(ROWS, LABELS)


def test_a_file_of_an_earlier_version_still_loads():
    pipeline = pellucid.load(GOLDEN)
    assert [name for name, _ in pipeline.steps] == ["mitte 中", "nothing", "concepts"]
    assert list(pipeline[0].feature_names_in_) == ["länge", "b", "c", "d"]
    rows = pd.DataFrame([[3, 0.2, 0, 0], [1, 1, 0, 0]], columns=pipeline[0].feature_names_in_)
    units = rows.to_numpy() / np.linalg.norm(rows, axis=1, keepdims=True)
    by_hand = [nnls(pipeline[-1].atoms_.T, row)[0] for row in units]
    np.testing.assert_allclose(pipeline.transform(rows), by_hand, atol=1e-8)
    np.testing.assert_allclose(pipeline[-1].atoms_[2], GOLDEN_ATOM, atol=1e-4)


def test_models_keep_the_format_that_earlier_versions_read(tmp_path):
    pellucid.save(CenteredNormalizer().fit(ROWS), tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", framework="numpy") as file:
        assert json.loads(file.metadata()["pellucid"])["format"] == FORMAT == 1
    with safe_open(GOLDEN, framework="numpy") as file:
        assert json.loads(file.metadata()["pellucid"])["format"] == 2


class Mine(CenteredNormalizer):
    """A model that somebody made of one of ours."""


@pytest.mark.parametrize("foreign", [StandardScaler(), make_pipeline(CenteredNormalizer()), Mine()])
def test_a_foreign_step_is_refused_by_its_name(tmp_path, foreign):
    pipeline = Pipeline([("first", CenteredNormalizer()), ("mine", foreign)]).fit(ROWS)
    sentence = f"The step 'mine' of the pipeline is a {type(foreign).__name__}, which is no model of Pellucid"
    with pytest.raises(TypeError, match=sentence) as caught:
        pellucid.save(pipeline, tmp_path / "p.safetensors")
    assert sorted(MODELS)[0] in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_is_not_fitted_and_a_path_of_another_kind(tmp_path):
    half = Pipeline([("a", CenteredNormalizer().fit(ROWS)), ("b", ConceptSubspaces())])
    with pytest.raises(NotFittedError, match="ConceptSubspaces"):
        pellucid.save(half, tmp_path / "p.safetensors")
    with pytest.raises(ValueError, match=r"Model files end in .safetensors"):
        pellucid.save(half, tmp_path / "p.pkl")


@pytest.mark.parametrize(
    ("header", "tensors", "sentence"),
    [
        (lambda h: h.update(steps=[]), None, "says that it is a pipeline, but not of which steps"),
        (lambda h: h.update(steps={"a": 1}), None, "but not of which steps"),
        (lambda h: h.pop("params"), None, "but not of which steps"),
        (lambda h: h.update({"class": "CenteredNormalizer"}), None, "but not of which steps"),
        (lambda h: h.update(format=1), None, "holds a 'Pipeline', which is not a model|has the array"),
        (lambda h: h.update(format=3), None, "has model format 3.*reads up to format 2: upgrade it"),
        (lambda h: h["steps"][0].update(name="concepts"), None, "a step named 'concepts', but names of steps are"),
        (lambda h: h["steps"][0].update(name="a__b"), None, "a step named 'a__b'"),
        (lambda h: h["steps"][0].pop("name"), None, "a step named None"),
        (lambda h: h["steps"].insert(0, 7), None, "a step named None"),
        (lambda h: h["steps"][0].update({"class": "os.system"}), None, "holds a 'os.system', which is not a model"),
        (lambda h: h["steps"][0].update({"class": "Pipeline"}), None, "holds a 'Pipeline', which is not a model"),
        (lambda h: h["steps"][0].update({"class": "passthrough"}), None, "holds a 'passthrough', which is not a model"),
        (lambda h: h["steps"][2]["params"].update(evil=1), None, "has the parameter 'evil'"),
        (lambda h: h["params"].update(verbose="yes"), None, "has parameters of a pipeline that cannot be"),
        (lambda h: h["params"].update(transform_input="x"), None, "has parameters of a pipeline that cannot be"),
        (None, lambda t: t.update({"steps.7.mean_": np.zeros(4)}), "array 'steps.7.mean_', which belongs to no step"),
        (None, lambda t: t.update({"mean_": np.zeros(4)}), "array 'mean_', which belongs to no step"),
        (None, lambda t: t.pop("steps.2.atoms_"), "holds no fitted ConceptSubspaces: it lacks atoms_"),
    ],
)  # fmt: skip
def test_a_strange_file_is_refused_with_a_sentence(tmp_path, header, tensors, sentence):
    with pytest.raises(ModelFileError, match=sentence):
        pellucid.load(changed(GOLDEN, tmp_path, header, tensors))


@settings(max_examples=200, derandomize=True)
@given(st.integers(0, GOLDEN.stat().st_size - 1), st.integers(0, 255))
def test_a_flipped_byte_gives_a_pipeline_or_a_sentence(tmp_path_factory, at, byte):
    content = bytearray(GOLDEN.read_bytes())
    content[at] = byte
    path = tmp_path_factory.getbasetemp() / "flipped.safetensors"
    path.write_bytes(bytes(content))
    try:
        assert type(pellucid.load(path)) is Pipeline
    except ModelFileError:
        return


def test_commands_say_what_it_is(tmp_path):
    assert found("info", GOLDEN)["steps"]["mitte 中"] == "CenteredNormalizer"
    assert "ConceptSubspaces" in run("info", GOLDEN).stdout
    np.save(tmp_path / "v.npy", ROWS)
    assert "holds a Pipeline, where concept subspaces are needed" in fails(
        "concepts", "project", tmp_path / "v.npy", "-m", GOLDEN, code=2
    )
