"""Where a command may write: one rule, which `Writing` holds every command to before it begins to work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import STANDARD

FORCED = "pellucid.force"


class OutputFile(click.ParamType):
    """A file to write, that ends in one of ``suffixes``; ``-`` for standard output where ``dash`` allows it."""

    name = "path"

    def __init__(self, *suffixes: str, dash: bool = False) -> None:
        self.suffixes, self.dash = suffixes, dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if "\0" in str(value):
            self.fail("a path has no character 0.", param, ctx)
        return Path(value)

    def check(self, output: Path, reads: Sequence[Path], force: bool) -> None:
        """Refuse a place that cannot or may not be written to."""
        if output == STANDARD and self.dash:
            return
        if output.suffix not in self.suffixes:
            raise click.UsageError(f"The output {output} must end in {' or '.join(self.suffixes)}.")
        check_place(output, reads, force)


class OutputFolder(click.ParamType):
    """A folder to write: a new one, or if ``files`` are named, any that has none of these."""

    name = "path"

    def __init__(self, *files: str) -> None:
        self.files = files

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if "\0" in str(value):
            self.fail("a path has no character 0.", param, ctx)
        return Path(value)

    def check(self, output: Path, reads: Sequence[Path], force: bool) -> None:
        """Refuse a folder that cannot be made, holds what is read, or has such files."""
        if output.exists() and not output.is_dir():
            raise click.UsageError(f"The output {output} is a file: name a folder.")
        whole = Path(os.path.realpath(output))
        for read in reads:
            if whole in (place := Path(os.path.realpath(read)), *place.parents):
                raise click.UsageError(f"The output {output} holds {read}, which is read: name another folder.")
        _check_writable(next(folder for folder in (whole, *whole.parents) if folder.is_dir()), output)
        if not self.files and not force and output.is_dir() and any(output.iterdir()):
            raise click.UsageError(f"{output} exists already: name a new folder, or replace a collection with --force.")
        for name in self.files:
            if os.path.lexists(output / name):
                check_place(output / name, reads, force)


class Writing(click.Command):
    """A command that writes: it takes --force, and begins only where all of its outputs may be written."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        if not any(param.name == "force" for param in self.params):
            self.params.append(
                click.Option(
                    ["--force"], is_flag=True, expose_value=False, callback=_remember_force,
                    help="Replace a file that is there already.",
                )
            )  # fmt: skip

    def invoke(self, ctx: click.Context) -> Any:
        outputs, reads = self._places(ctx)
        force = bool(ctx.params.get("force", ctx.meta.get(FORCED, False)))
        for i, (kind, output) in enumerate(outputs):
            kind.check(output, reads, force)
            if any(output != STANDARD and _same(output, other) for _, other in outputs[:i]):
                raise click.UsageError(f"Two outputs go to {output}: name two files.")
        return super().invoke(ctx)

    def _places(self, ctx: click.Context) -> tuple[list[tuple[Any, Path]], list[Path]]:
        """Outputs with their kinds, and whatever else is named that exists: all of that may be read."""
        outputs, reads = [], []
        for param in self.params:
            for value in _each(ctx.params.get(param.name or "")):
                if isinstance(param.type, (OutputFile, OutputFolder)):
                    outputs.append((param.type, Path(value)))
                elif isinstance(value, (str, Path)) and os.path.exists(value):
                    reads.append(Path(value))
        return outputs, reads


def check_place(output: Path, reads: Sequence[Path], force: bool) -> None:
    """Never over what is read, over what is there only if told to, and never where it cannot be."""
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        raise click.UsageError(f"There is no folder {output.parent} to write {output.name} in.")
    _check_writable(folder, output)
    try:
        mode = output.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise click.UsageError(f"The output {output} cannot be written ({error.strerror}): name another.") from None
    if stat.S_ISDIR(mode):
        raise click.UsageError(f"The output {output} is a folder: name a file.")
    if not stat.S_ISREG(mode):
        raise click.UsageError(f"The output {output} is neither a file nor a folder: name a file.")
    for read in reads:
        if _same(output, read) or (read.is_dir() and Path(os.path.realpath(read)) in (folder, *folder.parents)):
            raise click.UsageError(f"The output {output} would overwrite what is read from {read}: name another file.")
    if not force:
        raise click.UsageError(f"{output} exists already: name another file, or replace it with --force.")


def _check_writable(folder: Path, output: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.UsageError(f"The folder {folder} may not be written to, so {output.name} cannot be put there.")


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, through whatever links, or to the same place where there is none yet."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _each(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        yield from value
    elif value is not None:
        yield value


def _remember_force(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[FORCED] = value
