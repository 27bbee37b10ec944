"""`pellucid binary draw`: the analogram of a model's items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import STANDARD, cut, json_option, print_json, screen
from pellucid.cli._outputs import OutputFile, Writing
from pellucid.cli.inputs import chosen_rows, read_names

SHOWN = 6


@click.command("draw", cls=Writing)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=OutputFile(".svg", ".png", ".pdf", dash=True),
              help="Picture, .svg, .png or .pdf; - for SVG on standard output.")  # fmt: skip
@click.option(
    "--names", type=click.Path(exists=True, path_type=Path),
    help="What the items are called: the vectors file or collection of the fit, or a .txt file, a name a line.",
)  # fmt: skip
@click.option("--item", multiple=True, help="Draw this item, by its name or number; several; all if not given.")
@click.option("--max-concepts", type=click.IntRange(min=1), help="Draw no more than that many, the strongest.")
@click.option("--max-nodes", type=click.IntRange(2, 400), default=100, show_default=True,
              help="Draw no more concepts than give a graph of this size.")  # fmt: skip
@click.option("--title", help="Title of the picture.")
@json_option
def command(
    model: Path,
    output: Path,
    names: Path | None,
    item: tuple[str, ...],
    max_concepts: int | None,
    max_nodes: int,
    title: str | None,
    as_json: bool,
) -> None:
    """Draw the items of MODEL, which `binary fit` wrote, as a graph in which an edge flips one concept.

    All edges of a concept are parallel and of one colour; cut across them and the items fall into those with it and
    those without. The graph takes as many of the strongest concepts as can be read.

    \b
    Examples:
      pellucid binary draw animals.safetensors --names animals.parquet -o animals.svg
      pellucid binary draw words.safetensors --names words.txt --item king --item queen --item man -o royal.png
    """
    if as_json and output == STANDARD:
        raise click.UsageError("--json and a picture on standard output go different ways: name a file.")
    from pellucid.binary import analogram_of

    fitted = load_binary(model)
    called = [str(i) for i in range(len(fitted.concepts_))] if names is None else read_names(names)
    if len(called) != len(fitted.concepts_):
        raise ValueError(f"{names} names {len(called)} items, but the model was fitted on {len(fitted.concepts_)}.")
    rows = chosen_rows(item, called) if item else None
    if rows is not None and len(rows) < 2:
        raise click.UsageError("A graph needs at least two items.")
    drawn = called if rows is None else [called[row] for row in rows]
    view = analogram_of(fitted, rows, drawn, max_concepts=max_concepts, max_nodes=max_nodes)
    save(view.graph.plot(title=title).figure, output)
    result = summary(view, drawn, output)
    if as_json:
        print_json(result)
    elif output != STANDARD:
        show(result)


def load_binary(path: Path) -> Any:
    """The model of binary concepts in that file."""
    from pellucid import persistence
    from pellucid.binary.base import BinaryModel

    fitted = persistence.load(path)
    if not isinstance(fitted, BinaryModel):
        raise click.UsageError(f"{path} holds a {type(fitted).__name__}, where a model of `binary fit` is needed.")
    return fitted


def save(figure: Any, output: Path) -> None:
    from pellucid._core.atomic import atomic_path

    if output == STANDARD:
        figure.savefig(sys.stdout.buffer, format="svg", facecolor="white")
        return
    with atomic_path(output) as temporary:
        figure.savefig(temporary, dpi=200, facecolor="white")


def summary(view: Any, names: list[str], output: Path) -> dict[str, Any]:
    graph = view.graph
    bits = graph.nodes[graph.item_nodes]
    return {
        "output": str(output),
        "items": len(names),
        "nodes": len(graph.nodes),
        "hidden": len(graph.hidden),
        "share": view.share,
        "concepts": [
            {"label": j, "weight": float(view.weights[j]), "items": [names[i] for i in smaller(bits[:, j])]}
            for j in range(bits.shape[1])
        ],
    }


def smaller(column: Any) -> Any:
    """The items on the smaller side of a concept."""
    side = column if 2 * column.sum() <= len(column) else 1 - column
    return side.nonzero()[0]


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = screen()
    table = Table(box=None, pad_edge=False)
    table.add_column("edge", justify="right", style="bold")
    table.add_column("sets apart", overflow="ellipsis", no_wrap=True)
    for concept in found["concepts"]:
        more = f" and {len(concept['items']) - SHOWN} more" if len(concept["items"]) > SHOWN else ""
        table.add_row(str(concept["label"]), escape(cut(", ".join(concept["items"][:SHOWN]), out.width - 24)) + more)
    out.print(table)
    out.print(
        f"\n{found['items']} items, {found['nodes']} nodes of which {found['hidden']} hidden, with "
        f"{found['share']:.0%} of the weight of all concepts that tell the items apart.\n"
        f"Picture: [bold]{escape(found['output'])}[/]",
        soft_wrap=True,
    )
