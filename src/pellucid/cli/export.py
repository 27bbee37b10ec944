"""`pellucid export`: a collection for other people's tools."""

from __future__ import annotations

import click

from pellucid.cli import LazyGroup

COMMANDS = {"atlas": ("export_atlas", "Write the Parquet that embedding-atlas reads.")}


@click.group("export", cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Write a collection for other people's tools.

    \b
    Examples:
      pellucid export atlas photos -m photos.safetensors -o photos-atlas.parquet
    """
