"""
Clusters of a table, and what sets each apart
=============================================

Thirteen measures of 178 wines, each in its own unit. No label is seen.
"""

from sklearn.datasets import load_wine

from pellucid import CommonalityClustering

wines = load_wine()
model = CommonalityClustering(3, random_state=0).fit(wines.data)
told = model.describe(wines.data, feature_names=wines.feature_names)
print(told)
ax = told.plot()
