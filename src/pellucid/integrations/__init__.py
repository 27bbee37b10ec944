"""Adapters for what people build with, a module each, imported when it is called.

``pellucid.integrations.langchain``, ``.llama_index`` and ``.haystack`` have retrievers, ``.mcp`` a server for agents.
"""

from typing import TYPE_CHECKING

from pellucid._core.lazy import lazily

if TYPE_CHECKING:
    from pellucid.integrations.retrieval import FoundDocument, Retrieval

_HOMES = {"FoundDocument": "retrieval", "Retrieval": "retrieval"}
__all__ = ["FoundDocument", "Retrieval"]

__getattr__, __dir__ = lazily(__name__, _HOMES)
