"""`pellucid manifold`: representations of vectors, images and words that the data itself suggests."""

from __future__ import annotations

import click

from pellucid.cli import LazyGroup

COMMANDS = {
    "fit": ("manifold_fit", "Learn an embedding of vectors, images or words."),
    "transform": ("manifold_transform", "Embed vectors, images or texts with a model."),
}


@click.group("manifold", cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Embed vectors, images or words by a sparse code and the map that keeps neighbours close, without any network.

    \b
    Examples:
      pellucid manifold fit photos/ -o photos.safetensors
      pellucid manifold transform photos/ -m photos.safetensors -o photos.parquet
      pellucid manifold fit corpus.txt -o words.safetensors
    """
