"""Optional dependencies: one place says how to install what is missing."""

import importlib
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of pellucid brings it.

    >>> require("json", "anndata").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{module} is needed here and cannot be imported ({error}): pip install "pellucid[{extra}]"'
        ) from error
