"""
Topic modelling without labels
==============================

Several named topics for each text, from the vectors and the texts alone. What the fit gives searches and
explains like any model of concepts.
"""

import matplotlib.pyplot as plt

from pellucid import ConceptDiscovery
from pellucid.datasets import load_scenes

scenes = load_scenes()
model = ConceptDiscovery(40).fit(scenes.vectors, texts=scenes.texts)
most = sorted(model.found(), key=lambda topic: -topic.share)[:12]

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.barh([", ".join([topic.name, *topic.words[1:3]]) for topic in most], [100 * topic.share for topic in most])
ax.set(xlabel="of the texts have it (%)")
ax.invert_yaxis()
print(
    scenes.texts[4],
    "->",
    [name for name, has in zip(model.concept_names_, model.predict(scenes.vectors[4:5])[0]) if has],
)
