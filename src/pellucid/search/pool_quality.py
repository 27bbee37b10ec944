"""What a quantised pool saves, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix
from pellucid.metrics import mean_average_precision
from pellucid.search.engines.exact import ExactEngine


class Pool(Protocol):
    """Anything that ranks items and says how much room they take."""

    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

    @property
    def nbytes(self) -> int: ...


@dataclass(frozen=True)
class PoolReport:
    """What a quantised pool saves and what it costs.

    Attributes
    ----------
    full_bytes : int
        Bytes of the rows in float32.
    pool_bytes : int
        Bytes of the pool.
    k : int
        Length of the lists.
    recall : float
        Share of the k nearest rows that the pool returns too.
    score_error : float
        Mean difference between a returned score and the cosine with the row itself.
    map_full : float
        Mean average precision of the rows; nan without relevance.
    map_pool : float
        That of the pool; nan without relevance.

    See Also
    --------
    pool_report : Makes it.

    Examples
    --------
    >>> from pellucid.search import PoolReport
    >>> PoolReport(4096, 512, 10, 0.9, 0.01, float("nan"), float("nan")).saving
    8.0
    """

    full_bytes: int
    pool_bytes: int
    k: int
    recall: float
    score_error: float
    map_full: float
    map_pool: float

    @property
    def saving(self) -> float:
        """How many times smaller the pool is."""
        return self.full_bytes / self.pool_bytes

    def __str__(self) -> str:
        lines = [
            f"{self.full_bytes:,} bytes as float32, {self.pool_bytes:,} quantised: {self.saving:.1f} times less",
            f"recall@{self.k} {self.recall:.3f}, scores off by {self.score_error:.4f} on average",
        ]
        if not np.isnan(self.map_full):
            lines.append(f"mAP@{self.k} {self.map_full:.3f} from the rows, {self.map_pool:.3f} from the pool")
        return "\n".join(lines)


def pool_report(
    pool: Pool, vectors: ArrayLike, queries: ArrayLike, k: int = 20, relevance: ArrayLike | None = None
) -> PoolReport:
    """Compare a quantised pool with the rows it was made from.

    Parameters
    ----------
    pool : TokenPool or engine
        A :class:`TokenPool` (made from rows with :func:`unit_tokens`: compare it with those), or an engine that is
        loaded and tells its ``nbytes``.
    vectors : array-like of shape (n, d)
        The rows.
    queries : array-like of shape (q, d)
        Queries.
    k : int, default=20
        Length of the lists.
    relevance : array-like of shape (q, n), default=None
        Which items each query should find.

    Returns
    -------
    PoolReport
        Bytes, recall and error; print it for a text.

    Raises
    ------
    ValueError
        If ``relevance`` has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.search import TokenPool, pool_report, unit_tokens
    >>> rows = unit_tokens(np.random.default_rng(0).standard_normal((50, 8)), 2)
    >>> pool = TokenPool.learn(rows, n_tokens=2, n_codes=50, random_state=0)
    >>> pool_report(pool, rows, rows[:5], k=3).recall
    1.0
    """
    rows, wanted = as_matrix(vectors, "vectors"), as_matrix(queries, "queries")
    exact = ExactEngine()
    exact.load([rows], np.ones(len(rows), dtype=bool))
    nearest, _ = exact.search(wanted, k)
    found, scores = pool.search(wanted, k)
    shared = [len(np.intersect1d(a, b)) / len(a) for a, b in zip(nearest, found)]
    units = unit_rows(wanted.astype(np.float64))
    true = [unit_rows(rows[places].astype(np.float64)) @ query for places, query in zip(found, units)]
    quality = np.full(2, np.nan)
    if relevance is not None:
        relevant = np.asarray(relevance, dtype=bool)
        if relevant.shape != (len(wanted), len(rows)):
            raise ValueError(f"relevance must be {(len(wanted), len(rows))}, but is {relevant.shape}.")
        quality = np.array([mean_average_precision(np.take_along_axis(relevant, p, 1), k) for p in (nearest, found)])
    return PoolReport(
        full_bytes=rows.size * 4,
        pool_bytes=pool.nbytes,
        k=k,
        recall=float(np.mean(shared)),
        score_error=float(np.abs(np.array(true) - scores).mean()),
        map_full=float(quality[0]),
        map_pool=float(quality[1]),
    )
