"""`pellucid concepts caption`: what each concept holds, in words."""

from __future__ import annotations

from pathlib import Path

import click

from pellucid.cli._common import json_option, load_model, print_json, read_words, screen


@click.command("caption")
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--words", required=True, type=click.Path(exists=True, path_type=Path),
    help="Vectors file of many words, made by the same embedding model; the ids are the words.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="Words per concept.")
@json_option
def command(model: Path, words: Path, top: int, as_json: bool) -> None:
    """Say in words what each concept of MODEL holds: the words of which the least is left outside its cone.

    \b
    Examples:
      pellucid concepts caption photos.safetensors --words words.parquet
      pellucid concepts caption photos.safetensors --words words.parquet --top 10 --json
    """
    vocabulary, vectors = read_words(words)
    found = load_model(model).captions(vocabulary, vectors, top)
    if as_json:
        print_json({concept: [{"word": w, "left": left} for w, left in rows] for concept, rows in found.items()})
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("concept", style="bold")
    table.add_column("words it holds, best first")
    for concept, rows in found.items():
        table.add_row(escape(str(concept)), escape(", ".join(word for word, _ in rows)))
    screen().print(table)
