"""
Topics over time
================

The share of each concept a month, with bands, and where it changed.
"""

import numpy as np

from pellucid import ConceptSubspaces, compare
from pellucid.datasets import load_scenes

scenes = load_scenes()
train, rest = scenes.split.train, np.r_[scenes.split.queries, scenes.split.candidates]
model = ConceptSubspaces().fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)

rng = np.random.default_rng(0)
weight = 1.0 + scenes.coarse[rest, scenes.coarse_names.index("animal")]
late = np.arange(2000) > 1200
items = np.where(late, rng.choice(rest, 2000, p=weight / weight.sum()), rng.choice(rest, 2000))
days = np.datetime64("2025-01-01") + np.arange(2000) // 8
trends = compare(scenes.vectors[items], model=model, dates=days)
print(trends)
ax = trends.plot()
