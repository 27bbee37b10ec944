"""GloVe (Pennington, Socher and Manning 2014) on a graph of counts: the baseline of paper 4's Table 1."""

from __future__ import annotations

from math import gcd

import numpy as np
from numba import njit


def glove(counts, n_components, *, epochs=10, rate=0.05, ceiling=100.0, power=0.75, seed=0):
    """Vectors (K, n_components): word and context vectors added up, by AdaGrad on Σ f(x)(wᵀv + b + c − log x)².

    Entries are visited in the order of multiples of a number prime to how many there are: shuffled without a list.
    """
    rng = np.random.default_rng(seed)
    K, n = counts.shape[0], counts.nnz
    rows = np.repeat(np.arange(K, dtype=np.int32), np.diff(counts.indptr))
    start = lambda: ((rng.random((K, n_components + 1)) - 0.5) / n_components).astype(np.float32)  # noqa: E731
    parameters = [start(), start()]
    squares = [np.ones((K, n_components + 1), dtype=np.float32) for _ in range(2)]
    for _ in range(epochs):
        step = int(rng.integers(n // 3, n)) | 1
        while gcd(step, n) > 1:
            step += 2
        epoch(step, rows, counts.indices, counts.data, ceiling, power, *parameters, *squares, rate)
    return (parameters[0] + parameters[1])[:, :n_components]


@njit(cache=True)
def epoch(step, rows, columns, counts, ceiling, power, W, C, W2, C2, rate):
    n = W.shape[1] - 1
    total, size, k = 0.0, len(rows), 0
    rate = np.float32(rate)
    for _ in range(size):
        k = (k + step) % size
        w, c, w2, c2 = W[rows[k]], C[columns[k]], W2[rows[k]], C2[columns[k]]
        error = w[n] + c[n] - np.float32(np.log(counts[k]))
        for j in range(n):
            error += w[j] * c[j]
        weight = np.float32(min(1.0, counts[k] / ceiling) ** power)
        total += weight * error * error
        step_size = weight * error
        for j in range(n):
            a, b = step_size * c[j], step_size * w[j]
            w[j] -= rate * a / np.sqrt(w2[j])
            c[j] -= rate * b / np.sqrt(c2[j])
            w2[j] += a * a
            c2[j] += b * b
        w[n] -= rate * step_size / np.sqrt(w2[n])
        c[n] -= rate * step_size / np.sqrt(c2[n])
        w2[n] += step_size * step_size
        c2[n] += step_size * step_size
    return total
