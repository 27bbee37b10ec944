"""
Like this, but not that
=======================

Search with a concept kept out, for 100 scenes that have it: how often it is still among the first 20, beside
a plain search and beside dropping what a classifier finds.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch

scenes = load_scenes()
train = scenes.split.train
model = ConceptSubspaces(6).fit(scenes.vectors[train], scenes.coarse[train], scenes.coarse_names)
search = ConceptSearch(Collection.create(mkdtemp() + "/scenes", scenes.vectors, text=scenes.texts), model)

person = scenes.coarse_names.index("person")
queries = [i for i in scenes.split.queries if scenes.coarse[i, person]][:100]
has = model.predict(scenes.vectors)[:, person]


def still_there(hits):
    return np.mean([scenes.coarse[hit.position, person] for hit in hits[:20]])


ways = {
    "plain": [still_there(search.search(str(i), k=20)) for i in queries],
    "without people, by a filter": [
        still_there([hit for hit in search.search(str(i), k=200) if not has[hit.position]]) for i in queries
    ],
    'without="person"': [still_there(search.search(str(i), without="person", k=20)) for i in queries],
}
figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = ax.barh(list(ways), [100 * np.mean(shares) for shares in ways.values()], color="#1b6ca8")
ax.bar_label(bars, fmt="%.1f %%", padding=3)
ax.set(xlabel="of the first 20 results have a person (%)", xlim=(0, 100))
ax.invert_yaxis()
