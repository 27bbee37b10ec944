"""
Explainable search: why was this retrieved?
===========================================

The cosine of two items as a sum of what they share in each concept. The terms add up to the score, whatever
was asked.
"""

from tempfile import mkdtemp

from pellucid import ConceptSubspaces, plots
from pellucid.concepts import Vocabulary
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch

scenes = load_scenes()
train = scenes.split.train
model = ConceptSubspaces(6).fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
search = ConceptSearch(Collection.create(mkdtemp() + "/scenes", scenes.vectors, text=scenes.texts), model)

i = int(scenes.split.queries[1])
hit = search.search(str(i), k=1)[0]
why = search.explain(str(i), hit.id, vocabulary=Vocabulary(scenes.words, scenes.word_vectors))
ax = plots.explanation(why, title=hit.item["text"])
