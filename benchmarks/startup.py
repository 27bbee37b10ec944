"""What it costs to import the package and to ask the command line for help."""

import subprocess
import sys
from pathlib import Path

from benchmarks.harness import compare, report


def run(results: Path) -> None:
    def python(*arguments: str):
        return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    script = str(Path(sys.executable).parent / "pellucid")
    help_text = lambda: subprocess.run([script, "--help"], check=True, capture_output=True)  # noqa: E731
    peers = {"python -c pass": python("-c", "pass"), "import numpy": python("-c", "import numpy")}
    rows = [
        compare(
            "import pellucid",
            {"ours": python("-c", "import pellucid"), **peers},
            rounds=15,
            target="under 150 ms in all",
        ),
        compare("pellucid --help", {"ours": help_text, **peers}, rounds=15, target="under 400 ms"),
    ]
    report("startup", "Start-up", rows, results, "click")
