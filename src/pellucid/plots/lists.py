"""Lists laid out on paper: what concepts hold, filtered beside plain results, a walk between two atoms."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.extras import require
from pellucid.plots import _style as style
from pellucid.preparation import CenteredNormalizer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.concepts import ConceptSubspaces
    from pellucid.search import Collection, Hit

LINE = 0.19  # inches between lines of text
SCORE: dict[str, Any] = {"va": "center", "fontsize": style.SIZE - 1, "color": style.FAINT}


def captions(
    found: Mapping[str, Sequence[tuple[str, float]]], ax: Axes | None = None, *, title: str | None = None
) -> Axes:
    """A table of the words that each concept's cone holds best; the better a word is held, the darker it is.

    Parameters
    ----------
    found : dict of str to list of tuple
        Concepts and their words, each with what is left of it, as ``ConceptSubspaces.captions`` finds them.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        There are no captions.

    Examples
    --------
    >>> from pellucid import plots
    >>> ax = plots.captions({"animal": [("dog", 0.2), ("cat", 0.3)], "furniture": [("sofa", 0.1), ("desk", 0.4)]})
    >>> [text.get_text() for text in ax.texts][2:5]
    ['animal', 'dog', 'cat']
    """
    if not found:
        raise ValueError("There are no captions to show.")
    columns = max(len(words) for words in found.values())
    ax = style.axes(ax, 1.5 + 1.15 * columns, 0.5 + 0.28 * (len(found) + 1))
    style.empty(ax)
    lefts = [left for words in found.values() for _, left in words]
    best, worst = (min(lefts), max(lefts)) if lefts else (0.0, 1.0)
    height = 1 / (len(found) + 1)
    first = 1.5 / (1.5 + 1.15 * columns)
    step = (1 - first) / max(1, columns)
    fits = style.characters(ax, step)
    header: dict[str, Any] = {"fontsize": style.SIZE - 1, "color": style.FAINT, "va": "center"}
    ax.text(0.01, 1 - height / 2, "concept", **header)
    ax.text(first, 1 - height / 2, "words it holds, best first", **header)
    ax.axhline(1 - height, color=style.LINE, linewidth=1)
    for row, (concept, words) in enumerate(found.items()):
        middle = 1 - (row + 1.5) * height
        if row % 2:
            ax.axhspan(middle - height / 2, middle + height / 2, color=style.STRIPE, linewidth=0)
        name = style.plain(style.shorten(concept, style.characters(ax, first) - 1))
        ax.text(0.01, middle, name, va="center", fontsize=style.SIZE, color=style.INK, weight="bold")
        for column, (word, left) in enumerate(words):
            strength = 1.0 - 0.4 * (left - best) / max(worst - best, 1e-12)
            said = style.plain(style.shorten(word, fits))
            ax.text(
                first + column * step, middle, said, va="center", fontsize=style.SIZE, color=style.INK, alpha=strength
            )
    style.title(ax, title)
    return ax


def neighbours(
    filtered: Sequence[Hit],
    plain: Sequence[Hit],
    ax: Axes | None = None,
    *,
    query: str | None = None,
    concept: str | None = None,
    relevant: Callable[[Hit], bool] | None = None,
    column: str = "text",
) -> Axes:
    """What a search by one concept finds, beside what a plain search finds.

    An item shows as its thumbnail if the collection has thumbnails, else as its text, else as its id.

    Parameters
    ----------
    filtered : sequence of Hit
        Found by a concept.
    plain : sequence of Hit
        Found without one.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    query : str or None, default=None
        What was asked for, to stand above.
    concept : str or None, default=None
        Name of the concept.
    relevant : callable or None, default=None
        Called with a hit: a filled dot marks those for which it is true, a ring the others.
    column : str, default="text"
        The column of the collection that has the texts.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Examples
    --------
    >>> from pellucid import plots
    >>> from pellucid.search import Collection, ConceptSearch
    >>> texts = ["a dog", "a cat", "a sofa"]
    >>> collection = Collection.create("things", [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0]], text=texts)
    >>> hits = ConceptSearch(collection).search([1.0, 0.0], k=2)
    >>> plots.neighbours(hits, hits, query="a puppy").get_title(loc="left")
    'Query: a puppy'
    """
    sides = (("nearest as a whole", plain), (f"nearest by {concept}" if concept else "nearest by concept", filtered))
    pictured = any(_picture(hit) is not None for _, hits in sides for hit in hits)
    ax = _strips(ax, sides, relevant, column) if pictured else _side_by_side(ax, sides, relevant, column)
    if query is not None:
        style.title(ax, f"Query: {query}")
    return ax


def _side_by_side(ax: Axes | None, sides: Any, relevant: Callable[[Hit], bool] | None, column: str) -> Axes:
    """Two lists of texts, left and right."""
    lines = max(1, *(len(hits) for _, hits in sides))
    ax = style.axes(ax, 9.0, 0.75 + 2.15 * LINE * lines)
    style.empty(ax)
    header = 1 / (lines + 1)
    for side, (name, hits) in enumerate(sides):
        left = 0.51 * side
        _heading(ax, name, left, 1 - 0.35 * header, 0.48, 0.4 * header, strong=bool(side))
        for row, hit in enumerate(hits):
            middle = 1 - (row + 1.35) * header
            if relevant is not None:
                _dot(ax, left + 0.008, middle, relevant(hit))
            ax.text(left + 0.02, middle, f"{hit.score:.2f}", **SCORE)
            _item(ax, hit, (left + 0.065, middle, 0.415, header), column)
    return ax


def _strips(ax: Axes | None, sides: Any, relevant: Callable[[Hit], bool] | None, column: str) -> Axes:
    """Two rows of pictures, one below the other."""
    columns = max(len(hits) for _, hits in sides)
    ax = style.axes(ax, min(12.0, max(5.0, 1.1 * columns)), 3.4)
    style.empty(ax)
    width = 1 / columns
    for side, (name, hits) in enumerate(sides):
        top = 1 - 0.5 * side
        _heading(ax, name, 0.0, top - 0.035, 1.0, 0.035, strong=bool(side))
        for place, hit in enumerate(hits):
            left = place * width
            _item(ax, hit, (left, top - 0.24, 0.94 * width, 0.3), column, lines=4)
            if relevant is not None:
                _dot(ax, left + 0.008, top - 0.42, relevant(hit))
            ax.text(left + (0 if relevant is None else 0.022), top - 0.42, f"{hit.score:.2f}", **SCORE)
    return ax


def _heading(ax: Axes, name: str, left: float, y: float, width: float, below: float, *, strong: bool) -> None:
    colour, line = (style.BLUE, style.BLUE) if strong else (style.INK, style.LINE)
    ax.text(left, y, style.plain(name), va="center", fontsize=style.SIZE, weight="bold", color=colour)
    ax.plot([left, left + width], [y - below] * 2, color=line, linewidth=1)


def _dot(ax: Axes, x: float, y: float, on: bool) -> None:
    ax.plot(
        [x], [y], marker="o", markersize=6, markerfacecolor="#009e73" if on else "white",
        markeredgecolor="#009e73" if on else style.VERMILION, markeredgewidth=1.2, clip_on=False,
    )  # fmt: skip


def _item(ax: Axes, hit: Hit, box: tuple[float, float, float, float], column: str, lines: int = 2) -> None:
    """An item's thumbnail, text or id within a box (left, middle, width, height)."""
    left, middle, width, height = box
    picture = _picture(hit)
    if picture is not None:
        inset = ax.inset_axes((left, middle - 0.46 * height, width, 0.92 * height))
        inset.imshow(picture, interpolation="nearest" if max(picture.shape[:2]) < 64 else "antialiased")
        inset.set_anchor("W")
        inset.axis("off")
        return
    said = hit.item.get(column)
    fitting = style.wrapped(hit.id if said is None else said, style.characters(ax, width, style.SIZE - 0.5), lines)
    text = "\n".join(style.plain(line) for line in fitting)
    ax.text(left, middle, text, va="center", fontsize=style.SIZE - 0.5, color=style.INK, linespacing=1.1)


def _picture(hit: Hit) -> NDArray[Any] | None:
    """The item's thumbnail (bytes of a PNG or JPEG), if it has one."""
    stored = hit.item.get("thumbnail")
    if not isinstance(stored, bytes):
        return None
    image = require("PIL.Image", "plots").open(io.BytesIO(stored))
    return np.asarray(image.convert("RGB"))


def walk(
    model: ConceptSubspaces,
    concept: str,
    words: Sequence[str],
    word_vectors: ArrayLike,
    collection: Collection | None = None,
    ax: Axes | None = None,
    *,
    atoms: tuple[int, int] = (0, 1),
    n_steps: int = 5,
    top: int = 4,
    title: str | None = None,
) -> Axes:
    """From one atom of a concept to another in equal steps: the words and items nearest at each (paper 1, Figure 3).

    Parameters
    ----------
    model : ConceptSubspaces
        Fitted.
    concept : str
        Its name.
    words : sequence of str
        The vocabulary.
    word_vectors : array-like of shape (n_words, d)
        Their vectors, which are centred with their own mean, as captions do.
    collection : Collection or None, default=None
        Where items are looked up; None shows words alone.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    atoms : tuple of int, default=(0, 1)
        From which to which, numbers within the concept.
    n_steps : int, default=5
        Points on the way, the two atoms included.
    top : int, default=4
        Words and items at each.
    title : str or None, default=None
        What stands above it.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn into; its ``figure`` can be saved.

    Raises
    ------
    ValueError
        There is no such concept, the concept has no such atoms, or there are fewer than two steps.

    Examples
    --------
    >>> from pellucid import ConceptSubspaces, plots
    >>> X = [[3.0, 0.0, 0.1], [0.1, 0.0, 3.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.1]]
    >>> model = ConceptSubspaces(2, center=False).fit(X, ["loud", "loud", "bright", "bright"])
    >>> ax = plots.walk(model, "loud", ["drum", "horn"], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], n_steps=3, top=1)
    >>> sorted({text.get_text() for text in ax.texts} & {"drum", "horn"})
    ['drum', 'horn']
    """
    if n_steps < 2:
        raise ValueError(f"A walk takes at least 2 steps, got {n_steps}.")
    if concept not in model.concept_names_:
        raise ValueError(f"There is no concept {concept!r} in the model: it has {', '.join(model.concept_names_)}.")
    mine = model.atoms_[model.groups_ == list(model.concept_names_).index(concept)].astype(np.float64)
    if not all(0 <= a < len(mine) for a in atoms):
        raise ValueError(f"The concept {concept!r} has atoms 0 to {len(mine) - 1}, but {atoms} were asked for.")
    shares = np.linspace(0, 1, n_steps)
    points = unit_rows((1 - shares)[:, None] * mine[atoms[0]] + shares[:, None] * mine[atoms[1]])
    vocabulary = CenteredNormalizer().fit_transform(np.asarray(word_vectors, dtype=np.float64))
    near = np.argsort(-(points @ vocabulary.T), axis=1, kind="stable")[:, :top]
    listed = [[str(words[i]) for i in row] for row in near]
    items = None if collection is None else _items_near(model, collection, points, 3)
    return _draw_walk(ax, shares, listed, items, title or f"From atom {atoms[0]} to atom {atoms[1]} of {concept}")


def _items_near(model: ConceptSubspaces, collection: Collection, points: NDArray[Any], k: int) -> list[list[Any]]:
    from pellucid.search import ConceptSearch

    return ConceptSearch(collection, model).near(points, k)


def _draw_walk(
    ax: Axes | None, shares: NDArray[Any], words: list[list[str]], items: list[list[Any]] | None, title: str
) -> Axes:
    n, top = len(shares), max(len(row) for row in words)
    depth = 0 if items is None else max(len(row) for row in items)
    # thumbnails stand side by side, texts one below the other
    pictured = any(_picture(hit) is not None for row in items or [] for hit in row)
    inches = 0.45 + LINE * top + (0.25 + 0.68 * (1 if pictured else depth) if depth else 0)
    ax = style.axes(ax, max(4.0, 1.75 * n), inches + 0.35)
    style.empty(ax)
    unit = 1 / inches
    for column, share in enumerate(shares):
        left, width = column / n, 0.93 / n
        ax.plot([left, left + width], [1 - 0.1 * unit] * 2, color="#e69f00", linewidth=5, solid_capstyle="butt")
        ax.plot([left, left + width * (1 - share)], [1 - 0.1 * unit] * 2, color=style.BLUE, linewidth=5,
                solid_capstyle="butt", zorder=3)  # fmt: skip
        ax.text(left, 1 - 0.28 * unit, f"{1 - share:.0%} + {share:.0%}", **SCORE)
        for row, word in enumerate(words[column]):
            said = style.plain(style.shorten(word, style.characters(ax, width)))
            y = 1 - (0.5 + LINE * row) * unit
            ax.text(left, y, said, va="center", fontsize=style.SIZE + (0.5 if row == 0 else 0),
                    weight="bold" if row == 0 else "normal", color=style.INK)  # fmt: skip
        for row, hit in enumerate([] if items is None else items[column]):
            middle = 1 - (0.5 + LINE * top + 0.25 + 0.68 * (0 if pictured else row)) * unit
            box = (left + row * width / depth, middle, width / depth) if pictured else (left, middle, width)
            _item(ax, hit, (*box, 0.68 * unit), "text", lines=3)
    style.title(ax, title)
    return ax
