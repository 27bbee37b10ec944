"""What a manifold transform can be fitted to: vectors, images (a folder or an array) or texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from pellucid.cli._common import STANDARD, Columns, check_finite, readable, standard_text

KINDS = ("vectors", "images", "text")
TEXTS = (".txt", ".md")

kind_option = click.option(
    "--kind", type=click.Choice(["auto", *KINDS]), default="auto", show_default=True,
    help="What the input is; auto looks: a folder of pictures or an array of three or four dimensions is images, a "
    ".txt file is text, a text a line; all else is vectors.",
)  # fmt: skip
source_argument = click.argument("source", type=click.Path(exists=True, allow_dash=True, path_type=Path))


class Source(NamedTuple):
    """Rows to fit or to embed: what they are, the data, and their ids if they have any."""

    kind: str
    data: Any
    ids: list[str] | None


@contextmanager
def read_source(path: Path, kind: str, column: Columns | None = None) -> Iterator[Source]:
    """Open it; images of a folder or of an array on disk are read as they are needed."""
    if kind == "text" or (kind == "auto" and path.suffix.lower() in TEXTS):
        yield read_text(path)
        return
    if path.is_dir() and (kind == "images" or (kind == "auto" and holds_pictures(path))):
        from pellucid.manifold.patches import Images

        yield Source("images", path, [file.name for file in Images(path, grey=False).files])
        return
    with readable(path) as source:
        if source.suffix == ".npy" and kind in ("auto", "images"):
            import numpy as np

            array = np.load(source, mmap_mode="r", allow_pickle=False)
            if array.ndim in (3, 4):
                yield Source("images", array, None)
                return
        if kind == "images":
            raise click.UsageError("Images are a folder of pictures, or a .npy file (n, height, width[, channels]).")
        from pellucid import vectors

        asked = column or Columns()
        found = vectors.read(source, **asked.asked)
        asked.say(source, found)
        check_finite(found.vectors, path, 0)
        yield Source("vectors", found.vectors, found.ids)


def read_text(path: Path) -> Source:
    """A text a line; lines without any word are left out."""
    given = standard_text() if path == STANDARD else path.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in given.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{'Standard input' if path == STANDARD else path} holds no text.")
    return Source("text", lines, None)


def holds_pictures(folder: Path) -> bool:
    from pellucid.manifold.patches import SUFFIXES

    return any(file.suffix.lower() in SUFFIXES for file in folder.iterdir())
