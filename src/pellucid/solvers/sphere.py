"""A quadratic on the unit sphere, solved to the global minimum (the exact atom step for paper 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import Floats
from pellucid._core.checks import as_matrix, as_vector, check_finite, warn_unconverged
from pellucid._core.jit import kernel

TOL = 1e-10
# a part of b, of a problem whose largest number is 1, that no residual in float64 can see
NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class SphereMinimum:
    """The global minimiser of a quadratic on the sphere, with its certificate.

    Attributes
    ----------
    point : ndarray of shape (n,)
        Of unit length.
    multiplier : float
        The μ with (H + μI)·point = b and H + μI positive semidefinite, which together prove the optimum.
    objective : float
        pointᵀH·point − 2bᵀpoint.
    residual : float
        ‖(H + μI)·point − b‖ as a share of ‖H‖ + ‖b‖.
    converged : bool
        Whether the residual is at the level of round-off.
    """

    point: NDArray[np.float64]
    multiplier: float
    objective: float
    residual: float
    converged: bool


def sphere_quadratic(H: ArrayLike, b: ArrayLike) -> SphereMinimum:
    """Minimise dᵀHd − 2bᵀd over ‖d‖ = 1, to the global minimum.

    In the eigenvectors of H the optimality condition is the secular equation Σ β_i²/(λ_i + μ)² = 1 with μ ≥ −λ_min.
    In the hard case, b without a part in the lowest eigenspace, a share of that eigenvector fills up the length.

    Parameters
    ----------
    H : array-like of shape (n, n)
        Symmetric, definite or not.
    b : array-like of shape (n,)
        The linear term.

    Returns
    -------
    SphereMinimum
        The minimiser, and the multiplier that proves it.

    Raises
    ------
    ValueError
        H is not square, not symmetric or not finite, or b does not fit it.

    Examples
    --------
    >>> from pellucid.solvers import sphere_quadratic
    >>> found = sphere_quadratic([[1.0, 0.0], [0.0, 2.0]], [0.0, 3.0])
    >>> found.point.round(6).tolist(), round(found.objective, 6)
    ([0.0, 1.0], -4.0)
    """
    matrix = as_matrix(H, "H").astype(np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"H must be square, but its shape is {matrix.shape}.")
    check_finite(matrix, "H")
    linear = as_vector(b, "b", len(matrix), "row of H")
    check_finite(linear, "b")
    unit = float(max(np.abs(matrix).max(), np.abs(linear).max()))
    if unit == 0.0:
        return SphereMinimum(np.eye(1, len(matrix))[0], 0.0, 0.0, 0.0, True)
    matrix, linear = matrix / unit, linear / unit  # so that nothing over- or underflows
    if np.abs(matrix - matrix.T).max() > 1e-8:
        raise ValueError("H must be symmetric.")

    values, vectors = np.linalg.eigh(matrix)
    beta = vectors.T @ linear
    beta[np.abs(beta) < NEGLIGIBLE] = 0.0
    coordinates, shift = secular_coordinates(values - values[0], beta)
    point = vectors @ coordinates
    point /= np.linalg.norm(point)
    multiplier = shift - float(values[0])
    size = float(np.linalg.norm(matrix) + np.linalg.norm(linear))
    residual = float(np.linalg.norm(matrix @ point + multiplier * point - linear)) / size
    objective = float(point @ matrix @ point - 2.0 * linear @ point)
    converged = bool(residual <= TOL * np.sqrt(len(matrix)))
    if not converged:
        warn_unconverged("sphere_quadratic", "residual", residual, TOL, 1, 1, "check the scaling of H and b")
    return SphereMinimum(point, unit * multiplier, unit * objective, residual, converged)


@kernel
def secular_coordinates(gaps: Floats, beta: Floats) -> tuple[Floats, float]:
    """The minimiser β/(gaps + t) in the eigenvectors, filled up to unit length along the lowest one in the hard case,
    and t. ``gaps`` are the eigenvalues above the lowest: working with t = μ + λ_min keeps the digits of a tiny t."""
    t = secular_root(gaps, beta)
    d = np.zeros(len(beta))
    rest = 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0 and gaps[i] + t > 0.0:
            d[i] = beta[i] / (gaps[i] + t)
        if i > 0:
            rest += d[i] * d[i]
    if t == 0.0:
        d[0] = np.sqrt(max(0.0, 1.0 - rest))
    return d, t


@kernel
def secular_root(gaps: Floats, beta: Floats) -> float:
    """The t ≥ 0 with Σ β²/(gaps + t)² = 1, or 0 in the hard case, where the sum at t = 0 is below 1."""
    square = 0.0
    for i in range(len(beta)):
        square += beta[i] * beta[i]
    low, high = 0.0, np.sqrt(square)  # ‖d(t)‖ ≤ ‖β‖/t, so the root is at most ‖β‖
    at_low, at_high = inverse_length(gaps, beta, low) - 1.0, inverse_length(gaps, beta, high) - 1.0
    if at_low >= 0.0:
        return 0.0
    t = high
    for _ in range(300):  # 1/‖d(t)‖ is nearly linear: false position, an end that stays is halved
        if abs(at_high) <= 1e-15 or high - low <= 1e-15 * high:
            break
        t = (low * at_high - high * at_low) / (at_high - at_low)
        here = inverse_length(gaps, beta, t) - 1.0
        if abs(here) <= 1e-15:
            break
        if here > 0.0:
            high, at_high, at_low = t, here, 0.5 * at_low
        else:
            low, at_low, at_high = t, here, 0.5 * at_high
    return float(t)


@kernel
def inverse_length(gaps: Floats, beta: Floats, t: float) -> float:
    """1/‖d(t)‖ for d = β/(gaps + t); at a pole it is 0."""
    total = 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            if gaps[i] + t == 0.0:
                return 0.0
            total += (beta[i] / (gaps[i] + t)) ** 2
    return 1.0 / np.sqrt(total) if total > 0.0 else np.inf
