import json
import os
import subprocess
import sys
from pathlib import Path

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


def test_version():
    from pellucid import __version__

    assert __version__ in run("--version").stdout


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    """Where the installed command has left its demo, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = run("demo", "-o", str(folder))
    assert result.returncode == 0, result.stderr
    return folder, result


@pytest.fixture(scope="module")
def found(demo_folder):
    from pellucid.cli import demo

    return demo.run(demo_folder[0])  # a second run finds the collection of the first


def test_demo_shows_what_it_found_and_leaves_files_that_load(demo_folder):
    import pellucid
    from pellucid.search import Collection

    folder, result = demo_folder
    for words in ("search by", "nearest words", "A scene and its parts", "nearest by animal", "unlike each other"):
        assert words in result.stdout
    assert not result.stderr
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
    assert "greyhound" in CliRunner().invoke(group, [str(a) for a in captions]).stdout
    assert (
        json.loads(CliRunner().invoke(group, ["info", str(folder / "scenes.parquet"), "--json"]).stdout)["rows"] == 3000
    )


def test_demo_figures_as_json(found, monkeypatch, tmp_path):
    from pellucid.cli import demo

    monkeypatch.setattr(demo, "run", lambda output: found)
    scores = json.loads(CliRunner().invoke(group, ["demo", "--json"]).stdout)["retrieval_map_at_20"]
    assert scores["concept subspaces"]["general"] > scores["words alone (zero-shot)"]["general"]
    assert scores["words alone (zero-shot)"]["general"] > scores["plain cosine"]["general"] + 0.2
    assert scores["concept subspaces"]["sub"] > scores["supervised SVD"]["sub"] > scores["plain cosine"]["sub"]


def test_the_report_does_without_matplotlib(demo_folder, found, tmp_path, monkeypatch):
    import pellucid
    from pellucid.cli._report import write_report
    from pellucid.search import Collection

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    rows = Collection.open(demo_folder[0] / "collection").vectors(list(range(20)))
    write_report(tmp_path / "r.html", found, pellucid.load(demo_folder[0] / "model.safetensors"), rows[0], rows)
    report = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "data:image" not in report
    for words in ("pellucid[plots]", "greyhound", "nearest as a whole", "not in any concept", "0.649"):
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
    monkeypatch.setattr(demo, "run", lambda output: found)
    result = CliRunner().invoke(group, ["demo", "--serve", "-o", str(demo_folder[0])])
    assert result.exit_code == 0, result.output
    assert "Explorer: here" in result.output
    assert served[0][0][0] == demo_folder[0] / "collection"
    assert len(served) == 2


def test_demo_does_not_touch_a_foreign_folder(tmp_path):
    from pellucid.search import Collection

    Collection.create(tmp_path / "collection", [[1.0, 2.0]])
    result = run("demo", "-o", str(tmp_path))
    assert result.returncode == 1
    assert "holds another collection; name another folder with --output" in result.stderr
    assert len(Collection.open(tmp_path / "collection")) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["nonsense"], "No such command 'nonsense'"), (["--threads", "0", "demo"], "--threads"), (["demo", "x"], "extra")],
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
