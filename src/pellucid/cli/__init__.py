"""The command line. Each command is a module of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys
import traceback

import click

from pellucid import __version__

# command -> (module in this package, line in the help); the help shows without importing any of them
COMMANDS = {
    "demo": ("demo", "Learn what 3 000 scenes are made of, and search them by concept."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"pellucid.cli.{COMMANDS[name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="pellucid")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use; all cores if not given.")
def group(debug: bool, threads: int | None) -> None:
    """Take vectors apart into parts that people can read.

    \b
    Examples:
      pellucid demo
      pellucid --threads 1 demo
    """
    if threads is not None:
        from pellucid.solvers import set_threads

        set_threads(threads)


def main() -> None:
    """Exit with 0 (done), 1 (failed, with one sentence on stderr) or 2 (misused)."""
    debug = "--debug" in sys.argv[1:]
    try:
        group.main(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(1)
    except Exception as error:
        if debug:
            traceback.print_exc()
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
