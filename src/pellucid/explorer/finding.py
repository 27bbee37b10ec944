"""What a path holds that the explorer is given: a collection, a folder with one and models and words beside it, or a
bare file of vectors, of which a collection with concepts is made in the cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid import persistence, vectors
from pellucid._core.checkpoint import fingerprint
from pellucid.explorer.loading import kind_of

MANIFEST = "manifest.json"
MODEL = "concepts.safetensors"
WORDS = "words"
Tell = Callable[[str], None]


@dataclass
class Opened:
    """The folder of a collection, and the files that go with it."""

    collection: Path
    models: list[Path] = field(default_factory=list)
    words: Path | None = None


def find(path: str | os.PathLike[str], tell: Tell = lambda said: None) -> Opened:
    """What there is to look at; ``tell`` hears what is being done."""
    given = Path(path)
    if given.is_dir() and not (given / MANIFEST).is_file():
        inside = sorted(folder.parent for folder in given.glob(f"*/{MANIFEST}"))
        if len(inside) > 1:
            raise ValueError(f"{given} holds several collections: name {' or '.join(str(one) for one in inside)}.")
        if inside:
            return Opened(inside[0], _models(given), _words(given))
        if any(given.glob("*.parquet")):
            return from_vectors(given, tell)
    return from_vectors(given, tell) if given.is_file() else Opened(given)


def _models(folder: Path) -> list[Path]:
    """The model of each kind in that folder."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.glob("*.safetensors")):
        try:
            kind = kind_of(persistence.load(file))
        except ValueError:  # some other file of arrays
            continue
        if kind is not None:
            found.setdefault(kind, []).append(file)
    for kind, files in found.items():
        if len(files) > 1:
            names = ", ".join(file.name for file in files)
            raise ValueError(f"{folder} holds several models of {kind} ({names}): choose with --model.")
    return [files[0] for files in found.values()]


def _words(folder: Path) -> Path | None:
    return next((file for file in sorted(folder.glob(f"{WORDS}.*")) if file.suffix in (".parquet", ".npz")), None)


def read_words(file: str | Path) -> tuple[list[str], Any]:
    """Words and their vectors: the ids of a vectors file, or its only column of text."""
    found = vectors.read(file)
    texts = [column for column in found.columns.values() if _is_text(column)]
    words = found.ids or ([str(text) for text in texts[0].tolist()] if len(texts) == 1 else None)
    if words is None:
        raise ValueError(f"{file} needs ids, or one column of text beside the vectors: the words.")
    return words, found.vectors


def _is_text(values: Any) -> bool:
    kind = str(getattr(values, "type", None) or values.dtype)
    return "string" in kind or kind.startswith(("<U", "|S", "object"))


# a bare file


def cache_folder() -> Path:
    """Where what can be made again is kept: PELLUCID_CACHE, or where the system keeps such things."""
    if own := os.environ.get("PELLUCID_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "pellucid" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pellucid"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pellucid"


def from_vectors(file: Path, tell: Tell = lambda said: None) -> Opened:
    """A collection of a file of vectors and the concepts that are found in it, made once and kept in the cache."""
    from pellucid._core.checks import first_not_finite
    from pellucid.concepts import ConceptDiscovery
    from pellucid.search import Collection

    parts = sorted(file.glob("*.parquet")) if file.is_dir() else [file]
    known = [(str(part.resolve()), part.stat().st_size, part.stat().st_mtime_ns) for part in parts]
    folder = cache_folder() / f"{file.stem or 'vectors'}-{fingerprint(known)[:12]}"
    collection, model = folder / file.stem, folder / MODEL
    if not (collection / MANIFEST).is_file():
        tell(f"Reading {file.name} …")

        def checked() -> Any:
            rows = 0
            for block in vectors.blocks(file):
                row = first_not_finite(block.vectors)
                if row is not None:
                    raise ValueError(
                        f"{file} has a value that is not finite in row {rows + row} (counting from 0): fix or drop "
                        "the row."
                    )
                rows += len(block.vectors)
                yield block
            if not rows:
                raise ValueError(f"{file} has no rows.")

        folder.mkdir(parents=True, exist_ok=True)
        Collection.from_blocks(collection, checked())
    opened = Collection.open(collection)
    if not model.is_file() and len(opened) >= FEWEST:
        tell(f"Finding concepts in {len(opened):,} vectors …".replace(",", " "))
        said = texts_of(opened)
        found = ConceptDiscovery(verbose=1).fit(opened.vectors(), texts=said)
        marked = [str(name) for name, mark in zip(found.concept_names_, found.marks()) if mark]
        if len(marked) < len(found.concept_names_):
            found.drop(marked)  # what came twice, or would not come again, is nothing to look at
        found.set_params(verbose=0)
        persistence.save(found, model)
    return Opened(collection, [model] if model.is_file() else [])


FEWEST = 8  # vectors in which concepts are looked for


def texts_of(collection: Any) -> list[str] | None:
    """What the items say: their column of texts; without one, their labels."""
    from pellucid.explorer.items import Items

    items = Items(collection)
    names = [items.text_column] if items.text_column is not None else []
    names = names or [column.name for column in items.columns if column.kind in ("label", "labels")]
    if not names:
        return None
    columns = [items.table.column(name).to_pylist() for name in names]
    return [
        " ".join(" ".join(map(str, cell)) if isinstance(cell, list) else str(cell) for cell in row if cell is not None)
        for row in zip(*columns)
    ]
