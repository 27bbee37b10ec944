"""
Concept erasure
===============

The least change after which no linear predictor that is trained on these rows can tell a concept. Probes
before and after.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pellucid import ConceptErasure
from pellucid.datasets import load_scenes

scenes = load_scenes()
animal = scenes.coarse_names.index("animal")
erased = ConceptErasure().fit_transform(scenes.vectors, scenes.coarse[:, animal])
train, test = scenes.split.train, scenes.split.candidates


def told(X, j):
    """How well a probe tells the concept of rows that it was not trained on."""
    probe = LogisticRegression(C=10, max_iter=1000).fit(X[train], scenes.coarse[train, j])
    return roc_auc_score(scenes.coarse[test, j], probe.decision_function(X[test]))


names = ["animal", "person", "food", "vehicle"]
columns = [scenes.coarse_names.index(name) for name in names]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for shift, X, label in ((-0.2, scenes.vectors, "before"), (0.2, erased, "animal erased")):
    bars = ax.bar(np.arange(4) + shift, [told(X, j) for j in columns], 0.38, label=label)
    ax.bar_label(bars, fmt="%.2f")
ax.set(xticks=range(4), xticklabels=names, ylabel="AUC of a probe", ylim=(0, 1.15))
ax.axhline(0.5, color="#9aa5ab", linewidth=1)
ax.legend(ncols=2)
