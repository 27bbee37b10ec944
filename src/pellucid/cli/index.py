"""`pellucid index`: a collection that can be searched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._common import (
    Columns,
    column_option,
    counted,
    json_option,
    print_json,
    readable,
    screen,
    status,
    vectors_argument,
)
from pellucid.cli._engines import chosen, engine_options
from pellucid.cli._outputs import OutputFolder, Writing

if TYPE_CHECKING:
    from pellucid.vectors import VectorFile


@click.command("index", cls=Writing)
@vectors_argument
@click.option("-o", "--output", required=True, type=OutputFolder(), help="Folder of the new collection.")
@click.option("--text", help="Column to show as the text of an item, if it is not named text.")
@click.option(
    "--labels",
    help="Column with a list of names or a name per item, if it is not named labels; or several of 0 and 1, separated "
    "by commas.",
)
@click.option("--force", is_flag=True, help="Replace the collection in the folder, which stays whole until then.")
@engine_options("exact", "What ranks the items: exact, faiss, lance, postgres, milvus or qdrant.")
@column_option
@json_option
def command(
    vectors: Path,
    output: Path,
    text: str | None,
    labels: str | None,
    force: bool,
    engine: str,
    dsn: str | None,
    options: tuple[str, ...],
    column: Columns,
    as_json: bool,
) -> None:
    """Make a collection that can be searched from VECTORS, with all the ids, texts and labels beside them.

    Vectors are kept as they come: a model prepares them when it meets them.

    The file is read in blocks and never held as a whole. The folder appears when the collection is complete; with
    --force it takes the place of the one that was there.

    \b
    Examples:
      pellucid index photos.parquet -o photos
      pellucid index photos.parquet --text caption --labels tags -o photos
      pellucid index photos.parquet -o photos --force
      pellucid index photos.parquet --engine postgres --dsn postgresql://me@db.example.org/photos -o photos
      cat photos.npy | pellucid index - -o photos
    """
    from pellucid.cli.streaming import checked_blocks
    from pellucid.search import Collection

    given, marked = chosen(dsn, options, {}), labels.split(",") if labels else []
    with readable(vectors) as source:
        blocks = checked_blocks(source, column, marked, what="Indexing")
        ready = (replace(block, columns=beside(block, text, marked)) for block in blocks)
        made = Collection.from_blocks(output, ready, engine=engine, engine_options=given, overwrite=force)
    if engine != "exact":
        with status(f"Handing the items to {engine}"):
            made.engine.ready()
    rows, width = len(made), made.dimension
    found = {"collection": str(output), "items": rows, "dimensions": width, "engine": engine}
    if as_json:
        print_json(found)
    else:
        screen().print(f"{counted(rows)} items of {width} numbers in [bold]{output}[/], ranked by {engine}.")


def beside(block: VectorFile, text: str | None, labels: list[str]) -> dict[str, Any]:
    """The columns of a block under their names in the collection."""
    import numpy as np
    import pyarrow as pa

    from pellucid.cli._labels import label_lists

    missing = [name for name in [*([text] if text else []), *labels] if name not in block.columns]
    if missing:
        there = ", ".join(map(repr, block.columns)) or "none"
        raise click.UsageError(f"There is no column {missing[0]!r} beside the vectors; columns are: {there}.")
    columns: dict[str, Any] = {
        "text" if name == text else name: values.tolist() if isinstance(values, np.ndarray) else values
        for name, values in block.columns.items()
        if name not in labels
    }
    if labels:
        # a block in which no row has a label says what the others hold all the same
        columns["labels"] = pa.array(label_lists(block, labels), pa.list_(pa.string()))
    return columns
