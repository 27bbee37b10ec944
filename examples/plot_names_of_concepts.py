"""
What is in a concept, in words
==============================

The words whose vectors lie nearest to each cone. The darker a word, the less of it is left outside.
"""

from pellucid import ConceptSubspaces, plots
from pellucid.datasets import load_scenes

scenes = load_scenes()
train = scenes.split.train
model = ConceptSubspaces(6).fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
ax = plots.captions(model.captions(scenes.words, scenes.word_vectors))
