"""Atom steps: one unit atom after the other, each to its exact optimum with everything else fixed.

As a function of one atom the objective is dᵀHd − 2bᵀd on the unit sphere (and a constant): H = BᵀWB for all atoms B and
weights W ≥ 0 (``pair_weights``), and b is what the others leave of its codes times the rows. With y from
(W½GW½ + μI)y = W½Bb, G the atoms' Gram matrix, the minimiser is d = (b − BᵀW½y)/μ for the μ that gives it length 1.
G is kept up to date, and a few Lanczos steps on it give all there is to know; no d × d matrix is formed.
"""

from __future__ import annotations

import numpy as np

from pellucid.clusters.coding import Sums
from pellucid.clusters.model import Dictionary, Floats, Penalties, pair_weights
from pellucid.solvers._cholesky import kernel
from pellucid.solvers.sphere import sphere_quadratic

# Lanczos stops at this share of its start (the objective then is off by its square), and hands over after so many steps
LANCZOS_TOL = 1e-7
LANCZOS_STEPS = 200
# below this share of ‖b‖ the multiplier is too small for d = (b − BᵀW½y)/μ to have digits
SMALL_MULTIPLIER = 1e-5


def update_atoms(sums: Sums, dictionary: Dictionary, penalties: Penalties) -> Dictionary:
    """Every atom in turn, first the clusters', then the common ones; no step raises the objective for these codes."""
    shape, n_common = dictionary.atoms.shape, len(dictionary.common)
    C, k, _ = shape
    B = dictionary.stacked.astype(np.float64)
    G = B @ B.T
    shared = sums.grams[:, k:, k:].sum(axis=0)
    for j in range(len(B)):
        weights = pair_weights(shape, n_common, penalties, j)
        if j < C * k:
            c, i = divmod(j, k)
            mix = np.zeros(len(B))
            mix[c * k : (c + 1) * k], mix[C * k :] = sums.grams[c, i, :k], sums.grams[c, i, k:]
            product = sums.products[c, i]
        else:
            i = j - C * k
            mix = np.concatenate([sums.grams[:, k + i, :k].ravel(), shared[i]])
            product = sums.products[:, k + i].sum(axis=0)
        energy, mix[j] = mix[j], 0.0
        b = product - mix @ B  # codes × what the other atoms leave of the rows
        if penalties.codes == "one" and j < C * k:
            atom = free_atom(B, G, weights, b, float(energy))
        else:
            atom = sphere_atom(B, G, weights, b, B[j])
        if atom is not None:
            B[j] = atom
            G[j] = G[:, j] = B @ atom
    return Dictionary.unstacked(B, shape)


def sphere_atom(B: Floats, G: Floats, weights: Floats, b: Floats, old: Floats) -> Floats | None:
    """argmin dᵀHd − 2bᵀd over ‖d‖ = 1, H = Σ weights_i B_iB_iᵀ; None if the old atom is as good."""
    before = float(weights @ (B @ old) ** 2 - 2 * b @ old)
    length = float(np.linalg.norm(b))
    if not weights.any():
        atom = b / length if length > 0 else old
    else:
        found = krylov_atom(B, G, weights, b) if length > 0 else None
        atom = dense_atom(B, weights, b, old) if found is None else found
    after = float(weights @ (B @ atom) ** 2 - 2 * b @ atom)
    return atom if after < before else None


def krylov_atom(B: Floats, G: Floats, weights: Floats, b: Floats) -> Floats | None:
    """The minimiser where its multiplier is well above zero, which proves it global since H is semidefinite."""
    root = np.sqrt(weights)
    y = np.zeros(len(B))
    mu = shifted_solution(G, root, root * (B @ b), float(b @ b), y)
    if mu == 0.0:
        return None
    atom = (b - (root * y) @ B) / mu
    return np.asarray(atom / np.linalg.norm(atom))


@kernel
def shifted_solution(G: Floats, root: Floats, g: Floats, squared: float, y: Floats) -> float:
    """The μ with ‖(H + μI)⁻¹b‖ = 1 by Lanczos steps, from g = W½Bb and ‖b‖²; ``y`` receives (W½GW½ + μI)⁻¹g.

    Returns 0 where μ is not well above zero, or the steps do not suffice.
    """
    n, most = len(g), min(LANCZOS_STEPS, len(g))
    size = np.sqrt(np.sum(g * g))
    if size == 0.0:
        return float(np.sqrt(squared))
    Q = np.empty((most + 1, n))
    diagonal, beside, z = np.empty(most), np.empty(most), np.empty(most)
    scaled = np.empty(n)
    Q[0] = g / size
    for m in range(1, most + 1):
        q, w = Q[m - 1], Q[m]
        for i in range(n):
            scaled[i] = root[i] * q[i]
        for i in range(n):
            total = 0.0
            if root[i] > 0.0:
                for j in range(n):
                    total += G[i, j] * scaled[j]
            w[i] = root[i] * total
        diagonal[m - 1] = np.sum(w * q)
        for _ in range(2):  # twice is enough to stay orthogonal
            for p in range(m):
                along = 0.0
                for i in range(n):
                    along += Q[p, i] * w[i]
                for i in range(n):
                    w[i] -= along * Q[p, i]
        norm = np.sqrt(np.sum(w * w))
        exhausted = norm <= 1e-14 * diagonal[0] or m == n
        if exhausted or m == most or (m >= 6 and m % 2 == 0):
            mu = secular_shift(diagonal[:m], beside, size, squared, z)
            if mu == 0.0:
                return 0.0
            if exhausted or norm * abs(z[m - 1]) <= LANCZOS_TOL * size:
                for p in range(m):
                    for i in range(n):
                        y[i] += z[p] * Q[p, i]
                return float(mu)
        if m < most:
            beside[m - 1] = norm
            for i in range(n):
                w[i] /= norm
    return 0.0


@kernel
def secular_shift(diagonal: Floats, beside: Floats, size: float, squared: float, z: Floats) -> float:
    """The shift μ of the tridiagonal T for which d has unit length, and z = (T + μI)⁻¹·size·e₁; 0 if μ is too small."""
    low, high = SMALL_MULTIPLIER * np.sqrt(squared), np.sqrt(squared)  # ‖d‖ ≤ ‖b‖/μ
    at_low, at_high = inverse_length(diagonal, beside, size, squared, low, z) - 1.0, 0.0
    if at_low >= 0.0:
        return 0.0
    at_high = inverse_length(diagonal, beside, size, squared, high, z) - 1.0
    mu = high
    for _ in range(100):  # 1/‖d(μ)‖ is nearly linear: false position, an end that stays is halved
        if abs(at_high) <= 1e-15 or high - low <= 1e-15 * high:
            break
        mu = (low * at_high - high * at_low) / (at_high - at_low)
        here = inverse_length(diagonal, beside, size, squared, mu, z) - 1.0
        if abs(here) <= 1e-15:
            break
        if here > 0.0:
            high, at_high, at_low = mu, here, 0.5 * at_low
        else:
            low, at_low, at_high = mu, here, 0.5 * at_high
    inverse_length(diagonal, beside, size, squared, mu, z)
    return float(mu)


@kernel
def inverse_length(diagonal: Floats, beside: Floats, size: float, squared: float, mu: float, z: Floats) -> float:
    """1/‖d(μ)‖, where ‖b − BᵀW½y‖² = ‖b‖² − size·z₁ − μ‖z‖²; z is solved for by elimination from the last row up."""
    m = len(diagonal)
    pivot = diagonal[m - 1] + mu
    z[m - 1] = 1.0 / pivot
    for i in range(m - 2, -1, -1):
        pivot = diagonal[i] + mu - beside[i] * beside[i] / pivot
        z[i] = 1.0 / pivot
    z[0] *= size
    total = z[0] * z[0]
    for i in range(1, m):
        z[i] *= -beside[i - 1] * z[i - 1]
        total += z[i] * z[i]
    left = squared - size * z[0] - mu * total
    return mu / np.sqrt(left) if left > 0.0 else np.inf


def dense_atom(B: Floats, weights: Floats, b: Floats, old: Floats) -> Floats:
    """The same by the eigenvectors of H in the span of the atoms that count, b and the old atom."""
    counted = B[weights > 0]
    length = float(np.linalg.norm(b))
    spanning = np.concatenate([counted, b[None] / (length or 1.0), old[None]])
    sizes, basis = np.linalg.svd(spanning, full_matrices=False)[1:]
    basis = basis[sizes > 1e-12 * sizes[0]]
    V = np.sqrt(weights[weights > 0])[:, None] * (counted @ basis.T)
    return np.asarray(sphere_quadratic(V.T @ V, basis @ b).point @ basis)


def free_atom(B: Floats, G: Floats, weights: Floats, b: Floats, count: float) -> Floats | None:
    """argmin count·‖d‖² + dᵀHd − 2bᵀd, an atom of any length (k-means where nothing else counts)."""
    if count == 0:
        return None
    if not weights.any():
        return b / count
    root = np.sqrt(weights)
    y = np.linalg.solve(root[:, None] * G * root + count * np.eye(len(B)), root * (B @ b))
    return np.asarray((b - (root * y) @ B) / count)
