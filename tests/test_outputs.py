"""No command writes over what it reads, nor over anything else unless told to, and it looks before it works."""

import os

import click
import numpy as np
import pytest

from pellucid.cli import LazyGroup, group
from pellucid.cli._outputs import OutputFile, OutputFolder, Writing
from support.commands import collection_fixture, data_fixture, fails, files_fixture, model_fixture, run  # noqa: F401

posix = pytest.mark.skipif(os.name != "posix", reason="needs links and rights of POSIX")


def commands(within=group, path=()):
    """Every command with the words that call it."""
    for name in within.list_commands(None):
        found = within.get_command(None, name)
        if isinstance(found, LazyGroup):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


WRITERS = {words: found for words, found in commands() if isinstance(found, Writing)}


def outputs(command):
    return [param for param in command.params if isinstance(param.type, (OutputFile, OutputFolder))]


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_every_path_is_either_read_or_held_to_the_rule(words):
    """A new option that names a place to write cannot go round the rule unseen."""
    command = dict(commands())[words]
    for param in command.params:
        if isinstance(param.type, click.Path):
            assert param.type.exists, f"{param.name} is neither something that exists nor an output"
        assert param.name not in ("output", "save") or param in outputs(command)
    assert isinstance(command, Writing) == bool(outputs(command))


# for each command what is read, as its words with the place of the output left open
READS = {
    ("binary", "fit"): "v.safetensors -o",
    ("binary", "draw"): None,  # reads a model, writes a picture: only --names could be the same, and that is no picture
    ("clusters", "fit"): "v.safetensors -o",
    ("clusters", "predict"): "v.npy -m m.safetensors -o",
    ("concepts", "erase"): "v.npy --labels labels.npy -o",
    ("concepts", "fit"): "v.safetensors --labels labels.npy -o",
    ("concepts", "project"): "v.npy -m m.safetensors -o",
    ("compare",): None,  # draws a picture, which nothing reads
    ("demo",): None,  # reads nothing
    ("discover",): "v.safetensors -o",
    ("export", "atlas"): None,  # reads a collection and a model, writes a .parquet, which is neither
    ("index",): None,  # makes a folder, below
    ("manifold", "fit"): "v.safetensors -o",
    ("manifold", "transform"): "v.npy -m m.safetensors -o",
    ("programmes",): "cells.h5ad -o",
    ("select",): "v.npy -k 3 -o",
}


def test_every_command_that_writes_is_tried():
    assert set(READS) == set(WRITERS)


@pytest.fixture
def place(files, model, tmp_path, monkeypatch):
    """A folder with a copy of everything, whose content must stay; commands run in it."""
    from safetensors.numpy import save_file

    for name in ("v.npy", "v.parquet", "labels.npy", "m.safetensors"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    save_file({"vectors": np.load(files / "v.npy")}, tmp_path / "v.safetensors")
    (tmp_path / "cells.h5ad").write_bytes(b"cells")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def no_work(monkeypatch):
    """Nothing is read: whatever is refused is refused before."""
    import anndata

    import pellucid.persistence
    import pellucid.vectors

    def worked(*arguments, **settings):
        raise AssertionError("the work began")

    readers = ((pellucid.vectors, "read"), (pellucid.vectors, "blocks"), (pellucid.persistence, "load"))
    for module, name in (*readers, (anndata, "read_h5ad")):
        monkeypatch.setattr(module, name, worked)


def called(words):
    """The words of a command, and the file that it reads."""
    rest = READS[words].split()
    return [*words, *rest], rest[0]


def links(file):
    """Other names of one file."""
    yield file
    yield f"./empty/../{file}"
    yield os.path.abspath(file)
    suffix = os.path.splitext(file)[1]
    os.symlink(file, f"soft{suffix}")
    yield f"soft{suffix}"
    os.symlink(f"soft{suffix}", f"softer{suffix}")
    yield f"softer{suffix}"
    os.link(file, f"hard{suffix}")
    yield f"hard{suffix}"
    os.symlink(f"../{os.path.basename(file)}", f"empty/in{suffix}")
    yield f"empty/in{suffix}"


@posix
@pytest.mark.parametrize("words", [words for words, rest in READS.items() if rest], ids=" ".join)
def test_no_command_writes_over_what_it_reads(words, place, no_work):
    arguments, file = called(words)
    before = content(place)
    for name in links(file):
        for force in ([], ["--force"]):
            said = fails(*arguments, name, *force, code=2)
            assert "would overwrite what is read" in " ".join(said.split()), said
    after = content(place)
    assert {name: after[name] for name in before} == before


@posix
@pytest.mark.parametrize(
    "line",
    [
        "concepts fit v.npy --labels labels.npy --words m.safetensors -o m.safetensors",
        "concepts fit v.npy --words m.safetensors -o link.safetensors",
        "concepts project parts -m m.safetensors -o parts/one.parquet",
        "concepts erase v.npy --labels labels.npy -o labels.npy",
        "concepts erase v.npy --labels labels.npy --save link.safetensors --names m.safetensors",
        "clusters fit parts -o parts/model.safetensors",
    ],
)
def test_nor_over_a_model_labels_or_one_of_many_parts(line, place, no_work):
    (place / "parts").mkdir()
    for name in ("v.parquet", "m.safetensors"):
        (place / "parts" / {"v.parquet": "one.parquet"}.get(name, "model.safetensors")).write_bytes(
            (place / name).read_bytes()
        )
    os.symlink("m.safetensors", "link.safetensors")
    before = content(place) | content(place / "parts")
    assert "would overwrite what is read" in " ".join(fails(*line.split(), "--force", code=2).split())
    assert content(place) | content(place / "parts") == before


@posix
def test_two_outputs_need_two_places(place, no_work):
    os.symlink("new.npy", "new.safetensors")
    line = "concepts erase v.npy --labels labels.npy -o new.npy --save new.safetensors"
    assert "name two files" in fails(*line.split(), code=2)


@pytest.mark.parametrize("words", [words for words, rest in READS.items() if rest], ids=" ".join)
def test_what_is_there_is_replaced_only_with_force(words, place, no_work):
    arguments, _ = called(words)
    suffix = outputs(WRITERS[words])[0].type.suffixes[0]
    (place / f"precious{suffix}").write_text("not ours")
    said = " ".join(fails(*arguments, f"precious{suffix}", code=2).split())
    assert "exists already: name another file, or replace it with --force" in said
    with pytest.raises(AssertionError, match="the work began"):
        run(*arguments, f"precious{suffix}", "--force")
    (place / f"folder{suffix}").mkdir()
    for wrong, sentence in (
        ("new.txt", "must end in"),
        (f"nowhere/new{suffix}", "There is no folder"),
        (f"folder{suffix}", "is a folder: name a file"),
        (f"{'x' * 300}{suffix}", "cannot be written"),
    ):
        assert sentence in " ".join(fails(*arguments, wrong, "--force", code=2).split())
    assert (place / f"precious{suffix}").read_text() == "not ours"


@posix
def test_places_that_are_no_files_and_folders_without_rights(place, no_work):
    os.mkfifo("pipe.npy")
    os.symlink("loop.npy", "loop.npy")
    os.symlink("nowhere/at/all.npy", "dangling.npy")
    start = ["select", "v.npy", "-k", 2, "-o"]
    for name, sentence in (
        ("pipe.npy", "neither a file nor a folder"),
        ("loop.npy", "cannot be written"),
        ("dangling.npy", "no folder"),
    ):
        assert sentence in " ".join(fails(*start, name, "--force", code=2).split())
    if os.geteuid() != 0:
        (place / "empty").chmod(0o500)
        assert "may not be written to" in fails(*start, "empty/a.npy", code=2)


def test_replacing_with_force_works(place):
    (place / "out.npy").write_text("old")
    run("select", "v.npy", "-k", 3, "-o", "out.npy", "--force")
    assert np.load("out.npy").shape == (3, 10)
    run("select", "v.npy", "-k", 3, "-o", "out.npy", code=1)
    assert "out.npy exists already" in " ".join(fails("select", "v.npy", "-k", 3, "-o", "out.npy", code=2).split())


def test_a_collection_is_not_made_over_what_it_is_made_of(place):
    run("index", "v.npy", "-o", "c")
    before = content(place / "c")
    source = next(name for name in before if name.startswith("vectors-"))
    for output in ("c", "."):
        said = " ".join(fails("index", f"c/{source}", "-o", output, "--force", code=2).split())
        assert "which is read" in said
    assert "is a file: name a folder" in fails("index", "v.npy", "-o", "v.parquet", "--force", code=2)
    assert content(place / "c") == before


def test_the_demo_keeps_files_of_others(place, monkeypatch):
    from pellucid.cli import demo

    (place / "demo").mkdir()
    (place / "demo" / "words.parquet").write_text("not ours")
    monkeypatch.setattr(demo, "run", lambda *_: pytest.fail("the work began"))
    said = " ".join(fails("demo", "-o", "demo", code=2).split())
    assert "demo/words.parquet exists already" in said
    assert (place / "demo" / "words.parquet").read_text() == "not ours"
