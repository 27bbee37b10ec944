"""Texts by the text tower of a model of open_clip: "open_clip:ViT-B-32/laion2b_s34b_b79k"."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid._core.extras import require
from pellucid.search.encoders.clip import BATCH, as_array, without_gradients


def make(model: str) -> Any:
    """The function that embeds texts; after a slash stands what the model was trained on."""
    open_clip = require("open_clip", "open-clip")
    name, _, trained = model.partition("/")
    tower = open_clip.create_model(name, pretrained=trained or None)
    words = open_clip.get_tokenizer(name)
    tower.eval()

    def encode(texts: list[str]) -> Any:
        with without_gradients():
            parts = [tower.encode_text(words(texts[i : i + BATCH])) for i in range(0, len(texts), BATCH)]
        return np.concatenate([as_array(part) for part in parts])

    return encode
