"""What the commands that fit a model share: their options, when they go in mini-batches, and how they report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from pellucid.cli._common import print_json
from pellucid.cli._outputs import OutputFile

# from this many rows on, sweeps go through mini-batches of that many: a whole one would hold all codes and residuals
MANY_ROWS, BATCH_ROWS = 200_000, 16_384

output_option = click.option(
    "-o", "--output", required=True, type=OutputFile(".safetensors"), help="Model file, .safetensors."
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
batch_size_option = click.option(
    "--batch-size", type=click.IntRange(min=1),
    help=f"Rows per mini-batch; all at once if not given, {BATCH_ROWS} from {MANY_ROWS} rows on.",
)  # fmt: skip


def batch_size(given: int | None, rows: int) -> int | None:
    return BATCH_ROWS if given is None and rows >= MANY_ROWS else given


@contextmanager
def warned() -> Iterator[list[warnings.WarningMessage]]:
    """Every warning of a fit, for the report."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def report(
    found: Any, as_json: bool, show: Callable[[Any], None], caught: Iterable[warnings.WarningMessage] = ()
) -> None:
    """Print what was fitted, after what it warned of; a fit that Ctrl-C stopped ends the command as Ctrl-C does."""
    said = [str(warning.message) for warning in caught]
    for sentence in said:
        click.echo(f"Note: {sentence}", err=True)
    if as_json:
        print_json(found)
    else:
        show(found)
    if any(sentence.startswith("Stopped ") for sentence in said):
        raise click.Abort
