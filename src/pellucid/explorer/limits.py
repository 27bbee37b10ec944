"""What one request may ask for, and whom the service answers."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Limits:
    """Most that one request may ask for.

    Parameters
    ----------
    body : int, default=1048576
        Bytes in the body of a request.
    k : int, default=1000
        Results of one search, or items in one list.
    batch : int, default=64
        Queries in one search, or pairs in one explanation.
    seconds : float, default=30.0
        Until the answer begins; what it took is given back then.
    work : float, default=1e10
        Multiplications of one search, about: vectors, results and whether they are to differ count together. A plain
        search for one vector is always answered.
    job : float, default=600.0
        Seconds that a job in the background may take that a request began.

    Examples
    --------
    >>> from pellucid.explorer import Limits
    >>> Limits(k=100)
    Limits(body=1048576, k=100, batch=64, seconds=30.0, work=10000000000.0, job=600.0)
    """

    body: int = 1 << 20
    k: int = 1000
    batch: int = 64
    seconds: float = 30.0
    work: float = 1e10
    job: float = 600.0


def is_any_address(host: str) -> bool:
    """Whether binding to it means every address of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def check_token(token: str | None, needed: bool) -> None:
    if token is None and needed:
        raise ValueError(
            "Only 127.0.0.1 can be served without a token: choose one of at least "
            f"{SHORTEST_TOKEN} characters, and give it as token (--token on the command line)."
        )
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise ValueError(f"A token must have at least {SHORTEST_TOKEN} printable ASCII characters.")
