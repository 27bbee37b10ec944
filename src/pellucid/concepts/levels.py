"""Coarse concepts over fine ones: cones of what rows share on a larger scale, and which fine concepts go with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.saved import Fitted
from pellucid.concepts.dictionary import Dictionary, codes_of
from pellucid.concepts.discriminant import used
from pellucid.concepts.estimator import ConceptSubspaces
from pellucid.concepts.labels import Indicator
from pellucid.rows import Blocks

# atoms of a coarse concept, and rows that have one at least
ATOMS, LEAST_ROWS = 6, 5
# a coarse concept holds a fine one that it goes with most, and any that it is in this share of the rows of, if that is
# so many times its share of all rows
OFTEN, MORE_OFTEN = 0.5, 1.5
# in front of the names of a coarse model's attributes, in the model that keeps it
MARK = "coarse_"
ARRAYS = tuple(name for name in ConceptSubspaces._fitted_arrays if name not in ("feature_names_in_", "label_names_"))


def fitted_arrays() -> dict[str, Fitted]:
    """What a model keeps of its coarse concepts, where it has any."""
    sides = {"M": "coarse_M", "S": "C", "T": "coarse_T"}
    found = {}
    for name in ARRAYS:
        kind, shape, _ = ConceptSubspaces._fitted_arrays[name]
        found[f"{MARK}{name}"] = Fitted(kind, tuple(sides.get(str(side), side) for side in shape), True)
    return found


def coarse_model(
    rows: NDArray[Any], count: int, sparsity: float, passes: int, rng: np.random.RandomState
) -> tuple[ConceptSubspaces, Indicator] | None:
    """A model of so many coarse concepts of prepared rows, or fewer, and which rows have which (n, C): those that use
    an atom of a small dictionary. None if rows do not go together on a larger scale."""
    atoms = Dictionary(Blocks.held(rows), sparsity, 2e-3).learn(count, passes, rng)
    members = used(codes_of(rows, atoms, sparsity))
    members = members[:, members.sum(axis=0) >= min(LEAST_ROWS, len(rows))]
    if not members.shape[1]:
        return None
    seed = int(rng.randint(2**31 - 1))
    return ConceptSubspaces(ATOMS, center=False, random_state=seed).fit(rows, members), members


def directions(model: ConceptSubspaces) -> NDArray[Any]:
    """Where each cone points as a whole: its atoms, weighted by how much they are used."""
    weighted = model.atoms_ * np.sqrt(model.usage_)[:, None].astype(model.atoms_.dtype)
    return unit_rows(np.stack([weighted[model.groups_ == j].sum(axis=0) for j in range(len(model.concept_names_))]))


def holders(fine: Indicator, coarse: Indicator) -> Indicator:
    """Which coarse concepts hold each fine one (S, C), by the rows (n, S) and (n, C) that have them."""
    n, both = len(fine), fine.T.astype(np.float64) @ coarse.astype(np.float64)
    rows, wide = fine.sum(axis=0)[:, None], coarse.sum(axis=0)[None]
    share = both / np.maximum(rows, 1)
    expected = rows * wide / n
    spread = np.sqrt(np.maximum(expected * (1 - rows / n) * (1 - wide / n), 1e-12))
    out = (share >= OFTEN) & (share >= MORE_OFTEN * wide / n)
    best = np.argmax((both - expected) / spread, axis=1)
    out[np.arange(len(out)), best] = True
    return np.asarray(out)


def keep(model: Any, coarse: ConceptSubspaces) -> None:
    """Note the arrays of a coarse model in the model that it belongs to."""
    for name in ARRAYS:
        if hasattr(coarse, name):
            setattr(model, f"{MARK}{name}", getattr(coarse, name))


def kept(model: Any) -> ConceptSubspaces | None:
    """The coarse model that :func:`keep` noted; it prepares rows as the model does."""
    if not hasattr(model, f"{MARK}atoms_"):
        return None
    coarse = ConceptSubspaces(ATOMS, center=model.center, random_state=model.random_state)
    for name in ARRAYS:
        if hasattr(model, f"{MARK}{name}"):
            setattr(coarse, name, getattr(model, f"{MARK}{name}"))
    coarse.preparation_, coarse.n_features_in_ = model.preparation_, model.n_features_in_
    coarse.sparsity_, coarse.n_iter_, coarse.n_dead_ = model.sparsity_, len(coarse.objective_) - 1, 0
    return coarse
