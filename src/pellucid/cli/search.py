"""`pellucid search`: nearest items, as a whole or by one concept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid._core.plain import plain
from pellucid.cli._attached import Place, Table, is_collection, table_options
from pellucid.cli._common import (
    STANDARD,
    json_option,
    load_model,
    model_option,
    print_json,
    read_words,
    screen,
    standard_text,
)
from pellucid.cli._encoders import check_start, encoder_options, made_encoder
from pellucid.cli._engines import chosen, engine_options

if TYPE_CHECKING:
    from numpy.typing import NDArray


@click.command("search")
@click.argument("collection", type=Place())
@table_options(short=("id",))
@model_option(False, "Model file with the concepts.")
@click.option("--item", help="Id of the item to start from.")
@click.option(
    "--vector", "given", multiple=True,
    help="File with one vector to start from, as your embedding model gave it; - for numbers in JSON on stdin. Of a "
    "table at an address also the name of its column of vectors.",
)  # fmt: skip
@click.option("--text", help="Text to start from, with the --encoder that made the collection's vectors.")
@encoder_options
@click.option(
    "-c",
    "--concept",
    multiple=True,
    help="Look for this concept; several together, with a weight each if you like: animal=2.",
)
@click.option("--without", multiple=True, help="Keep items out that have this concept.")
@click.option("-k", type=click.IntRange(min=1), default=20, show_default=True, help="How many items.")
@click.option(
    "--score", type=click.Choice(["presence", "projection"]),
    help="presence (if the model knows it) also asks how likely an item has the concept; projection does not.",
)  # fmt: skip
@click.option("--diverse", is_flag=True, help="Choose items that differ from each other.")
@click.option("--explain", is_flag=True, help="Say which concepts make each item close.")
@click.option(
    "--words", type=click.Path(exists=True, path_type=Path),
    help="Vectors file of many words, whose ids are the words: any of them can then be a --concept or be kept out, and "
    "they name what --explain finds.",
)  # fmt: skip
@click.option("--where", help="Only items that pass this filter on their columns, in the engine's own language.")
@engine_options(None, "What ranks the items this time, if not what the collection was made with.")
@json_option
def command(
    collection: Path | str,
    model: Path | None,
    item: str | None,
    given: tuple[str, ...],
    text: str | None,
    encoder: str | None,
    texts: Path | None,
    concept: tuple[str, ...],
    without: tuple[str, ...],
    k: int,
    score: str | None,
    diverse: bool,
    explain: bool,
    words: Path | None,
    where: str | None,
    engine: str | None,
    dsn: str | None,
    options: tuple[str, ...],
    table: Table,
    as_json: bool,
) -> None:
    """Search COLLECTION for the items nearest to one of them, to a vector or to a text, as a whole or by concept.

    \b
    Examples:
      pellucid search photos --item 17
      pellucid search photos -m photos.safetensors --item 17 --concept animal -k 10
      pellucid search photos -m photos.safetensors --item 17 --concept animal=2 --concept place=0.5
      pellucid search photos -m photos.safetensors --item 17 --without person --diverse --explain
      pellucid search photos --item 17 --concept wedding --words words.parquet
      pellucid search photos --item 17 --where '[["year", ">", 1999], ["labels", "has", "animal"]]'
      pellucid search photos --item 17 --engine postgres --dsn postgresql://me@db.example.org/photos
      pellucid search photos --text "a dog on a beach" --encoder clip:openai/clip-vit-base-patch32
      pellucid search notes --text "late again" --encoder mine:embed -m notes.safetensors --concept delivery
      pellucid search postgresql://localhost/shop --table documents --vector embedding --item 17
      echo '[0.1, 0.7, 0.2]' | pellucid search photos --vector - --json
    """
    vector, table = start_and_table(given, table, collection)
    check_start(item, vector, text, encoder)
    wants = [name for name, on in (("--concept", concept), ("--without", without), ("--explain", explain)) if on]
    if wants and model is None and (explain or words is None):
        raise click.UsageError(f"{'--explain' if explain else wants[0]} needs a --model that knows the concepts.")
    if words is not None and not wants:
        raise click.UsageError("--words goes with --concept, --without or --explain.")
    from pellucid.concepts import Vocabulary
    from pellucid.search import ConceptSearch, Text

    embed = made_encoder(encoder, texts)
    fitted = None if model is None else load_model(model)
    if score == "presence" and (fitted is None or not fitted.knows_presence):
        raise click.UsageError("--score presence needs a --model that knows which concepts an item has.")
    opened = opened_collection(collection, table, engine, dsn, options)
    if item is not None:
        opened.position(item)  # says so if there is no such item
    query: Any = Text(text) if text is not None else item if vector is None else read_query(vector)
    vocabulary = None if words is None else Vocabulary(*read_words(words))
    search = ConceptSearch(opened, fitted, embed, vocabulary)
    hits: list[Any] = search.search(
        query, weighted(concept, fitted), k, diverse, without=list(without) or None, score=score, where=where
    )
    why = [hit.explain() for hit in hits] if explain else None
    if as_json:
        print_json([as_dict(hit, None if why is None else why[i]) for i, hit in enumerate(hits)])
    else:
        show(hits, why, [name for name, _ in split_weights(concept, fitted)])


def start_and_table(given: tuple[str, ...], table: Table, place: Path | str) -> tuple[Path | None, Table]:
    """The file with a vector to start from, and the table with the column that --vector may name instead."""
    files = [Path(name) for name in given if name == str(STANDARD) or Path(name).exists()]
    columns = [name for name in given if name != str(STANDARD) and not Path(name).exists()]
    if len(files) > 1 or len(columns) > 1:
        raise click.UsageError("--vector names one file to start from, and of a table one column.")
    if columns and is_collection(place):
        raise click.BadParameter(f"Path {columns[0]!r} does not exist.", param_hint="'--vector'")
    return (files[0] if files else None), (replace(table, vector=columns[0]) if columns else table)


def opened_collection(place: Path | str, table: Table, engine: str | None, dsn: str | None, options: Any) -> Any:
    """What is searched, with the engine and the options that are asked for this time."""
    opened = table.open(place, engine=engine)
    if dsn is None and not options:
        return opened
    return table.open(place, engine=engine, engine_options=chosen(dsn, options, opened.engine_options))


def split_weights(concept: tuple[str, ...], model: Any) -> list[tuple[str, float]]:
    """Names and weights from NAME or NAME=WEIGHT; a name may hold a = of its own."""
    known = set() if model is None else {str(name) for name in model.concept_names_}
    found = []
    for text in concept:
        name, equals, weight = text.rpartition("=")
        if text in known or not equals:
            found.append((text, 1.0))
            continue
        try:
            found.append((name, float(weight)))
        except ValueError as error:
            raise click.UsageError(f"{text!r} is neither a concept nor NAME=WEIGHT with a number.") from error
    return found


def weighted(concept: tuple[str, ...], model: Any) -> Any:
    """What a search takes: names, or names with weights where any has another than 1."""
    pairs = split_weights(concept, model)
    if all(weight == 1 for _, weight in pairs):
        return [name for name, _ in pairs] or None
    return dict(pairs)


def read_query(path: Path) -> NDArray[Any]:
    """One vector from a file, or from JSON on standard input."""
    import numpy as np

    from pellucid import vectors

    if path == STANDARD:
        try:
            rows = np.atleast_2d(np.asarray(json.loads(standard_text()), dtype=np.float64))
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            raise click.UsageError(f"Standard input must be one list of numbers in JSON ({error}).") from error
    else:
        rows = np.asarray(vectors.read(path).vectors)
    if len(rows) != 1:
        raise click.UsageError(f"A search starts from one vector, but there are {len(rows)}.")
    if not np.isfinite(rows).all():
        raise ValueError("The vector to start from has a value that is not finite.")
    return np.asarray(rows[0])


def as_dict(hit: Any, why: Any) -> dict[str, Any]:
    item = {name: plain(value) for name, value in hit.item.items() if not isinstance(value, bytes)}
    found = {"rank": hit.rank, "score": hit.score, "aspects": hit.aspects, "item": item}
    if why is not None:
        found["explanation"] = why.to_dict()
    return found


def show(hits: list[Any], why: list[Any] | None, concept: list[str]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim")
    table.add_column("score", justify="right")
    table.add_column("id", style="bold", no_wrap=True)
    table.add_column("item")
    for i, hit in enumerate(hits):
        text = str(hit.item.get("text") or "")
        labels = hit.item.get("labels") or []
        marked = [f"[green]{escape(str(n))}[/]" if n in concept else escape(str(n)) for n in labels]
        lines = [escape(text)] if text else []
        lines += ["[dim]" + ", ".join(marked) + "[/]"] if marked else []
        lines += [terms(why[i])] if why is not None else []
        table.add_row(str(hit.rank), f"{hit.score:.3f}", escape(hit.id), "\n".join(lines))
    screen().print(table)


def terms(why: Any, most: int = 4) -> str:
    """The largest terms of an explanation on one line."""
    from rich.markup import escape

    order = sorted(range(len(why.names)), key=lambda j: -abs(why.terms[j]))[:most]
    parts = []
    for j in (j for j in order if abs(why.terms[j]) >= 0.005):
        near = f" ({escape(', '.join(why.words[j]))})" if why.words[j] else ""
        parts.append(f"{why.terms[j]:+.2f} {escape(why.names[j])}{near}")
    rest = float(why.terms.sum() - sum(why.terms[j] for j in order))
    other = [f"{rest:+.2f} other concepts"] if abs(rest) >= 0.005 else []
    likely = [f"{why.presence:+.2f} for how likely it has what was asked for"] if why.presence else []
    return f"{why.score:.2f} = " + ", ".join([*parts, *other, f"{why.residual:+.2f} in none", *likely])
