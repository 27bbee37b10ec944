"""
Which concepts predict a target?
================================

A rating that depends on one concept. A sparse regression on many halves of the rows says which concepts are
chosen again and again.
"""

import numpy as np

from pellucid import ConceptSubspaces, compare
from pellucid.datasets import load_scenes

scenes = load_scenes()
train, rest = scenes.split.train, np.r_[scenes.split.queries, scenes.split.candidates]
model = ConceptSubspaces().fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)

stars = 2.0 * scenes.coarse[rest, 1] + np.random.default_rng(0).standard_normal(len(rest))
drivers = compare(scenes.vectors[rest], model=model, target=stars)
print(drivers)
ax = drivers.plot()
