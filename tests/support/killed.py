"""Processes that kill themselves at a counted moment, so that a test of what they leave behind can be repeated.

A process that is killed leaves files alone behind, and they change only when one is written: each has three moments,
half written, whole but not yet under its name, and under its name. All other moments are like one of these.
"""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = str(Path(__file__).parent.parent)
PRELUDE = (
    f"import sys; sys.path.insert(0, {TESTS!r}); from support.killed import die_at; die_at(int(sys.argv.pop(1)))\n"
)


def die_at(moment):
    """Have this process killed at the given moment of the files that it writes, three each."""
    real, written = os.replace, itertools.count()

    def replace(source, target):
        if next(written) == moment // 3:
            if moment % 3 == 0:
                os.truncate(source, os.path.getsize(source) // 2)
            if moment % 3 == 2:
                real(source, target)
            os.kill(os.getpid(), signal.SIGKILL)
        real(source, target)

    os.replace = replace


def killed(program, moment, *arguments):
    """The lines that a program said before it was killed at a moment; it must not come to its end."""
    command = [sys.executable, "-c", PRELUDE + program, str(moment), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL, f"it ended by itself with {done.returncode}"
    return done.stdout.splitlines()
