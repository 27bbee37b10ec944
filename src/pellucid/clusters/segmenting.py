"""Textures of an image: which pixels go by one rule, said in the fewest nats.

Patches that overlap share pixels, so as rows of a table they vouch for each other, and clusters of them follow things
in the photograph. Here every pixel counts once: it costs what it takes to say it, given the pixels before it in its
patch (Gaussian patches, taken apart by the chain rule), and a border costs what it takes to say that.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter
from scipy.special import gammaln

from pellucid._core.arrays import Floats
from pellucid._core.threads import one_blas_thread

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

# pixels are known up to this share of the image's deviation: what is finer is how the image was scaled
NOISE = 0.3
# what a border costs for each pixel of its length: it goes on in one of three directions
BORDER = 2 * np.log(3.0)
# how many degrees of freedom the residuals of a texture may have, from bricks with joints to a meadow
TAILS = (0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 200.0)
# the angles of the first cuts of a segment, and the deviations of the windows that a split is looked for in
ANGLES, WINDOWS = (0, 30, 60, 90, 120, 150), (3.0, 6.0, 10.0)
# rounds of a split, of learning one coder, and of finding its spread
SWEEPS, ROUNDS, SCALE_ROUNDS = 8, 4, 4
# pixels that one coder is learned from, at most, and how many the whole image counts for in it
LEARNED_FROM, PRIOR = 6_000, 30.0
# either part of a split has at least this share of its pixels, and a round that changes less than that is the last
LEAST, SETTLED = 0.1, 3e-3
# a border divides textures if what it saves near it is at least this share of what it saves far from it; elsewhere one
# texture changes slowly, as one that is seen from the side
AT_ONCE, NEAR, FAR = 0.75, (4.0, 12.0), 20.0
# the least height and width, and channels with less than this share of the variance say nothing
LEAST_SIDE, LEAST_CHANNEL = 32, 0.01


@dataclass(frozen=True)
class Coder:
    """How a texture says a pixel by the ones before it: weights (k,), a constant, and Student's t for the rest."""

    weights: Floats
    constant: float
    spread: float
    tails: float

    def costs(self, rest: Floats) -> Floats:
        """Twice the nats of residuals."""
        return student_cost(rest, self.spread, self.tails)


def student_cost(rest: Floats, spread: float, tails: float) -> Floats:
    constant = 2 * (gammaln(tails / 2) - gammaln((tails + 1) / 2)) + np.log(np.pi * tails * spread)
    return np.asarray(constant + (tails + 1) * np.log1p(rest**2 / (tails * spread)))


class Pixels:
    """An image (h, w, channels) of deviation 1, as pixels and those before them in a window of ``side``.

    Each channel is gone over twice, from the first pixel on and from the last, so that no direction is preferred.
    """

    def __init__(self, image: Floats, side: int) -> None:
        self.shape = image.shape[:2]
        reach, back = side // 2, side - 1 - side // 2
        before = [(y, x) for y in range(side) for x in range(side)][: reach * side + reach]
        self.steps = [*before, (reach, reach)]
        self.views: list[tuple[Floats, bool]] = []
        for channel in np.moveaxis(image, 2, 0):
            for turned in (False, True):
                seen = channel[::-1, ::-1] if turned else channel
                self.views.append((np.pad(seen, ((reach, back), (reach, back)), mode="reflect"), turned))
        some = thinned(np.arange(self.shape[0] * self.shape[1]))
        rows = [self.rows(view, some) for view in range(len(self.views))]
        self.prior = [part.T @ part / len(part) for part in rows]

    def rows(self, view: int, pixels: Labels) -> Floats:
        """Numbers before pixels, a 1, and the pixels' own (n, k + 2)."""
        padded, turned = self.views[view]
        h, w = self.shape
        where = h * w - 1 - pixels if turned else pixels
        y, x = where // w, where % w
        out = np.ones((len(pixels), len(self.steps) + 1))
        for j, (dy, dx) in enumerate(self.steps[:-1]):
            out[:, j] = padded[y + dy, x + dx]
        dy, dx = self.steps[-1]
        out[:, -1] = padded[y + dy, x + dx]
        return out

    def rest(self, view: int, coder: Coder) -> Floats:
        """What a coder leaves of every pixel (h, w)."""
        padded, turned = self.views[view]
        h, w = self.shape
        *before, (dy, dx) = self.steps
        out = padded[dy : dy + h, dx : dx + w] - coder.constant
        for weight, (dy, dx) in zip(coder.weights, before):
            out -= weight * padded[dy : dy + h, dx : dx + w]
        return out[::-1, ::-1] if turned else out

    def costs(self, chosen: Mask) -> Floats:
        """What every pixel (h, w) costs by coders of the ``chosen`` ones."""
        out = np.zeros(self.shape)
        some = thinned(np.flatnonzero(chosen))
        for view in range(len(self.views)):
            coder = learned(self.rows(view, some), self.prior[view])
            out += coder.costs(self.rest(view, coder))
        return out / 2  # two views of a channel


def thinned(pixels: Labels) -> Labels:
    """Every so many-th of pixels, so that they are not too many."""
    return pixels[:: max(1, len(pixels) // LEARNED_FROM)]


def learned(rows: Floats, prior: Floats) -> Coder:
    """The coder of pixels (n, k + 2), each weighted by how well it fits, drawn towards second moments of all."""
    k = rows.shape[1] - 1
    trust, spread, tails = np.ones(len(rows)), 0.0, 0.0
    weights = np.zeros(k)
    for _ in range(ROUNDS):
        moments = (rows.T * trust) @ rows + PRIOR * prior
        moments[np.diag_indices(k)] += 1e-6 * np.trace(moments) / k
        weights = np.linalg.solve(moments[:k, :k], moments[:k, k])
        squares = (rows[:, k] - rows[:, :k] @ weights) ** 2
        spread, tails = best_tails(squares, spread)
        trust = (tails + 1) / (tails + squares / spread)
    return Coder(weights[:-1], float(weights[-1]), spread, tails)


def best_tails(squares: Floats, spread: float) -> tuple[float, float]:
    """Spread and degrees of freedom of squared residuals, of greatest likelihood."""
    best = (np.inf, 1.0, 1.0)
    for tails in TAILS:
        found = spread or 2 * float(np.median(squares)) or 1.0
        for _ in range(SCALE_ROUNDS):
            found = float(((tails + 1) / (tails + squares / found) * squares).mean()) or 1e-12
        best = min(best, (float(student_cost(np.sqrt(squares), found, tails).mean()), found, tails))
    return best[1], best[2]


# splitting


@dataclass(frozen=True)
class Split:
    """What a segment falls into: which pixels are its second part, how many nats that saves, twice, and whether the
    parts differ as much near the border between them as elsewhere."""

    second: Mask
    saved: float
    at_once: bool


def smoothed(costs: Floats, mask: Mask, window: float) -> Floats:
    """Means over windows, of pixels of the mask only."""
    known = gaussian_filter(mask.astype(np.float64), window, mode="reflect", truncate=3.0)
    total = gaussian_filter(np.where(mask, costs, 0.0), window, mode="reflect", truncate=3.0)
    return np.asarray(total / np.maximum(known, 1e-9))


def border(labels: NDArray[np.integer]) -> float:
    """How long borders are: a line takes 4/π steps from pixel to pixel for its length, on average over directions."""
    steps = np.count_nonzero(np.diff(labels, axis=0)) + np.count_nonzero(np.diff(labels, axis=1))
    return float(steps) * np.pi / 4


def best_split(pixels: Pixels, mask: Mask) -> Split | None:
    """The two parts of a segment that are said in the fewest nats, from cuts at several angles."""
    y, x = np.indices(mask.shape)
    whole = float(pixels.costs(mask)[mask].sum())
    best: Split | None = None
    for window, angle in product(WINDOWS, np.radians(ANGLES)):
        along = x * np.cos(angle) + y * np.sin(angle)
        second = settled_split(pixels, mask, mask & (along > np.median(along[mask])), window)
        if second is None:
            continue
        costs = pixels.costs(mask & ~second), pixels.costs(second)
        more = np.where(second, costs[0] - costs[1], costs[1] - costs[0])  # in the other part
        spent = float(np.where(second, costs[1], costs[0])[mask].sum())
        inner = border(np.where(mask, 1 + second, 0)) - border(mask.astype(np.int8))
        saved = whole - spent - BORDER * inner
        if best is None or saved > best.saved:
            best = Split(second, saved, changes_at_once(mask, second, more))
    return best


def settled_split(pixels: Pixels, mask: Mask, second: Mask, window: float) -> Mask | None:
    """The second of two parts, in turn with their coders until hardly a pixel changes; None if one vanishes."""
    size = int(mask.sum())
    for _ in range(SWEEPS):
        if min(int(second.sum()), size - int(second.sum())) < LEAST * size:
            return None
        gain = pixels.costs(mask & ~second) - pixels.costs(second)
        new = mask & (smoothed(gain, mask, window) > 0)
        changed = np.count_nonzero(new != second)
        second = new
        if changed < SETTLED * size:
            break
    return second if min(int(second.sum()), size - int(second.sum())) >= LEAST * size else None


def changes_at_once(mask: Mask, second: Mask, more: Floats) -> bool:
    """Whether pixels near the border cost as much ``more`` by the other part's coder as those far from it."""
    away = np.where(second, distance_transform_edt(~(mask & ~second)), distance_transform_edt(~second))
    near, far = mask & (away > NEAR[0]) & (away <= NEAR[1]), mask & (away > FAR)
    return not (near.any() and far.any()) or bool(more[near].mean() >= AT_ONCE * more[far].mean())


def split_up(pixels: Pixels, n_segments: int) -> tuple[Labels, int]:
    """Segments, and how many of them save more than their borders cost: each time the one is split that saves most, of
    those whose textures change at once if there are any."""
    labels, sure = np.zeros(pixels.shape, dtype=np.int64), 1
    splits = {0: best_split(pixels, labels == 0)} if n_segments > 1 else {}
    for new in range(1, n_segments):
        open_ones = {c: split for c, split in splits.items() if split is not None}
        if not open_ones:
            break
        which = max(open_ones, key=lambda c: (open_ones[c].at_once, open_ones[c].saved))
        labels[open_ones[which].second] = new
        sure += open_ones[which].saved > 0
        if new + 1 < n_segments:
            splits |= {c: best_split(pixels, labels == c) for c in (which, new)}
    return labels, int(sure)


def segment(image: ArrayLike, n_segments: int, *, patch: int = 7) -> Labels:
    """Which pixels of an image have one texture.

    An image is split in two, one of the parts again, and so on: each time where the pixels can then be said in the
    fewest nats, by a linear rule for each texture that predicts a pixel from those before it in its patch. So every
    pixel counts once, however patches overlap, and a border costs what it takes to say where it runs.

    Parameters
    ----------
    image : array-like of shape (h, w) or (h, w, channels)
        Grey or in colours, at least 32 pixels high and wide. How bright it is as a whole does not matter.
    n_segments : int
        How many textures there are. One texture may be in several places.
    patch : int, default=7
        Side of the patches, odd; a texture's rule has half as many numbers as a patch has pixels.

    Returns
    -------
    ndarray of shape (h, w), dtype int64
        The segment of each pixel; segment 0 is the largest. The same image gives the same map.

    Raises
    ------
    ValueError
        If the image is smaller, not finite or of another shape, or a number is out of its range.

    Warns
    -----
    UserWarning
        If fewer segments are found than asked for, or some of the textures hardly differ.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.clusters import segment
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((48, 96))
    >>> noise[:, 48:] = (noise + np.roll(noise, 1, 1) + np.roll(noise, 2, 1))[:, 48:] / np.sqrt(3)  # streaks
    >>> map_ = segment(noise, 2)
    >>> bool((map_[:, :40] == map_[0, 0]).mean() > 0.95 and (map_[:, 56:] != map_[0, 0]).mean() > 0.95)
    True
    """
    pixels = checked_image(image)
    if isinstance(n_segments, bool) or not isinstance(n_segments, (int, np.integer)) or n_segments < 1:
        raise ValueError(f"n_segments must be a whole number of at least 1, got {n_segments!r}.")
    if isinstance(patch, bool) or not isinstance(patch, (int, np.integer)) or not 3 <= patch <= 31 or patch % 2 == 0:
        raise ValueError(f"patch must be an odd number from 3 to 31, got {patch!r}.")
    shape = pixels.shape[:2]
    labels, sure = np.zeros(shape, dtype=np.int64), 1
    if pixels.shape[2] and n_segments > 1:
        # noise that is drawn once and for all, so that an image has one map
        noise = np.random.RandomState(0).standard_normal(pixels.shape)
        with one_blas_thread():
            labels, sure = split_up(Pixels(pixels + NOISE * noise, int(patch)), int(n_segments))
    found = int(labels.max()) + 1
    if found < n_segments:
        what = "All pixels are equal" if not pixels.shape[2] else "The image falls into fewer textures"
        warnings.warn(f"{what}: {found} of {n_segments} segments.", stacklevel=2)
    elif sure < n_segments:
        said = "one texture" if sure == 1 else f"{sure} textures"
        warnings.warn(f"The image may have {said} only: further borders save less than they cost.", stacklevel=2)
    order = np.argsort(-np.bincount(labels.ravel()), kind="stable")
    return np.asarray(np.argsort(order)[labels], dtype=np.int64)


def checked_image(image: ArrayLike) -> Floats:
    """An image as uncorrelated channels (h, w, channels) of mean 0 and deviation 1; none if all pixels are equal."""
    array = np.asarray(image)
    if array.dtype.kind not in "buif" or array.ndim not in (2, 3):
        raise ValueError(f"An image is numbers (h, w) or (h, w, channels), got {array.dtype} of shape {array.shape}.")
    array = array.astype(np.float64).reshape(*array.shape[:2], -1)
    if min(array.shape[:2]) < LEAST_SIDE or not array.shape[2]:
        raise ValueError(f"The image is {array.shape[0]} × {array.shape[1]}; it takes at least {LEAST_SIDE} each way.")
    wrong = np.argwhere(~np.isfinite(array).all(axis=2))
    if len(wrong):
        raise ValueError(f"The pixel in row {wrong[0][0]}, column {wrong[0][1]} is not finite; fill it in first.")
    colours = array.reshape(-1, array.shape[2])
    colours = colours[:, (colours != colours[0]).any(axis=0)]
    if not colours.shape[1]:
        return np.empty((*array.shape[:2], 0))
    colours = colours / np.abs(colours).max()  # so that none overflows when summed up
    colours -= colours.mean(axis=0)
    colours /= np.abs(colours).max()  # so that none underflows when squared
    values, vectors = np.linalg.eigh(colours.T @ colours / len(colours))
    kept = np.flatnonzero(values > LEAST_CHANNEL * values.sum())[::-1]
    return np.asarray((colours @ vectors[:, kept] / np.sqrt(values[kept])).reshape(*array.shape[:2], -1))
