"""`pellucid mcp`: a collection for agents."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from pellucid.cli._attached import Place, Table, table_options
from pellucid.cli._common import load_model, model_option, read_words
from pellucid.cli._encoders import encoder_options, made_encoder
from pellucid.cli._engines import engine_options
from pellucid.cli.search import opened_collection


@click.command("mcp")
@click.argument("collection", type=Place())
@table_options()
@model_option(False, "Model file with the concepts; without one, agents can only search.")
@click.option(
    "--words", type=click.Path(exists=True, path_type=Path),
    help="Vectors file of many words, whose ids are the words: any of them can then be a concept.",
)  # fmt: skip
@encoder_options
@click.option(
    "--http", is_flag=True, help="Speak streamable HTTP on this machine's own address, and not by standard streams."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8751, show_default=True, help="Port for --http.")
@engine_options(None, "What ranks the items this time, if not what the collection was made with.")
def command(
    collection: Path | str,
    model: Path | None,
    words: Path | None,
    encoder: str | None,
    texts: Path | None,
    http: bool,
    port: int,
    engine: str | None,
    dsn: str | None,
    options: tuple[str, ...],
    table: Table,
) -> None:
    """Let agents search COLLECTION by concept, over the Model Context Protocol.

    An agent's client starts this command itself and talks to it by standard streams. It may search, explain, take items
    apart, list concepts, trace and compare, and changes nothing.

    \b
    Examples:
      pellucid mcp photos --model photos.safetensors
      pellucid mcp notes -m notes.safetensors --encoder sentence-transformers:all-MiniLM-L6-v2
      pellucid mcp postgresql://localhost/shop --table documents --vector embedding -m topics.safetensors
      pellucid mcp notes -m notes.safetensors --http --port 8751
    """
    from pellucid.concepts import Vocabulary
    from pellucid.integrations.mcp import create_server, http_app
    from pellucid.search import ConceptSearch

    embed = made_encoder(encoder, texts)
    fitted = None if model is None else load_model(model)
    opened = opened_collection(collection, table, engine, dsn, options)
    vocabulary = None if words is None else Vocabulary(*read_words(words))
    server = create_server(ConceptSearch(opened, fitted, embed, vocabulary))
    with suppress(KeyboardInterrupt):  # the way to end it, so no failure
        if http:
            serve(server, http_app, port)
        else:
            server.run("stdio")


def serve(server: Any, app: Any, port: int) -> None:
    """Serve over HTTP until Ctrl-C."""
    from pellucid._core.extras import require
    from pellucid.explorer.server import bind

    uvicorn = require("uvicorn", "mcp")
    with bind("127.0.0.1", port) as socket:
        bound = socket.getsockname()[1]
        click.echo(f"Agents: http://127.0.0.1:{bound}/mcp\nStop it with Ctrl-C.")
        config = uvicorn.Config(app(server, port=bound), log_level="warning", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[socket])
