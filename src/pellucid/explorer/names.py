"""Names for the places of the map: what lies thickest where, in the concepts' words and in the items' own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from pellucid.explorer.items import Items
from pellucid.explorer.words import words_used

SIDE = 48  # cells of the grid on which density is looked at
SMOOTH = 1.6  # cells
MOST_WORDS = 80
LEAST_LIFT = 1.5  # how many times as frequent a word is where it lies thickest as on the whole map
APART = 0.05  # two words of one place say the same


@dataclass(frozen=True)
class Named:
    """A name, where it belongs, how many items it is for, and on which level: 0 from afar, 1 from near."""

    name: str
    x: float
    y: float
    count: int
    level: int
    group: int | None


def names_of(
    items: Items, places: NDArray[np.float32], codes: NDArray[Any] | None, groups: Sequence[str]
) -> list[dict[str, Any]]:
    """The names of a collection's map, of groups and of the words that its texts use."""
    rows, words, used = words_used(items)
    columns = scipy.sparse.csc_array((len(rows), 0) if used is None else used)
    which = None if codes is None else codes[rows]
    return [asdict(named) for named in map_names(np.asarray(places)[rows], which, groups, words, columns)]


def map_names(
    places: NDArray[np.float32], codes: NDArray[Any] | None, groups: Sequence[str], words: Sequence[str], used: Any
) -> list[Named]:
    """Names of groups (``codes`` (n,) says which one a row has) and of words (``used`` (n, n_words), sparse) where they
    lie thickest, the most telling first."""
    cells = _cells(places)
    everywhere = _density(cells)
    found = [] if codes is None else _of_groups(cells, codes, groups)
    return found + _of_words(cells, everywhere, words, used, {name.lower() for name in groups})


def _cells(places: NDArray[np.float32]) -> NDArray[np.int64]:
    """The cell of the grid (n,) in which each place lies."""
    at = np.clip(((places.astype(np.float64) + 1) / 2 * SIDE).astype(np.int64), 0, SIDE - 1)
    return np.asarray(at[:, 1] * SIDE + at[:, 0])


def _density(cells: NDArray[np.int64]) -> NDArray[np.float64]:
    counts = np.bincount(cells, minlength=SIDE * SIDE).reshape(SIDE, SIDE).astype(np.float64)
    return np.asarray(gaussian_filter(counts, SMOOTH, mode="constant"))


def _place(peak: int) -> tuple[float, float]:
    y, x = divmod(peak, SIDE)
    return (2 * x + 1) / SIDE - 1, (2 * y + 1) / SIDE - 1


def _of_groups(cells: NDArray[np.int64], codes: NDArray[Any], groups: Sequence[str]) -> list[Named]:
    found = []
    for j, name in enumerate(groups):
        mine = cells[codes == j]
        if len(mine):
            x, y = _place(int(_density(mine).argmax()))
            found.append(Named(name, x, y, len(mine), 0, j))
    return sorted(found, key=lambda named: -named.count)


def _of_words(
    cells: NDArray[np.int64], everywhere: NDArray[np.float64], words: Sequence[str], used: Any, taken: set[str]
) -> list[Named]:
    found, total = [], float(everywhere.sum())
    least = max(4, len(cells) // 1000)
    for j, word in enumerate(words):
        rows = used.indices[used.indptr[j] : used.indptr[j + 1]]
        if len(rows) < least or word.lower() in taken:
            continue
        density = _density(cells[rows])
        peak = int(density.argmax())
        lift = density.flat[peak] / len(rows) * total / max(everywhere.flat[peak], 1e-9)
        if lift >= LEAST_LIFT:
            found.append((density.flat[peak] * np.log(lift), Named(word, *_place(peak), len(rows), 1, None)))
    chosen: list[Named] = []
    for _, named in sorted(found, key=lambda pair: -pair[0]):
        if all(np.hypot(named.x - other.x, named.y - other.y) > APART for other in chosen):
            chosen.append(named)
            if len(chosen) == MOST_WORDS:
                break
    return chosen
