"""What an installation takes on disk and in time: new environments, with whatever index pip is set up for."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import commit

WHAT = ("", "[plots,explore]")


def run(results: Path) -> None:
    lines = ["# Installing", "", f"Measured at commit {commit()}; what pip had fetched before came from its cache.", ""]
    lines += ["| what | MB | seconds | of them compiling the kernels |", "| --- | --- | --- | --- |"]
    for extras in WHAT:
        size, seconds, compiling = installed(extras)
        lines.append(f"| pellucid{extras} | {size:.0f} | {seconds:.0f} | {compiling:.1f} |")
    print("\n".join(lines))
    (results / "install.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def installed(extras: str) -> tuple[float, float, float]:
    """Megabytes of a new environment with the package, seconds to install it, and how many of them went into compiling
    the kernels."""
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        source = Path(folder) / "source"
        subprocess.run(["git", "clone", "--quiet", str(root), str(source)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", f"{folder}/bin/python", "install", "--verbose"]
        started = time.perf_counter()
        told = subprocess.run([*pip, f"{source}{extras}"], check=True, capture_output=True, text=True).stdout
        seconds = time.perf_counter() - started
        compiling = [line for line in told.splitlines() if "compiled the kernels" in line]
        size = sum(f.stat().st_size for f in Path(folder, "lib").rglob("*") if f.is_file() and not f.is_symlink())
        return size / 1e6, seconds, float(compiling[0].split()[-2]) if compiling else float("nan")
