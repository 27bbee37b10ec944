"""Beyond the paper (its wish in section 3): sampling for global categories, assignment for local ones, single bits."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pellucid._base import Fitted
from pellucid.binary.adaptive import adaptive_states
from pellucid.binary.counts import Bits
from pellucid.binary.items import FIRST, Assignment, all_cuts
from pellucid.binary.local import flip_bits
from pellucid.binary.model import BinaryModel
from pellucid.binary.refine import orthogonal_components, refine_bits, to_bits, unique_columns
from pellucid.binary.spectrum import Spectrum
from pellucid.binary.weights import strongest
from pellucid.solvers._cholesky import Floats
from pellucid.solvers._threads import one_blas_thread


class CombinedConcepts(BinaryModel):
    """Yes/no concepts of items that have both global categories and a fine hierarchy: X ≈ S W + intercept, S binary.

    1. Sampling (:class:`BinaryAutoencoder`) finds global concepts in the √(2p) leading directions.
    2. What those leave of the items goes to assignment (:class:`IterativeAssignment`), and so do the items as they are.
    3. All concepts together are weighed by Eq. 3, which keeps those that the fit needs; so the loss is no larger than
       that of sampling or of assignment alone.
    4. Single bits are flipped as long as that lowers the loss.

    Parameters
    ----------
    sparsity : λ of Eq. 3, on kernels of unit norm, in the fit of the weights at the end
    min_weight, simplicity : as in :class:`IterativeAssignment`; the loss of steps 3 and 4 has λ = simplicity / p
    max_sweeps : passes over all bits at most
    kernel : "linear", or "precomputed" where X is a positive semidefinite kernel (p, p)
    random_state : seed; the same seed gives the same bits

    Attributes
    ----------
    Those of :class:`BinaryAutoencoder`, ``rank_`` being the dimension of the items; ``objective_``, the loss of Eq. 3
    after step 3 and after every pass of step 4, which never rises; and ``n_global_``, how many concepts sampling found.
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {**BinaryModel._fitted_arrays, "objective_": Fitted("f", ("sweeps",))}
    _fitted_values: ClassVar[dict[str, type]] = {**BinaryModel._fitted_values, "n_global_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "min_weight": [Interval(Real, 0, 1, closed="left")],
        "simplicity": [Interval(Real, 0, None, closed="left")],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
        "kernel": [StrOptions({"linear", "precomputed"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        sparsity: float = 1e-5,
        min_weight: float = 0.02,
        simplicity: float = 0.5,
        max_sweeps: int = 10,
        kernel: str = "linear",
        random_state: Any = None,
    ) -> None:
        self.sparsity = sparsity
        self.min_weight = min_weight
        self.simplicity = simplicity
        self.max_sweeps = max_sweeps
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> CombinedConcepts:
        """Find the concepts of items (p, d), or of a kernel (p, p)."""
        self._validate_params()
        data = self._items(X, reset=True)
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            spectrum, mean, scale = self._spectrum(data)
            features, penalty = spectrum.features, float(self.simplicity) / len(data)
            sampled = self._sampled(spectrum)
            pools = [sampled, self._assigned(features)]
            if sampled.shape[1]:
                W = orthogonal_components(features, sampled)[0]
                pools.append(self._assigned(features - (sampled - sampled.mean(axis=0)) @ W))
            pool = strongest(features, unique_columns(np.hstack(pools)), penalty)[0]
            S, _, losses, _ = flip_bits(features, pool, penalty, int(self.max_sweeps))
            S = unique_columns(to_bits(2.0 * S - 1.0))
            self._finish(spectrum, mean, scale, S, len(spectrum.values), float(self.sparsity))
            self.objective_ = np.array(losses)
            self.n_global_ = sampled.shape[1]
        return self

    def _sampled(self, spectrum: Spectrum) -> Bits:
        rank = min(len(spectrum.values), int(np.sqrt(2 * len(spectrum.basis))))
        if not rank:
            return np.zeros((len(spectrum.basis), 0), dtype=np.uint8)
        U = np.ascontiguousarray(spectrum.basis[:, :rank], dtype=np.float32)
        S = to_bits(adaptive_states(U, check_random_state(self.random_state))[0])
        return unique_columns(to_bits(2.0 * refine_bits(spectrum.features, S) - 1.0)) if S.shape[1] else S

    def _assigned(self, features: Floats) -> Bits:
        cuts = all_cuts(min(FIRST, len(features)))
        state = Assignment(features, cuts, np.zeros(cuts.shape[1]), float(self.simplicity), float(self.min_weight))
        return to_bits(2.0 * state.run() - 1.0)
