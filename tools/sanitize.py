"""Run the tests of rooms with kernels while AddressSanitizer and UndefinedBehaviorSanitizer watch: `make sanitize`.

The kernels are compiled by ``CC``, or else by clang or gcc, whichever is there, since Zig brings no AddressSanitizer. A
kernel asks for memory through a counter here, so that tests can refuse it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from pellucid._core import build

FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g", "-O1")
TESTS = (
    "test_kernels", "test_nnls", "test_lasso", "test_box_qp", "test_greedy", "test_design", "test_selection",
    "test_atoms", "test_clusters", "test_clusters_paper", "test_communities",
    "test_concepts", "test_online", "test_search", "test_quantised",
    "test_manifold", "test_manifold_images", "test_binary", "test_binary_assignment", "test_binary_joint_search",
)  # fmt: skip


def main() -> int:
    compiler = os.environ.get("CC") or shutil.which("clang") or shutil.which("gcc")
    if compiler is None:
        print("make sanitize needs clang or gcc: apt-get install clang, for instance.", file=sys.stderr)
        return 1
    os.environ["CC"] = compiler
    folder = Path(__file__).parent.parent / "build" / "sanitised"
    folder.mkdir(parents=True, exist_ok=True)
    library = build.build(output=folder / build.library().name, flags=(*FLAGS, "-DCOUNTED_MEMORY"))
    asked = "libclang_rt.asan-x86_64.so" if "clang" in compiler else "libasan.so"
    # the watcher catches C++ exceptions of other libraries only if their runtime is there before them
    runtime = " ".join(file_of(compiler, name) for name in (asked, "libstdc++.so.6"))
    reports = folder / "report"
    for old in folder.glob("report.*"):
        old.unlink()
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime,
        "PELLUCID_KERNELS": str(library),
        "PYTHONMALLOC": "malloc",  # so that the watcher sees every array
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={reports}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={reports}",
        "CI": "true",  # the same examples each time
    }
    tests = [f"tests/{name}.py" for name in TESTS]
    code = subprocess.run([sys.executable, "-m", "pytest", *tests, *sys.argv[1:]], env=environment).returncode
    found = sorted(folder.glob("report.*"))  # pytest swallows what a process says as it dies
    for report in found:
        print(report.read_text(errors="replace"), file=sys.stderr)
    return code or bool(found)


def file_of(compiler: str, name: str) -> str:
    """Where a library of the compiler is."""
    asked = [*shlex.split(compiler), f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
