import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pellucid.cli import COMMANDS, group


def run(*arguments, **settings):
    """The installed command in a process of its own, as a user has it."""
    script = Path(sys.executable).parent / "pellucid"
    return subprocess.run([script, *arguments], capture_output=True, text=True, env=os.environ | settings)


def test_help_names_every_command():
    result = run("--help")
    assert result.returncode == 0
    for name in COMMANDS:
        assert name in result.stdout
        described = CliRunner().invoke(group, [name, "--help"])
        assert described.exit_code == 0
        assert "Example" in described.output


def test_alone_it_greets_with_things_to_try():
    result = CliRunner().invoke(group, [])
    assert result.exit_code == 0
    for line in ("pellucid demo", "pellucid explore", "pellucid discover", "pellucid --help"):
        assert line in result.output
    for words in re.findall(r"^  pellucid (\w+)", result.output, re.M):
        assert words in COMMANDS


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["serch"], "search"), (["conceps"], "concepts"), (["concepts", "ft"], "fit"), (["clusters", "fti"], "fit")],
)
def test_a_command_that_is_not_there_is_told_what_was_meant(words, meant):
    result = CliRunner().invoke(group, words)
    assert result.exit_code == 2
    assert f"There is no command {words[-1]!r}: did you mean {meant!r}?" in result.output


def test_version():
    from pellucid import __version__

    assert __version__ in run("--version").stdout


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    """Where the installed command has left its demo, and the figures it printed."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = run("demo", "--json", "-o", str(folder))
    assert result.returncode == 0, result.stderr
    assert not result.stderr  # the progress bar is for terminals
    return folder, json.loads(result.stdout)


@pytest.fixture
def found():
    """What a very small demo might find."""
    from pellucid.search import Explanation, Hit

    hits = [Hit(1, 0.5, 0, lambda: {"id": "a", "text": "A <dog> [red]", "labels": ["animal"]})]
    hits.append(Hit(2, 0.4, 1, lambda: {"id": "b", "text": "A cup", "labels": []}))
    return {
        "output": Path("somewhere"),
        "captions": {"animal": [("dog", 0.1), ("cat", 0.2)]},
        "groups": [{"items": 2, "words": ["puppy", "kitten"]}],
        "query": {"id": "q", "text": "A cat & a [bold]", "concept": "animal"},
        "parts": [(0.8, "animal"), (0.2, "plant")],
        "hits": {"plain": hits, "filtered": hits[:1], "diverse": hits[::-1]},
        "why": Explanation(["animal", "plant"], np.array([0.3, 0.1]), 0.1, 0.5, [["dog"], []]),
        "figures": {
            "scenes": 2,
            "concepts": 2,
            "atoms": 2,
            "retrieval_map_at_20": {"plain cosine": {"general": 0.5, "sub": 0.4}},
            "seconds": 1.0,
        },
    }


def test_demo_leaves_files_that_load(demo_folder):
    import pellucid
    from pellucid.search import Collection

    folder, figures = demo_folder
    scores = figures["retrieval_map_at_20"]
    assert scores["concept subspaces"]["general"] > scores["words alone (zero-shot)"]["general"]
    assert scores["words alone (zero-shot)"]["general"] > scores["plain cosine"]["general"] + 0.2
    assert scores["concept subspaces"]["sub"] > scores["supervised SVD"]["sub"] > scores["plain cosine"]["sub"]
    model = pellucid.load(folder / "model.safetensors")
    collection = Collection.open(folder / "collection")
    assert len(collection) == 3000
    assert model.project(collection.vectors([0]), "animal").shape == (1, 384)
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert report.count("data:image/png;base64,") == 6
    assert "http" not in report.split("<main>")[1]  # everything is in the file


def test_what_the_demo_leaves_is_what_other_commands_take(demo_folder):
    folder, _ = demo_folder
    arguments = ["search", folder / "collection", "-m", folder / "model.safetensors", "--item", "scene-0", "--json"]
    hits = CliRunner().invoke(group, [str(a) for a in [*arguments, "-c", "person", "-k", 3]])
    assert len(json.loads(hits.stdout)) == 3
    captions = ["concepts", "caption", folder / "model.safetensors", "--words", folder / "words.parquet"]
    assert "tomcat" in CliRunner().invoke(group, [str(a) for a in captions]).stdout
    described = CliRunner().invoke(group, ["info", str(folder / "scenes.parquet"), "--json"])
    assert json.loads(described.stdout)["rows"] == 3000


def test_a_second_demo_takes_the_collection_of_the_first(demo_folder):
    from pellucid.cli.demo import collect
    from pellucid.datasets import load_scenes

    made = (demo_folder[0] / "collection" / "manifest.json").stat().st_mtime_ns
    assert len(collect(demo_folder[0], load_scenes())) == 3000
    assert (demo_folder[0] / "collection" / "manifest.json").stat().st_mtime_ns == made


def telling(found):
    """A demo that tells all sections of what it found, one after the other."""
    from pellucid.cli import demo

    def run(output, tell):
        for section in (demo.show_retrieval, demo.show_neighbours, demo.show_groups, demo.show_end):
            tell(section, found)
        return found

    return run


def test_demo_shows_what_it_found(found, monkeypatch):
    from pellucid.cli import demo

    monkeypatch.setattr(demo, "run", telling(found))
    shown = CliRunner().invoke(group, ["demo"]).stdout
    expected = [
        "plain cosine",
        "dog, cat",
        "puppy, kitten",
        "A cat & a [bold]",
        "nearest by animal",
        "unlike each other",
    ]
    expected += [
        "A <dog> [red]",
        "not in any concept",
        "somewhere/report.html",
        "pellucid explore somewhere",
    ]
    for words in expected:
        assert words in shown


def test_the_report_does_without_matplotlib(found, tmp_path, monkeypatch):
    from pellucid.cli._report import write_report

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    write_report(tmp_path / "r.html", found, None, None, None)
    report = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "data:image" not in report
    for words in (
        "pellucid[plots]",
        "dog, cat",
        "puppy, kitten",
        "A &lt;dog&gt; [red]",
        "A cat &amp; a",
        "not in any concept",
        "0.500",
    ):
        assert words in report


@pytest.mark.parametrize(
    ("platform", "variables", "has"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"DISPLAY": ":0", "SSH_CONNECTION": "x"}, False),
        ("darwin", {}, True),
    ],
)
def test_a_browser_is_opened_only_where_there_is_a_display(platform, variables, has, monkeypatch):
    from pellucid.cli.demo import has_display

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert has_display() is has


def test_demo_serves_when_asked(demo_folder, found, monkeypatch):
    pytest.importorskip("fastapi", reason="the extra pellucid[explore] is not installed")
    from pellucid import explorer
    from pellucid.cli import demo

    served = []

    class Fake:
        url = "here"

        def run(self):
            served.append(self)
            raise KeyboardInterrupt  # as Ctrl-C does, which is no failure

    monkeypatch.setattr(explorer, "serve", lambda *a, **k: served.append((a, k)) or Fake())
    monkeypatch.setattr("webbrowser.open", lambda url: None)
    monkeypatch.setattr(demo, "run", telling(found))
    result = CliRunner().invoke(group, ["demo", "--serve", "--force", "-o", str(demo_folder[0])])
    assert result.exit_code == 0, result.output
    assert "Explorer: here" in result.output
    assert served[0][0][0] == demo_folder[0]
    assert len(served) == 2


def test_demo_does_not_touch_a_foreign_folder(tmp_path):
    from pellucid.search import Collection

    Collection.create(tmp_path / "collection", [[1.0, 2.0]])
    result = CliRunner().invoke(group, ["demo", "-o", str(tmp_path)])
    assert result.exit_code == 1
    assert "holds another collection; name another folder with --output" in str(result.exception)
    assert len(Collection.open(tmp_path / "collection")) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "There is no command 'nonsense'"),
        (["--threads", "0", "demo"], "--threads"),
        (["demo", "x"], "extra"),
    ],
)
def test_misuse_exits_with_two(arguments, sentence):
    result = run(*arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_failure_is_one_sentence_and_debug_shows_the_rest(monkeypatch, capsys):
    from pellucid import cli
    from pellucid.cli import demo

    def broken(*arguments):
        raise ValueError("The scenes are missing.")

    monkeypatch.setattr(demo, "run", broken)
    for arguments, traceback in ((["demo"], False), (["--debug", "demo"], True)):
        monkeypatch.setattr(sys, "argv", ["pellucid", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 1
        error = capsys.readouterr().err
        assert "Error: The scenes are missing." in error
        assert ("Traceback" in error) == traceback


def test_interrupted_says_so(monkeypatch, capsys):
    from pellucid import cli
    from pellucid.cli import demo

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["pellucid", "demo"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert capsys.readouterr().err.strip().endswith("Stopped.")
