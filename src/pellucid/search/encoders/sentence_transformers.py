"""Texts by a model of sentence-transformers, also the text tower of its CLIP models."""

from __future__ import annotations

from typing import Any

from pellucid._core.extras import require


def make(model: str) -> Any:
    """The function that embeds texts as queries, where the model tells queries from passages."""
    loaded = require("sentence_transformers", "sentence-transformers").SentenceTransformer(model)
    return getattr(loaded, "encode_query", None) or loaded.encode
