"""The pictures of the page about selection."""

from pathlib import Path
from textwrap import shorten

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from pellucid.datasets import load_scenes
from pellucid.selection import diversify

NEW, OLD = "#1b6ca8", "#9aa5ab"


def plain_and_diverse_list(folder: Path, query: int = 77, k: int = 8) -> None:
    """The k scenes nearest to one, and k diverse ones of the nearest hundred, with the labels that each adds."""
    scenes = load_scenes()
    close = scenes.vectors @ scenes.vectors[query]
    close[query] = -np.inf
    listed = np.argsort(-close, kind="stable")[:100]
    chosen = listed[diversify(scenes.vectors[listed], k, close[listed])]
    figure, panels = plt.subplots(1, 2, figsize=(13.5, 4.9), layout="constrained")
    figure.suptitle(f"nearest to “{scenes.texts[query]}”", fontsize=12)
    titles = "plain list", "diversify, as it comes"
    for panel, title, rows in zip(panels, titles, (listed[:k], chosen)):
        seen: set[str] = set()
        for place, row in enumerate(rows):
            labels = [scenes.fine_names[i] for i in np.flatnonzero(scenes.fine[row])]
            fresh = [name for name in labels if name not in seen]
            seen.update(labels)
            y = k - place
            panel.text(
                0, y, f"{close[row]:.2f}  {shorten(scenes.texts[row], 72, placeholder=' …')}", fontsize=9.5, va="center"
            )
            note = "new: " + ", ".join(fresh) if fresh else "nothing new"
            panel.text(0.1, y - 0.38, note, fontsize=8.5, va="center", color=NEW if fresh else OLD)
        panel.set(xlim=(0, 2), ylim=(0.3, k + 0.6), title=f"{title}: {len(seen)} labels")
        panel.axis("off")
    figure.savefig(folder / "selection-lists.png", dpi=110)
    plt.close(figure)


def selection_pictures(folder: Path) -> None:
    plain_and_diverse_list(folder)


if __name__ == "__main__":
    selection_pictures(Path(__file__).parent)
