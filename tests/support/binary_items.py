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


def own_part(along, squares, centred, lengths):
    """What item i added to ⟨x̄ᵢ, q⟩ by taking part in finding the unit directions q, to first order; all (p, b)."""
    pull = centred * lengths
    stiffness = (pull**2).sum(axis=0)
    both = 1 / (stiffness[:, None] + stiffness)
    outside = (squares - (along**2).sum(axis=1))[:, None]
    return pull * (outside / stiffness + along**2 @ both) - along * ((pull * along) @ both)


def alternated(X, S, rounds, leave_one_out):
    """Bits after alternating components and bits, and the share of |X|² that the components leave; slow and plain."""
    squares, before, left = (X**2).sum(axis=1), None, 1.0
    for turn in range(rounds):
        mean = S.mean(axis=0)
        centred, sizes = S - mean, np.maximum(len(S) * mean * (1 - mean), 1e-9)
        along = centred.T @ X
        if turn == 0:
            lengths = np.linalg.norm(along, axis=1) / sizes
        u, values, v = np.linalg.svd(along * lengths[:, None], full_matrices=False)
        if values[0] == 0:
            break
        rotation = u * np.minimum(values / values[0] / np.sqrt(1e-9), 1) @ v  # what has no direction gets none
        lengths = np.maximum((along * rotation).sum(axis=1) / sizes, 1e-9)
        left = 1 - lengths**2 @ sizes / squares.sum()
        scores = X @ rotation.T
        if leave_one_out:
            scores -= own_part(scores, squares, centred, lengths)
        after = (scores > (0.5 - mean) * lengths).astype(np.uint8)
        constant = np.isin(after.sum(axis=0), (0, len(S)))
        after[:, constant] = S[:, constant]
        if np.array_equal(after, S) or (before is not None and np.array_equal(after, before)):
            break
        before, S = S, after
    return S, left
