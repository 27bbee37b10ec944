"""Ctrl-C arrives, also where Python would lose it or could not hear it, and commands end in one way."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from support import interrupted

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")

LOST = """
import signal, sys
from pellucid._core import interrupts
from pellucid._core.threads import run_rows
interrupts.listen()

class Deaf:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

sys.unraisablehook = lambda lost: print("lost", lost.exc_type.__name__, flush=True)
Deaf()
try:
    {use}
    print("went on")
except KeyboardInterrupt:
    print("stopped")
{use}
print("and no more")
"""
USES = {
    "rows": "run_rows(lambda start, stop: None, 10)",
    "a fit": "from pellucid.rows.fitting import run; "
    "run(0, lambda s: s + 1, lambda s: s == 9, bar=('', 9, False), say=str, stopped=lambda s: '')",
}


def ran(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


@pytest.mark.parametrize("use", USES)
def test_a_ctrl_c_that_is_lost_is_raised_again_once(use):
    found = ran(LOST.format(use=USES[use]))
    assert found.stdout.split("\n") == ["lost KeyboardInterrupt", "stopped", "and no more", ""], found.stderr


BLOCKED = """
import os, signal, threading, time
from pellucid._core import interrupts
interrupts.PATIENCE = 0.1
interrupts.listen()
import numpy as np
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
while True:
    np.linalg.eigh(np.random.default_rng(0).standard_normal((2500, 2500)))  # seconds in which no signal is let in
"""


def test_one_long_call_of_a_library_is_ended_from_outside():
    found = ran(BLOCKED)
    assert found.stderr.strip().splitlines()[-1] in ("Stopped.", "KeyboardInterrupt")
    assert found.returncode in (1, -signal.SIGINT)


def test_an_error_that_ctrl_c_has_become_is_none(capsys, monkeypatch):
    from pellucid import cli
    from pellucid._core import interrupts

    def broken(**settings):
        raise ImportError("initialization failed")

    monkeypatch.setattr(cli.group, "main", broken)
    monkeypatch.setattr(interrupts, "pending", lambda: True)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert (stop.value.code, capsys.readouterr().err) == (1, "Stopped.\n")


def test_who_deals_with_it_goes_on(tmp_path):
    script = LOST.format(use="interrupts.dealt_with(); run_rows(lambda start, stop: None, 10)")
    assert ran(script).stdout.split("\n") == ["lost KeyboardInterrupt", "went on", "and no more", ""]


@pytest.mark.parametrize(("name", "moments"), [("clusters fit", (0.15, 2.5)), ("select --isometric", (2.0,))])
def test_commands_end_in_one_way(name, moments, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "v.npy", rng.standard_normal((6000, 48)).astype(np.float32))
    for after in moments:
        _, _, wrong = interrupted.stopped(name, tmp_path, after, f"out{after}")
        assert wrong is None, (after, wrong)


def test_every_command_is_tried():
    from pellucid.cli import LazyGroup, group

    def names(within, path=""):
        for word in within.list_commands(None):
            found = within.get_command(None, word)
            yield from names(found, f"{path}{word} ") if isinstance(found, LazyGroup) else [path + word]

    # what is over at once, or serves until Ctrl-C
    at_once = {"completion", "concepts caption", "binary draw", "manifold transform", "explore", "mcp"}
    assert set(names(group)) - at_once == {name.split(" --")[0] for name in interrupted.COMMANDS}
