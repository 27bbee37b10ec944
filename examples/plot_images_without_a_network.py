"""
Vectors of images without a network
===================================

Two closed-form layers learn from patches of digits; the dictionary, in the order of the embedding.
"""

from sklearn.datasets import load_digits

from pellucid import PatchManifoldTransform, plots
from pellucid.metrics import soft_knn_accuracy

digits = load_digits()
images = (digits.images / 16).astype("float32")
model = PatchManifoldTransform(
    patch_size=3, n_atoms=200, context=2, n_components=24, whitening=0.1, contrast=0.3, pool=2,
    constraint="degree", random_state=0,
).fit(images[:1200])  # fmt: skip
rows = model.transform(images)
print(soft_knn_accuracy(rows[:1200], digits.target[:1200], rows[1200:], digits.target[1200:]))
ax = plots.dictionary(model, n_atoms=128)
