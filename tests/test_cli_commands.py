"""The commands on files as people have them, and on files that nobody should have."""

import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pellucid
from pellucid import vectors
from pellucid.cli import COMMANDS, LazyGroup, group
from pellucid.metrics import concept_retrieval
from pellucid.preparation import CenteredNormalizer
from pellucid.search import Collection, ConceptSearch
from support.commands import NAMES, collection_fixture, data_fixture, fails, files_fixture, found, model_fixture, run  # noqa: F401

SCRIPT = Path(sys.executable).parent / "pellucid"
# fit


def test_fit_is_what_the_library_does(data, model):
    X, Y, _ = data
    before = CenteredNormalizer().fit(X)
    ours = pellucid.ConceptSubspaces(1, random_state=0).fit(X, Y, NAMES)
    loaded = pellucid.load(model)
    np.testing.assert_allclose(loaded.preparation_.mean_, before.mean_)
    np.testing.assert_allclose(loaded.atoms_, ours.atoms_, atol=1e-6)
    assert list(loaded.concept_names_) == NAMES


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        ("v.parquet", ["--labels", ",".join(NAMES)]),
        ("v.parquet", ["--labels", "animal", "--labels", "person", "--labels", NAMES[2]]),
        ("v.parquet", ["--labels", "by_id.parquet"]),
        ("v.npy", ["--labels", "labels.npy", "--names", ",".join(NAMES)]),
        ("v.npy", ["--labels", "labels.txt"]),
        ("v.npy", ["--words", "words.parquet", "--active", "1"]),
    ],
)
def test_labels_in_any_form_give_the_same_model(files, model, tmp_path, source, labels):
    labels = [str(files / a) if (files / a).is_file() else a for a in labels]
    out = tmp_path / "m.safetensors"
    said = found("concepts", "fit", files / source, *labels, "--n-atoms", 1, "-o", out)
    assert [c["name"] for c in said["concepts"]] == NAMES
    assert said["error_after_fit"] <= said["error_at_start"]
    assert said["rows"] == 240
    if "--words" not in labels:
        np.testing.assert_allclose(pellucid.load(out).atoms_, pellucid.load(model).atoms_, atol=1e-6)


def test_labels_from_standard_input_and_vectors_from_standard_input(files, model, tmp_path):
    text = (files / "labels.txt").read_bytes()
    out = tmp_path / "m.safetensors"
    run("concepts", "fit", files / "v.npy", "--labels", "-", "--n-atoms", 1, "-o", out, stdin=text)
    np.testing.assert_allclose(pellucid.load(out).atoms_, pellucid.load(model).atoms_, atol=1e-6)
    npy = (files / "v.npy").read_bytes()
    run("concepts", "fit", "-", "--labels", files / "labels.txt", "--n-atoms", 1, "-o", out, "--force", stdin=npy)
    np.testing.assert_allclose(pellucid.load(out).atoms_, pellucid.load(model).atoms_, atol=1e-6)


def test_numeric_labels_of_a_flat_table_are_no_dimensions(files, tmp_path):
    out = tmp_path / "m.safetensors"
    said = found("concepts", "fit", files / "flat.csv", "--labels", "animal,person", "--n-atoms", 1, "-o", out)
    assert said["dimensions"] == 10
    assert [c["name"] for c in said["concepts"]] == ["animal", "person"]


def test_classes_and_blocks(files, data, tmp_path, monkeypatch):
    """A class per row, where the first block alone would look like a yes or no."""
    X, _, _ = data
    kinds = np.r_[np.zeros(100), np.ones(100), np.full(40, 2)].astype(int)
    vectors.write(tmp_path / "v.parquet", X, None, {"kind": kinds})
    monkeypatch.setattr("pellucid.vectors.blocks.__kwdefaults__", {"labels": (), "rows": 64}, raising=False)
    said = found("concepts", "fit", tmp_path / "v.parquet", "--labels", "kind", "-o", tmp_path / "m.safetensors")
    assert {c["name"]: c["rows"] for c in said["concepts"]} == {"0": 100, "1": 100, "2": 40}


def test_as_is_leaves_vectors_alone(files, data, tmp_path):
    X, Y, _ = data
    out = tmp_path / "m.safetensors"
    run("concepts", "fit", files / "v.npy", "--labels", files / "labels.npy", "--as-is", "--n-atoms", 2, "-o", out)
    loaded = pellucid.load(out)
    assert loaded.preparation_ is None
    ours = pellucid.ConceptSubspaces(2, center=False, random_state=0).fit(X, Y)
    np.testing.assert_allclose(loaded.atoms_, ours.atoms_, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "with --labels or with --words"),
        (["--labels", "tags", "--words", "words.parquet"], 2, "not with both"),
        (["--labels", "nothing"], 2, "no file or column 'nothing'"),
        (["--labels", "text,score"], 1, "'score' have 2 in row 2, where 0 or 1 belongs"),
        (["--labels", "short.npy"], 1, "labels for 3 rows, but there are 240 vectors"),
        (["--labels", "other_ids.csv"], 1, "No id in"),
        (["--labels", "empty.txt"], 1, "No row has any label"),
        (["--labels", "tags", "--n-atoms", "0"], 2, "no whole number"),
        (["--labels", "tags", "--n-atoms", "many"], 2, "no whole number"),
        (["--words", "v.npy"], 2, "one column of text"),
    ],
)
def test_misuse_of_fit(files, tmp_path, arguments, code, sentence):
    np.save(files / "short.npy", np.ones((3, 2), dtype=bool))
    (files / "other_ids.csv").write_text("id,tag\na,animal\nb,person\n")
    (files / "empty.txt").write_text("\n" * 240)
    given = [str(files / a) if (files / a).is_file() else a for a in arguments]
    out = tmp_path / "m.safetensors"
    assert sentence in fails("concepts", "fit", files / "v.parquet", *given, "-o", out, code=code)
    assert not list(tmp_path.iterdir())


def test_bad_vectors_are_named_by_their_row(files, data, tmp_path):
    X = data[0].copy()
    X[7, 3] = np.nan
    np.save(tmp_path / "v.npy", X)
    labels, out = files / "labels.npy", tmp_path / "m.safetensors"
    assert "not finite in row 7" in fails("concepts", "fit", tmp_path / "v.npy", "--labels", labels, "-o", out)
    np.save(tmp_path / "none.npy", X[:0])
    assert "has no rows" in fails("concepts", "fit", tmp_path / "none.npy", "--labels", labels, "-o", out)
    assert "must end in .safetensors" in fails(
        "concepts", "fit", files / "v.npy", "--labels", labels, "-o", tmp_path / "m.bin", code=2
    )
    assert "no folder" in fails(
        "concepts", "fit", files / "v.npy", "--labels", labels, "-o", tmp_path / "no" / "m.safetensors", code=2
    )


def test_what_was_learned_when_ctrl_c_came_is_kept(files, tmp_path, monkeypatch):
    from pellucid.concepts import online

    real, calls = online.turn_atoms, []

    def interrupted(*arguments, **settings):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(online, "turn_atoms", interrupted)
    out = tmp_path / "m.safetensors"
    arguments = ["concepts", "fit", str(files / "v.npy"), "--labels", str(files / "labels.npy"), "-o", str(out)]
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 1
    assert "Stopped after 1 sweep;" in result.output
    assert pellucid.load(out).n_iter_ == 1
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]  # nothing temporary stays


def test_cones_are_kept_when_ctrl_c_comes_while_presence_is_learned(files, tmp_path, monkeypatch):
    from pellucid.concepts import predicting

    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(predicting, "learn_presence", interrupted)
    out = tmp_path / "m.safetensors"
    arguments = ["concepts", "fit", str(files / "v.npy"), "--labels", str(files / "labels.npy"), "-o", str(out)]
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 1
    assert "Stopped before it was learned which concepts a row has" in result.output
    assert not pellucid.load(out).knows_presence


# caption, project, evaluate


def test_caption_names_concepts(files, model):
    said = found("concepts", "caption", model, "--words", files / "words.parquet", "--top", 1)
    assert [rows[0]["word"] for rows in said.values()] == NAMES
    shown = run("concepts", "caption", model, "--words", files / "words.parquet").stdout
    assert "日本 [red]" in shown


def test_project_writes_what_the_library_projects(files, data, model, tmp_path):
    X = data[0]
    loaded, rows = pellucid.load(model), X
    run("concepts", "project", files / "v.parquet", "-m", model, "-c", "animal", "-o", tmp_path / "p.parquet")
    written = vectors.read(tmp_path / "p.parquet")
    np.testing.assert_allclose(written.vectors, loaded.project(rows, "animal"), atol=1e-6)
    assert written.ids[:2] == ["item 0", "item 1"]
    run("concepts", "project", files / "v.npy", "-m", model, "--without", "animal", "-o", tmp_path / "r.npy")
    np.testing.assert_allclose(np.load(tmp_path / "r.npy"), loaded.remove(rows, "animal"), atol=1e-6)
    shares = found("concepts", "project", files / "v.parquet", "-m", model)
    np.testing.assert_allclose([list(s["shares"].values()) for s in shares], loaded.shares(rows), atol=1e-6)
    shown = run("concepts", "project", files / "v.parquet", "-m", model).stdout
    assert "220 more rows" in shown
    one = io.BytesIO()
    np.save(one, X[:1])
    piped = run(
        "concepts", "project", "-", "-m", model, "-c", "animal", "-c", "person", "-o", "-", stdin=one.getvalue()
    )
    both = loaded.project(rows[:1], ["animal", "person"])
    np.testing.assert_allclose(np.load(io.BytesIO(piped.stdout_bytes)), both, atol=1e-6)
    assert "--output" in fails("concepts", "project", files / "v.npy", "-m", model, "-c", "animal", code=2)
    assert "did you mean 'animal'" in fails(
        "concepts", "project", files / "v.npy", "-m", model, "-c", "anima", "-o", tmp_path / "x.npy"
    )
    assert not (tmp_path / "x.npy").exists()


def test_evaluate_measures_what_the_library_measures(files, data, model, tmp_path):
    arguments = ["concepts", "evaluate", files / "v.parquet", "-m", model, "--labels", "tags", "-k", 5]
    said = found(*arguments)
    X, Y, _ = data
    order, fitted = np.random.default_rng(0).permutation(240), pellucid.load(model)
    asked, searched = np.sort(order[:120]), np.sort(order[120:])
    for title, filtering, rows in (("plain", None, fitted.prepare(X)), ("filtered", fitted, X)):
        result = concept_retrieval(filtering, rows[asked], rows[searched], Y[asked], Y[searched], k=5)
        assert np.isclose(said[title]["general"], result.general)
        assert np.allclose(list(said[title]["per_concept"].values()), result.per_concept[:, 0])
    assert said["plain"]["sub"] is None
    assert said["queries"] == said["candidates"] == 120
    (tmp_path / "fine.txt").write_text("\n".join(f"animal/{i % 2}" for i in range(240)))
    with_fine = found(*arguments, "--fine", tmp_path / "fine.txt")
    assert with_fine["plain"]["sub"] is not None
    assert "same thing" in run(*arguments, "--fine", tmp_path / "fine.txt").stdout
    (tmp_path / "wrong.txt").write_text("\n".join(["animal"] * 240))
    assert "concept/thing" in fails(*arguments, "--fine", tmp_path / "wrong.txt")
    (tmp_path / "foreign.txt").write_text("\n".join(["other"] * 240))
    foreign = ["concepts", "evaluate", files / "v.npy", "-m", model, "--labels", tmp_path / "foreign.txt"]
    assert "No label is a concept" in fails(*foreign)


# index and search


def test_a_collection_keeps_vectors_as_they_came_and_everything_beside_them(data, collection):
    opened = Collection.open(collection)
    np.testing.assert_array_equal(opened.vectors(), data[0])
    item = opened.item(5)
    assert item["id"] == "item 5"
    assert item["text"] == "text [bold] of 5"
    assert isinstance(item["labels"], list)
    assert item["score"] == 5


def test_search_is_what_the_library_finds(model, collection):
    search = ConceptSearch(Collection.open(collection), pellucid.load(model))
    arguments = ["search", collection, "-m", model, "--item", "item 3", "-k", 4]
    for options, settings in (
        ([], {}),
        (["-c", "animal"], {"concept": "animal"}),
        (["-c", "animal", "-c", "person"], {"concept": ["animal", "person"]}),
        (["-c", "animal", "--without", "person"], {"concept": "animal", "without": "person"}),
        (["-c", "animal", "--diverse"], {"concept": "animal", "diverse": True}),
    ):
        hits = search.search("item 3", k=4, **settings)
        said = found(*arguments, *options)
        assert [s["item"]["id"] for s in said] == [hit.id for hit in hits]
        np.testing.assert_allclose([s["score"] for s in said], [hit.score for hit in hits], atol=1e-6)


def test_trace_is_what_the_library_traces(model, collection):
    search = ConceptSearch(Collection.open(collection), pellucid.load(model))
    expected = [search.search("item 3", k=30)[-1].id, "nowhere"]
    arguments = ["trace", collection, "-m", model, "--item", "item 3", "-k", 4, "-e", expected[0], "-e", expected[1]]
    for options, settings in (
        ([], {}),
        (["-c", "animal", "--without", "person", "--diverse"],
         {"concept": "animal", "without": "person", "diverse": True}),
    ):  # fmt: skip
        traced = search.trace("item 3", expected, k=4, **settings).to_dict()
        assert found(*arguments, *options)["items"] == json.loads(json.dumps(traced["items"]))
    shown = run(*arguments).stdout
    assert "why:" in shown
    assert "not in the collection" in shown


def test_explanations_add_up(model, collection, files):
    words = ["--words", files / "words.parquet"]
    for hit in found("search", collection, "-m", model, "--item", "item 3", "-k", 3, "--explain", *words):
        why = hit["explanation"]
        assert np.isclose(sum(why["terms"].values()) + why["residual"], why["score"])
    shown = run("search", collection, "-m", model, "--item", "item 3", "-k", 3, "--explain", *words).stdout
    assert "in none" in shown
    assert "[bold]" in shown  # a text is shown as it is


def test_a_search_by_concept_ranks_prepared_vectors_and_explains_its_scores(data, model, collection):
    loaded = pellucid.load(model)
    rows = loaded.prepare(data[0])
    item = int(np.argmax(np.linalg.norm(loaded.project(data[0], "person"), axis=1)))
    words = ("--item", f"item {item}", "-c", "person", "--score", "projection", "-k", 10, "--explain")
    said = found("search", collection, "-m", model, *words)
    query = loaded.project(data[0][item : item + 1], "person")[0]
    assert query.any()
    scores = rows @ query / np.linalg.norm(query)
    order = [i for i in np.argsort(-scores, kind="stable") if i != item][:10]
    assert [hit["item"]["id"] for hit in said] == [f"item {i}" for i in order]
    np.testing.assert_allclose([hit["score"] for hit in said], scores[order], atol=1e-5)
    np.testing.assert_allclose([hit["explanation"]["score"] for hit in said], scores[order], atol=1e-5)


def test_search_from_a_vector(data, files, model, collection, tmp_path):
    np.save(tmp_path / "one.npy", data[0][3:4])
    hits = found("search", collection, "--vector", tmp_path / "one.npy", "-k", 3)
    assert hits[0]["item"]["id"] == "item 3"  # prepared as the collection was
    assert np.isclose(hits[0]["score"], 1, atol=1e-5)
    numbers = json.dumps(data[0][3].tolist())
    piped = found("search", collection, "-m", model, "--vector", "-", "-c", "animal", "-k", 3, stdin=numbers)
    same = found("search", collection, "-m", model, "--item", "item 3", "-c", "animal", "-k", 2)
    assert [h["item"]["id"] for h in piped if h["item"]["id"] != "item 3"][:2] == [h["item"]["id"] for h in same]
    for text, sentence in (("[1, 2", "JSON"), ("[[1],[2]]", "one vector"), ('"a"', "JSON")):
        assert sentence in fails("search", collection, "--vector", "-", stdin=text, code=2)
    assert "10" in fails("search", collection, "-m", model, "--vector", "-", stdin="[1, 2]")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "one of them"),
        (["--item", "item 3", "--vector", "-"], 2, "one of them"),
        (["--item", "item 3", "-c", "animal"], 2, "needs a --model"),
        (["--item", "nobody"], 1, "no item 'nobody'"),
        (["--item", "item 3", "-k", "0"], 2, "-k"),
        (["--item", "item 3", "--words", "words.parquet"], 2, "goes with --concept, --without or --explain"),
    ],
)
def test_misuse_of_search(files, collection, arguments, code, sentence):
    given = [str(files / a) if (files / a).is_file() else a for a in arguments]
    assert sentence in fails("search", collection, *given, code=code)


def test_a_collection_that_an_earlier_version_prepared_for_another_model_says_so(data, tmp_path):
    before = CenteredNormalizer().fit(data[0])
    Collection.create(tmp_path / "old", before.transform(data[0]))
    pellucid.save(before, tmp_path / "old" / "preprocessing.safetensors")
    assert found("info", tmp_path / "old")["preparation"] == "CenteredNormalizer"
    np.save(tmp_path / "half.npy", data[0][:120])
    np.save(tmp_path / "labels.npy", data[1][:120])
    other = tmp_path / "other.safetensors"
    run("concepts", "fit", tmp_path / "half.npy", "--labels", tmp_path / "labels.npy", "-o", other)
    sentence = fails("search", tmp_path / "old", "-m", other, "--item", "3", "-c", "concept 0")
    assert "prepared for another model: index its vectors again" in sentence


def test_index_leaves_nothing_where_it_fails(files, data, collection, tmp_path, monkeypatch):
    assert "exists already" in fails("index", files / "v.npy", "-o", collection, code=2)
    assert "no column 'caption'" in fails(
        "index", files / "v.parquet", "--text", "caption", "-o", tmp_path / "c", code=2
    )
    vectors.write(tmp_path / "twice.parquet", data[0][:2], ["a", "a"])
    assert "occurs twice" in fails("index", tmp_path / "twice.parquet", "-o", tmp_path / "c")
    assert "no engine 'exat': did you mean 'exact'?" in fails(
        "index", files / "v.npy", "--engine", "exat", "-o", tmp_path / "c"
    )

    real = os.replace

    def interrupted(source, target):
        if Path(target) == tmp_path / "c":  # when all is written
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    assert CliRunner().invoke(group, ["index", str(files / "v.npy"), "-o", str(tmp_path / "c")]).exit_code
    assert [p.name for p in tmp_path.iterdir()] == ["twice.parquet"]


def test_blocks_become_one_collection(files, data, tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.vectors.blocks.__kwdefaults__", {"labels": (), "rows": 50}, raising=False)
    run("index", files / "v.npy", "-o", tmp_path / "deep" / "c")
    opened = Collection.open(tmp_path / "deep" / "c")
    assert np.array_equal(opened.vectors(), data[0])
    assert opened.ids == [str(i) for i in range(240)]


def test_a_flat_table_with_labels_goes_all_the_way(files, tmp_path):
    flat, model = files / "flat.csv", tmp_path / "m.safetensors"
    run("concepts", "fit", flat, "--labels", "animal,person", "-o", model)
    shares = found("concepts", "project", flat, "-m", model)
    assert list(shares[0]["shares"]) == ["animal", "person"]
    run("concepts", "project", flat, "-m", model, "-c", "animal", "-o", tmp_path / "p.npy")
    assert np.load(tmp_path / "p.npy").shape == (240, 10)
    assert found("concepts", "evaluate", flat, "-m", model, "--labels", "animal,person")["pairs"] > 0
    said = found("index", flat, "--labels", "animal,person", "-o", tmp_path / "c")
    assert said["dimensions"] == 10
    labels = [item["labels"] for item in map(Collection.open(tmp_path / "c").item, range(240))]
    assert labels == [[n for n, on in zip(NAMES[:2], row) if on] for row in np.load(files / "labels.npy")[:, :2]]


# info, select, completion, all


def test_info_knows_what_is_what(files, model, collection):
    assert found("info", model)["concepts"] == dict.fromkeys(NAMES, 1)
    assert found("info", model)["preparation"]["class"] == "CenteredNormalizer"
    assert found("info", collection)["items"] == 240
    assert found("info", collection)["preparation"] is None
    about = found("info", files / "v.parquet")
    assert (about["rows"], about["dimensions"], about["ids"]) == (240, 10, True)
    assert about["columns"]["text"] == "string"
    for path, kind in ((model, "ConceptSubspaces"), (collection, "collection"), (files / "v.npy", "vectors")):
        assert kind in run("info", path).stdout
    assert "no suffix" in fails("info", files / "labels.txt")


def test_select_is_diversify(files, data, tmp_path):
    from pellucid.selection import diversify

    rows = found("select", files / "v.parquet", "-k", 4, "-o", tmp_path / "s.parquet")
    expected = diversify(data[0], 4).tolist()
    assert [r["row"] for r in rows] == expected
    written = vectors.read(tmp_path / "s.parquet")
    assert np.array_equal(written.vectors, data[0][expected])
    assert written.ids == [f"item {i}" for i in expected]
    relevant = found("select", files / "v.parquet", "-k", 2, "--relevance", "score", "--diversity", 0)
    assert [r["row"] for r in relevant] == [239, 238]
    assert "item 239" in run("select", files / "v.parquet", "-k", 2, "--relevance", "score", "--diversity", 0).stdout
    assert "no column 'x'" in fails("select", files / "v.parquet", "-k", 2, "--relevance", "x", code=2)
    assert "numbers are needed" in fails("select", files / "v.parquet", "-k", 2, "--relevance", "text", code=2)
    run("select", "-", "-k", 3, "-o", tmp_path / "s.npy", stdin=(files / "v.npy").read_bytes())
    assert np.load(tmp_path / "s.npy").shape == (3, 10)


def test_select_a_basis(tmp_path):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X = np.vstack([rng.normal(size=(20, 3)), basis, 3 * rng.normal(size=(20, 3))])
    np.save(tmp_path / "v.npy", X)
    assert [row["row"] for row in found("select", tmp_path / "v.npy", "--isometric")] == [20, 21, 22]
    assert "-k" in fails("select", tmp_path / "v.npy", code=2)
    assert "-k" in fails("select", tmp_path / "v.npy", "-k", 2, "--isometric", code=2)
    assert "--relevance" in fails("select", tmp_path / "v.npy", "--isometric", "--relevance", "x", code=2)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    script = run("completion", shell).stdout
    assert "_PELLUCID_COMPLETE" in script
    words = {"bash": ("COMP_WORDS", "COMP_CWORD"), "zsh": ("COMP_WORDS", "COMP_CWORD")}.get(shell)
    if words:
        asked = {words[0]: "pellucid con", words[1]: "1", "_PELLUCID_COMPLETE": f"{shell}_complete"}
        done = subprocess.run([SCRIPT], capture_output=True, text=True, env=os.environ | asked)
        assert "concepts" in done.stdout


def every_command():
    """The words of every command, those in groups too."""
    for name, (module, _) in COMMANDS.items():
        inside = importlib.import_module(f"pellucid.cli.{module}").command
        yield from ((name, other) for other in inside.table) if isinstance(inside, LazyGroup) else [(name,)]


@pytest.mark.parametrize("words", sorted(every_command()), ids=" ".join)
def test_every_help_has_examples(words):
    described = run(*words, "--help").stdout
    assert "Example" in described
    assert f"pellucid {' '.join(words)}" in described


@pytest.mark.parametrize("words", sorted({*every_command()} - {("completion",), ("explore",), ("mcp",)}), ids=" ".join)
def test_everything_that_prints_results_prints_json(words):
    assert "--json" in run(*words, "--help").stdout


def test_help_imports_nothing_heavy():
    code = "import sys; from pellucid.cli import group\n"
    code += f"for words in {sorted(every_command())!r}:\n    group.main([*words, '-h'], standalone_mode=False)\n"
    code += "print('loaded', {'numpy', 'pyarrow', 'sklearn', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "loaded set()" in done.stdout


# as a process


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("file", range(3))
def test_a_stopped_index_leaves_nothing(tmp_path, file):
    """Ctrl-C comes when a file is there but has no name yet."""
    vectors.write(tmp_path / "v.parquet", np.random.default_rng(0).normal(size=(300, 32)).astype(np.float32))
    program = """
import itertools, os, signal, sys
from pellucid.cli import main
real, written, file = os.replace, itertools.count(), int(sys.argv[1])
def replace(source, target):
    if next(written) == file:
        os.kill(os.getpid(), signal.SIGINT)
    real(source, target)
os.replace = replace
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["pellucid", "index", *sys.argv[2:]]
main()
"""
    command = [sys.executable, "-c", program, str(file), tmp_path / "v.parquet", "-o", tmp_path / "c"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("Stopped.")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v.parquet"]


def test_a_reader_that_leaves_early_is_no_error(files, model):
    line = f"{SCRIPT} concepts project {files / 'v.parquet'} -m {model} --json | head -c 10"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stderr == ""
