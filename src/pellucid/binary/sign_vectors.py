"""Searching sign vectors close to a linear space (paper 2, Algorithm 1): annealed chains, all at once, exhaustively.

U (p, r) is an orthonormal basis orthogonal to the constant. A state is a vector s of ±1, and its energy
e(s) = 1 − (|Uᵀs|² + (1ᵀs)²/p) / p is the share of it outside span(U, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import FloatMatrix

# annealing of the chains: inverse temperature, its growth, and the steps between two changes of it
BETA, COOLING, STEPS = 5.0, 0.88, 10
# the joint search has arrived when no direction turns by more than this
TURN = 1e-4
MAX_TURNS = 60
SIGN_STEPS = 50
# the exhaustive search looks at 2^rank states
MAX_RANK = 20


def energies(U: FloatMatrix, states: FloatMatrix) -> FloatMatrix:
    """e(s) of every column."""
    p = len(U)
    inside = np.sum((U.T @ states) ** 2, axis=0) + states.sum(axis=0) ** 2 / p
    return np.asarray(np.maximum(0.0, 1 - inside / p))


def signs(values: NDArray[Any]) -> NDArray[Any]:
    return np.where(values >= 0, 1.0, -1.0).astype(values.dtype)


def descend(U: FloatMatrix, states: FloatMatrix) -> FloatMatrix:
    """Hopfield steps s ← sign(UUᵀs + mean(s)), until no state changes; each lowers the energy."""
    for _ in range(SIGN_STEPS):
        after = signs(U @ (U.T @ states) + states.mean(axis=0))
        if np.array_equal(after, states):
            break
        states = after
    return states


def distinct(states: FloatMatrix) -> FloatMatrix:
    """Columns that are not constant, each once, complements being equal."""
    flipped = states * np.where(states[:1] > 0, -1.0, 1.0).astype(states.dtype)  # the first item has no concept
    varied = flipped[:, (flipped > 0).any(axis=0)]
    packed = np.packbits(varied.T > 0, axis=1)
    _, first = np.unique(packed, axis=0, return_index=True)
    return np.ascontiguousarray(varied[:, np.sort(first)])


def joint_states(U: FloatMatrix, rng: np.random.RandomState) -> FloatMatrix:
    """As many states as U has columns, found together."""
    return signs((np.sqrt(len(U)).astype(U.dtype) * U) @ joint_turn(U, rng))


def joint_turn(U: FloatMatrix, rng: np.random.RandomState) -> FloatMatrix:
    """The turn M of a basis U to its most binary directions.

    Binary columns are the most sub-Gaussian directions of Y = √p U, so a symmetric fixed point (independent component
    analysis) turns an orthogonal M until Y M is as binary as it gets.
    """
    p, r = U.shape
    Y = np.sqrt(p).astype(U.dtype) * U
    M = polar(rng.standard_normal((r, r)).astype(U.dtype))
    for _ in range(MAX_TURNS):
        G = np.tanh(Y @ M)
        turned = polar(Y.T @ G / p - M * np.mean(1 - G * G, axis=0))
        moved = 1 - np.abs(np.einsum("ij,ij->j", turned, M))
        M = turned
        if moved.max() < TURN:
            break
    return M


def polar(matrix: FloatMatrix) -> FloatMatrix:
    """The matrix of orthonormal columns (or rows) nearest to ``matrix``."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left @ right)


def chain_states(U: FloatMatrix, n_chains: int, max_iter: int, rng: np.random.RandomState) -> FloatMatrix:
    """States at which annealed chains come to rest; all chains move in one matrix product a step.

    A chain starts at sign(U g); each bit of the next state is +1 with probability σ(β c), c = UUᵀs + mean(s). One that
    a step leaves unchanged is taken down and starts again, with its own clock. Chains that still move in the end,
    as they do where nothing is exactly binary, settle without noise.
    """
    r = U.shape[1]
    basis = np.ascontiguousarray(U, dtype=np.float32)
    start = lambda count: signs(basis @ rng.standard_normal((r, count)).astype(np.float32))  # noqa: E731
    states, clock = start(n_chains), np.zeros(n_chains)
    generator = np.random.default_rng(rng.randint(2**31))
    rested: list[FloatMatrix] = []
    for _ in range(max_iter):
        field = basis @ (basis.T @ states) + states.mean(axis=0)
        beta = (BETA / COOLING ** np.floor(clock / STEPS)).astype(np.float32)
        # +1 with probability σ(βc): a logistic number below βc
        uniform = generator.random(states.shape, dtype=np.float32)
        moved = np.where(uniform * (1 + np.exp(-np.clip(beta * field, -80, 80))) < 1, np.float32(1), np.float32(-1))
        still = (moved == states).all(axis=0)
        states, clock = moved, clock + 1
        if still.any():
            rested.append(states[:, still])
            states[:, still], clock[still] = start(int(still.sum())), 0
    rested.append(descend(basis, states))
    return distinct(np.hstack(rested)).astype(U.dtype)


def exhaustive_states(U: FloatMatrix) -> FloatMatrix:
    """All states that span(U, 1) can hold (Slawski et al.): r + 1 independent rows of a basis fix the whole state, so
    2^r sign patterns on those rows (up to complement) are all there are."""
    from scipy.linalg import qr

    p, r = U.shape
    if r > MAX_RANK:
        raise ValueError(f"The exhaustive search looks at 2^rank states, and the rank is {r}; use another acceptance.")
    basis = np.column_stack([U, np.full(p, 1 / np.sqrt(p))])
    rows = qr(basis.T, mode="r", pivoting=True)[1][: r + 1]
    solve = np.linalg.solve(basis[rows].T, basis.T).T  # (p, r + 1): from the signs on the rows to the state
    found = []
    for begin in range(0, 1 << r, 1 << 12):
        codes = np.arange(begin, min(begin + (1 << 12), 1 << r))
        patterns = np.vstack([np.ones(len(codes)), 1.0 - 2.0 * ((codes >> np.arange(r)[:, None]) & 1)])
        found.append(signs(solve @ patterns))
    return distinct(np.hstack(found))
