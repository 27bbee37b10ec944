"""`pellucid info`: what is in a file or a folder."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._attached import Place, Table, rows_at, table_options
from pellucid.cli._common import Columns, column_option, counted, json_option, print_json, rounded, screen, some, status

if TYPE_CHECKING:
    from pellucid.vectors import Summary

# labels of a column that are shown, the most frequent; --json has all
SHOWN = 8


@click.command("info")
@click.argument("path", type=Place())
@table_options(columns=False)
@click.option(
    "--verify", is_flag=True,
    help="Compare every array of a model or a collection with its checksum, and say that all are as they were written.",
)  # fmt: skip
@click.option(
    "--card", is_flag=True, help="Print the card of a model: Markdown that says what it is and what it is not."
)
@column_option
@json_option
def command(path: Path | str, verify: bool, card: bool, column: Columns, table: Table, as_json: bool) -> None:
    """Say what is in PATH: a model, a collection, a file of vectors, or a table at an address.

    Of a collection and of a file of vectors it also says how long the vectors are, how many are equal to an earlier
    one, and how often each label occurs.

    \b
    Examples:
      pellucid info photos.safetensors
      pellucid info photos --json
      pellucid info photos.parquet
      pellucid info photos --verify
      pellucid info postgresql://localhost/shop --table documents --vector embedding
      pellucid info photos.safetensors --card > README.md
    """
    if card:
        print_card(path, as_json)
        return
    if isinstance(path, Path) and not table.given:
        found = describe(path, column)
    else:
        with rows_at(path, table, column) as attached:
            found = attached_table(attached)
    if verify:
        found["verified"] = verified(Path(path), found["kind"])
    if as_json:
        print_json(found)
    else:
        show(found)


def print_card(path: Path | str, as_json: bool) -> None:
    from pellucid import persistence

    if isinstance(path, str) or path.is_dir() or path.suffix != ".safetensors" or not is_model(path):
        raise click.UsageError(f"--card is for models, and {path} is none.")
    told = persistence.read_card(path)
    if as_json:
        print_json({"path": str(path), "card": told})
    else:
        click.echo(told, nl=False)


def describe(path: Path, column: Columns) -> dict[str, Any]:
    other = None
    if path.is_dir() and (path / "manifest.json").is_file():
        other = collection
    elif path.suffix == ".safetensors" and is_model(path):
        other = model
    if other is None:
        return vectors_file(path, column)
    if column.given:
        raise click.UsageError("--column, --columns and --exclude are for files of vectors.")
    return other(path)


def verified(path: Path, kind: str) -> str:
    """What was compared; whatever differs is an error."""
    if kind == "model":  # which was compared when it was loaded
        from pellucid.persistence import has_checksums

        return "all arrays have their checksums" if has_checksums(path) else "an earlier version wrote no checksums"
    if kind != "collection":
        raise click.UsageError("--verify is for models and collections: files of vectors have no checksums.")
    from pellucid.search import Collection

    with status(f"Reading {path.name} …"):
        size = Collection.open(path).verify()
    return f"all {rounded(size / 1e6)} MB of vectors have their checksums"


def is_model(path: Path) -> bool:
    from safetensors import SafetensorError, safe_open

    from pellucid.persistence import KEY

    try:
        with safe_open(path, framework="numpy") as file:
            return KEY in (file.metadata() or {})
    except SafetensorError:
        return False


def model(path: Path) -> dict[str, Any]:
    import numpy as np

    from pellucid import persistence

    fitted = persistence.load(path)
    if hasattr(fitted, "steps"):
        steps = {name: step if isinstance(step, str) else type(step).__name__ for name, step in fitted.steps}
        return {"kind": "model", "path": str(path), "class": type(fitted).__name__, "steps": steps}
    before = getattr(fitted, "preparation_", None)
    found: dict[str, Any] = {
        "kind": "model",
        "path": str(path),
        "class": type(fitted).__name__,
        "parameters": fitted.get_params(),
        "dimensions": getattr(fitted, "n_features_in_", None),  # words and images have none
        "preparation": None if before is None else {"class": type(before).__name__, **before.get_params()},
        "arrays": {
            name: list(np.shape(getattr(fitted, name))) for name in fitted._fitted_arrays if hasattr(fitted, name)
        },
    }
    if hasattr(fitted, "groups_") and hasattr(fitted, "concept_names_"):
        sizes = np.bincount(fitted.groups_, minlength=len(fitted.concept_names_)).tolist()
        found["concepts"] = dict(zip(map(str, fitted.concept_names_), sizes))
        found["presence"] = fitted.knows_presence
    elif hasattr(fitted, "cross_covariance_"):
        found["erased"] = [str(name) for name in fitted.concept_names_]
    found |= fitted_values(fitted)
    return found


def fitted_values(fitted: Any) -> dict[str, Any]:
    """Plain numbers that a fit left, such as its error or its number of sweeps."""
    import numpy as np

    values: dict[str, Any] = {}
    for name in fitted._fitted_values:
        value = getattr(fitted, name, None)
        if name != "n_features_in_" and isinstance(value, (bool, int, float, str)):
            values[name.rstrip("_")] = value
    objective = getattr(fitted, "objective_", None)
    if objective is not None and np.size(objective):
        values["objective"] = float(np.asarray(objective)[-1])
    return values


def collection(path: Path) -> dict[str, Any]:
    from pellucid.search import Collection

    opened = Collection.open(path)
    before = opened.preparation
    first = opened.item(opened.position(opened.ids[0])) if len(opened) else {}
    with status(f"Reading {path.name} …"):
        about = opened.summary()
    return {
        "kind": "collection",
        "path": str(path),
        "items": len(opened),
        "dimensions": opened.dimension,
        "engine": opened.engine_name,
        "columns": list(first),
        "preparation": None if before is None else type(before).__name__,
        **summarised(about),
    }


def attached_table(table: Any) -> dict[str, Any]:
    """What a table that is read where it is looks like, all rows of it."""
    from pellucid import vectors
    from pellucid.cli.streaming import attached_blocks

    about = vectors.summary(attached_blocks(table, "Reading"))
    return {
        "kind": "attached table",
        "table": table.name,
        "place": table.place,
        "items": about.rows,
        "left_out": table.source.missing(),
        "dimensions": table.dimension,
        "engine": table.engine_name,
        "index": table.source.index,
        "compares": table.source.metric,
        "columns": ["id", *table.source.columns],
        **summarised(about),
    }


def vectors_file(path: Path, column: Columns) -> dict[str, Any]:
    """What a vectors file is like, of which no more than one block is held where it is a table."""
    from pellucid import vectors

    blocks = vectors.blocks(path, **column.asked)
    first = next(blocks, None)
    if first is None:
        return {"kind": "vectors", "path": str(path), "rows": 0}
    with status(f"Reading {path.name} …"):
        about = vectors.summary(chain([first], blocks))
    return {
        "kind": "vectors",
        "path": str(path),
        "rows": about.rows,
        "dimensions": about.dimensions,
        "type": str(first.vectors.dtype),
        "array": first.name,
        "taken": list(first.taken),
        "set_aside": first.set_aside,
        "ids": first.ids is not None,
        "columns": {name: str(getattr(v, "type", None) or v.dtype) for name, v in first.columns.items()},
        **summarised(about),
    }


def summarised(about: Summary) -> dict[str, Any]:
    """A summary in plain values; no lengths where no vector has one."""
    some = about.rows > about.not_finite
    lengths = {"shortest": about.shortest, "longest": about.longest, "mean": about.mean_length}
    return {
        "lengths": lengths if some else None,
        "zeros": about.zeros,
        "not_finite": about.not_finite,
        "duplicates": about.duplicates,
        "labels": {name: {"different": len(counts), "counts": counts} for name, counts in about.labels.items()},
        "uncounted": list(about.uncounted),
    }


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    for name, text in lines(found):
        table.add_row(escape(name), f"[bold]{escape(text)}[/]" if name in ("kind", "class") else escape(text))
    screen().print(table)


def lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What is said of each entry, in words."""
    said = []
    for name, value in found.items():
        if name == "labels":
            said += [(label_line(column), label_counts(**inside)) for column, inside in value.items()]
        elif name == "lengths" and value is not None:
            said.append((name, length_range(**value)))
        elif name == "taken" and value:
            said.append((name, some(value)))
        elif name not in ("taken", "set_aside", "not_finite", "uncounted") or value:  # which few have
            said.append((name, in_words(value)))
    return said


def label_line(column: str) -> str:
    return "labels" if column == "labels" else f"labels in {column}"


def label_counts(different: int, counts: dict[str, int]) -> str:
    shown = list(counts.items())[:SHOWN]
    rest = [f"and {counted(different - len(shown))} more"] if different > len(shown) else []
    names = ", ".join([*(f"{name} ({counted(rows)})" for name, rows in shown), *rest])
    return f"{counted(different)}: {names}" if names else "none"


def length_range(shortest: float, longest: float, mean: float) -> str:
    low, high = rounded(shortest), rounded(longest)
    return f"all {low}" if low == high else f"{low} to {high}, {rounded(mean)} on average"


def in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {in_words(inside)}" for key, inside in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return "yes" if value else "no" if value is False else "none"
    if isinstance(value, int):
        return counted(value)
    return rounded(value) if isinstance(value, float) else str(value)
