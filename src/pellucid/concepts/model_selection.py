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
    """Mean average precision of validation queries for each number of atoms per concept.

    Attributes
    ----------
    n_atoms : list of int
        The numbers tried.
    general : list of float
        What each reached on general labels.
    sub : list of float or None
        What each reached on fine labels; None without any.
    best : int
        The number to take: best on fine labels as in the paper, on general labels if there are no others.
    best_general : int
        Best on general labels.

    See Also
    --------
    ConceptSubspaces.select_n_atoms : Makes it.

    Examples
    --------
    >>> from pellucid.concepts import AtomCounts
    >>> AtomCounts([2, 4], general=[0.5, 0.6], sub=[0.3, 0.2], best=2, best_general=4).best
    2
    """

    n_atoms: list[int]
    general: list[float]
    sub: list[float] | None
    best: int
    best_general: int

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        See Also
        --------
        pellucid.plots.n_atoms_curve : The same with more options.

        Examples
        --------
        >>> from pellucid.concepts import AtomCounts
        >>> ax = AtomCounts([2, 4], general=[0.5, 0.6], sub=None, best=4, best_general=4).plot()
        """
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
    plain = clone(estimator).set_params(presence=False)
    found: list[Retrieval] = Parallel(n_jobs=n_jobs)(
        delayed(_retrieval)(clone(plain).set_params(n_atoms=size), X, Y, retrieval, evaluation) for size in tried
    )
    general, sub = [r.general for r in found], [r.sub for r in found]
    has_sub = not np.isnan(sub).any()
    best_general = tried[int(np.argmax(general))]
    best = tried[int(np.argmax(sub))] if has_sub else best_general
    return AtomCounts(tried, general, sub if has_sub else None, best, best_general)


def _retrieval(estimator: Any, X: Any, Y: Any, retrieval: tuple[Any, ...], evaluation: dict[str, Any]) -> Retrieval:
    return concept_retrieval(estimator.fit(X, Y), *retrieval, **evaluation)
