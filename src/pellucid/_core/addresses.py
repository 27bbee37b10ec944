"""What an address is, and whom it can mean."""

from __future__ import annotations

import ipaddress
import re

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def is_local(host: str) -> bool:
    """Whether nobody but this machine can reach that address.

    >>> is_local("127.0.0.1"), is_local("::1"), is_local("example.org")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(text: str) -> bool:
    """Whether a text is the address of a server or a database rather than the path of a file.

    >>> is_address("postgresql://localhost/shop"), is_address("photos.parquet")
    (True, False)
    """
    return SCHEME.match(text) is not None


def without_password(address: str) -> str:
    """An address as it may be written down or shown.

    >>> without_password("https://me:hush@example.org:19530")
    'https://me@example.org:19530'
    """
    return re.sub(r"(//[^/@:]*):[^/@]*@", r"\1@", address)
