"""`pellucid concepts`: learn concept subspaces, and take vectors apart with them."""

from __future__ import annotations

import click

from pellucid.cli import LazyGroup

COMMANDS = {
    "caption": ("concepts_caption", "Say in words what each concept holds."),
    "erase": ("concepts_erase", "Write vectors from which no linear predictor can tell a concept."),
    "evaluate": ("concepts_evaluate", "Measure how well each concept finds items that share it."),
    "fit": ("concepts_fit", "Learn a positive cone for each concept."),
    "project": ("concepts_project", "Write the part of vectors that one concept holds, or the shares of all."),
}


@click.group("concepts", cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Learn what vectors are made of, and take them apart.

    \b
    Examples:
      pellucid concepts fit photos.parquet --labels tags -o photos.safetensors
      pellucid concepts caption photos.safetensors --words words.parquet
    """
