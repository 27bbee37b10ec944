"""A small collection and model for the explorer's tests."""

import numpy as np

from pellucid import ConceptSubspaces
from pellucid.search import Collection

NAMES = ["animal", "plant & tree", "ding 'ö'"]
PNG = b"\x89PNG\r\n\x1a\n" + b"not a real picture"


def planted(n=60, d=12, seed=0):
    """Rows that are sums of positive parts from the cones of one or two of three concepts."""
    rng = np.random.default_rng(seed)
    atoms = np.abs(rng.normal(size=(3, 2, d))) * rng.choice([-1, 1], size=(3, 1, d))
    Y = np.zeros((n, 3), dtype=bool)
    Y[np.arange(n), np.arange(n) % 3] = True
    Y[::5, 0] = True
    X = np.einsum("ns,nsk,skd->nd", Y.astype(float), rng.uniform(0.5, 1, size=(n, 3, 2)), atoms)
    return (X + 0.01 * rng.normal(size=X.shape)).astype(np.float32), Y


def small_model(X, Y):
    return ConceptSubspaces(2, max_iter=3, random_state=0, center=False).fit(X, Y, NAMES)


def small_collection(folder, X, Y, **more):
    labels = [[name for name, on in zip(NAMES, row) if on] for row in Y]
    ids = ["a/b?c=d&e", 'naïve "quote"', *(f"item-{i}" for i in range(2, len(X)))]
    words = ("cat", "fox", "hen", "oak", "fern", "moss", "jar", "rope")
    texts = ["a cat sits", "Ein Baum, ein Ding", *(f"{words[i % 8]} number {i}" for i in range(2, len(X)))]
    return Collection.create(
        folder, X, ids, text=texts, labels=labels, kind=[f"k{i % 2}" for i in range(len(X))], **more
    )
