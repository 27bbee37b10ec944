"""What every model of binary concepts can do once it is fitted."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.arrays import Floats
from pellucid._core.callers import outside
from pellucid._core.checks import check_squares
from pellucid._core.kernels import nearest_bits
from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import as_rows
from pellucid._core.threads import one_blas_thread
from pellucid.binary.bits_and_components import components
from pellucid.binary.encoders import CERTAIN, disagreement, followed, linear_readers, nearest_wrong
from pellucid.binary.packed_bits import Bits
from pellucid.binary.sign_vectors import energies
from pellucid.binary.spectrum import Spectrum, spectrum_of_items, spectrum_of_kernel
from pellucid.binary.weights import alignment, centred, fit_weights, unit_kernel
from pellucid.preparation import PreparesRows
from pellucid.solvers.erasing import eraser_of_readers

BLOCK = 1 << 14
# largest numbers below this have squares that are lost
LEAST = 1e-150
# bits of the fit that the nearest reconstruction may read otherwise, before each concept gets a threshold
DISAGREE = 0.01
# components whose cosine is below this are orthogonal
ACROSS = 1e-8


class BinaryModel(PreparesRows, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedMixin, BaseEstimator):
    """Fitted names, new items and persistence of every model of this room."""

    kernel: str
    center: bool
    # whether the bits of the fit become what the readers say, where nearest reconstructions say something else
    _follows_readers: ClassVar[bool] = False

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "concepts_": Fitted("i", ("items", "concepts")),
        "weights_": Fitted("f", ("concepts",)),
        "components_": Fitted("f", ("concepts", "n_features_in_")),
        "intercept_": Fitted("f", ("n_features_in_",)),
        "offsets_": Fitted("f", ("concepts",)),
        "overlaps_": Fitted("f", ("concepts", "concepts")),
        "energies_": Fitted("f", ("concepts",)),
        "readers_": Fitted("f", ("concepts", "n_features_in_"), optional=True),
        "covariances_": Fitted("f", ("concepts", "n_features_in_"), optional=True),
        "odds_": Fitted("f", ("concepts", 2), optional=True),
        "thresholds_": Fitted("f", ("concepts",), optional=True),
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
        readers, linear = linear_readers(spectrum, S), False
        if S.shape[1]:
            wrong = nearest_wrong(features, S)
            linear = wrong > DISAGREE and (self._follows_readers or wrong > disagreement(readers, features, S))
            if linear and self._follows_readers:
                readers, S = followed(readers, features, sparsity)
        self.concepts_ = S
        self.rank_ = rank
        self.weights_ = fit_weights(features, S, sparsity)
        self.cka_ = alignment(features, S, self.weights_)
        self.energies_ = energies(spectrum.basis[:, :rank], 2.0 * S - 1.0)
        W = components(features, S)
        middle = S.mean(axis=0) @ W  # the mean item is intercept + ⟨s⟩W
        if self.kernel == "precomputed":  # over the items: w = Σ aᵢ x̄ᵢ
            turn = (spectrum.basis / spectrum.values).T
            self.components_ = W @ turn
            self.intercept_ = mean * scale
            squared = scale
            read, weighed = readers.readers @ turn / scale, readers.covariances @ turn
        else:
            self.components_ = (W @ spectrum.directions) * scale
            self.intercept_ = (mean - middle @ spectrum.directions) * scale
            squared = scale**2
            read, weighed = readers.readers @ spectrum.directions / scale, readers.covariances @ spectrum.directions
        self.weights_ = self.weights_ * squared
        self.overlaps_ = W @ W.T * squared
        self.offsets_ = W @ middle * squared
        self.readers_, self.covariances_, self.odds_ = read, weighed * scale, readers.odds
        self.__dict__.pop("thresholds_", None)
        if linear:
            self.thresholds_ = readers.thresholds
        if not S.shape[1]:
            warnings.warn(self._nothing_found(spectrum), stacklevel=outside())

    def _nothing_found(self, spectrum: Spectrum) -> str:
        """Why there are no concepts, and what to try."""
        if not len(spectrum.values):
            return "All items are alike, so there is no concept that tells them apart: concepts_ is empty."
        return "No concept stands out from noise, so concepts_ is empty and cka_ is 0: " + self._advice()

    def _advice(self) -> str:
        return "lower simplicity or min_weight, average repeated measurements of an item, or try BinaryAutoencoder."

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _scores(self, data: Floats) -> Floats:
        """⟨x − intercept, w⟩ for every item and concept."""
        along: Floats = (data - self.intercept_) @ self.components_.T
        return along + self.offsets_ if self.kernel == "precomputed" else along

    def transform(self, X: ArrayLike) -> Bits:
        """Bits (n, b) of items.

        They are those whose reconstruction is nearest, flipped one at a time from all zeros. Where that does not give
        the items of the fit the bits of the fit, as with more concepts than dimensions, each bit is read by a linear
        threshold of its own (``readers_`` and ``thresholds_``), which was fitted with it.

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
        if hasattr(self, "thresholds_"):
            return np.asarray(self._readings(data) > self.thresholds_, dtype=np.uint8)
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

    def _middle(self) -> Floats:
        """The mean item of the fit; of a kernel its mean row."""
        if self.kernel == "precomputed":
            return np.asarray(self.intercept_)
        return np.asarray(self.intercept_ + self.concepts_.mean(axis=0) @ self.components_)

    def _readings(self, data: Floats) -> Floats:
        """What the linear readers measure of every item."""
        self._refuse_old()
        return np.asarray((data - self._middle()) @ self.readers_.T)

    def _refuse_old(self) -> None:
        if not hasattr(self, "readers_"):
            raise ValueError("The model is from an older file, which has no linear readers of the bits: fit it again.")

    def predict_proba(self, X: ArrayLike) -> Floats:
        """How likely each bit of items is 1.

        What a linear reader measures of items without and with a concept is taken for two Gaussians of one variance;
        each item of the fit was measured by readers fitted without it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Items; for a precomputed kernel, its values (n, p) for these and the items of the fit.

        Returns
        -------
        ndarray of shape (n, b)
            Probabilities. The standard error of a bit is √(q(1 − q)).

        Raises
        ------
        ValueError
            If X is not finite or has another number of columns than in the fit, or the model is from an older file.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> BinaryAutoencoder(random_state=0).fit(X).predict_proba([[2.9, 0.2, 1.1]]).round(3)
        array([[1., 0., 1.]])
        """
        check_is_fitted(self, "concepts_")
        readings = self._readings(self._items(X, reset=False))
        return np.asarray(1 / (1 + np.exp(-np.clip(self.odds_[:, 0] * readings + self.odds_[:, 1], -CERTAIN, CERTAIN))))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """How well the concepts explain the geometry of items, which the fit need not have seen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            At least two items.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        float
            Centred kernel alignment of their bits, weighed as in the fit, with them; 0 without concepts.

        Raises
        ------
        ValueError
            If there is one item only, or the model was fitted to a precomputed kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> round(BinaryAutoencoder(random_state=0).fit(X).score(X[:6]), 6)
        1.0
        """
        check_is_fitted(self, "concepts_")
        self._refuse_kernel("score")
        data = self._items(X, reset=False)
        if len(data) < 2:
            raise ValueError("score compares items with each other, so it needs at least two.")
        return float(alignment(unit_kernel(centred(data)), self.transform(X), self.weights_))

    def remove(self, X: ArrayLike, concept: int | ArrayLike) -> Floats:
        """Take concepts out of items, so that no linear reader tells them from the items any more.

        The closed form of least-squares erasure: items move no farther than they must for nothing of them to be
        correlated with the bits in the items of the fit, and to where the concepts' own readings say 0.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Items.
        concept : int, array-like of int, or array-like of float of shape (b,) or (m, b)
            Number of the concept, counted from 0; or several numbers. As floats: so much of each concept is taken out
            together, as :class:`SubConcepts` has it in ``coefficients``; items then move to where the mean item is.

        Returns
        -------
        ndarray of shape (n, d)
            The items without the concepts, as the concepts see them: see :meth:`prepare`.

        Raises
        ------
        ValueError
            If there is no such concept, the model was fitted to a precomputed kernel, or it is from an older file.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import BinaryAutoencoder
        >>> X = np.array(list(np.ndindex(2, 2, 2))) * [3.0, 2.0, 1.0]
        >>> model = BinaryAutoencoder(random_state=0).fit(X)
        >>> np.allclose(model.remove([[3, 2, 1]], concept=0), [[0, 2, 1]])
        True
        >>> np.allclose(model.remove([[3, 2, 1]], concept=[0, 2]), [[0, 2, 0]])
        True
        """
        check_is_fitted(self, "concepts_")
        self._refuse_kernel("remove")
        self._refuse_old()
        together = self._together(concept)
        data = self._items(X, reset=False)
        readers, covariances = together @ self._told_by(), together @ self.covariances_
        # where items without a concept are, as seen from the mean item
        absent = -self.covariances_ / (1 - self.concepts_.mean(axis=0))[:, None]
        single = (together != 0).sum(axis=1) == 1
        target = np.where(single, np.einsum("ij,ij->i", readers, together @ absent), 0.0)
        with one_blas_thread():
            taken = eraser_of_readers(readers, covariances, target)
        return np.asarray(data - ((data - self._middle()) @ taken.right.T - taken.level) @ taken.left.T)

    def _told_by(self) -> Floats:
        """Directions by which transform tells a concept, so that its bit is constant once nothing varies along them:
        the components where these are orthogonal, else the readers."""
        if hasattr(self, "thresholds_"):
            return np.asarray(self.readers_)
        lengths = np.sqrt(self.overlaps_.diagonal())
        across = np.abs(self.overlaps_ - np.diag(lengths**2))
        orthogonal = bool((across <= ACROSS * np.outer(lengths, lengths)).all())
        return np.asarray(self.components_ if orthogonal else self.readers_)

    def _together(self, concept: Any) -> Floats:
        """The concepts to be removed, (m, b): how much of each in every row."""
        count = len(self.components_)
        wanted = np.asarray(concept)
        if (
            wanted.dtype.kind == "f"
            and wanted.ndim in (1, 2)
            and wanted.shape[-1] == count
            and np.isfinite(wanted).all()
        ):
            return np.asarray(np.atleast_2d(wanted), dtype=np.float64)
        numbers = wanted.ravel()
        if wanted.dtype.kind not in "iu" or wanted.ndim > 1 or not numbers.size:
            raise ValueError(f"There is no concept {concept!r}; there are {count}, counted from 0.")
        wrong = numbers[(numbers < 0) | (numbers >= count)]
        if wrong.size:
            raise ValueError(f"There is no concept {wrong[0]}; there are {count}, counted from 0.")
        return np.asarray(np.eye(count)[np.unique(numbers)])

    def _refuse_kernel(self, method: str) -> None:
        if self.kernel == "precomputed":
            raise ValueError(f"{method} needs items, but the model was fitted to a precomputed kernel.")
