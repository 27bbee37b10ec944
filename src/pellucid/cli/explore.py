"""`pellucid explore`: the web explorer on a collection."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from pellucid._core.addresses import without_password
from pellucid.cli._attached import Place, Table, table_options
from pellucid.cli._common import read_words
from pellucid.cli._encoders import encoder_options, made_encoder

PORT = 8750


class ImageShape(click.ParamType):
    """Height and width, and 3 for colours, with an x between them."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        sides = str(value).lower().split("x")
        if len(sides) not in (2, 3) or not all(side.isdigit() and int(side) > 0 for side in sides):
            self.fail(f"{value!r} is not a shape such as 28x28 or 32x32x3.", param, ctx)
        return tuple(int(side) for side in sides)


def tell(said: str) -> None:
    click.echo(said, err=True)


@click.command("explore")
@click.argument("collection", type=Place())
@table_options()
@click.option(
    "-m",
    "--model",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Model file of `concepts fit`, `binary fit` or `clusters fit`, once for each kind; names given to concepts on "
    "the page are saved in it.",
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
@click.option(
    "--image-shape",
    type=ImageShape(),
    help="Height and width if the vectors are pictures, such as 28x28 or 32x32x3: parts and atoms are shown so.",
)
@encoder_options
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def command(
    collection: Path | str,
    model: tuple[Path, ...],
    words: Path | None,
    host: str,
    port: int | None,
    token: str | None,
    image_shape: tuple[int, ...] | None,
    encoder: str | None,
    texts: Path | None,
    no_browser: bool,
    table: Table,
) -> None:
    """Look at COLLECTION on a map, take its items apart, and search it by concept, in a browser.

    COLLECTION is a collection; a folder that holds one with models and words beside it, which are found; or a bare file
    of vectors: then a collection is made of it and its concepts are found and named, once, in the cache
    (PELLUCID_CACHE, or where your system keeps such things).

    \b
    Examples:
      pellucid explore pellucid-demo
      pellucid explore vectors.parquet
      pellucid explore pellucid-demo/collection --model pellucid-demo/model.safetensors
      pellucid explore photos -m concepts.safetensors -m clusters.safetensors -m binary.safetensors
      pellucid explore photos -m concepts.safetensors --encoder clip:openai/clip-vit-base-patch32
      pellucid explore postgresql://localhost/shop --table documents --vector embedding -m topics.safetensors
      pellucid explore digits -m clusters.safetensors --image-shape 28x28
    """
    tell(f"Opening {without_password(str(collection))} …")  # before all that is to be imported
    from pellucid.explorer import Server, serve

    vocabulary: dict[str, Any] = {} if words is None else dict(zip(("words", "word_vectors"), read_words(words)))

    opened = table.shown(collection)
    embed = made_encoder(encoder, texts)

    def on(where: int) -> Server:
        more = {"image_shape": image_shape, "encoder": embed, "tell": tell, **vocabulary}
        return serve(opened, list(model) or None, host=host, port=where, token=token, **more)

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
