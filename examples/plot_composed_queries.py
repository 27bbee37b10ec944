"""
The animal of this with the vehicle of that
===========================================

A query composed of parts of two items. Each result says how much of its score comes from which part.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt

from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch

scenes = load_scenes()
train = scenes.split.train
model = ConceptSubspaces(6).fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
search = ConceptSearch(Collection.create(mkdtemp() + "/scenes", scenes.vectors, text=scenes.texts), model)

animal, vehicle = (scenes.coarse_names.index(name) for name in ("animal", "vehicle"))
first = next(i for i in scenes.split.queries if scenes.coarse[i, animal])
second = next(i for i in scenes.split.queries if scenes.coarse[i, vehicle] and not scenes.coarse[i, animal])
print("animal of: ", scenes.texts[first])
print("vehicle of:", scenes.texts[second])
hits = search.search([(str(first), "animal", 1), (str(second), "vehicle", 1)], k=6)

figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
left = [0.0] * len(hits)
for name in hits[0].aspects:
    widths = [hit.aspects[name] for hit in hits]
    ax.barh([hit.item["text"][:60] for hit in hits], widths, left=left, label=str(name))
    left = [a + b for a, b in zip(left, widths)]
ax.set(xlabel="score")
ax.invert_yaxis()
ax.legend()
