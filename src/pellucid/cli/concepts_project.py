"""`pellucid concepts project`: the part of vectors that concepts hold, or the share of each concept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._common import (
    STANDARD,
    Columns,
    column_option,
    json_option,
    load_model,
    model_option,
    print_json,
    readable,
    screen,
    vectors_argument,
)
from pellucid.cli._outputs import OutputFile, Writing

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHOWN = 20


@click.command("project", cls=Writing)
@vectors_argument
@model_option()
@click.option("-c", "--concept", multiple=True, help="Project onto this concept; several share one cone.")
@click.option("--without", multiple=True, help="Take this concept out first.")
@click.option(
    "-o",
    "--output",
    type=OutputFile(".npy", ".parquet", dash=True),
    help="File to write, .npy or .parquet; - for .npy on stdout.",
)
@click.option(
    "--write", "annotated", type=OutputFile(".h5ad"),
    help="Write the .h5ad that VECTORS is with the results in it, to this file: shares into obsm, presence into obs, "
    "atoms into varm or uns.",
)  # fmt: skip
@click.option("--key", default="concepts", show_default=True, help="What their names in the .h5ad begin with.")
@column_option
@json_option
def command(
    vectors: Path,
    model: Path,
    concept: tuple[str, ...],
    without: tuple[str, ...],
    output: Path | None,
    annotated: Path | None,
    key: str,
    column: Columns,
    as_json: bool,
) -> None:
    """Write the part of VECTORS that a concept holds, or say how much of each is which concept.

    With --concept, each row becomes the nearest point of the concept's cone; with --without alone, what is left of it.
    With neither, each row becomes the shares of all concepts, which are printed if no output is named. To take a
    concept out so that nothing of it can be told any more, use `concepts erase`.

    \b
    Examples:
      pellucid concepts project photos.parquet -m photos.safetensors -c animal -o animals.parquet
      pellucid concepts project photos.parquet -m photos.safetensors --without person -o rest.npy
      pellucid concepts project photos.parquet -m photos.safetensors
      cat one.npy | pellucid concepts project - -m photos.safetensors --json
      pellucid concepts project cells.h5ad -m cells.safetensors --column X_pca --write cells-concepts.h5ad
    """
    if annotated is not None:
        if concept or without or output is not None:
            raise click.UsageError("--write takes neither --concept nor --without nor --output.")
        if vectors.suffix != ".h5ad":
            raise click.UsageError(f"--write is for an .h5ad, and {vectors} is none.")
        from pellucid.integrations.anndata import write_h5ad

        size = write_h5ad(vectors, load_model(model), annotated, use_rep=column.column, key=key)
        if as_json:
            print_json({"output": str(annotated), "rows": size[0], "concepts": size[1]})
        return
    if output is None and (concept or without):
        raise click.UsageError("Name a file for the vectors with --output, or - for standard output.")
    fitted = load_model(model)

    def change(rows: NDArray[Any]) -> NDArray[Any]:
        if concept or without:
            return _array(fitted.cones.filtered(fitted.prepare(rows), concept or None, without or None))
        return _array(fitted.shares(rows))

    with readable(vectors) as source:
        if output is None:
            print_shares(source, column, fitted, change, as_json)
        else:
            rows = write(source, column, fitted, change, output)
            if as_json and output != STANDARD:
                print_json({"output": str(output), "rows": rows[0], "columns": rows[1]})


def _array(values: Any) -> NDArray[Any]:
    import numpy as np

    return np.asarray(values)


def write(source: Path, column: Columns, model: Any, change: Any, output: Path) -> tuple[int, int]:
    """Change all rows, block by block, and write them with their ids."""
    import numpy as np

    from pellucid import vectors
    from pellucid.cli.streaming import checked_blocks, spooled

    rows, ids = 0, []
    for block in vectors.blocks(source, labels=model.concept_names_, **column.asked):
        rows += len(block.vectors)
        ids += block.ids or []
    beside = Path.cwd() / "stdout" if output == STANDARD else output
    blocks = checked_blocks(source, column, model.concept_names_, what="Projecting")
    with spooled(blocks, change, beside) as result:
        if output == STANDARD:
            np.save(sys.stdout.buffer, result)
        else:
            vectors.write(output, result, ids if ids and output.suffix == ".parquet" else None)
        return result.shape[0], result.shape[1]


def print_shares(source: Path, column: Columns, model: Any, change: Any, as_json: bool) -> None:
    from pellucid.cli.streaming import checked_blocks

    names = [str(name) for name in model.concept_names_]
    rows: list[tuple[str, dict[str, float]]] = []
    total = 0
    for block in checked_blocks(source, column, names):
        ids = block.ids or [str(i) for i in range(total, total + len(block.vectors))]
        take = len(ids) if as_json else max(0, SHOWN - total)
        total += len(ids)
        if take:
            rows += [(i, dict(zip(names, map(float, row)))) for i, row in zip(ids, change(block.vectors[:take]))]
    if as_json:
        print_json([{"id": i, "shares": shares} for i, shares in rows])
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("item", style="bold", overflow="ellipsis", no_wrap=True)
    table.add_column("is made of")
    for i, shares in rows:
        most = sorted(shares.items(), key=lambda pair: -pair[1])[:4]
        table.add_row(escape(i), "  ".join(f"{escape(name)} [blue]{share:.0%}[/]" for name, share in most))
    out = screen()
    out.print(table)
    if total > len(rows):
        out.print(f"\n{total - len(rows)} more rows: write all to a file with --output, or print all with --json.")
