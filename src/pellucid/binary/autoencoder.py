"""The binary autoencoder (paper 2, Algorithm 1), with a rule of acceptance that noise sets."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pellucid._core.arrays import FloatMatrix, Floats
from pellucid._core.threads import one_blas_thread
from pellucid.binary.adaptive_search import refined_concepts
from pellucid.binary.base import BinaryModel
from pellucid.binary.bits_and_components import refine_bits, to_bits, with_made_of_others
from pellucid.binary.greedy_search import greedy_concepts
from pellucid.binary.joint_search import joint_concepts
from pellucid.binary.noisy_search import overlapping_concepts
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import chain_states, energies, exhaustive_states
from pellucid.binary.spectrum import Spectrum, signal_rank
from pellucid.binary.weights import alignment, fit_weights, strongest, unit_kernel

# the relative rule can accept thousands of states: this many, of lowest energy, are weighed
POOL = 4096
# singular values that are too few to say what noise is
TOO_FEW_VALUES = 16
# items of which two binary sets can be told apart at all
FEWEST_ITEMS = 8
# directions that do not stand out are searched nevertheless if they hold this share of the kernel's squared norm
REST = 0.05


class BinaryAutoencoder(BinaryModel):
    """Yes/no concepts of low-rank items: X ≈ S W + intercept with S truly binary.

    Sign vectors are searched close to the space of the leading principal components, those that become concepts are
    weighed by Eq. 3, and W has orthogonal rows.

    Parameters
    ----------
    rank : int or None, default=None
        Dimension of the space that is searched. None reads it from the spectrum: the number of singular values that
        stand out from noise of the size of the rest, or all where no more than √(2p) explain more.
    n_chains : int, default=512
        Chains of the relative rule that run side by side; "greedy" uses up to so many states a batch.
    max_iter : int, default=500
        Steps that the chains of the relative rule take.
    acceptance : {"adaptive", "greedy", "relative", "exhaustive"}, default="adaptive"
        Which states become concepts:

        - "adaptive": states of lower energy than the same search finds in noise, at most ``rank`` independent ones and
          those made of them;
        - "greedy", for more concepts than dimensions: those that take most off the loss of Eq. 3 until there are
          ``max_concepts`` (ten times the dimension if None);
        - "relative", the paper's rule: every state whose energy is within ``margin`` of the lowest;
        - "exhaustive": the same rule for all 2^rank states that the space can hold.
    margin : float, default=0.05
        The ε of the relative rule.
    sparsity : float, default=1e-5
        The λ of Eq. 3, on kernels of unit norm.
    max_concepts : int or None, default=None
        Keep no more than that many, the strongest.
    center : bool, default=False
        Normalise items, subtract their mean and normalise again first, in every method.
    kernel : {"linear", "precomputed"}, default="linear"
        "precomputed" if X is a positive semidefinite kernel (p, p) of the items.
    random_state : int, RandomState or None, default=None
        Seed; the same seed gives the same bits.

    Attributes
    ----------
    preparation_ : CenteredNormalizer or None
        What every method does to its items first; None without ``center``.
    concepts_ : ndarray of shape (p, b), dtype uint8
        Bits of the items, strongest concept first, with 1 on the smaller side.
    weights_ : ndarray of shape (b,)
        The π of Eq. 3.
    components_ : ndarray of shape (b, d)
        What each concept adds to an item. The rows are orthogonal where b ≤ d; with more concepts than dimensions they
        cannot be, and are those of least length that reconstruct the items best. For a precomputed kernel they are
        coefficients over the items, (b, p).
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
        Share of each concept outside the space.
    rank_ : int
        Dimension of that space; 0 if nothing stands out from noise.
    n_iter_ : int
        Rounds of the search, or steps of the chains.
    n_features_in_ : int
        Numbers per item.

    See Also
    --------
    IterativeAssignment : For items of full rank, such as hierarchies.
    CombinedConcepts : For items that have both, global categories and a fine hierarchy.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import BinaryAutoencoder
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]  # the corners of a box
    >>> model = BinaryAutoencoder(random_state=0).fit(X)
    >>> model.concepts_.T
    array([[0, 0, 0, 0, 1, 1, 1, 1],
           [0, 0, 1, 1, 0, 0, 1, 1],
           [0, 1, 0, 1, 0, 1, 0, 1]], dtype=uint8)
    >>> model.weights_.round(2)
    array([9., 4., 1.])
    """

    _follows_readers: ClassVar[bool] = True
    _fitted_values: ClassVar[dict[str, type]] = {**BinaryModel._fitted_values, "n_iter_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BinaryModel._parameter_constraints,
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "acceptance": [StrOptions({"adaptive", "greedy", "relative", "exhaustive"})],
        "margin": [Interval(Real, 0, 1, closed="both")],
        "max_concepts": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        rank: int | None = None,
        n_chains: int = 512,
        max_iter: int = 500,
        *,
        acceptance: str = "adaptive",
        margin: float = 0.05,
        sparsity: float = 1e-5,
        max_concepts: int | None = None,
        center: bool = False,
        kernel: str = "linear",
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.acceptance = acceptance
        self.margin = margin
        self.sparsity = sparsity
        self.max_concepts = max_concepts
        self.center = center
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> BinaryAutoencoder:
        """Find the concepts of items.

        Parameters
        ----------
        X : array-like of shape (p, d)
            Items; or their kernel (p, p), if ``kernel="precomputed"``.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        BinaryAutoencoder
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is empty or not finite, a parameter is out of its range, a kernel is not square and symmetric, or
            ``center`` is set for a kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> BinaryAutoencoder(max_concepts=2, random_state=0).fit(X).concepts_.shape
        (8, 2)
        """
        self._validate_params()
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            return self._fit(self._items(X, reset=True))

    def _fit(self, data: Floats) -> BinaryAutoencoder:
        spectrum, mean, scale = self._spectrum(data)
        rng = check_random_state(self.random_state)
        self.n_iter_ = 1
        best = np.zeros((len(data), 0), dtype=np.uint8), 0.0, 0
        stands_out = signal_rank(spectrum.values, *data.shape)
        for rank in self._ranks(spectrum.values, *data.shape):
            S = self._search(spectrum, rank, rng)
            S, weights = strongest(spectrum.features, S, float(self.sparsity), self.max_concepts)
            fit = alignment(spectrum.features, S, weights)
            if fit > best[1] or not best[2]:
                best = S, fit, rank
            rest = np.sum(spectrum.values[rank:] ** 4) / np.sum(spectrum.values**4)
            if self.acceptance == "adaptive" and S.shape[1] >= rank == stands_out and rest < REST:
                break  # all that stands out is explained, and little is left
        S, rank = best[0], best[2]
        if self.rank is None and self.acceptance == "adaptive" and S.shape[1] < max(1, rank):
            overlapping = self._overlapping(spectrum, S, stands_out, data.shape[1], rng)
            found = self._jointly(spectrum, S, stands_out, rng), overlapping
            S = max(found, key=lambda bits: self._fits(spectrum.features, bits))
            rank = max(rank, S.shape[1])
        self._finish(spectrum, mean, scale, S, rank, float(self.sparsity))
        return self

    def _advice(self) -> str:
        if self.acceptance != "adaptive":
            return "raise margin or rank, or try acceptance='adaptive'."
        return (
            "average repeated measurements of an item, give more items, say in how many dimensions to look (rank=3), "
            "or take the best there are, which noise may have made: acceptance='greedy', max_concepts=3."
        )

    def _fits(self, features: Floats, S: Bits) -> float:
        return alignment(features, S, fit_weights(features, S, float(self.sparsity)))

    def _jointly(self, spectrum: Spectrum, S: Bits, rank: int, rng: np.random.RandomState) -> Bits:
        """Where the search leaves dimensions without a concept: all concepts together, if that fits better."""
        features = spectrum.features
        found = joint_concepts(features, S, rank, rng) if len(S) >= FEWEST_ITEMS else S
        if found is S:
            return S
        found, weights = strongest(features, refine_bits(features, found), float(self.sparsity), self.max_concepts)
        return found if alignment(features, found, weights) > self._fits(features, S) else S

    def _overlapping(self, spectrum: Spectrum, S: Bits, rank: int, d: int, rng: np.random.RandomState) -> Bits:
        """Where dimensions that stand out have no concept yet: those whose two groups overlap, if that fits better."""
        if self.kernel == "precomputed" or S.shape[1] >= rank:
            return S
        features = spectrum.features
        found = overlapping_concepts(spectrum, rank, d, rng)
        found, weights = strongest(features, found, float(self.sparsity), self.max_concepts)
        return found if alignment(features, found, weights) > self._fits(features, S) else S

    def _ranks(self, values: Floats, p: int, d: int) -> list[int]:
        """Dimensions to search in: those that stand out from noise. Where all directions carry signal none does, so up
        to √(2p) of them, which is as many concepts as items can tell apart, are tried as they are too; and where
        values are too few to tell noise by, so is what lies before the widest gap."""
        if self.rank is not None:
            return [min(self.rank, len(values))] if len(values) else []
        if self.acceptance == "greedy":
            return [len(values)] if len(values) else []
        ranks = [signal_rank(values, p, d)]
        most = int(np.sqrt(2 * p)) + 1
        if len(values) <= most:
            ranks.append(len(values))
        elif len(values) <= TOO_FEW_VALUES:
            ranks.append(int(np.argmax(values[:most] / values[1 : most + 1])) + 1)
        return sorted({rank for rank in ranks if rank})

    def _search(self, spectrum: Spectrum, rank: int, rng: np.random.RandomState) -> Bits:
        U = spectrum.basis[:, :rank]
        if self.acceptance == "adaptive":
            return self._adaptive(spectrum, rank, rng)
        if self.acceptance == "greedy":
            limit = 10 * rank if self.max_concepts is None else self.max_concepts
            space = unit_kernel(spectrum.features[:, :rank])
            return greedy_concepts(space, limit, float(self.sparsity), self.n_chains, rng)[0]
        if self.acceptance == "exhaustive":
            return to_bits(within(U, exhaustive_states(U), float(self.margin)))
        self.n_iter_ = self.max_iter
        return to_bits(within(U, chain_states(U, self.n_chains, self.max_iter, rng), float(self.margin)))

    def _adaptive(self, spectrum: Spectrum, rank: int, rng: np.random.RandomState) -> Bits:
        S, self.n_iter_ = refined_concepts(spectrum, rank, rng)
        if not S.shape[1]:
            return S
        space = unit_kernel(spectrum.features[:, :rank])
        return with_made_of_others(space, spectrum.basis[:, :rank], S, float(self.sparsity))


def within(U: FloatMatrix, states: FloatMatrix, margin: float) -> FloatMatrix:
    """The paper's acceptance: states whose energy is within the margin of the lowest."""
    cost = energies(U, states)
    order = np.argsort(cost, kind="stable")[:POOL]
    return np.asarray(states[:, order[cost[order] <= cost.min(initial=1.0) + margin]])
