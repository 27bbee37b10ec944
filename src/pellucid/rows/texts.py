"""Texts that are never held as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.rows.blocks import Blocks, current_client
from pellucid.rows.parts import Part


class TextBlocks(Blocks):
    """Texts in blocks: every block is a list of them, and a text is a string or a list of tokens.

    The texts of files and of a ``dask.bag`` are counted first, which is a pass over them.

    Parameters
    ----------
    source : iterable, dask.bag, str or Path
        Texts, a ``dask.bag`` of texts, or the path of a UTF-8 file with a text in each line, or of a folder of such
        files (.txt), each of which is a part.
    rows : int, default=10_000
        Texts in a block; a partition of a ``dask.bag`` is a block.
    client : distributed.Client or None, default=None
        As for :class:`Blocks`.

    Attributes
    ----------
    shape : tuple of int
        The number of texts.

    Raises
    ------
    ValueError
        There are no texts, or a block is to have none.

    Examples
    --------
    >>> from pellucid.rows import TextBlocks
    >>> list(TextBlocks(["one text", "another", "a third"], rows=2))
    [['one text', 'another'], ['a third']]
    """

    def __init__(self, source: Any, *, rows: int = 10_000, client: Any = None) -> None:
        if rows < 1:
            raise ValueError(f"A block needs at least one text, got rows={rows}.")
        self.client, self.dtype = client, np.dtype(object)
        if is_bag(source):
            self.client = client or current_client()
            self.parts = [Part(0, 0, chunk=chunk, then=_bag_blocks) for chunk in source.to_delayed()]
        elif isinstance(source, (str, os.PathLike)):
            self.parts = [Part(0, 0, partial(_line_blocks, str(file), rows)) for file in _files(Path(source))]
        else:
            texts = list(source)
            cut = [(start, texts[start : start + rows]) for start in range(0, len(texts), rows)]
            self.parts = [Part(start, len(some), partial(_list_blocks, some, start)) for start, some in cut]
        if self.parts and not self.parts[0].rows:
            self._count()
        self.shape = (sum(part.rows for part in self.parts),)
        if not self.parts:
            raise ValueError("There are no texts: give at least one.")

    def _count(self) -> None:
        start, counted = 0, []
        for part, rows in zip(self.parts, self.like(self.parts).each(_total)):
            if rows:
                counted.append(Part(start, rows, part.read, part.chunk, part.then))
            start += rows
        self.parts = counted

    shape: tuple[int, ...] = (0,)


def is_bag(X: Any) -> bool:
    """Whether X is a dask.bag; without importing Dask."""
    return type(X).__module__.startswith("dask.bag")


def is_texts(X: Any) -> bool:
    """Whether X is to be gone through block by block."""
    return isinstance(X, TextBlocks) or is_bag(X)


def _files(path: Path) -> list[Path]:
    found = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    if not found or not path.exists():
        raise ValueError(f"There is no text file at {str(path)!r}.")
    return [file.absolute() for file in found]


def _line_blocks(path: str, rows: int) -> Iterator[list[str]]:
    try:
        with open(path, encoding="utf-8") as lines:
            while block := [line.rstrip("\n") for line in islice(lines, rows)]:
                yield block
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason}): convert it first.") from None


def _list_blocks(texts: list[Any], first: int) -> Iterator[list[Any]]:
    yield checked_texts(texts, first)


def _bag_blocks(chunk: Iterable[Any]) -> Iterator[list[Any]]:
    texts = list(chunk)
    return iter([checked_texts(texts, 0, " of its partition")] if texts else [])


def checked_texts(texts: list[Any], first: int = 0, where: str = "") -> list[Any]:
    """The texts, each a string or tokens."""
    for number, text in enumerate(texts, first):
        if isinstance(text, str):
            continue
        if not isinstance(text, Iterable) or not all(isinstance(token, str) for token in text):
            raise ValueError(f"Text {number}{where} must be a string or a list of tokens.")
    return texts


def _total(blocks: Iterator[list[Any]]) -> int:
    return sum(map(len, blocks))
