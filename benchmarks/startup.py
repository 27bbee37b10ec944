"""What a first use costs: importing, asking for help, the first call of each method, and the demo.

Every task runs in a process of its own. Its first run finds no bytecode (in a folder of its own), its second finds what
the first has left; processor time is that of the whole process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import circumstances, compare, report

ROWS = "import numpy as np; X = np.random.default_rng(0).standard_normal((2000, 128)).astype('float32'); "
SMALL = "import numpy as np; X = np.random.default_rng(0).standard_normal((150, 4)); "
# what is run, and the seconds of processor time that are allowed
FIRST = {
    "fit ConceptSubspaces, 2 000 rows": (
        ROWS + "import pellucid; pellucid.ConceptSubspaces().fit(X, np.arange(2000) % 8)",
        5.0,
    ),
    "first search, 2 000 rows": (
        ROWS + "import tempfile; from pellucid.search import Collection\n"
        "with tempfile.TemporaryDirectory() as f: Collection.create(f + '/c', X).search(X[:1], 10)",
        3.5,
    ),
    "fit IsometryPursuit, 150 columns": (SMALL + "import pellucid; pellucid.IsometryPursuit().fit(X)", 6.0),
    "fit CommonalityClustering, 2 000 rows": (ROWS + "import pellucid; pellucid.CommonalityClustering(5).fit(X)", 6.0),
    "fit BinaryAutoencoder, 200 rows": (ROWS + "import pellucid; pellucid.BinaryAutoencoder(4).fit(X[:200])", 6.0),
    "fit SparseManifoldTransform, 2 000 rows": (
        ROWS + "import pellucid; pellucid.SparseManifoldTransform(64).fit(X)",
        6.0,
    ),
}
DEMO = "Finding scenes that share one concept"


def run(results: Path) -> None:
    rows = [*imports()]
    report("startup", "Start-up", rows, results, "click")
    lines = [
        "",
        "## First calls",
        "",
        "Seconds of processor time of the whole process, without any bytecode and with it, as pip writes it.",
        "",
    ]
    lines += ["| task | first | second | allowed |", "| --- | --- | --- | --- |"]
    found: dict[str, list[float]] = {}
    for task, (code, allowed) in FIRST.items():
        found[task] = twice(lambda folder, code=code: processor_seconds([sys.executable, "-c", code], folder))
        lines.append(f"| {task} | {found[task][0]:.1f} | {found[task][1]:.1f} | {allowed:g} |")
    first, second = twice(demo)
    found["demo"] = [*first, *second]
    lines += ["", "## The demo", "", "Seconds until the table of retrieval is on the screen, and in all.", ""]
    lines += ["| run | table | all | allowed |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {name} | {a:.1f} | {b:.1f} | {most} |"
        for name, (a, b), most in (("first", first, "6, 15"), ("second", second, "6, 12"))
    ]
    print("\n".join(lines))
    path = results / "startup.md"
    path.write_text(path.read_text(encoding="utf-8").rstrip() + "\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (results / "startup-first.json").write_text(json.dumps({**circumstances(), "found": found}, indent=1) + "\n")


def imports():
    """What the package and the command line cost before they do anything."""

    def python(*arguments: str):
        return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    help_text = lambda: subprocess.run([script(), "--help"], check=True, capture_output=True)  # noqa: E731
    peers = {"python -c pass": python("-c", "pass"), "import numpy": python("-c", "import numpy")}
    ours = {"ours": python("-c", "import pellucid"), **peers}
    yield compare("import pellucid", ours, rounds=15, target="under 150 ms in all")
    yield compare("pellucid --help", {"ours": help_text, **peers}, rounds=15, target="under 400 ms")


def script() -> str:
    return str(Path(sys.executable).parent / "pellucid")


def twice(measure):
    """What a measurement gives with a new folder for bytecode, and with the same folder again."""
    with tempfile.TemporaryDirectory() as folder:
        return [measure(folder), measure(folder)]


def environment(folder: str) -> dict[str, str]:
    """That of this process, but for where bytecode is, which is written whatever is said outside."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


def processor_seconds(command: list[str], folder: str) -> float:
    before = os.times()
    subprocess.run(command, check=True, capture_output=True, env=environment(folder))
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def demo(folder: str) -> tuple[float, float]:
    """Seconds of the demo until its table is there, and until it ends."""
    with tempfile.TemporaryDirectory() as output:
        started, table = time.perf_counter(), float("nan")
        command = [script(), "demo", "--no-serve", "--output", f"{output}/demo"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**environment(folder), "PYTHONUNBUFFERED": "1"}
        )
        assert process.stdout is not None
        for line in process.stdout:
            if DEMO in line:
                table = time.perf_counter() - started
        assert process.wait() == 0
        return table, time.perf_counter() - started
