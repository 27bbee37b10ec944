"""Pools of quantised items (paper 1, section 4.4.1): token codes instead of numbers, look-ups instead of products.

An item is T tokens of d/T numbers, each scaled to unit length and replaced by the nearest entry of a codebook of unit
vectors. Then cos(v, x̃) is, but for lengths, Σ_t G[t, k_t] with a table G[t, k] = vᵗ·c_k that is made once for a query.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_array, as_matrix, check_finite
from pellucid._core.kernels import look_up
from pellucid._core.threads import one_blas_thread, run_rows
from pellucid.metrics import top_k
from pellucid.search.tokens import TokenQueries, codebook, unit_tokens

# table entries and scores held at a time
ENTRIES = 1 << 22


class TokenPool:
    """Items as token codes, searched by look-ups.

    Parameters
    ----------
    codes : array-like of int of shape (n, T)
        Which entry of the codebook each token is.
    codebook : array-like of shape (K, d/T) or (T, K, d/T)
        One for all tokens, or one for each; entries are scaled to unit length.

    Attributes
    ----------
    codes : ndarray of shape (n, T)
        The same, in the smallest type that holds them.
    codebook : ndarray of shape (1, K, d/T) or (T, K, d/T)
        Unit vectors in float32.

    Raises
    ------
    ValueError
        If codes and codebook do not fit each other, or an entry has no direction.

    See Also
    --------
    pool_report : What a pool saves and what it costs.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.search import TokenPool
    >>> rows = np.random.default_rng(0).standard_normal((50, 8))
    >>> pool = TokenPool.learn(rows, n_tokens=2, n_codes=16, random_state=0)
    >>> pool
    TokenPool(50 items of 2 tokens, 2 codebooks of 16)
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
        """Learn codebooks by k-means on the unit tokens of rows, and hold these rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        n_tokens : int
            Parts of a row, a divisor of d.
        n_codes : int, default=256
            Entries K of a codebook.
        shared : bool, default=False
            Take one codebook for all tokens instead of one for each.
        random_state : int, default=None
            Seed of k-means; the same seed gives the same bits.

        Returns
        -------
        TokenPool
            The rows as codes.

        Raises
        ------
        ValueError
            If ``n_tokens`` does not divide d, or there are fewer tokens than codes.
        """
        rows = unit_tokens(X, n_tokens)
        tokens = rows.reshape(len(rows), n_tokens, -1).swapaxes(0, 1)
        parts = tokens.reshape(1, -1, tokens.shape[2]) if shared else tokens
        if type(n_codes) is not int or not 1 <= n_codes <= parts.shape[1]:
            raise ValueError(f"n_codes must be between 1 and the {parts.shape[1]} tokens there are, got {n_codes!r}.")
        book = np.stack([codebook(part, n_codes, random_state) for part in parts])
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
        """Columns d of the rows that the codes stand for."""
        return int(self.codes.shape[1] * self.codebook.shape[2])

    @property
    def nbytes(self) -> int:
        """Bytes that codes and codebook take."""
        return self.codes.nbytes + self.codebook.nbytes

    def encode(self, X: ArrayLike) -> NDArray[np.unsignedinteger[Any]]:
        """Find the nearest entry for each token.

        Of unit vectors that is the one with the largest product. A token of zeros, which is as near to all, gets the
        first.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, T)
            Codes.

        Raises
        ------
        ValueError
            If rows have another width, or a value that is not finite.
        """
        return self._nearest(X)[0]

    def decode(self, positions: ArrayLike | None = None) -> NDArray[np.float32]:
        """Give the rows that the codes stand for.

        Parameters
        ----------
        positions : array-like of int of shape (n,), default=None
            Which items; None takes all.

        Returns
        -------
        ndarray of shape (n, d)
            Rows of unit tokens, in float32.
        """
        return self._entries(self.codes if positions is None else self.codes[np.asarray(positions, dtype=np.int64)])

    def table(self, queries: ArrayLike) -> NDArray[np.float64]:
        """Multiply each token of each query with each entry that it may be compared with.

        Parameters
        ----------
        queries : array-like of shape (q, d)
            Queries.

        Returns
        -------
        ndarray of shape (q, T, K)
            The table G of which a score is a sum of look-ups.
        """
        rows = self._rows(queries, "queries").astype(np.float64)
        tokens = rows.reshape(len(rows), self.codes.shape[1], -1).swapaxes(0, 1)
        with one_blas_thread():  # many small products
            table = tokens @ self.codebook.astype(np.float64).swapaxes(1, 2)
        return np.ascontiguousarray(table.swapaxes(0, 1))

    def scores(self, queries: ArrayLike | TokenQueries) -> NDArray[np.float64]:
        """Compare queries with all items.

        Parameters
        ----------
        queries : array-like of shape (q, d), or TokenQueries
            Queries, also quantised ones.

        Returns
        -------
        ndarray of shape (q, n)
            Cosines.
        """
        rows = self.restore(queries) if isinstance(queries, TokenQueries) else self._rows(queries, "queries")
        # items have unit tokens, so their length is √T; a query that is a component has any
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1) * np.sqrt(self.codes.shape[1])
        inverse = 1 / np.where(lengths > 0, lengths, np.inf)
        out = np.empty((len(rows), len(self)))
        entries = self.codebook.shape[1]
        # a look-up trusts its codes; those that a byte, or two, cannot get wrong need no check
        if entries <= np.iinfo(self.codes.dtype).max and self.codes.max() >= entries:
            raise ValueError(f"codes has {self.codes.max()}; there are {entries} entries, from 0.")
        codes = self.codes.view(np.int32) if self.codes.dtype == np.uint32 else self.codes
        size = max(1, ENTRIES // (self.codes.shape[1] * entries))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            table = self.table(rows[block]) * inverse[block, None, None]

            def part(first: int, last: int, table: NDArray[Any] = table, block: slice = block) -> None:
                look_up(table, codes, first, last, out[block])

            run_rows(part, len(self), min_rows=4096)
        return out

    def search(self, queries: ArrayLike | TokenQueries, k: int = 20) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the items nearest to each query.

        Parameters
        ----------
        queries : array-like of shape (q, d), or TokenQueries
            Queries, also quantised ones.
        k : int, default=20
            Items per query.

        Returns
        -------
        positions : ndarray of shape (q, k)
            Which items, best first.
        cosines : ndarray of shape (q, k)
            How close they are.

        Raises
        ------
        ValueError
            If k is less than 1.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.search import TokenPool
        >>> pool = TokenPool([[0, 1], [1, 0]], np.eye(2))
        >>> pool.search([[1, 0, 0, 4]], k=1)[0].tolist()
        [[0]]
        """
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
        """Write queries, whose tokens may have any length, as codes of this pool's codebook with scales.

        (g, c) = argmin ‖vᵗ − gc‖ over g ≥ 0 and the entries c: since they have unit length, c has the largest product
        with vᵗ and g is that product, or 0.

        Parameters
        ----------
        queries : array-like of shape (q, d)
            Queries.
        scale_bits : int, default=8
            Scales are rounded to that many bits (1 to 8) of the query's largest.

        Returns
        -------
        TokenQueries
            Codes and scales.

        Raises
        ------
        ValueError
            If ``scale_bits`` is not from 1 to 8.
        """
        if type(scale_bits) is not int or not 1 <= scale_bits <= 8:
            raise ValueError(f"scale_bits must be a whole number from 1 to 8, got {scale_bits!r}.")
        codes, products = self._nearest(queries)
        scales = np.maximum(products, 0.0)
        steps = scales.max(axis=1) / (2**scale_bits - 1)
        rounded = np.rint(scales / np.where(steps > 0, steps, 1)[:, None])
        return TokenQueries(codes, rounded.astype(np.uint8), steps.astype(np.float32), scale_bits)

    def restore(self, queries: TokenQueries) -> NDArray[np.float32]:
        """Give the vectors that quantised queries stand for.

        Parameters
        ----------
        queries : TokenQueries
            Quantised by this pool.

        Returns
        -------
        ndarray of shape (q, d)
            Vectors in float32.
        """
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
