"""`pellucid info`: what is in a file or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import json_option, print_json, screen


@click.command("info")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
def command(path: Path, as_json: bool) -> None:
    """Say what is in PATH: a model, a collection or a file of vectors.

    \b
    Examples:
      pellucid info photos.safetensors
      pellucid info photos --json
      pellucid info photos.parquet
    """
    found = describe(path)
    if as_json:
        print_json(found)
    else:
        show(found)


def describe(path: Path) -> dict[str, Any]:
    if path.is_dir() and (path / "manifest.json").is_file():
        return collection(path)
    if path.suffix == ".safetensors" and is_model(path):
        return model(path)
    return vectors_file(path)


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
    return {
        "kind": "collection",
        "path": str(path),
        "items": len(opened),
        "dimensions": opened.dimension,
        "engine": opened.engine_name,
        "columns": list(first),
        "preparation": None if before is None else type(before).__name__,
    }


def vectors_file(path: Path) -> dict[str, Any]:
    """Size and columns of a vectors file, without reading more of it than one block where it is a table."""
    from pellucid import vectors

    rows, first = 0, None
    for block in vectors.blocks(path):
        rows += len(block.vectors)
        first = first or block
    if first is None:
        return {"kind": "vectors", "path": str(path), "rows": 0}
    return {
        "kind": "vectors",
        "path": str(path),
        "rows": rows,
        "dimensions": first.vectors.shape[1],
        "type": str(first.vectors.dtype),
        "array": first.name,
        "ids": first.ids is not None,
        "columns": {name: str(getattr(v, "type", None) or v.dtype) for name, v in first.columns.items()},
    }


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    for name, value in found.items():
        if isinstance(value, dict):
            said = ", ".join(f"{key} {inside}" for key, inside in value.items()) or "none"
        elif isinstance(value, list):
            said = ", ".join(map(str, value)) or "none"
        elif value is None or isinstance(value, bool):
            said = "yes" if value else "no" if value is False else "none"
        else:
            said = str(value)
        table.add_row(name, f"[bold]{escape(said)}[/]" if name in ("kind", "class") else escape(said))
    screen().print(table)
