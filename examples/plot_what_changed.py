"""
What changed between two sets?
==============================

Two samples of scenes; in one of them scenes with animals are twice as likely. Differences with intervals,
false findings held at 5 %.
"""

import numpy as np

from pellucid import ConceptSubspaces, compare
from pellucid.datasets import load_scenes

scenes = load_scenes()
train, rest = scenes.split.train, np.r_[scenes.split.queries, scenes.split.candidates]
model = ConceptSubspaces().fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)

rng = np.random.default_rng(0)
weight = 1.0 + scenes.coarse[rest, scenes.coarse_names.index("animal")]
march, february = rng.choice(rest, 3000, p=weight / weight.sum()), rng.choice(rest, 3000)
found = compare(scenes.vectors[march], scenes.vectors[february], model=model)
print(found)
ax = found.plot()
