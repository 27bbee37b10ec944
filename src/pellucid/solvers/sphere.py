"""A quadratic on the unit sphere, solved to the global minimum (the exact atom step for paper 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.checks import as_matrix, as_vector, check_finite, warn_unconverged
from pellucid._core.kernels import sphere_minimum

TOL = 1e-10


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
    matrix, linear = np.ascontiguousarray(matrix / unit), linear / unit  # so that nothing over- or underflows
    if np.abs(matrix - matrix.T).max() > 1e-8:
        raise ValueError("H must be symmetric.")

    values, vectors = np.linalg.eigh(matrix)
    point, found = np.empty(len(linear)), np.empty(3)
    sphere_minimum(matrix, linear, values, vectors, point, found)
    multiplier, objective, left = found.tolist()
    residual = left / float(np.linalg.norm(matrix) + np.linalg.norm(linear))
    converged = bool(residual <= TOL * np.sqrt(len(matrix)))
    if not converged:
        warn_unconverged("sphere_quadratic", "residual", residual, TOL, 1, 1, "check the scaling of H and b")
    return SphereMinimum(point, unit * multiplier, unit * objective, residual, converged)
