"""Texts by a model of fastembed, which runs without torch; also the text towers of its CLIP models."""

from __future__ import annotations

from typing import Any

from pellucid._core.extras import require


def make(model: str) -> Any:
    """The function that embeds texts as queries, where the model tells queries from passages."""
    loaded = require("fastembed", "fastembed").TextEmbedding(model_name=model)
    return getattr(loaded, "query_embed", None) or loaded.embed
