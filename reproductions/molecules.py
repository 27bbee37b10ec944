"""Planar angles and torsions of a molecule with their gradients, for all configurations at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def angle_triples(n_atoms: int) -> np.ndarray:
    """(i, vertex, k) of every planar angle: three for each three atoms."""
    return np.array([(*(set(c) - {v}), v) for c in combinations(range(n_atoms), 3) for v in c])[:, [0, 2, 1]]


def torsion_quadruples(n_atoms: int) -> np.ndarray:
    """(i, j, k, l) of every torsion about j–k: six for each four atoms."""
    return np.array(
        [
            (ends[0], *middle, ends[1])
            for c in combinations(range(n_atoms), 4)
            for middle in combinations(c, 2)
            for ends in [sorted(set(c) - set(middle))]
        ]
    )


def angles(coords: np.ndarray, triples: np.ndarray, gradient: bool = False):
    """Angles (n, m); with ``gradient`` also their derivatives by the coordinates (n, m, atoms, 3)."""
    u = coords[:, triples[:, 0]] - coords[:, triples[:, 1]]
    v = coords[:, triples[:, 2]] - coords[:, triples[:, 1]]
    a, b = (np.linalg.norm(w, axis=-1, keepdims=True) for w in (u, v))
    u, v = u / a, v / b
    cosine = np.clip((u * v).sum(axis=-1, keepdims=True), -1, 1)
    values = np.arccos(cosine[..., 0])
    if not gradient:
        return values
    sine = np.sqrt(np.maximum(1 - cosine**2, 1e-12))
    first, last = (cosine * u - v) / (a * sine), (cosine * v - u) / (b * sine)
    out = np.zeros((*values.shape, *coords.shape[1:]))
    rows = np.arange(len(triples))
    for atom, part in zip(triples.T, (first, -first - last, last)):
        out[:, rows, atom] += part
    return values, out


def torsion_gradients(coords: np.ndarray, quadruples: np.ndarray) -> np.ndarray:
    """Derivatives of the torsions by the coordinates (n, m, atoms, 3) (Blondel and Karplus 1996)."""
    p, q, r, s = (coords[:, quadruples[:, c]] for c in range(4))
    F, G, H = p - q, q - r, s - r
    A, B = np.cross(F, G), np.cross(H, G)
    square = lambda w: np.maximum((w * w).sum(axis=-1, keepdims=True), 1e-12)  # noqa: E731
    length = np.sqrt(square(G))
    FG, HG = (F * G).sum(axis=-1, keepdims=True), (H * G).sum(axis=-1, keepdims=True)
    start, end = -length / square(A) * A, length / square(B) * B
    bend = FG / (square(A) * length) * A - HG / (square(B) * length) * B
    out = np.zeros((*start.shape[:2], *coords.shape[1:]))
    rows = np.arange(len(quadruples))
    for atom, part in zip(quadruples.T, (start, -start + bend, -end - bend, end)):
        out[:, rows, atom] += part
    return out


def local_tangents(features: np.ndarray, points: np.ndarray, n_neighbours: int, dimension: int) -> np.ndarray:
    """Leading directions (len(points), d, dimension) of the nearest neighbours of each point."""
    out = np.empty((len(points), features.shape[1], dimension))
    squared = (features**2).sum(axis=1)
    for i, point in enumerate(points):
        near = np.argpartition(squared - 2 * features @ features[point], n_neighbours)[:n_neighbours]
        rows = features[near] - features[near].mean(axis=0)
        out[i] = np.linalg.eigh(rows.T @ rows)[1][:, : -dimension - 1 : -1]
    return out
