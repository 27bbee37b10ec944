"""Many smooth convex functions at once by L-BFGS: what is dear is to evaluate them, so all are evaluated together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats, Ints

Evaluate = Callable[[Floats, Ints], tuple[Floats, Floats]]
Precondition = Callable[[Floats, Ints], Floats]

# pairs of steps and gradient changes that stand for the curvature
MEMORY = 8
# least share of the decrease that the slope promises
ARMIJO = 1e-4
# a step this short is lost in round-off
SHORTEST = 2.0**-20


@dataclass(frozen=True)
class Minima:
    """Where each function is least, with its certificate.

    Attributes
    ----------
    points : ndarray of shape (H, p)
        A point for each function.
    values : ndarray of shape (H,)
        The functions there.
    decrements : ndarray of shape (H,)
        About how much lower each could still be: half the slope along the last direction.
    passes : int
        How often the functions were evaluated.
    converged : bool
        Whether every decrement is at most ``tol`` times the value.
    """

    points: Floats
    values: Floats
    decrements: Floats
    passes: int
    converged: bool


@dataclass
class _Running:
    """The functions that are still on their way; arrays have an entry for each of them."""

    which: Ints
    point: Floats
    value: Floats
    gradient: Floats
    direction: Floats
    step: Floats
    steps: Floats  # (MEMORY, H, p)
    changes: Floats
    curvature: Floats  # (MEMORY, H): 1 / (step · change), 0 where there is none

    def keep(self, kept: NDArray[np.bool_]) -> None:
        for name in ("which", "point", "value", "gradient", "direction", "step"):
            setattr(self, name, getattr(self, name)[kept])
        for name in ("steps", "changes", "curvature"):
            setattr(self, name, getattr(self, name)[:, kept])


def minimise_many(
    evaluate: Evaluate, start: Floats, precondition: Precondition, *, tol: float = 1e-5, max_passes: int = 100
) -> Minima:
    """Minimise H smooth convex functions of p numbers each.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(points (h, p), which (h,))`` gives values (h,) and gradients (h, p) of the functions numbered
        ``which``.
    start : ndarray of shape (H, p)
        Where to begin.
    precondition : callable
        ``precondition(gradients (h, p), which (h,))`` applies an approximate inverse of each Hessian.
    tol : float, default=1e-5
        Stop a function when it could fall by no more than this share of its value.
    max_passes : int, default=100
        Most evaluations.

    Returns
    -------
    Minima
        Points, values and how far from the least they may be.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.solvers.quasi_newton import minimise_many
    >>> goals = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> def bowls(points, which):
    ...     away = points - goals[which]
    ...     return 1 + (away**2).sum(axis=1), 2 * away
    >>> minimise_many(bowls, np.zeros((2, 2)), lambda gradients, which: gradients).points.round(3).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    everyone = np.arange(len(start))
    points = np.array(start, dtype=np.float64)
    values, gradient = evaluate(points, everyone)
    decrements = np.zeros(len(points))
    shape = (MEMORY, *points.shape)
    now = _Running(everyone, points.copy(), values.copy(), gradient, -precondition(gradient, everyone),
                   np.ones(len(points)), np.zeros(shape), np.zeros(shape), np.zeros(shape[:2]))  # fmt: skip
    passes, done = 1, np.zeros(len(points), dtype=bool)
    while True:
        slope = np.einsum("hp,hp->h", now.gradient, now.direction)
        points[now.which], values[now.which], decrements[now.which] = now.point, now.value, -slope / 2
        close = -slope / 2 <= tol * np.abs(now.value)
        done[now.which] = close
        now.keep(~(close | (now.step < SHORTEST)))
        if not len(now.which) or passes >= max_passes:
            return Minima(points, values, decrements, passes, bool(done.all()))
        slope = np.einsum("hp,hp->h", now.gradient, now.direction)
        moved = now.step[:, None] * now.direction
        value, gradient = evaluate(now.point + moved, now.which)
        passes += 1
        # a whole step may rise by what round-off in float32 rows makes of a value
        slack = np.where(now.step == 1, 1e-9 * np.abs(now.value), 0)
        fell = value <= now.value + ARMIJO * now.step * slope + slack
        _remember(now, moved, gradient - now.gradient, fell)
        now.point[fell] += moved[fell]
        now.value[fell], now.gradient[fell] = value[fell], gradient[fell]
        now.step = np.where(fell, 1.0, _shorter(now.step, slope, value - now.value))
        now.direction = np.where(fell[:, None], _direction(now, precondition), now.direction)


def _shorter(step: Floats, slope: Floats, rise: Floats) -> Floats:
    """The step at which a parabola through the two values and the slope is least, a tenth to a half of the old one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = -slope * step**2 / (2 * (rise - slope * step))
    return np.clip(np.nan_to_num(best, nan=0.0), 0.1 * step, 0.5 * step)


def _remember(now: _Running, moved: Floats, change: Floats, fell: NDArray[np.bool_]) -> None:
    """Put the newest pair first; where the step was not taken, or shows no curvature, there is none."""
    for kept, newest in ((now.steps, moved), (now.changes, change)):
        kept[1:] = kept[:-1].copy()
        kept[0] = newest
    along = np.einsum("hp,hp->h", moved, change)
    bends = fell & (along > 1e-12 * np.einsum("hp,hp->h", change, change))
    now.curvature[1:] = now.curvature[:-1].copy()
    now.curvature[0] = np.where(bends, 1 / np.where(bends, along, 1), 0)


def _direction(now: _Running, precondition: Precondition) -> Floats:
    """The two loops of L-BFGS (Nocedal and Wright, Algorithm 7.4), for all functions side by side."""
    q = now.gradient.copy()
    weights = np.empty_like(now.curvature)
    for i in range(MEMORY):
        weights[i] = now.curvature[i] * np.einsum("hp,hp->h", now.steps[i], q)
        q -= weights[i][:, None] * now.changes[i]
    r = precondition(q, now.which)
    for i in reversed(range(MEMORY)):
        back = now.curvature[i] * np.einsum("hp,hp->h", now.changes[i], r)
        r += (weights[i] - back)[:, None] * now.steps[i]
    return -r
