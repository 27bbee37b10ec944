"""`pellucid export atlas`: the Parquet that embedding-atlas reads."""

from __future__ import annotations

from pathlib import Path

import click

from pellucid.cli._common import json_option, load_model, model_option, print_json, status
from pellucid.cli._outputs import OutputFile, Writing


@click.command("atlas", cls=Writing)
@click.argument("collection", type=click.Path(exists=True, file_okay=False, path_type=Path))
@model_option(False, "Model file; its concepts become the features of the items.")
@click.option("-o", "--output", type=OutputFile(".parquet"), required=True, help="File to write.")
@click.option(
    "--layout", type=click.Choice(["neighbours", "pca"]), default="neighbours", show_default=True,
    help="Where items stand: as on the explorer's map.",
)  # fmt: skip
@click.option("--text", help="The column with the texts; text, or else the ids, if not given.")
@json_option
def command(collection: Path, model: Path | None, output: Path, layout: str, text: str | None, as_json: bool) -> None:
    """Write COLLECTION as embedding-atlas reads it: places on a map, texts, and the concepts of each item.

    \b
    Examples:
      pellucid export atlas photos -m photos.safetensors -o photos-atlas.parquet
      pellucid export atlas photos -o photos-atlas.parquet --layout pca --text caption
    """
    from pellucid.explorer import places
    from pellucid.integrations.atlas import atlas_command, write_atlas
    from pellucid.search import Collection

    opened = Collection.open(collection)
    fitted = None if model is None else load_model(model)
    with status("Laying the items out …"):
        where = places(opened, layout)
    columns = write_atlas(output, opened, where, fitted, text=text)
    told = atlas_command(output, columns)
    if as_json:
        print_json({"output": str(output), "items": len(opened), "columns": columns, "command": told})
    else:
        click.echo(f"Look at it with: {told}")
