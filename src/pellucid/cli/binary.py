"""`pellucid binary`: find yes/no concepts behind vectors, and draw them."""

from __future__ import annotations

import click

from pellucid.cli import LazyGroup

COMMANDS = {
    "draw": ("binary_draw", "Draw items and their concepts as a graph, to SVG, PNG or PDF."),
    "fit": ("binary_fit", "Find the yes/no concepts of vectors."),
}


@click.group("binary", cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Find the yes/no concepts behind vectors, and draw them as a graph.

    \b
    Examples:
      pellucid binary fit animals.parquet --method assignment -o animals.safetensors
      pellucid binary draw animals.safetensors --names animals.parquet -o animals.svg
    """
