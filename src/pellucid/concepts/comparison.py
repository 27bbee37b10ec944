"""How two sets differ: which concepts are more frequent in one of them, by how much, and what else moved.

Rows of both sets stand one below the other: their presence P (n, S), each with a side (True in A), a level of what is
held fixed, and a block of rows that belong together. Every mean is taken within levels and added up over them with
weights n_A n_B/(n_A + n_B), those of Mantel and Haenszel; without anything held fixed there is one level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from pellucid._core.arrays import Floats, Ints
from pellucid._core.tables import data_frame
from pellucid._core.threads import one_blas_thread

# blocks of rows that are drawn again, at most, and how often
BLOCKS, DRAWS = 400, 600
# items that both sets together are expected to have of a concept, at least: less cannot tell
LEAST_ITEMS = 5.0
# items that are shown of each side
EXAMPLES = 5
# what keeps the regression of each concept on all others from following noise
BESIDE_RIDGE = 1e-3
# rows that the shift is taken apart by, at most, and what keeps its regression from following noise
SHIFT_ROWS, RIDGE = 50_000, 1e-3
# squared length of a way, as a share of that of the rows, that is round-off
SAME = 1e-24


@dataclass(frozen=True)
class Comparison:
    """Which concepts are more frequent in A than in B.

    Attributes
    ----------
    concepts : list of str
        The S concepts, the surest difference first.
    share_a, share_b : ndarray of shape (S,)
        The expected share of the items that have each; within levels of what is held fixed, if anything is.
    difference : ndarray of shape (S,)
        Their difference.
    low, high : ndarray of shape (S,)
        Where it lies with the confidence asked for: a bootstrap over items, or over groups of them.
    p, q : ndarray of shape (S,)
        How likely a difference as large would be if none were larger than the ``least`` that counts, and the least
        false-discovery rate at which it would be found (Benjamini and Hochberg).
    found : ndarray of bool of shape (S,)
        Whether it is, at the rate asked for.
    own : ndarray of bool of shape (S,)
        Whether it is, and remains in the same direction beside the differences of all other concepts: neither because
        the two go together, nor because the model takes a little of one for the other.
    examples_a, examples_b : list of list of int
        Numbers of the rows of either set that most likely have each concept.
    n_a, n_b : int
        Items of either set that were compared.
    explained : float
        The share of the way between the two mean rows that differences in concepts explain, noise set aside; nan where
        there are no rows, or the way is no longer than by chance.
    else_words : list of str
        Words nearest to the rest of that way, from B to A, if there is a vocabulary.
    else_a, else_b : list of int
        Rows of either set that are most typical of the rest.
    rate : float
        The false-discovery rate.

    See Also
    --------
    pellucid.compare : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import compare
    >>> A, B = np.repeat([[1, 0], [1, 1]], 40, axis=0), np.repeat([[1, 0], [0, 1]], 40, axis=0)
    >>> found = compare(A, B, names=["day", "rain"])
    >>> found.concepts, found.difference.tolist(), found.found.tolist()
    (['day', 'rain'], [0.5, 0.0], [True, False])
    """

    concepts: list[str]
    share_a: NDArray[np.float64]
    share_b: NDArray[np.float64]
    difference: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    found: NDArray[np.bool_]
    own: NDArray[np.bool_]
    examples_a: list[list[int]]
    examples_b: list[list[int]]
    n_a: int
    n_b: int
    explained: float
    else_words: list[str]
    else_a: list[int]
    else_b: list[int]
    rate: float

    def to_frame(self) -> Any:
        """Make a table of the concepts.

        Returns
        -------
        pandas.DataFrame
            A row for each, the surest difference first.
        """
        names = ("concepts", "share_a", "share_b", "difference", "low", "high", "p", "q", "found", "own")
        return data_frame([dict(zip(names, row)) for row in zip(*(list(getattr(self, name)) for name in names))], names)

    def plot(self, ax: Any = None, most: int = 20) -> Any:
        """Draw the differences with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        most : int, default=20
            Concepts that are drawn, at most.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        from pellucid.plots import differences

        return differences(self, ax=ax, most=most)

    def __str__(self) -> str:
        count = int(self.found.sum())
        lines = [
            f"{count} of {len(self.concepts)} concepts differ between {self.n_a} and {self.n_b} items "
            f"(false-discovery rate {self.rate:.0%})."
        ]
        if count:
            width = max(len(name) for name, found in zip(self.concepts, self.found) if found)
            lines += [
                f"{self.concepts[j]:{width}}  {self.share_a[j]:6.1%} in A, {self.share_b[j]:6.1%} in B: "
                f"{self.difference[j]:+.1%} ({self.low[j]:+.1%} to {self.high[j]:+.1%})"
                f"{'' if self.own[j] else ', along with others'}"
                for j in np.flatnonzero(self.found)
            ]
        if np.isfinite(self.explained):
            rest = f": {', '.join(self.else_words)}" if self.else_words else ""
            lines.append(f"Concepts explain {self.explained:.0%} of the whole shift; the rest is something else{rest}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class Sides:
    """Rows of both sets: the side, level and block of each, and whether blocks are groups that belong together."""

    in_a: NDArray[np.bool_]
    level: Ints
    block: Ints
    grouped: bool

    @property
    def n_levels(self) -> int:
        return int(self.level.max()) + 1


def compared(
    P: NDArray[Any], names: Sequence[str], sides: Sides, rate: float, least: float, rng: np.random.RandomState
) -> Comparison:
    """Compare presence (n, S), probabilities or yes and no, of the rows of both sets."""
    sums = block_sums(P, sides)
    share_a, share_b = shares(sums.sum(axis=2))
    difference = share_a - share_b
    low, high = intervals(sums, sides, 1 - rate, difference, rng)
    told = can_be_told(sums)
    p = np.where(told, chances(P, sums, sides, difference, least * (share_a + share_b) / 2), 1.0)
    q = false_discovery_control(p)
    rest = beside_others(P, sides.in_a)
    sums = block_sums(rest, sides)
    apart = np.subtract(*shares(sums.sum(axis=2)))
    q_rest = false_discovery_control(np.where(told, chances(rest, sums, sides, apart, np.zeros_like(apart)), 1.0))
    own = (q <= rate) & (q_rest <= rate) & (apart * difference > 0)
    order = np.lexsort((-np.abs(difference), p))
    n_a = int(sides.in_a.sum())  # these stand above
    examples = [[[int(row) for row in likeliest(rows[:, j])] for j in order] for rows in (P[:n_a], P[n_a:])]
    return Comparison(
        concepts=[str(names[j]) for j in order],
        share_a=share_a[order],
        share_b=share_b[order],
        difference=difference[order],
        low=low[order],
        high=high[order],
        p=p[order],
        q=q[order],
        found=q[order] <= rate,
        own=own[order],
        examples_a=examples[0],
        examples_b=examples[1],
        n_a=n_a,
        n_b=len(P) - n_a,
        explained=np.nan,
        else_words=[],
        else_a=[],
        else_b=[],
        rate=rate,
    )


def likeliest(column: NDArray[Any]) -> Ints:
    """The rows with the largest values that are not zero, the most first."""
    column = column.astype(np.float32)
    k = min(EXAMPLES, len(column))
    best = np.argpartition(-column, k - 1)[:k] if len(column) > k else np.arange(len(column))
    best = best[np.lexsort((best, -column[best]))]
    return np.asarray(best[column[best] > 0])


def block_sums(P: NDArray[Any], sides: Sides) -> Floats:
    """Sums over the rows of each side, level and block (2, L, G, S + 1); the last column counts them."""
    L, G = sides.n_levels, int(sides.block.max()) + 1
    cell = (np.where(sides.in_a, 0, 1) * L + sides.level) * G + sides.block
    n = len(P)
    which = sparse.csr_array((np.ones(n, dtype=np.float32), (cell, np.arange(n))), shape=(2 * L * G, n))
    values = P if P.dtype.kind == "f" else P.astype(np.float32)
    total = np.asarray(which.astype(values.dtype) @ values, dtype=np.float64)
    count = np.bincount(cell, minlength=2 * L * G).astype(np.float64)
    return np.concatenate([total, count[:, None]], axis=1).reshape(2, L, G, -1)


def shares(sums: Floats) -> tuple[Floats, Floats]:
    """Shares (…, S) of both sides from sums (2, L, …, S + 1) by level; 0 where no level has rows of both."""
    n = sums[..., -1]
    weight = n[0] * n[1] / np.maximum(n[0] + n[1], 1e-300)
    means = sums[..., :-1] / np.maximum(n, 1e-300)[..., None]
    total = np.maximum(weight.sum(axis=0), 1e-300)
    a, b = ((weight[..., None] * mean).sum(axis=0) / total[..., None] for mean in means)
    return np.asarray(a), np.asarray(b)


def intervals(
    sums: Floats, sides: Sides, confidence: float, difference: Floats, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Where the differences (S,) lie, by drawing blocks again: of each side by itself, or if groups have rows in both,
    groups as a whole."""
    G = sums.shape[2]
    there = sums[..., -1].sum(axis=1) > 0  # (2, G)
    both = sides.grouped and bool((there[0] & there[1]).any())
    drawn = []
    for start in range(0, DRAWS, 100):
        times = np.zeros((2, min(100, DRAWS - start), G))
        for side in range(2):
            pool = np.flatnonzero(there.any(axis=0) if both else there[side])
            times[side][:, pool] = rng.multinomial(len(pool), np.full(len(pool), 1 / len(pool)), size=times.shape[1])
        if both:
            times[1] = times[0]
        # (2, L, draws, S + 1)
        again = np.stack([np.einsum("rg,lgs->lrs", times[s], sums[s], optimize=True) for s in range(2)])
        a, b = shares(again)
        drawn.append(a - b)
    every = np.concatenate(drawn)
    low, high = np.quantile(every, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.minimum(low, difference), np.maximum(high, difference)


def chances(P: NDArray[Any], sums: Floats, sides: Sides, difference: Floats, least: Floats) -> Floats:
    """How likely differences (S,) as large would be if none were larger than the ``least`` (S,).

    Variances are those of all rows of a level, as they are if there is no difference; of groups, those of their sums.
    """
    total = sums.sum(axis=2)
    n = total[..., -1]
    n_a, n_b = n
    useful = (n_a > 0) & (n_b > 0)
    weight = np.where(useful, n_a * n_b / np.maximum(n_a + n_b, 1), 0.0)
    weight = weight / max(weight.sum(), 1e-300)
    mean = total[..., :-1].sum(axis=0) / np.maximum(n.sum(axis=0), 1)[:, None]  # (L, S)
    if sides.grouped:
        # what a group adds to the difference, beside what it would if it were like all rows of its levels
        sign = np.array([1.0, -1.0])[:, None] * (weight / np.maximum(n, 1))
        off = (sums[..., :-1] - sums[..., -1:] * mean[None, :, None]) * sign[..., None, None]
        each = off.sum(axis=(0, 1))  # (G, S)
        groups = int((sums[..., -1].sum(axis=(0, 1)) > 0).sum())
        variance = (each**2).sum(axis=0) * groups / max(groups - 1, 1)
        degrees = float(max(groups - 1 - len(weight), 1))
    else:
        squares = np.stack([np.einsum("ij,ij->j", v, v, dtype=np.float64) for v in by_level(P, sides)])
        rows = np.maximum(n.sum(axis=0), 2)[:, None]
        spread = np.maximum(squares / rows - mean**2, 0) * rows / (rows - 1)
        variance = ((weight**2 * (1 / np.maximum(n_a, 1) + 1 / np.maximum(n_b, 1)))[:, None] * spread).sum(axis=0)
        degrees = float(max(n.sum() - 1 - len(weight), 1))
    size, spread = np.abs(difference), np.sqrt(np.maximum(variance, 1e-300))
    p = student.sf((size - least) / spread, degrees) + student.sf((size + least) / spread, degrees)
    return np.asarray(np.where(variance > 1e-300, np.clip(p, 0, 1), 1.0))


def can_be_told(sums: Floats) -> NDArray[np.bool_]:
    """Whether enough items have each concept (S,), and enough lack it."""
    held, n = sums[..., :-1].sum(axis=(0, 1, 2)), sums[..., -1].sum()
    return np.asarray(np.minimum(held, n - held) >= LEAST_ITEMS)


def beside_others(P: NDArray[Any], in_a: NDArray[np.bool_]) -> NDArray[Any]:
    """What of each presence (n, S) all others do not tell: the residual of its regression on them within both sets.

    With Θ the inverse covariance of P within the sets, these are PΘ/diag(Θ).
    """
    rows = P if P.dtype.kind == "f" else P.astype(np.float32)
    with one_blas_thread():
        mean = rows.mean(axis=0, dtype=np.float64)
        covariance = np.asarray(rows.T @ rows, dtype=np.float64) / len(rows) - np.outer(mean, mean)
        apart = rows[in_a].mean(axis=0, dtype=np.float64) - rows[~in_a].mean(axis=0, dtype=np.float64)
        covariance -= in_a.mean() * (1 - in_a.mean()) * np.outer(apart, apart)
        covariance[np.diag_indices(len(mean))] += max(BESIDE_RIDGE * float(np.trace(covariance)) / len(mean), 1e-12)
        inverse = np.linalg.inv(covariance)
        return np.asarray((rows - mean.astype(rows.dtype)) @ (inverse / np.diag(inverse)).astype(rows.dtype))


def by_level(P: NDArray[Any], sides: Sides) -> list[NDArray[Any]]:
    """The rows of each level."""
    values = P if P.dtype.kind == "f" else P.astype(np.float32)
    if sides.n_levels == 1:
        return [values]
    return [values[sides.level == level] for level in range(sides.n_levels)]


@dataclass(frozen=True)
class Shift:
    """The way from the mean row of B to that of A: the share that concepts explain, and the rest (d,)."""

    explained: float
    rest: Floats


def taken_apart(X: NDArray[Any], P: NDArray[Any], in_a: NDArray[np.bool_]) -> Shift:
    """How much of the way between mean rows differences in presence explain.

    Within both sets, rows are regressed on presence: x ≈ c + Σ p_j v_j. The way is then Σ Δp_j v_j and a rest, and what
    of its length is noise by the spread of the rows is taken off both.
    """
    rows, there = np.asarray(X, dtype=np.float64), np.asarray(P, dtype=np.float64)
    way, moved = (Z[in_a].mean(axis=0) - Z[~in_a].mean(axis=0) for Z in (rows, there))
    within, inner = (Z - np.where(in_a[:, None], Z[in_a].mean(axis=0), Z[~in_a].mean(axis=0)) for Z in (rows, there))
    gram = inner.T @ inner
    gram[np.diag_indices(len(gram))] += RIDGE * max(float(np.trace(gram)) / len(gram), 1e-300)
    V = np.linalg.solve(gram, inner.T @ within)
    rest = way - moved @ V
    share = 1 / in_a.sum() + 1 / (~in_a).sum()
    left = within - inner @ V
    noise, noise_left = (float(np.einsum("ij,ij->", Z, Z)) / max(len(Z) - 2, 1) * share for Z in (within, left))
    whole, other = float(way @ way) - noise, float(rest @ rest) - noise_left
    if whole <= max(noise, SAME * float(np.einsum("ij,ij->", rows, rows)) / len(rows)):
        return Shift(np.nan, rest)
    return Shift(float(np.clip(1 - max(other, 0.0) / whole, 0, 1)), rest)
