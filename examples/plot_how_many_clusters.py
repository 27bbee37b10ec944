"""
How many clusters are there?
============================

A range, with the curve behind it; and for noise the answer that there is no clear structure.
"""

from sklearn.datasets import load_wine

from pellucid import CommonalityClustering

found = CommonalityClustering(random_state=0).select_n_clusters(load_wine().data, range(2, 11))
print(found)
ax = found.plot()
