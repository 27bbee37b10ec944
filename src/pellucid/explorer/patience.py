"""Connections that say nothing, or never come to the end of their headers, are closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0  # for the headers of a request; its body has the time of the request


class Impatient(H11Protocol):
    """uvicorn's protocol, which by itself waits for headers as long as the connection stands: 256 such connections,
    and nobody else would be let in."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """From the first moment without a request under way; what trickles in does not begin it again."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._calm()
        elif self._late is None:
            self._late = self.loop.call_later(SECONDS, self._close)

    def _calm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
