"""Which binary concepts two representations of the same items share, and which only one of them has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pellucid._core import deadline
from pellucid._core.arrays import Floats, Ints
from pellucid._core.threads import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# a pair of concepts counts as matched if permuted items give one as good in at most this share of cases
LEVEL = 0.05
FEWEST = 19
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class StructureComparison:
    """What two models of the same items have in common, as :func:`compare_structure` returns it.

    Attributes
    ----------
    matched : ndarray of shape (m, 2)
        Pairs of concepts, one of each model, that split the items alike, most alike first.
    agreement : ndarray of shape (m,)
        Absolute correlation of the bits of each pair.
    p_values : ndarray of shape (m,)
        How often items in random order give any pair as much alike.
    only_a : ndarray
        Concepts of the first model without a partner, strongest first.
    only_b : ndarray
        The same of the second.
    cka : float
        Centred kernel alignment of both structures, SΠSᵀ.
    p_value : float
        How often items in random order are as much aligned.
    shared_cka : float
        Alignment of the matched concepts of one with those of the other; 0 if there are none.
    private_cka : float
        Alignment of what is left of both; 0 if nothing is.
    shared_a : float
        Share of the first structure's variance that its matched concepts have.
    shared_b : float
        The same of the second.
    variances_a : ndarray of shape (b,)
        Share of the first structure's variance that each of its concepts has.
    variances_b : ndarray of shape (b,)
        The same of the second.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import BinaryAutoencoder, compare_structure
    >>> S = np.random.default_rng(0).integers(0, 2, (60, 4))
    >>> model_a = BinaryAutoencoder(random_state=0).fit(S[:, :3] * [3.0, 2.0, 1.0])
    >>> model_b = BinaryAutoencoder(random_state=0).fit(S[:, 1:] * [3.0, 2.0, 1.0])
    >>> print(compare_structure(model_a, model_b, random_state=0))
    2 concepts are shared (p ≤ 0.05), 1 is in the first alone, 1 in the second alone.
    Alignment of the structures 0.41 (p = 0.005); of what is shared 0.98, of the rest 0.00.
    What is shared is 35% of the first and 93% of the second.
    """

    matched: Ints
    agreement: Floats
    p_values: Floats
    only_a: Ints
    only_b: Ints
    cka: float
    p_value: float
    shared_cka: float
    private_cka: float
    shared_a: float
    shared_b: float
    variances_a: Floats
    variances_b: Floats

    def plot(self, ax: Axes | None = None, **settings: Any) -> Axes:
        """Draw both structures side by side.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; a new figure if None.
        **settings : Any
            Passed on to :func:`pellucid.plots.structures`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.binary import BinaryAutoencoder, compare_structure
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> model = BinaryAutoencoder(random_state=0).fit(X)
        >>> ax = compare_structure(model, model, random_state=0).plot(title="the same")
        """
        from pellucid.plots import structures

        return structures(self, ax, **settings)

    def __str__(self) -> str:
        count, first, second = len(self.matched), len(self.only_a), len(self.only_b)
        return (
            f"{count} concept{' is' if count == 1 else 's are'} shared (p ≤ {LEVEL}), {first} "
            f"{'is' if first == 1 else 'are'} in the first alone, {second} in the second alone.\n"
            f"Alignment of the structures {self.cka:.2f} (p = {self.p_value:.2g}); of what is shared "
            f"{self.shared_cka:.2f}, of the rest {self.private_cka:.2f}.\n"
            f"What is shared is {self.shared_a:.0%} of the first and {self.shared_b:.0%} of the second."
        )


def compare_structure(
    model_a: Any,
    model_b: Any,
    *,
    min_agreement: float = 0.5,
    n_permutations: int = 199,
    random_state: Any = None,
) -> StructureComparison:
    """Match the concepts of two models that were fitted to the same items, in the same order.

    The models may be of two embeddings, layers or times. Concepts are paired so that the pairs are most alike in all,
    and a pair stays if it is alike enough, and if items in random order seldom give any pair as much alike.

    Parameters
    ----------
    model_a : BinaryAutoencoder, IterativeAssignment or CombinedConcepts
        A fitted model.
    model_b : BinaryAutoencoder, IterativeAssignment or CombinedConcepts
        Another one, of the same items.
    min_agreement : float, default=0.5
        Least absolute correlation of a pair: of many items also concepts that have little in common are more alike than
        chance has it.
    n_permutations : int, default=199
        Random orders of the items that are looked at; the least p-value is one in so many and one.
    random_state : int, RandomState or None, default=None
        Draws the orders.

    Returns
    -------
    StructureComparison
        What is shared, what is not, and how sure that is.

    Raises
    ------
    ValueError
        If the models are of different numbers of items, or ``n_permutations`` is less than 19, of which no p-value of
        0.05 can come.

    See Also
    --------
    concept_projection : How one model splits a few items.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.binary import BinaryAutoencoder, compare_structure
    >>> S = np.random.default_rng(0).integers(0, 2, (60, 4))
    >>> model_a = BinaryAutoencoder(random_state=0).fit(S[:, :3] * [3.0, 2.0, 1.0])
    >>> model_b = BinaryAutoencoder(random_state=0).fit(S[:, 1:] * [3.0, 2.0, 1.0])
    >>> found = compare_structure(model_a, model_b, random_state=0)
    >>> found.matched.tolist(), found.agreement.round(2).tolist()
    ([[1, 0], [2, 1]], [1.0, 1.0])
    """
    from scipy.optimize import linear_sum_assignment

    check_is_fitted(model_a, "concepts_")
    check_is_fitted(model_b, "concepts_")
    p = len(model_a.concepts_)
    if len(model_b.concepts_) != p:
        raise ValueError(
            f"The models must be of the same items, but the first was fitted to {p} and the second to "
            f"{len(model_b.concepts_)}."
        )
    if n_permutations < FEWEST:
        raise ValueError(f"n_permutations must be at least {FEWEST} for a p-value of {LEVEL}, got {n_permutations}.")
    rng = check_random_state(random_state)
    a, b = (Structure(model) for model in (model_a, model_b))
    with one_blas_thread():  # sums in one order: the same numbers on any number of threads
        alike = a.bits.T @ b.bits
        most, aligned = np.zeros(n_permutations), np.zeros(n_permutations)
        for k in range(n_permutations):
            deadline.check()
            chance = a.bits[rng.permutation(p)].T @ b.bits
            most[k], aligned[k] = np.abs(chance).max(initial=0.0), alignment_of(a, b, chance)
        cka = alignment_of(a, b, alike)
        rows, columns = linear_sum_assignment(-np.abs(alike))
        agreement = np.abs(alike)[rows, columns]
        chances = (1 + (most[:, None] >= agreement - 1e-9).sum(axis=0)) / (n_permutations + 1)
        order = np.argsort(-agreement, kind="stable")
        order = order[(chances[order] <= LEVEL) & (agreement[order] >= min_agreement)]
        rows, columns = rows[order], columns[order]
        left_a = np.setdiff1d(np.arange(alike.shape[0]), rows)
        left_b = np.setdiff1d(np.arange(alike.shape[1]), columns)
        shared = alignment_of(a.part(rows), b.part(columns), alike[np.ix_(rows, columns)])
        private = alignment_of(a.part(left_a), b.part(left_b), alike[np.ix_(left_a, left_b)])
    return StructureComparison(
        matched=np.column_stack([rows, columns]).astype(np.int64),
        agreement=agreement[order],
        p_values=chances[order],
        only_a=left_a,
        only_b=left_b,
        cka=cka,
        p_value=float(1 + (aligned >= cka - 1e-12).sum()) / (n_permutations + 1),
        shared_cka=shared,
        private_cka=private,
        shared_a=a.share(rows),
        shared_b=b.share(columns),
        variances_a=a.variances / max(float(a.variances.sum()), TINY),
        variances_b=b.variances / max(float(b.variances.sum()), TINY),
    )


class Structure:
    """Centred bits of unit length (p, b), and the variance of each concept, π|s̄|²."""

    def __init__(self, model: Any) -> None:
        centred = model.concepts_ - model.concepts_.mean(axis=0)
        lengths = np.linalg.norm(centred, axis=0)
        self.bits: Floats = centred / np.where(lengths > 0, lengths, 1.0)
        self.variances: Floats = model.weights_ * lengths**2

    def part(self, which: Ints) -> Structure:
        found = object.__new__(Structure)
        found.bits, found.variances = self.bits[:, which], self.variances[which]
        return found

    def share(self, which: Ints) -> float:
        total = float(self.variances.sum())
        return float(self.variances[which].sum()) / total if total > 0 else 0.0

    @cached_property
    def norm(self) -> float:
        """‖S̄ΠS̄ᵀ‖_F."""
        return float(np.sqrt(max(self.variances @ (self.bits.T @ self.bits) ** 2 @ self.variances, 0.0)))


def alignment_of(a: Structure, b: Structure, alike: Floats) -> float:
    """Centred kernel alignment, from the correlations of all bits of one with all of the other."""
    both = a.norm * b.norm
    return float(a.variances @ alike**2 @ b.variances) / both if both > 0 else 0.0
