"""`pellucid trace`: why items were found or not, and what would bring them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import json_option, load_model, model_option, print_json, read_words
from pellucid.cli._encoders import check_start, encoder_options, made_encoder
from pellucid.cli._engines import chosen, engine_options
from pellucid.cli.search import read_query, weighted


@click.command("trace")
@click.argument("collection", type=click.Path(exists=True, file_okay=False, path_type=Path))
@model_option(False, "Model file with the concepts.")
@click.option("--item", help="Id of the item that was started from.")
@click.option(
    "--vector", type=click.Path(exists=True, allow_dash=True, path_type=Path),
    help="File with the vector that was searched for, as your embedding model gave it; - for numbers in JSON on stdin.",
)  # fmt: skip
@click.option("--text", help="Text that was searched for, with the --encoder.")
@encoder_options
@click.option(
    "-e",
    "--expected",
    multiple=True,
    required=True,
    help="Id of an item that should have been found; several together.",
)
@click.option("-c", "--concept", multiple=True, help="What was looked for, as for `search`.")
@click.option("--without", multiple=True, help="What was kept out.")
@click.option("-k", type=click.IntRange(min=1), default=20, show_default=True, help="How many items were asked for.")
@click.option("--score", type=click.Choice(["presence", "projection"]), help="How concepts counted.")
@click.option("--diverse", is_flag=True, help="Whether items were chosen so that they differ.")
@click.option(
    "--words", type=click.Path(exists=True, path_type=Path), help="Vectors file of the words that stood for concepts."
)
@click.option("--where", help="The filter.")
@click.option("--source", help="The column that says where items come from; all columns of few values if not given.")
@engine_options(None, "What ranked the items, if not what the collection was made with.")
@json_option
def command(
    collection: Path,
    model: Path | None,
    item: str | None,
    vector: Path | None,
    text: str | None,
    encoder: str | None,
    texts: Path | None,
    expected: tuple[str, ...],
    concept: tuple[str, ...],
    without: tuple[str, ...],
    k: int,
    score: str | None,
    diverse: bool,
    words: Path | None,
    where: str | None,
    source: str | None,
    engine: str | None,
    dsn: str | None,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say why a search of COLLECTION found an item or not, and the smallest change that would bring it in.

    Give the search as `pellucid search` had it, and the ids of the items that should have been found.

    \b
    Examples:
      pellucid trace photos -m photos.safetensors --item 17 --expected 44
      pellucid trace photos -m photos.safetensors --item 17 -k 5 --concept animal -e 44 -e 90 --json
      pellucid trace photos --text "a dog on a beach" --encoder mine:embed --expected 44
      echo '[0.1, 0.7, 0.2]' | pellucid trace photos --vector - --expected 44 --source website
    """
    check_start(item, vector, text, encoder)
    from pellucid.concepts import Vocabulary
    from pellucid.search import Collection, ConceptSearch, Text

    embed = made_encoder(encoder, texts)
    fitted = None if model is None else load_model(model)
    opened = Collection.open(collection, engine=engine)
    if dsn is not None or options:
        given = chosen(dsn, options, opened.engine_options)
        opened = Collection.open(collection, engine=engine, engine_options=given)
    if item is not None:
        opened.position(item)  # says so if there is no such item
    query: Any = Text(text) if text is not None else item if vector is None else read_query(vector)
    vocabulary = None if words is None else Vocabulary(*read_words(words))
    search = ConceptSearch(opened, fitted, embed, vocabulary)
    asked = {"concept": weighted(concept, fitted), "without": list(without) or None, "score": score, "where": where}
    found = search.trace(query, list(expected), k=k, diverse=diverse, source=source, **asked)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
