"""Texts by the text tower of a CLIP model of transformers."""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from typing import Any

import numpy as np

from pellucid._core.extras import require

BATCH = 64


def make(model: str) -> Any:
    """The function that embeds texts."""
    transformers = require("transformers", "clip")
    tower, words = transformers.CLIPModel.from_pretrained(model), transformers.AutoTokenizer.from_pretrained(model)
    tower.eval()

    def encode(texts: list[str]) -> Any:
        rows = []
        with without_gradients():
            for start in range(0, len(texts), BATCH):
                some = texts[start : start + BATCH]
                # longer texts are cut, as CLIP was trained
                found = tower.get_text_features(**words(some, padding=True, truncation=True, return_tensors="pt"))
                # later versions give an output with the features in it
                rows.append(as_array(getattr(found, "pooler_output", found)))
        return np.concatenate(rows)

    return encode


def without_gradients() -> Any:
    """What keeps torch from recording, where it is there."""
    try:
        return importlib.import_module("torch").no_grad()
    except ImportError:
        return nullcontext()


def as_array(rows: Any) -> Any:
    """A tensor, wherever it is, as an array."""
    for step in ("detach", "cpu", "float", "numpy"):
        rows = getattr(rows, step, lambda rows=rows: rows)()
    return np.asarray(rows)
