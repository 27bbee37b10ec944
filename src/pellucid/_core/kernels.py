"""The one way a numeric loop is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile when first called. Without the interpreter's lock, since rows are shared out to threads; sums may be
    reordered, but infinities and NaN keep their meaning."""
    return cast(Function, njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})(function))
