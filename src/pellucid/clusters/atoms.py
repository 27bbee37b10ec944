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

from pellucid._core.jit import kernel
from pellucid.clusters.coding import Sums
from pellucid.clusters.objective import Dictionary, Floats, Penalties, pair_weights
from pellucid.solvers.sphere import secular_coordinates, secular_root, sphere_quadratic

# the objective of a step may be off by this share of ‖H‖ + ‖b‖; after so many directions a step is given up
STEP_TOL = 1e-10
MAX_DIRECTIONS = 60
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
    length = float(np.linalg.norm(b))
    if not np.diag(H).any():
        return (b / length if length > 0 else old), 0.0
    atom = np.empty(len(b))
    mu, proven, after = expanding_solution(H, b, old, spike, floor, atom)
    if not proven and not np.isnan(mu):
        whole = H.copy()
        add_pairs(whole, old[None], np.array([spike]))
        higher = HIGHER * np.diag(whole).min() - (1 - HIGHER) * mu
        if is_definite(whole, -higher):
            mu, proven, after = expanding_solution(H, b, old, spike, higher, atom)
        else:
            proven = is_definite(H, mu + STEP_TOL * (np.diag(H).max() + length))
    return (atom if proven else None), after


def is_definite(H: Floats, shift: float) -> bool:
    """Whether H + shift·I is positive definite, by a Cholesky factor."""
    moved = H.copy()
    np.fill_diagonal(moved, np.diag(H) + shift)
    return bool(dpotrf(moved.T, lower=1, clean=0, overwrite_a=1)[1] == 0)


@kernel
def expanding_solution(
    H: Floats, b: Floats, old: Floats, spike: float, floor: float, atom: Floats
) -> tuple[float, bool, float]:
    """The minimiser over a span that grows until it is the minimiser over all, its multiplier μ (NaN if that takes too
    long), whether H + μI is proven to be semidefinite, and the floor for the new atom.

    With r = b − (H + μI)d and H + μI semidefinite no unit vector is better than d by more than 4‖r‖, nor, if all of its
    eigenvalues are at least g, by more than ‖r‖²/g. They are for g ≤ μ, and else where H + (μ − g)I is semidefinite: if
    spike·dᵀA⁻¹d ≤ 1 for A = H + (μ − g)I + spike·ddᵀ and the old d (the determinant lemma), where A ≥ floor + μ − g.
    The first directions are the old atom, so that nothing gets worse, and what would be right for a diagonal H; then
    the residual of b or, if only the proof is missing, of d, each time as a diagonal H + μI would remove it.
    """
    n, most = len(b), min(MAX_DIRECTIONS, len(b))
    V, HV = np.empty((most, n)), np.empty((most, n))
    T, c = np.empty((most, most)), np.empty(most)
    diagonal = np.diag(H).copy()
    allowed = STEP_TOL * (diagonal.max() + np.sqrt(dot(b, b)))
    given = dot(b, b) > 0.0  # else the best is the eigenvector of the least eigenvalue
    new, lack = old.copy(), np.empty(n)
    for m in range(most):
        if m == 1 and given:
            mu = secular_root(diagonal - diagonal.min(), b) - diagonal.min()
            new[:] = b / shifted(diagonal, mu, allowed)
        if not orthogonalise(new, V[:m]):
            return np.nan, False, 0.0
        V[m] = new
        multiply(H, new, HV[m])
        for p in range(m + 1):
            T[m, p] = T[p, m] = dot(V[p], HV[m])
        c[m] = dot(new, b)
        if m == 0 and most > 1 and given:
            continue
        z, mu = small_minimum(T[: m + 1, : m + 1], c[: m + 1])
        atom[:] = 0.0
        new[:] = b
        for p in range(m + 1):
            add_scaled(atom, z[p], V[p])
            add_scaled(new, -z[p], HV[p])
        add_scaled(new, -mu, atom)
        left = np.sqrt(dot(new, new))
        exact = 4 * left <= allowed
        low = mu + allowed if exact else mu - left * left / allowed  # H + low·I has to be semidefinite
        proven, lost = low >= 0.0, exact and low + floor <= 0.0
        if not proven and low + floor > 0.0:
            form, rest = spiked_form(V[: m + 1], HV[: m + 1], T[: m + 1, : m + 1], low, spike, lack)
            proven = spike * (form + rest / (low + floor)) <= 1.0
            if spike * form <= 1.0:
                new[:] = lack
        if proven or lost:
            atom /= np.sqrt(dot(atom, atom))
            return float(mu), proven, moved_floor(floor, spike, V[0], HV[0], atom)
        new /= shifted(diagonal, mu, allowed)
    return np.nan, False, 0.0


@kernel
def spiked_form(V: Floats, HV: Floats, T: Floats, mu: float, spike: float, r: Floats) -> tuple[float, float]:
    """dᵀy and ‖r‖², where y solves Ay = d in the span for A = H + μI + spike·ddᵀ and d = V[0], and r = d − Ay."""
    A = T + mu * np.eye(len(T))
    A[0, 0] += spike
    y = np.linalg.solve(A, np.eye(len(T))[0])
    r[:] = (1.0 - spike * y[0]) * V[0]
    for p in range(len(V)):
        add_scaled(r, -y[p], HV[p])
        add_scaled(r, -y[p] * mu, V[p])
    return float(y[0]), dot(r, r)


@kernel
def moved_floor(floor: float, spike: float, old: Floats, H_old: Floats, atom: Floats) -> float:
    """The floor when the spike moves from the old atom to a new one: lower by spike times the sine of their angle, or
    less. At right angles to the old atom nothing gets lower, so the floor is also no less than the least eigenvalue
    of a matrix of two rows: the old atom, and all the rest at the floor."""
    cosine = dot(old, atom)
    image = H_old + spike * cosine * atom
    along = dot(old, image)
    across = max(0.0, dot(image, image) - along * along)
    two_rows = 0.5 * (along + floor) - np.sqrt(0.25 * (along - floor) ** 2 + across)
    return float(max(0.0, two_rows, floor - spike * np.sqrt(max(0.0, 1.0 - cosine * cosine))))


@kernel
def shifted(diagonal: Floats, mu: float, least: float) -> Floats:
    """diagonal + μ, but positive where a negative μ would not leave it so."""
    return np.maximum(diagonal + mu, np.maximum(0.1 * diagonal, least))


@kernel
def small_minimum(T: Floats, c: Floats) -> tuple[Floats, float]:
    """argmin zᵀTz − 2cᵀz over ‖z‖ = 1 by the eigenvectors of T, and its multiplier."""
    values, vectors = np.linalg.eigh(T)
    beta = vectors.T @ c
    z, shift = secular_coordinates(values - values[0], beta)
    return vectors @ z, shift - values[0]


@kernel
def orthogonalise(new: Floats, V: Floats) -> bool:
    """Make ``new`` a unit vector that is orthogonal to the rows of V; False if it lies in their span."""
    before = np.sqrt(dot(new, new))
    for _ in range(2):  # twice is enough
        for p in range(len(V)):
            add_scaled(new, -dot(V[p], new), V[p])
    left = np.sqrt(dot(new, new))
    if not left > 1e-10 * before:
        return False
    new /= left
    return True


def free_atom(H: Floats, b: Floats, count: float) -> Floats:
    """argmin count·‖d‖² + dᵀHd − 2bᵀd, an atom of any length (k-means where nothing else counts)."""
    return np.asarray(np.linalg.solve(both_triangles(H) + count * np.eye(len(b)), b))


@kernel
def add_pairs(H: Floats, rows: Floats, weights: Floats) -> None:
    """H += Σ w_p rows_p rows_pᵀ, on and above the diagonal."""
    for i in range(len(H)):
        for p in range(len(rows)):
            add_scaled(H[i, i:], weights[p] * rows[p, i], rows[p, i:])


@kernel
def multiply(H: Floats, v: Floats, out: Floats) -> None:
    """out = Hv by what is on and above the diagonal, two rows at a time: faster than a product that reads all of H."""
    for i in range(len(v)):
        out[i] = H[i, i] * v[i]
    for i in range(0, len(v) - 1, 2):
        first, second, left, below = H[i, i + 2 :], H[i + 1, i + 2 :], v[i + 2 :], out[i + 2 :]
        one, two = H[i, i + 1] * v[i + 1], H[i, i + 1] * v[i]
        for j in range(len(left)):
            one += first[j] * left[j]
            two += second[j] * left[j]
            below[j] += first[j] * v[i] + second[j] * v[i + 1]
        out[i] += one
        out[i + 1] += two


@kernel
def dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel
def add_scaled(a: Floats, factor: float, b: Floats) -> None:
    for i in range(len(a)):
        a[i] += factor * b[i]


def both_triangles(H: Floats) -> Floats:
    return np.asarray(np.triu(H) + np.triu(H, 1).T)
