"""Options of commands that choose what ranks the items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click


def engine_options(default: str | None, what: str) -> Callable[[Any], Any]:
    """--engine, --dsn and --option."""

    def decorate(command: Any) -> Any:
        for option in (
            click.option(
                "--option", "options", multiple=True, metavar="NAME=VALUE",
                help="An option of the engine, such as kind=hnsw; several together.",
            ),
            click.option(
                "--dsn", help="Where the server is: PostgreSQL's connection string, Milvus' or Qdrant's address."
            ),
            click.option("--engine", default=default, show_default=default is not None, help=what),
        ):  # fmt: skip
            command = option(command)
        return command

    return decorate


def chosen(dsn: str | None, options: tuple[str, ...], known: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an engine: those that are known already, and what the command line says."""
    found = {**known, **({} if dsn is None else {"dsn": dsn})}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign:
            raise click.UsageError(f"An option is NAME=VALUE, such as kind=hnsw, but one is {option!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:  # a word
            found[name] = value
    return found
