"""The command line. Each command is a module of its own, imported when it is called."""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Mapping
from typing import Any

import click

from pellucid import __version__
from pellucid._core import interrupts
from pellucid._core.hints import did_you_mean

# command -> (module in this package, line in the help); the help shows without importing any of them
COMMANDS = {
    "binary": ("binary", "Find yes/no concepts behind vectors, and draw them as a graph."),
    "clusters": ("clusters", "Sort vectors into groups, beside what all of them share."),
    "compare": ("compare", "Say which concepts differ between two sets, over time, or with a target."),
    "completion": ("completion", "Print the script that completes commands in your shell."),
    "concepts": ("concepts", "Learn what vectors are made of, and take them apart."),
    "demo": ("demo", "Learn what 3 000 scenes are made of, and search them by concept."),
    "discover": ("discover", "Find concepts of vectors that nobody labelled, and name them."),
    "explore": ("explore", "Look at a collection in a browser: map, parts, search by concept."),
    "export": ("export", "Write a collection for other people's tools: embedding-atlas."),
    "index": ("index", "Make a collection that can be searched from a file of vectors."),
    "info": ("info", "Say what is in a model, a collection or a file of vectors."),
    "manifold": ("manifold", "Embed vectors, images or words, without any network."),
    "mcp": ("mcp", "Let agents search a collection by concept."),
    "programmes": ("programmes", "Find programmes of genes in cells, and write them into the file."),
    "search": ("search", "Search a collection, by one concept of an item if you like."),
    "select": ("select", "Choose a few rows that are unlike each other."),
    "trace": ("trace", "Say why a search found an item or not, and what would bring it in."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, *arguments: Any, table: Mapping[str, tuple[str, str]] = COMMANDS, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.table:
            return None
        module = importlib.import_module(f"pellucid.cli.{self.table[name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.table and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {args[0]!r}: {did_you_mean(args[0], self.table)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name][1]) for name in sorted(self.table)])


GREETING = """\
Pellucid takes vectors apart into parts that people can read. Three things to try:

  pellucid demo                      what 3 000 scenes are made of, searched by concept
  pellucid explore vectors.parquet   a map of your own vectors, in a browser
  pellucid discover vectors.parquet -o concepts.safetensors
                                     concepts in them that nobody labelled, with names

pellucid --help lists all commands."""


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="pellucid")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use; all cores if not given.")
@click.pass_context
def group(ctx: click.Context, debug: bool, threads: int | None) -> None:
    """Take vectors apart into parts that people can read.

    \b
    Examples:
      pellucid demo
      pellucid concepts fit photos.parquet --labels tags -o photos.safetensors
      pellucid index photos.parquet -o photos
      pellucid search photos --model photos.safetensors --item 17 --concept animal
    """
    if threads is not None:
        from pellucid.solvers import set_threads

        set_threads(threads)
    if ctx.invoked_subcommand is None:
        click.echo(GREETING)


def main() -> None:
    """Exit with 0 (done), 1 (failed, with one sentence on stderr) or 2 (misused)."""
    _open_streams()
    debug = "--debug" in sys.argv[1:]
    warnings.showwarning = lambda message, *_: click.echo(f"Note: {message}", err=True)
    try:
        group.main(standalone_mode=False)
        sys.stdout.flush()  # a full disk behind it is an error of the command
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(1)
    except BrokenPipeError:  # whoever was reading, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if interrupts.pending():
            click.echo("Stopped.", err=True)
            sys.exit(1)
        if debug:
            traceback.print_exc()
        click.echo(f"Error: {sentence(error)}", err=True)
        sys.exit(1)


def _open_streams() -> None:
    """Standard streams that take any letter, and that are there: a closed one would be the next file that is opened."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if number and getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def sentence(error: Exception) -> str:
    """What an error says, on one line."""
    # a KeyError puts its text in quotes, and an error without a text has only its name
    said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(said.split()) or type(error).__name__
