"""One look for all pictures: colours that colour-blind readers can tell apart, little ink, no global settings."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any, Literal

from pellucid._core.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT, LINE, STRIPE = "#1f2933", "#6b7680", "#c5ccd3", "#f3f5f7"
BLUE, VERMILION, GREY = "#0072b2", "#d55e00", "#9aa5b1"
# Okabe and Ito's colours, told apart with any kind of colour vision; yellow is left out, too pale on white
CATEGORIES = (BLUE, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", VERMILION, "#5b4a9b", "#3d3d3d")
MARKERS = ("o", "s", "^", "D", "v", "P")
SIZE = 9.0
CHARACTER = 0.56  # width of an average character as a share of the font size


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw into: those given, or the only ones of a new figure of that size in inches."""
    if ax is not None:
        return ax
    if "ipykernel" in sys.modules:  # a notebook shows, and then forgets, the figures that pyplot made
        figure = require("matplotlib.pyplot", "plots").figure(figsize=(width, height), layout="constrained")
    else:
        figure = require("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")
    new: Axes = figure.add_subplot()
    return new


def plain(text: Any) -> str:
    """Text as it is: dollar signs would start a formula, and line breaks a new row."""
    return " ".join(str(text).split()).replace("$", r"\$")


def shorten(text: Any, width: int) -> str:
    """``text`` on one line of at most ``width`` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip() + "…"


def wrapped(text: Any, width: int, lines: int) -> list[str]:
    """``text`` on at most ``lines`` lines of ``width`` characters; the last one says if there is more."""
    found = textwrap.wrap(" ".join(str(text).split()), max(4, width), break_on_hyphens=False) or [""]
    return found if len(found) <= lines else [*found[: lines - 1], shorten(" ".join(found[lines - 1 :]), width)]


def characters(ax: Axes, share: float, size: float = SIZE) -> int:
    """How many characters of that size fit into a share of the axes' width."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    return max(6, int(share * inches * 72 / (size * CHARACTER)))


def title(ax: Axes, text: str | None) -> None:
    if text:
        lines = wrapped(text, characters(ax, 1.0, SIZE + 1.5), 3)
        ax.set_title("\n".join(plain(line) for line in lines), loc="left", fontsize=SIZE + 1.5, color=INK, pad=8)


def frame(ax: Axes, *, grid: Literal["x", "y"] | None = None) -> None:
    """Axes with a line at the left and at the bottom, and faint lines to read values by."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE)
    ax.tick_params(colors=INK, labelsize=SIZE, color=LINE, length=3)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(fontsize=SIZE, color=FAINT)
    if grid is not None:
        ax.grid(axis=grid, color=LINE, linewidth=0.6, alpha=0.6)
        ax.set_axisbelow(True)


def empty(ax: Axes) -> None:
    """Axes that are only paper: positions run from 0 to 1, left to right and bottom to top."""
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.axis("off")
    ax.figure.canvas.figure.draw_without_rendering()  # lays the figure out, so that widths are known


def legend(ax: Axes, handles: list[Any], names: list[str], **settings: Any) -> None:
    """A legend whose names may begin with an underscore, which matplotlib would leave out."""
    made = ax.legend(handles, ["·"] * len(handles), frameon=False, fontsize=SIZE, labelcolor=INK, **settings)
    for text, name in zip(made.get_texts(), names):
        text.set_text(plain(name))
