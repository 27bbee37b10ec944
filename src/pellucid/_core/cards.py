"""What a fitted model says of itself, in Markdown: data, concepts, measures, preparation, limits. The same model has
the same card, to the letter; a model's file carries it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

OF_ITEMS = "The concepts are of the items that it was fitted on; new items may have others."
# class -> what it is, what it is labelled with on a hub, and what must not be expected of it
ABOUT: dict[str, tuple[str, str, list[str]]] = {
    "BinaryAutoencoder": (
        "Yes/no concepts whose weighted sum explains how similar items are.", "binary-concepts",
        [OF_ITEMS,
         "A similarity that is not a sum over yes/no concepts is explained only in part: see cka."]),
    "CenteredNormalizer": (
        "Brings rows to unit length, takes their mean out, and brings them to unit length again.", "preparation",
        ["Rows of another encoder, or of another modality of the same one, have another mean."]),
    "CombinedConcepts": (
        "Yes/no concepts of few items at a time, made one set.", "binary-concepts",
        [OF_ITEMS]),
    "CommonalityClustering": (
        "Clusters, each with a few directions in which it varies, beside what all rows share.", "clustering",
        ["It gives every row a cluster, also one that belongs to none.",
         "The number of clusters is the one that was asked for or chosen by stability, not a fact about the world."]),
    "ConceptDiscovery": (
        "Concepts that were found without labels: a positive cone of atoms for each.", "concepts",
        ["Names are the words that set examples apart; look at the examples before you trust a name.",
         "Another sample finds some of the concepts again and others not: see stability."]),
    "ConceptErasure": (
        "Takes concepts out of rows, so that no linear reader finds them any more.", "concept-erasure",
        ["Only linear readers are kept out; one that is not linear may still tell.",
         "What goes with a concept in the rows it was fitted on goes with it."]),
    "ConceptSubspaces": (
        "A positive cone of atoms for each concept that rows were labelled with.", "concepts",
        ["It knows the concepts that it was given and no others; the rest of a row is in no concept.",
         "Concepts that went together in the labels are hard to tell apart."]),
    "IsometryPursuit": (
        "A few rows that span the space with least distortion.", "selection",
        ["The selection is of the candidates that it was fitted on."]),
    "IterativeAssignment": (
        "Yes/no concepts, with those of more items assigned one by one.", "binary-concepts",
        [OF_ITEMS]),
    "LassoCode": ("Sparse codes over atoms.", "sparse-codes", ["Atoms that no row is near are never used."]),
    "NearestCode": ("Codes over the nearest atoms.", "sparse-codes", ["A row far from all atoms is coded, too."]),
    "PatchManifoldTransform": (
        "Vectors of images from their patches, in two closed-form layers.", "manifold",
        ["Images must have the size that it was fitted on."]),
    "SparseManifoldTransform": (
        "An embedding in which neighbours of the data stay neighbours, in two closed-form layers.", "manifold",
        ["It knows the neighbours of the rows that it was fitted on; far from them it says little."]),
    "SphericalKMeans": (
        "Clusters of directions.", "clustering", ["It gives every row a cluster, also one that belongs to none."]),
    "ThresholdCode": ("Codes of the atoms a row is near enough to.", "sparse-codes", ["A row may be near to none."]),
    "WordManifoldTransform": (
        "Vectors of words from which words stand beside each other.", "manifold",
        ["Words that it has not met have no vector, and rare ones a poor one."]),
}  # fmt: skip
# a concept of fewer rows is known from too little; rows for each dimension from which on a mean is known well
FEW_ROWS = 20
# concepts that are listed
LISTED = 200


def card(model: Any) -> str:
    """Write what is known of a fitted model, for people who meet its file.

    Parameters
    ----------
    model : estimator
        A fitted model of this library, or a pipeline of such models.

    Returns
    -------
    str
        Markdown: what it is, the data it was fitted on, its concepts, measures, preparation, parameters and limits.
        There is no date in it, so that the same fit has the same card.

    Raises
    ------
    TypeError
        The model is not one of this library.

    Examples
    --------
    >>> from pellucid import card
    >>> from pellucid.preparation import CenteredNormalizer
    >>> print(card(CenteredNormalizer().fit([[2.0, 0.0], [0.0, 5.0]])).splitlines()[5])
    # CenteredNormalizer
    """
    steps = getattr(model, "steps", None)
    kinds = [type(model)] if steps is None else [type(step) for _, step in steps if not _passed(step)]
    unknown = [kind.__name__ for kind in kinds if kind.__name__ not in ABOUT]
    if unknown:
        raise TypeError(f"Only Pellucid's own models have a card ({', '.join(ABOUT)}), not {unknown[0]}.")
    tags = sorted({ABOUT[kind.__name__][1] for kind in kinds})
    lines = ["---", "library_name: pellucid", f"tags: [{', '.join([*tags, 'interpretability'])}]", "---", ""]
    if steps is None:
        lines += _model(model, 1)
    else:
        lines += ["# Pipeline", "", "Steps, in order: " + ", ".join(f"`{name}`" for name, _ in steps) + ".", ""]
        for name, step in steps:
            if _passed(step):
                lines += [f"## Step {_cell(name)}: nothing", ""]
            else:
                lines += _model(step, 2, f"Step {_cell(name)}: ")
    return "\n".join(lines).rstrip() + "\n"


def _passed(step: Any) -> bool:
    return step is None or isinstance(step, str)


def _model(model: Any, level: int, before: str = "") -> list[str]:
    name = type(model).__name__
    about, _, limits = ABOUT[name]
    top, sub = "#" * level, "#" * (level + 1)
    lines = [f"{top} {before}{name}", "", about, "", f"{sub} Data", "", *_table(_data(model)), ""]
    concepts = _concepts(model)
    if concepts:
        lines += [f"{sub} Concepts", "", *concepts, ""]
    measures = _measures(model)
    if measures:
        lines += [f"{sub} Measures", "", *_table(measures), ""]
    lines += [f"{sub} Preparation", "", _preparation(model), ""]
    parameters = model.get_params(deep=False)
    if parameters:
        lines += [f"{sub} Parameters", "", *_table({f"`{key}`": _said(value) for key, value in parameters.items()}), ""]
    return [*lines, f"{sub} Limits", "", *(f"- {limit}" for limit in [*limits, *_own_limits(model)]), ""]


def rows_seen(model: Any) -> int | None:
    """How many rows a model was fitted on, where it kept that."""
    for name in ("n_samples_seen_", "n_rows_"):
        if hasattr(model, name):
            return int(getattr(model, name))
    for name in ("labels_", "concepts_"):
        if hasattr(model, name):
            return len(getattr(model, name))
    before = getattr(model, "preparation_", None)
    if before is not None:
        return int(before.n_samples_seen_)
    counts = getattr(model, "presence_counts_", None)
    return int(np.asarray(counts)[0].sum()) if counts is not None and len(counts) else None


def _data(model: Any) -> dict[str, str]:
    seen = rows_seen(model)
    found = {"rows it was fitted on": "was not kept" if seen is None else _counted(seen)}
    if hasattr(model, "n_features_in_"):
        found["dimensions"] = _counted(model.n_features_in_)
    if hasattr(model, "image_shape_"):
        found["size of an image"] = " × ".join(map(str, np.asarray(model.image_shape_).tolist()))
    if hasattr(model, "vocabulary_"):
        found["words"] = _counted(len(model.vocabulary_))
    columns = getattr(model, "feature_names_in_", None)
    if columns is not None:
        found["columns"] = ", ".join(map(_cell, columns[:20])) + (", …" if len(columns) > 20 else "")
    for attribute, what in (("atoms_", "atoms"), ("weights_", "yes/no concepts"), ("selected_", "rows chosen")):
        if hasattr(model, attribute):
            shape = np.shape(getattr(model, attribute))
            found[what] = " × ".join(map(_counted, shape[:-1] or shape))
    return found


def _concepts(model: Any) -> list[str]:
    """A row for each concept: its atoms, and how well rows that were not learned from tell it."""
    names = getattr(model, "concept_names_", None)
    if names is None:
        return []
    head, cells = ["concept"], [[_cell(name) for name in names]]
    if hasattr(model, "groups_"):
        head.append("atoms")
        cells.append([str(n) for n in np.bincount(model.groups_, minlength=len(names))])
    counts = getattr(model, "presence_counts_", None)
    if counts is not None:
        head += ["rows with it", "AUC"]
        cells += [[_counted(n) for n in having(counts)], ["–" if np.isnan(a) else f"{a:.3f}" for a in aucs(counts)]]
    for attribute, title in (("share_", "share"), ("stability_", "stability")):
        values = getattr(model, attribute, None)
        if values is not None and len(values) == len(names):
            head.append(title)
            cells.append([f"{value:.3f}" for value in values])
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join(['---'] + ['---:'] * (len(head) - 1))} |"]
    lines += [f"| {' | '.join(row)} |" for row in list(zip(*cells))[:LISTED]]
    return lines + ([f"\nand {_counted(len(names) - LISTED)} more."] if len(names) > LISTED else [])


def having(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Rows that have each concept, of counts (S, 2, bins) by logit."""
    return np.asarray(counts[:, 1].sum(axis=1), dtype=np.int64)


def aucs(counts: NDArray[Any]) -> NDArray[np.float64]:
    """How often a row with the concept has the larger logit than one without, in halves where the bin is the same."""
    without, with_it = counts[:, 0].astype(np.float64), counts[:, 1].astype(np.float64)
    below = np.cumsum(without, axis=1) - without
    pairs = without.sum(axis=1) * with_it.sum(axis=1)
    won = (with_it * (below + without / 2)).sum(axis=1)
    return np.asarray(won / np.where(pairs > 0, pairs, np.nan))


def _measures(model: Any) -> dict[str, str]:
    found = {}
    counts = getattr(model, "presence_counts_", None)
    if counts is not None:
        each = aucs(counts)
        if not np.isnan(each).all():
            found["AUC of presence, mean over concepts, on rows not learned from"] = f"{np.nanmean(each):.3f}"
    for name in model._fitted_values:
        value = getattr(model, name, None)
        if name not in ("n_features_in_", "n_samples_seen_", "n_rows_") and isinstance(value, (bool, int, float, str)):
            found[f"`{name}`"] = _said(value)
    objective = getattr(model, "objective_", None)
    if objective is not None and np.size(objective):
        found["`objective_`, at the end"] = _said(float(np.asarray(objective)[-1]))
    return found


def _preparation(model: Any) -> str:
    if not model._prepares_rows:
        return "None: rows are taken as they are."
    before = getattr(model, "preparation_", None)
    if before is None:
        return "None: rows are taken as they are, and must have been prepared as those that it was fitted on."
    if not before.center:
        return "Raw rows go in; the model brings them to unit length."
    return (
        "Raw rows go in; the model brings them to unit length, takes out the mean that it learned, and brings them to "
        "unit length again. Rows of another encoder, or of another modality, do not fit that mean."
    )


def _own_limits(model: Any) -> list[str]:
    """What this very model is weak in."""
    found, names = [], getattr(model, "concept_names_", None)
    counts = getattr(model, "presence_counts_", None)
    if counts is not None and names is not None:
        few = [_cell(name) for name, n in zip(names, having(counts)) if n < FEW_ROWS]
        if few:
            listed = ", ".join(few[:10]) + (f" and {len(few) - 10} more" if len(few) > 10 else "")
            found.append(f"Known from fewer than {FEW_ROWS} rows each: {listed}.")
    elif hasattr(model, "knows_presence"):
        found.append("It does not know which concepts a row has: parts are over all concepts.")
    seen, width = rows_seen(model), getattr(model, "n_features_in_", None)
    if seen is not None and width is not None and seen < width:
        found.append(f"It was fitted on fewer rows ({_counted(seen)}) than there are dimensions ({_counted(width)}).")
    return found


def _table(cells: dict[str, str]) -> list[str]:
    return ["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in cells.items())]


def _cell(text: Any) -> str:
    """Text that stays in its cell, and is no markup."""
    line = " ".join(str(text).split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in line)


def _counted(number: Any) -> str:
    return f"{int(number):,}".replace(",", " ")


def _said(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return f"{value:.6g}" if isinstance(value, float) else _cell(value)
