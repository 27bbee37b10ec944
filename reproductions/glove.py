"""GloVe (Pennington, Socher and Manning 2014) on a graph of counts: the baseline of paper 4's Table 1."""

from __future__ import annotations

import numpy as np
from numba import njit


def glove(counts, n_components, *, epochs=25, rate=0.05, ceiling=100.0, power=0.75, seed=0):
    """Vectors (K, n_components): word and context vectors added up, by AdaGrad on Σ f(x)(wᵀv + b + c − log x)²."""
    rng = np.random.default_rng(seed)
    entries = counts.tocoo()
    rows, columns = (index.astype(np.int64) for index in entries.coords)
    K = counts.shape[0]
    weights = np.minimum(1.0, entries.data / ceiling) ** power
    parameters = [(rng.random((K, n_components + 1)) - 0.5) / n_components for _ in range(2)]
    squares = [np.ones((K, n_components + 1)) for _ in range(2)]
    logs = np.log(entries.data)
    for _ in range(epochs):
        epoch(rng.permutation(len(rows)), rows, columns, logs, weights, *parameters, *squares, rate)
    return (parameters[0] + parameters[1])[:, :n_components]


@njit(cache=True)
def epoch(order, rows, columns, logs, weights, W, C, W2, C2, rate):
    n = W.shape[1] - 1
    total = 0.0
    for k in order:
        w, c, w2, c2 = W[rows[k]], C[columns[k]], W2[rows[k]], C2[columns[k]]
        error = w[n] + c[n] - logs[k]
        for j in range(n):
            error += w[j] * c[j]
        total += weights[k] * error * error
        step = weights[k] * error
        for j in range(n):
            a, b = step * c[j], step * w[j]
            w[j] -= rate * a / np.sqrt(w2[j])
            c[j] -= rate * b / np.sqrt(c2[j])
            w2[j] += a * a
            c2[j] += b * b
        w[n] -= rate * step / np.sqrt(w2[n])
        c[n] -= rate * step / np.sqrt(c2[n])
        w2[n] += step * step
        c2[n] += step * step
    return total
