"""`pellucid programmes`: programmes of genes in an .h5ad file, written back into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import json_option, screen
from pellucid.cli._fits import report, seed_option, warned
from pellucid.cli._outputs import OutputFile, Writing
from pellucid.cli.concepts_fit import ActiveNumber


@click.command("programmes", cls=Writing)
@click.argument("cells", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=OutputFile(".h5ad"), help="File to write, .h5ad.")
@click.option("--n-programmes", type=ActiveNumber(), default="auto", show_default=True,
              help="How many; auto takes those that come out of most halves of the cells.")  # fmt: skip
@click.option("--labels", metavar="COLUMN", help="The column of obs that has the types of cells, if they are known.")
@click.option("--layer", metavar="NAME", help="The layer that has the counts; found if not given.")
@click.option("--use-rep", metavar="NAME", help="An embedding in obsm to find programmes in; made if not given.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Halves of the cells.")
@click.option("--key", default="programmes", show_default=True, help="What results are called in the file.")
@click.option("--plot", type=OutputFile(".png", ".svg", ".pdf"), help="Draw them to this file, .png, .svg or .pdf.")
@seed_option
@json_option
def command(
    cells: Path,
    output: Path,
    n_programmes: int | str,
    labels: str | None,
    layer: str | None,
    use_rep: str | None,
    runs: int,
    key: str,
    plot: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Find the programmes of genes that CELLS use, several per cell, and what is common to all cells.

    CELLS is an .h5ad file of counts. OUTPUT is the same with usages in obsm, spectra in varm, the most used programme
    of each cell in obs, what is common in var, and names in uns.

    \b
    Examples:
      pellucid programmes pbmc.h5ad -o pbmc-programmes.h5ad --plot programmes.png
      pellucid programmes pbmc.h5ad -o pbmc-programmes.h5ad --labels cell_type
      pellucid programmes pbmc.h5ad -o pbmc-programmes.h5ad --n-programmes 12 --layer counts --json
    """
    from pellucid._core.extras import require
    from pellucid.concepts import gene_programmes

    anndata = require("anndata", "anndata")
    try:
        data = anndata.read_h5ad(cells)
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{cells} cannot be read as .h5ad: {error}") from error
    with warned() as caught:
        found = gene_programmes(
            data, n_programmes=n_programmes, labels=labels, layer=layer, use_rep=use_rep, n_runs=runs, key=key,
            random_state=seed, verbose=1,
        )  # fmt: skip
    data.write_h5ad(output)
    if plot is not None:
        found.plot().figure.savefig(plot)
    report(summary(found, output), as_json, lambda _: show(found, output), caught)


def summary(found: Any, output: Path) -> dict[str, Any]:
    used = found.usage.mean(axis=0)
    return {
        "output": str(output),
        "cells": len(found.usage),
        "genes": len(found.genes),
        "source": found.source,
        "programmes": [
            {"name": name, "usage": float(used[k]), "stability": float(found.stability[k]),
             "known": bool(found.known[k]), "genes": found.top_genes(name, 20)}
            for k, name in enumerate(found.names)
        ],
        "housekeeping": found.housekeeping(20),
    }  # fmt: skip


def show(found: Any, output: Path) -> None:
    from rich.markup import escape

    out = screen()
    for line in str(found).splitlines():
        out.print(escape(line), soft_wrap=True)
    genes = found.housekeeping(12)
    if genes:
        out.print(f"Mostly common to all: {escape(', '.join(genes))}", soft_wrap=True)
    out.print(f"Written: [bold]{escape(str(output))}[/]", soft_wrap=True)
