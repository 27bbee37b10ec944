"""`pellucid manifold transform`: embed vectors, images or texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import (
    STANDARD,
    Columns,
    column_option,
    counted,
    json_option,
    model_option,
    print_json,
    screen,
    status,
)
from pellucid.cli._outputs import OutputFile, Writing
from pellucid.cli._sources import read_source

KIND_OF = {
    "PatchManifoldTransform": "images", "SparseManifoldTransform": "vectors", "WordManifoldTransform": "text",
}  # fmt: skip


@click.command("transform", cls=Writing)
@click.argument("source", required=False, type=click.Path(exists=True, allow_dash=True, path_type=Path))
@model_option(text="Model file that `manifold fit` wrote.")
@click.option("-o", "--output", required=True, type=OutputFile(".npy", ".parquet", dash=True),
              help="File to write, .npy or .parquet; - for .npy on stdout.")  # fmt: skip
@click.option("--vocabulary", is_flag=True, help="Instead of texts, write the vectors of the words, as ids the words.")
@column_option
@json_option
def command(source: Path | None, model: Path, output: Path, vocabulary: bool, column: Columns, as_json: bool) -> None:
    """Embed SOURCE, which is of the kind that the model was fitted to, and write a row for each vector, image or text.

    The result is a file of vectors that every other command takes: index it, find clusters or concepts in it.

    \b
    Examples:
      pellucid manifold transform photos/ -m photos.safetensors -o photos.parquet
      pellucid manifold transform corpus.txt -m words.safetensors -o lines.npy
      pellucid manifold transform -m words.safetensors --vocabulary -o words.parquet
    """
    if (source is None) != vocabulary:
        raise click.UsageError("Name what to embed, or ask for the --vocabulary of a model of words.")
    from pellucid import persistence

    fitted = persistence.load(model)
    kind = KIND_OF.get(type(fitted).__name__)
    if kind is None:
        raise click.UsageError(f"{model} holds a {type(fitted).__name__}, where a model of `manifold fit` is needed.")
    if vocabulary and kind != "text":
        raise click.UsageError(f"--vocabulary is for models of words, but {model} is one of {kind}.")
    words: list[str] | None = [str(word) for word in fitted.vocabulary_] if kind == "text" else None
    if source is None:
        rows, ids = fitted.vectors_, words
    else:
        with read_source(source, kind, column) as found, status(f"Embedding {source.name} …"):
            rows, ids = fitted.transform(found.data), found.ids
    write(output, rows, ids)
    if as_json and output != STANDARD:
        print_json({"output": str(output), "rows": rows.shape[0], "columns": rows.shape[1]})
    elif output != STANDARD:
        screen().print(
            f"{counted(rows.shape[0])} rows of {counted(rows.shape[1])} numbers: [bold]{output}[/]", soft_wrap=True
        )


def write(output: Path, rows: Any, ids: list[str] | None) -> None:
    import numpy as np

    from pellucid import vectors

    if output == STANDARD:
        np.save(sys.stdout.buffer, rows)
    else:
        vectors.write(output, rows, ids if output.suffix == ".parquet" else None)
