"""Rows as tokens of unit length, queries as token codes with scales, and codebooks of tokens."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite

# rows for each code that a codebook is learned from, and sweeps of k-means
PER_CODE = 64
SWEEPS = 20


def unit_tokens(X: ArrayLike, n_tokens: int) -> NDArray[Any]:
    """Cut rows into equal parts and scale each to unit length; parts of zeros stay.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    n_tokens : int
        Parts, a divisor of d.

    Returns
    -------
    ndarray of shape (n, d)
        The parts laid end to end.

    Raises
    ------
    ValueError
        If ``n_tokens`` does not divide d, or a value is not finite.

    Examples
    --------
    >>> from pellucid.search import unit_tokens
    >>> unit_tokens([[3.0, 4.0, 0.0, 2.0]], n_tokens=2).tolist()
    [[0.6, 0.8, 0.0, 1.0]]
    """
    rows = as_matrix(X, "X")
    if type(n_tokens) is not int or n_tokens < 1 or rows.shape[1] % n_tokens:
        raise ValueError(f"n_tokens must divide the dimension {rows.shape[1]}, got {n_tokens!r}.")
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
    check_finite(rows, "X")
    return np.asarray(unit_rows(rows.reshape(len(rows), n_tokens, -1)).reshape(rows.shape))


@dataclass(frozen=True)
class TokenQueries:
    """Queries as codes with scales: token t of query i is ``steps[i] * scales[i, t]`` times entry ``codes[i, t]``.

    Attributes
    ----------
    codes : ndarray of shape (q, T)
        Entry of the codebook that each token points along.
    scales : ndarray of shape (q, T)
        Length of each token, in steps.
    steps : ndarray of shape (q,)
        Length of a step.
    scale_bits : int
        Bits of a scale.

    See Also
    --------
    TokenPool.quantise : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.search import TokenPool
    >>> queries = TokenPool([[0, 1], [1, 0]], np.eye(2)).quantise([[1, 0, 0, 4]])
    >>> queries.codes.tolist(), queries.scales.tolist()
    ([[0, 1]], [[64, 255]])
    """

    codes: NDArray[np.unsignedinteger[Any]]
    scales: NDArray[np.uint8]
    steps: NDArray[np.float32]
    scale_bits: int

    @property
    def nbytes(self) -> int:
        """Bytes to store or send, scales packed to their bits; a token whose scale is zero needs no code."""
        codes = int(np.count_nonzero(self.scales)) * self.codes.itemsize
        return codes + -(-self.scales.size * self.scale_bits // 8) + self.steps.nbytes


def codebook(tokens: NDArray[Any], n_codes: int, random_state: int | None) -> NDArray[Any]:
    """Unit vectors (K, d/T) by k-means on tokens (n, d/T)."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    chosen = np.random.default_rng(random_state).permutation(len(tokens))[: PER_CODE * n_codes]
    means = KMeans(n_codes, init="random", n_init=1, max_iter=SWEEPS, random_state=random_state)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct tokens than codes; some are then equal
        centres: NDArray[Any] = unit_rows(means.fit(tokens[chosen]).cluster_centers_)
    centres[~centres.any(axis=1), 0] = 1  # opposite tokens may have no direction in the mean: take any
    return centres
