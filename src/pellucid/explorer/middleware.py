"""What stands between the network and the service: who may ask, how much, and for how long."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pellucid._core.deadline import Deadline
from pellucid.explorer.limits import Limits

LOG = logging.getLogger("pellucid.explorer")

# nothing is loaded from elsewhere, nothing inline runs, nobody may frame the page
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


class Refused(Exception):
    """A request that is not let through."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status, self.sentence = status, sentence


class Guard:
    """Checks Host, Origin and token, bounds size and time, and answers failures without telling how the inside looks.

    hosts : names by which the service may be addressed; None for any, where a token protects it
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str] | None, token: str | None, limits: Limits) -> None:
        self.app, self.limits = app, limits
        self.hosts = None if hosts is None else {host.lower() for host in hosts}
        self.token = None if token is None else token.encode()
        # cookies are shared by all ports of a host: two explorers must not overwrite each other's
        seal = "" if token is None else hashlib.sha256(b"pellucid " + token.encode()).hexdigest()
        self.cookie, self.seal = f"pellucid-{seal[:8]}", seal[8:].encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = Answer(send)
        try:
            headers = _headers(scope)
            self._check_addresses(headers)
            self._check_size(headers)
            if not self._has_token(headers):
                if await self._let_in(scope, answer):
                    return
                raise Refused(401, "This needs the token: open the address that pellucid explore printed.")
            await self._run(scope, receive, answer)
        except Refused as refused:
            await answer.fail(refused.status, refused.sentence)
        except Exception:
            LOG.exception("A request to %s failed.", scope["path"])
            await answer.fail(500, "Something went wrong here; the log of the explorer says what.")

    async def _run(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        """The app, which must begin to answer in time; sending may take as long as the network does."""

        ends = Deadline(self.limits.seconds)

        async def read_and_answer() -> None:
            body = await self._body(receive)
            left = asyncio.ensure_future(_gone(receive, ends))
            try:
                with ends.held():  # threads that the app works in look at it, too
                    await self.app(scope, _once(body, left), answer.send)
            finally:
                left.cancel()

        work = asyncio.ensure_future(read_and_answer())
        begun = asyncio.ensure_future(answer.begun.wait())
        try:
            done, _ = await asyncio.wait(
                {work, begun}, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise Refused(408, f"This took longer than {self.limits.seconds:g} seconds and was given up.")
            await work
        finally:
            begun.cancel()
            if not work.done():
                ends.cancel()  # a thread cannot be stopped from outside
                work.cancel()

    def _check_addresses(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if self.hosts is not None and _name(f"//{host}") not in self.hosts:
            raise Refused(421, "The explorer does not answer to that host name.")
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            raise Refused(403, "Requests from other sites are not answered.")
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            raise Refused(403, "Requests from other sites are not answered.")

    def _check_size(self, headers: dict[str, str]) -> None:
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.limits.body:
            raise Refused(413, f"The body of a request may have {self.limits.body:,} bytes.")

    async def _body(self, receive: Receive) -> bytes:
        """The body, read here since a body in chunks does not say its size beforehand; it is small."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limits.body:
                raise Refused(413, f"The body of a request may have {self.limits.body:,} bytes.")
        return body

    def _has_token(self, headers: dict[str, str]) -> bool:
        if self.token is None:
            return True
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(bearer.strip(), self.token):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and _same(cookie.value, self.seal)

    async def _let_in(self, scope: Scope, answer: Answer) -> bool:
        """An address with ?token= is exchanged for a cookie, so that the token does not stay in the address bar."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if self.token is None or scope["method"] != "GET" or not _same(query.get("token", [""])[0], self.token):
            return False
        cookie = f"{self.cookie}={self.seal.decode()}; Path=/; HttpOnly; SameSite=Strict"
        await answer.plain(303, b"", {"location": "/", "set-cookie": cookie})
        return True


async def _gone(receive: Receive, ends: Deadline) -> Message:
    """Wait until the client goes away: what is done for it ends, too."""
    while (message := await receive())["type"] != "http.disconnect":
        pass
    ends.cancel()
    return message


def _once(body: bytes, left: asyncio.Future[Message]) -> Receive:
    """What an app that asks for the body gets: the body, and then that the client has left."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return whole.pop() if whole else await asyncio.shield(left)

    return receive


class Answer:
    """A response on its way: knows whether it has begun, and carries the headers that every response has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = asyncio.Event()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun.set()
            given = {name.lower() for name, _ in message["headers"]}
            extra = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in given]
            message = {**message, "headers": [*message["headers"], *extra]}
        await self._send(message)

    async def plain(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        pairs.append((b"content-length", str(len(body)).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body})

    async def fail(self, status: int, sentence: str) -> None:
        if not self.begun.is_set():  # afterwards all that can be done is to break off
            body = json.dumps({"detail": sentence}).encode()
            await self.plain(status, body, {"content-type": "application/json"})


def _same(given: str, secret: bytes) -> bool:
    """Whether they are equal, in a time that does not tell how much of it is."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret)


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in ("host", "origin", "content-length", "authorization") and key in headers:
            raise Refused(400, f"The header {key} occurs twice.")
        headers[key] = value.decode("latin-1")
    return headers


def _place(address: str) -> str | None:
    """Host and port of an address; None if it is none."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def _name(address: str) -> str:
    """The host name in an address, without port; empty if there is none."""
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""
