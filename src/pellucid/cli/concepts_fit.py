"""`pellucid concepts fit`: a model of concept subspaces from a file of vectors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._attached import Table, rows_argument, rows_at, table_options
from pellucid.cli._common import (
    Columns,
    column_option,
    counted,
    json_option,
    read_words,
    screen,
)
from pellucid.cli._fits import batch_size, batch_size_option, output_option, report, seed_option, warned
from pellucid.cli._labels import Labels, labels_option, names_option
from pellucid.cli._outputs import Writing

if TYPE_CHECKING:
    from pellucid.vectors import VectorFile


class AtomNumber(click.ParamType):
    """A whole number of atoms, a share of the energy below 1, or "auto"."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float | str:
        if value == "auto":
            return "auto"
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if 0 < number < 1:
            return number
        if number < 1 or number != int(number):
            self.fail(f"{value!r} is no whole number from 1 on, no share between 0 and 1, and not auto.", param, ctx)
        return int(number)


class ActiveNumber(click.ParamType):
    """A whole number of concepts, or "auto"."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "auto":
            return "auto"
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"{value!r} is neither a whole number from 1 on nor auto.", param, ctx)
        return int(value)


@click.command("fit", cls=Writing)
@rows_argument
@table_options(columns=False)
@labels_option
@names_option
@click.option(
    "--words",
    type=click.Path(exists=True, path_type=Path),
    help="Instead of labels: a vectors file of the words for the concepts, made by the same embedding model.",
)
@click.option(
    "--active", type=ActiveNumber(), default="auto", show_default=True,
    help="Concepts per row that --words guesses; auto gives each row those it stands out for.",
)  # fmt: skip
@output_option
@click.option(
    "--n-atoms", type=AtomNumber(), default="auto", show_default=True,
    help="Atoms per concept; below 1, as many as keep that share of its energy; auto finds how many hold.",
)  # fmt: skip
@click.option("--max-iter", type=click.IntRange(min=0), default=10, show_default=True, help="Sweeps over the rows.")
@click.option("--update", type=click.Choice(["online", "svd", "bcd", "power"]), default="online", show_default=True,
              help="How atoms are learned: online, or by paper 1 with one of its steps.")  # fmt: skip
@click.option("--init", type=click.Choice(["sample", "svd"]),
              help="Start from random rows or from singular vectors, as suits the update if not given.")  # fmt: skip
@click.option("--sparsity", type=click.FloatRange(min=0),
              help="What a coefficient costs while learning; chosen from the rows if not given.")  # fmt: skip
@click.option("--monotone", is_flag=True, help="Never let the error rise.")
@batch_size_option
@click.option("--no-presence", is_flag=True, help="Do not learn which concepts a row has, only the cones.")
@seed_option
@click.option("--as-is", is_flag=True, help="Take the vectors as they are: do not normalise, centre and normalise.")
@column_option
@json_option
def command(
    vectors: Path | str,
    labels: tuple[str, ...],
    names: str | None,
    words: Path | None,
    active: int | str,
    output: Path,
    n_atoms: int | float | str,
    max_iter: int,
    update: str,
    init: str | None,
    sparsity: float | None,
    monotone: bool,
    batch_size: int | None,
    no_presence: bool,
    seed: int,
    as_is: bool,
    column: Columns,
    table: Table,
    as_json: bool,
) -> None:
    """Learn a positive cone for each concept from VECTORS and write them to a model file.

    The concepts come from labels, or from words alone: then each row counts as having the concepts whose words are
    nearest to it. The model normalises, centres and normalises the vectors, and keeps the mean in its file, so that
    every command takes vectors as they come. VECTORS is a .npy, .npz, .parquet, .safetensors, .h5ad, .csv or .tsv
    file, a folder of .parquet files, or - for standard input; it is read in blocks and never held as a whole. Or it is
    an address: then a table is read where it is, once, and nothing is written to it.

    \b
    Examples:
      pellucid concepts fit photos.parquet --labels tags -o photos.safetensors
      pellucid concepts fit photos.csv --labels animal,person,vehicle -o photos.safetensors
      pellucid concepts fit photos.npy --labels tags.txt --n-atoms 4 -o photos.safetensors
      pellucid concepts fit postgresql://localhost/shop --table documents --labels tags -o documents.safetensors
      pellucid concepts fit photos.npy --words concepts.parquet --active 2 -o photos.safetensors
    """
    if bool(labels) == (words is not None):
        raise click.UsageError("Name the concepts with --labels or with --words, and not with both.")
    settings = {
        "n_atoms": n_atoms, "max_iter": max_iter, "update": update, "init": init, "sparsity": sparsity,
        "monotone": monotone, "batch_size": batch_size, "random_state": seed, "presence": not no_presence,
    }  # fmt: skip
    begun = time.perf_counter()
    named = Labels(labels, names) if labels else None
    with rows_at(vectors, table, column, named.columns if named else ()) as source:
        model, indicator, caught = fit(source, column, named, words, active, output, settings, as_is)
    found = summary(model, indicator, output, time.perf_counter() - begun)
    report(found, as_json, show, caught)


def fit(
    source: Any,
    column: Columns,
    labels: Labels | None,
    words: Path | None,
    active: int | str,
    output: Path,
    settings: dict[str, Any],
    as_is: bool,
) -> tuple[Any, Any, list[warnings.WarningMessage]]:
    """The model that was written, the labels it was fitted to, and what the fit warned of."""
    import numpy as np

    from pellucid import persistence
    from pellucid._core.interrupts import uninterrupted
    from pellucid.cli.streaming import checked_blocks, spooled
    from pellucid.concepts import ConceptSubspaces, zero_shot_scores
    from pellucid.concepts.zero_shot import labels_of_scores

    columns = labels.columns if labels else ()
    concepts, concept_vectors = read_words(words) if words else ([], np.empty((0, 0)))
    guessed = []

    def looked_at() -> Iterator[VectorFile]:
        for block in checked_blocks(source, column, columns):
            if labels is None:
                guessed.append(zero_shot_scores(block.vectors, concept_vectors))
            else:
                labels.add(block)
            yield block

    with spooled(looked_at(), np.asarray, output) as X, warned() as caught:
        if labels is not None:
            indicator, concepts = labels.result()
        else:
            indicator = labels_of_scores(np.concatenate(guessed), active)
            kept = np.flatnonzero(indicator.any(axis=0))  # a word that no row is near to is not a concept of these rows
            indicator, concepts = indicator[:, kept], [concepts[j] for j in kept]
        settings["batch_size"] = batch_size(settings["batch_size"], len(X))
        model = ConceptSubspaces(**settings, center=not as_is, verbose=1).fit(X, indicator, concepts)
    model.set_params(verbose=0)
    with uninterrupted():  # what was learned is not lost to a Ctrl-C that comes now
        persistence.save(model, output)
    return model, indicator, caught


def summary(model: Any, indicator: Any, output: Path, seconds: float) -> dict[str, Any]:
    import numpy as np

    atoms = np.bincount(model.groups_, minlength=len(model.concept_names_)).tolist()
    with_concept = indicator.sum(axis=0).tolist()
    return {
        "model": str(output),
        "rows": len(indicator),
        "dimensions": model.n_features_in_,
        "concepts": [
            {"name": str(name), "rows": n, "atoms": m} for name, n, m in zip(model.concept_names_, with_concept, atoms)
        ],
        "error_at_start": float(model.objective_[0]),
        "error_after_fit": float(model.objective_[-1]),
        "sweeps": model.n_iter_,
        "presence": model.knows_presence,
        "seconds": seconds,
    }


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("concept", style="bold")
    for name in ("rows", "atoms"):
        table.add_column(name, justify="right")
    table.add_column("")
    most = max(concept["rows"] for concept in found["concepts"])
    for concept in found["concepts"]:
        bar = "█" * max(1, round(24 * concept["rows"] / most))
        cells = counted(concept["rows"]), str(concept["atoms"]), f"[blue]{bar}[/]"
        table.add_row(escape(concept["name"]), *cells)
    sweeps = f"{found['sweeps']} sweep{'' if found['sweeps'] == 1 else 's'}"
    out = screen()
    out.print(table)
    out.print(
        f"\n{counted(found['rows'])} vectors of {found['dimensions']} numbers, {sweeps}, {found['seconds']:.1f} s.\n"
        f"Error per row: {found['error_at_start']:.3f} at the start, [bold]{found['error_after_fit']:.3f}[/] after."
        f"\nModel: [bold]{escape(found['model'])}[/]",
        soft_wrap=True,
    )
