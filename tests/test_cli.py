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


def test_demo_prints_what_it_found():
    result = run("demo")
    assert result.returncode == 0, result.stderr
    assert "Which cone comes nearest?" in result.stdout
    assert "KKT residual" in result.stdout
    assert not result.stderr


def test_demo_as_json():
    result = run("--threads", "1", "demo", "--json")
    figures = json.loads(result.stdout)
    assert figures["accuracy_nearest_cone"] > 0.97 > figures["accuracy_nearest_mean"]
    assert figures["largest_kkt_residual"] < 1e-8
    assert figures["largest_duality_gap"] < 1e-8


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

    def broken():
        raise ValueError("The digits are missing.")

    monkeypatch.setattr(demo, "take_digits_apart", broken)
    for arguments, traceback in ((["demo"], False), (["--debug", "demo"], True)):
        monkeypatch.setattr(sys, "argv", ["pellucid", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 1
        error = capsys.readouterr().err
        assert "Error: The digits are missing." in error
        assert ("Traceback" in error) == traceback


def test_interrupted_says_so(monkeypatch, capsys):
    from pellucid import cli
    from pellucid.cli import demo

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "take_digits_apart", interrupted)
    monkeypatch.setattr(sys, "argv", ["pellucid", "demo"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert capsys.readouterr().err.strip().endswith("Stopped.")
