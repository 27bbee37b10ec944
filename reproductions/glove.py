"""GloVe (Pennington, Socher and Manning 2014) on a graph of counts: the baseline of paper 4's Table 1."""

from __future__ import annotations

from math import gcd

import numpy as np
from numba import njit

# entries of one row that are visited in a row, which is much faster than jumping from each to the next
RUN = 64


def glove(counts, n_components, *, epochs=10, rate=0.05, ceiling=100.0, power=0.75, seed=0):
    """Vectors (K, n_components): word and context vectors added up, by AdaGrad on Σ f(x)(wᵀv + b + c − log x)².

    Runs of entries are visited in the order of multiples of a number prime to how many there are: shuffled without a
    list.
    """
    rng = np.random.default_rng(seed)
    K = counts.shape[0]
    lengths = np.diff(counts.indptr)
    runs = -(-lengths // RUN)
    rows = np.repeat(np.arange(K), runs)
    n = len(rows)
    nth = np.arange(n) - np.repeat(np.cumsum(runs) - runs, runs)
    first = counts.indptr[rows] + RUN * nth
    last = np.minimum(first + RUN, counts.indptr[rows + 1])
    start = lambda: ((rng.random((K, n_components + 1)) - 0.5) / n_components).astype(np.float32)  # noqa: E731
    parameters = [start(), start()]
    squares = [np.ones((K, n_components + 1), dtype=np.float32) for _ in range(2)]
    for _ in range(epochs):
        step = int(rng.integers(n // 3, n)) | 1
        while gcd(step, n) > 1:
            step += 2
        epoch(step, (rows, first, last), counts.indices, counts.data, ceiling, power, *parameters, *squares, rate)
    return (parameters[0] + parameters[1])[:, :n_components]


@njit(cache=True, fastmath=True)
def epoch(step, runs, columns, counts, ceiling, power, W, C, W2, C2, rate):
    rows, first, last = runs
    n = W.shape[1] - 1
    total, size, run = 0.0, len(rows), 0
    rate = np.float32(rate)
    a, b = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    for _ in range(size):
        run = (run + step) % size
        w, w2 = W[rows[run]], W2[rows[run]]
        for k in range(first[run], last[run]):
            c, c2 = C[columns[k]], C2[columns[k]]
            error = w[n] + c[n] - np.float32(np.log(counts[k]))
            for j in range(n):
                error += w[j] * c[j]
            weight = np.float32(1.0 if counts[k] >= ceiling else (counts[k] / ceiling) ** power)
            total += weight * error * error
            step_size = weight * error
            for j in range(n):
                a[j], b[j] = step_size * c[j], step_size * w[j]
            for j in range(n):
                w[j] -= rate * a[j] / np.sqrt(w2[j])
                w2[j] += a[j] * a[j]
            for j in range(n):
                c[j] -= rate * b[j] / np.sqrt(c2[j])
                c2[j] += b[j] * b[j]
            w[n] -= rate * step_size / np.sqrt(w2[n])
            c[n] -= rate * step_size / np.sqrt(c2[n])
            w2[n] += step_size * step_size
            c2[n] += step_size * step_size
    return total
