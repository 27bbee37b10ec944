"""One file per model: safetensors for the arrays, a JSON header for everything else. Loading runs no code of the file.

The header is one metadata entry, ``pellucid``, that holds
``{"format": 1, "class": …, "version": …, "params": {…}, "values": {…}, "text": {…}}``: constructor parameters, plain
fitted attributes, and fitted arrays of text. Numeric fitted arrays are the file's tensors, named as the attributes.

``checksums`` has one for each tensor, and ``sum``, which stands last, one for the header's text before it; files of
0.1.0.dev0 have neither.

What a model does to raw rows first, its ``preparation_``, is the header's ``"preprocessing"``, written in the same way,
and its tensors are named with ``preprocessing_.`` in front.

``card`` says in Markdown what the model is, for people; nothing of it is read back.

A scikit-learn pipeline of such models is ``{"format": 2, "class": "Pipeline", "version": …, "params": {…}, "steps":
[…]}``: each step a name and what a model's header says, its tensors named with ``steps.0.`` and so on in front.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import __version__
from pellucid._core.atomic import atomic_path
from pellucid._core.cards import card
from pellucid._core.checksums import described_sum, text_sum
from pellucid._core.saved import Fitted, SavedMixin

__all__ = ["ModelFileError", "card", "load", "read_card", "save"]

# of a model, and of a pipeline, of which earlier versions say that they cannot read it
FORMAT, PIPELINE_FORMAT = 1, 2
KEY = "pellucid"
# what a header ends with that has a checksum
SUM = re.compile(r', "sum": (\d{1,10})\}\Z')
PREPARATION = "preparation_"
# what its tensors are named with
MARK = "preprocessing_."

PIPELINE = "Pipeline"
# a step that does nothing
PASSED = "passthrough"

# the classes that a file may name, and where each lives today; a name never changes once a file may hold it
MODELS = {
    "BinaryAutoencoder": "pellucid.binary",
    "CenteredNormalizer": "pellucid.preparation",
    "CombinedConcepts": "pellucid.binary",
    "CommonalityClustering": "pellucid.clusters",
    "ConceptDiscovery": "pellucid.concepts",
    "ConceptErasure": "pellucid.concepts",
    "ConceptSubspaces": "pellucid.concepts",
    "IsometryPursuit": "pellucid.selection",
    "IterativeAssignment": "pellucid.binary",
    "LassoCode": "pellucid.manifold",
    "NearestCode": "pellucid.manifold",
    "PatchManifoldTransform": "pellucid.manifold",
    "SparseManifoldTransform": "pellucid.manifold",
    "SphericalKMeans": "pellucid.manifold",
    "ThresholdCode": "pellucid.manifold",
    "WordManifoldTransform": "pellucid.manifold",
}

# constructor parameters of files of 0.1.0.dev0 that have another name today
RENAMED = {("BinaryAutoencoder", "tolerance"): "margin"}
# what files of 0.1.0.dev0 hold and models no longer use
RETIRED = {"ConceptSubspaces": ("gate_coef_", "gate_intercept_", "gate_weights_")}

NUMPY_KINDS = {"f": "f", "i": "iu", "b": "b"}


class ModelFileError(ValueError):
    """A model file that cannot be taken, and why."""


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model to a file, in one atomic step.

    Parameters
    ----------
    model : estimator
        A fitted model of this library, or a ``sklearn.pipeline.Pipeline`` of such models; its ``memory`` is not kept.
    path : str or Path
        Ends in .safetensors. A file that is there is replaced once the new one is complete.

    Raises
    ------
    TypeError
        The model, or a step of the pipeline, is not one of this library.
    ValueError
        The path does not end in .safetensors, or the model has a parameter that a file cannot hold.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.preparation import CenteredNormalizer
    >>> pellucid.save(CenteredNormalizer().fit([[2.0, 0.0], [0.0, 5.0]]), "model.safetensors")
    >>> pellucid.load("model.safetensors").mean_.tolist()
    [0.5, 0.5]
    """
    from safetensors.numpy import save as to_bytes

    target, whole = Path(path), _is_pipeline(model)
    if not whole:
        _check_ours(model)
    if target.suffix != ".safetensors":
        raise ValueError(f"Model files end in .safetensors, but the path is {str(path)!r}.")
    part, tensors = _pipeline_parts(model) if whole else _model_parts(model)
    sums = {name: described_sum(array) for name, array in tensors.items()}
    kind = {"format": PIPELINE_FORMAT if whole else FORMAT, "version": __version__}
    header = {**kind, **part, "card": card(model), "checksums": sums}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    payload = to_bytes(tensors, metadata={KEY: f'{text[:-1]}, "sum": {text_sum(text)}}}'})
    with atomic_path(target) as temporary:
        temporary.write_bytes(payload)


def _check_ours(model: Any) -> None:
    if not _is_ours(model):
        name = type(model).__name__
        raise TypeError(f"Only Pellucid's own models can be saved ({', '.join(sorted(MODELS))}), not {name}.")


def _is_ours(model: Any) -> bool:
    return isinstance(model, SavedMixin) and type(model).__name__ in MODELS


def _model_parts(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a fitted model, with those of what prepares its rows."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    header, tensors = _describe(model)
    before = getattr(model, PREPARATION, None)
    if before is not None:
        _check_ours(before)
        header["preprocessing"], arrays = _describe(before)
        tensors |= {f"{MARK}{key}": array for key, array in arrays.items()}
    return header, tensors


def _is_pipeline(model: Any) -> bool:
    return type(model).__name__ == PIPELINE and type(model).__module__ == "sklearn.pipeline"


def _pipeline_parts(pipeline: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a pipeline, all of whose steps are models of this library."""
    steps: list[dict[str, Any]] = []
    tensors: dict[str, np.ndarray] = {}
    for i, (name, model) in enumerate(pipeline.steps):
        if model is None or (isinstance(model, str) and model == PASSED):
            steps.append({"name": name, "class": PASSED})
            continue
        if not _is_ours(model):
            raise TypeError(
                f"The step {name!r} of the pipeline is a {type(model).__name__}, which is no model of Pellucid "
                f"({', '.join(sorted(MODELS))}): save the steps around it one by one, or do without it."
            )
        header, arrays = _model_parts(model)
        steps.append({"name": name, **header})
        tensors |= {f"{_step_mark(i)}{key}": array for key, array in arrays.items()}
    params = {key: getattr(pipeline, key, None) for key in ("verbose", "transform_input")}
    return {"class": PIPELINE, "params": _plain(params, "A parameter of the pipeline"), "steps": steps}, tensors


def _step_mark(i: int) -> str:
    return f"steps.{i}."


def _describe(model: SavedMixin) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the header says of a fitted model, and its numeric arrays."""
    tensors, text = {}, {}
    for attribute, fitted in model._fitted_arrays.items():
        if not hasattr(model, attribute):
            continue
        array = np.asarray(getattr(model, attribute))
        if fitted.kind == "U":
            text[attribute] = [str(item) for item in array]
        else:
            tensors[attribute] = np.ascontiguousarray(array)
    header = {
        "class": type(model).__name__,
        "params": {key: _plain(value, f"The parameter {key}") for key, value in model.get_params(deep=False).items()},
        "values": {
            key: _plain(getattr(model, key), f"The attribute {key}")
            for key in model._fitted_values
            if hasattr(model, key)
        },
        "text": text,
    }
    return header, tensors


def load(path: str | Path) -> Any:
    """Open a model that :func:`save` wrote; no code of the file is run.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator
        The fitted model, of the class that was saved; of a pipeline with all its steps.

    Raises
    ------
    ModelFileError
        The file is damaged, no model file, or of a newer format.
    FileNotFoundError
        There is no such file.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.preparation import CenteredNormalizer
    >>> pellucid.save(CenteredNormalizer().fit([[2.0, 0.0], [0.0, 5.0]]), "model.safetensors")
    >>> pellucid.load("model.safetensors")
    CenteredNormalizer()
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"There is no model file at {str(path)!r}.")
    header, tensors = _read(source)
    form = header.get("format")
    if not isinstance(form, int) or isinstance(form, bool) or form < 1:
        raise ModelFileError(f"{source} does not say which format of model file it is.")
    if form > PIPELINE_FORMAT:
        raise ModelFileError(
            f"{source} has model format {form}, written by Pellucid {header.get('version')}; "
            f"this Pellucid, {__version__}, reads up to format {PIPELINE_FORMAT}: upgrade it to load the file."
        )
    build = _build_pipeline if form == PIPELINE_FORMAT else _build_model
    return build(source, header, tensors)


def _build_pipeline(source: Path, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    from sklearn.pipeline import Pipeline

    steps, params = header.get("steps"), header.get("params")
    if header.get("class") != PIPELINE or not isinstance(steps, list) or not steps or not isinstance(params, dict):
        raise ModelFileError(f"{source} says that it is a pipeline, but not of which steps.")
    names = [step.get("name") if isinstance(step, dict) else None for step in steps]
    for name in names:
        if not isinstance(name, str) or "__" in name or names.count(name) > 1:
            raise ModelFileError(
                f"{source} has a step named {name!r}, but names of steps are texts without '__', all different."
            )
    marks = [_step_mark(i) for i in range(len(steps))]
    stray = [key for key in tensors if not key.startswith(tuple(marks))]
    if stray:
        raise ModelFileError(f"{source} has the array {min(stray)!r}, which belongs to no step.")
    models = []
    for step, mark in zip(steps, marks):
        own = {key.removeprefix(mark): array for key, array in tensors.items() if key.startswith(mark)}
        if step.get("class") == PASSED and not own:
            models.append(PASSED)
        else:
            models.append(_build_model(source, step, own))
    verbose, routed = params.get("verbose"), params.get("transform_input")
    if not isinstance(verbose, bool) or not (routed is None or isinstance(routed, list)):
        raise ModelFileError(f"{source} has parameters of a pipeline that cannot be.")
    return Pipeline(list(zip(names, models)), verbose=verbose, transform_input=routed)


def _build_model(source: Path, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    own = {key: array for key, array in tensors.items() if not key.startswith(MARK)}
    before = None
    if "preprocessing" in header:
        arrays = {key.removeprefix(MARK): array for key, array in tensors.items() if key.startswith(MARK)}
        before = _build(source, header["preprocessing"], arrays)
    elif len(own) < len(tensors):
        raise ModelFileError(f"{source} has arrays of a preprocessing, but does not say of which.")
    model = _build(source, header, own, before)
    if model._prepares_rows:
        setattr(model, PREPARATION, before)
    elif before is not None:
        raise ModelFileError(f"{source} has a preprocessing, but a {type(model).__name__} takes rows as they are.")
    return model


def _build(source: Path, header: Any, tensors: dict[str, np.ndarray], before: Any = None) -> Any:
    """The fitted model that this part of a header describes; ``before`` prepared its rows."""
    name = header.get("class") if isinstance(header, dict) else header
    if not isinstance(name, str) or name not in MODELS:
        raise ModelFileError(f"{source} holds a {name!r}, which is not a model of this Pellucid ({__version__}).")
    cls = getattr(importlib.import_module(MODELS[name]), name)
    parts: dict[str, dict[str, Any]] = {}
    for part in ("params", "values", "text"):
        if not isinstance(header.get(part), dict):
            raise ModelFileError(f"{source} has no {part} in its header.")
        parts[part] = dict(header[part])
    parts["params"] = {RENAMED.get((name, key), key): value for key, value in parts["params"].items()}
    if name == "IsometryPursuit":
        _turn(parts, tensors)
    unknown = set(parts["params"]) - set(inspect.signature(cls).parameters)
    if unknown:
        raise ModelFileError(f"{source} has the parameter {min(unknown)!r}, which {name} does not have.")
    params = {**cls._lacking_params, **parts["params"]}
    if cls._prepares_rows and "center" not in params:  # written when rows were prepared outside
        params["center"] = before is not None and before.center
        if "normalize" in inspect.signature(cls).parameters:
            params["normalize"] = before is not None and not before.center
    model = cls(**params)
    try:
        model._validate_params()
    except ValueError as error:
        raise ModelFileError(f"{source}: {error}") from error
    _restore(model, source, tensors, parts["values"], parts["text"])
    return model


def _turn(parts: dict[str, dict[str, Any]], tensors: dict[str, np.ndarray]) -> None:
    """In files of 0.1.0.dev0 isometry pursuit chose columns: its features were the candidates, which are rows today."""
    coef = tensors.get("support_coef_")
    if "n_samples_seen_" not in parts["values"] and coef is not None and coef.ndim == 2:
        parts["values"]["n_samples_seen_"] = parts["values"].get("n_features_in_")
        parts["values"]["n_features_in_"] = coef.shape[1]
        parts["text"].pop("feature_names_in_", None)  # names of candidates; rows have none


def _read(source: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors of a model file, its structure checked by the safetensors library before any allocation."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(source, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError(f"{source} is a safetensors file, but not one that pellucid.save wrote.")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 not a mapping
        header = json.loads(metadata[KEY])
    except ModelFileError:
        raise
    except (SafetensorError, ValueError, RecursionError, OverflowError, TypeError, KeyError) as error:
        raise ModelFileError(f"{source} is damaged or not a model file: {error}.") from error
    if not isinstance(header, dict):
        raise ModelFileError(f"{source} has a header that is not a JSON object.")
    _check_sums(source, metadata[KEY], header, tensors)
    return header, tensors


def read_card(path: str | Path) -> str:
    """Read the card that a model file carries, or write that of a file of an earlier version.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    str
        Markdown, as :func:`pellucid.card` writes it.

    Raises
    ------
    ModelFileError
        The file is damaged, no model file, or of a newer format.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.preparation import CenteredNormalizer
    >>> model = CenteredNormalizer().fit([[2.0, 0.0], [0.0, 5.0]])
    >>> pellucid.save(model, "model.safetensors")
    >>> pellucid.persistence.read_card("model.safetensors") == pellucid.card(model)
    True
    """
    model = load(path)
    told = _read(Path(path))[0].get("card")
    return told if isinstance(told, str) else card(model)


def has_checksums(path: str | Path) -> bool:
    """Whether a model file has checksums, which :func:`load` compares; files of 0.1.0.dev0 have none."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return SUM.search((file.metadata() or {}).get(KEY, "")) is not None


def _check_sums(source: Path, text: str, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """Refuse what is not what was written; files without checksums are of an earlier version."""
    sums, advice = header.get("checksums"), "it was damaged since it was written, so copy or fit it again."
    end = SUM.search(text)
    if end is None and sums is None and "sum" not in header:
        return
    if end is None or int(end[1]) != text_sum(text[: end.start()] + "}") or not isinstance(sums, dict):
        raise ModelFileError(f"{source} has a header that does not have its checksum: {advice}")
    if set(sums) != set(tensors):
        raise ModelFileError(f"{source} does not hold the arrays that its header names: {advice}")
    for name, array in tensors.items():
        if described_sum(array) != sums[name]:
            raise ModelFileError(f"{source}: {name} does not have its checksum: {advice}")


def _restore(
    model: SavedMixin, source: Path, tensors: dict[str, np.ndarray], values: dict[str, Any], text: dict[str, Any]
) -> None:
    """Set the fitted attributes, each of which the class must know, with the kind and shape that it declares."""
    name = type(model).__name__
    declared = model._fitted_arrays
    for attribute in values:
        if attribute not in model._fitted_values:
            raise ModelFileError(f"{source} has the value {attribute!r}, which {name} does not have.")
    for attribute, kind in model._fitted_values.items():
        value: Any = values.get(attribute, model._lacking_values.get(attribute))
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            raise ModelFileError(f"{source}: {attribute} is {value!r}, where a {kind.__name__} belongs.")
        setattr(model, attribute, value)
    arrays = {key: array for key, array in tensors.items() if key not in RETIRED.get(name, ())}
    for attribute, items in text.items():
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ModelFileError(f"{source} has a list {attribute!r} that holds something other than text.")
        arrays[attribute] = np.array(items, dtype=object)
    missing = [key for key, fitted in declared.items() if not fitted.optional and key not in arrays]
    if missing:
        raise ModelFileError(f"{source} holds no fitted {name}: it lacks {missing[0]}.")
    lengths: dict[str, int] = {}
    for attribute, array in arrays.items():
        if attribute not in declared:
            raise ModelFileError(f"{source} has the array {attribute!r}, which {name} does not have.")
        _check(source, attribute, array, declared[attribute], values, lengths)
        setattr(model, attribute, array)


def _check(
    source: Path, attribute: str, array: np.ndarray, fitted: Fitted, values: dict[str, Any], lengths: dict[str, int]
) -> None:
    if fitted.kind != "U" and array.dtype.kind not in NUMPY_KINDS[fitted.kind]:
        raise ModelFileError(f"{source}: {attribute} holds {array.dtype} values, which is not what belongs there.")
    if array.ndim != len(fitted.shape):
        raise ModelFileError(f"{source}: {attribute} has {array.ndim} dimensions instead of {len(fitted.shape)}.")
    for length, expected in zip(array.shape, fitted.shape):
        if isinstance(expected, str):
            wanted = values.get(expected) if expected.endswith("_") else lengths.setdefault(expected, length)
        else:
            wanted = expected
        if length != wanted:
            raise ModelFileError(
                f"{source}: {attribute} has shape {array.shape}, which does not fit the rest of the model "
                f"({expected} is {wanted})."
            )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"{source}: {attribute} holds values that are not finite.")


def _plain(value: Any, what: str) -> Any:
    """``value`` in terms of JSON, or a sentence why that cannot be."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{what} is {value}, which a model file cannot hold.")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, what) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, what) for key, item in value.items()}
    raise ValueError(f"{what} is a {type(value).__name__}, which a model file cannot hold; replace it before saving.")
