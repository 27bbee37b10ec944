"""Writes the sentences, their labels and the word list: ``python -m tools.make_scenes`` (no torch needed)."""

from __future__ import annotations

import json
from pathlib import Path

from .grammar import Writer, taxonomy
from .vocabulary import vocabulary

HOME = Path(__file__).resolve().parents[2] / "src" / "pellucid" / "datasets"


def document() -> dict[str, object]:
    """What ``scenes.json`` holds: the taxonomy, the scenes as [sentence, label, ...] and the words."""
    scenes = [[text, *labels] for text, labels in Writer().scenes()]
    return {"concepts": taxonomy(), "scenes": scenes, "words": vocabulary()}


def dump(content: dict[str, object]) -> str:
    """JSON with one scene a line, so that a change of the grammar shows as a readable difference."""
    parts = []
    for key, value in content.items():
        if key == "scenes" and isinstance(value, list):
            rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    target = HOME / "scenes.json"
    target.write_text(dump(document()), encoding="utf-8")
    print(f"{target.name}: {target.stat().st_size} bytes")
