"""Whom an address can mean."""

from __future__ import annotations

import ipaddress


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
