"""`pellucid clusters`: groups with a dictionary each, beside one for what all share."""

from __future__ import annotations

import click

from pellucid.cli import LazyGroup

COMMANDS = {
    "fit": ("clusters_fit", "Learn clusters, each with atoms of its own, and the atoms that all share."),
    "predict": ("clusters_predict", "Say which cluster each vector belongs to."),
}


@click.group("clusters", cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Sort vectors into groups, once what all of them share is set aside.

    \b
    Examples:
      pellucid clusters fit digits.npy --n-clusters 10 -o digits.safetensors
      pellucid clusters predict more.npy -m digits.safetensors -o labels.csv
    """
