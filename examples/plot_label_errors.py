"""
Wrong labels
============

Every tenth label of a concept is turned round; the rows that contradict their labels come first.
"""

import matplotlib.pyplot as plt
import numpy as np

from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes

scenes = load_scenes()
train = scenes.split.train
X, Y = scenes.vectors[train], scenes.coarse[train].copy()
wrong = np.random.default_rng(0).random(Y.shape) < 0.1
Y[wrong] = ~Y[wrong]
model = ConceptSubspaces(4, max_iter=2).fit(X, Y, scenes.coarse_names)
errors = model.label_errors(X, Y)
print(errors)

hits = wrong[errors.rows, [scenes.coarse_names.index(name) for name in errors.concepts]]
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(np.cumsum(hits) / np.arange(1, len(hits) + 1))
ax.axhline(wrong.mean(), color="#9aa5ab", label="by chance")
ax.set(xlabel="labels looked at", ylabel="of them wrong", ylim=(0, 1.05))
ax.legend()
