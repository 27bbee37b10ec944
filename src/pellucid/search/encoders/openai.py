"""Texts by a service that speaks OpenAI's embeddings protocol: "openai:MODEL", or "openai:MODEL@http://127.0.0.1:11434/v1".

The key is read from the variable OPENAI_API_KEY whenever it is needed, and kept nowhere.
"""

from __future__ import annotations

import json
import os
import re
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

import numpy as np

from pellucid._core.addresses import is_local
from pellucid.search.encoders import EncoderError

KEY, PLACE, USUAL = "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"
BATCH, TIMEOUT, MOST_BYTES = 128, 60.0, 1 << 28
# a service that has no time is asked again after so many seconds, or after what it says, if that is not too long
WAITS, LONGEST = (0.5, 2.0), 20.0
BUSY = (408, 429, 500, 502, 503, 504)


class _NoRedirect(HTTPRedirectHandler):
    """A key is for one server, and goes to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def make(model: str) -> OpenAIEncoder:
    """The function that embeds texts."""
    at = re.search("@(?=https?://)", model)
    if at is None:
        return OpenAIEncoder(model, os.environ.get(PLACE) or USUAL)
    return OpenAIEncoder(model[: at.start()], model[at.end() :])


class OpenAIEncoder:
    """Ask a service for the vectors of texts, in batches.

    Parameters
    ----------
    model : str
        What the service calls the model.
    base_url : str
        Address of the service, up to what stands before ``/embeddings``.
    """

    def __init__(self, model: str, base_url: str = USUAL) -> None:
        address = urlsplit(base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise EncoderError(f"{base_url!r} is no address of a service: it begins with https:// or http://.")
        if address.username or address.password:
            raise EncoderError(f"Put no password into the address of {address.hostname}; the key is read from {KEY}.")
        self.model, self.address = model, base_url.rstrip("/") + "/embeddings"
        self.host, self._local = address.hostname, is_local(address.hostname)
        self._plain = address.scheme == "http"
        handlers = [ProxyHandler({})] if self._local else []
        self._opener = build_opener(_NoRedirect, *handlers)

    def __call__(self, texts: list[str]) -> Any:
        rows: list[Any] = []
        for start in range(0, len(texts), BATCH):
            rows += self._batch(texts[start : start + BATCH])
        return rows

    def _batch(self, texts: list[str]) -> list[Any]:
        body = json.dumps({"model": self.model, "input": texts, "encoding_format": "float"}).encode()
        for wait in (*WAITS, None):
            request = Request(self.address, body, {"Content-Type": "application/json", **self._key()})
            try:
                with self._opener.open(request, timeout=TIMEOUT) as reply:
                    content = reply.read(MOST_BYTES + 1)
                return self._vectors(content, len(texts))
            except HTTPError as error:
                with error:
                    if error.code not in BUSY or wait is None:
                        raise EncoderError(self._refused(error)) from None
                    time.sleep(min(LONGEST, max(wait, seconds(error.headers.get("Retry-After")))))
            except (URLError, OSError, HTTPException) as error:
                if wait is None:
                    why = getattr(error, "reason", None) or error
                    raise EncoderError(
                        f"The encoder's server {self.host} does not answer ({why}): see that it runs, and that "
                        f"{self.address} is its address ({PLACE})."
                    ) from None
                time.sleep(wait)
        raise AssertionError

    def _key(self) -> dict[str, str]:
        key = os.environ.get(KEY, "").strip()
        if not key:
            if self._local:
                return {}
            raise EncoderError(f"{self.host} wants a key: set the variable {KEY}.")
        if self._plain and not self._local:
            raise EncoderError(f"The key would go to {self.host} unencrypted: use an address with https://.")
        if not key.isascii() or not key.isprintable():
            raise EncoderError(f"The variable {KEY} holds letters that no key has.")
        return {"Authorization": f"Bearer {key}"}

    def _refused(self, error: HTTPError) -> str:
        try:
            told = json.loads(error.read(10_000))
            said = told.get("error", told)
            said = said.get("message", said) if isinstance(said, dict) else said
        except (ValueError, AttributeError, OSError):
            said = error.reason
        said = " ".join(str(said).split())[:300].replace(os.environ.get(KEY) or "\0", "…")
        advice = {401: f" Check the variable {KEY}.", 403: f" Check the variable {KEY}.",
                  404: f" Check the model's name, {self.model!r}, and the address {self.address}."}  # fmt: skip
        moved = " It points elsewhere, where the key would not be safe." if 300 <= error.code < 400 else ""
        return f"The encoder's server {self.host} refuses ({error.code}): {said}.{advice.get(error.code, moved)}"

    def _vectors(self, content: bytes, count: int) -> list[Any]:
        wrong = (
            f"The encoder's server {self.host} answered with what is no list of vectors: is {self.address} its address?"
        )
        if len(content) > MOST_BYTES:
            raise EncoderError(f"The encoder's server {self.host} answers with more than {MOST_BYTES >> 20} MB.")
        try:
            data = json.loads(content)["data"]
            found = {int(one.get("index", i)): one["embedding"] for i, one in enumerate(data)}
            rows = [np.asarray(found[i], dtype=np.float64) for i in range(count)]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise EncoderError(wrong) from error
        if len(data) != count:
            raise EncoderError(f"The encoder's server {self.host} gave {len(data)} vectors for {count} texts.")
        return rows


def seconds(said: str | None) -> float:
    """How long a service asks to be left alone."""
    try:
        return max(0.0, float(said or 0))
    except ValueError:
        return 0.0
