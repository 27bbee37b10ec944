"""A convex quadratic programme with box constraints (paper 2, Eq. 4 and A.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.checks import (
    as_mask,
    as_matrix,
    as_vector,
    attainable,
    check_convex,
    check_finite,
    check_iteration,
    warn_unconverged,
)
from pellucid.solvers.batch import BoundedQuadratic


@dataclass(frozen=True)
class BoxSolution:
    """The minimiser of a quadratic in a box, with its certificate.

    Attributes
    ----------
    x : ndarray of shape (m,)
        Exactly equal to a bound where the bound is active.
    objective : float
        ½xᵀHx + qᵀx.
    kkt : float
        How far the worst coordinate is from its own optimum, as a share of the largest gradient term.
    converged : bool
        Whether ``kkt`` is within the tolerance.
    """

    x: NDArray[np.float64]
    objective: float
    kkt: float
    converged: bool


def box_qp(
    H: ArrayLike,
    q: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    init: ArrayLike | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int = 100_000,
) -> BoxSolution:
    """Minimise ½xᵀHx + qᵀx subject to lower ≤ x ≤ upper.

    Parameters
    ----------
    H : array-like of shape (m, m)
        Symmetric and positive semidefinite.
    q : array-like of shape (m,)
        The linear term.
    lower : array-like of shape (m,) or float
        Lower bounds; −∞ where there is none.
    upper : array-like of shape (m,) or float
        Upper bounds; ∞ where there is none.
    init : array-like of shape (m,) or None, default=None
        Where to start, moved into the box; None is the point of the box nearest to zero.
    tol : float, default=1e-10
        Largest KKT residual accepted.
    max_iter : int, default=100_000
        Sweeps and active-set steps at most.

    Returns
    -------
    BoxSolution
        The minimiser and its KKT residual. One that did not converge comes with a warning.

    Raises
    ------
    ValueError
        H is not square, not symmetric or not finite; a lower bound is above its upper bound; or the objective falls
        without end because a bound is missing.

    Examples
    --------
    >>> from pellucid.solvers import box_qp
    >>> found = box_qp([[2.0, 1.0], [1.0, 2.0]], [-4.0, 0.0], lower=0.0, upper=1.5)
    >>> found.x.round(6).tolist(), round(found.objective, 6)
    ([1.5, 0.0], -3.75)
    """
    hessian = as_matrix(H, "H").astype(np.float64)
    m = len(hessian)
    if hessian.shape != (m, m):
        raise ValueError(f"H must be square, but its shape is {hessian.shape}.")
    check_finite(hessian, "H")
    if np.abs(hessian - hessian.T).max() > 1e-8 * max(np.abs(hessian).max(), np.finfo(np.float64).tiny):
        raise ValueError("H must be symmetric; (H + H.T) / 2 has the same objective.")
    check_iteration(tol, max_iter)
    linear, low, high = (as_vector(v, n, m, "row of H") for v, n in ((q, "q"), (lower, "lower"), (upper, "upper")))
    check_finite(linear, "q")
    if (low > high).any():
        j = int(np.argmax(low > high))
        raise ValueError(f"lower exceeds upper at position {j}: {low[j]:g} > {high[j]:g}.")
    if (low == np.inf).any() or (high == -np.inf).any():
        raise ValueError("lower must be below infinity and upper above minus infinity.")
    check_convex(hessian, "H")

    start = np.zeros(m) if init is None else as_vector(init, "init", m, "row of H")
    check_finite(start, "init")
    x = np.clip(start, low, high)
    flat = hessian.diagonal() <= 0.0
    x[flat] = _linear_minimum(linear[flat], low[flat], high[flat], x[flat])
    curved = np.flatnonzero(~flat)
    kkt = 0.0
    if curved.size:
        x[curved], kkt = _solve_curved(
            hessian[np.ix_(curved, curved)], linear[curved], low[curved], high[curved], x[curved], tol, max_iter
        )
    kkt = max(kkt, _flat_residual(hessian, linear, low, high, x, flat))
    limit = attainable(tol, np.float64)
    if kkt > limit:
        warn_unconverged("box_qp", "KKT residual", kkt, limit, 1, 1)
    return BoxSolution(x, float(0.5 * x @ hessian @ x + linear @ x), float(kkt), bool(kkt <= limit))


def _solve_curved(
    H: NDArray[np.float64],
    q: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    x: NDArray[np.float64],
    tol: float,
    max_iter: int,
) -> tuple[NDArray[np.float64], float]:
    problem = BoundedQuadratic(H, 0.0, 0.0, lower, upper, tol, max_iter)
    codes, kkt = x[None].copy(), np.empty(1)
    problem.solve(-q[None], as_mask(None, H.shape), codes, kkt)
    scaled = codes[0] * problem.lengths
    # the kernel's unit-diagonal coordinates round: what it left at a bound goes exactly there
    answer = np.where(scaled <= problem.lower, lower, np.where(scaled >= problem.upper, upper, codes[0]))
    return np.clip(answer, lower, upper), float(kkt[0])


def _flat_residual(
    H: NDArray[np.float64],
    q: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    x: NDArray[np.float64],
    flat: NDArray[np.bool_],
) -> float:
    """How much slope is left, as a share of its terms, in coordinates without curvature that are not at their bound."""
    slope, terms = H @ x + q, np.abs(H) @ np.abs(x) + np.abs(q)
    wants = flat & np.where(slope > 0, x > lower, x < upper)
    return float(np.max(np.abs(slope[wants]) / np.maximum(terms[wants], np.finfo(np.float64).tiny), initial=0.0))


def _linear_minimum(
    q: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Coordinates without curvature: H is zero in their rows, so each goes to the bound its slope points at."""
    target = np.where(q > 0, lower, np.where(q < 0, upper, x))
    if not np.isfinite(target).all():
        raise ValueError("The objective is unbounded below: a coordinate has a slope, no curvature and no bound.")
    return target
