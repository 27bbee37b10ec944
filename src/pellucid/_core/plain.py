"""Cells of a table in terms of JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def plain(value: Any, text: Callable[[str], str] = str) -> Any:
    """A cell as JSON can say it: None where a number is not finite, the number of bytes for bytes, dates as text.
    ``text`` changes what is text."""
    if isinstance(value, dict):
        return {str(key): plain(inner, text) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, text) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    return f"{len(value):,} bytes" if isinstance(value, bytes) else str(value)
