"""
How many atoms does a concept need?
===================================

Few atoms filter cleanly, more keep the detail within a concept. What validation queries retrieve with each
number.
"""

from pellucid import ConceptSubspaces
from pellucid.datasets import load_scenes

scenes = load_scenes()
X, (train, val, pool) = scenes.vectors, (scenes.split.train, scenes.split.validation, scenes.split.candidates)
found = ConceptSubspaces(max_iter=3).select_n_atoms(
    X[train], scenes.coarse[train], X[val], X[pool], scenes.coarse[val], scenes.coarse[pool],
    query_fine=scenes.fine[val], candidate_fine=scenes.fine[pool], fine_to_coarse=scenes.fine_to_coarse,
    sizes=(2, 4, 6),
)  # fmt: skip
print(found.best, found.best_general)
ax = found.plot()
