"""GloVe (Pennington, Socher and Manning 2014) on a graph of counts: the baseline of paper 4's Table 1."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from math import gcd
from pathlib import Path

import numpy as np

from pellucid._core.build import compiler, this_machine

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


@cache
def library():
    """The loop, compiled like the package's own kernels, but with sums in any order."""
    command, _ = compiler(this_machine())
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "glove.so"
        source = Path(__file__).with_name("glove.c")
        options = ["-O3", "-march=native", "-ffast-math", "-fPIC", "-shared"]
        subprocess.run([*command, *options, str(source), "-o", str(made), "-lm"], check=True)
        loop = ctypes.CDLL(str(made)).epoch
    numbers, pointer = (ctypes.c_int64, ctypes.c_double), ctypes.c_void_p
    loop.argtypes = [numbers[0]] * 3 + [pointer] * 5 + [numbers[1]] * 2 + [pointer] * 4 + [ctypes.c_float]
    loop.restype = ctypes.c_double
    return loop


def epoch(step, runs, columns, counts, ceiling, power, W, C, W2, C2, rate):
    given = [np.ascontiguousarray(part, dtype=np.int64) for part in runs]
    given += [np.ascontiguousarray(columns, dtype=np.int32), np.ascontiguousarray(counts, dtype=np.float32)]
    addresses = [array.ctypes.data for array in given]
    trained = [array.ctypes.data for array in (W, C, W2, C2)]
    return library()(step, len(given[0]), W.shape[1] - 1, *addresses, ceiling, power, *trained, rate)
