"""Items that a method takes as a whole: a file of vectors, or a collection that was made before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid._core.hints import did_you_mean
from pellucid.cli._attached import is_collection
from pellucid.cli._common import Columns, check_finite, readable

if TYPE_CHECKING:
    from pellucid.vectors import VectorFile

items_argument = click.argument("vectors", type=click.Path(exists=True, allow_dash=True, path_type=Path))
normalise_option = click.option(
    "--normalise", is_flag=True,
    help="Normalise, centre and normalise the vectors, as `concepts fit` does; the model file keeps the mean.",
)  # fmt: skip


def read_items(path: Path, column: Columns | None = None) -> VectorFile:
    """Vectors with ids and columns, all finite, from a vectors file, standard input or a collection."""
    from pellucid import vectors
    from pellucid.vectors import VectorFile

    if is_collection(path):
        from pellucid.search import Collection

        opened = Collection.open(path)
        positions = [opened.position(i) for i in opened.ids]
        texts = [opened.item(p).get("text") for p in positions]
        columns: dict[str, Any] = {"text": texts} if any(texts) else {}
        found = VectorFile(opened.vectors(positions), "vectors", list(opened.ids), columns)
    else:
        with readable(path) as source:
            asked = column or Columns()
            found = vectors.read(source, **asked.asked)
            asked.say(source, found)
            check_finite(found.vectors, path, 0)
    if not len(found.vectors):
        raise ValueError(f"{path} has no rows.")
    return found


def names_of(found: VectorFile) -> list[str]:
    """What to call the items: their ids, their only column of text, or their numbers."""
    if found.ids is not None:
        return found.ids
    from pellucid.cli._common import only_text

    texts = only_text(found)
    return texts if texts is not None else [str(i) for i in range(len(found.vectors))]


def titles_of(found: VectorFile) -> list[str]:
    """What to show of the items: the column of texts if there is one, or else their names."""
    texts = found.columns.get("text")
    return names_of(found) if texts is None else [str(getattr(text, "as_py", lambda t=text: t)()) for text in texts]


def read_names(path: Path) -> list[str]:
    """A name per item: the lines of a .txt file, or what a vectors file or a collection calls its items."""
    if path.suffix == ".txt":
        return path.read_text(encoding="utf-8").splitlines()
    return names_of(read_items(path))


def chosen_rows(wanted: tuple[str, ...], names: list[str]) -> list[int]:
    """The positions of items by their names."""
    place = {name: row for row, name in reversed(list(enumerate(names)))}
    for name in wanted:
        if name not in place:
            raise click.UsageError(f"There is no item {name!r}: {did_you_mean(name, place)}")
    return [place[name] for name in dict.fromkeys(wanted)]
