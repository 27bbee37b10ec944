"""What a fitted estimator tells about itself, so that files can be written and, above all, checked when read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Fitted(NamedTuple):
    """A fitted array: its kind ("f" float, "i" whole numbers, "b" bool, "U" text), its shape, and whether it may lack.

    A dimension is a number, or a name that must mean the same length everywhere in one model; a name that ends in
    ``_`` is the value of that fitted attribute.
    """

    kind: str
    shape: tuple[int | str, ...]
    optional: bool = False


NAMES_IN = {"feature_names_in_": Fitted("U", ("n_features_in_",), optional=True)}


class SavedMixin:
    """Names the fitted attributes that belong into a file, arrays and plain values with their types."""

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {}
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int}

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

        def _validate_params(self) -> None: ...


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Rows of unit length; rows of zeros stay as they are."""
    # a row of huge or tiny numbers would over- or underflow when squared
    largest = np.abs(X).max(axis=-1, keepdims=True, initial=0.0)
    scaled = X / np.where(largest > 0, largest, 1).astype(X.dtype)
    lengths = np.sqrt(np.einsum("...i,...i->...", scaled, scaled, dtype=np.float64))[..., None]
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1).astype(X.dtype))
