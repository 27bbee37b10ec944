"""What every model of binary concepts can do once it is fitted."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import Floats
from pellucid._core.checks import check_squares
from pellucid._core.kernels import nearest_bits
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows
from pellucid.binary.bits_and_components import components
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import energies
from pellucid.binary.spectrum import Spectrum, spectrum_of_items, spectrum_of_kernel
from pellucid.binary.weights import alignment, fit_weights
from pellucid.preparation import PreparesRows

BLOCK = 1 << 14
# largest numbers below this have squares that are lost
LEAST = 1e-150


class BinaryModel(PreparesRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """Fitted names, new items and persistence of every model of this room."""

    kernel: str
    center: bool

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "concepts_": Fitted("i", ("items", "concepts")),
        "weights_": Fitted("f", ("concepts",)),
        "components_": Fitted("f", ("concepts", "n_features_in_")),
        "intercept_": Fitted("f", ("n_features_in_",)),
        "offsets_": Fitted("f", ("concepts",)),
        "overlaps_": Fitted("f", ("concepts", "concepts")),
        "energies_": Fitted("f", ("concepts",)),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int, "rank_": int, "cka_": float}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "center": ["boolean"],
        "kernel": [StrOptions({"linear", "precomputed"})],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _items(self, X: ArrayLike, reset: bool) -> Floats:
        data: Floats = validate_data(self, as_rows(X), reset=reset, dtype=np.float64)
        if (
            reset
            and self.kernel == "precomputed"
            and (
                data.shape[0] != data.shape[1]
                or not np.allclose(data, data.T, rtol=1e-6, atol=1e-9 * np.abs(data).max())
            )
        ):
            raise ValueError(f"A precomputed kernel must be a symmetric square matrix, but its shape is {data.shape}.")
        if self.center and self.kernel == "precomputed":
            raise ValueError("center prepares items, but the kernel is precomputed: set center=False.")
        return np.asarray(self._learn_preparation(data) if reset else self._prepared(data))

    def prepare(self, X: ArrayLike) -> Floats:
        """Raw items (n, d) as the concepts see them.

        They are normalised, centred and normalised again if ``center`` is set, and stay as they are if not.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw items; for a precomputed kernel, its values (n, p) for these and the items of the fit.

        Returns
        -------
        ndarray of shape (n, d)
            The prepared items.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0] - 1
        >>> model = BinaryAutoencoder(center=True, random_state=0).fit(X)
        >>> np.linalg.norm(model.prepare(X[:2]), axis=1).round(6)
        array([1., 1.])
        """
        check_is_fitted(self, "concepts_")
        return self._items(X, reset=False)

    def _spectrum(self, data: Floats) -> tuple[Spectrum, Floats, float]:
        """Where the items lie, their mean (of a kernel: of its rows), and by what both were divided, so that the
        kernel has unit norm (and no power of the data overflows)."""
        if self.kernel != "precomputed":  # whose values are squares already
            check_squares(data, "X", LEAST)
        largest = float(np.abs(data).max())
        largest = largest if largest > 0 else 1.0
        mean = (data / largest).mean(axis=0)
        if self.kernel == "precomputed":
            spectrum, unit = spectrum_of_kernel(data / largest).normalised()
            return spectrum, mean / unit**2, largest * unit**2
        spectrum, unit = spectrum_of_items(data / largest - mean).normalised()
        return spectrum, mean / unit, largest * unit

    def _finish(self, spectrum: Spectrum, mean: Floats, scale: float, S: Bits, rank: int, sparsity: float) -> None:
        """Fitted attributes for the concepts S, on the scale of the data."""
        features = spectrum.features
        self.concepts_ = S
        self.rank_ = rank
        self.weights_ = fit_weights(features, S, sparsity)
        self.cka_ = alignment(features, S, self.weights_)
        self.energies_ = energies(spectrum.basis[:, :rank], 2.0 * S - 1.0)
        W = components(features, S)
        middle = S.mean(axis=0) @ W  # the mean item is intercept + ⟨s⟩W
        if self.kernel == "precomputed":  # over the items: w = Σ aᵢ x̄ᵢ
            self.components_ = (W / spectrum.values) @ spectrum.basis.T
            self.intercept_ = mean * scale
            squared = scale
        else:
            self.components_ = (W @ spectrum.directions) * scale
            self.intercept_ = (mean - middle @ spectrum.directions) * scale
            squared = scale**2
        self.weights_ = self.weights_ * squared
        self.overlaps_ = W @ W.T * squared
        self.offsets_ = W @ middle * squared

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _scores(self, data: Floats) -> Floats:
        """⟨x − intercept, w⟩ for every item and concept."""
        along: Floats = (data - self.intercept_) @ self.components_.T
        return along + self.offsets_ if self.kernel == "precomputed" else along

    def transform(self, X: ArrayLike) -> Bits:
        """Bits (n, b) of items: those whose reconstruction is nearest, flipped one at a time from all zeros.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Items; for a precomputed kernel, its values (n, p) for these and the items of the fit.

        Returns
        -------
        ndarray of shape (n, b), dtype uint8
            0 or 1 for every item and concept.

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> BinaryAutoencoder(random_state=0).fit(X).transform([[2.9, 0.2, 1.1]])
        array([[1, 0, 1]], dtype=uint8)
        """
        check_is_fitted(self, "concepts_")
        data = self._items(X, reset=False)
        bits = np.zeros((len(data), len(self.components_)), dtype=np.uint8)
        overlaps = np.require(self.overlaps_, np.float64, ["C", "A"])  # a file may have others
        for start in range(0, len(data), BLOCK):
            rows = slice(start, start + BLOCK)
            nearest_bits(overlaps, np.ascontiguousarray(self._scores(data[rows])), bits[rows])
        return bits

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Items that have given bits.

        Parameters
        ----------
        X : array-like of shape (n, b)
            0 or 1 for every item and concept; a number between them takes that part of a concept.

        Returns
        -------
        ndarray of shape (n, d)
            X ``components_`` + ``intercept_``, as the concepts see items: see :meth:`prepare`.

        Raises
        ------
        ValueError
            If X has not one column per concept, or the model was fitted to a precomputed kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> model = BinaryAutoencoder(random_state=0).fit(X)
        >>> np.allclose(model.inverse_transform([[1, 0, 1]]), [[3, 0, 1]])
        True
        """
        check_is_fitted(self, "concepts_")
        self._refuse_kernel("inverse_transform")
        codes = np.asarray(X, dtype=np.float64)
        if codes.ndim != 2 or codes.shape[1] != len(self.components_):
            raise ValueError(
                f"X must have {len(self.components_)} columns, one per concept; its shape is {codes.shape}."
            )
        return np.asarray(codes @ self.components_ + self.intercept_)

    def remove(self, X: ArrayLike, concept: int) -> Floats:
        """Take one concept out of items.

        They move along the concept's component to where its bit is 0, so that nothing along it tells items apart.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Items.
        concept : int
            Number of the concept, counted from 0.

        Returns
        -------
        ndarray of shape (n, d)
            The items without the concept, as the concepts see them: see :meth:`prepare`.

        Raises
        ------
        ValueError
            If there is no such concept, or the model was fitted to a precomputed kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> model = BinaryAutoencoder(random_state=0).fit(X)
        >>> np.allclose(model.remove([[3, 2, 1]], concept=0), [[0, 2, 1]])
        True
        """
        check_is_fitted(self, "concepts_")
        self._refuse_kernel("remove")
        if not isinstance(concept, (int, np.integer)) or not 0 <= concept < len(self.components_):
            raise ValueError(f"There is no concept {concept!r}; there are {len(self.components_)}, counted from 0.")
        data = self._items(X, reset=False)
        component = self.components_[concept]
        along = (data - self.intercept_) @ component / (component @ component)
        return np.asarray(data - np.outer(along, component))

    def _refuse_kernel(self, method: str) -> None:
        if self.kernel == "precomputed":
            raise ValueError(f"{method} needs items, but the model was fitted to a precomputed kernel.")
