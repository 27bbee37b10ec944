"""The one kernel under ``nnls``, ``lasso`` and ``box_qp``: a small convex quadratic with an ℓ1 term and bounds.

    minimise  ½ aᵀGa − cᵀa + Σ αⱼ|aⱼ|   subject to  lower ≤ a ≤ upper,   G with unit diagonal   (w = c − Ga)

Coordinate descent finds roughly which coordinates are free; a primal active-set method with an updated Cholesky
factor then finishes exactly, also where G is singular. Everything is float64 and works in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints
from pellucid._core.cholesky import (
    ROUND_OFF,
    append,
    back_substitute,
    delete,
    factorise,
    factorise_pivoted,
    forward_substitute,
)
from pellucid._core.kernels import kernel

# coordinate descent hands over to the active set after this many sweeps at the latest
SWEEPS = 40
# with more free coordinates than this, sweeps go on while each is shorter than the last by this share
MANY, QUICK = 128, 0.5
# a slope below this share of its terms is round-off
LEVEL = 1e-6
# a start whose fit is that many times the data is dropped
FAR = 1e3
# a slide along a flat direction may change the fit by this share at most
BLIND = 1e-5


@kernel
def subtract_row(w: Floats, factor: float, G: Floats, j: int) -> None:
    # an explicit loop: the array expression would allocate
    for k in range(w.size):
        w[k] -= factor * G[j, k]


@kernel
def best_coordinate(value: float, slope: float, alpha: float, lower: float, upper: float) -> float:
    """Minimiser over one coordinate, the others fixed; ``slope`` is its entry of w."""
    target = value + slope
    if alpha > 0.0:
        if target > alpha:
            target -= alpha
        elif target < -alpha:
            target += alpha
        else:
            target = 0.0
    return float(min(max(target, lower), upper))


@kernel
def kkt_residual(c: Floats, w: Floats, a: Floats, alpha: Floats, lower: Floats, upper: Floats, forced: float) -> float:
    """Largest distance of a coordinate from its own minimiser, as a share of the data (0 exactly at an optimum)."""
    worst = 0.0
    for j in range(a.size):
        gap = abs(best_coordinate(a[j], w[j], alpha[j], lower[j], upper[j]) - a[j])
        if not gap <= worst:  # NaN counts as worst
            worst = gap
    return float(worst / data_scale(c, w, forced))


@kernel
def data_scale(c: Floats, w: Floats, forced: float) -> float:
    """Length against which residuals are measured: the largest correlation, of c or of the current fit, or the largest
    coefficient that the bounds force (without which there may be nothing but round-off)."""
    scale = forced
    for j in range(c.size):
        scale = max(scale, max(abs(c[j]), abs(c[j] - w[j])))
    return scale if scale > 0.0 else 1.0


@kernel
def refresh(G: Floats, c: Floats, a: Floats, w: Floats) -> None:
    """w = c − Ga from scratch, so that round-off does not pile up."""
    for k in range(w.size):
        w[k] = c[k]
    for j in range(a.size):
        if a[j] != 0.0:
            subtract_row(w, a[j], G, j)


@kernel
def is_free(value: float, alpha: float, lower: float, upper: float) -> bool:
    return bool(lower < value < upper and (alpha == 0.0 or value != 0.0))


@kernel
def descend(
    G: Floats, w: Floats, a: Floats, alpha: Floats, lower: Floats, upper: Floats, sweeps: int, settled: float
) -> int:
    """Coordinate descent until a sweep changes no coordinate's freedom (or nothing by more than ``settled``); with many
    free, for which a factor is dear, as long as sweeps get shorter quickly."""
    before = np.inf
    for sweep in range(sweeps):
        changed = False
        largest = 0.0
        n_free = 0
        for j in range(a.size):
            old = a[j]
            new = best_coordinate(old, w[j], alpha[j], lower[j], upper[j])
            if new != old:
                a[j] = new
                subtract_row(w, new - old, G, j)
                largest = max(largest, abs(new - old))
                if is_free(old, alpha[j], lower[j], upper[j]) != is_free(new, alpha[j], lower[j], upper[j]):
                    changed = True
            n_free += is_free(new, alpha[j], lower[j], upper[j])
        if largest <= settled or (not changed and (n_free <= MANY or largest > QUICK * before)):
            return sweep + 1
        before = largest
    return sweeps


@kernel
def piece_end(step: float, sign: float, alpha: float, lower: float, upper: float) -> float:
    """Where the smooth piece that holds a coordinate ends in the direction of ``step``: a bound, or zero if α > 0."""
    if step > 0.0:
        return min(upper, 0.0) if alpha > 0.0 and sign < 0.0 else upper
    return max(lower, 0.0) if alpha > 0.0 and sign > 0.0 else lower


@kernel
def reach(
    a: Floats, sign: Floats, alpha: Floats, lower: Floats, upper: Floats, free: Ints, n: int, direction: Floats,
    way: float, longest: float,
) -> tuple[float, int]:  # fmt: skip
    """How far one can go along way·direction over free[:n] before someone's piece ends, and whose position that is
    (-1: nobody's before ``longest``)."""
    step, blocker = longest, -1
    for i in range(n):
        change = way * direction[i]
        if change != 0.0:
            j = free[i]
            end = piece_end(change, sign[j], alpha[j], lower[j], upper[j])
            if abs(end - a[j]) < step * abs(change):
                step, blocker = abs((end - a[j]) / change), i
    return step, blocker


@kernel
def move(
    G: Floats, w: Floats, a: Floats, sign: Floats, alpha: Floats, lower: Floats, upper: Floats, free: Ints, n: int,
    direction: Floats, way: float, step: float, blocker: int,
) -> None:  # fmt: skip
    """Go by step·way·direction over free[:n]; ``blocker`` lands on the end of its piece exactly (step may be 0)."""
    for i in range(n):
        j = free[i]
        new = a[j] + step * way * direction[i]
        if i == blocker:
            new = piece_end(way * direction[i], sign[j], alpha[j], lower[j], upper[j])
        if new != a[j]:
            subtract_row(w, new - a[j], G, j)
            a[j] = new


@kernel
def linear_term(j: int, c: Floats, alpha: Floats, sign: Floats) -> float:
    """Slope of the terms that are linear in coordinate j on its piece: the ℓ1 term, or −c where there is none."""
    return float(alpha[j] * sign[j] if alpha[j] > 0.0 else -c[j])


@kernel
def include(
    G: Floats, c: Floats, w: Floats, a: Floats, sign: Floats, alpha: Floats, lower: Floats, upper: Floats, L: Floats,
    free: Ints, n_free: int, direction: Floats, forced: float, j: int, inward: float,
) -> tuple[int, bool]:  # fmt: skip
    """Make coordinate j free; ``inward`` says which way it enters from its bound, 0 that it stands inside already.

    If j depends on the free ones, first slide along the flat direction until one of them (or j) reaches an end of its
    piece: downhill, or where it is level the way that makes the coefficients smaller. Returns the number of free
    coordinates and whether j was dealt with.
    """
    while not append(L, free, n_free, G, j, direction):
        # moving j by 1 and the free ones by −z changes nothing but the linear terms; of these −cᵀa only if α is zero,
        # for c comes from data then: it is constant along a direction in which the atoms cancel
        slope, growth, size = linear_term(j, c, alpha, sign), sign[j], 1.0
        terms = abs(slope)
        for i in range(n_free):
            direction[i] = -direction[i]
            change = direction[i] * linear_term(free[i], c, alpha, sign)
            slope += change
            terms += abs(change)
            growth += direction[i] * sign[free[i]]
            size += abs(direction[i])
        direction[n_free] = 1.0
        free[n_free] = j
        noise = 0.0 if alpha[j] > 0.0 else ROUND_OFF * size * data_scale(c, w, forced)  # of the products in c
        level = abs(slope) <= max(LEVEL * terms, noise)
        if level and inward != 0.0:
            return n_free, False  # nothing but round-off draws it in
        way = inward
        if inward == 0.0:
            way = 1.0 if (growth < 0.0 if level else slope < 0.0) else -1.0
        step, blocker = reach(a, sign, alpha, lower, upper, free, n_free + 1, direction, way, np.inf)
        if blocker < 0 or step * step * L[n_free, n_free] > (BLIND * data_scale(c, w, forced)) ** 2:
            return n_free, False  # endless, or so long that even this little curvature would spoil the fit
        move(G, w, a, sign, alpha, lower, upper, free, n_free + 1, direction, way, step, blocker)
        if blocker == n_free:
            return n_free, True
        delete(L, free, n_free, blocker)
        n_free -= 1
    return n_free + 1, True


@kernel
def descent(w: Floats, sign: Floats, alpha: Floats, free: Ints, n: int, direction: Floats) -> float:
    """How fast the objective falls along ``direction``; over a step it falls by the mean of both ends' rates."""
    rate = 0.0
    for i in range(n):
        rate += direction[i] * (w[free[i]] - alpha[free[i]] * sign[free[i]])
    return rate


@kernel
def finish(
    G: Floats, c: Floats, w: Floats, a: Floats, alpha: Floats, lower: Floats, upper: Floats, L: Floats, free: Ints,
    waiting: Ints, sign: Floats, direction: Floats, forced: float, tol: float, steps: int,
) -> bool:  # fmt: skip
    """Primal active set from a feasible point: exact steps on the free coordinates, then the worst violator in.

    Returns False if L has too few rows to go on, True otherwise.
    """
    n_free = 0
    for j in range(a.size):
        sign[j] = 1.0 if a[j] > 0.0 else -1.0
        if is_free(a[j], alpha[j], lower[j], upper[j]):
            free[n_free] = j
            n_free += 1
    if n_free > L.shape[0]:
        return False
    if not factorise(L, free, n_free, G):
        n_all, n_free = n_free, factorise_pivoted(L, free, n_free, G, direction)
        for i in range(n_free, n_all):
            waiting[i] = free[i]  # the list of free ones changes while they are taken in
        for i in range(n_free, n_all):
            n_free, _ = include(
                G, c, w, a, sign, alpha, lower, upper, L, free, n_free, direction, forced, waiting[i], 0.0
            )
    refined, stuck = False, False
    for _ in range(steps):
        for i in range(n_free):
            direction[i] = w[free[i]] - alpha[free[i]] * sign[free[i]]
        forward_substitute(L, n_free, direction)
        before = 0.0  # the rate at which the objective falls along the direction, gᵀ(LLᵀ)⁻¹g
        for i in range(n_free):
            before += direction[i] * direction[i]
        back_substitute(L, n_free, direction)
        step, blocker = reach(a, sign, alpha, lower, upper, free, n_free, direction, 1.0, 1.0)
        move(G, w, a, sign, alpha, lower, upper, free, n_free, direction, 1.0, step, blocker)
        fall = 0.5 * step * (before + descent(w, sign, alpha, free, n_free, direction))
        if fall < 0.0 and fall < -ROUND_OFF * data_scale(c, w, forced) ** 2:
            # the objective rose: the factor is too ill-conditioned for its steps to mean anything
            move(G, w, a, sign, alpha, lower, upper, free, n_free, direction, -1.0, step, -1)
            return True
        if blocker >= 0:
            delete(L, free, n_free, blocker)
            n_free -= 1
            refined = False
            continue
        scale = data_scale(c, w, forced)
        worst, inside, entering = tol * scale, 0.0, -1
        for j in range(a.size):
            gap = abs(best_coordinate(a[j], w[j], alpha[j], lower[j], upper[j]) - a[j])
            if is_free(a[j], alpha[j], lower[j], upper[j]):
                inside = max(inside, gap)
            elif gap > worst:
                worst, entering = gap, j
        if stuck:
            return True
        if entering < 0:
            if inside <= tol * scale or refined:
                return True
            refined = True  # one more exact step is iterative refinement; beyond it round-off rules
            refresh(G, c, a, w)
            continue
        if n_free == L.shape[0]:
            return False
        refined = False
        sign[entering] = 1.0 if w[entering] > 0.0 else -1.0
        inward = sign[entering]
        n_free, done = include(
            G, c, w, a, sign, alpha, lower, upper, L, free, n_free, direction, forced, entering, inward
        )
        stuck = not done  # round-off alone makes it look better inside: settle what has moved and stop
    return True


@kernel
def solve_rows(
    C: NDArray[np.floating[Any]], G: Floats, lengths: Floats, mask: NDArray[np.bool_], alpha: Floats, lower: Floats,
    upper: Floats, codes: NDArray[np.floating[Any]], kkt: Floats, tol: float, max_iter: int,
) -> None:  # fmt: skip
    """Solve every row, each over the coordinates its row of ``mask`` allows (one row of mask serves all).

    G, alpha and the bounds belong to atoms divided by ``lengths``; C and codes are in the user's units.
    ``codes`` holds the starting point and receives the answer; ``kkt`` the residual of what is stored there.
    """
    m = G.shape[0]
    index, free, waiting = np.empty(m, np.int64), np.empty(m + 1, np.int64), np.empty(m, np.int64)
    rows = np.empty((8, m + 1))
    store = np.empty(0)  # holds the part of G that a row is allowed
    L = np.empty((min(m, 32), min(m, 32)))
    size = -1
    for row in range(len(codes)):
        allowed = mask[min(row, mask.shape[0] - 1)]
        before, same, size = size, size >= 0, 0
        for j in range(m):
            if allowed[j]:
                same = same and size < before and index[size] == j
                index[size] = j
                size += 1
        same = same and size == before
        c, w, a, sign = rows[0, :size], rows[1, :size], rows[2, :size], rows[3, :size]
        alphas, lo, hi, direction = rows[4, :size], rows[5, :size], rows[6, :size], rows[7]
        local = G
        if size < m:
            if size * size > store.size:
                store, same = np.empty(size * size), False
            local = store[: size * size].reshape(size, size)
        for i in range(0 if same else size):
            j = index[i]
            alphas[i], lo[i], hi[i] = alpha[j], lower[j], upper[j]
            for k in range(size if size < m else 0):
                local[i, k] = G[j, index[k]]
        largest, forced = 0.0, 0.0
        for i in range(size):
            forced = max(forced, abs(min(max(0.0, lo[i]), hi[i])))
            j = index[i]
            c[i] = C[row, j] / lengths[j]
            largest = max(largest, abs(c[i]))
            a[i] = min(max(codes[row, j] * lengths[j], lo[i]), hi[i])
        refresh(local, c, a, w)
        scale = data_scale(c, w, forced)
        if scale > FAR * max(largest, forced):  # a start whose fit dwarfs the data would only leave its round-off
            for i in range(size):
                a[i] = min(max(0.0, lo[i]), hi[i])
            refresh(local, c, a, w)
            scale = data_scale(c, w, forced)
        sweeps = descend(local, w, a, alphas, lo, hi, min(SWEEPS, max_iter), tol * scale)
        left = max_iter - sweeps
        if size > MANY:  # sweeps may have got there; few coordinates are finished by a factor in any case
            refresh(local, c, a, w)
            if kkt_residual(c, w, a, alphas, lo, hi, forced) <= tol:
                left = 0
        while left > 0 and not finish(
            local, c, w, a, alphas, lo, hi, L, free, waiting, sign, direction, forced, tol, left
        ):
            rank = min(2 * L.shape[0], m)
            L = np.empty((rank, rank))
        for j in range(m):
            codes[row, j] = 0.0
        fits = True
        for i in range(size):
            j = index[i]
            codes[row, j] = a[i] / lengths[j]
            a[i] = codes[row, j] * lengths[j]  # what is stored may be rounded to float32: certify that
            fits = fits and np.isfinite(a[i])
        refresh(local, c, a, w)
        kkt[row] = kkt_residual(c, w, a, alphas, lo, hi, forced) if fits else np.inf
