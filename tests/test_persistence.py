import json
import os
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import pellucid
from pellucid import persistence
from pellucid.persistence import ModelFileError
from pellucid.preparation import CenteredNormalizer
from support.killed import killed

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def model(rng):
    return CenteredNormalizer(n_tokens=2).fit(rng.standard_normal((20, 6)))


def rewrite(source, target, change_header=None, change_tensors=None):
    """Copy a model file with its header or tensors changed."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(source, framework="numpy") as file:
        header = json.loads(file.metadata()["pellucid"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    for sums in ("checksums", "sum"):  # as one who means it would
        header.pop(sums, None)
    if change_header:
        header = change_header(header) or header
    if change_tensors:
        change_tensors(tensors)
    save_file(tensors, target, metadata={"pellucid": json.dumps(header)})


def test_round_trip(model, rng, tmp_path):
    X = rng.standard_normal((5, 6))
    pellucid.save(model, tmp_path / "m.safetensors")
    again = pellucid.load(str(tmp_path / "m.safetensors"))
    assert type(again) is CenteredNormalizer
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.n_samples_seen_ == 20


def test_same_model_same_bytes(model, tmp_path):
    for name in ("a", "b"):
        pellucid.save(model, tmp_path / f"{name}.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_a_file_saved_by_an_early_version_still_loads():
    model = pellucid.load(GOLDEN / "centered_normalizer.safetensors")
    assert model.n_tokens == 2
    assert list(model.feature_names_in_) == ["länge", "width", "深さ", "t"]
    X = pd.DataFrame(
        [[3.0, 4.0, 0.0, 1.0], [0.0, 2.0, 1.0, 0.5], [1.0, 1.0, 1.0, 1.0]], columns=model.feature_names_in_
    )
    tokens = X.to_numpy().reshape(3, 2, 2)
    unit = (tokens / np.linalg.norm(tokens, axis=2, keepdims=True)).reshape(3, 4)
    centred = unit - unit.mean(axis=0)
    np.testing.assert_allclose(model.transform(X), centred / np.linalg.norm(centred, axis=1, keepdims=True), atol=1e-12)


def test_every_model_of_the_library_has_a_golden_file():
    stems = {path.stem.replace("_", "") for path in GOLDEN.glob("*.safetensors")}
    assert stems == {name.lower() for name in [*persistence.MODELS, persistence.PIPELINE]}


def test_parameters_that_had_another_name_are_read_under_the_name_of_today():
    assert pellucid.load(GOLDEN / "binary_autoencoder.safetensors").margin == 0.05


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda h: h.update(format=99), r"has model format 99, written by Pellucid .*: upgrade it to load the file"),
        (lambda h: h.update(format="1"), r"does not say which format"),
        (lambda h: h.pop("format"), r"does not say which format"),
        (lambda h: h.update({"class": "os.system"}), r"holds a 'os.system', which is not a model of this Pellucid"),
        (lambda h: h.update({"class": ["a"]}), r"which is not a model of this Pellucid"),
        (lambda h: h["params"].update(evil=1), r"has the parameter 'evil', which CenteredNormalizer does not have"),
        (lambda h: h["values"].update(__class__="x"), r"has the value '__class__', which CenteredNormalizer does not"),
        (lambda h: h["values"].update(n_features_in_=7), r"mean_ has shape \(6,\), which does not fit .* is 7"),
        (lambda h: h["values"].pop("n_features_in_"), r"n_features_in_ is None, where a int belongs"),
        (lambda h: h["values"].update(n_features_in_=6.0), r"n_features_in_ is 6.0, where a int belongs"),
        (lambda h: h["values"].update(n_samples_seen_={"a": 1}), r"n_samples_seen_ is {'a': 1}, where a int belongs"),
        (lambda h: h["params"].update(n_tokens="evil"), r"The 'n_tokens' parameter of CenteredNormalizer must be"),
        (lambda h: h["text"].update(feature_names_in_=["a", "b"]), r"feature_names_in_ has shape \(2,\)"),
        (lambda h: h["text"].update(feature_names_in_=[1] * 6), r"holds something other than text"),
        (lambda h: h["text"].update(transform=["a"]), r"has the array 'transform', which CenteredNormalizer does not"),
        (lambda h: h.pop("values"), r"has no values in its header"),
        (lambda h: [1], r"header that is not a JSON object"),
    ],
)
def test_a_strange_header_is_refused_with_a_sentence(model, tmp_path, change, sentence):
    pellucid.save(model, tmp_path / "m.safetensors")

    def apply(header):
        result = change(header)
        return result if result == [1] else None

    rewrite(tmp_path / "m.safetensors", tmp_path / "bad.safetensors", change_header=apply)
    with pytest.raises(ModelFileError, match=sentence):
        pellucid.load(tmp_path / "bad.safetensors")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.update(mean_=np.zeros((6, 1))), r"mean_ has 2 dimensions instead of 1"),
        (lambda t: t.update(mean_=np.zeros(5)), r"mean_ has shape \(5,\), which does not fit"),
        (lambda t: t.update(mean_=np.zeros(6, int)), r"mean_ holds int64 values"),
        (lambda t: t.update(mean_=np.full(6, np.nan)), r"mean_ holds values that are not finite"),
        (lambda t: t.update(other=np.zeros(6)), r"has the array 'other', which CenteredNormalizer does not have"),
        (lambda t: t.clear(), r"holds no fitted CenteredNormalizer: it lacks mean_"),
    ],
)
def test_strange_arrays_are_refused_with_a_sentence(model, tmp_path, change, sentence):
    pellucid.save(model, tmp_path / "m.safetensors")
    rewrite(tmp_path / "m.safetensors", tmp_path / "bad.safetensors", change_tensors=change)
    with pytest.raises(ModelFileError, match=sentence):
        pellucid.load(tmp_path / "bad.safetensors")


def test_other_files_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model file at"):
        pellucid.load(tmp_path / "nothing.safetensors")
    for content in (b"", b"hello", struct.pack("<Q", 2**60) + b"{}", b"\x80\x04K\x01."):
        (tmp_path / "x.safetensors").write_bytes(content)
        with pytest.raises(ModelFileError, match="damaged or not a model file"):
            pellucid.load(tmp_path / "x.safetensors")
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "plain.safetensors")
    with pytest.raises(ModelFileError, match=r"but not one that pellucid.save wrote"):
        pellucid.load(tmp_path / "plain.safetensors")


GOLDEN_BYTES = (GOLDEN / "centered_normalizer.safetensors").read_bytes()


@settings(max_examples=400, derandomize=True)
@given(data=st.data())
def test_mutated_files_give_a_model_or_a_sentence(tmp_path_factory, data):
    content = bytearray(GOLDEN_BYTES)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if kind == "flip":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del content[at : at + data.draw(st.integers(1, 40))]
        else:
            content[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        if not content:
            break
    path = tmp_path_factory.getbasetemp() / "mutated.safetensors"
    path.write_bytes(bytes(content))
    try:
        model = pellucid.load(path)
    except ModelFileError:
        return
    assert isinstance(model, CenteredNormalizer)
    assert model.mean_.shape == (model.n_features_in_,)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.random.default_rng(0), r"The parameter center is a Generator, which a model file cannot hold"),
        (float("nan"), r"The parameter center is nan"),
        (print, r"The parameter center is a builtin_function_or_method"),
    ],
)
def test_what_cannot_be_saved_gets_a_sentence(model, tmp_path, value, sentence):
    model.center = value
    with pytest.raises(ValueError, match=sentence):
        pellucid.save(model, tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_models_of_the_library_are_saved(tmp_path):
    with pytest.raises(TypeError, match="Only Pellucid's own models can be saved"):
        pellucid.save(LogisticRegression(), tmp_path / "m.safetensors")
    with pytest.raises(NotFittedError):
        pellucid.save(CenteredNormalizer(), tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match=r"Model files end in .safetensors, but the path is 'm.pkl'"):
        pellucid.save(CenteredNormalizer(), "m.pkl")


def test_a_failed_save_leaves_the_old_file_whole(model, tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    pellucid.save(model, path)
    before = path.read_bytes()

    def full_disk(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        pellucid.save(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]


KILLED = """
import sys
import numpy as np
import pellucid
from pellucid.preparation import CenteredNormalizer
models = [CenteredNormalizer().fit(np.random.default_rng(i).standard_normal((3, 20_000))) for i in range(2)]
while True:
    for model in models:
        pellucid.save(model, sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
@pytest.mark.parametrize("moment", range(6))
def test_a_killed_save_leaves_a_whole_file(tmp_path, rng, moment):
    path = tmp_path / "m.safetensors"
    saved = [CenteredNormalizer().fit(np.random.default_rng(i).standard_normal((3, 20_000))) for i in range(2)]
    saved.insert(0, CenteredNormalizer().fit(rng.standard_normal((3, 20_000)) + 1))
    pellucid.save(saved[0], path)
    killed(KILLED, moment, path)
    np.testing.assert_array_equal(pellucid.load(path).mean_, saved[(moment + 1) // 3].mean_)


@pytest.fixture
def prepared(rng):
    from pellucid import ConceptSubspaces

    return ConceptSubspaces(2).fit(rng.standard_normal((30, 6)), rng.random((30, 2)) < 0.6)


def test_a_model_keeps_what_prepared_its_data(prepared, rng, tmp_path):
    X = rng.standard_normal((5, 6))
    pellucid.save(prepared, tmp_path / "m.safetensors")
    again = pellucid.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.prepare(X), prepared.prepare(X))
    np.testing.assert_array_equal(again.atoms_, prepared.atoms_)
    pellucid.save(again, tmp_path / "again.safetensors")  # and keeps it when it is loaded, changed and saved
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "m.safetensors").read_bytes()
    prepared.preparation_ = None
    pellucid.save(prepared, tmp_path / "bare.safetensors")
    assert pellucid.load(tmp_path / "bare.safetensors").preparation_ is None


@pytest.mark.parametrize("center", [True, False])
def test_a_file_written_before_models_prepared_their_rows_means_what_it_meant(center, rng, tmp_path):
    from pellucid import ConceptSubspaces

    X, Y = 3 + rng.standard_normal((30, 6)), rng.random((30, 2)) < 0.6
    model = ConceptSubspaces(2, center=center).fit(X, Y)
    pellucid.save(model, tmp_path / "m.safetensors")
    rewrite(tmp_path / "m.safetensors", tmp_path / "old.safetensors", lambda h: h["params"].pop("center") and None)
    loaded = pellucid.load(tmp_path / "old.safetensors")
    assert loaded.center is center
    np.testing.assert_array_equal(loaded.prepare(X), model.prepare(X))
    np.testing.assert_array_equal(loaded.shares(X), model.shares(X))


def test_a_model_that_takes_rows_as_they_are_has_no_preprocessing(prepared, rng, tmp_path):
    pellucid.save(CenteredNormalizer().fit(rng.standard_normal((5, 6))), tmp_path / "n.safetensors")
    part = {
        "class": "CenteredNormalizer",
        "params": {},
        "values": {"n_features_in_": 1, "n_samples_seen_": 1},
        "text": {},
    }
    rewrite(
        tmp_path / "n.safetensors", tmp_path / "bad.safetensors", lambda h: h.update(preprocessing=part),
        lambda t: t.update({"preprocessing_.mean_": np.ones(1)}),
    )  # fmt: skip
    with pytest.raises(ModelFileError, match="has a preprocessing, but a CenteredNormalizer takes rows as they are"):
        pellucid.load(tmp_path / "bad.safetensors")


@pytest.mark.parametrize(
    ("change_header", "change_tensors", "sentence"),
    [
        (lambda h: h.update(preprocessing="os.system"), None, "not a model of this Pellucid"),
        (lambda h: h["preprocessing"].update({"class": "Popen"}), None, "not a model of this Pellucid"),
        (lambda h: h["preprocessing"].pop("values"), None, "no values"),
        (lambda h: h.pop("preprocessing") and None, None, "does not say of which"),
        (None, lambda t: t.pop("preprocessing_.mean_"), "lacks mean_"),
        (None, lambda t: t.update({"preprocessing_.more": np.ones(2)}), "'more'"),
    ],
)
def test_a_damaged_preprocessing_is_refused(prepared, tmp_path, change_header, change_tensors, sentence):
    pellucid.save(prepared, tmp_path / "m.safetensors")
    change = change_header and (lambda header: change_header(header) and None)
    rewrite(tmp_path / "m.safetensors", tmp_path / "bad.safetensors", change, change_tensors)
    with pytest.raises(ModelFileError, match=sentence):
        pellucid.load(tmp_path / "bad.safetensors")


def test_only_our_own_preprocessing_is_saved(prepared, tmp_path):
    prepared.preparation_ = LogisticRegression()
    with pytest.raises(TypeError, match="not LogisticRegression"):
        pellucid.save(prepared, tmp_path / "m.safetensors")
    assert not list(tmp_path.iterdir())
