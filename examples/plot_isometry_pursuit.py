"""
A few rows that span the rest without distortion
================================================

Four flowers in whose terms all other flowers can be said, as orthonormal as possible; and whether that choice
is proven the best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from pellucid import IsometryPursuit

X = load_iris().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
model = IsometryPursuit().fit(X)
print(f"rows {model.selected_}, loss {model.loss_:.3f}, proven the best: {model.optimal_}")

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.scatter(X[:, 2], X[:, 1], s=12, color="#9aa5ab")
ax.scatter(X[model.selected_, 2], X[model.selected_, 1], s=60, color="#b4441f", label="chosen")
ax.set(xlabel="petal length", ylabel="sepal width")
ax.legend()
