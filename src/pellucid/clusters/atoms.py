"""Atom steps: one unit atom after the other, each to its exact optimum with everything else fixed.

As a function of one atom the objective is dᵀHd − 2bᵀd on the unit sphere (and a constant): H = Σ w_i B_iB_iᵀ for all
atoms B and weights w ≥ 0 (``pair_weights``), and b is what the others leave of its codes times the rows. From one atom
to the next H changes by two terms. So the steps are made in coordinates in which H is diagonal at the outset: there it
stays so nearly diagonal that a few products solve each step, however many atoms there are.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from pellucid._core.kernels import add_pairs, expanding_solution
from pellucid.clusters.coding import Sums
from pellucid.clusters.objective import Dictionary, Floats, Penalties, pair_weights
from pellucid.solvers.sphere import sphere_quadratic

# the objective of a step may be off by this share of ‖H‖ + ‖b‖
STEP_TOL = 1e-10
# a floor of eigenvalues is tried this far on the way from what a step needs to the least of the diagonal
HIGHER = 0.5


def update_atoms(sums: Sums, dictionary: Dictionary, penalties: Penalties) -> Dictionary:
    """Every atom in turn, first the clusters', then the common ones; no step raises the objective for these codes."""
    shape, n_common = dictionary.atoms.shape, len(dictionary.common)
    C, k, d = shape
    common = slice(C * k, C * k + n_common)
    B = dictionary.stacked.astype(np.float64)
    products = np.concatenate([sums.products[:, :k].reshape(-1, d), sums.products[:, k:].sum(axis=0)])
    weights = pair_weights(shape, n_common, penalties, 0)
    basis, H = diagonal_basis(B, products, weights)
    B, products = B @ basis.T, products @ basis.T
    shared = sums.grams[:, k:, k:].sum(axis=0)
    floor = least_of(H)
    for j in range(len(B)):
        before, weights = weights, pair_weights(shape, n_common, penalties, j)
        changed = np.flatnonzero(weights != before)
        if len(changed):
            add_pairs(H, B[changed], (weights - before)[changed])
        spike = 2 * penalties.incoherence if penalties.within and j < C * k else 0.0
        if spike == 0.0 and len(changed):  # another H altogether
            floor = 0.0
        if j < C * k:
            c, i = divmod(j, k)
            own = slice(c * k, (c + 1) * k)
            mix = sums.grams[c, i]
            energy = mix[i]
            b = products[j] - mix[:k] @ B[own] - mix[k:] @ B[common] + energy * B[j]
        else:
            i = j - C * k
            mix, energy = sums.grams[:, k + i, :k].ravel(), shared[i, i]
            b = products[j] - mix @ B[: C * k] - shared[i] @ B[common] + energy * B[j]
        if penalties.codes == "one" and j < C * k:
            B[j] = free_atom(H, b, float(energy)) if energy > 0 else B[j]
            continue
        atom, floor = quick_atom(H, b, B[j], spike, floor)
        if atom is None:  # H has moved too far from a diagonal: turn all to where it is one again
            turn, H = diagonal(H)
            B, products, basis, b = B @ turn, products @ turn, turn.T @ basis, b @ turn
            atom, floor = sphere_atom(H, b, B[j]), least_of(H)
        B[j] = atom
    return Dictionary.unstacked(B @ basis, shape)


def diagonal_basis(B: Floats, products: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Orthonormal rows (n, d) whose span holds all atoms before and after, and in which Σ w_i B_iB_iᵀ is diagonal; and
    that matrix. They are d, or twice the number of atoms if that is less.

    Of this matrix, H from here on, only the diagonal and what is above it are kept up to date and read.
    """
    d = B.shape[1]
    start = np.eye(d) if 2 * len(B) >= d else np.linalg.qr(np.concatenate([B, products]).T)[0].T
    inside = B @ start.T
    turn, H = diagonal((inside.T * weights) @ inside)
    return turn.T @ start, H


def diagonal(H: Floats) -> tuple[Floats, Floats]:
    """Eigenvectors of a semidefinite H (columns), and H in terms of them."""
    values, vectors = eigh(H, lower=False)
    return vectors, np.diag(np.maximum(values, 0.0))


def least_of(H: Floats) -> float:
    """A number that no eigenvalue of a matrix that was just made diagonal is below."""
    values = np.diag(H)
    return float(max(0.0, values.min() - STEP_TOL * values.max()))


def sphere_atom(H: Floats, b: Floats, old: Floats) -> Floats:
    """argmin dᵀHd − 2bᵀd over ‖d‖ = 1 for a semidefinite H (n, n); the old atom if no other is better."""
    quick, _ = quick_atom(H, b, old)
    if quick is not None:
        return quick
    whole = both_triangles(H)
    atom = sphere_quadratic(whole, b).point
    better = atom @ whole @ atom - 2 * b @ atom < old @ whole @ old - 2 * b @ old
    return atom if better else old


def quick_atom(
    H: Floats, b: Floats, old: Floats, spike: float = 0.0, floor: float = 0.0
) -> tuple[Floats | None, float]:
    """The same where it does not take long, else None.

    No eigenvalue of H + spike·ddᵀ is known to be below ``floor`` for the old atom d; the floor for the new one comes
    second. H itself has one lower eigenvalue at most then, which makes it cheap to prove that none is below −μ.
    """
    atom, found = np.empty(len(b)), np.empty(2)  # found: the multiplier μ (NaN if that takes too long), and the floor
    proven = expanding_solution(H, b, old, spike, floor, STEP_TOL, atom, found)
    mu = found[0]
    if not proven and not np.isnan(mu):
        whole = H.copy()
        add_pairs(whole, old[None], np.array([spike]))
        higher = HIGHER * np.diag(whole).min() - (1 - HIGHER) * mu
        if is_definite(whole, -higher):
            proven = expanding_solution(H, b, old, spike, higher, STEP_TOL, atom, found)
        else:
            proven = is_definite(H, mu + STEP_TOL * (np.diag(H).max() + np.linalg.norm(b)))
    return (atom if proven else None), float(found[1])


def is_definite(H: Floats, shift: float) -> bool:
    """Whether H + shift·I is positive definite, by a Cholesky factor."""
    moved = H.copy()
    np.fill_diagonal(moved, np.diag(H) + shift)
    return bool(dpotrf(moved.T, lower=1, clean=0, overwrite_a=1)[1] == 0)


def free_atom(H: Floats, b: Floats, count: float) -> Floats:
    """argmin count·‖d‖² + dᵀHd − 2bᵀd, an atom of any length (k-means where nothing else counts)."""
    return np.asarray(np.linalg.solve(both_triangles(H) + count * np.eye(len(b)), b))


def both_triangles(H: Floats) -> Floats:
    return np.asarray(np.triu(H) + np.triu(H, 1).T)
