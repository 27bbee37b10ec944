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

WHAT = ("", "[plots,explore]")


def run(results: Path) -> None:
    lines = ["# Installing", "", f"Measured at commit {commit()}; what pip had fetched before came from its cache.", ""]
    lines += ["| what | MB | seconds | of them compiling the kernels |", "| --- | --- | --- | --- |"]
    for extras in WHAT:
        with installed(extras) as made:
            lines.append(f"| pellucid{extras} | {made.megabytes:.0f} | {made.seconds:.0f} | {made.compiling:.1f} |")
    print("\n".join(lines))
    (results / "install.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Installed:
    """A new environment with the package: what it takes on disk, how long pip worked, and the compiler of that."""

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
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--verbose"]
        started = time.perf_counter()
        told = subprocess.run([*pip, f"{source}{extras}"], check=True, capture_output=True, text=True).stdout
        seconds = time.perf_counter() - started
        compiling = [line for line in told.splitlines() if "compiled the kernels" in line]
        size = sum(f.stat().st_size for f in (folder / "lib").rglob("*") if f.is_file() and not f.is_symlink())
        yield Installed(folder, size / 1e6, seconds, float(compiling[0].split()[-2]) if compiling else float("nan"))
