"""`pellucid discover`: concepts of vectors that nobody labelled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._attached import Table, is_collection, rows_argument, rows_at, table_options
from pellucid.cli._common import (
    Columns,
    column_option,
    counted,
    json_option,
    read_words,
    screen,
)
from pellucid.cli._fits import output_option, report, seed_option, warned
from pellucid.cli._outputs import Writing
from pellucid.cli.concepts_fit import ActiveNumber
from pellucid.cli.inputs import read_items

if TYPE_CHECKING:
    from pellucid.vectors import VectorFile

# concepts that are shown; --all and --json have all
SHOWN = 40
# the column that holds texts, if none is named
TEXT = "text"
KINDS = ("duplicate", "unstable", "empty")


@click.command("discover", cls=Writing)
@rows_argument
@table_options(columns=False)
@output_option
@click.option(
    "--n-concepts", type=ActiveNumber(), default="auto", show_default=True,
    help="How many to find; auto takes rather too many and marks those that should go.",
)  # fmt: skip
@click.option("--texts", help="What names concepts: a column of texts beside the vectors, or a .txt file with a "
              "line for each vector; the column named text if there is one.")  # fmt: skip
@click.option(
    "--words", type=click.Path(exists=True, path_type=Path),
    help="What names concepts, too: a vectors file of words, made by the same embedding model.",
)  # fmt: skip
@click.option("--sparsity", type=click.FloatRange(min=0), help="What a coefficient costs; the larger, the fewer "
              "concepts an item has. Chosen if not given.")  # fmt: skip
@click.option("--max-iter", type=click.IntRange(min=1), default=10, show_default=True, help="Passes over the rows.")
@click.option("--all", "everything", is_flag=True, help=f"Show all concepts, not the {SHOWN} most frequent.")
@seed_option
@click.option("--as-is", is_flag=True, help="Take the vectors as they are: do not normalise, centre and normalise.")
@column_option
@json_option
def command(
    vectors: Path | str,
    output: Path,
    n_concepts: int | str,
    texts: str | None,
    words: Path | None,
    sparsity: float | None,
    max_iter: int,
    everything: bool,
    seed: int,
    as_is: bool,
    column: Columns,
    table: Table,
    as_json: bool,
) -> None:
    """Find the concepts of VECTORS without any labels, and write them to a model file.

    Each vector has several concepts. They are named by what the texts of their items say and those of other items do
    not, by words with vectors, or by both. The model is one of concept subspaces: `search`, `explore` and `concepts`
    take it. VECTORS is a file as `concepts fit` takes it, - for standard input, a collection, or the address of a
    table, which is read once where it is.

    \b
    Examples:
      pellucid discover articles.parquet -o topics.safetensors
      pellucid discover photos.npy --words vocabulary.parquet --n-concepts 100 -o concepts.safetensors
      pellucid discover reviews.npy --texts reviews.txt -o topics.safetensors --json
      pellucid discover postgresql://localhost/shop --table documents --text body -o topics.safetensors
      pellucid search articles --model topics.safetensors --item 17 --concept weather
    """
    settings = {
        "n_concepts": n_concepts, "sparsity": sparsity, "max_iter": max_iter, "random_state": seed,
        "center": not as_is,
    }  # fmt: skip
    begun = time.perf_counter()
    if isinstance(vectors, Path) and is_collection(vectors):
        table.refuse(vectors)
        model, caught = fit_collection(vectors, column, texts, words, settings)
    else:
        named = [texts] if texts is not None and texts_file(texts) is None else []
        with rows_at(vectors, table, column, named) as source:
            model, caught = fit(source, column, texts, words, output, settings)
    from pellucid import persistence

    model.set_params(verbose=0)
    persistence.save(model, output)
    found = summary(model, output, time.perf_counter() - begun)
    report(found, as_json, lambda found: show(found, None if everything else SHOWN), caught)


def fit(
    source: Any, column: Columns, texts: str | None, words: Path | None, output: Path, settings: dict[str, Any]
) -> tuple[Any, Any]:
    """The fitted model, and what the fit warned of."""
    import numpy as np

    from pellucid.cli.streaming import checked_blocks, spooled

    file = texts_file(texts)
    said, named = [], texts if file is None else None

    def looked_at() -> Iterator[VectorFile]:
        for block in checked_blocks(source, column):
            if named is not None and named not in block.columns:
                there = ", ".join(map(repr, block.columns)) or "none"
                raise click.UsageError(f"There is no file or column {named!r} of texts; columns are: {there}.")
            if file is None and (named or TEXT) in block.columns:
                said.extend(plain_texts(block.columns[named or TEXT]))
            yield block

    if file is not None:
        said += file.read_text(encoding="utf-8").splitlines()
    with spooled(looked_at(), np.asarray, output) as X:
        return learned(X, said, words, settings)


def fit_collection(
    path: Path, column: Columns, texts: str | None, words: Path | None, settings: dict[str, Any]
) -> tuple[Any, Any]:
    file, found = texts_file(texts), read_items(path, column)
    if file is not None:
        said = file.read_text(encoding="utf-8").splitlines()
    else:
        said = plain_texts(found.columns[TEXT]) if TEXT in found.columns else []
    return learned(found.vectors, said, words, settings)


def learned(X: Any, said: list[str], words: Path | None, settings: dict[str, Any]) -> tuple[Any, Any]:
    from pellucid.concepts import ConceptDiscovery

    given: dict[str, Any] = {"texts": said} if said else {}
    if words is not None:
        given["words"], given["word_vectors"] = read_words(words)
    with warned() as caught:
        return ConceptDiscovery(**settings, verbose=1).fit(X, **given), caught


def texts_file(texts: str | None) -> Path | None:
    return Path(texts) if texts is not None and texts.endswith(".txt") and Path(texts).is_file() else None


def plain_texts(values: Any) -> list[str]:
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    return ["" if text is None else str(text) for text in listed]


def summary(model: Any, output: Path, seconds: float) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "model": str(output),
        "rows": model.n_rows_,
        "dimensions": model.n_features_in_,
        "explained": model.explained_,
        "concepts": [asdict(concept) for concept in model.found()],
        "coarse": model.tree(),
        "passes": model.n_iter_,
        "seconds": seconds,
    }


def show(found: dict[str, Any], most: int | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    listed = found["concepts"]
    table = Table(box=None, pad_edge=False)
    table.add_column("concept", style="bold", overflow="fold")
    for name in ("share", "again"):
        table.add_column(name, justify="right")
    for name in ("words", "under"):
        table.add_column(name)
    for concept in [entry for entry in listed if not entry["mark"]][:most]:
        cells = f"{concept['share']:.1%}", f"{concept['stability']:.2f}", ", ".join(concept["words"][1:])
        table.add_row(escape(concept["name"]), *cells[:2], escape(cells[2]), escape(", ".join(concept["under"])))
    out = screen()
    out.print(table)
    marked = [entry for entry in listed if entry["mark"]]
    left = len(listed) - len(marked) - (most or len(listed))
    if left > 0:
        out.print(f"… and {counted(left)} more: --all shows them.")
    if marked:
        kinds = [(kind, sum(entry["mark"].startswith(kind) for entry in marked)) for kind in KINDS]
        told = ", ".join(f"{number} {kind}" for kind, number in kinds if number)
        out.print(f"\n{len(marked)} marked ({told}), which --json lists.")
    passes = f"{found['passes']} pass{'' if found['passes'] == 1 else 'es'}"
    out.print(
        f"\n{counted(found['rows'])} vectors of {found['dimensions']} numbers, {len(listed)} concepts that explain "
        f"{found['explained']:.0%} of them, {passes}, {found['seconds']:.1f} s.\n"
        f"Model: [bold]{escape(found['model'])}[/]",
        soft_wrap=True,
    )
