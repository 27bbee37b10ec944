"""`pellucid select`: a few rows that are unlike each other, or that make the best basis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._common import (
    Columns,
    check_finite,
    column_option,
    json_option,
    print_json,
    readable,
    screen,
    vectors_argument,
)
from pellucid.cli._outputs import OutputFile, Writing

if TYPE_CHECKING:
    from pellucid.vectors import VectorFile

# losses that the search for a basis may compute: about a minute for 500 rows of 20 numbers
MAX_SUBSETS = 100_000


@click.command("select", cls=Writing)
@vectors_argument
@click.option("-k", type=click.IntRange(min=1), help="How many rows that are unlike each other.")
@click.option(
    "--isometric",
    is_flag=True,
    help="Instead of k rows, the basis: as many as there are dimensions, as orthonormal as possible. For vectors of "
    "few dimensions.",
)
@click.option("--relevance", help="Column of numbers, larger is better; all rows count the same without it.")
@click.option(
    "--diversity", type=click.FloatRange(0, 1), default=0.5, show_default=True,
    help="0 takes the most relevant, 1 looks only at how rows differ.",
)  # fmt: skip
@click.option("-o", "--output", type=OutputFile(".npy", ".parquet"), help="File for the chosen rows, .npy or .parquet.")
@column_option
@json_option
def command(
    vectors: Path,
    k: int | None,
    isometric: bool,
    relevance: str | None,
    diversity: float,
    output: Path | None,
    column: Columns,
    as_json: bool,
) -> None:
    """Choose k rows of VECTORS that are unlike each other, in order: every beginning of the list is diverse too.

    \b
    Examples:
      pellucid select photos.parquet -k 12
      pellucid select results.parquet -k 10 --relevance score --diversity 0.3 -o varied.parquet
      pellucid select gradients.npy --isometric
      cat photos.npy | pellucid select - -k 5 --json
    """
    if (k is None) != isometric:
        raise click.UsageError("Say how many rows with -k, or ask for --isometric ones, which are as many as they are.")
    if isometric and relevance is not None:
        raise click.UsageError("--relevance goes with -k.")
    from pellucid import vectors as files

    with readable(vectors) as source:
        found = files.read(source, labels=[relevance] if relevance else [], **column.asked)
        column.say(source, found)
        check_finite(found.vectors, source, 0)
        chosen = choose(found, k, relevance, diversity) if k is not None else basis(found)
        if output is not None:
            write(found, chosen, output)
    rows = [row_of(found, i) for i in chosen]
    if as_json:
        print_json(rows)
    else:
        show(rows)


def choose(found: VectorFile, k: int, relevance: str | None, diversity: float) -> list[int]:
    import numpy as np

    from pellucid.selection import diversify

    if relevance is not None and relevance not in found.columns:
        there = ", ".join(map(repr, found.columns)) or "none"
        raise click.UsageError(f"There is no column {relevance!r} beside the vectors; columns are: {there}.")
    score = None if relevance is None else np.asarray(found.columns[relevance])
    if score is not None and score.dtype.kind not in "fiub":
        raise click.UsageError(f"The column {relevance!r} holds {score.dtype} values, where numbers are needed.")
    return [int(i) for i in diversify(found.vectors, k, score, diversity=diversity)]


def basis(found: VectorFile) -> list[int]:
    """Rows that span all others with as little distortion as possible."""
    from pellucid.cli._common import status
    from pellucid.selection import IsometryPursuit

    with status("Looking for the most orthonormal rows …"):
        fitted = IsometryPursuit(max_subsets=MAX_SUBSETS, random_state=0).fit(found.vectors)
    return [int(i) for i in fitted.selected_]


def write(found: VectorFile, chosen: list[int], output: Path) -> None:
    import pyarrow as pa

    from pellucid import vectors

    table = output.suffix == ".parquet"
    columns = {name: pa.array(values).take(pa.array(chosen)) for name, values in found.columns.items()} if table else {}
    ids = [found.ids[i] for i in chosen] if table and found.ids is not None else None
    vectors.write(output, found.vectors[chosen], ids, columns)


def row_of(found: VectorFile, i: int) -> dict[str, Any]:
    """Number, id and columns of a row."""
    beside = {name: values[i] for name, values in found.columns.items()}
    plain = {name: getattr(v, "as_py", getattr(v, "item", lambda v=v: v))() for name, v in beside.items()}
    kept = {name: value for name, value in plain.items() if not isinstance(value, bytes)}
    return {"row": i, "id": str(i) if found.ids is None else found.ids[i], "columns": kept}


def show(rows: list[dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    names = list(rows[0]["columns"])[:3]
    table.add_column("", justify="right", style="dim")
    table.add_column("id", style="bold")
    for name in names:
        table.add_column(escape(name))
    for rank, row in enumerate(rows, start=1):
        cells = [", ".join(map(str, v)) if isinstance(v := row["columns"][name], list) else str(v) for name in names]
        table.add_row(str(rank), escape(row["id"]), *map(escape, cells))
    screen().print(table)
