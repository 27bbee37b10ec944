"""`pellucid binary fit`: yes/no concepts from a file of vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import Columns, column_option, counted, cut, json_option, screen, status
from pellucid.cli._fits import output_option, report, seed_option
from pellucid.cli._outputs import Writing
from pellucid.cli.inputs import items_argument, normalise_option, read_items, titles_of

SHOWN, EXAMPLES = 20, 4
# items that the assignment, one after the other, still does in a minute or so
MANY_ITEMS = 2_000
# options of the autoencoder alone
SAMPLING = ("rank", "acceptance", "margin", "max_concepts")


@click.command("fit", cls=Writing)
@items_argument
@output_option
@click.option(
    "--method", type=click.Choice(["autoencoder", "assignment", "combined"]), default="autoencoder", show_default=True,
    help="autoencoder: few concepts shared by many items; assignment: hierarchies, up to some hundred items; "
    "combined: both at once, which takes longest.",
)  # fmt: skip
@click.option("--rank", type=click.IntRange(min=1),
              help="Dimensions in which concepts are searched; read from the data if not given.")  # fmt: skip
@click.option(
    "--acceptance", type=click.Choice(["adaptive", "greedy", "relative", "exhaustive"]), default="adaptive",
    show_default=True,
    help="adaptive: no more than stand out from noise; greedy: as many as --max-concepts, also more than dimensions; "
    "relative: the paper's rule; exhaustive: all sign vectors of a space of up to 20 dimensions.",
)  # fmt: skip
@click.option("--margin", type=click.FloatRange(0, 1), default=0.05, show_default=True,
              help="How far from the best a concept may be, by the other two rules.")  # fmt: skip
@click.option("--max-concepts", type=click.IntRange(min=1), help="Keep no more than that many, the strongest.")
@click.option("--branches", type=click.IntRange(min=1), default=4, show_default=True,
              help="Runs of the assignment whose concepts are weighed together.")  # fmt: skip
@click.option("--sparsity", type=click.FloatRange(min=0), help="Larger finds fewer concepts, and holds off noise.")
@seed_option
@normalise_option
@column_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    vectors: Path,
    output: Path,
    method: str,
    rank: int | None,
    acceptance: str,
    margin: float,
    max_concepts: int | None,
    branches: int,
    sparsity: float | None,
    seed: int,
    normalise: bool,
    column: Columns,
    as_json: bool,
) -> None:
    """Find categories that the items of VECTORS have or do not have, and that explain how they lie.

    VECTORS is a file that `pellucid info` knows, a collection, or - for standard input. Every concept is a bit for
    each item; adding the concept's direction to an item gives it the concept.

    \b
    Examples:
      pellucid binary fit photos.npy -o photos-bits.safetensors
      pellucid binary fit animals.parquet --method assignment -o animals.safetensors
      pellucid binary fit pellucid-demo/collection --rank 12 -o scenes-bits.safetensors
      cat words.npy | pellucid binary fit - --acceptance relative --rank 30 -o words.safetensors --json
    """
    refuse_options_of_the_other(ctx, method)
    from pellucid import persistence

    found = read_items(vectors, column)
    begun = time.perf_counter()
    # what chooses the concepts has another name and scale where items come one by one
    name = "sparsity" if method == "autoencoder" else "simplicity"
    given: dict[str, Any] = {"center": normalise, **({} if sparsity is None else {name: sparsity})}
    X = found.vectors
    if method != "autoencoder":
        from pellucid.binary import CombinedConcepts, IterativeAssignment

        if len(X) > MANY_ITEMS:
            raise click.UsageError(
                f"There are {counted(len(X))} items, and this method is for up to {counted(MANY_ITEMS)}: take the "
                "autoencoder, or a part of them (pellucid select)."
            )
        model: Any = CombinedConcepts(random_state=seed, **given)
        if method == "assignment":
            model = IterativeAssignment(branches, random_state=seed, **given)
    else:
        from pellucid.binary import BinaryAutoencoder

        model = BinaryAutoencoder(rank, acceptance=acceptance, margin=margin, max_concepts=max_concepts,
                                  random_state=seed, **given)  # fmt: skip
    with status(f"Looking for concepts of {counted(len(X))} items …"):
        model.fit(X)
    persistence.save(model, output)
    result = summary(model, titles_of(found), output, time.perf_counter() - begun)
    report(result, as_json, show)


def refuse_options_of_the_other(ctx: click.Context, method: str) -> None:
    """An option that would be passed over is a misunderstanding."""
    others = [*(["branches"] if method != "assignment" else []), *(SAMPLING if method != "autoencoder" else [])]
    for name in others:
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with another --method.")


def summary(model: Any, names: list[str], output: Path, seconds: float) -> dict[str, Any]:
    total = max(float(model.weights_.sum()), 1e-300)
    return {
        "model": str(output),
        "class": type(model).__name__,
        "items": len(model.concepts_),
        "dimensions": model.n_features_in_,
        "rank": model.rank_,
        "cka": float(model.cka_),
        "concepts": [
            {
                "concept": j,
                "items": int(bits.sum()),
                "weight": float(weight),
                "share": float(weight / total),
                "examples": [names[i] for i in bits.nonzero()[0][:EXAMPLES]],
            }
            for j, (bits, weight) in enumerate(zip(model.concepts_.T, model.weights_))
        ],
        "seconds": seconds,
    }


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    concepts, out = found["concepts"], screen()
    if concepts:
        table = Table(box=None, pad_edge=False)
        table.add_column("", justify="right", style="bold")
        table.add_column("items", justify="right")
        table.add_column("weight", justify="right")
        table.add_column("")
        table.add_column("such as", overflow="ellipsis", no_wrap=True)
        most = max(concept["share"] for concept in concepts)
        for concept in concepts[:SHOWN]:
            bar = "█" * max(1, round(16 * concept["share"] / most))
            such = ", ".join(concept["examples"]) + (", …" if concept["items"] > len(concept["examples"]) else "")
            cells = f"{concept['concept']}", counted(concept["items"]), f"{concept['share']:.1%}", f"[blue]{bar}[/]"
            table.add_row(*cells, escape(cut(such, out.width - 42)))
        out.print(table)
        if len(concepts) > SHOWN:
            out.print(f"[dim]and {len(concepts) - SHOWN} more[/]")
    else:
        out.print("No concept stands out from noise.")
    number = f"{len(concepts)} concept{'' if len(concepts) == 1 else 's'}"
    out.print(
        f"\n{counted(found['items'])} items of {found['dimensions']} numbers, {number} in {found['rank']} dimensions, "
        f"{found['seconds']:.1f} s.\nThey explain the similarities to [bold]{found['cka']:.3f}[/] "
        f"(centred kernel alignment, 1 is all).\nModel: [bold]{escape(found['model'])}[/]",
        soft_wrap=True,
    )
