"""Which models the explorer was started with: concepts, binary concepts, clusters; at most one of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid import persistence
from pellucid.binary.base import BinaryModel
from pellucid.clusters import CommonalityClustering
from pellucid.concepts import ConceptSubspaces

KINDS: dict[str, type] = {"concepts": ConceptSubspaces, "binary": BinaryModel, "clusters": CommonalityClustering}


@dataclass
class Models:
    """The model of each kind, and the file that it came from."""

    concepts: ConceptSubspaces | None = None
    binary: Any = None
    clusters: Any = None
    files: dict[str, Path] = field(default_factory=dict)


def kind_of(model: Any) -> str | None:
    """Which kind of model that is, if it is one that is shown."""
    return next((name for name, cls in KINDS.items() if isinstance(model, cls)), None)


def open_models(given: Any) -> Models:
    """Models by their kind, from one or several models or files of them."""
    found = Models()
    many: Sequence[Any] = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
    for model in many:
        file = Path(model) if isinstance(model, (str, Path)) else None
        fitted = model if file is None else persistence.load(file)
        kind = kind_of(fitted)
        if kind is None:
            raise ValueError(
                f"The explorer shows concept subspaces, binary concepts and clusters, but the model is a "
                f"{type(fitted).__name__}."
            )
        if getattr(found, kind) is not None:
            raise ValueError(f"There are two models of {kind}: give one.")
        setattr(found, kind, fitted)
        if file is not None:
            found.files[kind] = file
    return found


def check_dimension(models: Models, dimension: int) -> None:
    for kind in KINDS:
        fitted = getattr(models, kind)
        if fitted is None:
            continue
        if fitted.n_features_in_ != dimension:
            raise ValueError(
                f"The model of {kind} was fitted on {fitted.n_features_in_} dimensions, but the collection has "
                f"{dimension}."
            )
        if getattr(fitted, "kernel", "linear") == "precomputed":
            raise ValueError("A model that was fitted to a precomputed kernel cannot be shown on vectors.")
