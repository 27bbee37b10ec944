"""What a first use costs: importing, asking for help, the first call of each method, and the demo.

Every task runs in a process of its own, in an environment that pip has just filled, with the bytecode that pip writes
and without any, as it is after an installer that writes none; processor time is that of the whole process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import circumstances, compare, report
from benchmarks.install import installed

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
    report("startup", "Start-up", [*imports()], results, "click")
    with installed("[plots,explore]") as made:
        lines, found = first_calls(made.folder / "bin")
    print("\n".join(lines))
    path = results / "startup.md"
    path.write_text(path.read_text(encoding="utf-8").rstrip() + "\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (results / "startup-first.json").write_text(json.dumps({**circumstances(), "found": found}, indent=1) + "\n")


def first_calls(programs: Path) -> tuple[list[str], dict[str, list[float]]]:
    """The lines of the report, and the figures, of an environment."""
    python, ours = str(programs / "python"), str(programs / "pellucid")
    lines = ["", "## First calls", ""]
    lines += ["Seconds of processor time of the whole process, in an environment that pip has just filled.", ""]
    lines += ["| task | as installed | without bytecode | allowed |", "| --- | --- | --- | --- |"]
    found: dict[str, list[float]] = {}
    for task, (code, allowed) in FIRST.items():
        found[task] = both(lambda environment, code=code: processor_seconds([python, "-c", code], environment))
        lines.append(f"| {task} | {found[task][0]:.1f} | {found[task][1]:.1f} | {allowed:g} |")
    plain = os.environ.copy()
    runs = {"first": demo(ours, plain), "second": demo(ours, plain), "without bytecode": both_demo(ours)}
    lines += ["", "## The demo", "", "Seconds until the table of retrieval is on the screen, and in all.", ""]
    lines += ["| run | table | all | allowed |", "| --- | --- | --- | --- |"]
    allowed_all = {"first": "6, 15", "second": "6, 12", "without bytecode": "–"}
    lines += [f"| {name} | {a:.1f} | {b:.1f} | {allowed_all[name]} |" for name, (a, b) in runs.items()]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ours, "demo", "--no-serve", "--output", f"{folder}/demo"], check=True, capture_output=True)
        asked = ["--item", "scene-0", "--model", f"{folder}/demo/model.safetensors", "--concept", "animal"]
        costs = {
            "by concept": processor_seconds([ours, "search", f"{folder}/demo/collection", *asked], plain),
            "as a whole": processor_seconds([ours, "search", f"{folder}/demo/collection", "--item", "scene-0"], plain),
            "`import sklearn.base`": processor_seconds([python, "-c", "import sklearn.base"], plain),
        }
    lines += ["", "## One search from the command line", "", "Seconds of processor time, 3 000 rows of 384.", ""]
    lines += ["| search | seconds |", "| --- | --- |", *(f"| {name} | {s:.2f} |" for name, s in costs.items())]
    return lines, {**found, **{f"demo, {name}": [*times] for name, times in runs.items()}, "search": [*costs.values()]}


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


def both(measure: Callable[[dict[str, str]], float]) -> list[float]:
    """What a measurement gives with the bytecode that is there, and with none."""
    with tempfile.TemporaryDirectory() as empty:
        return [measure(os.environ.copy()), measure({**os.environ, "PYTHONPYCACHEPREFIX": empty})]


def both_demo(ours: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as empty:
        return demo(ours, {**os.environ, "PYTHONPYCACHEPREFIX": empty})


def processor_seconds(command: list[str], environment: dict[str, str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def demo(ours: str, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of the demo until its table is there, and until it ends."""
    with tempfile.TemporaryDirectory() as output:
        started, table = time.perf_counter(), float("nan")
        command = [ours, "demo", "--no-serve", "--output", f"{output}/demo"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**environment, "PYTHONUNBUFFERED": "1"}
        )
        assert process.stdout is not None
        for line in process.stdout:
            if DEMO in line:
                table = time.perf_counter() - started
        assert process.wait() == 0
        return table, time.perf_counter() - started
