"""`pellucid concepts erase`: vectors from which no linear predictor can tell a concept."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from pellucid.cli._labels import Labels, labels_option, names_option
from pellucid.cli._outputs import OutputFile, Writing

if TYPE_CHECKING:
    from numpy.typing import NDArray

CERTIFIED_ROWS = 20_000  # that a certificate is made from, at most: it holds them in memory


@click.command("erase", cls=Writing)
@vectors_argument
@labels_option
@names_option
@click.option(
    "--numbers", multiple=True, metavar="COLUMNS",
    help="Instead of labels: columns of the vectors file with quantities, separated by commas.",
)  # fmt: skip
@model_option(required=False, text="Eraser that --save wrote, to apply instead of fitting one.")
@click.option(
    "-o",
    "--output",
    type=OutputFile(".npy", ".parquet", dash=True),
    help="File to write, .npy or .parquet; - for .npy on stdout.",
)
@click.option("--save", type=OutputFile(".safetensors"), help="File to keep the eraser in, .safetensors.")
@click.option(
    "--certify", is_flag=True,
    help="Say what a linear probe still tells of rows that an eraser has not seen: of VECTORS with --model, else of "
    "each half of VECTORS, by an eraser fitted to the other.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draw of --certify.")
@column_option
@json_option
def command(
    vectors: Path,
    labels: tuple[str, ...],
    names: str | None,
    numbers: tuple[str, ...],
    model: Path | None,
    output: Path | None,
    save: Path | None,
    certify: bool,
    seed: int,
    column: Columns,
    as_json: bool,
) -> None:
    """Write VECTORS changed as little as possible, so that no linear predictor can tell the labels from them any more.

    Labels are given as for `concepts fit`. The vectors are taken as they are, and so is what is written; fit to all
    that are to be searched together. An eraser that was kept with --save is applied to new vectors with --model.

    \b
    Examples:
      pellucid concepts erase photos.parquet --labels camera -o erased.parquet --save eraser.safetensors
      pellucid concepts erase more.parquet -m eraser.safetensors -o more-erased.parquet
      pellucid concepts erase photos.parquet --labels camera --certify
      pellucid concepts erase photos.parquet --numbers year -o erased.parquet
    """
    given = bool(labels) + bool(numbers)
    if given > 1:
        raise click.UsageError("Say what to erase with --labels or with --numbers, and not with both.")
    if model is None and not given:
        raise click.UsageError("Say what to erase with --labels or --numbers, or name an eraser with --model.")
    if model is not None and bool(given) != certify:
        raise click.UsageError("With --model labels are for --certify, which needs them.")
    if model is not None and save is not None:
        raise click.UsageError("An eraser that is applied with --model is kept already: leave --save out.")
    if output is None and save is None and not certify:
        raise click.UsageError("Name a file for the vectors with --output, or one for the eraser with --save.")
    begun = time.perf_counter()
    with readable(vectors) as source:
        found = erase(source, column, labels, names, numbers, model, output, save, certify, seed)
    found["seconds"] = time.perf_counter() - begun
    if output == STANDARD:
        return
    if as_json:
        print_json(found)
    else:
        show(found)


def erase(
    source: Path,
    column: Columns,
    labels: tuple[str, ...],
    names: str | None,
    numbers: tuple[str, ...],
    model: Path | None,
    output: Path | None,
    save: Path | None,
    certify: bool,
    seed: int,
) -> dict[str, Any]:
    import numpy as np

    from pellucid import persistence
    from pellucid.cli.streaming import checked_blocks, spooled
    from pellucid.concepts.targets import as_numbers

    given = Labels(labels, names) if labels else None
    quantities = [name.strip() for part in numbers for name in part.split(",") if name.strip()]
    kept = None if model is None else opened(model)
    known = (
        () if kept is None else [str(name) for name in kept.concept_names_]
    )  # no dimensions in a table without names
    beside = [*(given.columns if given else ()), *quantities, *known]
    rows, ids, amounts = 0, [], []
    for block in checked_blocks(source, column, beside):
        rows += len(block.vectors)
        ids += block.ids or []
        if given is not None:
            given.add(block)
        if quantities:
            amounts.append(columns_of(block, quantities))
    y, concepts = np.empty((rows, 0)), quantities
    if given is not None:
        y, concepts = given.result()
    elif quantities:
        y = as_numbers(np.concatenate(amounts))
    nearby = output if output not in (None, STANDARD) else save or Path.cwd() / "stdout"
    assert nearby is not None
    blocks = checked_blocks(source, column, beside, what="Reading")
    with spooled(blocks, np.asarray, nearby) as X:
        eraser = fitted(X, y, concepts, bool(quantities)) if kept is None else kept
        if save is not None:
            persistence.save(eraser, save)
        found = summary(eraser, rows, output, save)
        if certify:
            found["certificate"] = certified(eraser, X, y, concepts, model is None, seed)
    if output is not None:
        write(eraser, checked_blocks(source, column, beside, what="Erasing"), rows, ids, output, nearby)
    return found


def columns_of(block: Any, names: list[str]) -> NDArray[Any]:
    """Columns of numbers beside the vectors."""
    import numpy as np

    found = []
    for name in names:
        if name not in block.columns:
            there = ", ".join(map(repr, block.columns)) or "none"
            raise click.UsageError(f"There is no column {name!r} of numbers; columns are: {there}.")
        values = block.columns[name]
        array = np.asarray(values.to_numpy(zero_copy_only=False) if hasattr(values, "null_count") else values)
        if array.dtype.kind not in "fiub":
            raise click.UsageError(f"The column {name!r} holds no numbers; names are for --labels.")
        found.append(array.astype(np.float64))
    return np.column_stack(found)


def fitted(X: NDArray[Any], y: NDArray[Any], concepts: list[str], quantities: bool) -> Any:
    from pellucid.concepts import ConceptErasure

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eraser = ConceptErasure(target="numbers" if quantities else "labels").fit(X, y, concepts)
    for warning in caught:
        click.echo(f"Note: {warning.message}", err=True)
    return eraser


def opened(path: Path) -> Any:
    from pellucid import persistence
    from pellucid.concepts import ConceptErasure

    eraser = persistence.load(path)
    if not isinstance(eraser, ConceptErasure):
        raise click.UsageError(f"{path} holds a {type(eraser).__name__}, where an eraser is needed.")
    return eraser


def certified(eraser: Any, X: NDArray[Any], y: Any, concepts: list[str], refit: bool, seed: int) -> dict[str, Any]:
    """The certificate of rows in terms of JSON; of some of them, where there are many."""
    import numpy as np

    known = [str(name) for name in eraser.concept_names_]
    missing = [name for name in known if name not in concepts]
    if missing:
        raise ValueError(f"The eraser takes out {missing[0]!r}, of which there are no labels to certify with.")
    order = [concepts.index(name) for name in known]
    some = np.sort(np.random.default_rng(seed).permutation(len(X))[:CERTIFIED_ROWS])
    found = eraser.certify(np.asarray(X[some]), y[some][:, order], refit=refit, random_state=seed)
    return {
        "concepts": [
            {"name": name, "auc_before": number(before), "auc_after": number(after), "chance": number(spread)}
            for name, before, after, spread in zip(found.concept_names, found.before, found.after, found.chance)
        ],
        "rows": found.n_rows,
        "fitted_to": found.n_fitted,
        "residual": found.residual,
        "relative_change": found.relative_change,
        "verdict": found.verdict,
    }


def number(value: float) -> float | None:
    """JSON has no nan."""
    return None if value != value else float(value)


def summary(eraser: Any, rows: int, output: Path | None, save: Path | None) -> dict[str, Any]:
    return {
        "output": None if output is None else str(output),
        "model": None if save is None else str(save),
        "rows": rows,
        "dimensions": eraser.n_features_in_,
        "concepts": [str(name) for name in eraser.concept_names_],
        "directions": eraser.left_.shape[1],
        "fitted_to": eraser.n_samples_seen_,
        "shrinkage": eraser.shrinkage_,
        "residual": eraser.residual_,
        "relative_change": eraser.relative_change_,
    }


def write(eraser: Any, blocks: Any, rows: int, ids: list[str], output: Path, nearby: Path) -> None:
    """Change all rows, block by block, and write them with their ids."""
    import numpy as np

    from pellucid import vectors
    from pellucid.cli.streaming import spooled

    with spooled(blocks, eraser.transform, nearby) as result:
        if output == STANDARD:
            np.save(sys.stdout.buffer, result)
        else:
            vectors.write(output, result, ids if ids and output.suffix == ".parquet" else None)


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = screen()
    certificate = found.get("certificate")
    if certificate:
        table = Table(box=None, pad_edge=False)
        table.add_column("a linear probe tells", style="bold")
        for name in ("before", "after", "chance"):
            table.add_column(name, justify="right")
        for concept in certificate["concepts"]:
            before, after, spread = (
                "–" if concept[name] is None else f"{concept[name]:.3f}"
                for name in ("auc_before", "auc_after", "chance")
            )
            table.add_row(escape(concept["name"]), before, f"[bold]{after}[/]", f"±{spread}")
        out.print(table)
        out.print(
            f"\nAreas under the curve on {counted(certificate['rows'])} rows that the eraser has not seen. "
            f"{escape(certificate['verdict'])}",
            soft_wrap=True,
        )
    named = ", ".join(found["concepts"][:8]) + (" …" if len(found["concepts"]) > 8 else "")
    out.print(
        f"{counted(found['rows'])} vectors of {found['dimensions']} numbers, {found['seconds']:.1f} s; erased: "
        f"{escape(named)}.\nChanged: [bold]{found['relative_change']:.2%}[/] of the variance of the "
        f"{counted(found['fitted_to'])} rows of the fit; cross-covariance left there: {found['residual']:.1e}.",
        soft_wrap=True,
    )
    for what, where in (("Vectors", found["output"]), ("Eraser", found["model"])):
        if where is not None:
            out.print(f"{what}: [bold]{escape(where)}[/]", soft_wrap=True)
