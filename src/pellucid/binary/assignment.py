"""Iterative item assignment (paper 2, Algorithm 2): all concepts at once, one item after the other, for full rank."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pellucid._core.arrays import Floats, Ints
from pellucid._core.saved import Fitted
from pellucid._core.threads import one_blas_thread
from pellucid.binary.base import BinaryModel
from pellucid.binary.bits_and_components import oriented, unique_columns
from pellucid.binary.incremental import FIRST, Assignment, all_cuts
from pellucid.binary.packed_bits import Bits
from pellucid.binary.significance import certain
from pellucid.binary.weights import fit_weights, strongest_first


class IterativeAssignment(BinaryModel):
    """Yes/no concepts of items whose geometry has full rank, such as hierarchies: X ≈ S W + intercept, S binary.

    All cuts of the first items are weighed by Eq. 3. Every further item is given to the concepts in the fractions that
    match its similarity to the items so far (Eq. 4), a concept that it has in part is split in two, it gets one of its
    own, and weights are fitted afresh every second item.

    Parameters
    ----------
    n_branches : runs whose concepts are weighed together at the end; the first is deterministic, the others add
        Gaussian noise to the sparsity term
    sparsity : λ of Eq. 3, on kernels of unit norm, in the fit of the weights at the end
    order : which item comes next: as "given", the "nearest" to those before it, or at "random"
    min_weight : concepts below this share of the strongest are dropped
    simplicity : λ while items come, times their number: weights of n items on a kernel of unit norm are of the order
        1/n. It chooses among the many sets of concepts that fit alike, and has to outweigh noise, or pairs of items get
        concepts of their own to fit it; raise it for noisy items
    center : bool, normalise items, subtract their mean and normalise again first, in every method
    kernel : "linear", or "precomputed" where X is a positive semidefinite kernel (p, p)
    random_state : seed of the noise and of the random order

    Attributes
    ----------
    Those of :class:`BinaryAutoencoder`, ``rank_`` being the dimension of the items and ``energies_`` the share of each
    concept outside it; and ``items_``, the items seen, from which :meth:`partial_fit` goes on.
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        **BinaryModel._fitted_arrays,
        "items_": Fitted("f", ("items", "n_features_in_")),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_branches": [Interval(Integral, 1, None, closed="left")],
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "order": [StrOptions({"given", "nearest", "random"})],
        "min_weight": [Interval(Real, 0, 1, closed="left")],
        "simplicity": [Interval(Real, 0, None, closed="left")],
        "center": ["boolean"],
        "kernel": [StrOptions({"linear", "precomputed"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_branches: int = 1,
        *,
        sparsity: float = 1e-5,
        order: str = "given",
        min_weight: float = 0.02,
        simplicity: float = 0.5,
        center: bool = False,
        kernel: str = "linear",
        random_state: Any = None,
    ) -> None:
        self.n_branches = n_branches
        self.sparsity = sparsity
        self.order = order
        self.min_weight = min_weight
        self.simplicity = simplicity
        self.center = center
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> IterativeAssignment:
        """Find the concepts of items (p, d), or of a kernel (p, p)."""
        self._validate_params()
        return self._assign(self._items(X, reset=True), 0)

    def partial_fit(self, X: ArrayLike, y: object = None) -> IterativeAssignment:
        """Give further items to the concepts there are, which may split; the first call is a fit."""
        if not hasattr(self, "concepts_"):
            return self.fit(X)
        self._validate_params()
        self._refuse_kernel("partial_fit")
        return self._assign(np.vstack([self.items_, self._items(X, reset=False)]), len(self.items_))

    def _assign(self, data: Floats, known: int) -> IterativeAssignment:
        """Concepts of all rows; of the first ``known`` they are there already."""
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            spectrum, mean, scale = self._spectrum(data)
            features = spectrum.features
            rng = check_random_state(self.random_state)
            order = np.append(np.arange(known), known + self._order(features[known:], rng)).astype(np.int64)
            first = min(FIRST, len(data))
            S = self.concepts_ if known else all_cuts(first)
            weights = self.weights_ / scale**2 if known else np.zeros(S.shape[1])
            found = []
            for branch in range(self.n_branches):
                noise = rng if branch else None
                state = Assignment(features[order], S, weights, float(self.simplicity), float(self.min_weight), noise)
                bits = np.empty((len(data), state.run().shape[1]), dtype=np.uint8)
                bits[order] = state.S
                found.append(oriented(bits))
            pool = self._needed(features, unique_columns(np.hstack(found)))
            self._finish(spectrum, mean, scale, pool, len(spectrum.values), float(self.sparsity))
            self.items_ = data
        return self

    def _needed(self, features: Floats, S: Bits) -> Bits:
        """Concepts that the fit uses and that noise did not make, strongest first."""
        weights = fit_weights(features, S, float(self.simplicity) / len(S))
        S = S[:, weights > float(self.min_weight) * weights.max(initial=0.0)]
        return strongest_first(features, S[:, certain(features, S)], float(self.sparsity))

    def _order(self, features: Floats, rng: np.random.RandomState) -> Ints:
        if self.order == "given":
            return np.arange(len(features))
        if self.order == "random":
            return np.asarray(rng.permutation(len(features)))
        return nearest_order(features)


def nearest_order(features: Floats) -> Ints:
    """Items, each next the one nearest to any before it, from the one nearest to their mean."""
    offset = features - features.mean(axis=0)
    order = [int(np.argmin(np.einsum("ij,ij->i", offset, offset)))]
    distance = np.full(len(features), np.inf)
    for _ in range(len(features) - 1):
        step = features - features[order[-1]]
        distance = np.minimum(distance, np.einsum("ij,ij->i", step, step))
        distance[order] = np.inf
        order.append(int(np.argmin(distance)))
    return np.array(order)
