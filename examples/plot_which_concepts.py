"""
Interpretable embeddings: what is in this vector?
=================================================

A vector as a sum of parts, one for each concept that it has. The labels of 1 800 scenes teach the concepts;
the scene below was not among them.
"""

from pellucid import ConceptSubspaces, plots
from pellucid.datasets import load_scenes

scenes = load_scenes()
train = scenes.split.train
model = ConceptSubspaces(6).fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)

i = scenes.split.queries[1]
ax = plots.component_bars(model, scenes.vectors[i], title=scenes.texts[i])
