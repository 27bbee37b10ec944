"""How the vectors of a collection were prepared, and how a model meets them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pellucid.search import Collection, ConceptSearch

FILE = "preprocessing.safetensors"  # in the folder of a collection whose vectors were prepared


def mark(folder: Path, before: Any) -> None:
    """Write down what the vectors in this collection went through."""
    from pellucid import persistence

    persistence.save(before, folder / FILE)


def preparation(folder: Path) -> Any:
    """What the vectors in this collection went through, or None if they are as they came."""
    from pellucid import persistence

    return persistence.load(folder / FILE) if (folder / FILE).is_file() else None


class Unprepared:
    """A collection of vectors as they came, seen by a model that was fitted on prepared ones.

    Items are prepared when they are looked at; the ranking goes by the vectors as they are. Centring adds the same
    number to the score of every item, so that only the lengths after it make a difference.
    """

    def __init__(self, collection: Collection, before: Any) -> None:
        self.collection, self.before = collection, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.collection, name)

    def __contains__(self, item: object) -> bool:
        return item in self.collection

    def vectors(self, positions: Any = None) -> NDArray[Any]:
        prepared: NDArray[Any] = self.before.transform(self.collection.vectors(positions))
        return prepared


def same_preparation(folder: Path, model: Any) -> bool:
    """Whether the collection holds vectors as the model needs them; refused if it was prepared for another one."""
    import numpy as np

    before, kept = getattr(model, "preprocessing_", None), preparation(folder)
    if before is not None and not before.center:  # plain normalisation can be done at any time, and again
        return True
    if kept is not None and before is not None and not np.array_equal(before.mean_, kept.mean_):
        raise click.UsageError(f"{folder} was prepared for another model: index its vectors again with --model.")
    return before is None or kept is not None


def concept_search(collection: Collection, model: Any) -> ConceptSearch:
    """A search of the collection by the concepts of the model, whichever way its vectors are kept."""
    from pellucid.search import ConceptSearch

    if same_preparation(collection.folder, model):
        return ConceptSearch(collection, model)
    unprepared: Any = Unprepared(collection, model.preprocessing_)
    return ConceptSearch(unprepared, model)
