"""`pellucid compare`: which concepts are more frequent in one set than in another, over time, or with a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import (
    Columns,
    column_option,
    cut,
    json_option,
    load_model,
    model_option,
    print_json,
    read_words,
    screen,
    status,
)
from pellucid.cli._outputs import OutputFile, Writing
from pellucid.cli.inputs import is_collection, read_items, titles_of

# concepts that are shown of those that were found
SHOWN = 30
# characters of an example
WIDTH = 76


@click.command("compare", cls=Writing)
@click.argument("a", type=click.Path(exists=True, path_type=Path))
@click.argument("b", type=click.Path(exists=True, path_type=Path), required=False)
@model_option(text="Model file that `discover` or `concepts fit` wrote.")
@click.option("--split", metavar="COLUMN=VALUE", help="Make both sets of A: items whose column is VALUE, "
              "or has it in a list, and all others.")  # fmt: skip
@click.option("--set-a", metavar="SET", help="Compare items of the collection A: label:NAME, cluster:NUMBER (with "
              "--clusters), ids:FILE, a line each, or a filter as `search --where` takes it.")  # fmt: skip
@click.option("--set-b", metavar="SET", help="With those of another set of it; all others if not given.")
@click.option("--clusters", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Model file of clusters, for cluster:NUMBER.")  # fmt: skip
@click.option("--dates", metavar="COLUMN", help="Over time, by the dates or numbers in that column of A.")
@click.option("--target", metavar="COLUMN", help="Which concepts predict that column of A, a number or a class.")
@click.option("--of", metavar="CLASS", help="The class of --target; each if not given, of two the last.")
@click.option("--given", metavar="COLUMN", help="Compare within levels of that column, which both sets have.")
@click.option("--groups", metavar="COLUMN", help="What items belong together in: groups count, not items.")
@click.option("--words", type=click.Path(exists=True, path_type=Path), help="A vectors file of words, which say "
              "what moved beside the concepts.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
              help="Share of findings that may be false.")  # fmt: skip
@click.option("--plot", type=OutputFile(".png", ".svg", ".pdf"), help="Draw it to this file, .png, .svg or .pdf.")
@column_option
@json_option
def command(
    a: Path,
    b: Path | None,
    model: Path,
    split: str | None,
    set_a: str | None,
    set_b: str | None,
    clusters: Path | None,
    dates: str | None,
    target: str | None,
    of: str | None,
    given: str | None,
    groups: str | None,
    words: Path | None,
    rate: float,
    plot: Path | None,
    column: Columns,
    as_json: bool,
) -> None:
    """Say which concepts are more frequent in A than in B, by how much, and what else moved between them.

    A and B are files of vectors with columns beside them, or collections. Instead of B, --split makes both sets of A,
    --set-a and --set-b choose them in a collection, --dates looks at A over time, --target asks which concepts predict
    a column.

    \b
    Examples:
      pellucid compare march.parquet february.parquet -m topics.safetensors
      pellucid compare reviews.parquet --split country=FR -m topics.safetensors --given product
      pellucid compare photos --set-a label:night --set-b '[["year", ">", 2019]]' -m concepts.safetensors
      pellucid compare articles.parquet --dates published -m topics.safetensors --plot months.png
      pellucid compare reviews.parquet --target stars -m topics.safetensors --json
    """
    if sum(way is not None for way in (b, split, set_a, dates, target)) != 1:
        raise click.UsageError("Give a second set B, or one of --split, --set-a, --dates and --target.")
    if set_a is None and (set_b is not None or clusters is not None):
        raise click.UsageError("--set-b and --clusters go with --set-a.")
    from pellucid.concepts import Vocabulary, compare

    fitted = load_model(model)
    vocabulary = Vocabulary(*read_words(words)) if words is not None else None
    if set_a is not None:
        in_collection(a, set_a, set_b, fitted, clusters, given, groups, vocabulary, rate, plot, as_json)
        return
    sets = [read(path, column, [c for c in (given, groups, dates, target) if c]) for path in (a, b) if path is not None]
    if split is not None:
        sets = divided(a, column, split, [c for c in (given, groups) if c])
    more: dict[str, Any] = {}
    if len(sets) == 2:
        more["B"] = sets[1][0]
        more |= {name: tuple(columns[asked] for _, columns, _ in sets) for name, asked in
                 (("given", given), ("groups", groups)) if asked}  # fmt: skip
    else:
        more |= {name: sets[0][1][asked] for name, asked in (("dates", dates), ("target", target)) if asked} | {
            "of": of
        }
    with status("Comparing …"):
        found = compare(sets[0][0], model=fitted, vocabulary=vocabulary, rate=rate, **more)
    if plot is not None:
        first = found[0] if isinstance(found, list) else found
        first.plot().figure.savefig(plot)
    if as_json:
        print_json([plain(each) for each in found] if isinstance(found, list) else plain(found))
        return
    for each in found if isinstance(found, list) else [found]:
        show(each, [titles for *_, titles in sets])


def in_collection(
    path: Path, set_a: str, set_b: str | None, model: Any, clusters: Path | None, given: str | None, groups: str | None,
    vocabulary: Any, rate: float, plot: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare two sets of a collection, and show it."""
    if not is_collection(path):
        raise click.UsageError(f"--set-a chooses items of a collection, which {path} is not: make one by `index`.")
    from pellucid.search import Collection, compare_sets

    collection = Collection.open(path)
    of_clusters = None
    if clusters is not None:
        from pellucid import CommonalityClustering, persistence

        of_clusters = persistence.load(clusters)
        if not isinstance(of_clusters, CommonalityClustering):
            raise click.UsageError(f"{clusters} holds a {type(of_clusters).__name__}, where clusters are needed.")
    with status("Comparing …"):
        compared = compare_sets(
            collection, asked_set(set_a), "rest" if set_b is None else asked_set(set_b), model=model,
            clusters=of_clusters, given=given, groups=groups, vocabulary=vocabulary, rate=rate,
        )  # fmt: skip
    if plot is not None:
        compared.found.plot().figure.savefig(plot)
    if as_json:
        found = plain(compared.found)
        found["examples_a"], found["examples_b"] = (
            list(each) for each in zip(*(compared.examples(name) for name in compared.found.concepts))
        )
        found["else_a"], found["else_b"] = compared.something_else()
        print_json(found)
        return
    shown = [
        {row: titled(collection, ids[row]) for rows in (*examples, rest) for row in rows}
        for ids, examples, rest in (
            (compared.ids_a, compared.found.examples_a, compared.found.else_a),
            (compared.ids_b, compared.found.examples_b, compared.found.else_b),
        )
    ]
    show(compared.found, shown)


def titled(collection: Any, name: str) -> str:
    return str(collection.item(collection.position(name)).get("text") or name)


def asked_set(said: str) -> Any:
    """What `compare_sets` takes, of label:…, cluster:…, ids:… or a filter."""
    kind, sign, rest = said.partition(":")
    if sign and kind in ("label", "cluster"):
        return {kind: rest}
    if sign and kind == "ids":
        if not Path(rest).is_file():
            raise click.UsageError(f"There is no file {rest!r} of ids.")
        return [line for line in Path(rest).read_text(encoding="utf-8").splitlines() if line]
    if not said.lstrip().startswith("["):
        raise click.UsageError(f"{said!r} is no set: give label:NAME, cluster:NUMBER, ids:FILE or a filter.")
    return said


Set = tuple[Any, dict[str, Any], list[str]]


def read(path: Path, column: Columns, wanted: list[str]) -> Set:
    """Vectors, the wanted columns, and what to show of each item."""
    found = read_items(path, column)
    columns = dict(found.columns)
    if is_collection(path):
        from pellucid.search import Collection

        opened = Collection.open(path)
        items = [opened.item(opened.position(i)) for i in opened.ids]
        columns |= {name: [item.get(name) for item in items] for name in wanted if any(name in item for item in items)}
    missing = [name for name in wanted if name not in columns]
    if missing:
        there = ", ".join(map(repr, columns)) or "none"
        raise click.UsageError(f"{path} has no column {missing[0]!r}; columns are: {there}.")
    return found.vectors, {name: values(columns[name]) for name in wanted}, titles_of(found)


def divided(path: Path, column: Columns, split: str, wanted: list[str]) -> list[Set]:
    """Both sets of one file, by a column's value."""
    import numpy as np

    name, sign, value = split.partition("=")
    if not sign:
        raise click.UsageError(f"--split {split!r} should be COLUMN=VALUE.")
    vectors, columns, titles = read(path, column, [*wanted, name])
    inside = np.array([value in map(str, each) if isinstance(each, (list, tuple, np.ndarray)) else str(each) == value
                       for each in columns[name]])  # fmt: skip
    if inside.all() or not inside.any():
        raise ValueError(f"{'Every' if inside.all() else 'No'} item of {path} has {name}={value}: name another value.")
    return [
        (vectors[rows], {c: np.asarray(columns[c])[rows] for c in wanted}, [titles[i] for i in np.flatnonzero(rows)])
        for rows in (inside, ~inside)
    ]


def values(given: Any) -> Any:
    """A column as an array; of Arrow, dates stay dates."""
    import numpy as np

    if hasattr(given, "to_pylist"):
        try:
            return np.asarray(given.to_numpy(zero_copy_only=False))
        except TypeError:
            return np.asarray(given.to_numpy())
    return given if isinstance(given, list) and given and isinstance(given[0], (list, tuple)) else np.asarray(given)


def plain(found: Any) -> dict[str, Any]:
    """What was found in plain values."""
    from dataclasses import asdict

    import numpy as np

    def simple(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return [simple(each) for each in value.tolist()] if value.dtype.kind != "M" else [str(v) for v in value]
        if isinstance(value, (list, tuple)):
            return [simple(each) for each in value]
        if isinstance(value, (np.generic, float)):
            value = value.item() if isinstance(value, np.generic) and value.dtype.kind != "M" else value
            return None if isinstance(value, float) and not math.isfinite(value) else value
        return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

    return {name: simple(value) for name, value in asdict(found).items()}


def show(found: Any, titles: Sequence[Any]) -> None:
    from rich.markup import escape

    out = screen()
    lines = str(found).splitlines()
    out.print(f"[bold]{escape(lines[0])}[/]", soft_wrap=True)
    for line in lines[1 : SHOWN + 1]:
        out.print(escape(line), soft_wrap=True)
    if len(lines) > SHOWN + 1:
        out.print(f"… and {len(lines) - SHOWN - 1} more lines, which --json holds.")
    if len(titles) < 2:
        return
    for j, (name, sure) in enumerate(zip(found.concepts, found.found)):
        if sure and j < 5:
            side, rows = (0, found.examples_a[j]) if found.difference[j] > 0 else (1, found.examples_b[j])
            out.print(f"\n[bold]{escape(name)}[/] in {'AB'[side]}:")
            for row in rows[:3]:
                out.print(f"  {escape(cut(titles[side][row], WIDTH))}")
    if not math.isfinite(found.explained):
        return
    for side, rows in enumerate((found.else_a, found.else_b)):
        out.print(f"\nSomething else, most of it in {'AB'[side]}:")
        for row in rows[:3]:
            out.print(f"  {escape(cut(titles[side][row], WIDTH))}")
