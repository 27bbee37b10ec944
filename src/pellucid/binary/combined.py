"""Beyond the paper (its wish in section 3): sampling for global categories, assignment for local ones, single bits."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from pellucid._core.saved import Fitted
from pellucid._core.threads import one_blas_thread
from pellucid.binary.adaptive_search import refined_concepts
from pellucid.binary.assignment import assigned, check_number
from pellucid.binary.base import BinaryModel
from pellucid.binary.bit_flips import flip_bits
from pellucid.binary.bits_and_components import distinct_concepts, unique_columns
from pellucid.binary.description_length import described, search
from pellucid.binary.packed_bits import Bits
from pellucid.binary.spectrum import Spectrum
from pellucid.binary.weights import strongest_first


class CombinedConcepts(BinaryModel):
    """Yes/no concepts of items that have both global categories and a fine hierarchy.

    X ≈ S W + intercept, S binary, in three steps:

    1. Sampling (:class:`BinaryAutoencoder`) finds global concepts in the √(2p) leading directions, assignment
       (:class:`IterativeAssignment`) finds others, and Eq. 3 keeps those of both that the fit needs.
    2. Again and again the concepts that explain most stay, and what they leave of the kernel is assigned anew, the
       items in another order. An attempt counts if it describes the geometry in fewer bits: what is left unexplained,
       and which items each concept has. Concepts that noise may have made go if that makes it shorter.
    3. Single bits are flipped as long as that lowers the loss of Eq. 3, if the description gets shorter by it.

    Parameters
    ----------
    sparsity : float, default=1e-5
        The λ of Eq. 3, on kernels of unit norm, in the fit of the weights at the end.
    min_weight : float, default=0.02
        Assignment drops concepts below this share of the strongest.
    simplicity : float, default=0.5
        The λ while items are assigned, times their number; raise it for noisy items. See :class:`IterativeAssignment`.
    max_attempts : int, default=60
        Attempts of step 2 at most; twelve in a row that are in vain end it.
    max_sweeps : int, default=10
        Passes over all bits at most, in step 3.
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
    objective_ : ndarray
        Length of the description (twice its nats, up to a constant) after step 1 and after every attempt that shortened
        it.
    n_global_ : int
        How many concepts sampling found.
    n_features_in_ : int
        Numbers per item.

    See Also
    --------
    BinaryAutoencoder : Global concepts alone; much faster.
    IterativeAssignment : Assignment alone; much faster.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import CombinedConcepts
    >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]  # the corners of a box
    >>> model = CombinedConcepts(random_state=0).fit(X)
    >>> model.concepts_.T
    array([[0, 0, 0, 0, 1, 1, 1, 1],
           [0, 0, 1, 1, 0, 0, 1, 1],
           [0, 1, 0, 1, 0, 1, 0, 1]], dtype=uint8)
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {**BinaryModel._fitted_arrays, "objective_": Fitted("f", ("sweeps",))}
    _fitted_values: ClassVar[dict[str, type]] = {**BinaryModel._fitted_values, "n_global_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BinaryModel._parameter_constraints,
        "min_weight": [Interval(Real, 0, 1, closed="left")],
        "simplicity": [Interval(Real, 0, None, closed="left")],
        "max_attempts": [Interval(Integral, 0, None, closed="left")],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sparsity: float = 1e-5,
        min_weight: float = 0.02,
        simplicity: float = 0.5,
        max_attempts: int = 60,
        max_sweeps: int = 10,
        center: bool = False,
        kernel: str = "linear",
        random_state: Any = None,
    ) -> None:
        self.sparsity = sparsity
        self.min_weight = min_weight
        self.simplicity = simplicity
        self.max_attempts = max_attempts
        self.max_sweeps = max_sweeps
        self.center = center
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> CombinedConcepts:
        """Find the concepts of items.

        Parameters
        ----------
        X : array-like of shape (p, d)
            Items; or their kernel (p, p), if ``kernel="precomputed"``.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        CombinedConcepts
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is empty or not finite, a parameter is out of its range, a kernel is not square and symmetric, or
            ``center`` is set for a kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CombinedConcepts
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> CombinedConcepts(kernel="precomputed", random_state=0).fit(X @ X.T).weights_.round(2)
        array([9., 4., 1.])
        """
        self._validate_params()
        data = self._items(X, reset=True)
        check_number(data)
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            spectrum, mean, scale = self._spectrum(data)
            features, rng = spectrum.features, check_random_state(self.random_state)
            simplicity, min_weight = float(self.simplicity), float(self.min_weight)
            sampled = self._sampled(spectrum, rng)
            given = assigned(features, np.arange(len(data)), simplicity, min_weight)
            pool = unique_columns(np.hstack([sampled, given]))
            S, lengths = search(features, pool, simplicity, min_weight, int(self.max_attempts), rng)
            flipped = flip_bits(features, S, simplicity / len(data), int(self.max_sweeps))[0]
            flipped, _, length = described(features, distinct_concepts(flipped))
            if length < lengths[-1]:
                S, lengths = flipped, [*lengths, length]
            S = strongest_first(features, S, float(self.sparsity))
            self._finish(spectrum, mean, scale, S, len(spectrum.values), float(self.sparsity))
            self.objective_ = np.array(lengths)
            self.n_global_ = sampled.shape[1]
        return self

    def _sampled(self, spectrum: Spectrum, rng: np.random.RandomState) -> Bits:
        rank = min(len(spectrum.values), int(np.sqrt(2 * len(spectrum.basis))))
        if not rank:
            return np.zeros((len(spectrum.basis), 0), dtype=np.uint8)
        return refined_concepts(spectrum, rank, rng)[0]
