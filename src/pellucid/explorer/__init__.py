"""The explorer: a web page, and the HTTP service behind it, to look at a collection and search it by concept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid._core.extras import require
from pellucid.explorer.limits import LOCAL_HOSTS, Limits, check_token
from pellucid.explorer.server import Server, explore, serve

if TYPE_CHECKING:
    from fastapi import FastAPI
    from numpy.typing import ArrayLike

    from pellucid.search import Collection

__all__ = ["LOCAL_HOSTS", "Limits", "Server", "create_app", "explore", "serve"]


def create_app(
    *,
    collection: Collection | str | Path,
    model: Any = None,
    words: Sequence[str] | None = None,
    word_vectors: ArrayLike | None = None,
    token: str | None = None,
    hosts: Sequence[str] | None = LOCAL_HOSTS,
    limits: Limits | None = None,
    image_shape: Sequence[int] | None = None,
) -> FastAPI:
    """The service as an ASGI application.

    Parameters
    ----------
    collection : ``Collection``, or the folder of one
    model : fitted ``ConceptSubspaces``, or its file, in which renamed concepts are then saved; a model of binary
        concepts or of clusters; or a list of these, at most one of each kind; None for a map and plain search alone
    words, word_vectors : vocabulary for captions; without it the words of the items' own texts are used
    token : what a client must know; compared in constant time
    hosts : names by which the service may be addressed; None for any, which needs a token
    limits : what one request may ask for
    image_shape : (height, width), or (height, width, 3), if the vectors are pictures: then parts and atoms are shown so
    """
    require("fastapi", "explore")
    check_token(token, needed=hosts is None)
    from pellucid.explorer.app import build
    from pellucid.explorer.loading import open_models
    from pellucid.explorer.state import State
    from pellucid.search import Collection

    opened = collection if isinstance(collection, Collection) else Collection.open(collection)
    state = State(opened, open_models(model), words, word_vectors, image_shape)
    return build(state, token=token, hosts=hosts, limits=limits or Limits())
