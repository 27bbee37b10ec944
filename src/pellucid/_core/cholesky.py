"""A Cholesky factor that grows and shrinks by one coordinate, for the kernels that keep a set of free coordinates.

Throughout, ``free[:n]`` lists the coordinates, row i of L belongs to free[i], and the diagonal of L holds 1/l_ii.
"""

from __future__ import annotations

import numpy as np

from pellucid._core.arrays import Floats, Ints
from pellucid._core.jit import kernel

# a pivot (squared distance to the span of the others, of 1) that a factorisation in one go trusts
SAFE_PIVOT = 1e-10
# a pivot below this share of what cancelled in it is nothing but round-off
ROUND_OFF = 1e-14
EPS = 2.2e-16


@kernel
def factorise(L: Floats, free: Ints, n: int, G: Floats, least: float = SAFE_PIVOT) -> bool:
    """Cholesky factor of G[free, free] = LLᵀ, with 1/l_ii on the diagonal; False if a pivot is not above ``least``,
    too small to trust.

    By hand, since LAPACK's overhead exceeds the work at these sizes; two rows at a time, which is faster.
    """
    odd = n % 2
    if odd:
        if G[free[0], free[0]] <= least:
            return False
        L[0, 0] = 1.0 / np.sqrt(G[free[0], free[0]])
    for i in range(odd, n, 2):
        first, second = free[i], free[i + 1]
        for j in range(i):
            s, t = G[first, free[j]], G[second, free[j]]
            for k in range(j):
                s -= L[i, k] * L[j, k]
                t -= L[i + 1, k] * L[j, k]
            L[i, j], L[i + 1, j] = s * L[j, j], t * L[j, j]
        s, t, u = G[first, first], G[second, first], G[second, second]
        for k in range(i):
            s -= L[i, k] * L[i, k]
            t -= L[i, k] * L[i + 1, k]
            u -= L[i + 1, k] * L[i + 1, k]
        if s <= least:
            return False
        L[i, i] = 1.0 / np.sqrt(s)
        L[i + 1, i] = t * L[i, i]
        u -= L[i + 1, i] * L[i + 1, i]
        if u <= least:
            return False
        L[i + 1, i + 1] = 1.0 / np.sqrt(u)
    return True


@kernel
def factorise_pivoted(L: Floats, free: Ints, n: int, G: Floats, pivots: Floats) -> int:
    """As :func:`factorise` where G[free, free] may be singular: reorders ``free`` so that the first coordinates are as
    independent as a greedy choice makes them, factorises those, and returns how many they are."""
    for i in range(n):
        pivots[i] = G[free[i], free[i]]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if pivots[i] > pivots[best]:
                best = i
        if pivots[best] <= SAFE_PIVOT:
            return k
        free[k], free[best] = free[best], free[k]
        pivots[k], pivots[best] = pivots[best], pivots[k]
        for i in range(k):
            L[k, i], L[best, i] = L[best, i], L[k, i]
        L[k, k] = 1.0 / np.sqrt(pivots[k])
        for i in range(k + 1, n):
            total = G[free[i], free[k]]
            for j in range(k):
                total -= L[i, j] * L[k, j]
            L[i, k] = total * L[k, k]
            pivots[i] -= L[i, k] * L[i, k]
    return n


@kernel
def append(L: Floats, free: Ints, n: int, G: Floats, j: int, z: Floats) -> bool:
    """Add coordinate j as row n of the factor, unless it depends on the others; z receives G[free, free]⁻¹G[free, j],
    and if it depends L[n, n] receives a bound on the curvature along (−z, 1).

    The pivot is ‖b_j − Σ z_i b_i‖², so what cancels in it, and its round-off, grows with (1 + Σ|z_i|)².
    """
    pivot = G[j, j]
    for i in range(n):
        total = G[j, free[i]]
        for k in range(i):
            total -= L[i, k] * L[n, k]
        L[n, i] = total * L[i, i]
        pivot -= L[n, i] * L[n, i]
        z[i] = L[n, i]
    back_substitute(L, n, z)
    size = 1.0
    for i in range(n):
        size += abs(z[i])
    if pivot <= ROUND_OFF * size * size:
        L[n, n] = max(abs(pivot), EPS * size * size)  # how far from flat the direction (−z, 1) may be
        return False
    L[n, n] = 1.0 / np.sqrt(pivot)
    free[n] = j
    return True


@kernel
def delete(L: Floats, free: Ints, n: int, position: int) -> None:
    """Take the coordinate at ``position`` out of the factor: rows move up, rotations restore the triangle."""
    for i in range(position, n - 1):
        free[i] = free[i + 1]
        for k in range(i + 1):
            L[i, k] = L[i + 1, k]
        L[i, i + 1] = 1.0 / L[i + 1, i + 1]
    for i in range(position, n - 1):
        length = np.sqrt(L[i, i] * L[i, i] + L[i, i + 1] * L[i, i + 1])
        cosine, sine = L[i, i] / length, L[i, i + 1] / length
        L[i, i] = 1.0 / length
        for r in range(i + 1, n - 1):
            first, second = L[r, i], L[r, i + 1]
            L[r, i] = cosine * first + sine * second
            L[r, i + 1] = cosine * second - sine * first


@kernel
def forward_substitute(L: Floats, n: int, x: Floats) -> None:
    """Solve Lz = x in place."""
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total * L[i, i]


@kernel
def back_substitute(L: Floats, n: int, x: Floats) -> None:
    """Solve Lᵀz = x in place."""
    for i in range(n - 1, -1, -1):
        x[i] *= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
