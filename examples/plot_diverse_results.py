"""
Diverse results
===============

The eight nearest scenes repeat themselves; eight of the nearest hundred need not.
"""

import matplotlib.pyplot as plt
import numpy as np

from pellucid.datasets import load_scenes
from pellucid.selection import diversify

scenes = load_scenes()
close = scenes.vectors @ scenes.vectors[77]
nearest = np.argsort(-close)[1:101]
chosen = nearest[diversify(scenes.vectors[nearest], 8, relevance=close[nearest])]


def labels_seen(rows):
    return [int(scenes.fine[rows[: k + 1]].any(axis=0).sum()) for k in range(len(rows))]


figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for rows, label in ((nearest[:8], "the nearest"), (chosen, "diversify")):
    ax.plot(range(1, 9), labels_seen(rows), marker="o", label=f"{label}, mean cosine {close[rows].mean():.2f}")
ax.set(xlabel="results", ylabel="different labels among them")
ax.legend()
