"""`pellucid clusters predict`: which cluster vectors belong to."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import IO, Any

import click

from pellucid.cli._common import (
    STANDARD,
    Columns,
    column_option,
    counted,
    json_option,
    model_option,
    print_json,
    readable,
    screen,
    vectors_argument,
)
from pellucid.cli._outputs import OutputFile, Writing

SHOWN = 20


@click.command("predict", cls=Writing)
@vectors_argument
@model_option(text="Model file that `clusters fit` wrote.")
@click.option(
    "-o", "--output", type=OutputFile(".csv", ".npy", dash=True),
    help="File to write: .csv with id, cluster and cost, or .npy with the clusters; - for .csv on stdout.",
)  # fmt: skip
@column_option
@json_option
def command(vectors: Path, model: Path, output: Path | None, column: Columns, as_json: bool) -> None:
    """Say for each of VECTORS which cluster it costs least in, and what it costs.

    \b
    Examples:
      pellucid clusters predict more.npy -m digits.safetensors
      pellucid clusters predict more.parquet -m digits.safetensors -o labels.csv
      cat more.npy | pellucid clusters predict - -m digits.safetensors -o - > labels.csv
    """
    if as_json and output == STANDARD:
        raise click.UsageError("--json and a table on standard output go the same way: choose one.")
    ids, clusters, costs = predict(vectors, load_clusters(model), column)
    if output is not None:
        write(output, ids, clusters, costs)
    if as_json and output is None:
        print_json([{"id": i, "cluster": int(c), "cost": float(cost)} for i, c, cost in zip(ids, clusters, costs)])
    elif as_json:
        print_json({"output": str(output), "rows": len(ids)})
    elif output is None:
        show(ids, clusters, costs)


def load_clusters(path: Path) -> Any:
    from pellucid import persistence
    from pellucid.clusters import CommonalityClustering

    fitted = persistence.load(path)
    if not isinstance(fitted, CommonalityClustering):
        raise click.UsageError(f"{path} holds a {type(fitted).__name__}, where a model of `clusters fit` is needed.")
    return fitted


def predict(vectors: Path, model: Any, column: Columns) -> tuple[list[str], Any, Any]:
    """Ids, clusters and costs of all rows, block by block."""
    import numpy as np

    from pellucid.cli.streaming import checked_blocks

    ids: list[str] = []
    clusters, costs = [], []
    with readable(vectors) as source:
        for block in checked_blocks(source, column):
            ids += block.ids or [str(i) for i in range(len(ids), len(ids) + len(block.vectors))]
            cost = model.transform(block.vectors)
            clusters.append(cost.argmin(axis=1))
            costs.append(cost.min(axis=1))
    return ids, np.concatenate(clusters), np.concatenate(costs)


def write(output: Path, ids: list[str], clusters: Any, costs: Any) -> None:
    import numpy as np

    from pellucid._core.atomic import atomic_path

    def table(stream: IO[str]) -> None:
        writer = csv.writer(stream)
        writer.writerow(["id", "cluster", "cost"])
        writer.writerows(zip(ids, clusters.tolist(), (f"{cost:.6g}" for cost in costs)))

    if output == STANDARD:
        table(sys.stdout)
        return
    with atomic_path(output) as temporary:
        if output.suffix == ".npy":
            np.save(temporary, clusters)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as stream:
                table(stream)


def show(ids: list[str], clusters: Any, costs: Any) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("item", style="bold", overflow="ellipsis", no_wrap=True)
    table.add_column("cluster", justify="right")
    table.add_column("cost", justify="right")
    for name, cluster, cost in list(zip(ids, clusters, costs))[:SHOWN]:
        table.add_row(escape(name), str(cluster), f"{cost:.3f}")
    out = screen()
    out.print(table)
    if len(ids) > SHOWN:
        out.print(
            f"\n{counted(len(ids) - SHOWN)} more rows: write all to a file with --output, or print all with --json."
        )
