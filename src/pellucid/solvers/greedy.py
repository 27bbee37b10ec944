"""Greedy codes: one atom, or one group of atoms, after the other, all coefficients solved anew each time.

For paper 1's section 3.2, where the concepts of an item are not known: non-negative orthogonal matching pursuit and
its variant over groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import FloatMatrix, Floats, Ints
from pellucid._core.checks import as_array, as_atoms, as_matrix, check_width
from pellucid._core.kernels import kernel
from pellucid.solvers.batch import BoundedQuadratic, Codes, certified, correlations, gram, run_blocks
from pellucid.solvers.coordinate_descent import SWEEPS, descend, finish, kkt_residual, refresh

# greedy steps solve tiny problems, which the active set settles exactly; the limit only guards against a hang
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


@kernel
def solve_over(
    index: Ints, size: int, G: Floats, right: Floats, start: Floats, lower: float, room: Floats, rows: Floats,
    L: Floats, free: Ints, waiting: Ints,
) -> float:  # fmt: skip
    """Solve over the coordinates index[:size] from ``start`` (overwritten there); returns the energy explained."""
    local = room[: size * size].reshape(size, size)
    c, w, a, sign = rows[0, :size], rows[1, :size], rows[2, :size], rows[3, :size]
    alpha, lo, hi, direction = rows[4, :size], rows[5, :size], rows[6, :size], rows[7]
    for i in range(size):
        for k in range(size):
            local[i, k] = G[index[i], index[k]]
        c[i], a[i] = right[index[i]], start[index[i]]
        alpha[i], lo[i], hi[i] = 0.0, lower, np.inf
    refresh(local, c, a, w)
    descend(local, w, a, alpha, lo, hi, SWEEPS, 1e-12)
    finish(local, c, w, a, alpha, lo, hi, L, free, waiting, sign, direction, 0.0, 1e-12, STEPS)
    energy = 0.0
    for i in range(size):
        start[index[i]] = a[i]
        energy += a[i] * c[i]
    return energy


@kernel
def pursue_rows(
    C: NDArray[np.floating[Any]],
    G: Floats,
    lengths: Floats,
    members: Ints,
    offsets: Ints,
    steps: int,
    room: int,
    lower: float,
    codes: FloatMatrix,
    kkt: Floats,
) -> None:
    """Greedy selection for every row; G has unit diagonal, group g holds members[offsets[g]:offsets[g + 1]]."""
    m, n_groups = G.shape[0], offsets.size - 1
    c, w, a, trial = np.empty(m), np.empty(m), np.zeros(m), np.zeros(m)
    index, free, waiting = np.empty(room, np.int64), np.empty(room + 1, np.int64), np.empty(room, np.int64)
    chosen = np.empty(n_groups, np.bool_)
    store, rows, L = np.empty(room * room), np.empty((8, room + 1)), np.empty((room, room))
    for row in range(len(codes)):
        scale = 0.0
        for j in range(m):
            c[j] = C[row, j] / lengths[j]
            w[j] = c[j]
            scale = max(scale, abs(c[j]))
        for j in range(m):  # work on a row of unit size, so that squares of tiny numbers do not vanish
            c[j] /= scale if scale > 0.0 else 1.0
            w[j] = c[j]
        chosen[:] = False
        size = 0
        for _ in range(steps):
            best, winner = 1e-28, -1
            for g in range(n_groups):
                if chosen[g]:
                    continue
                first, count = members[offsets[g]], offsets[g + 1] - offsets[g]
                if count == 1:
                    energy = w[first] * w[first] if w[first] > 0.0 or lower < 0.0 else 0.0
                else:
                    for i in range(count):
                        trial[members[offsets[g] + i]] = 0.0
                    energy = solve_over(
                        members[offsets[g] : offsets[g + 1]], count, G, w, trial, lower, store, rows, L, free, waiting
                    )
                if energy > best:
                    best, winner = energy, g
            if winner < 0:
                break
            chosen[winner] = True
            for i in range(offsets[winner], offsets[winner + 1]):
                index[size] = members[i]
                size += 1
            solve_over(index, size, G, c, a, lower, store, rows, L, free, waiting)
            refresh(G, c, a, w)
        for j in range(m):
            codes[row, j] = 0.0
        for i in range(size):
            j = index[i]
            codes[row, j] = a[j] * scale / lengths[j]
            a[j] = codes[row, j] * lengths[j] / scale
            rows[0, i], rows[2, i] = c[j], a[j]
        refresh(G, c, a, w)
        for i in range(size):
            rows[1, i] = w[index[i]]
            rows[4, i], rows[5, i], rows[6, i] = 0.0, lower, np.inf
            a[index[i]] = 0.0
        kkt[row] = kkt_residual(
            rows[0, :size], rows[1, :size], rows[2, :size], rows[4, :size], rows[5, :size], rows[6, :size], 0.0
        )
        for i in range(size):
            if not np.isfinite(codes[row, index[i]]):
                kkt[row] = np.inf
