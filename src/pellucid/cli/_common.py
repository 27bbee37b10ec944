"""What commands share: options, screens, files that may be standard input, and models with their preparation."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid._core.atomic import sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from pellucid.vectors import VectorFile

STANDARD = Path("-")  # standard input or output
# how files begin that may come by standard input; anything else is taken for a table of text
BEGINNINGS = {b"\x93NUMPY": ".npy", b"PK": ".npz", b"PAR1": ".parquet"}

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
vectors_argument = click.argument("vectors", type=click.Path(exists=True, allow_dash=True, path_type=Path))


@dataclass
class Columns:
    """What of a file is to be taken as the vectors."""

    column: str | None = None
    columns: list[str] | None = None
    exclude: tuple[str, ...] = ()
    said: bool = False

    @property
    def given(self) -> bool:
        return self.asked != Columns().asked

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of `vectors.read`."""
        return {"column": self.column, "columns": self.columns, "exclude": self.exclude}

    def say(self, path: Path, found: VectorFile) -> None:
        """Say on stderr which columns of a table were taken, once."""
        if found.taken and not self.said:
            number = f"{counted(len(found.taken))} column{'' if len(found.taken) == 1 else 's'}"
            click.echo(f"Took {number} of {path.name} as the vectors: {some(found.taken)}.", err=True)
        self.said = True


def column_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--column, --columns and --exclude, which come as one argument ``column``."""

    @wraps(command)
    def with_columns(*given: Any, columns: tuple[str, ...], exclude: tuple[str, ...], **others: Any) -> Any:
        others["column"] = Columns(others["column"], _names(columns) or None, tuple(_names(exclude)))
        return command(*given, **others)

    for option in (
        click.option("--exclude", multiple=True, metavar="NAMES", help="Columns of a table that are no part of the "
                     "vectors (of one at an address: of its items), separated by commas."),
        click.option("--columns", multiple=True, metavar="NAMES", help="Columns of a table that the vectors are made "
                     "of, separated by commas; all of numbers but ids and labels if not given. Of one at an address: "
                     "what else belongs to an item; all if not given."),
        click.option("--column", help="Array or column with the vectors, if the file has several."),
    ):  # fmt: skip
        with_columns = option(with_columns)
    return with_columns


def _names(given: tuple[str, ...]) -> list[str]:
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def model_option(required: bool = True, text: str = "Model file that `concepts fit` wrote.") -> Callable[[Any], Any]:
    return click.option(
        "-m", "--model", required=required, type=click.Path(exists=True, dir_okay=False, path_type=Path), help=text
    )


def screen() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def print_json(found: Any) -> None:
    said = json.dumps(found, indent=2, ensure_ascii=False)
    try:
        said.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):  # a terminal that has not all letters: JSON can say them in ASCII
        said = json.dumps(found, indent=2)
    click.echo(said)


def standard_text() -> str:
    """What is piped into the command, as text; what is no UTF-8 in it is marked."""
    if sys.stdin is None:
        raise click.UsageError("- reads standard input, but that is closed.")
    return sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")


@contextmanager
def status(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr, on a terminal and nowhere else; call what this yields to say where things stand."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as spinner:

        def say(more: str) -> None:
            spinner.update(f"{text} {more}")

        yield say


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """The file itself, or a copy of standard input, removed afterwards, if the path is ``-``."""
    if path != STANDARD:
        yield path
        return
    if sys.stdin is None:
        raise click.UsageError("- reads standard input, but that is closed.")
    stream = sys.stdin.buffer
    if stream.isatty():
        raise click.UsageError("- reads standard input, but nothing is piped into this command.")
    head = stream.read(8)
    suffix = next((end for start, end in BEGINNINGS.items() if head.startswith(start)), ".csv")
    sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=f".pellucid-{os.getpid()}-") as folder:
        copy = Path(folder) / f"stdin{suffix}"
        with copy.open("wb") as file:
            file.write(head)
            shutil.copyfileobj(stream, file)
        yield copy


def load_model(path: Path) -> Any:
    """The concept subspaces in that file."""
    from pellucid import persistence
    from pellucid.concepts import ConceptSubspaces

    model = persistence.load(path)
    if not isinstance(model, ConceptSubspaces):
        raise click.UsageError(f"{path} holds a {type(model).__name__}, where concept subspaces are needed.")
    return model


def check_finite(rows: NDArray[Any], path: Path, first: int) -> None:
    from pellucid._core.checks import first_not_finite

    row = first_not_finite(rows)
    if row is not None:
        raise ValueError(
            f"{path} has a value that is not finite in row {first + row} (counting from 0): fix or drop the row."
        )


def read_words(path: Path) -> tuple[list[str], NDArray[Any]]:
    """Words and their vectors: the ids of a vectors file, or its only column of text."""
    from pellucid import vectors

    found = vectors.read(path)
    words = found.ids or only_text(found)
    if words is None:
        raise click.UsageError(f"{path} needs ids, or one column of text beside the vectors: the words.")
    return words, found.vectors


def only_text(found: VectorFile) -> list[str] | None:
    """The column of text beside the vectors, if there is just one."""
    texts = [values for values in found.columns.values() if _is_text(values)]
    return [str(text) for text in texts[0].tolist()] if len(texts) == 1 else None


def _is_text(values: Any) -> bool:
    kind = str(getattr(values, "type", None) or values.dtype)
    return "string" in kind or kind.startswith(("<U", "|S", "object"))


def cut(text: str, width: int) -> str:
    """``text`` on one line of at most ``width`` characters: a long cell would take the room of all others."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip() + "…"


def counted(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def some(names: Sequence[str], most: int = 8) -> str:
    """Names in a row, or the first and the last where there are many."""
    return ", ".join(names if len(names) <= most else [*names[: most - 3], "…", names[-1]])


def rounded(number: float) -> str:
    """A number as a person would write it: with three digits that count, and whole from a hundred on."""
    return counted(round(number)) if 100 <= abs(number) < 1e15 else f"{number:.3g}"
