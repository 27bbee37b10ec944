"""Compile the kernels: every ``*.c`` of the package into one library beside this file, which ctypes loads.

Called when the package is built (``hatch_build.py``), and again by an editable install whose texts have changed. It
knows nothing of the package, so that it runs before there is one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent
# strict sums and no fused products: machines agree to the bit (lanes.h)
FLAGS = ["-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fvisibility=hidden"]
# the header gives the size of an array where a kernel takes a pointer
NO_WARNINGS = ["psabi", "vla-parameter", "array-parameter", "unknown-warning-option"]
WARNINGS = ["-Wall", "-Wextra", *(f"-Wno-{name}" for name in NO_WARNINGS)]
# a text called *.real.c or *.index.c is compiled for each of its types
TYPES = {
    "real": ("REAL", {"float": "_f32", "double": "_f64"}),
    "index": ("INDEX", {"uint8_t": "_u8", "uint16_t": "_u16", "int32_t": "_i32"}),
}


class Target(NamedTuple):
    """A system to build for: its name for Zig, the tag of its wheel, and the suffix of its libraries."""

    zig: str
    tag: str
    suffix: str


# the oldest systems that the wheels of NumPy and SciPy still support
TARGETS = {
    "x86_64-linux-gnu": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", ".so"),
    "aarch64-linux-gnu": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", ".so"),
    "x86_64-linux-musl": Target("x86_64-linux-musl", "musllinux_1_2_x86_64", ".so"),
    "aarch64-linux-musl": Target("aarch64-linux-musl", "musllinux_1_2_aarch64", ".so"),
    "x86_64-macos": Target("x86_64-macos.11.0", "macosx_11_0_x86_64", ".dylib"),
    "aarch64-macos": Target("aarch64-macos.11.0", "macosx_11_0_arm64", ".dylib"),
    "x86_64-windows": Target("x86_64-windows-gnu", "win_amd64", ".dll"),
}


class BuildError(RuntimeError):
    """The kernels could not be compiled."""


def this_machine() -> str:
    """The target that this Python runs on."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "linux":
        return f"{machine}-linux-{'gnu' if platform.libc_ver()[0] == 'glibc' else 'musl'}"
    return f"{machine}-{ {'darwin': 'macos', 'win32': 'windows'}.get(sys.platform, sys.platform) }"


def library(target: str | None = None) -> Path:
    """Where the compiled kernels of a target are, or will be."""
    known = TARGETS.get(target or this_machine())
    return PACKAGE / "_core" / f"_kernels{known.suffix if known else '.so'}"


def texts() -> list[Path]:
    """All that the library is made from; nothing in an installed wheel, which has the header alone."""
    sources = sorted(PACKAGE.rglob("*.c"))
    return [*sources, *sorted(PACKAGE.rglob("*.h"))] if sources else []


def mark_of(target: str) -> str:
    """Changes with the content of the texts and with the system they are compiled for."""
    digest = hashlib.sha256(target.encode())
    for path in [*texts(), Path(__file__)]:
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current(path: Path) -> bool:
    """Whether a library was made from the texts as they are now, or there are none to make it from."""
    if not texts():
        return path.exists()
    try:
        return path.exists() and _mark_file(path).read_text() == mark_of(this_machine())
    except FileNotFoundError:
        return False


def compiler(target: str) -> tuple[list[str], bool]:
    """The command that compiles C for a target, and whether it is Zig: ``CC`` if it is set, then Zig, then ``cc``."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"]), False
    if importlib.util.find_spec("ziglang") is not None:
        command = [sys.executable, "-m", "ziglang", "cc"]
        return ([*command, "-target", TARGETS[target].zig] if target in TARGETS else command), True
    if target == this_machine() and (found := shutil.which("cc")):
        return [found], False
    raise BuildError(
        "Pellucid's kernels have to be compiled, and there is no compiler: "
        "pip install ziglang, or set CC to a C compiler, and try again."
    )


def build(target: str | None = None, output: Path | None = None, flags: tuple[str, ...] = ()) -> Path:
    """Compile the kernels for a target (default: this machine) and return the library's path."""
    target = target or this_machine()
    output = output or library(target)
    command, zig = compiler(target)
    levels: dict[str, list[str]] = {"_baseline": []}
    if target.startswith("x86_64"):
        levels["_v3"] = ["-march=x86_64_v3" if zig else "-march=x86-64-v3"]
    common = [*FLAGS, *WARNINGS, *([] if "windows" in target else ["-fPIC"]), *flags, f"-I{PACKAGE / '_core'}"]
    # beside the library, so that moving it there is one step
    with tempfile.TemporaryDirectory(prefix=".kernels-", dir=output.parent) as folder:
        jobs: list[list[str]] = []
        for source in (path for path in texts() if path.suffix == ".c"):
            for level, machine in levels.items():
                if source.name == "level.c" and level != "_baseline":  # it is what asks for the level
                    continue
                for kind in _types_of(source):
                    made = str(Path(folder) / f"{len(jobs)}.o")
                    jobs.append([*command, *common, *machine, f"-DLEVEL={level}", *kind, "-c", str(source), "-o", made])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_run, jobs))
        whole = Path(folder) / output.name
        libraries = [] if "windows" in target or "macos" in target else ["-lm"]
        # Zig keeps the names of this machine's files in the library unless told not to
        stripped = ["-s"] if not flags and "macos" not in target else []
        _run([*command, "-shared", *stripped, *flags, *(job[-1] for job in jobs), "-o", str(whole), *libraries])
        mark = Path(folder) / "mark"
        mark.write_text(mark_of(target))
        os.replace(whole, output)
        os.replace(mark, _mark_file(output))
    return output


def _mark_file(path: Path) -> Path:
    return path.with_name(path.name + ".mark")


def _types_of(source: Path) -> list[list[str]]:
    """The options of each compilation of a text: one for each type that it is written for."""
    kind = source.suffixes[0][1:] if len(source.suffixes) == 2 else ""
    if kind not in TYPES:
        return [[]]
    name, types = TYPES[kind]
    return [[f"-D{name}={each}", f"-D{name}_SUFFIX={suffix}"] for each, suffix in types.items()]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise BuildError(f"The compiler cannot be started: {shlex.join(command[:3])} ({error}).") from error
    if done.returncode:
        raise BuildError(f"The kernels could not be compiled:\n{shlex.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    print(build())
