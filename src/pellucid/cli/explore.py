"""`pellucid explore`: the web explorer on a collection."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import load_model, read_words

PORT = 8750


@click.command(
    "explore", epilog="Example:  pellucid explore pellucid-demo/collection --model pellucid-demo/model.safetensors"
)
@click.argument("collection", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--model",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Model file with the concepts; names given on the page are saved in it.",
)
@click.option(
    "--words",
    type=click.Path(path_type=Path, exists=True),
    help="File of word vectors whose ids are the words, for captions; the items' own texts serve without it.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to serve on; any but this machine's own needs a token.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port to serve on; {PORT} if it is free, else any that is."
)
@click.option(
    "--token",
    envvar="PELLUCID_TOKEN",
    help="What a browser must know, 16 characters or more; better in the variable PELLUCID_TOKEN, unseen.",
)
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def command(
    collection: Path,
    model: Path | None,
    words: Path | None,
    host: str,
    port: int | None,
    token: str | None,
    no_browser: bool,
) -> None:
    """Look at COLLECTION on a map, take its items apart, and search it by concept, in a browser."""
    from pellucid.cli._prepared import same_preparation
    from pellucid.explorer import Server, serve

    if model is not None and not same_preparation(collection, load_model(model)):
        raise click.UsageError(f"{collection} holds vectors as they came: index them with --model to see concepts.")
    vocabulary: dict[str, Any] = {} if words is None else dict(zip(("words", "word_vectors"), read_words(words)))

    def on(where: int) -> Server:
        return serve(collection, model, host=host, port=where, token=token, **vocabulary)

    try:
        server = on(PORT if port is None else port)
    except OSError:
        if port is not None:
            raise
        server = on(0)
    click.echo(f"Explorer: {server.url}\nStop it with Ctrl-C.")
    if not no_browser:
        webbrowser.open(server.url)
    with suppress(KeyboardInterrupt):  # the way to end it, so no failure
        server.run()
