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


def test_demo_shows_what_it_found_and_leaves_files_that_load(tmp_path):
    import pellucid
    from pellucid.search import Collection

    result = run("demo", "-o", str(tmp_path / "out"))
    assert result.returncode == 0, result.stderr
    for words in ("search by", "nearest words", "A scene and its parts", "nearest by animal", "not in any concept"):
        assert words in result.stdout
    assert not result.stderr
    model = pellucid.load(tmp_path / "out" / "model.safetensors")
    collection = Collection.open(tmp_path / "out" / "collection")
    assert len(collection) == 3000
    assert model.project(collection.vectors([0]), "animal").shape == (1, 384)
    # a second run finds the collection of the first
    again = run("--threads", "1", "demo", "--json", "-o", str(tmp_path / "out"))
    scores = json.loads(again.stdout)["retrieval_map_at_20"]
    assert scores["concept subspaces"]["general"] > scores["the same without labels"]["general"]
    assert scores["the same without labels"]["general"] > scores["plain cosine"]["general"] + 0.2
    assert scores["concept subspaces"]["sub"] > scores["supervised SVD"]["sub"] > scores["plain cosine"]["sub"]


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
