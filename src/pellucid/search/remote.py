"""What a server may be told, and a collection may not keep."""

from __future__ import annotations

import os
import re

TOKEN = "PELLUCID_TOKEN"


def secret(given: str | None) -> str:
    """The token given, or that of the environment."""
    return given or os.environ.get(TOKEN, "")


def without_password(address: str) -> str:
    """An address as it may be written down or shown.

    >>> without_password("https://me:hush@example.org:19530")
    'https://me@example.org:19530'
    """
    return re.sub(r"(//[^/@:]*):[^/@]*@", r"\1@", address)
