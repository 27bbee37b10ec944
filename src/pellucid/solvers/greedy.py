"""Greedy codes: one atom, or one group of atoms, after the other, all coefficients solved anew each time.

For paper 1's section 3.2, where the concepts of an item are not known: non-negative orthogonal matching pursuit and
its variant over groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pellucid._core.checks import as_array, as_atoms, as_matrix, check_width
from pellucid._core.kernels import pursue_rows
from pellucid.solvers.batch import BoundedQuadratic, Codes, certified, correlations, gram, run_blocks

STEPS = 10_000
CERTIFIED = 1e-8


def nonnegative_omp(X: ArrayLike, atoms: ArrayLike, n_nonzero_coefs: int) -> Codes:
    """Code every row by a few atoms with non-negative coefficients (orthogonal matching pursuit).

    Each step adds the atom most correlated with what is left and solves the non-negative least squares problem over
    all chosen atoms. A row stops early when no atom points towards what is left.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows to code.
    atoms : array-like of shape (m, d)
        What they are coded by.
    n_nonzero_coefs : int
        Atoms that a row may use.

    Returns
    -------
    Codes
        ``kkt`` certifies the coefficients over the chosen atoms; that the choice is the best one no greedy method can
        promise.

    Examples
    --------
    >>> from pellucid.solvers import nonnegative_omp
    >>> nonnegative_omp([[3.0, 1.0, 2.0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 2).codes.round(6).tolist()
    [[3.0, 0.0, 2.0]]
    """
    return _pursue(X, atoms, None, n_nonzero_coefs, True, "nonnegative_omp", "n_nonzero_coefs")


def group_omp(X: ArrayLike, atoms: ArrayLike, groups: ArrayLike, n_groups: int, *, positive: bool = True) -> Codes:
    """Code every row by the atoms of a few groups.

    Each step adds the group that explains most of what is left (the energy of its projection onto the group's cone, or
    subspace with ``positive=False``) and solves for all coefficients anew. With every atom its own group and
    ``positive=False`` this is orthogonal matching pursuit.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows to code.
    atoms : array-like of shape (m, d)
        What they are coded by.
    groups : array-like of shape (m,)
        The group of each atom, a whole number or a name.
    n_groups : int
        Groups that a row may use.
    positive : bool, default=True
        Allow only coefficients of at least zero.

    Returns
    -------
    Codes
        ``kkt`` certifies the coefficients over the chosen groups.

    Examples
    --------
    >>> from pellucid.solvers import group_omp
    >>> atoms = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> group_omp([[3.0, 1.0, 3.5]], atoms, ["a", "a", "b"], 1).codes.round(6).tolist()
    [[0.0, 0.0, 3.5]]
    """
    return _pursue(X, atoms, groups, n_groups, positive, "group_omp", "n_groups")


def _pursue(
    X: ArrayLike, atoms: ArrayLike, groups: ArrayLike | None, n_groups: int, positive: bool, name: str, argument: str
) -> Codes:
    data = as_matrix(X, "X")
    B = as_atoms(atoms, data)
    check_width(data, B.shape[1], "X", "atoms")
    labels = np.arange(len(B)) if groups is None else as_array(groups, "groups")
    if labels.dtype.kind not in "iubUS":
        raise ValueError(f"groups must hold whole numbers or names, not {labels.dtype} values.")
    if labels.shape != (len(B),):
        raise ValueError(f"groups must name one group per atom, {len(B)}, but has shape {labels.shape}.")
    _, membership, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if isinstance(n_groups, bool) or not isinstance(n_groups, (int, np.integer)) or n_groups < 1:
        raise ValueError(f"{argument} must be a positive whole number, got {n_groups!r}.")
    members = np.argsort(membership, kind="stable").astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    steps = min(int(n_groups), len(sizes))
    room = int(np.sort(sizes)[-steps:].sum())
    lower = 0.0 if positive else -np.inf
    problem = BoundedQuadratic(gram(B), 0.0, 0.0, lower, np.inf, CERTIFIED, STEPS)
    codes = np.zeros((len(data), len(B)), dtype=B.dtype)
    kkt = np.empty(len(data))

    def solve_block(rows: slice) -> None:
        _, C = correlations(data, B, rows)
        pursue_rows(C, problem.scaled, problem.lengths, members, offsets, steps, room, lower, codes[rows], kkt[rows])

    run_blocks(solve_block, *codes.shape)
    return certified(name, codes, kkt, CERTIFIED, "the chosen atoms are almost collinear")
