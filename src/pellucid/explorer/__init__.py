"""The explorer: a web page, and the HTTP service behind it, to look at a collection and search it by concept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid._core.extras import require
from pellucid.explorer.limits import LOCAL_HOSTS, Limits, check_token
from pellucid.explorer.server import Server, explore, serve

if TYPE_CHECKING:
    from fastapi import FastAPI
    from numpy.typing import ArrayLike, NDArray

    from pellucid.search import ReadableCollection

__all__ = ["LOCAL_HOSTS", "Limits", "Server", "create_app", "explore", "places", "serve"]


def places(collection: ReadableCollection | str | Path, layout: str = "neighbours") -> NDArray[np.float32]:
    """Say where the items of a collection stand on the explorer's map.

    Parameters
    ----------
    collection : Collection, AttachedCollection, str or path
        The items, or the folder they are in, where the places are kept.
    layout : {"neighbours", "pca"}, default="neighbours"
        By neighbourhoods, or by principal components.

    Returns
    -------
    ndarray of shape (n, 2)
        x and y of each item that is there, in order, within -1 to 1.

    Raises
    ------
    ValueError
        If there is no such layout.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import mkdtemp
    >>> from pellucid.explorer import places
    >>> from pellucid.search import Collection
    >>> places(Collection.create(mkdtemp(), np.eye(3)), "pca").shape
    (3, 2)
    """
    from pellucid.explorer.background import LAYOUTS, Background
    from pellucid.explorer.items import Items
    from pellucid.search import Collection, ReadableCollection

    if layout not in LAYOUTS:
        raise ValueError(f"The layout must be one of {', '.join(LAYOUTS)}, got {layout!r}.")
    opened = collection if isinstance(collection, ReadableCollection) else Collection.open(collection)
    made = Background(Items(opened), None)
    made.run()
    return np.asarray(made.get(layout))


def create_app(
    *,
    collection: ReadableCollection | str | Path,
    model: Any = None,
    words: Sequence[str] | None = None,
    word_vectors: ArrayLike | None = None,
    token: str | None = None,
    hosts: Sequence[str] | None = LOCAL_HOSTS,
    limits: Limits | None = None,
    image_shape: Sequence[int] | None = None,
    encoder: Any = None,
) -> FastAPI:
    """Make the service as an ASGI application.

    Parameters
    ----------
    collection : Collection, AttachedCollection, str or path
        The items, or the folder they are in.
    model : ConceptSubspaces, model of binary concepts or of clusters, str, path, or list of these, default=None
        A fitted model, or its file, in which renamed concepts are then saved; or a list, at most one of each kind; None
        for a map and plain search alone.
    words : list of str, default=None
        Vocabulary for captions; without it the words of the items' own texts are used.
    word_vectors : array-like of shape (n_words, d), default=None
        Its vectors.
    token : str, default=None
        What a client must know; compared in constant time.
    hosts : sequence of str, default=LOCAL_HOSTS
        Names by which the service may be addressed; None for any, which needs a token.
    limits : Limits, default=None
        What one request may ask for.
    image_shape : tuple of int, default=None
        (height, width), or (height, width, 3), if the vectors are pictures: then parts and atoms are shown so.
    encoder : TextEncoder, str, callable or object, default=None
        What makes vectors of texts, to search by text; see :class:`pellucid.search.TextEncoder`.

    Returns
    -------
    fastapi.FastAPI
        The application, for any ASGI server.

    Raises
    ------
    ValueError
        If a token is needed or too short, or model and collection do not fit each other.

    See Also
    --------
    explore : Serves it in the background, and opens the page.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import mkdtemp
    >>> from pellucid.explorer import create_app
    >>> from pellucid.search import Collection
    >>> create_app(collection=Collection.create(mkdtemp(), np.eye(3))).title
    'Pellucid explorer'
    """
    require("fastapi", "explore")
    check_token(token, needed=hosts is None)
    from pellucid.explorer.app import build
    from pellucid.explorer.loading import open_models
    from pellucid.explorer.state import State
    from pellucid.search import Collection, ReadableCollection

    opened = collection if isinstance(collection, ReadableCollection) else Collection.open(collection)
    state = State(opened, open_models(model), words, word_vectors, image_shape, encoder)
    return build(state, token=token, hosts=hosts, limits=limits or Limits())
