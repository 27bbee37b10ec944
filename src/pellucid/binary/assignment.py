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
from pellucid.binary.incremental import FIRST, Assignment, Noise, all_cuts
from pellucid.binary.packed_bits import Bits
from pellucid.binary.significance import certain
from pellucid.binary.weights import fit_weights, strongest_first

# each one more costs time and memory that grow with all before it
MOST_ITEMS = 5_000


class IterativeAssignment(BinaryModel):
    """Yes/no concepts of items whose geometry has full rank, such as hierarchies.

    X ≈ S W + intercept, S binary. All cuts of the first items are weighed by Eq. 3. Every further item is given to the
    concepts in the fractions that match its similarity to the items so far (Eq. 4), a concept that it has in part is
    split in two, it gets one of its own, and weights are fitted afresh every second item.

    Parameters
    ----------
    n_branches : int, default=1
        Runs whose concepts are weighed together at the end. The first is deterministic, the others add Gaussian noise
        to the sparsity term.
    branch_noise : float, default=0.5
        Size of that noise, on the scale of ``simplicity``, on which it does not depend.
    n_first : int, default=6
        All cuts of so many first items, 2 to the power of one less, are weighed at once.
    sparsity : float, default=1e-5
        The λ of Eq. 3, on kernels of unit norm, in the fit of the weights at the end.
    order : {"given", "nearest", "random"}, default="given"
        Which item comes next: as given, the nearest to those before it, or at random.
    min_weight : float, default=0.02
        Concepts below this share of the strongest are dropped.
    simplicity : float, default=0.5
        The λ while items come, times their number: weights of n items on a kernel of unit norm are of the order 1/n.
        It chooses among the many sets of concepts that fit alike, and has to outweigh noise, or pairs of items get
        concepts of their own to fit it; raise it for noisy items.
    center : bool, default=False
        Normalise items, subtract their mean and normalise again first, in every method.
    kernel : {"linear", "precomputed"}, default="linear"
        "precomputed" if X is a positive semidefinite kernel (p, p) of the items.
    random_state : int, RandomState or None, default=None
        Seed of the noise and of the random order.

    Attributes
    ----------
    preparation_ : CenteredNormalizer or None
        What every method does to its items first; None without ``center``.
    concepts_ : ndarray of shape (p, b), dtype uint8
        Bits of the items, strongest concept first, with 1 on the smaller side.
    weights_ : ndarray of shape (b,)
        The π of Eq. 3.
    components_ : ndarray of shape (b, d)
        What each concept adds to an item. For a precomputed kernel coefficients over the items, (b, p).
    intercept_ : ndarray of shape (d,)
        The item without any concept; for a precomputed kernel the mean of its rows.
    overlaps_ : ndarray of shape (b, b)
        Inner products of the components.
    offsets_ : ndarray of shape (b,)
        Inner products of the components with the mean item less the item without any concept.
    readers_ : ndarray of shape (b, d)
        A linear reader of each bit, a ridge regression.
    covariances_ : ndarray of shape (b, d)
        Of the items and the bits, from which ``remove`` works.
    odds_ : ndarray of shape (b, 2)
        Slope and level of the log-odds of a bit by what its reader measures.
    thresholds_ : ndarray of shape (b,)
        Above which a bit is 1; there only where ``transform`` reads bits so, as with more concepts than dimensions.
    cka_ : float
        Centred kernel alignment of the model with the data.
    energies_ : ndarray of shape (b,)
        Share of each concept outside the space of the items.
    rank_ : int
        Dimension of the items.
    items_ : ndarray of shape (p, d)
        The items seen, as the concepts see them, from which :meth:`partial_fit` goes on.
    n_features_in_ : int
        Numbers per item.

    See Also
    --------
    BinaryAutoencoder : For items of low rank.
    CombinedConcepts : For items that have both, global categories and a fine hierarchy.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import IterativeAssignment
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]  # the corners of a box
    >>> model = IterativeAssignment().fit(X)
    >>> model.concepts_.T
    array([[0, 0, 0, 0, 1, 1, 1, 1],
           [0, 0, 1, 1, 0, 0, 1, 1],
           [0, 1, 0, 1, 0, 1, 0, 1]], dtype=uint8)
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        **BinaryModel._fitted_arrays,
        "items_": Fitted("f", ("items", "n_features_in_")),
    }
    _lacking_params: ClassVar[dict[str, Any]] = {"branch_noise": 0.5, "n_first": FIRST}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BinaryModel._parameter_constraints,
        "n_branches": [Interval(Integral, 1, None, closed="left")],
        "branch_noise": [Interval(Real, 0, None, closed="left")],
        "n_first": [Interval(Integral, 2, 14, closed="both")],
        "order": [StrOptions({"given", "nearest", "random"})],
        "min_weight": [Interval(Real, 0, 1, closed="left")],
        "simplicity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_branches: int = 1,
        *,
        branch_noise: float = 0.5,
        n_first: int = 6,
        sparsity: float = 1e-5,
        order: str = "given",
        min_weight: float = 0.02,
        simplicity: float = 0.5,
        center: bool = False,
        kernel: str = "linear",
        random_state: Any = None,
    ) -> None:
        self.n_branches = n_branches
        self.branch_noise = branch_noise
        self.n_first = n_first
        self.sparsity = sparsity
        self.order = order
        self.min_weight = min_weight
        self.simplicity = simplicity
        self.center = center
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> IterativeAssignment:
        """Find the concepts of items.

        Parameters
        ----------
        X : array-like of shape (p, d)
            Items; or their kernel (p, p), if ``kernel="precomputed"``.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        IterativeAssignment
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is empty or not finite, a parameter is out of its range, a kernel is not square and symmetric, or
            ``center`` is set for a kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import IterativeAssignment
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> IterativeAssignment(order="nearest").fit(X).weights_.round(2)
        array([9., 4., 1.])
        """
        self._validate_params()
        return self._assign(self._items(X, reset=True), 0)

    def partial_fit(self, X: ArrayLike, y: object = None) -> IterativeAssignment:
        """Give further items to the concepts there are, which may split; the first call is a fit.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Further items.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        IterativeAssignment
            The model itself, with the concepts of all items so far.

        Raises
        ------
        ValueError
            If X is empty, not finite or of another width, or the model was fitted to a precomputed kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import IterativeAssignment
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> model = IterativeAssignment().fit(X[:6]).partial_fit(X[6:])
        >>> model.concepts_.shape
        (8, 3)
        """
        if not hasattr(self, "concepts_"):
            return self.fit(X)
        self._validate_params()
        self._refuse_kernel("partial_fit")
        return self._assign(np.vstack([self.items_, self._items(X, reset=False)]), len(self.items_))

    def _assign(self, data: Floats, known: int) -> IterativeAssignment:
        """Concepts of all rows; of the first ``known`` they are there already."""
        check_number(data)
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            spectrum, mean, scale = self._spectrum(data)
            features = spectrum.features
            rng = check_random_state(self.random_state)
            order = np.append(np.arange(known), known + self._order(features[known:], rng)).astype(np.int64)
            start = (self.concepts_, self.weights_ / scale**2) if known else None
            settings = float(self.simplicity), float(self.min_weight)
            noise = Noise(rng, float(self.branch_noise))
            noises = [noise if branch else None for branch in range(self.n_branches)]
            found = [assigned(features, order, *settings, start, each, int(self.n_first)) for each in noises]
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


def check_number(data: Floats) -> None:
    """Refuse more items than can be assigned one after the other in minutes."""
    if len(data) > MOST_ITEMS:
        raise ValueError(
            f"X has {len(data):,} items, and the assignment takes them one after the other, each looking back at all "
            f"before it: give it at most {MOST_ITEMS:,} of them, or take BinaryAutoencoder."
        )


def assigned(
    features: Floats,
    order: Ints,
    simplicity: float,
    min_weight: float,
    start: tuple[Bits, Floats] | None = None,
    noise: Noise | None = None,
    n_first: int = FIRST,
) -> Bits:
    """Concepts of items that are assigned one after the other, in that order, from all cuts of the first ones, or from
    the concepts that these have and their weights."""
    if start is None:
        cuts = all_cuts(min(n_first, len(features)))
        start = cuts, np.zeros(cuts.shape[1])
    state = Assignment(features[order], *start, simplicity, min_weight, noise)
    S = np.empty((len(features), state.run().shape[1]), dtype=np.uint8)
    S[order] = state.S
    return oriented(S)


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
