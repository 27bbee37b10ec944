"""Nearest atom by cosine: exact, with whole cells of atoms ruled out by the triangle inequality on the sphere, or
approximate, in the nearest cells alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.kernels import add_rows, search_cells, search_near_cells
from pellucid._core.threads import run_rows

Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]

# atoms side by side in a tile, as the kernel has them
LANES = 16
# fewer atoms than this are not worth cells
LEAST_ATOMS = 2048
# a product of this size stays in the cache that one core has to itself
TILE = 1 << 18
# rows whose products with the cells are made at once
ROWS = 256
# if more than this share of the tiles has to be looked at, a plain product is faster
WORTHWHILE = 0.4
# atoms in a cell of the approximate search: most of its time goes into products with the centres
COARSE = 64
# it looks so far that of so many atoms this share find the nearest other one
SAMPLE, FOUND = 1024, 0.99


@dataclass(frozen=True)
class Cells:
    """Unit atoms, grouped.

    centres : (G, d) unit rows; angle : (G,) from a centre to its farthest atom
    tiles : (n_tiles, d, LANES) atoms of one cell after the other, transposed; begin : (G + 1,) first tile of a cell
    names : (n_tiles · LANES,) which atom stands where
    reach : how far beyond the middle of what is nearest, centre and atom, cells are looked into; None for the exact
        search
    """

    atoms: Floats32
    centres: Floats32
    angle: NDArray[np.float64]
    tiles: Floats32
    begin: Integers
    names: Integers
    reach: float | None

    @property
    def exact(self) -> bool:
        return self.reach is None


def build_cells(atoms: Floats32, exact: bool = True) -> Cells | None:
    """Cells of unit atoms for the exact or the approximate search; None where there are too few for it to pay."""
    K = len(atoms)
    if K < LEAST_ATOMS:
        return None
    size = LANES if exact else COARSE
    centres = np.ascontiguousarray(atoms[::size][: K // size])
    for _ in range(6):
        cell = nearest_by_product(atoms, centres)[0]
        centres, _ = mean_directions(atoms, cell, centres)
    used, cell = np.unique(nearest_by_product(atoms, centres)[0], return_inverse=True)
    centres = centres[used]
    # angles from chords: the cosine of a small angle has lost it
    chords = np.linalg.norm(atoms.astype(np.float64) - centres[cell], axis=1)
    angle = np.zeros(len(centres))
    np.maximum.at(angle, cell, 2 * np.arcsin(np.minimum(chords / 2, 1)))
    sizes = np.bincount(cell)
    n_tiles = -(-sizes // LANES)
    begin = np.concatenate([[0], np.cumsum(n_tiles)])
    order = np.argsort(cell, kind="stable")
    starts = np.cumsum(sizes) - sizes
    # a tile that is not full repeats the first atom of its cell
    names = np.repeat(order[starts], n_tiles * LANES)
    names[np.arange(K) - np.repeat(starts, sizes) + np.repeat(begin[:-1] * LANES, sizes)] = order
    tiles = atoms[names].reshape(-1, LANES, atoms.shape[1]).transpose(0, 2, 1)
    reach = None if exact else enough_reach(atoms, centres, cell)
    return Cells(atoms, centres, angle, np.ascontiguousarray(tiles), begin, names, reach)


def enough_reach(atoms: Floats32, centres: Floats32, cell: Integers) -> float:
    """How much farther away the centre of the nearest other atom is than the middle between the angles to the nearest
    centre and to the nearest other atom of its cell: the least that holds for FOUND of a sample."""
    beyond = []
    for rows in np.array_split(np.arange(0, len(atoms), len(atoms) // SAMPLE), 16):
        products = atoms[rows] @ atoms.T
        products[np.arange(len(rows)), rows] = -2
        angles = np.arccos(np.clip(atoms[rows] @ centres.T, -1, 1))
        home, found = angles.argmin(axis=1), cell[products.argmax(axis=1)]
        near = np.arccos(np.clip(np.where(cell == home[:, None], products, -1).max(axis=1), -1, 1))
        own = angles[np.arange(len(rows)), found] - (angles.min(axis=1) + near) / 2
        beyond.append(np.where(found == home, 0, own))  # that cell is always looked into
    return float(np.quantile(np.concatenate(beyond), FOUND))


def mean_directions(X: Floats32, labels: Integers, before: Floats32) -> tuple[Floats32, Integers]:
    """Unit means of the rows with each label (the old centre where there is none), and how many there are."""
    counts = np.bincount(labels, minlength=len(before))
    sums = np.zeros((len(counts), before.shape[1]))
    add_rows(np.ascontiguousarray(X), labels, sums)
    kept = (counts > 0) & (np.linalg.norm(sums, axis=1) > 1e-6)
    centres = before.copy()
    centres[kept] = unit_rows(sums[kept]).astype(np.float32)
    return centres, counts


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


def nearest_atoms(X: Floats32, atoms: Floats32, cells: Cells | None = None) -> tuple[Integers, Floats32]:
    """Nearest of the unit atoms (K, d) to each unit row of X (n, d), and the cosine.

    ``cells`` of the same atoms make it faster. It is exact up to the rounding of float32, unless the cells are for the
    approximate search: then only those about as near as the nearest are looked into, which misses about one
    row in a hundred.
    """
    if cells is None or (cells.exact and not worthwhile(X, cells)):
        return nearest_by_product(X, atoms)
    best = np.empty(len(X), dtype=np.float32)
    which = np.empty(len(X), dtype=np.int64)
    cosine, sine = np.cos(cells.angle).astype(np.float32), np.sin(cells.angle).astype(np.float32)

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, ROWS):
            rows = slice(first, min(first + ROWS, stop))
            block = np.ascontiguousarray(X[rows])
            near = cells.centres @ block.T
            found = cells.tiles, cells.begin, which[rows], best[rows]
            if cells.reach is None:
                search_cells(block, near, cosine, sine, *found)
            else:
                search_near_cells(block, near, cells.reach, *found)

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
