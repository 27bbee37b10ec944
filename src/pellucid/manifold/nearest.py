"""Nearest atom by cosine: exact, with whole cells of atoms ruled out by the triangle inequality on the sphere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._base import unit_rows
from pellucid.solvers._cholesky import kernel
from pellucid.solvers._threads import run_rows

Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]

# atoms side by side in a tile, and dimensions in a step: two vector registers, and a multiple of what patches have
LANES = 16
STEP = 6
# fewer atoms than this are not worth cells
FEW = 2048
# a product of this size stays in the cache that one core has to itself
TILE = 1 << 18
# rows whose products with the cells are made at once
ROWS = 256
# if more than this share of the tiles has to be looked at, a plain product is faster
WORTHWHILE = 0.2
# radii are cut to this share in the approximate search
SHRINK = 0.6
# cosines of unit vectors in float32 are off by less than this
SLACK = 2e-6


@dataclass(frozen=True)
class Cells:
    """Unit atoms, grouped.

    centres : (G, d) unit rows; angle : (G,) from a centre to its farthest atom
    tiles : (n_tiles · d · LANES,) atoms of one cell after the other, transposed; begin : (G + 1,) first tile of a cell
    names : (n_tiles · LANES,) which atom stands where
    """

    atoms: Floats32
    centres: Floats32
    angle: NDArray[np.float64]
    tiles: Floats32
    begin: Integers
    names: Integers


def build_cells(atoms: Floats32) -> Cells | None:
    """Cells of about LANES unit atoms; None where there are too few atoms for it to pay."""
    K = len(atoms)
    if K < FEW:
        return None
    centres = np.ascontiguousarray(atoms[::LANES][: K // LANES])
    for _ in range(6):
        cell = nearest_by_product(atoms, centres)[0]
        centres, _ = mean_directions(atoms, cell, centres)
    cell = nearest_by_product(atoms, centres)[0]
    # angles from chords: the cosine of a small angle has lost it
    chords = np.linalg.norm(atoms.astype(np.float64) - centres[cell], axis=1)
    angle = np.zeros(len(centres))
    np.maximum.at(angle, cell, 2 * np.arcsin(np.minimum(chords / 2, 1)))
    sizes = np.bincount(cell, minlength=len(centres))
    n_tiles = -(-sizes // LANES)
    begin = np.concatenate([[0], np.cumsum(n_tiles)])
    order = np.argsort(cell, kind="stable")
    # a tile that is not full repeats the first atom of its cell
    names = np.repeat(order[np.minimum(np.cumsum(sizes) - sizes, K - 1)], n_tiles * LANES)
    starts = np.cumsum(sizes) - sizes
    names[np.arange(K) - np.repeat(starts, sizes) + np.repeat(begin[:-1] * LANES, sizes)] = order
    padded = pad_columns(atoms)
    tiles = padded[names].reshape(-1, LANES, padded.shape[1]).transpose(0, 2, 1)
    return Cells(atoms, centres, angle, np.ascontiguousarray(tiles).ravel(), begin, names)


def pad_columns(X: Floats32) -> Floats32:
    missing = -X.shape[1] % STEP
    return np.ascontiguousarray(np.pad(X, ((0, 0), (0, missing))) if missing else X)


def mean_directions(X: Floats32, labels: Integers, before: Floats32) -> tuple[Floats32, Integers]:
    """Unit means of the rows with each label (the old centre where there is none), and how many there are."""
    counts = np.bincount(labels, minlength=len(before))
    sums = np.zeros(before.shape)
    add_rows(np.ascontiguousarray(X), labels, sums)
    kept = (counts > 0) & (np.linalg.norm(sums, axis=1) > 1e-6)
    centres = before.copy()
    centres[kept] = unit_rows(sums[kept]).astype(np.float32)
    return centres, counts


@kernel
def add_rows(X: Floats32, labels: Integers, sums: NDArray[np.float64]) -> None:
    for i in range(X.shape[0]):
        row = labels[i]
        for j in range(X.shape[1]):
            sums[row, j] += X[i, j]


def nearest_by_product(X: Floats32, atoms: Floats32) -> tuple[Integers, Floats32]:
    """Largest product with an atom, for every row: blocks that stay in the cache, the first of equals."""
    best = np.full(len(X), -np.inf, dtype=np.float32)
    which = np.zeros(len(X), dtype=np.int64)
    width = min(len(atoms), 1024)
    height = max(1, TILE // width)

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, height):
            rows = slice(first, min(first + height, stop))
            inside = np.arange(rows.stop - rows.start)
            for column in range(0, len(atoms), width):
                products = X[rows] @ atoms[column : column + width].T
                found = products.argmax(axis=1)
                value = products[inside, found]
                better = value > best[rows]
                best[rows][better] = value[better]
                which[rows][better] = found[better] + column

    run_rows(part, len(X), min_rows=height)
    return which, best


def nearest_atoms(
    X: Floats32, atoms: Floats32, cells: Cells | None = None, exact: bool = True
) -> tuple[Integers, Floats32]:
    """Nearest of the unit atoms (K, d) to each unit row of X (n, d), and the cosine.

    ``cells`` of the same atoms make it faster. It is exact up to the rounding of float32 unless ``exact`` is False:
    then cells are taken to be smaller than they are, which misses some.
    """
    if cells is None or (exact and not worthwhile(X, cells)):
        return nearest_by_product(X, atoms)
    best = np.empty(len(X), dtype=np.float32)
    which = np.empty(len(X), dtype=np.int64)
    angle = cells.angle if exact else SHRINK * cells.angle
    cosine, sine = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, ROWS):
            rows = slice(first, min(first + ROWS, stop))
            block = np.ascontiguousarray(X[rows])
            near = block @ cells.centres.T
            search_cells(
                pad_columns(block), near, near.argmax(axis=1), cosine, sine, cells.tiles, cells.begin,
                which[rows], best[rows],
            )  # fmt: skip

    run_rows(part, len(X), min_rows=ROWS)
    return cells.names[which], best


def worthwhile(X: Floats32, cells: Cells) -> bool:
    """Whether cells rule out enough, by a few rows spread over all."""
    some = np.ascontiguousarray(X[:: max(1, len(X) // 64)][:64])
    best = nearest_by_product(some, cells.atoms)[1].astype(np.float64)[:, None]
    away = np.sqrt(np.maximum(0, 1 - best**2))
    needed = some @ cells.centres.T > best * np.cos(cells.angle) - away * np.sin(cells.angle)
    sizes = np.diff(cells.begin)
    return bool((needed * sizes).sum() < WORTHWHILE * len(some) * sizes.sum())


@kernel
def search_cells(
    X: Floats32,
    near: Floats32,
    home: Integers,
    cosine: Floats32,
    sine: Floats32,
    tiles: Floats32,
    begin: Integers,
    which: Integers,
    best: Floats32,
) -> None:
    """A cell at angle θ and of radius r can hold an atom nearer than angle β only if θ < β + r, that is
    cos θ > cos β cos r − sin β sin r."""
    n, G = near.shape
    products = np.empty(LANES, dtype=np.float32)
    kept = np.empty(G + 1, dtype=np.int64)
    slack = np.float32(SLACK)
    for i in range(n):
        x, q, g = X[i], near[i], home[i]
        w, b = search_tiles(x, tiles, begin[g], begin[g + 1], 0, np.float32(-2), products)
        low = b - slack
        far = np.sqrt(max(np.float32(0), np.float32(1) - low * low))
        count = 0
        for h in range(G):
            kept[count] = h
            count += q[h] + slack > low * cosine[h] - far * sine[h]
        for k in range(count):
            h = kept[k]
            if h != g and q[h] + slack > low * cosine[h] - far * sine[h]:
                w, c = search_tiles(x, tiles, begin[h], begin[h + 1], w, b, products)
                if c > b:
                    b = c
                    low = b - slack
                    far = np.sqrt(max(np.float32(0), np.float32(1) - low * low))
        which[i] = w
        best[i] = b


@kernel
def search_tiles(
    x: Floats32, tiles: Floats32, first: int, last: int, which: int, best: Any, products: Floats32
) -> tuple[int, Any]:
    d = x.shape[0]
    for t in range(first, last):
        for lane in range(LANES):
            products[lane] = 0
        for p in range(0, d, STEP):
            start = (t * d + p) * LANES
            T = tiles[start : start + STEP * LANES]
            a, b, c, e, f, g = x[p], x[p + 1], x[p + 2], x[p + 3], x[p + 4], x[p + 5]
            for lane in range(LANES):
                products[lane] += (a * T[lane] + b * T[LANES + lane] + c * T[2 * LANES + lane]) + (
                    e * T[3 * LANES + lane] + f * T[4 * LANES + lane] + g * T[5 * LANES + lane]
                )
        hits = 0
        for lane in range(LANES):
            hits += products[lane] > best
        if hits:
            for lane in range(LANES):
                if products[lane] > best:
                    best = products[lane]
                    which = t * LANES + lane
    return which, best
