"""Serve the explorer from Python: in the background, until it is stopped."""

from __future__ import annotations

import os
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pellucid._core.addresses import is_local
from pellucid._core.extras import require
from pellucid.explorer.limits import check_token, is_any_address

if TYPE_CHECKING:
    from fastapi import FastAPI


class Server:
    """A running explorer: ``url`` is its address, :meth:`stop` ends it.

    It also ends with the ``with`` block it is used in, or with Python.

    Parameters
    ----------
    app : fastapi.FastAPI
        The application, of :func:`pellucid.explorer.create_app`.
    host : str
        Address to bind to.
    port : int
        Port to bind to; 0 takes a free one.
    token : str or None
        What a client must know.

    Attributes
    ----------
    app : fastapi.FastAPI
        The application.
    host : str
        Address it is bound to.
    port : int
        Port it is bound to.
    address : str
        Where it is, without the token.
    url : str
        Where it is, with the token.

    Raises
    ------
    OSError
        If the port is taken.

    See Also
    --------
    explore : Starts one.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import mkdtemp
    >>> from pellucid.explorer import serve
    >>> from pellucid.search import Collection
    >>> with serve(Collection.create(mkdtemp(), np.eye(3))) as server:
    ...     server.address == f"http://127.0.0.1:{server.port}/"
    True
    """

    def __init__(self, app: FastAPI, host: str, port: int, token: str | None) -> None:
        uvicorn = require("uvicorn", "explore")
        from pellucid.explorer.patience import Impatient

        self.app = app
        self._socket = bind(host, port)
        self.host, self.port = host, self._socket.getsockname()[1]
        named = socket.gethostname() if is_any_address(host) else host
        shown = f"[{named}]" if ":" in named else named
        self.address = f"http://{shown}:{self.port}/"
        self.url = self.address if token is None else f"{self.address}?token={quote(token, safe='')}"
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=30,
            limit_concurrency=256, h11_max_incomplete_event_size=65_536, timeout_graceful_shutdown=2,
            proxy_headers=False, ws="none", http=Impatient,
        )  # fmt: skip
        self._server: Any = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="pellucid-explore", daemon=True)

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> Server:
        """Serve in the background; returns when requests are answered.

        Returns
        -------
        Server
            The server itself.

        Raises
        ------
        RuntimeError
            If it could not be started.
        """
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("The explorer could not be started; what it logged says why.")
            time.sleep(0.01)
        return self

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self._serve()

    def stop(self) -> None:
        """End it; the port is free when this returns."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Server({self.address!r}, {'running' if self._thread.is_alive() else 'stopped'})"

    def _repr_html_(self) -> str:
        from html import escape

        return f'Pellucid explorer: <a href="{escape(self.url)}" target="_blank">{escape(self.address)}</a>'


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, bound now so that a taken port is said to whoever asked for it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # without the protocol asyncio leaves Nagle's algorithm on, and every answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OSError(f"{host}:{port} cannot be used ({error.strerror}); choose another port.") from error
    return listener


def serve(
    collection: Any,
    model: Any = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    tell: Callable[[str], None] | None = None,
    **more: Any,
) -> Server:
    """Make an explorer on an address, not started yet.

    Parameters
    ----------
    collection : Collection, AttachedCollection, str or path
        The items; the folder they are in; a folder that holds that, beside models and words, which are taken if none
        are given; or a file of vectors, of which a collection with concepts is made in the cache.
    model : fitted model, str, path, or list of these, default=None
        What the page shows beside the items; see :func:`pellucid.explorer.create_app`.
    host : str, default="127.0.0.1"
        Address to bind to; any other than this machine's own needs a token.
    port : int, default=0
        Port to bind to; 0 takes a free one.
    token : str, default=None
        What a client must know, at least 16 printable ASCII characters.
    tell : callable, default=None
        Called with a sentence on what takes a while before the service can answer.
    **more : object
        Further arguments of :func:`pellucid.explorer.create_app`.

    Returns
    -------
    Server
        To be started in the background by ``start()``, or in the foreground by ``run()``.

    Raises
    ------
    ValueError
        If a token is needed or too short.
    OSError
        If the port is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import mkdtemp
    >>> from pellucid.explorer import serve
    >>> from pellucid.search import Collection
    >>> with serve(Collection.create(mkdtemp(), np.eye(3))).start() as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """
    from pellucid.explorer import LOCAL_HOSTS, create_app
    from pellucid.explorer.finding import find, read_words

    check_token(token, needed=not is_local(host))
    if isinstance(collection, (str, os.PathLike)):
        found = find(collection, tell or (lambda said: None))
        collection, model = found.collection, found.models if model is None else model
        if found.words is not None and not {"words", "word_vectors"} & more.keys():
            more["words"], more["word_vectors"] = read_words(found.words)
    # elsewhere the machine may go by any name, and the token decides
    hosts = (*LOCAL_HOSTS, host) if is_local(host) else None
    return Server(create_app(collection=collection, model=model, token=token, hosts=hosts, **more), host, port, token)


def explore(collection: Any, model: Any = None, *, open_browser: bool = True, **settings: Any) -> Server:
    """Open the explorer on a collection, and a model if there is one, in the background.

    Parameters
    ----------
    collection : Collection, AttachedCollection, str or path
        The items; the folder they are in; a folder that holds that, beside models and words, which are taken if none
        are given; or a file of vectors, of which a collection with concepts is made in the cache.
    model : fitted model, str, path, or list of these, default=None
        A fitted ``ConceptSubspaces``, or its file (a concept renamed on the page is saved in it), a model of binary
        concepts or of clusters, or a list of these.
    open_browser : bool, default=True
        Show the page.
    **settings : object
        ``host`` (127.0.0.1), ``port`` (a free one), ``token`` (needed for any other host), the ``words`` and
        ``word_vectors`` that captions are made of, the ``image_shape`` of vectors that are pictures, and the
        ``encoder`` to search by text.

    Returns
    -------
    Server
        Its ``url``, and ``stop()``; it also ends with the ``with`` block it is used in, or with Python.

    Raises
    ------
    ValueError
        If a token is needed or too short, or model and collection do not fit each other.
    OSError
        If the port is taken.

    Examples
    --------
    >>> import numpy as np
    >>> import pellucid
    >>> from tempfile import mkdtemp
    >>> collection = pellucid.search.Collection.create(mkdtemp(), np.eye(3))
    >>> with pellucid.explore(collection, open_browser=False) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """
    server = serve(collection, model, **settings).start()
    if open_browser:
        webbrowser.open(server.url)
    return server
