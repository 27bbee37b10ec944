"""How many atoms a concept should have: validation retrieval over a range of numbers (Figure 6 of paper 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from pellucid.metrics import Retrieval, concept_retrieval


@dataclass(frozen=True)
class AtomCounts:
    """mAP@k of validation queries for each number of atoms per concept.

    n_atoms : the numbers tried
    general, sub : what each reached (sub is None without fine labels)
    best : the number to take: best on sub-labels as in the paper, on general labels if there are no others
    best_general : best on general labels
    """

    n_atoms: list[int]
    general: list[float]
    sub: list[float] | None
    best: int
    best_general: int

    def plot(self, ax: Any = None) -> Any:
        """The curves; see :func:`pellucid.plots.n_atoms_curve`."""
        from pellucid.plots import n_atoms_curve

        return n_atoms_curve(self, ax=ax)


def select_n_atoms(
    estimator: Any,
    X: Any,
    Y: Any,
    retrieval: tuple[Any, ...],
    evaluation: dict[str, Any],
    sizes: Sequence[int],
    n_jobs: int | None,
) -> AtomCounts:
    """Retrieval of a fit with each size; ``retrieval`` and ``evaluation`` go to ``concept_retrieval``."""
    tried = sorted({int(size) for size in sizes})
    if not tried:
        raise ValueError("Name at least one number of atoms to try.")
    found: list[Retrieval] = Parallel(n_jobs=n_jobs)(
        delayed(_retrieval)(clone(estimator).set_params(n_atoms=size), X, Y, retrieval, evaluation) for size in tried
    )
    general, sub = [r.general for r in found], [r.sub for r in found]
    has_sub = not np.isnan(sub).any()
    best_general = tried[int(np.argmax(general))]
    best = tried[int(np.argmax(sub))] if has_sub else best_general
    return AtomCounts(tried, general, sub if has_sub else None, best, best_general)


def _retrieval(estimator: Any, X: Any, Y: Any, retrieval: tuple[Any, ...], evaluation: dict[str, Any]) -> Retrieval:
    return concept_retrieval(estimator.fit(X, Y), *retrieval, **evaluation)
