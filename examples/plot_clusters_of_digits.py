"""
Clusters, once what all share is set aside
==========================================

Handwritten digits as a mean, what is a cluster's own, and what all clusters share.
"""

import numpy as np
from sklearn.datasets import load_digits

from pellucid import CommonalityClustering
from pellucid.metrics import clustering_error

digits = load_digits(n_class=6)
model = CommonalityClustering(6, random_state=0).fit(digits.data)
print(f"{clustering_error(digits.target, model.labels_):.1%} in the wrong cluster")
first_of_each = np.unique(model.labels_, return_index=True)[1]
ax = model.plot_parts(digits.data[first_of_each], (8, 8))
