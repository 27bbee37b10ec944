"""Who called Pellucid: the line that a warning is about."""

from __future__ import annotations

import sys
from typing import Any


def outside() -> int:
    """The ``stacklevel`` of a warning that points at the line that called Pellucid, however deep inside it is given."""
    frame: Any = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "pellucid":
        frame, level = frame.f_back, level + 1
    return level
