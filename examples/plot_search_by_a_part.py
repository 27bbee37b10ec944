"""
Search by a part of an item
===========================

"More like the *animal* in this one": what is looked for is the part of the item that lies in the concept's
cone. Filled dots mark results that have the concept.
"""

from tempfile import mkdtemp

from pellucid import ConceptSubspaces, plots
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch

scenes = load_scenes()
train = scenes.split.train
model = ConceptSubspaces(6).fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
search = ConceptSearch(Collection.create(mkdtemp() + "/scenes", scenes.vectors, text=scenes.texts), model)

i, animal = int(scenes.split.queries[1]), scenes.coarse_names.index("animal")
ax = plots.neighbours(
    search.search(str(i), concept="animal", k=6),
    search.search(str(i), k=6),
    query=scenes.texts[i],
    concept="animal",
    relevant=lambda hit: scenes.coarse[hit.position, animal],
)
