"""What an installation takes on disk and in time: new environments, with whatever index pip is set up for."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import commit
from pellucid._core import build

WHAT = ("", "[plots,explore]")


def run(results: Path) -> None:
    from_caches = "what pip had fetched and Zig had compiled before came from their caches."
    lines = ["# Installing", "", f"Measured at commit {commit()}; {from_caches}", ""]
    lines += ["| what | MB | seconds | of them compiling the kernels |", "| --- | --- | --- | --- |"]
    for extras in WHAT:
        with installed(extras) as made:
            lines.append(f"| pellucid{extras} | {made.megabytes:.0f} | {made.seconds:.0f} | {made.compiling:.1f} |")
    print("\n".join(lines))
    (results / "install.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Installed:
    """A new environment with the package: what it takes on disk, how long pip worked, and how long compiling the
    kernels takes."""

    folder: Path
    megabytes: float
    seconds: float
    compiling: float


@contextmanager
def installed(extras: str) -> Iterator[Installed]:
    """An environment that pip has just filled, from a clone of what is committed, as a user's would be."""
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as place:
        folder, source = Path(place) / "environment", Path(place) / "source"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        subprocess.run(["git", "clone", "--quiet", str(root), str(source)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
        started = time.perf_counter()
        subprocess.run([*pip, f"{source}{extras}"], check=True, capture_output=True)
        seconds = time.perf_counter() - started
        size = sum(f.stat().st_size for f in (folder / "lib").rglob("*") if f.is_file() and not f.is_symlink())
        started = time.perf_counter()
        build.build(output=Path(place) / build.library().name)  # as pip had it done, which does not tell
        yield Installed(folder, size / 1e6, seconds, time.perf_counter() - started)
