"""Items whose binary concepts are known."""

import numpy as np


def random_bits(p, b, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (p, b))


def embed(S, weights, d, seed=0, noise=0.0):
    """Items S √π Qᵀ with Q orthonormal, shifted."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, S.shape[1])))[0]
    return S * np.sqrt(weights) @ Q.T + rng.standard_normal(d) + noise * rng.standard_normal((len(S), d))


def tree(p, seed):
    """Concepts of a random hierarchy of 2 to 4 branches, each once (complements are equal), items in random order."""
    rng = np.random.default_rng(seed)
    found = {}

    def divide(items):
        if len(items) < 2:
            return
        cuts = np.sort(rng.choice(np.arange(1, len(items)), min(rng.integers(2, 5), len(items)) - 1, replace=False))
        for part in np.split(items, cuts):
            concept = np.isin(np.arange(p), part)
            found.setdefault((concept ^ concept[0]).tobytes(), concept)
            divide(part)

    divide(np.arange(p))
    return np.array(list(found.values())).T.astype(int)[rng.permutation(p)]
