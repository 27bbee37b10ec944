"""Compile the kernels when a wheel or an editable install is built; ``PELLUCID_TARGET`` names another system."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
import time
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsBuildHook(BuildHookInterface):
    """One library for all versions of Python, so one wheel for each system."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        path = Path(self.root) / "src" / "pellucid" / "_core" / "build.py"
        spec = importlib.util.spec_from_file_location("pellucid_build", path)
        assert spec is not None
        assert spec.loader is not None
        kernels = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(kernels)
        target = os.environ.get("PELLUCID_TARGET") or kernels.this_machine()
        own = target == kernels.this_machine()
        if target not in kernels.TARGETS and not own:
            raise ValueError(f"PELLUCID_TARGET must be one of {', '.join(kernels.TARGETS)}, not {target!r}.")
        library = kernels.library(target)
        if not own:  # beside the library of this machine, which an editable install may be using
            library = Path(self.root) / "build" / target / library.name
            library.parent.mkdir(parents=True, exist_ok=True)
        if not (own and kernels.is_current(library)):
            started = time.perf_counter()
            kernels.build(target, library)
            self.app.display_info(f"compiled the kernels for {target} in {time.perf_counter() - started:.1f} s")
        if target in kernels.TARGETS and kernels.compiler(target)[1]:
            platform = kernels.TARGETS[target].tag
        else:  # what another compiler than Zig makes runs where it was made, and nobody knows where else
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][str(library)] = f"pellucid/_core/{library.name}"
