"""Pools of quantised items (paper 1, section 4.4.1): token codes instead of numbers, look-ups instead of products.

An item is T tokens of d/T numbers, each scaled to unit length and replaced by the nearest entry of a codebook of unit
vectors. Then cos(v, x̃) is, but for lengths, Σ_t G[t, k_t] with a table G[t, k] = vᵗ·c_k that is made once for a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_array, as_matrix, check_finite
from pellucid._core.kernels import kernel
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.metrics import mean_average_precision, top_k
from pellucid.search.engines.exact import ExactEngine

# table entries and scores held at a time
ENTRIES = 1 << 22
# rows for each code that a codebook is learned from, and sweeps of k-means
PER_CODE = 64
SWEEPS = 20


def unit_tokens(X: ArrayLike, n_tokens: int) -> NDArray[Any]:
    """Rows (n, d) cut into ``n_tokens`` equal parts, each scaled to unit length; parts of zeros stay."""
    rows = as_matrix(X, "X")
    if type(n_tokens) is not int or n_tokens < 1 or rows.shape[1] % n_tokens:
        raise ValueError(f"n_tokens must divide the dimension {rows.shape[1]}, got {n_tokens!r}.")
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
    check_finite(rows, "X")
    return np.asarray(unit_rows(rows.reshape(len(rows), n_tokens, -1)).reshape(rows.shape))


@dataclass(frozen=True)
class TokenQueries:
    """Queries as codes with scales: token t of query i is ``steps[i] * scales[i, t]`` times entry ``codes[i, t]``."""

    codes: NDArray[np.unsignedinteger[Any]]
    scales: NDArray[np.uint8]
    steps: NDArray[np.float32]
    scale_bits: int

    @property
    def nbytes(self) -> int:
        """Bytes to store or send, scales packed to their bits; a token whose scale is zero needs no code."""
        codes = int(np.count_nonzero(self.scales)) * self.codes.itemsize
        return codes + -(-self.scales.size * self.scale_bits // 8) + self.steps.nbytes


class TokenPool:
    """Items as token codes, searched by look-ups.

    Parameters
    ----------
    codes : (n, T) whole numbers, which entry of the codebook each token is
    codebook : (K, d/T), one for all tokens, or (T, K, d/T), one for each; entries are scaled to unit length
    """

    def __init__(self, codes: ArrayLike, codebook: ArrayLike) -> None:
        given = as_array(codes, "codes")
        book = as_array(codebook, "codebook")
        if given.ndim != 2 or 0 in given.shape or given.dtype.kind not in "iu":
            raise ValueError(f"codes must be a matrix of whole numbers, but are {given.dtype} of shape {given.shape}.")
        if book.ndim not in (2, 3) or 0 in book.shape or book.dtype.kind != "f":
            raise ValueError(f"codebook must be (K, d) or (T, K, d) real numbers, but is {book.dtype} {book.shape}.")
        if book.ndim == 3 and len(book) != given.shape[1]:
            raise ValueError(f"There are codebooks for {len(book)} tokens, but items have {given.shape[1]}.")
        check_finite(book, "codebook")
        if not book.any(axis=-1).all():
            raise ValueError("codebook has an entry of zero length; its entries are directions.")
        wrong = (given < 0) | (given >= book.shape[-2])
        if wrong.any():
            row, token = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            raise ValueError(f"codes has {given[row, token]} at row {row}, token {token}; there are {book.shape[-2]} "
                             "entries, from 0.")  # fmt: skip
        self.codebook = unit_rows(book.astype(np.float32)).reshape(-1, *book.shape[-2:])  # (1 or T, K, d/T)
        self.codes = np.ascontiguousarray(given, dtype=np.min_scalar_type(book.shape[-2] - 1))

    @classmethod
    def learn(
        cls, X: ArrayLike, n_tokens: int, n_codes: int = 256, *, shared: bool = False, random_state: int | None = None
    ) -> TokenPool:
        """Codebooks by k-means on the unit tokens of rows X (n, d), one for each token or one shared by all; and X."""
        rows = unit_tokens(X, n_tokens)
        tokens = rows.reshape(len(rows), n_tokens, -1).swapaxes(0, 1)
        parts = tokens.reshape(1, -1, tokens.shape[2]) if shared else tokens
        if type(n_codes) is not int or not 1 <= n_codes <= parts.shape[1]:
            raise ValueError(f"n_codes must be between 1 and the {parts.shape[1]} tokens there are, got {n_codes!r}.")
        book = np.stack([_codebook(part, n_codes, random_state) for part in parts])
        pool = cls(np.zeros((1, n_tokens), dtype=np.int64), book if not shared else book[0])
        pool.codes = pool.encode(rows)
        return pool

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        books = "one codebook" if len(self.codebook) == 1 else f"{len(self.codebook)} codebooks"
        return f"TokenPool({len(self)} items of {self.codes.shape[1]} tokens, {books} of {self.codebook.shape[1]})"

    @property
    def dimension(self) -> int:
        return int(self.codes.shape[1] * self.codebook.shape[2])

    @property
    def nbytes(self) -> int:
        """What codes and codebook take."""
        return self.codes.nbytes + self.codebook.nbytes

    def encode(self, X: ArrayLike) -> NDArray[np.unsignedinteger[Any]]:
        """Codes (n, T) of rows X (n, d): for each token the nearest entry; of unit vectors that is the one with the
        largest product. A token of zeros, which is as near to all, gets the first."""
        return self._nearest(X)[0]

    def decode(self, positions: ArrayLike | None = None) -> NDArray[np.float32]:
        """The rows (n, d) that the codes stand for; of all items if None."""
        return self._entries(self.codes if positions is None else self.codes[np.asarray(positions, dtype=np.int64)])

    def table(self, queries: ArrayLike) -> NDArray[np.float64]:
        """G (q, T, K): products of each token of each query with each entry that it may be compared with."""
        rows = self._rows(queries, "queries").astype(np.float64)
        tokens = rows.reshape(len(rows), self.codes.shape[1], -1).swapaxes(0, 1)
        with one_blas_thread():  # many small products
            table = tokens @ self.codebook.astype(np.float64).swapaxes(1, 2)
        return np.ascontiguousarray(table.swapaxes(0, 1))

    def scores(self, queries: ArrayLike | TokenQueries) -> NDArray[np.float64]:
        """Cosines (q, n) of queries with all items."""
        rows = self.restore(queries) if isinstance(queries, TokenQueries) else self._rows(queries, "queries")
        # items have unit tokens, so their length is √T; a query that is a component has any
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1) * np.sqrt(self.codes.shape[1])
        inverse = 1 / np.where(lengths > 0, lengths, np.inf)
        out = np.empty((len(rows), len(self)))
        size = max(1, ENTRIES // (self.codes.shape[1] * self.codebook.shape[1]))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            table = self.table(rows[block]) * inverse[block, None, None]

            def part(first: int, last: int, table: NDArray[Any] = table, block: slice = block) -> None:
                look_up(table, self.codes[first:last], out[block, first:last])

            run_rows(part, len(self), min_rows=4096)
        return out

    def search(self, queries: ArrayLike | TokenQueries, k: int = 20) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Positions and cosines (q, k) of the items nearest to each query."""
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        rows = self.restore(queries) if isinstance(queries, TokenQueries) else self._rows(queries, "queries")
        size = max(1, ENTRIES // len(self))
        positions, best = [], []
        for start in range(0, len(rows), size):
            scores = self.scores(rows[start : start + size])
            positions.append(top_k(scores, k))
            best.append(np.take_along_axis(scores, positions[-1], axis=1))
        return np.concatenate(positions), np.concatenate(best)

    def quantise(self, queries: ArrayLike, scale_bits: int = 8) -> TokenQueries:
        """Queries (q, d), whose tokens may have any length, as codes of this pool's codebook with scales.

        (g, c) = argmin ‖vᵗ − gc‖ over g ≥ 0 and the entries c: since they have unit length, c has the largest product
        with vᵗ and g is that product, or 0. Scales are rounded to ``scale_bits`` (1 to 8) of the query's largest.
        """
        if type(scale_bits) is not int or not 1 <= scale_bits <= 8:
            raise ValueError(f"scale_bits must be a whole number from 1 to 8, got {scale_bits!r}.")
        codes, products = self._nearest(queries)
        scales = np.maximum(products, 0.0)
        steps = scales.max(axis=1) / (2**scale_bits - 1)
        rounded = np.rint(scales / np.where(steps > 0, steps, 1)[:, None])
        return TokenQueries(codes, rounded.astype(np.uint8), steps.astype(np.float32), scale_bits)

    def restore(self, queries: TokenQueries) -> NDArray[np.float32]:
        """The vectors (q, d) that quantised queries stand for."""
        entries = self._entries(queries.codes).reshape(*queries.codes.shape, -1)
        scales = queries.scales * queries.steps[:, None]
        return np.asarray((entries * scales[:, :, None]).reshape(len(entries), -1), dtype=np.float32)

    def _rows(self, X: ArrayLike, name: str) -> NDArray[Any]:
        rows = as_matrix(X, name)
        if rows.shape[1] != self.dimension:
            raise ValueError(f"{name} has {rows.shape[1]} columns, but the pool has {self.dimension}.")
        check_finite(rows, name)
        return rows

    def _nearest(self, X: ArrayLike) -> tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.float64]]:
        """For each token the entry with the largest product, and the product."""
        rows = self._rows(X, "X")
        codes = np.empty((len(rows), self.codes.shape[1]), dtype=self.codes.dtype)
        products = np.empty(codes.shape)
        size = max(1, ENTRIES // (self.codes.shape[1] * self.codebook.shape[1]))
        for start in range(0, len(rows), size):
            table = self.table(rows[start : start + size])
            best = table.argmax(axis=2)
            codes[start : start + size] = best
            products[start : start + size] = np.take_along_axis(table, best[:, :, None], axis=2)[:, :, 0]
        return codes, products

    def _entries(self, codes: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.float32]:
        token = np.arange(codes.shape[1]) if len(self.codebook) > 1 else 0
        return np.asarray(self.codebook[token, codes].reshape(len(codes), -1))


def _codebook(tokens: NDArray[Any], n_codes: int, random_state: int | None) -> NDArray[Any]:
    """Unit vectors (K, d/T) by k-means on tokens (n, d/T)."""
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    chosen = np.random.default_rng(random_state).permutation(len(tokens))[: PER_CODE * n_codes]
    means = KMeans(n_codes, init="random", n_init=1, max_iter=SWEEPS, random_state=random_state)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct tokens than codes; some are then equal
        centres: NDArray[Any] = unit_rows(means.fit(tokens[chosen]).cluster_centers_)
    centres[~centres.any(axis=1), 0] = 1  # opposite tokens may have no direction in the mean: take any
    return centres


@kernel
def look_up(table: NDArray[Any], codes: NDArray[Any], out: NDArray[Any]) -> None:
    """out[q, i] = Σ_t table[q, t, codes[i, t]]."""
    for q in range(table.shape[0]):
        for i in range(codes.shape[0]):
            total = 0.0
            for t in range(codes.shape[1]):
                total += table[q, t, codes[i, t]]
            out[q, i] = total


class Pool(Protocol):
    """Anything that ranks items and says how much room they take."""

    def search(self, queries: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

    @property
    def nbytes(self) -> int: ...


@dataclass(frozen=True)
class PoolReport:
    """What a quantised pool saves and what it costs.

    full_bytes, pool_bytes : the rows in float32, and the pool
    recall : share of the k nearest rows that the pool returns too
    score_error : mean difference between a returned score and the cosine with the row itself
    map_full, map_pool : mAP@k of the rows and of the pool (nan without relevance)
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
    """Compare a quantised pool with the rows (n, d) it was made from, on queries (q, d).

    ``pool`` is a :class:`TokenPool` (made from rows with :func:`unit_tokens`: compare it with those) or an engine that
    is loaded and tells its ``nbytes``. ``relevance`` (q, n) says which items each query should find.
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
