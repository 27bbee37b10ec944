"""
Yes/no structure of a representation
====================================

Eight animals whose vectors are sums of yes/no categories; the categories are found, and drawn as a graph in
which the number of steps is the number of categories that differ.
"""

import numpy as np

from pellucid import IterativeAssignment
from pellucid.binary import Analogram

names = ["trout", "carp", "eagle", "sparrow", "robin", "cat", "lion", "horse"]
groups = [[2, 3, 4], [5, 6, 7], [0, 1], [3, 4], [5, 6], *([i] for i in range(8))]
kinds = np.array([[i in group for group in groups] for i in range(8)]).astype(int)
vectors = kinds @ np.linalg.qr(np.random.default_rng(0).standard_normal((40, len(groups))))[0].T
tree = IterativeAssignment(n_branches=8, random_state=0).fit(vectors)
ax = Analogram(tree.concepts_, names).plot(title="Animals")
