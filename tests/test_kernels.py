"""Compiled kernels are used again, and never after a source that they were made from has changed."""

import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "pellucid"

OUTER = """
from parts.inner import FACTOR
from parts import (
    again,
)
from pellucid._core.kernels import kernel
from parts.inner import inner

@kernel
def outer(x):
    return FACTOR * middle(x) + again.ZERO

@kernel
def middle(x):
    return inner(x)
"""
INNER = """
from pellucid._core.kernels import kernel

FACTOR = {factor}

@kernel
def inner(x):
    return x + {step}
"""
RUN = """
from parts.outer import outer
print(outer(10.0), sum(outer.stats.cache_hits.values()))
"""


def run(folder: Path, **inner: int) -> tuple[float, int]:
    """What the outer kernel gives, and whether it came from disk, in a process of its own."""
    package = folder / "parts"
    package.mkdir(exist_ok=True)
    for name, text in {"__init__": "", "outer": OUTER, "inner": INNER.format(**inner), "again": "ZERO = 0\n"}.items():
        file = package / f"{name}.py"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    paths = os.pathsep.join([str(folder), str(SOURCE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run([sys.executable, "-c", RUN], env=environment, check=True, capture_output=True, text=True)
    value, hits = told.stdout.split()
    return float(value), int(hits)


def test_a_changed_kernel_or_constant_of_another_file_is_noticed(tmp_path):
    assert run(tmp_path, factor=2, step=1) == (22, 0)
    assert run(tmp_path, factor=2, step=1) == (22, 1)  # from disk
    assert run(tmp_path, factor=2, step=5) == (30, 0)
    assert run(tmp_path, factor=3, step=5) == (45, 0)
    assert run(tmp_path, factor=3, step=5) == (45, 1)


def test_nothing_is_compiled_past_the_rule():
    for path in SOURCE.rglob("*.py"):
        if path != SOURCE / "_core" / "kernels.py":
            assert not re.search(r"\bn?jit\b", path.read_text(encoding="utf-8")), path.name
