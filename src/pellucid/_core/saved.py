"""What a fitted estimator tells about itself, so that files can be written and, above all, checked when read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple


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
    """Names the fitted attributes that belong into a file: arrays, plain values with their types, and the values and
    parameters that older files lack; and whether the model prepares raw rows, so that its ``preparation_`` belongs
    there too."""

    _prepares_rows: ClassVar[bool] = False
    _fitted_arrays: ClassVar[dict[str, Fitted]] = {}
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int}
    _lacking_values: ClassVar[dict[str, Any]] = {}
    _lacking_params: ClassVar[dict[str, Any]] = {}

    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

        def _validate_params(self) -> None: ...
