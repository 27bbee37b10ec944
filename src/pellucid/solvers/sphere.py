"""A quadratic on the unit sphere, solved to the global minimum (the exact atom step for paper 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from pellucid._core.checks import as_matrix, as_vector, check_finite, warn_unconverged

TOL = 1e-10
# a part of b, of a problem whose largest number is 1, that no residual in float64 can see
NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class SphereMinimum:
    """The global minimiser with its certificate.

    point : (n,), of unit length
    multiplier : μ with (H + μI)·point = b and H + μI positive semidefinite, which together prove the optimum
    objective : pointᵀH·point − 2bᵀpoint
    residual : ‖(H + μI)·point − b‖ as a share of ‖H‖ + ‖b‖
    converged : whether the residual is at the level of round-off
    """

    point: NDArray[np.float64]
    multiplier: float
    objective: float
    residual: float
    converged: bool


def sphere_quadratic(H: ArrayLike, b: ArrayLike) -> SphereMinimum:
    """Minimise dᵀHd − 2bᵀd over ‖d‖ = 1, for a symmetric H (n, n), definite or not.

    In the eigenvectors of H the optimality condition is the secular equation Σ β_i²/(λ_i + μ)² = 1 with μ ≥ −λ_min.
    In the hard case, b without a part in the lowest eigenspace, a share of that eigenvector fills up the length.
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
    shift = secular_root(values - values[0], beta)
    coordinates = _coordinates(values - values[0], beta, shift)
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


def secular_root(gaps: NDArray[np.float64], beta: NDArray[np.float64]) -> float:
    """The t ≥ 0 with Σ β_i²/(gaps_i + t)² = 1, or 0 in the hard case, where the sum at t = 0 is below 1.

    ``gaps`` are the eigenvalues above the lowest: working with t = μ + λ_min keeps the digits of a tiny shift.
    """
    length = float(np.linalg.norm(beta))

    def excess(t: float) -> float:
        # 1/‖d(t)‖ is almost linear in t, so its root is found in a few steps; at a pole it is 0
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(beta == 0.0, 0.0, beta / (gaps + t))
        norm = float(np.linalg.norm(terms))
        return -1.0 if np.isinf(norm) else (1.0 / norm if norm > 0 else np.inf) - 1.0

    if excess(0.0) >= 0.0:
        return 0.0
    # ‖d(t)‖ ≤ length/t, so the root is at most ``length``
    eps = np.finfo(np.float64).eps
    return float(brentq(excess, 0.0, length * (1 + 1e-12), xtol=1e-300, rtol=4 * eps, maxiter=10_000))


def _coordinates(gaps: NDArray[np.float64], beta: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    """d in the eigenvectors: β/(gaps + t), filled up to unit length along the lowest one in the hard case."""
    lifted = gaps + shift
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.where(beta == 0.0, 0.0, beta / lifted)
    if shift == 0.0:
        d[0] = np.sqrt(max(0.0, 1.0 - float(d[1:] @ d[1:])))
    return np.asarray(d)
