"""The options by which commands search by text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import STANDARD, standard_text


def encoder_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--encoder and --texts."""
    for option in (
        click.option(
            "--texts", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
            help="Texts like yours, a line each, if texts and items are of two kinds, such as captions and photos: the "
            "mean of their vectors is taken out of queries.",
        ),
        click.option(
            "--encoder", metavar="NAME",
            help="What makes vectors of texts, of the model that made the collection's: module:function, "
            "sentence-transformers:MODEL, fastembed:MODEL, openai:MODEL[@URL], clip:MODEL or "
            "open_clip:MODEL/TRAINED_ON.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def made_encoder(encoder: str | None, texts: Path | None) -> Any:
    """The encoder that was asked for, if one was."""
    if encoder is None:
        if texts is not None:
            raise click.UsageError("--texts goes with --encoder.")
        return None
    from pellucid.search import TextEncoder

    lines = None if texts is None else [line for line in read_lines(texts) if line.strip()]
    if lines is not None and len(lines) < 2:
        raise click.UsageError(f"{texts} needs two texts at least, one on each line.")
    return TextEncoder(encoder, texts=lines)


def check_start(item: str | None, vector: Path | None, text: str | None, encoder: str | None) -> None:
    """A search starts from an item, a vector or a text, and a text needs an encoder."""
    if (item, vector, text).count(None) != 2:
        raise click.UsageError("Start from an --item, from a --vector or from a --text, one of them.")
    if text is not None and encoder is None:
        raise click.UsageError("--text needs an --encoder: the model that made the collection's vectors.")
    if text is None and encoder is not None:
        raise click.UsageError("--encoder goes with --text.")


def read_lines(path: Path) -> list[str]:
    content = standard_text() if path == STANDARD else path.read_text(encoding="utf-8-sig", errors="replace")
    return content.splitlines()
