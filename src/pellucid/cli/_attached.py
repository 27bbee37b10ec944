"""Tables that commands take where they are: an address in the place of a collection or a file, and its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid._core.addresses import is_address
from pellucid.cli._common import Columns, column_option, readable

if TYPE_CHECKING:
    from pellucid.search import ReadableCollection
    from pellucid.search.attached import AttachedCollection


class Place(click.Path):
    """A path, or an address such as postgresql://host/database, which comes as a text."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(exists=True, path_type=Path, **settings)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and is_address(value):
            return value
        return super().convert(value, param, ctx)


def is_collection(place: Path | str) -> bool:
    """Whether there is a collection of our own."""
    return isinstance(place, Path) and place.is_dir() and (place / "manifest.json").is_file()


@dataclass(frozen=True)
class Table:
    """What the options say of a table that is attached."""

    table: str | None = None
    vector: str | None = None
    id: str | None = None
    text: str | None = None
    columns: Columns = field(default_factory=Columns)

    @property
    def given(self) -> dict[str, str]:
        """What was said, under the names that :func:`pellucid.search.attach` has for it."""
        return {name: value for name in ("table", "vector", "id", "text") if (value := getattr(self, name)) is not None}

    def attach(self, address: Any, needed: Sequence[str] = ()) -> AttachedCollection:
        """The table, where it is; with the columns that a command needs beside what was named, if any is."""
        from pellucid.search import attach

        named: dict[str, Any] = self.given
        if self.columns.column is not None:
            named.setdefault("vector", self.columns.column)
        wanted = [*(self.columns.columns or ()), *needed] or None
        if wanted is None and self.columns.exclude:
            there = attach(address, **named).source.columns
            wanted = [name for name in there if name != "text"]
        wanted = None if wanted is None else [name for name in wanted if name not in self.columns.exclude]
        return attach(address, **named, columns=None if wanted is None else list(dict.fromkeys(wanted)))

    def open(self, place: Path | str, **settings: Any) -> ReadableCollection:
        """The collection in a folder, or the table at an address, in a file or in somebody else's folder."""
        from pellucid.search import Collection

        if is_collection(place):
            self.refuse(place)
            return Collection.open(place, **settings)
        if isinstance(place, Path) and place.is_dir() and not self.given and place.suffix != ".lance":
            return Collection.open(place, **settings)  # which says that there is none
        if any(value is not None for value in settings.values()):
            raise click.UsageError("--engine, --dsn and --set go with a collection; an attached table has its own.")
        return self.attach(place)

    def shown(self, place: Path | str) -> Any:
        """What the explorer opens: what is at a path, or the table."""
        return place if isinstance(place, Path) and not self.given and not self.columns.given else self.open(place)

    def refuse(self, place: Path | str) -> None:
        """Say that what is no table has no columns to name."""
        if self.given or self.columns.given:
            name = next(iter(self.given), "columns")
            raise click.UsageError(f"--{name} goes with a table at an address, and {place} is none.")


@contextmanager
def rows_at(place: Path | str, table: Table, column: Columns, needed: Sequence[str] = ()) -> Iterator[Any]:
    """A file of vectors, or a copy of standard input; or the table that is attached, with the columns that a command
    needs beside what was named."""
    if isinstance(place, Path) and not table.given:
        with readable(place) as source:
            yield source
    else:
        yield replace(table, columns=column).attach(place, needed)


def table_options(short: tuple[str, ...] = ("vector", "id", "text"), columns: bool = True) -> Callable[..., Any]:
    """--table and what names its columns, which come as one argument ``table``; ``short`` names are free here, and
    --columns and its like come with it unless the command has them for other reasons."""
    told = {
        "vector": "Of a table: its column, or named vector, of vectors; embedding if not given.",
        "id": "Of a table: its column of ids; id if not given.",
        "text": "Of a table: its column of texts; the one called text or body if not given.",
    }

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_table(*given: Any, **others: Any) -> Any:
            named = {name: others.pop(f"{name}_column") for name in told}
            beside = {"columns": others.pop("column")} if columns else {}
            others["table"] = Table(others["table"], **named, **beside)
            return command(*given, **others)

        for name, said in reversed(told.items()):
            names = [f"--{name}-column", *([f"--{name}"] if name in short else [])]
            with_table = click.option(*names, f"{name}_column", metavar="NAME", help=said)(with_table)
        with_table = click.option("--table", metavar="NAME", help="The table, view or collection at an address, with "
                                  "its schema before a dot.")(with_table)  # fmt: skip
        return column_option(with_table) if columns else with_table

    return decorate


rows_argument = click.argument("vectors", type=Place(allow_dash=True))
