"""`pellucid concepts evaluate`: how well each concept finds items that share it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import (
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
from pellucid.cli._labels import Labels, labels_option, names_option


@click.command("evaluate")
@vectors_argument
@model_option()
@labels_option
@names_option
@click.option(
    "--fine", multiple=True, metavar="LABELS",
    help="Finer labels, given as --labels is, and named concept/thing, such as animal/dog.",
)  # fmt: skip
@click.option("--queries", type=click.IntRange(min=1), default=500, show_default=True,
              help="Rows drawn as queries, half of all at most; the others are searched.")  # fmt: skip
@click.option("-k", type=click.IntRange(min=1), default=20, show_default=True, help="Length of the result lists.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draw.")
@column_option
@json_option
def command(
    vectors: Path,
    model: Path,
    labels: tuple[str, ...],
    names: str | None,
    fine: tuple[str, ...],
    queries: int,
    k: int,
    seed: int,
    column: Columns,
    as_json: bool,
) -> None:
    """Measure on VECTORS, which the model should not have seen, how well each concept finds items that share it.

    Every query that has a concept is projected onto it and searches the other rows; the figure is the mean average
    precision of the first k, beside that of plain cosine search.

    \b
    Examples:
      pellucid concepts evaluate test.parquet -m photos.safetensors --labels tags
      pellucid concepts evaluate test.parquet -m photos.safetensors --labels tags --fine things --json
    """
    if not labels:
        raise click.UsageError("Say which row has which concept with --labels.")
    with readable(vectors) as source:
        found = evaluate(source, column, load_model(model), labels, names, fine, queries, k, seed)
    if as_json:
        print_json(found)
    else:
        show(found, k)


def evaluate(
    source: Path,
    column: Columns,
    model: Any,
    given: tuple[str, ...],
    names: str | None,
    fine: tuple[str, ...],
    queries: int,
    k: int,
    seed: int,
) -> dict[str, Any]:
    import numpy as np

    from pellucid.cli.streaming import checked_blocks
    from pellucid.metrics import concept_retrieval

    coarse, things = Labels(given, names), Labels(fine) if fine else None
    read = []
    beside = [*model.concept_names_, *coarse.columns, *(things.columns if things else ())]
    for block in checked_blocks(source, column, beside):
        read.append(np.asarray(block.vectors))
        for labels in (coarse, things):
            if labels is not None:
                labels.add(block)
    X = np.concatenate(read)
    Y = known(model, *coarse.result())
    finer = {} if things is None else under(model, *things.result())
    order = np.random.default_rng(seed).permutation(len(X))
    count = min(queries, len(X) // 2)
    asked, searched = np.sort(order[:count]), np.sort(order[count:])
    split = {}
    if finer:
        split = {
            "query_fine": finer["fine"][asked],
            "candidate_fine": finer["fine"][searched],
            "fine_to_coarse": finer["fine_to_coarse"],
        }
    found: dict[str, Any] = {"queries": count, "candidates": len(searched), "k": k}
    # plain cosines are those of the same space
    for title, filtering, rows in (("plain", None, model.prepare(X)), ("filtered", model, X)):
        result = concept_retrieval(filtering, rows[asked], rows[searched], Y[asked], Y[searched], k=k, **split)
        found["pairs"] = result.pairs
        found[title] = {
            "general": result.general,
            "sub": number(result.sub),
            "per_concept": {str(name): number(g) for name, (g, _) in zip(model.concept_names_, result.per_concept)},
        }
    return found


def number(value: float) -> float | None:
    """JSON has no nan."""
    return None if value != value else float(value)


def known(model: Any, indicator: Any, names: list[str]) -> Any:
    """Labels over the concepts of the model; others are left out."""
    import numpy as np

    full = np.zeros((len(indicator), len(model.concept_names_)), dtype=bool)
    place = {str(name): j for j, name in enumerate(model.concept_names_)}
    if not set(names) & set(place):
        raise ValueError(f"No label is a concept of the model, which has {', '.join(place)}.")
    for j, name in enumerate(names):
        if name in place:
            full[:, place[name]] = indicator[:, j]
    return full


def under(model: Any, indicator: Any, names: list[str]) -> dict[str, Any]:
    """Finer labels, and the concept that each belongs to by its name."""
    import numpy as np

    place = {str(name): j for j, name in enumerate(model.concept_names_)}
    belongs = np.array([place.get(name.split("/")[0], -1) for name in names])
    wrong = [name for name, j in zip(names, belongs) if j < 0 or "/" not in name]
    if wrong:
        raise ValueError(f"The finer label {wrong[0]!r} is not named concept/thing with a concept of the model.")
    return {"fine": indicator, "fine_to_coarse": belongs}


def show(found: dict[str, Any], k: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=f"mAP@{k}", title_justify="left")
    table.add_column("")
    for name in ("plain cosine", "by concept"):
        table.add_column(name, justify="right")
    table.add_column("")
    both = [found["plain"], found["filtered"]]
    rows = [("same concept", *(side["general"] for side in both))]
    rows += [("same thing", *(side["sub"] for side in both))] if both[0]["sub"] is not None else []
    for name, plain, filtered in rows:
        table.add_row(f"[bold]{name}[/]", f"{plain:.3f}", f"[bold]{filtered:.3f}[/]", _bar(filtered))
    table.add_section()
    for name in both[1]["per_concept"]:
        plain, filtered = (side["per_concept"][name] for side in both)
        if plain is not None:
            table.add_row(escape(name), f"{plain:.3f}", f"{filtered:.3f}", _bar(filtered))
    out = screen()
    out.print(table)
    out.print(f"\n{found['pairs']} pairs of a query and a concept it has; {found['candidates']} rows searched.")


def _bar(share: float) -> str:
    return f"[blue]{'█' * round(24 * share)}[/]"
